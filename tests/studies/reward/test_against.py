"""A reward beside an older one: the same prompts, intervals of differences, regressions."""

import dataclasses

import numpy as np
import pytest

from studies.reward.small_reward import LABELS, items_of, judged_of
from studies.reward.test_resampling import expanded
from voirdire.rewards import read_comparisons
from voirdire.studies import examine_reward

SORRY, RUDE = [1.0, 0, 0, 0], [0.0, 1, 0, 0]


@pytest.fixture
def rows():
    """Make two completions for each of 24 prompts; on every third the judge is wrong."""
    return [
        {
            "prompt": f"p{k:02}",
            "behavior": "refuse",
            "label": label,
            "p": p if k % 3 else q,
        }
        for k in range(24)
        for label, p, q in ((LABELS[0], SORRY, RUDE), (LABELS[2], RUDE, SORRY))
    ]


@pytest.fixture
def compare(make_reward, propositions):
    """Examine the reward of some weights beside that of others."""

    def compared(rows, new, old, **settings):
        data = read_comparisons(items_of(rows))
        made = [make_reward({"refuse": weights}) for weights in (new, old)]
        verdicts = judged_of(rows, propositions)
        return examine_reward(
            made[0], data, verdicts=verdicts, against=made[1], **{"n_resamples": 200} | settings
        )

    return compared


def test_figures_of_both_stand_side_by_side_with_the_interval_of_their_difference(compare, rows):
    found = compare(rows, {"rude": 1.0}, {"apology": 1.0})

    [change] = [row for row in found.changes if row.figure == "error_rate"]
    # two prompts in three are ranked right by the old reward, and the others by the new one
    assert (change.new.value, change.old.value) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    wrong = np.array([k % 3 == 0 for k in range(24)], dtype=float)
    drawn = np.random.default_rng(0).integers(24, size=(200, 24))
    differences = [(1 - wrong[row]).mean() - wrong[row].mean() for row in drawn]
    assert change.difference.value == pytest.approx(1 / 3)
    assert [change.difference.low, change.difference.high] == pytest.approx(
        expanded(differences, 24)
    )
    assert change.is_regression == (change.difference.low > 0)
    assert found.against["name"] == "reward"


def test_a_clear_regression_closes_the_gate_and_the_same_reward_none(compare, rows):
    right = [row | {"p": SORRY if row["label"] == LABELS[0] else RUDE} for row in rows]

    worse = compare(right, {"rude": 1.0}, {"apology": 1.0})
    same = compare(right, {"apology": 1.0}, {"apology": 1.0})
    better = compare(right, {"apology": 1.0}, {"rude": 1.0})

    assert "error_rate is 100.0% instead of 0.0%" in worse.failures
    assert {row.difference.value for row in same.changes} == {0.0}
    for found in (same, better):
        assert not [row for row in found.changes if row.is_regression]
        assert not [text for text in found.failures if "instead of" in text]


def test_without_resamples_nothing_is_shown_to_be_worse(compare, rows):
    found = compare(rows, {"rude": 1.0}, {"apology": 1.0}, n_resamples=0)

    assert found.changes[0].difference.value == pytest.approx(1 / 3)
    assert np.isnan(found.changes[0].difference.low)
    assert not any(row.is_regression for row in found.changes)


def test_what_the_older_figures_cannot_be_read_without_is_said(reward, rows, propositions):
    data = read_comparisons(items_of(rows))
    old = dataclasses.replace(reward, name="old", data_hash=data.data_hash)
    verdicts = judged_of(rows, propositions)

    found = examine_reward(reward, data, verdicts=verdicts, against=old, n_resamples=0)

    [note] = [row for row in found.notes if row.code == "against_conditions"]
    assert note.figures["name"] == "old"
    assert "24 of 24 prompts with comparisons were used in the fit" in note.sentence
    assert found.is_held_out


def test_a_reward_that_ranks_everything_wrong_is_said_to_whatever_base_rewards_there_are(
    make_reward, rows, propositions
):
    right = [
        row
        | {"p": SORRY if row["label"] == LABELS[0] else RUDE}
        | {"base": 100.0 if row["label"] == LABELS[0] else 0.0}
        for row in rows
    ]
    reward = make_reward({"refuse": {"rude": 1.0}})
    data, verdicts = read_comparisons(items_of(right)), judged_of(right, propositions)

    found = examine_reward(reward, data, verdicts=verdicts, n_resamples=0)

    [row] = [row for row in found.error_rates if row.behavior is None and row.against == "all"]
    assert (row.signal, row.rate.value) == ("total", 1.0)
    assert "base_not_in_fit" in {note.code for note in found.notes}
    beside = dataclasses.replace(reward, settings={"use_base": True})
    totals = {
        row.signal: row.rate.value
        for row in examine_reward(beside, data, verdicts=verdicts, n_resamples=0).error_rates
        if row.behavior is None and row.against == "all"
    }
    assert totals == {"base": 0.0, "total": 0.0, "rules": 1.0}
