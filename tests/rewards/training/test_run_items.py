"""A run that is scored again: by its own verdicts where they fit, and else by a judge."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from asked_models import Asked
from rewards.reward_cases import TINY, tiny_judge, tiny_reward
from rewards.training.recorded_runs import recorded, scored, watch_of
from voirdire.errors import InputError, NoDataError
from voirdire.judging import LlmJudge
from voirdire.rewards import Turn, reward_of_weights, score_run
from voirdire.rubrics import rubric_from_text

OTHER = {
    "refuse": {"sorry": -1.0, "rude": 2.0, "good": 1.0},
    "chat": {"rude": 3.0, "good": -1.0},
}
LOOSER = TINY.replace("good: all(required)", "good: sorry")
FAR = "are of another judge than the reward's, or on other questions"


def other_reward(rubric=TINY, **settings):
    """Give a reward with other weights, on this rubric or another."""
    given = {"rubric": rubric_from_text(rubric), "judge": None, "name": "other"} | settings
    return reward_of_weights(OTHER, **given)


def completions(folder):
    """Read all the completions of a run, in which none was trained again."""
    return pl.read_parquet(sorted((folder / "completions").glob("*.parquet")))


def write(folder, turns, *, step, **settings):
    """Write turns of a step down, as a process of their own does."""
    watch = watch_of(folder)
    watch.add(scored(turns, **settings), turns, step=step)
    watch.close()


def rescored(tmp_path, reward, **settings):
    out = tmp_path / "rewards.parquet"
    summary = score_run(tmp_path / "run", out, reward=reward, **settings)
    return summary, pl.read_parquet(out)


def test_the_runs_own_reward_gives_its_rewards_again_bit_for_bit(tmp_path):
    n_steps = len(recorded(tmp_path / "run"))
    more = [
        Turn(response="0.9 0.1", prompt="p", behavior="refuse", base_reward=0.1),
        Turn(response="0.7 0.3", prompt="p", behavior="refuse"),
        Turn(response="nan 0.3", prompt="p", behavior="refuse", base_reward=0.2),
        Turn(response="0.9 0.1", prompt="p", behavior="none of these", base_reward=0.1),
    ]
    write(tmp_path / "run", more, step=n_steps, base_column="base_reward")

    summary, again = rescored(tmp_path, tiny_reward(), base="base_reward")

    joined = completions(tmp_path / "run").join(again, on="item", suffix="_again")
    assert joined.height == summary.n_items == 6 * 24 + 4
    for name in ("reward", "rule_reward", "base_reward", "missing"):
        assert joined[name].equals(joined[f"{name}_again"]), name
    assert summary.n_scored == 6 * 24 + 1


def test_other_weights_pay_for_the_same_verdicts_and_ask_nobody(tmp_path):
    turns = [Turn(response="0.5 0.2", prompt="p", behavior="chat")]
    write(tmp_path / "run", turns, step=0)

    summary, rewards = rescored(tmp_path, other_reward())

    assert rewards["reward"].to_list() == [pytest.approx(3 * 0.2 - 0.8)]
    assert (summary.judge, summary.calls, summary.notes) == ("scripted", None, ())


def test_steps_that_were_trained_again_count_once(tmp_path):
    recorded(tmp_path / "run", n_steps=4)
    recorded(tmp_path / "run", n_steps=2, seed=1)

    assert rescored(tmp_path, tiny_reward())[0].n_items == 48


def test_a_damaged_part_is_left_out_and_told(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    write(tmp_path / "run", [Turn(response="0.9 0.1", behavior="refuse")], step=1)
    damaged = max((tmp_path / "run" / "completions").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-30])

    summary, _ = rescored(tmp_path, tiny_reward())

    assert summary.n_items == 24
    assert summary.notes[0].startswith(f"{damaged.name}: is damaged, or no part of this run")


def test_classes_may_change_for_a_bound_reward_where_the_judge_is_the_same(tmp_path):
    judge = tiny_judge()
    bound = {"judge": judge, "bound": True}
    reward = tiny_reward(**bound)
    recorded(tmp_path / "run", reward=reward, judge_fingerprint=judge.fingerprint)

    summary, _ = rescored(tmp_path, other_reward(LOOSER, **bound))

    assert (summary.n_scored, summary.notes) == (144, ())


def test_verdicts_of_another_judge_are_taken_only_where_that_is_meant(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    other = other_reward(judge=tiny_judge(version="2"), bound=True)

    with pytest.raises(InputError, match="judge"):  # nobody can make that one again
        rescored(tmp_path, other)
    taken, _ = rescored(tmp_path, other, other_judge=True)
    again, _ = rescored(tmp_path, other, judge=tiny_judge(version="2"))

    assert taken.n_scored == again.n_scored == 24
    assert "another judge than the weights were fitted on" in taken.notes[0]


def test_verdicts_on_another_part_of_the_response_do_not_fit(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    plain = other_reward()
    judged = dataclasses.replace(plain.judge, judged="whole_turn")

    with pytest.raises(InputError, match="judge"):
        rescored(tmp_path, dataclasses.replace(plain, judge=judged))


def test_completions_that_another_judge_judged_on_the_way_do_not_fit(tmp_path):
    recorded(tmp_path / "run", n_steps=2, judge=tiny_judge(version="1"))
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    write(tmp_path / "run", turns, step=2, judge=tiny_judge(version="2"))

    summary, _ = rescored(tmp_path, tiny_reward())

    why = "failed verdict: judged by another judge than the rest of the run"
    assert dict(summary.missing) == {why: 48}


@pytest.mark.ci
def test_another_wording_asks_a_language_model_again_once(tmp_path):
    def answer(shown):
        return dict(zip(("sorry", "rude"), map(float, shown["response"].split()), strict=True))

    model = Asked(answer)
    judge = LlmJudge(model=model.model, probability="stated")
    recorded(tmp_path / "run", n_steps=2, judge=judge)
    model.seen.clear()
    other = other_reward(TINY.replace("Is it rude?", "Is it impolite?"))
    asking = {"judge": judge, "store": tmp_path / "replies.sqlite"}

    (first, rewards), (_, again) = (rescored(tmp_path, other, **asking) for _ in "ab")

    assert sum(model.seen.values()) == first.n_scored == 48
    np.testing.assert_array_equal(rewards["reward"], again["reward"])


def test_a_run_without_completions_is_refused(tmp_path):
    watch_of(tmp_path / "run").close()

    with pytest.raises(NoDataError, match="`run` must hold completions, got none"):
        rescored(tmp_path, other_reward())
