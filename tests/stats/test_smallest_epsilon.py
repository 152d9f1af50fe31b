"""The smallest margin is the first of a scan over all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voirdire import stats

MARGINS = (np.arange(1_000) / 1_000).tolist()


def labels(rng, *, n_items, n_annotators, skill):
    """A judge, annotators and failures on a question with three answers."""
    truth = rng.integers(0, 3, n_items)
    humans = np.where(
        rng.random((n_items, n_annotators)) < 0.8,
        truth[:, np.newaxis],
        rng.integers(0, 3, (n_items, n_annotators)),
    )
    humans[rng.random(humans.shape) < 0.1] = -1
    judge = np.where(rng.random(n_items) < skill, truth, rng.integers(0, 3, n_items))
    return judge, humans


@st.composite
def cases(draw, *, items=(5, 60), annotators=(2, 5)):
    """Labels and the settings of a test."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_items, n_annotators = draw(st.integers(*items)), draw(st.integers(*annotators))
    skill = draw(st.sampled_from((0.0, 0.3, 0.6, 0.9, 1.0)))
    judge, humans = labels(rng, n_items=n_items, n_annotators=n_annotators, skill=skill)
    options = {
        "epsilon_mode": draw(st.sampled_from(("additive", "multiplicative"))),
        "min_items": draw(st.integers(2, 8)),
    }
    variant = draw(st.sampled_from(("plain", "failed", "quality", "clusters", "weights", "gold")))
    if variant == "failed":
        options["failed"] = rng.random(n_items) < 0.1
    if variant == "quality":
        options["quality"] = rng.choice([0.3, 0.5, 1.0, 2.0], n_annotators)
    if variant == "clusters":
        options["clusters"] = rng.integers(0, draw(st.sampled_from((2, 3, 8, 60))), n_items)
    if variant == "weights":
        options["weights"] = "imbalance"
    if variant == "gold":
        options["gold"] = rng.integers(0, 3, n_items)
    return judge, humans, options


def scan(judge, humans, options, *, margins=MARGINS):
    """At which margins the judge passes, with its failures dropped and with them lost."""
    results = stats.alt_test(judge, humans, epsilon=margins, **options)
    return np.array([result.winning_rate >= 0.5 for result in results])


def found(judge, humans, options):
    [result] = stats.alt_test(judge, humans, n_resamples=100, **options)
    return result.smallest_epsilon


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
@settings(max_examples=12)
@given(cases(), st.integers(0, 9))
def test_it_is_the_first_of_a_thousand_margins_that_pass(case, offset):
    first = found(*case)

    # each tenth of the margins below it, and each of the last twenty
    place = len(MARGINS) if first is None else MARGINS.index(first)
    below = sorted({*range(offset, place, 10), *range(max(place - 20, 0), place)})
    tested = [MARGINS[i] for i in below] + ([] if first is None else [first])
    assert scan(*case, margins=tested).tolist() == [margin == first for margin in tested]


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
@settings(max_examples=15)
@given(cases())
def test_a_judge_that_passes_passes_at_every_larger_margin(case):
    judge, humans, options = case
    if "clusters" in options:  # the t-test of few clusters may reject at a smaller share alone
        options["epsilon_mode"] = "additive"

    passing = scan(judge, humans, options, margins=MARGINS[::20])

    assert (np.diff(passing.astype(int)) >= 0).all()


def test_a_judge_that_is_always_worse_has_none():
    humans = np.zeros((40, 3), dtype=int)

    assert found(np.ones(40, dtype=int), humans, {}) is None


def test_a_judge_that_is_always_better_needs_no_margin():
    humans = np.tile([[1, 2], [2, 1]], (20, 1))
    judge = np.zeros(40, dtype=int)

    assert found(judge, humans, {"gold": judge}) == 0.0


def test_a_judge_that_always_ties_needs_the_margin_that_its_items_show():
    # Nothing but ties on 40 items has p = (1 - ε)^40, against each of three annotators: all three
    # fall where it is at most .05 / (1 + 1/2 + 1/3), which is so from ε = .0861 on.
    judge = np.arange(40) % 2

    assert found(judge, np.repeat(judge[:, np.newaxis], 3, axis=1), {}) == 0.087


def test_failures_can_take_the_margin_away():
    judge, humans = labels(np.random.default_rng(0), n_items=200, n_annotators=3, skill=1.0)
    failed = np.arange(200) < 60

    without, dropped = found(judge, humans, {}), found(np.where(failed, -1, judge), humans, {})
    lost = found(judge, humans, {"failed": failed})

    assert without is not None
    assert lost > dropped


def test_each_judge_has_a_margin_of_its_own():
    rng = np.random.default_rng(1)
    judge, humans = labels(rng, n_items=150, n_annotators=4, skill=1.0)
    judges = np.stack([judge, np.where(rng.random(150) < 0.5, judge, 0), (judge + 1) % 3], axis=1)
    failed = np.zeros(judges.shape, dtype=bool)
    failed[:7, 1] = True

    together = stats.alt_test(judges, humans, failed=failed, n_resamples=100)

    margins = [result.smallest_epsilon for result in together]
    assert margins == [found(judges[:, k], humans, {"failed": failed[:, k]}) for k in range(3)]
    assert margins[0] < margins[1]


def test_the_margins_of_the_test_are_irrelevant_and_none_is_sought_without_resamples():
    judge, humans = labels(np.random.default_rng(2), n_items=100, n_annotators=3, skill=0.9)

    results = stats.alt_test(judge, humans, epsilon=[0.0, 0.1, 0.3], n_resamples=100)
    [without] = stats.alt_test(judge, humans)

    assert len({result.smallest_epsilon for result in results}) == 1
    assert without.smallest_epsilon is None
