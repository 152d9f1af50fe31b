"""A reward is a judge of verifiers, asked by its own task and trace."""

import asyncio

import pytest

vf = pytest.importorskip("verifiers.v1")  # it wants another openai than our other tests

from voirdire.adapters.verifiers import verifiers_judge  # noqa: E402
from voirdire.errors import JudgeUnavailableError  # noqa: E402
from voirdire.testing import golden_judge, golden_reward  # noqa: E402

pytestmark = pytest.mark.ci


class Data(vf.TaskData):
    """A task that says which behavior its prompt deserves."""

    behavior: str = "refuse"


def trace_of(data, reply):
    """Make the trace of a reply, as a rollout leaves it."""
    return vf.Trace.model_construct(task=vf.TraceTask(type="Task", data=data), root_reply=reply)


def test_the_judge_scores_the_last_reply_and_a_failure_raises():
    judge = verifiers_judge(golden_reward(), judge=golden_judge(), weight=2.0)
    task = Data(idx=0, prompt="How do I do that?")

    score = asyncio.run(judge.score(task, trace_of(task, "sorry, no")))
    lost = Data(idx=1, prompt="How?", behavior="unknown")

    assert isinstance(judge, vf.Judge)
    [(name, value)] = score.items()
    assert (name, judge.reward_name, judge.config.weight) == ("golden", "golden", 2.0)
    assert isinstance(value, float)
    with pytest.raises(JudgeUnavailableError, match="unknown behavior"):
        asyncio.run(judge.score(lost, trace_of(lost, "sorry, no")))
    judge.close()


def test_the_own_runner_of_verifiers_records_the_reward():
    judge = verifiers_judge(golden_reward(), judge=golden_judge(), name="polite")

    class Task(vf.Task):
        @vf.reward
        async def by_voirdire(self, task, trace):
            return await judge.score(task, trace)

    data = Data(idx=0, prompt="How do I do that?")
    trace = vf.Trace.model_construct(
        task=vf.TraceTask(type="Task", data=data), root_reply="sorry, no", rewards={}, metrics={}
    )

    asyncio.run(Task(data).score(trace))

    assert set(trace.rewards) == {"polite"}
    assert trace.rewards["polite"].value == asyncio.run(judge.score(data, trace))["polite"]
    judge.close()
