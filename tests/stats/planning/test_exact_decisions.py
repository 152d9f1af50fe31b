"""Bounds of exact p-values: other numbers than the p-values, the same rejections."""

import numpy as np
import pytest

from voirdire.stats.exact_test import exact_p_value
from voirdire.stats.fdr import benjamini_yekutieli
from voirdire.stats.figures import TestSettings as Settings
from voirdire.stats.planning.exact_decisions import ExactDecisions


def settings(epsilons, mode):
    return Settings(
        epsilons=np.array(epsilons),
        mode=mode,
        method="exact",
        design="items",
        false_discovery_rate=0.05,
        min_items=2,
    )


def p_values_one_by_one(counts, epsilons, mode):
    found = np.empty((*counts.shape[:-2], len(epsilons), counts.shape[-2]))
    for place in np.ndindex(counts.shape[:-1]):
        minus, ties, plus = counts[place].tolist()
        for position, epsilon in enumerate(epsilons):
            found[(*place[:-1], position, place[-1])] = exact_p_value(
                n_judge_wins=minus,
                n_ties=ties,
                n_human_wins=plus,
                epsilon=epsilon,
                epsilon_mode=mode,
            )
    return found


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("n_annotators", [1, 3, 5])
def test_bounds_lead_to_the_same_rejections(mode, n_annotators):
    rng = np.random.default_rng(n_annotators)
    epsilons = (0.0, 0.1, 0.2)
    shares = rng.dirichlet([2, 6, 1], size=(40, n_annotators))
    sizes = rng.choice([12, 20], size=(40, n_annotators))
    counts = rng.multinomial(sizes, shares)
    test = settings(epsilons, mode)

    bounds = ExactDecisions(test).bounds(counts)

    p_values = p_values_one_by_one(counts, epsilons, mode)
    assert (bounds >= p_values * (1 - 1e-9)).all()
    expected = benjamini_yekutieli(p_values)
    assert (benjamini_yekutieli(bounds) == expected).all()
    assert 0 < expected.mean() < 1


def test_no_items_have_no_p_value():
    bounds = ExactDecisions(settings([0.1], "additive")).bounds(np.zeros((2, 3, 3), dtype=int))

    assert bounds.shape == (2, 1, 3)
    assert np.isnan(bounds).all()


def test_what_was_learned_from_other_tables_changes_nothing():
    rng = np.random.default_rng(9)
    counts = rng.multinomial(20, [0.2, 0.65, 0.15], size=(60, 3))
    test = settings((0.1, 0.2), "additive")
    experienced = ExactDecisions(test)

    pieces = [experienced.bounds(counts[start : start + 12]) for start in range(0, 60, 12)]

    assert (np.concatenate(pieces) == ExactDecisions(test).bounds(counts)).all()


def test_known_tables_need_no_further_p_value(monkeypatch):
    counts = np.random.default_rng(2).multinomial(20, [0.2, 0.65, 0.15], size=(60, 3))
    decisions = ExactDecisions(settings((0.1,), "additive"))
    first = decisions.bounds(counts)

    monkeypatch.setattr("voirdire.stats.planning.exact_decisions.exact_p_value", None)

    assert (decisions.bounds(counts) == first).all()
