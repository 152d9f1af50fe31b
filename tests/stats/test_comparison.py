"""Large studies are computed in blocks of items; nobody can tell where those end."""

from dataclasses import asdict

import numpy as np
import pytest

from voirdire import stats


def study(seed, *, n_items, n_annotators=3, missing=0.2, n_labels=3):
    """A judge who is often right, annotators, failures and clusters in no order."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_labels, n_items)

    def answers(skill, shape):
        guesses = rng.integers(0, n_labels, shape)
        right = rng.random(shape) < skill
        return np.where(right, truth if len(shape) == 1 else truth[:, np.newaxis], guesses)

    humans = answers(0.6, (n_items, n_annotators))
    humans[rng.random(humans.shape) < missing] = -1
    failed = rng.random(n_items) < 0.05
    return answers(0.6, (n_items,)), humans, failed, rng.integers(0, n_items // 3, n_items)


def counts_of(result):
    rows = result.annotators
    return np.array([[row.n_judge_wins, row.n_ties, row.n_human_wins] for row in rows])


@pytest.mark.ci
@pytest.mark.parametrize("alignment", ["accuracy", "neg_rmse", "jaccard"])
def test_the_counts_of_a_large_study_are_those_of_its_parts(alignment):
    n_items = 180_000 if alignment == "accuracy" else 120_000
    judge, humans, failed, clusters = study(1, n_items=n_items)
    options = {"alignment": alignment, "n_codes": 3}
    if alignment == "jaccard":
        options["label_sets"] = np.array([[True, False], [True, True], [False, False]])
    if alignment == "neg_rmse":
        judge, humans = judge.astype(float), np.where(humans < 0, np.nan, humans)
        del options["n_codes"]

    def run(items, **more):
        [result] = stats.alt_test(
            judge[items], humans[items], failed=failed[items], **options, **more
        )
        return result

    whole = run(slice(None))
    parts = [run(slice(k, k + 30_000)) for k in range(0, n_items, 30_000)]

    assert (counts_of(whole) == sum(map(counts_of, parts))).all()
    assert whole.n_items == sum(part.n_items for part in parts)
    assert whole.worst_case.n_failures == sum(part.worst_case.n_failures for part in parts)
    if alignment == "accuracy":
        clustered = run(slice(None), clusters=clusters)
        assert (counts_of(clustered) == counts_of(whole)).all()
        # Labels are independent between items: clusters of about three change little.
        for one, two in zip(clustered.annotators, whole.annotators, strict=True):
            assert one.standard_error == pytest.approx(two.standard_error, rel=0.01)


@pytest.mark.ci
@pytest.mark.parametrize("clustered", [False, True])
def test_a_large_study_in_another_order_is_the_same_study(clustered):
    judge, humans, failed, clusters = study(2, n_items=100_000)
    order = np.random.default_rng(3).permutation(len(judge))

    def run(items):
        [result] = stats.alt_test(
            judge[items],
            humans[items],
            failed=failed[items],
            clusters=clusters[items] if clustered else None,
            n_resamples=100,
        )
        return result

    one, two = run(np.arange(len(judge))), run(order)

    for first, second in zip(one.annotators, two.annotators, strict=True):
        assert asdict(first) == pytest.approx(asdict(second), nan_ok=True)
    assert one.worst_case == two.worst_case
    assert asdict(one.uncertainty) == pytest.approx(asdict(two.uncertainty), abs=1e-4)


def test_items_compared_with_nobody_do_not_count():
    humans = np.array([[0, -1], [0, 0], [0, 0], [-1, -1], [1, 0]])

    [result] = stats.alt_test([0, 0, 0, 0, -1], humans, min_items=2, n_codes=2)

    assert result.n_items == 2
