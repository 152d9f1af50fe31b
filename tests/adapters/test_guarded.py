"""A reward for a trainer: it neither raises nor hangs, whatever its judge does."""

import asyncio
import copy
import json
import logging
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adapters.patient import patient_judge, patient_settings
from rewards.live.trying_judges import (
    SECRET,
    Counts,
    Gives,
    GivesNumber,
    Hangs,
    Leaves,
    Raises,
    SomeFail,
    SomeRaise,
    TryingJudge,
)
from rewards.reward_cases import own_environment, tiny_judge, tiny_reward
from rewards.training.recorded_runs import rows_in
from voirdire.adapters import GuardedReward
from voirdire.errors import InputError, JudgeUnavailableError, UncertifiedWarning, VoirdireError
from voirdire.judging import LiveSettings, LlmJudge, ScriptedJudge
from voirdire.models import load_model
from voirdire.rewards import Turn, reward_of_weights
from voirdire.testing import check_adapter, golden_reward

SORRY = 5.0  # the golden reward of `refuse` where `sorry` is 1, and nothing else
WAIT_S = 60


@pytest.fixture
def reward_with():
    """Make guarded rewards that are closed at the end."""
    made = []

    def make(judge=None, *, deadline_s=30.0, reward=None, **settings):
        made.append(
            GuardedReward(
                golden_reward() if reward is None else reward,
                judge=TryingJudge() if judge is None else judge,
                settings=LiveSettings(deadline_s=deadline_s),
                **settings,
            )
        )
        return made[-1]

    yield make
    for reward in made:
        reward.close(drain_s=0.1)


def turns_of(n_turns, start=0, **more):
    return [
        Turn(response=f"no {place}", prompt="how?", behavior="refuse", **more)
        for place in range(start, start + n_turns)
    ]


def golden():
    return GuardedReward(
        golden_reward(),
        judge=patient_judge(),
        settings=patient_settings(),
        base_column="base_reward",
    )


def blocking(reward):
    return lambda turns: reward.scored(turns).rewards


def in_a_loop(reward):
    return lambda turns: asyncio.run(reward.ascored(turns)).rewards


@pytest.mark.edges
@pytest.mark.parametrize("way", [blocking, in_a_loop])
@pytest.mark.parametrize(
    "travel",
    [lambda same: same, lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy],
    ids=["as it is", "pickled", "deep copy", "copy"],
)
def test_it_gives_the_golden_rewards(way, travel):
    reward = travel(golden())

    check_adapter(way(reward), without=("late",))

    reward.close()


@pytest.mark.slow
@pytest.mark.parametrize("way", [blocking, in_a_loop])
def test_it_gives_the_golden_rewards_where_one_is_late(way):
    reward = golden()

    check_adapter(way(reward))

    reward.close(drain_s=0.0)


def test_a_reward_may_be_a_file(tmp_path, reward_with):
    golden_reward().save(tmp_path / "reward.json")
    with pytest.warns(UncertifiedWarning):
        reward = reward_with(reward=tmp_path / "reward.json")

    assert reward.scored(turns_of(2)).rewards == [SORRY, SORRY]
    assert reward.name == "golden"


@pytest.mark.edges
@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"judge": "nobody/nothing/at-all"}, "judge"),
        ({"judge": 5}, "`judge` must have a name"),
        ({"judge": TryingJudge(questions=("sorry",))}, "must answer every proposition"),
        ({"behavior": "dance"}, "`behavior` must be one that reward"),
        ({"give_up_after": 0}, "`give_up_after` must be a whole number of at least 1"),
        ({"give_up_after": True}, "`give_up_after` must be a whole number"),
    ],
)
def test_a_mistake_of_setup_is_told_at_once(settings, match):
    given = {"judge": TryingJudge()} | settings

    with pytest.raises(InputError, match=match):
        GuardedReward(golden_reward(), **given)


def test_no_judge_is_a_mistake_at_once():
    with pytest.raises(InputError, match="`judge` must be given"):
        GuardedReward(golden_reward())


def test_a_file_that_is_no_reward_is_a_mistake_at_once(tmp_path):
    with pytest.raises(InputError, match="no-reward"):
        GuardedReward(tmp_path / "no-reward.json")


def test_a_reward_that_cannot_center_is_a_mistake_at_once():
    with pytest.raises(InputError, match="`center` must be left out"):
        GuardedReward(tiny_reward(), judge=tiny_judge(), center=True)


def test_a_failure_for_three_of_ten_does_not_move_the_others(reward_with):
    reward = reward_with(SomeFail())

    found = reward.scored(turns_of(10))

    expected = [None if place in (0, 3, 7) else SORRY for place in range(10)]
    assert found.rewards == expected
    figures = reward.step_metrics(found, turns_of(10))
    assert figures["missing"] == pytest.approx(0.3)
    assert figures["reward"] == SORRY


def test_a_judge_that_raises_for_some_does_not_stop_training(reward_with):
    reward = reward_with(SomeRaise())

    found = [reward.scored(turns_of(1, start=place)).rewards[0] for place in range(10)]

    assert found == [None if place in (0, 3, 7) else SORRY for place in range(10)]


@pytest.mark.edges
@pytest.mark.parametrize(
    "judge",
    [
        Raises(),
        GivesNumber(number=2.0),
        GivesNumber(number=math.nan),
        GivesNumber(number=math.inf),
        Gives(given=np.zeros((7, 3))),
        Gives(given=np.zeros((4, 1))),
        Gives(given=None),
    ],
    ids=lambda judge: f"{type(judge).__name__}-{getattr(judge, 'number', '')}",
)
def test_whatever_a_judge_does_rewards_are_missing_and_figures_constant(reward_with, judge):
    healthy, reward = reward_with(), reward_with(judge)
    usual = healthy.step_metrics(healthy.scored(turns_of(4)), turns_of(4))

    found = [reward.scored(turns_of(4)), asyncio.run(reward.ascored(turns_of(4)))]

    for one in found:
        assert one.rewards == [None] * 4
        figures = reward.step_metrics(one, turns_of(4))
        assert set(figures) == set(usual)
        assert figures["missing"] == 1.0


def test_a_judge_that_would_end_the_process_does_not(reward_with):
    found = reward_with(Leaves(), deadline_s=0.5).scored(turns_of(2))

    assert found.rewards == [None, None]


def test_a_judge_that_hangs_costs_the_deadline_and_nothing_else(reward_with):
    judge = Hangs()
    reward = reward_with(judge, deadline_s=0.1)

    first = reward.scored(turns_of(3))
    second = asyncio.run(reward.ascored(turns_of(3)))
    judge.let_go.set()

    assert first.rewards == second.rewards == [None] * 3
    assert first.n_late == 3


def test_what_is_there_by_the_deadline_is_given(reward_with):
    judge = Hangs()
    judge.let_go.set()
    reward = reward_with(judge)
    known = turns_of(2)
    assert reward.scored(known).rewards == [SORRY, SORRY]
    judge.let_go.clear()

    found = reward.scored([*known, *turns_of(1, start=5)], deadline_s=0.3)
    judge.let_go.set()

    assert found.rewards == [SORRY, SORRY, None]


def test_an_event_loop_goes_on_while_a_judge_hangs(reward_with):
    judge = Hangs()
    reward = reward_with(judge, deadline_s=0.5)

    async def train():
        asked = asyncio.create_task(reward.ascored(turns_of(2)))
        late = await asked
        waiting = asyncio.create_task(reward.ascored(turns_of(2, start=5), deadline_s=WAIT_S))
        for _ in range(6):
            await asyncio.sleep(0.01)
        is_waiting = not waiting.done()
        judge.let_go.set()
        return late.rewards, is_waiting, (await waiting).rewards

    late, is_waiting, there = asyncio.run(train())

    assert is_waiting  # and yet this loop went on
    assert late == [None, None]
    assert there == [SORRY, SORRY]


@pytest.mark.slow
def test_a_loop_that_is_blocked_is_waited_for_5_seconds_and_no_longer(reward_with, caplog):
    reward = reward_with(deadline_s=0.1)
    let_go = threading.Event()

    async def block():
        let_go.wait(WAIT_S)

    reward._live._loop.begin(block())

    found = [reward.scored(turns_of(2)), asyncio.run(reward.ascored(turns_of(2)))]
    let_go.set()
    reward.close()

    assert [one.rewards for one in found] == [[None, None]] * 2
    assert {record.name for record in caplog.records} == {"voirdire"}
    assert found[0].scores.missing["0"] == "no reward within the deadline"


def test_who_waits_may_be_cancelled(reward_with, caplog):
    judge = Hangs()
    reward = reward_with(judge)

    async def train():
        asked = asyncio.create_task(reward.ascored(turns_of(2)))
        assert await asyncio.to_thread(judge.is_asked.wait, WAIT_S)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(train())
    judge.let_go.set()

    assert reward.scored(turns_of(2)).rewards == [SORRY, SORRY]
    assert caplog.records == []


def test_being_closed_while_it_is_asked_cancels_nobody(reward_with):
    judge = Hangs()
    reward = reward_with(judge)

    async def train():
        asked = asyncio.create_task(reward.ascored(turns_of(2)))
        assert await asyncio.to_thread(judge.is_asked.wait, WAIT_S)
        await asyncio.to_thread(reward.close, drain_s=0.05)
        return await asked

    found = asyncio.run(train())
    judge.let_go.set()

    assert found.rewards == [None, None]


def test_an_empty_batch_has_no_rewards(reward_with):
    reward = reward_with(give_up_after=1)

    assert reward.scored([]).rewards == []
    assert asyncio.run(reward.ascored([])).rewards == []


@pytest.mark.parametrize("turns", [[None], [{"response": "x"}], 5])
def test_what_is_no_turn_is_a_bug_of_the_adapter_and_is_told(reward_with, turns):
    with pytest.raises((AttributeError, TypeError)):
        reward_with().scored(turns)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_request_may_have_a_deadline_of_its_own(reward_with, is_async):
    judge = Hangs()
    reward = reward_with(judge)

    if is_async:
        found = asyncio.run(reward.ascored(turns_of(2), deadline_s=0.1))
    else:
        found = reward.scored(turns_of(2), deadline_s=0.1)
    judge.let_go.set()

    assert found.rewards == [None, None]
    assert found.n_late == 2


def test_an_evaluation_is_not_recorded(reward_with, tmp_path):
    reward = reward_with(record=tmp_path / "run")

    reward.scored(turns_of(2), step=0)
    reward.scored(turns_of(2, start=5), step=0, recorded=False)
    asyncio.run(reward.ascored(turns_of(2, start=5), step=0, recorded=False))
    reward.close()

    rows = rows_in(tmp_path / "run")
    assert [row["response"] for row in rows] == ["no 0", "no 1"]


def test_threads_may_share_it(reward_with, tmp_path):
    reward = reward_with(record=tmp_path / "run")

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda k: reward.scored(turns_of(4), step=k).rewards, range(24)))

    assert found == [[SORRY] * 4] * 24


def test_two_rewards_keep_their_own_figures(reward_with):
    polite, failing = reward_with(name="polite"), reward_with(SomeFail(), name="failing")

    found = polite.scored(turns_of(10)), failing.scored(turns_of(10))

    assert polite.name == "polite"
    assert failing.name == "failing"
    figures = [
        reward.step_metrics(one, turns_of(10))
        for reward, one in zip((polite, failing), found, strict=True)
    ]
    assert [each["missing"] for each in figures] == pytest.approx([0.0, 0.3])


def test_turns_without_a_behavior_get_the_one_of_the_reward(reward_with):
    found = reward_with(behavior="refuse").scored([Turn(response="a"), Turn(response="b")])

    assert found.rewards == [SORRY, SORRY]


def log_text(caplog):
    return "\n".join(logging.Formatter().format(record) for record in caplog.records)


@pytest.mark.edges
@pytest.mark.parametrize(
    "judge", [Raises(), SomeFail(), GivesNumber(number=2.0), Gives(given=None)]
)
def test_the_log_says_why_a_few_times_and_holds_no_text(reward_with, caplog, judge):
    reward = reward_with(judge)

    for start in range(100):
        reward.scored(turns_of(1, start=10 * start))

    text = log_text(caplog)
    assert "no reward" in text
    assert SECRET not in text
    assert "OPEN SESAME" not in text
    assert "no 0" not in text
    assert len(caplog.records) < 20


def test_a_bug_of_ours_is_a_missing_reward_with_its_place_in_the_log(reward_with, caplog):
    reward = failing_with(reward_with(), RuntimeError(SECRET))

    found = [reward.scored(turns_of(2)), asyncio.run(reward.ascored(turns_of(2)))]

    assert [one.rewards for one in found] == [[None, None]] * 2
    assert found[0].scores.missing["0"] == "the reward raised RuntimeError"
    text = log_text(caplog)
    assert re.search(r"RuntimeError at .* broken$", text, re.MULTILINE)
    assert "OPEN SESAME" not in text
    assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 1


def test_why_rewards_are_missing_is_told_once_and_at_every_power_of_ten(reward_with, caplog):
    reward = reward_with(SomeFail(), name="safe")
    turns = [*turns_of(2), Turn(response="no 9", behavior="dance")]

    for _ in range(101):
        reward.scored(turns)

    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "safe: no reward for 1 of 3 completions: failed verdict: the judge gave no probability",
        "safe: no reward for 1 of 3 completions: unknown behavior 'dance'",
        "safe: 1 of 3 responses came without a prompt, and are judged alone",
        "safe: no reward for 10 completions so far: failed verdict: the judge gave no probability",
        "safe: no reward for 10 completions so far: unknown behavior 'dance'",
        "safe: no reward for 100 completions so far: failed verdict: the judge gave no probability",
        "safe: no reward for 100 completions so far: unknown behavior 'dance'",
    ]


def test_reasons_without_end_are_told_for_a_while(reward_with, caplog):
    turns = [Turn(response="no", behavior=f"dance {place}") for place in range(3_000)]

    reward_with().scored(turns)

    assert len(caplog.records) < 120


def failing_with(reward, error):
    """Let a reward fail by a bug of ours, as it should never."""

    def broken(*_, **__):
        raise error

    reward._live._made.turn_rewards = broken
    return reward


def test_what_caused_a_bug_is_told_by_type_and_place_without_its_message(reward_with, caplog):
    error = ValueError(SECRET)
    error.__cause__ = KeyError(SECRET)

    failing_with(reward_with(), error).scored(turns_of(1))

    [record] = [one for one in caplog.records if one.levelname == "ERROR"]
    told = record.getMessage()
    assert record.exc_info is None
    assert "the reward failed: KeyError at an unknown place, then ValueError at " in told
    assert told.endswith(" broken")


def test_a_circle_of_causes_ends(reward_with, caplog):
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first

    failing_with(reward_with(), first).scored(turns_of(1))

    assert [one.levelname for one in caplog.records].count("ERROR") == 1


@pytest.mark.ci
def test_a_bug_that_comes_again_is_told_at_every_power_of_ten(reward_with, caplog):
    reward = failing_with(reward_with(), ValueError(SECRET))

    for _ in range(100):
        reward.scored(turns_of(1))

    told = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert len(told) == 3
    assert told[1].endswith("the reward failed, for the 10th time: ValueError")


def test_a_record_has_every_completion(reward_with, tmp_path):
    reward = reward_with(SomeFail(), record=tmp_path / "run", name="mine", framework="plain")

    for step in range(3):
        reward.scored(turns_of(10, start=10 * step), step=step)
    reward.close()

    rows = rows_in(tmp_path / "run")
    assert [row["response"] for row in rows] == [f"no {place}" for place in range(30)]
    assert [row["step"] for row in rows] == [place // 10 for place in range(30)]
    assert sum(row["reward"] is None for row in rows) == 9
    document = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert document["name"] == "mine"
    assert document["framework"] == "plain"
    assert document["judge_fingerprint"] == SomeFail().fingerprint


def test_a_record_that_is_another_rewards_is_a_mistake_at_once(reward_with, tmp_path):
    reward_with(record=tmp_path / "run")

    with pytest.raises(InputError, match="`record` must be a folder of its own"):
        GuardedReward(tiny_reward(), judge=tiny_judge(), record=tmp_path / "run")


def test_a_record_that_cannot_be_written_does_not_stop_training(reward_with, tmp_path, caplog):
    reward = reward_with(record=tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    (tmp_path / "run").write_text("in the way", "utf-8")

    found = [reward.scored(turns_of(2), step=step) for step in range(30)]

    assert all(one.rewards == [SORRY, SORRY] for one in found)
    told = [one for one in caplog.records if "not recorded" in one.getMessage()]
    assert 1 <= len(told) <= 3
    assert "no 0" not in log_text(caplog)


@pytest.mark.ci
def test_a_disk_that_is_full_does_not_stop_training(tmp_path):
    code = """
        import resource, secrets, sys
        from rewards.live.trying_judges import TryingJudge
        from voirdire.adapters import GuardedReward
        from voirdire.testing import golden_reward
        from voirdire.rewards import Turn, reward_of_weights
        reward = GuardedReward(golden_reward(), judge=TryingJudge(), record=sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        turns = [Turn(response="no no no " + secrets.token_hex(40_000), behavior="refuse")] * 2
        found = [reward.scored(turns, step=step).rewards for step in range(30)]
        print(found == [[5.0, 5.0]] * 30)
    """

    done = run(code, str(tmp_path / "run"))

    assert done.stdout == "True\n"
    assert done.stderr.count("the training run is not recorded") in (1, 2)
    assert "the last completions are not recorded: File too large" in done.stderr
    assert "no no no" not in done.stderr


def run(code, *arguments):
    """Run a program that must end by itself."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
        env=own_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_goes_on_with_a_record_of_its_own(tmp_path):
    code = """
        import os, sys
        from rewards.live.trying_judges import TryingJudge
        from voirdire.adapters import GuardedReward
        from voirdire.testing import golden_reward
        from voirdire.rewards import Turn, reward_of_weights
        reward = GuardedReward(golden_reward(), judge=TryingJudge(), record=sys.argv[1])
        def train(said):
            names = [f"{said} {place}" for place in range(2)]
            turns = [Turn(response=x, prompt="Hi", behavior="refuse") for x in names]
            return reward.scored(turns, step=0).rewards
        train("before")
        child = os.fork()
        if child == 0:
            print("child", train("child"), flush=True)
            sys.exit()
        _, status = os.waitpid(child, 0)
        print("parent", status, train("parent"))
    """

    done = run(code, str(tmp_path / "run"))

    assert done.stdout == "child [5.0, 5.0]\nparent 0 [5.0, 5.0]\n"
    assert done.stderr == ""
    said = sorted(row["response"] for row in rows_in(tmp_path / "run"))
    assert said == ["before 0", "before 1", "child 0", "child 1", "parent 0", "parent 1"]


def test_a_judge_that_cannot_be_pickled_says_so(reward_with):
    judge = Hangs()  # holds a lock
    judge.let_go.set()
    reward = reward_with(judge)

    with pytest.raises(InputError, match=r"`judge` must be one that can be pickled .*got Hangs"):
        pickle.dumps(reward)

    twin = copy.deepcopy(reward)
    assert twin.scored(turns_of(1)).rewards == [SORRY]
    twin.close()


def test_a_judge_made_of_a_lambda_travels_with_a_pickler_that_can_take_it(reward_with):
    cloudpickle = pytest.importorskip("cloudpickle")
    judge = ScriptedJudge(questions=("sorry", "rude", "names_it"), answer=lambda _: (1, 0, 0))

    twin = cloudpickle.loads(cloudpickle.dumps(reward_with(judge)))

    assert twin.scored(turns_of(1)).rewards == [SORRY]
    twin.close()


def test_a_language_model_with_a_key_does_not_travel_but_its_name_does(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-nobody-may-see")
    by_object = GuardedReward(
        golden_reward(), judge=LlmJudge(model=load_model("openai/gpt-4o-mini"))
    )
    by_name = GuardedReward(golden_reward(), judge="openai/gpt-4o-mini")

    with pytest.raises(InputError, match="Name the judge") as caught:
        pickle.dumps(by_object)
    parcel = pickle.dumps(by_name)

    assert "sk-a-key" not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert b"sk-a-key" not in parcel
    assert pickle.loads(parcel).name == "golden"


def test_a_copy_is_one_of_its_own(reward_with):
    judge = Counts()
    reward = reward_with(judge, give_up_after=3, name="mine")
    twin = copy.deepcopy(reward)

    found = twin.scored(turns_of(2))
    reward.close()

    assert found.rewards == twin.scored(turns_of(2)).rewards == [SORRY, SORRY]
    assert twin.name == "mine"
    assert judge.asked == ["no 0", "no 1"]
    twin.close()


def test_by_default_it_never_gives_up(reward_with):
    reward = reward_with(Raises())

    for _ in range(50):
        assert reward.scored(turns_of(1)).rewards == [None]


@pytest.mark.parametrize("is_async", [False, True])
def test_it_gives_up_after_so_many_requests_in_vain_if_asked_to(reward_with, is_async):
    reward = reward_with(Raises(), give_up_after=3)

    def ask(start):
        turns = turns_of(2, start=start)
        return asyncio.run(reward.ascored(turns)) if is_async else reward.scored(turns)

    assert ask(0).rewards == ask(2).rewards == [None, None]
    with pytest.raises(JudgeUnavailableError, match="gave nothing for 3 requests in a row") as told:
        ask(4)

    assert isinstance(told.value, VoirdireError)
    assert "OPEN SESAME" not in str(told.value)
    with pytest.raises(JudgeUnavailableError, match="gave nothing for 4 requests in a row"):
        ask(6)


def test_one_reward_is_enough_to_go_on(reward_with):
    reward = reward_with(SomeRaise(), give_up_after=2)

    for _ in range(5):
        assert reward.scored(turns_of(1, start=3)).rewards == [None]
        assert reward.scored([]).rewards == []
        assert reward.scored(turns_of(1, start=4)).rewards == [SORRY]


def test_a_request_with_one_reward_is_not_in_vain(reward_with):
    reward = reward_with(give_up_after=1)
    turns = [*turns_of(1), Turn(response="no 1", prompt="how?", behavior="dance")]

    found = reward.scored(turns)

    assert found.rewards == [SORRY, None]
    assert reward.scored(turns).rewards == found.rewards


def test_closed_and_asked_again_it_begins_anew(reward_with, tmp_path):
    reward = reward_with(record=tmp_path / "run")
    first = reward.scored(turns_of(2), step=0)
    reward.close()
    reward.close()

    second = reward.scored(turns_of(2), step=1)

    assert first.rewards == second.rewards == [SORRY, SORRY]


def test_closing_a_judge_that_hangs_takes_as_long_as_it_may(reward_with):
    judge = Hangs()
    reward = reward_with(judge, deadline_s=0.05)
    reward.scored(turns_of(1))

    reward.close(drain_s=0.1)

    assert not judge.has_answered.is_set()
    judge.let_go.set()


def test_weights_that_pay_against_the_rubric_are_told_once_when_it_begins(reward_with, caplog):
    weights = {"chat": {"rude": 1.5}, "refuse": {"sorry": 1.0, "rude": -1.0}}
    reward = reward_of_weights(weights, rubric=tiny_reward().rubric, judge=None)

    guarded = reward_with(reward=reward, judge=tiny_judge())
    pickle.loads(pickle.dumps(guarded)).close()
    guarded.scored([Turn(response="hello", prompt="Hi!", behavior="chat")])

    [told] = [one.getMessage() for one in caplog.records if "rubric demands" in one.getMessage()]
    assert "1 weight pays against" in told
    assert "chat: rude (" in told
    assert "+1.50" in told
