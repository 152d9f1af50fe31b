"""A training run that a cascade judges: who answered, by completion and by step."""

import pytest

from judging.cascade.cascade_cases import Cascades, is_between
from rewards.reward_cases import tiny_reward
from rewards.training.recorded_runs import recorded, rows_in, scored, watch_of
from voirdire.errors import RefusalError
from voirdire.io import read_verdicts
from voirdire.judging import ScriptedJudge
from voirdire.rewards import Turn, read_training_run, reward_of_weights
from voirdire.rubrics import rubric_from_text


def turn(response, behavior="refuse"):
    return Turn(response=response, prompt="How?", behavior=behavior, n_tokens=3)


@pytest.fixture
def by_both(tmp_path):
    """Record three steps, of which the last one mostly goes on, and a call fails."""
    cascades = Cascades()
    answers = cascades.says
    cascades.says = lambda said: RefusalError("no") if said.endswith("bad") else answers(said)
    said = {
        0: ["0.01 0.99 a", "0.98 0.01 b", "0.01 0.01 c", "0.5 0.5 d"],
        1: ["0.99 0.99 e", "0.01 0.99 f"],
        2: ["0.5 0.01 g", "0.01 0.5 h", "0.4 0.4 bad", "0.99 0.01 i"],
    }
    watch = watch_of(tmp_path / "run")
    for step, responses in said.items():
        turns = [turn(response) for response in responses]
        watch.add(scored(turns, judge=cascades.cascade()), turns, step=step)
    watch.close()
    return tmp_path / "run"


def test_each_completion_says_which_judge_it_came_to(by_both):
    rows = rows_in(by_both)

    expected = {
        row["response"]: "scripted" if is_between(row["response"]) else "quick" for row in rows
    }
    assert {row["response"]: row["answered_by"] for row in rows} == expected
    failed = next(row for row in rows if row["response"].endswith("bad"))
    assert failed["missing"] is not None
    assert failed["answered_by"] == "scripted"  # it was called, and may have to be paid


def test_each_step_has_the_share_of_either_judge(by_both):
    run = read_training_run(by_both)

    assert [dict(step.answered_by) for step in run.steps] == [
        {"quick": 3 / 4, "scripted": 1 / 4},
        {"quick": 1.0},
        {"scripted": 3 / 4, "quick": 1 / 4},
    ]


def test_calls_of_one_step_add_up(tmp_path):
    cascades = Cascades()
    watch = watch_of(tmp_path / "run")
    for responses in (["0.01 0.99 a"], ["0.5 0.5 b", "0.98 0.01 c", "0.4 0.01 d"]):
        turns = [turn(response) for response in responses]
        watch.add(scored(turns, judge=cascades.cascade()), turns, step=0)
    watch.close()

    [step] = read_training_run(tmp_path / "run").steps

    assert dict(step.answered_by) == {"quick": 0.5, "scripted": 0.5}


def test_what_nobody_was_asked_about_came_to_no_judge(tmp_path):
    turns = [turn("0.01 0.99 a"), turn({"no": "text"})]
    watch = watch_of(tmp_path / "run")
    watch.add(scored(turns, judge=Cascades().cascade()), turns, step=0)
    watch.close()

    run = read_training_run(tmp_path / "run")

    assert [row["answered_by"] for row in rows_in(tmp_path / "run")] == ["quick", None]
    assert dict(run.steps[0].answered_by) == {"quick": 0.5}


def test_with_one_judge_no_step_has_shares(tmp_path):
    recorded(tmp_path / "run", n_steps=2)

    run = read_training_run(tmp_path / "run")

    assert {row["answered_by"] for row in rows_in(tmp_path / "run")} == {None}
    assert [dict(step.answered_by) for step in run.steps] == [{}, {}]


def test_such_a_run_is_read_as_verdicts(by_both):
    judged = read_verdicts(by_both / "completions", rubric=tiny_reward().rubric)

    assert len(judged.items) == 10
    assert len(judged.missing) == 1  # the one whose call failed


def test_a_proposition_of_that_name_has_a_column_of_its_own(tmp_path):
    rubric = rubric_from_text(
        """
schema: voirdire.rubric/1
name: named
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: answered_by, kind: boolean, text: "Does it say who answers?"}
behaviors:
  chat: {demands: {sorry: required, answered_by: required}}
"""
    )
    reward = reward_of_weights({"chat": {"sorry": 1, "answered_by": 2}}, rubric=rubric)
    judge = ScriptedJudge(questions=("sorry", "answered_by"), answer=lambda item: [0.25, 0.75])
    turns = [turn("x", "chat")]
    watch = watch_of(tmp_path / "run", reward=reward)
    watch.add(scored(turns, reward=reward, judge=judge), turns, step=0)
    watch.close()

    [row] = rows_in(tmp_path / "run")
    [step] = read_training_run(tmp_path / "run").steps

    assert (row["sorry"], row["answered_by"], row["proposition:answered_by"]) == (0.25, None, 0.75)
    assert dict(step.proposition_rates) == {"sorry": 0.25, "answered_by": 0.75}
