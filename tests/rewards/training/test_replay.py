"""Replay: a run's rewards again bit for bit, other weights as `score` does, other rubrics."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from asked_models import Asked
from rewards.reward_cases import TINY, WEIGHTS, read_off, tiny_judge, tiny_reward
from rewards.training.recorded_runs import recorded, scored, watch_of
from voirdire.errors import InputError, NoDataError
from voirdire.judging import LlmJudge, ScriptedJudge
from voirdire.rewards import (
    Turn,
    replay,
    reward_of_weights,
    score_file,
)
from voirdire.rubrics import rubric_from_text

OTHER = {
    "refuse": {"sorry": -1.0, "rude": 2.0, "good": 1.0},
    "chat": {"rude": 3.0, "good": -1.0},
}


def completions(folder):
    """Read all the completions of a run, in which none was trained again."""
    return pl.read_parquet(sorted((folder / "completions").glob("*.parquet")))


def write(folder, turns, *, step, **settings):
    """Write turns of a step down, as a process of their own does."""
    watch = watch_of(folder)
    watch.add(scored(turns, **settings), turns, step=step)
    watch.close()


def other_reward(rubric=TINY, weights=OTHER, **settings):
    """Give a reward with other weights, on this rubric or another."""
    given = {"rubric": rubric_from_text(rubric), "judge": None, "name": "other"} | settings
    return reward_of_weights(weights, **given)


# The run's own reward -------------------------------------------------------------------------


def test_the_runs_own_reward_gives_its_rewards_again_bit_for_bit(tmp_path):
    turns = recorded(tmp_path / "run")
    more = [
        Turn(response="0.9 0.1", prompt="p", behavior="refuse", base_reward=0.1),
        Turn(response="0.7 0.3", prompt="p", behavior="refuse"),
        Turn(response=None, prompt="p", behavior="refuse", base_reward=0.2),
        Turn(response="0.9 0.1", prompt="p", behavior="none of these", base_reward=0.1),
    ]
    write(tmp_path / "run", more, step=len(turns), base_column="base_reward")

    found = replay(tmp_path / "run", tiny_reward(), output=tmp_path / "again.parquet")

    before, again = completions(tmp_path / "run"), pl.read_parquet(tmp_path / "again.parquet")
    joined = before.join(again, on="item", suffix="_again")
    assert joined.height == before.height == 6 * 24 + 4
    for name in ("reward", "rule_reward", "base_reward", "missing"):
        assert joined[name].equals(joined[f"{name}_again"]), name
    assert (found.whole.ranks.n_reversed, found.whole.ranks.best_changed_share) == (0, 0.0)
    assert found.n_before == found.n_after == 6 * 24 + 1


def test_centred_rewards_stay_centred(tmp_path):
    plain = tiny_reward()
    reward = dataclasses.replace(
        plain,
        behaviors={
            name: dataclasses.replace(row, mean=0.25) for name, row in plain.behaviors.items()
        },
    )
    recorded(tmp_path / "run", reward=reward, center=True)

    found = replay(tmp_path / "run", reward)
    unknown = replay(tmp_path / "run", plain)

    assert found.whole.mean_after == found.whole.mean_before
    assert unknown.whole.mean_after == pytest.approx(unknown.whole.mean_before + 0.25)
    assert "the means of the reward are unknown" in unknown.notes[0]


# Other weights --------------------------------------------------------------------------------


def test_other_weights_give_what_score_gives(tmp_path):
    recorded(tmp_path / "run")
    rows = completions(tmp_path / "run")
    rows.rename({"item": "id"}).drop("group", "session").write_parquet(tmp_path / "items.parquet")
    rows.drop("step", "group", "session").write_parquet(tmp_path / "verdicts.parquet")
    reward = other_reward()
    score_file(
        tmp_path / "items.parquet",
        tmp_path / "scored.parquet",
        reward=reward,
        verdicts=tmp_path / "verdicts.parquet",
    )

    replay(tmp_path / "run", reward, output=tmp_path / "replayed.parquet")

    assert pl.read_parquet(tmp_path / "replayed.parquet").equals(
        pl.read_parquet(tmp_path / "scored.parquet")
    )


def test_means_are_those_of_each_step_and_behavior(tmp_path):
    watch = watch_of(tmp_path / "run")
    for step, rude in enumerate(["0.2", "0.6"]):
        turns = [Turn(response=f"0.5 {rude}", prompt="p", behavior="chat") for _ in range(2)]
        watch.add(scored(turns), turns, step=step)
    watch.close()

    found = replay(tmp_path / "run", other_reward())

    # chat: before -1 rude + 2 (1 - rude), after 3 rude - (1 - rude)
    assert [part.mean_before for part in found.steps] == pytest.approx([1.4, 0.2])
    assert [part.mean_after for part in found.steps] == pytest.approx([-0.2, 1.4])
    assert [part.behavior for part in found.behaviors] == ["chat"]
    assert found.whole.correlation == pytest.approx(-1.0)


def test_a_behavior_without_weights_has_no_reward_and_a_reason(tmp_path):
    recorded(tmp_path / "run", n_steps=1)

    found = replay(tmp_path / "run", other_reward(weights={"refuse": OTHER["refuse"]}))

    assert found.missing == {"no weights for behavior 'chat'": 8}
    assert (found.n_after, found.n_before) == (16, 24)


def test_steps_that_were_trained_again_count_once(tmp_path):
    recorded(tmp_path / "run", n_steps=4)
    recorded(tmp_path / "run", n_steps=2, seed=1)

    found = replay(tmp_path / "run", tiny_reward())

    assert [(part.step, part.n) for part in found.steps] == [(0, 24), (1, 24)]


def test_a_damaged_part_is_left_out_and_listed(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    write(tmp_path / "run", turns, step=1)
    damaged = max((tmp_path / "run" / "completions").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-30])

    found = replay(tmp_path / "run", tiny_reward())

    assert found.n == 24
    [reason] = found.dropped
    assert reason.startswith(f"{damaged.name}: is damaged, or no part of this run")


# Which verdicts fit ---------------------------------------------------------------------------

LOOSER = TINY.replace("good: all(required)", "good: sorry")
LONGER = TINY.replace(
    "behaviors:", '  - {id: long, kind: boolean, text: "Is it long?"}\nbehaviors:', 1
).replace("      rude: undesired\n", "      rude: undesired\n      long: undesired\n", 1)


def test_classes_may_change_for_a_bound_reward_where_the_judge_is_the_same(tmp_path):
    judge = tiny_judge()
    bound = {"judge": judge, "bound": True}
    recorded(
        tmp_path / "run",
        reward=tiny_reward(**bound),
        judge_fingerprint=judge.fingerprint,
    )

    found = replay(tmp_path / "run", other_reward(LOOSER, **bound))

    assert (found.n_reused, found.n_judged, found.n_after) == (144, 0, 144)


def test_the_judge_that_is_named_is_recognised_without_its_fingerprint(tmp_path):
    recorded(tmp_path / "run", reward=tiny_reward(judge=tiny_judge(), bound=True))
    other = other_reward(LOOSER, judge=tiny_judge(), bound=True)

    unnamed = replay(tmp_path / "run", other)
    named = replay(tmp_path / "run", other, judge=tiny_judge())

    assert (unnamed.n_reused, unnamed.n_after) == (0, 0)
    assert "whose verdicts are not used" in unnamed.notes[0]
    assert (named.n_reused, named.n_judged, named.n_after) == (144, 0, 144)


def test_verdicts_of_another_judge_are_taken_only_where_that_is_meant(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    other = other_reward(judge=tiny_judge(version="2"), bound=True)

    refused = replay(tmp_path / "run", other)
    taken = replay(tmp_path / "run", other, other_judge=True)
    again = replay(tmp_path / "run", other, judge=tiny_judge(version="2"))

    assert (refused.n_after, taken.n_after) == (0, 24)
    assert refused.missing == {
        "failed verdict: the run has no verdict that fits, and no judge was named": 24
    }
    assert "another judge than the reward was fitted on" in taken.notes[0]
    assert (again.n_reused, again.n_judged) == (0, 24)


def test_a_judge_in_process_is_asked_for_what_a_new_proposition_needs(tmp_path):
    def answer(item):
        asked.append(item.response)
        return [*read_off(item), len(item.response) / 20]

    asked = []
    judge = ScriptedJudge(questions=("sorry", "rude", "long"), answer=answer)
    recorded(tmp_path / "run", n_steps=1, judge=judge)
    asked.clear()
    weights = {"refuse": WEIGHTS["refuse"], "chat": {"long": 2.0}}
    other = other_reward(LONGER, weights=weights)

    unasked = replay(tmp_path / "run", other)
    found = replay(tmp_path / "run", other, judge=judge, output=tmp_path / "found.jsonl")

    # only chats are paid for being long
    assert (unasked.n_reused, unasked.n_after) == (16, 16)
    assert (found.n_reused, found.n_judged, found.n_after) == (16, 8, 24)
    assert len(asked) == 8
    rows = completions(tmp_path / "run").join(
        pl.read_ndjson(tmp_path / "found.jsonl"), on="item", suffix="_new"
    )
    chats = rows.filter(pl.col("behavior") == "chat")
    expected = chats["response"].str.len_chars() / 10
    np.testing.assert_allclose(chats["reward_new"], expected)


def test_verdicts_on_another_part_of_the_response_do_not_fit(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    plain = other_reward()
    judged = dataclasses.replace(plain.judge, judged="whole_turn")

    found = replay(tmp_path / "run", dataclasses.replace(plain, judge=judged))

    assert found.n_after == 0
    assert "on another part of responses (final_answer)" in found.notes[0]


def test_completions_that_another_judge_judged_on_the_way_do_not_fit(tmp_path):
    recorded(tmp_path / "run", n_steps=2, judge=tiny_judge(version="1"))
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    write(tmp_path / "run", turns, step=2, judge=tiny_judge(version="2"))

    found = replay(tmp_path / "run", tiny_reward())

    assert found.missing == {"failed verdict: judged by another judge than the rest of the run": 48}


# Language models ------------------------------------------------------------------------------


@pytest.fixture
def model():
    """Give a language model that reads its answers off the response."""

    def answer(shown):
        sorry, rude = map(float, shown["response"].split())
        return {"sorry": sorry, "rude": rude}

    return Asked(answer)


def judge_of(model):
    return LlmJudge(model=model.model, probability="stated")


def test_a_language_model_is_asked_only_for_what_is_missing(tmp_path, model):
    recorded(tmp_path / "run", n_steps=2, judge=judge_of(model))
    assert sum(model.seen.values()) == 48
    model.seen.clear()
    other = other_reward(LOOSER)

    found = replay(tmp_path / "run", other, judge=judge_of(model))

    assert (found.n_reused, found.n_judged, found.n_after) == (48, 0, 48)
    assert not model.seen


@pytest.mark.ci
def test_another_wording_asks_a_language_model_again_once(tmp_path, model):
    recorded(tmp_path / "run", n_steps=2, judge=judge_of(model))
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")] * 5
    write(tmp_path / "run", turns, step=2, judge=judge_of(model))
    model.seen.clear()
    other = other_reward(TINY.replace("Is it rude?", "Is it impolite?"))
    asking = {"judge": judge_of(model), "store": tmp_path / "replies.sqlite"}

    unasked = replay(tmp_path / "run", other)
    assert not model.seen
    found = replay(tmp_path / "run", other, **asking)
    assert sum(model.seen.values()) == 49  # the five equal ones are one
    again = replay(tmp_path / "run", other, **asking)

    assert "asked with other words than in the run" in unasked.notes[0]
    assert unasked.n_after == 0
    assert (found.n_judged, found.n_after) == (49, 53)
    assert again.whole == found.whole
    assert sum(model.seen.values()) == 49


# Files ----------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_rewards_are_written_in_every_format(tmp_path, suffix):
    recorded(tmp_path / "run", n_steps=1)
    read = {".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson, ".csv": pl.read_csv}[suffix]

    replay(tmp_path / "run", other_reward(), output=tmp_path / f"r{suffix}")

    frame = read(tmp_path / f"r{suffix}")
    assert frame.columns == [
        "item",
        "behavior",
        "reward",
        "base_reward",
        "rule_reward",
        "gated",
        "missing",
    ]
    assert frame["item"].to_list() == completions(tmp_path / "run")["item"].to_list()


def test_nothing_but_rewards_is_replaced(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n", encoding="utf-8")

    with pytest.raises(InputError, match="must not replace"):
        replay(tmp_path / "run", other_reward(), output=tmp_path / "mine.csv")


def test_a_run_without_completions_is_refused(tmp_path):
    watch_of(tmp_path / "run").close()

    with pytest.raises(NoDataError, match="`run` must hold completions, got none"):
        replay(tmp_path / "run", other_reward())
