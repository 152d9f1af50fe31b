"""A judge beside gold labels, against scikit-learn, statsmodels and counting."""

import numpy as np
import pytest
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import cross_threshold, measure_classification


def draw(seed, n_labels=2, n_items=150, right=0.7):
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, n_labels, n_items)
    return np.where(rng.random(n_items) < right, gold, rng.integers(0, n_labels, n_items)), gold


def estimates(found):
    return {name: each.estimate for name, each in found.figures.items()}


# Against scikit-learn -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_figures_of_yes_and_no_are_those_of_scikit_learn(seed):
    judged, gold = draw(seed)
    probabilities = np.clip(judged * 0.5 + np.random.default_rng(seed).random(150) * 0.5, 0, 1)
    probabilities = probabilities.round(1)  # ties

    found = measure_classification(judged, gold, probabilities=probabilities)

    assert estimates(found) == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(gold, judged),
            "balanced_accuracy": metrics.balanced_accuracy_score(gold, judged),
            "sensitivity": metrics.recall_score(gold, judged),
            "specificity": metrics.recall_score(gold, judged, pos_label=0),
            "precision": metrics.precision_score(gold, judged),
            "negative_predictive_value": metrics.precision_score(gold, judged, pos_label=0),
            "f1": metrics.f1_score(gold, judged),
            "mcc": metrics.matthews_corrcoef(gold, judged),
            "auc": metrics.roc_auc_score(gold, probabilities),
            "brier": metrics.brier_score_loss(gold, probabilities),
        }
    )
    assert found.table == tuple(map(tuple, metrics.confusion_matrix(gold, judged).tolist()))
    always = max(gold.mean(), 1 - gold.mean())
    assert found.always == pytest.approx(
        {"accuracy": always, "f1": metrics.f1_score(gold, np.ones(150))}
    )


@pytest.mark.parametrize("seed", range(3))
def test_figures_of_several_labels_are_those_of_scikit_learn(seed):
    judged, gold = draw(seed, n_labels=4)

    found = measure_classification(judged, gold, n_labels=4)

    assert estimates(found) == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(gold, judged),
            "balanced_accuracy": metrics.balanced_accuracy_score(gold, judged),
            "f1": metrics.f1_score(gold, judged, average="macro"),
            "mcc": metrics.matthews_corrcoef(gold, judged),
        }
    )
    precision, recall, f1, n_gold = metrics.precision_recall_fscore_support(gold, judged)
    for row in found.labels:
        assert row.precision.estimate == pytest.approx(precision[row.label])
        assert row.sensitivity.estimate == pytest.approx(recall[row.label])
        assert row.f1.estimate == pytest.approx(f1[row.label])
        assert (row.n_gold, row.n_judged) == (n_gold[row.label], (judged == row.label).sum())
    constants = [
        metrics.f1_score(gold, np.full(150, k), average="macro", zero_division=0) for k in range(4)
    ]
    assert found.always["f1"] == pytest.approx(max(constants))


# Intervals ----------------------------------------------------------------------------------------


def test_a_share_of_one_is_bounded_as_clopper_and_pearson_bound_it():
    gold = np.repeat([1, 0], [12, 88])

    found = measure_classification(gold, gold)

    exact = {n: proportion_confint(n, n, alpha=0.05, method="beta")[0] for n in (12, 88)}
    assert found.figures["sensitivity"].low == pytest.approx(exact[12])
    assert found.figures["specificity"].low == pytest.approx(exact[88])
    assert found.figures["mcc"].low == pytest.approx(exact[12])  # no better than its rarer label
    # the two recalls together: 1 less half the root of both squared distances
    apart = np.hypot(1 - exact[12], 1 - exact[88]) / 2
    assert found.figures["balanced_accuracy"].low == pytest.approx(1 - apart)


def test_influence_gives_the_error_that_the_bootstrap_gives():
    judged, gold = draw(5, n_labels=3, n_items=600)
    rng = np.random.default_rng(5)
    drawn = []
    for _ in range(1_500):
        rows = rng.integers(0, 600, 600)
        drawn.append(
            [
                metrics.f1_score(gold[rows], judged[rows], average="macro"),
                metrics.matthews_corrcoef(gold[rows], judged[rows]),
            ]
        )

    found = measure_classification(judged, gold, n_labels=3)

    for name, values in zip(("f1", "mcc"), np.transpose(drawn), strict=True):
        low, high = np.quantile(values, [0.025, 0.975])
        interval = found.figures[name]
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.012)


def test_copies_of_an_item_in_one_cluster_add_nothing():
    judged, gold = draw(6)
    probabilities = np.random.default_rng(6).random(150)
    twice = np.repeat(np.arange(150), 2)

    alone = measure_classification(judged, gold, probabilities=probabilities)
    doubled = measure_classification(
        judged[twice], gold[twice], probabilities=probabilities[twice], clusters=twice
    )

    assert doubled.n_units == 150
    for name, each in alone.figures.items():
        other = doubled.figures[name]
        tolerance = 0.004 if name == "auc" else 1e-6  # counts of pairs stand in Newcombe's formula
        assert (other.low, other.high) == pytest.approx((each.low, each.high), abs=tolerance)


def test_the_area_and_its_limits_satisfy_newcombes_equation():
    judged, gold = draw(7, n_items=40)
    probabilities = np.random.default_rng(7).random(40) / 2 + gold / 4

    found = measure_classification(judged, gold, probabilities=probabilities).figures["auc"]

    m, n = int(gold.sum()), int((gold == 0).sum())
    for limit in (found.low, found.high):
        pairs = (1 - limit) / (2 - limit) + limit / (1 + limit)
        variance = limit * (1 - limit) / (m * n) * (1 + ((m + n) / 2 - 1) * pairs)
        assert abs(limit - found.estimate) == pytest.approx(1.959964 * variance**0.5, rel=1e-5)


@pytest.mark.parametrize("prevalence", [0.1, 0.5])
def test_intervals_cover_what_they_should(prevalence):
    rng = np.random.default_rng(8)
    truth = {"sensitivity": 0.8, "specificity": 0.7, "balanced_accuracy": 0.75}
    truth["precision"] = 0.8 * prevalence / (0.8 * prevalence + 0.3 * (1 - prevalence))
    truth["f1"] = 2 * 0.8 * prevalence / (0.8 * prevalence + 0.3 * (1 - prevalence) + prevalence)
    covered, n_runs = dict.fromkeys(truth, 0), 400
    for _ in range(n_runs):
        gold = (rng.random(100) < prevalence).astype(int)
        judged = (rng.random(100) < np.where(gold == 1, 0.8, 0.3)).astype(int)
        for name, value in truth.items():
            found = measure_classification(judged, gold).figures[name]
            covered[name] += found.low <= value <= found.high

    for count in covered.values():
        assert count / n_runs > 0.95 - 3 * (0.95 * 0.05 / n_runs) ** 0.5


# Failures and what is undefined -------------------------------------------------------------------


def test_failures_are_left_out_and_in_the_worst_case_wrong():
    gold = np.repeat([1, 0], 10)
    judged = np.where(np.arange(20) % 5 == 0, -1, gold)  # 2 of either side failed

    found = measure_classification(judged, gold, failed=judged < 0)

    assert (found.n_items, found.n_failures) == (16, 4)
    assert found.figures["accuracy"].estimate == 1
    assert found.worst_case == pytest.approx(
        dict.fromkeys(("accuracy", "balanced_accuracy", "sensitivity", "specificity"), 0.8)
    )


def test_items_without_gold_or_that_were_not_asked_say_nothing():
    found = measure_classification([1, 0, -1, 1, 0], [1, 0, 1, -1, 0])

    assert (found.n_items, found.n_failures) == (3, 0)


def test_without_a_positive_what_rests_on_it_is_undefined():
    with pytest.warns(DegenerateDataWarning, match="label 1 is nobody's gold label"):
        found = measure_classification([0, 1, 0], [0, 0, 0], probabilities=[0.1, 0.7, 0.2])

    assert np.isnan(found.figures["sensitivity"].estimate)
    assert np.isnan(found.figures["auc"].estimate)
    assert np.isnan(found.figures["balanced_accuracy"].estimate)
    assert found.figures["specificity"].estimate == pytest.approx(2 / 3)
    assert found.figures["brier"].estimate == pytest.approx((0.01 + 0.49 + 0.04) / 3)


def test_few_items_of_a_label_are_said():
    labels = np.repeat([1, 0], [1, 30])

    assert measure_classification(labels, labels).reason == (
        "label 1 is the gold label of 1 item only"
    )
    named = measure_classification(labels, labels, names=["no", "yes"])
    assert named.reason == "yes is the gold label of 1 item only"


def test_nothing_to_compare_is_undefined():
    with pytest.warns(DegenerateDataWarning, match="fewer than two items"):
        found = measure_classification([-1, 0], [1, -1], probabilities=[0.5, 0.5])

    assert found.n_items == 0
    assert all(np.isnan(each.estimate) for each in found.figures.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"judged": [1], "gold": [1, 0]}, r"one shape \(n_items,\)"),
        ({"judged": [1.0], "gold": [1]}, "`judged` must hold integer codes"),
        ({"judged": [1], "gold": [2]}, "`gold` must hold codes below 2, got 2 to 2"),
        ({"judged": [1], "gold": [1], "n_labels": 1}, "`n_labels`"),
        ({"judged": [1], "gold": [1], "failed": [True, False]}, "`failed` must have the shape"),
        ({"judged": [1], "gold": [1], "probabilities": [1.5]}, r"`probabilities` must be in \[0"),
        ({"judged": [1], "gold": [1], "confidence_level": 95}, "`confidence_level`"),
        ({"judged": [1], "gold": [1], "clusters": [1, 2]}, "`clusters`"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        measure_classification(**arguments)


# Thresholds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", ["mcc", "balanced_accuracy", "f1"])
def test_the_threshold_of_all_items_is_the_best_there_is(goal):
    rng = np.random.default_rng(9)
    gold = (rng.random(80) < 0.3).astype(int)
    probabilities = (rng.random(80) * 0.7 + gold * 0.2).round(2)
    score = {
        "mcc": metrics.matthews_corrcoef,
        "balanced_accuracy": metrics.balanced_accuracy_score,
        "f1": metrics.f1_score,
    }[goal]

    found = cross_threshold(probabilities, gold, goal=goal)

    every = [score(gold, probabilities >= cut) for cut in np.linspace(0, 1, 1_001)]
    assert score(gold, probabilities >= found.threshold) == pytest.approx(max(every))
    assert len(found.fold_thresholds) == 5


def test_a_threshold_promises_nothing_where_there_is_nothing():
    rng = np.random.default_rng(10)
    gold = rng.integers(0, 2, 400)
    fitted, honest = [], []
    for seed in range(40):
        probabilities = np.random.default_rng(seed).random(400)
        found = cross_threshold(probabilities, gold, seed=seed)
        fitted.append(metrics.matthews_corrcoef(gold, probabilities >= found.threshold))
        honest.append(found.result.figures["mcc"].estimate)

    assert np.mean(fitted) > 0.08
    assert abs(np.mean(honest)) < 0.03


def test_groups_stay_in_one_fold():
    rng = np.random.default_rng(11)
    gold = np.repeat(rng.integers(0, 2, 40), 3)
    probabilities = rng.random(120)

    found = cross_threshold(probabilities, gold, groups=np.repeat(np.arange(40), 3))

    assert found.result.n_units == 40
    with pytest.raises(InputError, match="at least as many as folds"):
        cross_threshold(probabilities, gold, groups=np.repeat([1, 2], 60))
    with pytest.raises(InputError, match="`goal`"):
        cross_threshold(probabilities, gold, goal="accuracy")


@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_a_judge_that_is_always_right_or_always_wrong_is_measured(n_labels, shift, seed):
    gold = np.random.default_rng(seed).permutation(np.arange(17 + seed) % n_labels)
    found = measure_classification((gold + shift) % n_labels, gold, n_labels=n_labels)
    assert found.figures["accuracy"].estimate == 1 - shift
    for figure in found.figures.values():
        assert -1 <= figure.low <= figure.estimate <= figure.high <= 1
