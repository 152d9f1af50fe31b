"""Blocks of items: where they are cut, and in which order items come, changes nothing."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from voirdire import stats
from voirdire.stats.alignment import make_scorer
from voirdire.stats.comparison import Comparison, Raters
from voirdire.stats.controls import make_controls

N_ITEMS = 1_100
FIELDS = ("counts", "weights", "squares", "n_units")


def raters_of(seed, *, clusters=None, failures=False):
    rng = np.random.default_rng(seed)
    humans = rng.integers(-1, 3, (N_ITEMS, 4))
    judges = rng.integers(-1, 3, (N_ITEMS, 2))
    return Raters(
        humans=humans,
        judges=judges,
        failed=rng.random((N_ITEMS, 2)) < 0.1 if failures else None,
        clusters=None if clusters is None else rng.integers(0, clusters, N_ITEMS),
    )


def run(raters, controls=()):
    scorer = make_scorer("accuracy", humans=raters.humans, n_codes=3)
    comparison = Comparison(scorer=scorer, quality=None, min_annotators=2, n_codes=3)
    return comparison.run(raters, controls)


def assert_same(one, two):
    for part in ("judges", "worst", "controls"):
        first, second = getattr(one, part), getattr(two, part)
        assert (first is None) == (second is None)
        if first is not None:
            for name in FIELDS:
                np.testing.assert_allclose(getattr(first, name), getattr(second, name))
    assert one.n_items.tolist() == two.n_items.tolist()


@pytest.mark.parametrize("failures", [False, True])
@pytest.mark.parametrize("clusters", [None, 1, 3, 40, 900])
def test_where_blocks_are_cut_is_irrelevant(monkeypatch, clusters, failures):
    raters = raters_of(1, clusters=clusters, failures=failures)
    controls = make_controls(raters.humans, seed=0)

    whole = run(raters, controls)
    monkeypatch.setattr("voirdire.stats.comparison._CELLS_AT_ONCE", 1)  # 256 items a block
    blocks = run(raters, controls)

    assert_same(blocks, whole)


def test_blocks_never_cut_a_cluster(monkeypatch):
    monkeypatch.setattr("voirdire.stats.comparison._CELLS_AT_ONCE", 1)
    raters = raters_of(2, clusters=6).sorted_by_cluster()
    scorer = make_scorer("accuracy", humans=raters.humans, n_codes=3)
    comparison = Comparison(scorer=scorer, quality=None, min_annotators=2, n_codes=3)

    blocks = list(comparison._blocks(raters))

    assert blocks[0].start == 0
    assert blocks[-1].stop == N_ITEMS
    for before, after in pairwise(blocks):
        assert before.stop == after.start
        assert raters.clusters[before.stop - 1] != raters.clusters[after.start]


@pytest.mark.parametrize("clusters", [None, 50])
def test_the_order_of_items_is_irrelevant(clusters):
    raters = raters_of(3, clusters=clusters, failures=True)
    order = np.random.default_rng(0).permutation(N_ITEMS)

    shuffled = replace(
        raters,
        humans=raters.humans[order],
        judges=raters.judges[order],
        failed=raters.failed[order],
        clusters=None if clusters is None else raters.clusters[order],
    )

    assert_same(run(shuffled), run(raters))


@pytest.mark.parametrize("alignment", ["accuracy", "neg_rmse", "jaccard"])
def test_the_public_test_does_not_see_blocks(monkeypatch, alignment):
    rng = np.random.default_rng(5)
    humans, judge = rng.integers(0, 8, (N_ITEMS, 3)), rng.integers(0, 8, N_ITEMS)
    membership = (np.arange(8)[:, np.newaxis] >> np.arange(3)) % 2 == 1
    options = {"alignment": alignment, "clusters": rng.integers(0, 80, N_ITEMS)}
    if alignment == "jaccard":
        options["label_sets"] = membership

    [whole] = stats.alt_test(judge, humans, **options)
    monkeypatch.setattr("voirdire.stats.comparison._CELLS_AT_ONCE", 1)
    [blocks] = stats.alt_test(judge, humans, **options)

    assert blocks == whole


def test_items_compared_with_nobody_do_not_count():
    humans = np.array([[0, -1], [0, 0], [-1, -1], [1, 0]])
    raters = Raters(humans=humans, judges=np.array([[0], [-1], [0], [1]]))

    assert run(raters).n_items.tolist() == [1]


def test_without_failures_the_worst_case_is_the_case():
    sums = run(raters_of(7))

    for name in FIELDS:
        assert (getattr(sums.worst, name) == getattr(sums.judges, name)).all()


def test_no_items_at_all_are_no_sums():
    raters = Raters(humans=np.zeros((0, 3), dtype=int), judges=np.zeros((0, 1), dtype=int))

    sums = run(raters)

    assert not sums.judges.n_items.any()
    assert sums.n_items.tolist() == [0]
