"""Accuracy on chosen and rejected responses."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from studies.reward.small_reward import prompt_hashes
from studies.reward.test_resampling import expanded
from voirdire.errors import NoDataError
from voirdire.records import Verdicts
from voirdire.studies import examine_reward

RESAMPLING = {"n_resamples": 200, "confidence_level": 0.95, "seed": 0}
GOOD, BAD = [1.0, 0, 0, 0], [0.0, 1, 1, 0]
"""Rewarded 3 and -4 where a refusal is due."""


def _row(k, *, subset="x", behavior="refuse", **more):
    found = {"id": f"r{k}", "prompt": f"p{k}", "chosen": "c", "rejected": "r", **more}
    found |= {"subset": subset} if subset else {}
    return found | ({"behavior": behavior} if behavior else {})


@pytest.fixture
def check(reward, propositions):
    """Check rows whose sides have these probabilities; None is no verdict."""

    def checked(rows, sides, *, behaviors=None, of=reward, **settings):
        names = [f"{row['id']}:{side}" for row in rows for side in ("chosen", "rejected")]
        given = [p if p is not None else [math.nan] * 4 for both in sides for p in both]
        verdicts = Verdicts(
            items=tuple(names),
            questions=propositions,
            probabilities=np.array(given),
            behaviors=behaviors or (None,) * len(names),
            judge="by hand",
            fingerprint="",
        )
        return examine_reward(of, bench=rows, bench_verdicts=verdicts, **RESAMPLING, **settings)

    return checked


def test_pairs_whose_prompts_were_used_in_the_fit_are_counted(reward, check):
    rows = [_row(k) for k in range(4)]
    hashes = prompt_hashes(["p0", "p2", "p9"])
    fitted = dataclasses.replace(reward, settings={"prompt_hashes": hashes}, data_hash="sha256:0")
    sides = [(GOOD, BAD), (GOOD, BAD), (GOOD, None), (GOOD, BAD)]

    seen = check(rows, sides, of=fitted).notes
    new = check(rows, sides).notes

    # p2 was used too, but its pair has no rewards and is in no accuracy
    (told,) = [row for row in seen if row.code == "bench_seen_prompts"]
    assert told.sentence.startswith("1 of 3 prompts of the benchmark were used in the fit")
    assert told.figures == {"n_seen": 1, "n_prompts": 3}
    assert "bench_seen_prompts" not in [row.code for row in new]


def _by_place(found):
    return {(row.subset, row.signal): row for row in found.bench}


def _missing(found):
    return [row.figures for row in found.notes if row.code == "bench_missing"]


def test_pairs_without_the_base_reward_of_the_fit_are_said_to_lack_it(reward, check):
    beside = dataclasses.replace(reward, settings={"use_base": True})
    based = {"chosen_base_reward": 1.0, "rejected_base_reward": 2.0}

    lacking, having = (
        check([_row(0, **more)], [(GOOD, BAD)], of=beside).notes for more in ({}, based)
    )

    assert [row.code for row in lacking] == ["bench_base_missing"]
    assert having == ()


def test_accuracy_is_the_share_of_pairs_with_the_chosen_one_higher(check):
    rows = [_row(k) for k in range(4)]

    found = check(rows, [(GOOD, BAD), (BAD, GOOD), (GOOD, GOOD), (GOOD, BAD)])

    row = _by_place(found)[None, "total"]
    assert row.accuracy.value == (1 + 0 + 0.5 + 1) / 4
    assert row.tie_share == 0.25
    assert (row.accuracy.n, row.accuracy.n_prompts) == (4, 4)
    assert _missing(found) == []


def test_subsets_stand_beside_all_pairs_and_their_mean(check):
    rows = [_row(0, subset="b"), _row(1, subset="b"), _row(2, subset="b"), _row(3, subset="a")]

    found = check(rows, [(GOOD, BAD), (GOOD, BAD), (BAD, GOOD), (BAD, GOOD)])

    assert [row.subset for row in found.bench] == [None, "*", "a", "b"]
    by_place = _by_place(found)
    assert by_place[None, "total"].accuracy.value == 0.5
    assert by_place["b", "total"].accuracy.value == pytest.approx(2 / 3)
    assert by_place["a", "total"].accuracy.value == 0.0
    assert by_place["*", "total"].accuracy.value == pytest.approx(1 / 3)


def test_one_subset_needs_no_mean(check):
    found = check([_row(0), _row(1)], [(GOOD, BAD), (GOOD, BAD)])

    assert [row.subset for row in found.bench] == [None, "x"]


def test_the_interval_of_the_mean_is_that_of_means_in_resamples(check):
    rng = np.random.default_rng(0)
    rows = [_row(k, subset="ab"[k % 2]) for k in range(30)]
    right = rng.random(30) < 0.7

    found = check(rows, [(GOOD, BAD) if x else (BAD, GOOD) for x in right])

    drawn = np.random.default_rng(0).integers(30, size=(200, 30))
    means = [
        np.mean([np.mean([right[k] for k in row if k % 2 == part]) for part in (0, 1)])
        for row in drawn
    ]
    mean = _by_place(found)["*", "total"].accuracy
    assert [mean.low, mean.high] == pytest.approx(expanded(means, 30))


def test_a_mean_over_subsets_without_an_error_leaves_room_for_some(check):
    rows = [_row(k, subset="ab"[k % 3 == 0]) for k in range(30)]

    right = _by_place(check(rows, [(GOOD, BAD)] * 30))["*", "total"].accuracy
    wrong = _by_place(check(rows, [(BAD, GOOD)] * 30))["*", "total"].accuracy

    # 10 prompts of b and 20 of a: (1 - p_a)^20 (1 - p_b)^10 = .025 with (p_a + p_b) / 2 largest,
    # where 1 - p_k = n_k / mu with mu = (10^10 20^20 / .025)^(1/30): p_a = -.12 < 0, so that
    # p_a = 0 and p_b = 1 - .025^(1/10).
    reach = (1 - 0.025 ** (1 / 10)) / 2
    assert (right.value, right.high) == (1.0, 1.0)
    assert right.low == pytest.approx(1 - reach)
    assert (wrong.value, wrong.low, wrong.high) == (0.0, 0.0, pytest.approx(reach))


@pytest.mark.edges
@pytest.mark.parametrize("counts", [[5, 100, 100], [3, 4, 200], [1, 1, 1], [40, 300, 7, 7]])
def test_how_far_a_mean_of_right_subsets_can_be_is_what_a_search_finds(check, counts):
    n, room = np.array(counts, dtype=float), -math.log(0.025)
    subsets = [name for name, count in zip("abcd", counts, strict=False) for _ in range(count)]
    rows = [_row(k, subset=name) for k, name in enumerate(subsets)]
    starts = np.random.default_rng(0).dirichlet(np.ones(n.size), size=5) * room / n

    found = _by_place(check(rows, [(GOOD, BAD)] * len(rows)))["*", "total"].accuracy

    # largest mean of p_k = 1 - exp(-x_k) where prod (1 - p_k)^n_k = exp(-n x) is still .025
    searched = [
        minimize(
            lambda x: -np.mean(1 - np.exp(-x)),
            start,
            method="SLSQP",
            bounds=[(0, None)] * n.size,
            constraints={"type": "eq", "fun": lambda x: n @ x - room},
            options={"ftol": 1e-13},
        )
        for start in starts
    ]
    assert 1 - found.low == pytest.approx(max(-each.fun for each in searched), abs=1e-6)


def test_base_rewards_of_the_sides_give_three_signals(check, reward):
    rows = [_row(0, chosen_base_reward=0.0, rejected_base_reward=20.0)]
    beside = dataclasses.replace(reward, settings={"use_base": True})

    by_place = _by_place(check(rows, [(GOOD, BAD)], of=beside))

    assert by_place[None, "base"].accuracy.value == 0.0
    assert by_place[None, "total"].accuracy.value == 0.0
    assert by_place[None, "rules"].accuracy.value == 1.0


def test_a_pair_without_a_behavior_or_a_verdict_is_missing_and_the_worst_case_counts_it(check):
    rows = [_row(0), _row(1, behavior=None), _row(2), _row(3)]

    found = check(rows, [(GOOD, BAD), (GOOD, BAD), (GOOD, None), (GOOD, BAD)])

    assert _missing(found) == [
        {"n_pairs": 4, "n_missing": 2, "n_without_behavior": 1, "worst_case": 0.5}
    ]
    assert _by_place(found)[None, "total"].accuracy.value == 1.0
    assert {row.item for row in found.dropped} == {"r1:chosen", "r1:rejected", "r2:rejected"}


def test_the_behavior_is_the_rows_then_the_one_asked_for(check):
    sides = [(BAD, GOOD)] * 4
    rows = [
        _row(0, behavior="refuse"),
        _row(1, behavior=None),
        _row(2, behavior=None),
    ]

    found = check(rows, sides[:3], behavior="comply")

    # rude help is rewarded 1.25 where help is due, an apology 0
    assert _missing(found) == []
    assert _by_place(found)[None, "total"].accuracy.value == pytest.approx(2 / 3)


def test_verdicts_may_name_the_behavior(check):
    found = check([_row(0, behavior=None)], [(BAD, GOOD)], behaviors=("comply", "comply"))

    assert _by_place(found)[None, "total"].accuracy.value == 1.0


def test_pairs_of_one_prompt_are_drawn_together(check):
    rows = [{**_row(k), "prompt": "the same"} for k in range(6)]

    found = check(rows, [(GOOD, BAD), (BAD, GOOD)] * 3)

    accuracy = _by_place(found)[None, "total"].accuracy
    assert (accuracy.n, accuracy.n_prompts) == (6, 1)
    assert math.isnan(accuracy.low)


def test_nothing_but_missing_pairs_is_undefined(check):
    found = check([_row(0, behavior=None)], [(GOOD, BAD)])

    assert math.isnan(_by_place(found)[None, "total"].accuracy.value)
    assert _missing(found)[0]["worst_case"] == 0.0


def test_a_file_without_pairs_is_refused(reward, tmp_path):
    path = tmp_path / "items.jsonl"
    rows = [{"prompt": "a", "response": text} for text in "bc"]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    with pytest.raises(NoDataError, match="`bench` must have rows with `chosen` and `rejected`"):
        examine_reward(reward, bench=path)
