"""The scoring functions: ties to the last digit, users' functions, and what they must return."""

import math
from fractions import Fraction

import numpy as np
import pytest

from alt_test_oracle import PAIR_SCORES
from voirdire import InputError, alt_test

SET_ALIGNMENTS = ("hamming", "jaccard", "jaccard_macro", "jaccard_slots")


def counts_of(result):
    return {
        row.annotator: (row.n_judge_wins, row.n_ties, row.n_human_wins) for row in result.annotators
    }


def test_sums_that_floats_break_are_ties():
    # For "h" the judge scores 1/10 + 1/5 and the annotator 3/10 + 0. As floats the first sum is
    # .30000000000000004, so that naive means would see the judge ahead.
    assert 1 / 10 + 1 / 5 > 3 / 10
    sets = {
        "h": {"2", "3", "4"},
        "k1": {str(k) for k in range(1, 11)},
        "k2": {"1", "20", "21", "22", "23"},
    }
    humans = {name: dict.fromkeys(range(30), labels) for name, labels in sets.items()}
    judge = {i: {"1"} for i in range(30)}

    result = alt_test(judge, humans, alignment="jaccard")

    assert counts_of(result)["h"] == (0, 30, 0)


@pytest.mark.edges
@pytest.mark.parametrize("name", SET_ALIGNMENTS)
def test_ties_of_sets_are_the_ties_of_fractions(name):
    rng = np.random.default_rng(17)
    n_items, n_labels, n_annotators = 250, 9, 6
    labels = [f"l{k}" for k in range(n_labels)]
    universe = frozenset(labels)

    def answers():
        return {
            i: frozenset(label for label in labels if rng.random() < 0.4) for i in range(n_items)
        }

    humans = {f"h{k}": answers() for k in range(n_annotators)}
    judge = answers()

    result = alt_test(judge, humans, alignment=name, labels=labels)

    for j, own in humans.items():
        expected = [0, 0, 0]
        for i in range(n_items):
            others = [humans[k][i] for k in humans if k != j]
            score_judge = sum(Fraction(PAIR_SCORES[name](judge[i], h, universe)) for h in others)
            score_human = sum(Fraction(PAIR_SCORES[name](own[i], h, universe)) for h in others)
            expected[1 + (score_human > score_judge) - (score_judge > score_human)] += 1
        assert counts_of(result)[j] == tuple(expected), j


def numbers(judge, panel):
    """The outcome of 30 like items of numbers, by annotator."""
    humans = {name: dict.fromkeys(range(30), value) for name, value in panel.items()}
    result = alt_test(dict.fromkeys(range(30), judge), humans, alignment="neg_rmse")
    return counts_of(result)


def test_neg_rmse_by_hand():
    # For "h" (3) against 2 and 5 the squares are 1 and 4; the judge's 3.5 has 9/4 and 9/4.
    counts = numbers(3.5, {"h": 3, "k": 2, "l": 5})

    assert counts["h"] == (30, 0, 0)
    # For "k" (2) against 3 and 5: 1 + 9 = 10, the judge 1/4 + 9/4.
    assert counts["k"] == (30, 0, 0)


def test_decimal_scores_tie_with_whole_ones():
    # Against 1, 1, 1, 1, 2 the judge's 1.4 has 4 * .16 + .36 = 1, exactly the 1 of "h".
    counts = numbers(1.4, {"h": 1, "a": 1, "b": 1, "c": 1, "d": 1, "e": 2})

    assert counts["h"] == (0, 30, 0)


@pytest.mark.ci
@pytest.mark.parametrize("tenths", [14, 16, 22, 26, 34])
def test_ties_of_decimals_with_whole_numbers_are_exact(tenths):
    rng = np.random.default_rng(tenths)
    panels = rng.integers(1, 6, (30, 6))

    for panel in panels.tolist():
        counts = numbers(tenths / 10, {f"h{k}": value for k, value in enumerate(panel)})

        for k, own in enumerate(panel):
            others = panel[:k] + panel[k + 1 :]
            judge = sum((Fraction(tenths, 10) - h) ** 2 for h in others)
            human = sum((own - h) ** 2 for h in others)
            expected = (30, 0, 0) if judge < human else (0, 0, 30) if human < judge else (0, 30, 0)
            assert counts[f"h{k}"] == expected, (panel, k)


@pytest.mark.edges
@pytest.mark.parametrize("power", [-600, -400, -30, 30, 400, 600])
def test_neg_rmse_does_not_depend_on_the_unit(power):
    rng = np.random.default_rng(4)
    humans = rng.normal(3, 1, (60, 4)).round(1)
    judge = rng.normal(3, 1, 60).round(1)
    unit = math.ldexp(1.0, power)

    plain, scaled = (
        alt_test(
            dict(enumerate((judge * factor).tolist())),
            {f"h{k}": dict(enumerate((humans[:, k] * factor).tolist())) for k in range(4)},
            alignment="neg_rmse",
        )
        for factor in (1.0, unit)
    )

    assert counts_of(scaled) == counts_of(plain)


@pytest.mark.parametrize("huge", [1e7, 1e10, 1e16])
def test_a_huge_label_elsewhere_does_not_blur_the_other_items(huge):
    rng = np.random.default_rng(0)
    humans = rng.integers(1, 6, (60, 3)).astype(float)
    judge = rng.integers(1, 6, 60).astype(float)
    humans[0], judge[0] = 3.0, 3.0

    def examine(price):
        people = humans.copy()
        people[0] = price
        answers = judge.copy()
        answers[0] = price
        return alt_test(
            dict(enumerate(answers.tolist())),
            {f"h{k}": dict(enumerate(people[:, k].tolist())) for k in range(3)},
            alignment="neg_rmse",
        )

    # The first item is a tie for everyone, whatever all agree on.
    assert counts_of(examine(huge)) == counts_of(examine(3.0))


def test_a_judge_far_off_loses_without_a_sound():
    humans = {f"h{k}": {i: (i + k) % 5 for i in range(40)} for k in range(3)}
    judge = dict.fromkeys(range(40), 1e200)

    result = alt_test(judge, humans, alignment="neg_rmse")

    assert result.advantage_probability == 0


def test_a_users_function_sees_labels_judge_first():
    seen = []

    def longer(a, b):
        seen.append((a.dtype, a.shape == b.shape))
        return np.array([float(len(x) > len(y)) for x, y in zip(a, b, strict=True)])

    humans = {
        "h": dict.fromkeys(range(30), "aa"),
        "k": dict.fromkeys(range(30), "a"),
    }
    judge = dict.fromkeys(range(30), "aaa")

    result = alt_test(judge, humans, alignment=longer)

    # Against "k": 3 > 1 and 2 > 1, a tie; against "h": 3 > 2, but not 1 > 2.
    assert counts_of(result) == {"h": (0, 30, 0), "k": (30, 0, 0)}
    assert result.alignment == "longer"
    assert all(dtype.kind == "O" and same for dtype, same in seen)


def test_a_users_function_of_numbers_gets_floats():
    def closeness(a, b):
        assert a.dtype == b.dtype == np.float64
        return -np.abs(a - b)

    humans = {"h": {i: i % 5 for i in range(40)}, "k": {i: (i + 1) % 5 for i in range(40)}}
    judge = {i: i % 5 for i in range(39)}

    result = alt_test(judge, humans, alignment=closeness, kind="scale")

    assert counts_of(result)["h"] == (0, 39, 0)


@pytest.mark.parametrize(
    "wrong", [lambda a, b: np.ones(len(a) + 1), lambda a, b: np.full(len(a), np.nan)]
)
def test_a_function_must_return_one_finite_score_per_pair(wrong):
    humans = {"h": dict.fromkeys(range(30), "a"), "k": dict.fromkeys(range(30), "b")}

    with pytest.raises(InputError, match="`alignment` must return one finite score per pair"):
        alt_test(dict.fromkeys(range(29), "a"), humans, alignment=wrong)


def test_a_set_alignment_needs_the_sets():
    from voirdire.stats import alt_test as array_alt_test

    codes = np.zeros((4, 2), dtype=int)

    with pytest.raises(InputError, match="`label_sets` must be given for this alignment"):
        array_alt_test(codes[:, 0], codes, alignment="jaccard")
    with pytest.raises(InputError, match="`values` must be given for this alignment"):
        array_alt_test(codes[:, 0], codes, alignment="similarity")
