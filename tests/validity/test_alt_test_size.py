"""How often the alternative annotator test errs on the edge of its null hypothesis, by simulation.

Annotators and judge answer a question with a known truth, and are independent given it: with
gold labels as the reference, W^h - W^f has mean (accuracy of the annotator) - (of the judge), so
that a judge whose accuracy is lower by exactly epsilon is on the boundary.
"""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from alt_test_oracle import boundary_probabilities, t_test_size
from voirdire import stats

pytestmark = pytest.mark.slow

LEVEL = 0.05


def allowance(rate, n_runs):
    """Three binomial standard errors."""
    return 3 * math.sqrt(rate * (1 - rate) / n_runs)


def answers(rng, truth, accuracy, n_columns):
    right = rng.random((len(truth), n_columns)) < accuracy
    return np.where(right, truth[:, np.newaxis], 1 - truth[:, np.newaxis])


def examine(rng, *, n_items, n_annotators, human, judge, epsilon, **options):
    truth = rng.integers(0, 2, n_items)
    [result] = stats.alt_test(
        answers(rng, truth, judge, 1),
        answers(rng, truth, human, n_annotators),
        gold=truth,
        epsilon=epsilon,
        **options,
    )
    return result


@pytest.mark.parametrize(("n_items", "epsilon"), [(30, 0.1), (30, 0.2), (100, 0.2)])
def test_one_annotator_is_won_as_often_as_the_exact_size_says(n_items, epsilon):
    rng = np.random.default_rng(20_250_101)
    human, n_runs = 0.8, 4_000
    judge = human - epsilon
    ties = human * judge + (1 - human) * (1 - judge)

    wins = sum(
        examine(
            rng, n_items=n_items, n_annotators=1, human=human, judge=judge, epsilon=epsilon
        ).t_test.winning_rate
        for _ in range(n_runs)
    )

    size = t_test_size(n_items, ties, epsilon)
    assert abs(wins / n_runs - size) <= allowance(size, n_runs)
    assert size < 0.06


def test_a_false_win_over_any_of_several_annotators_is_rare():
    rng = np.random.default_rng(7)
    n_runs = 1_500

    results = [
        examine(rng, n_items=60, n_annotators=4, human=0.8, judge=0.6, epsilon=0.2)
        for _ in range(n_runs)
    ]

    # All four hypotheses are true, so the false discovery rate is the chance of any rejection.
    any_win = np.mean([result.t_test.winning_rate > 0 for result in results])
    passes = np.mean([result.t_test.passed for result in results])
    assert any_win <= LEVEL + allowance(LEVEL, n_runs)
    assert passes <= any_win


def test_without_gold_labels_the_boundary_holds_too():
    # Three annotators of accuracy a; the judge's is found so that E W^h - E W^f is epsilon:
    # with two others, both right (a²), both wrong or split, an item counts by who agrees more.
    rng = np.random.default_rng(3)
    human, epsilon, n_runs = 0.85, 0.15, 2_000
    both_right, both_wrong = human**2, (1 - human) ** 2
    # d = +1 or -1 only where the others agree: E d = (P(right) - P(wrong)) (human - judge).
    judge = human - epsilon / (both_right - both_wrong)

    wins = np.zeros(n_runs)
    means = np.zeros(n_runs)
    for run in range(n_runs):
        truth = rng.integers(0, 2, 80)
        [result] = stats.alt_test(
            answers(rng, truth, judge, 1),
            answers(rng, truth, human, 3),
            epsilon=epsilon,
        )
        wins[run] = result.t_test.winning_rate > 0
        means[run] = np.mean([row.mean_difference for row in result.annotators])

    # The mean of d is epsilon, to three standard errors; so the judge is on the boundary.
    assert abs(means.mean() - epsilon) <= 3 * means.std() / math.sqrt(n_runs)
    assert wins.mean() <= LEVEL + allowance(LEVEL, n_runs)


def test_the_multiplicative_boundary_holds():
    # (1 - epsilon) E W^h = E W^f: with accuracies h and f, W^h = right or the judge wrong.
    rng = np.random.default_rng(11)
    human, epsilon, n_runs = 0.8, 0.2, 3_000
    # 1 - f + f h = E W^h and 1 - h + f h = E W^f.
    judge = (1 - epsilon - 1 + human) / ((1 - epsilon) * (1 - human) + human)

    wins = sum(
        examine(
            rng,
            n_items=50,
            n_annotators=1,
            human=human,
            judge=judge,
            epsilon=epsilon,
            epsilon_mode="multiplicative",
        ).t_test.winning_rate
        for _ in range(n_runs)
    )

    ties = human * judge + (1 - human) * (1 - judge)
    win, tie, loss = boundary_probabilities(ties, epsilon, "multiplicative")
    assert (win, tie, loss) == pytest.approx((judge * (1 - human), ties, human * (1 - judge)))
    size = t_test_size(50, ties, epsilon, "multiplicative")
    assert abs(wins / n_runs - size) <= allowance(size, n_runs)


def test_clustered_errors_hold_the_level_where_plain_ones_do_not():
    rng = np.random.default_rng(5)
    n_clusters, per_cluster, n_runs, epsilon = 60, 5, 1_500, 0.2
    clusters = np.repeat(np.arange(n_clusters), per_cluster)
    plain = clustered = 0
    for _ in range(n_runs):
        truth = rng.integers(0, 2, n_clusters)
        humans = answers(rng, truth, 0.8, 1)
        judge = answers(rng, truth, 0.6, 1)
        truth, humans, judge = (np.repeat(x, per_cluster, axis=0) for x in (truth, humans, judge))
        options = {"gold": truth, "epsilon": epsilon}

        plain += stats.alt_test(judge, humans, **options)[0].t_test.winning_rate
        clustered += stats.alt_test(judge, humans, clusters=clusters, **options)[
            0
        ].t_test.winning_rate

    # Items of a cluster are copies: the clustered test is the t-test of 60 items.
    size = t_test_size(n_clusters, 0.8 * 0.6 + 0.2 * 0.4, epsilon)
    assert abs(clustered / n_runs - size) <= allowance(size, n_runs)
    assert plain / n_runs > 3 * LEVEL


def test_power_grows_with_items_and_shrinks_with_annotators():
    rng = np.random.default_rng(9)

    def power(n_items, n_annotators, n_runs=400):
        return np.mean(
            [
                examine(
                    rng,
                    n_items=n_items,
                    n_annotators=n_annotators,
                    human=0.8,
                    judge=0.8,
                    epsilon=0.2,
                )
                .annotators[0]
                .rejected
                for _ in range(n_runs)
            ]
        )

    by_items = [power(n, 3) for n in (30, 60, 120)]

    assert by_items[0] < by_items[1] < by_items[2]
    assert power(60, 1) > power(60, 8)


def test_imbalance_weights_estimate_the_balanced_mean():
    # Accuracy differs by label: the weighted mean of d is the mean over labels, not over items.
    rng = np.random.default_rng(2)
    n_runs, means = 600, []
    for _ in range(n_runs):
        truth = (rng.random(150) < 0.2).astype(int)
        human = np.where(truth == 1, 0.9, 0.7)
        judge = np.where(truth == 1, 0.5, 0.8)
        humans = answers(rng, truth, human[:, np.newaxis], 1)
        [result] = stats.alt_test(
            answers(rng, truth, judge[:, np.newaxis], 1),
            humans,
            gold=truth,
            weights="imbalance",
        )
        means.append(result.annotators[0].mean_difference)

    # E d is .4 on label 1 and -.1 on label 0: balanced .15, over items 0.
    error = np.std(means) / math.sqrt(n_runs)
    assert abs(np.mean(means) - 0.15) <= 3 * error
    assert scipy_stats.norm.sf(abs(np.mean(means)) / error) < 1e-6
