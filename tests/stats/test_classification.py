"""A judge beside gold labels, against scikit-learn, statsmodels and counting."""

import json
import math
from fractions import Fraction

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
    constant = np.full(150, gold.mean())
    assert found.always == pytest.approx(
        {
            "accuracy": max(gold.mean(), 1 - gold.mean()),
            "balanced_accuracy": metrics.balanced_accuracy_score(gold, np.ones(150)),
            "f1": metrics.f1_score(gold, np.ones(150)),
            "auc": metrics.roc_auc_score(gold, constant),
            "brier": metrics.brier_score_loss(gold, constant),
        }
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
    constants = [
        metrics.f1_score(gold, np.full(150, k), average="macro", zero_division=0) for k in range(4)
    ]
    assert found.always["f1"] == pytest.approx(max(constants))


@pytest.mark.ci
def test_the_local_judge_on_the_rows_of_the_rbr_authors_is_what_scikit_learn_says(shared_dir):
    import voirdire

    path = shared_dir / "data" / "rbr_gold" / "train.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    items = [item for batch in voirdire.stream_items(path) for item in batch.items]
    frame = voirdire.judge(items, judge="local", rubric="safety").frame()
    names = [name for name in rows[0]["propositions"] if name in set(frame["question"])]
    score = {
        "accuracy": metrics.accuracy_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
        "sensitivity": metrics.recall_score,
        "precision": metrics.precision_score,
        "mcc": metrics.matthews_corrcoef,
        "f1": metrics.f1_score,
    }

    assert len(names) == 18  # three have another name in the rubric
    for name in names:
        gold = np.array([row["propositions"][name] for row in rows], dtype=int)
        stated = frame.filter(question=name)["probability"].to_numpy()
        judged = frame.filter(question=name)["label"].to_numpy().astype(int)
        figures = measure_classification(judged, gold, probabilities=stated).figures
        for figure, by_scikit in score.items():
            assert figures[figure].estimate == pytest.approx(by_scikit(gold, judged)), name
        assert figures["auc"].estimate == pytest.approx(metrics.roc_auc_score(gold, stated))
        assert figures["brier"].estimate == pytest.approx(metrics.brier_score_loss(gold, stated))
        for found in figures.values():
            assert found.low <= found.estimate <= found.high


# Intervals ----------------------------------------------------------------------------------------


def clopper_pearson(n_hits, n_items):
    return proportion_confint(n_hits, n_items, alpha=0.05, method="beta")


def test_intervals_of_shares_are_those_of_statsmodels():
    # 12 of 16 positives are found, 20 of 84 negatives are taken for positive
    gold = np.repeat([1, 0], [16, 84])
    judged = np.concatenate([np.repeat([1, 0], [12, 4]), np.repeat([1, 0], [20, 64])])

    figures = measure_classification(judged, gold).figures

    for name, hits, items in [
        ("accuracy", 76, 100),
        ("sensitivity", 12, 16),
        ("specificity", 64, 84),
        ("precision", 12, 32),
        ("negative_predictive_value", 64, 68),
    ]:
        assert (figures[name].low, figures[name].high) == pytest.approx(
            clopper_pearson(hits, items)
        ), name
    # F1 is 2 J / (1 + J), and J the share of 12 of the 16 + 20 items that either says are positive
    low, high = clopper_pearson(12, 36)
    assert figures["f1"].low == pytest.approx(2 * low / (1 + low))
    assert figures["f1"].high == pytest.approx(2 * high / (1 + high))
    assert figures["f1"].estimate == pytest.approx(float(Fraction(24, 48)))


def test_a_judge_that_is_right_on_three_positives_may_miss_many():
    gold = np.repeat([1, 0], [3, 97])

    figures = measure_classification(gold, gold, probabilities=gold * 0.9).figures

    # P(all 3 found) is .025 with a sensitivity of .29, so .65 is possible for the mean of the two
    assert figures["sensitivity"].low == pytest.approx(0.025 ** (1 / 3))
    assert 0.6 < figures["balanced_accuracy"].low < 0.75
    assert figures["mcc"].low < 0.6
    assert figures["auc"].low < 0.75
    assert all(found.high == pytest.approx(1) for n, found in figures.items() if n != "brier")


def test_sure_probabilities_have_the_brier_score_of_a_share():
    judged, gold = draw(12)

    found = measure_classification(judged, gold, probabilities=judged).figures["brier"]

    wrong = int((judged != gold).sum())
    assert (found.low, found.high) == pytest.approx(clopper_pearson(wrong, 150), abs=0.005)


@pytest.mark.ci
def test_with_many_items_an_interval_is_that_of_the_bootstrap():
    judged, gold = draw(5, n_labels=3, n_items=600)
    rng = np.random.default_rng(5)
    drawn = []
    for _ in range(1_500):
        rows = rng.integers(0, 600, 600)
        drawn.append(
            [
                metrics.f1_score(gold[rows], judged[rows], average="macro"),
                metrics.matthews_corrcoef(gold[rows], judged[rows]),
                metrics.balanced_accuracy_score(gold[rows], judged[rows]),
            ]
        )

    found = measure_classification(judged, gold, n_labels=3)

    for name, values in zip(("f1", "mcc", "balanced_accuracy"), np.transpose(drawn), strict=True):
        low, high = np.quantile(values, [0.025, 0.975])
        interval = found.figures[name]
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.012)


def delong_error(stated, gold):
    """The standard error of the area by DeLong's formulas, pair by pair."""
    positives, negatives = stated[gold == 1], stated[gold == 0]
    order = [[(p > n) + (p == n) / 2 for n in negatives] for p in positives]
    of_positives = np.mean(order, axis=1)
    of_negatives = np.mean(order, axis=0)
    return math.sqrt(
        of_positives.var(ddof=1) / len(positives) + of_negatives.var(ddof=1) / len(negatives)
    )


@pytest.mark.ci
def test_with_many_items_the_area_has_the_error_of_delong():
    rng = np.random.default_rng(13)
    gold = rng.integers(0, 2, 1_500)
    stated = np.clip(rng.normal(0.4 + 0.15 * gold, 0.15), 0, 1).round(2)

    found = measure_classification(gold, gold, probabilities=stated).figures["auc"]

    width = 2 * 1.96 * delong_error(stated, gold)
    assert found.high - found.low == pytest.approx(width, rel=0.12)
    assert found.high - found.low > 0.97 * width


def test_many_distinct_probabilities_are_told_apart_in_the_estimate():
    rng = np.random.default_rng(14)
    gold = rng.integers(0, 2, 3_000)
    stated = np.clip(rng.random(3_000) * 0.8 + gold * 0.2, 0, 1)

    figures = measure_classification(gold, gold, probabilities=stated).figures

    assert figures["auc"].estimate == pytest.approx(metrics.roc_auc_score(gold, stated))
    assert figures["brier"].estimate == pytest.approx(metrics.brier_score_loss(gold, stated))
    assert figures["auc"].low < figures["auc"].estimate < figures["auc"].high
    assert figures["auc"].high - figures["auc"].low < 0.05


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
        assert other.estimate == pytest.approx(each.estimate)
        assert (other.low, other.high) == pytest.approx((each.low, each.high), abs=0.015)


def test_the_order_of_items_is_of_no_account_and_a_seed_repeats():
    judged, gold = draw(15)
    probabilities = np.random.default_rng(15).random(150).round(2)
    turned = np.random.default_rng(16).permutation(150)

    first = measure_classification(judged, gold, probabilities=probabilities)
    again = measure_classification(
        judged[turned], gold[turned], probabilities=probabilities[turned]
    )
    other = measure_classification(judged, gold, probabilities=probabilities, seed=1)

    for name, found in first.figures.items():
        turned_found = again.figures[name]
        assert (turned_found.low, turned_found.high) == pytest.approx((found.low, found.high))
    assert first.figures["mcc"] != other.figures["mcc"]
    assert first.figures["mcc"].low == pytest.approx(other.figures["mcc"].low, abs=0.02)


@pytest.mark.ci
@pytest.mark.parametrize("prevalence", [0.1, 0.5])
def test_intervals_cover_what_they_should(prevalence):
    rng = np.random.default_rng(8)
    positives, false_alarms = 0.8 * prevalence, 0.3 * (1 - prevalence)
    truth = {"sensitivity": 0.8, "specificity": 0.7, "balanced_accuracy": 0.75}
    truth["precision"] = positives / (positives + false_alarms)
    truth["f1"] = 2 * positives / (positives + false_alarms + prevalence)
    truth["mcc"] = (
        0.5
        * math.sqrt(prevalence * (1 - prevalence))
        / math.sqrt((positives + false_alarms) * (1 - positives - false_alarms))
    )
    covered, n_runs = dict.fromkeys(truth, 0), 250
    for _ in range(n_runs):
        gold = (rng.random(100) < prevalence).astype(int)
        judged = (rng.random(100) < np.where(gold == 1, 0.8, 0.3)).astype(int)
        figures = measure_classification(judged, gold).figures
        for name, value in truth.items():
            covered[name] += figures[name].low <= value <= figures[name].high

    for count in covered.values():
        assert count / n_runs > 0.95 - 3 * (0.95 * 0.05 / n_runs) ** 0.5


# Failures and what is undefined -------------------------------------------------------------------


def test_failures_are_left_out_and_in_the_worst_case_wrong():
    gold = np.repeat([1, 0], 10)
    judged = np.where(np.arange(20) % 5 == 0, -1, gold)  # 2 of either side failed

    found = measure_classification(judged, gold, failed=judged < 0)

    assert (found.n_items, found.n_failures) == (16, 4)
    assert found.figures["accuracy"].estimate == 1
    # 8 true positives, 2 false ones, 2 missed, 8 true negatives: (64 - 4) / 100
    shares = ("accuracy", "balanced_accuracy", "sensitivity", "specificity", "f1")
    assert found.worst_case == pytest.approx(dict.fromkeys(shares, 0.8) | {"mcc": 0.6})


def test_failures_on_several_labels_are_wrong_too():
    found = measure_classification(
        [0, 1, 2, -1], [0, 1, 2, 2], n_labels=3, failed=[False, False, False, True]
    )

    assert found.worst_case == pytest.approx({"accuracy": 3 / 4, "balanced_accuracy": 5 / 6})


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


def test_a_judge_that_always_says_the_same_has_no_correlation():
    gold = np.repeat([1, 0], [20, 80])

    with pytest.warns(DegenerateDataWarning, match="undefined: the judge always says label 0"):
        found = measure_classification(np.zeros(100, dtype=int), gold)

    assert np.isnan(found.figures["mcc"].estimate)
    assert np.isnan(found.figures["precision"].estimate)
    assert found.figures["balanced_accuracy"].estimate == found.always["balanced_accuracy"] == 0.5
    assert found.figures["accuracy"].estimate == found.always["accuracy"] == 0.8
    assert found.figures["f1"].estimate == 0


def test_one_cluster_has_no_interval():
    judged, gold = draw(17, n_items=20)

    with pytest.warns(DegenerateDataWarning, match="all items are of one cluster"):
        found = measure_classification(
            judged, gold, probabilities=judged * 0.5, clusters=np.zeros(20, dtype=int)
        )

    assert found.n_units == 1
    assert not np.isnan(found.figures["auc"].estimate)
    assert all(np.isnan(each.low) for each in found.figures.values())


def test_positives_of_one_cluster_leave_the_sensitivity_without_an_interval():
    gold = np.repeat([1, 0], [4, 16])

    with pytest.warns(DegenerateDataWarning, match="label 1 is the gold label of 4 items only"):
        found = measure_classification(gold, gold, clusters=np.repeat(np.arange(5), 4))

    assert found.figures["sensitivity"].estimate == 1
    assert np.isnan(found.figures["sensitivity"].low)
    assert not np.isnan(found.figures["specificity"].low)


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


@pytest.mark.ci
def test_the_threshold_of_all_items_is_the_best_there_is():
    rng = np.random.default_rng(9)
    gold = (rng.random(80) < 0.3).astype(int)
    probabilities = (rng.random(80) * 0.7 + gold * 0.2).round(2)
    score = metrics.matthews_corrcoef

    found = cross_threshold(probabilities, gold)

    every = [score(gold, probabilities >= cut) for cut in np.linspace(0, 1, 1_001)]
    assert score(gold, probabilities >= found.threshold) == pytest.approx(max(every))


@pytest.mark.ci
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


@pytest.mark.edges
@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_a_judge_that_is_always_right_or_always_wrong_is_measured(n_labels, shift, seed):
    gold = np.random.default_rng(seed).permutation(np.arange(17 + seed) % n_labels)
    found = measure_classification((gold + shift) % n_labels, gold, n_labels=n_labels)
    assert found.figures["accuracy"].estimate == 1 - shift
    for figure in found.figures.values():
        assert -1 <= figure.low <= figure.estimate <= figure.high <= 1


def test_a_label_that_is_nobodys_gold_label_has_no_recall_to_average():
    gold, judged = np.array([0, 0, 1, 1, 1, 1]), np.array([0, 2, 1, 1, 1, 0])
    found = measure_classification(judged, gold, n_labels=3)
    recalls = metrics.recall_score(gold, judged, labels=[0, 1], average="macro")
    assert found.figures["balanced_accuracy"].estimate == pytest.approx(recalls)
    assert found.always["balanced_accuracy"] == 0.5


@pytest.mark.ci
def test_many_labels_take_little_memory(peak_memory):
    rng = np.random.default_rng(0)
    gold = np.arange(2_000) % 500
    judged = np.where(rng.random(2_000) < 0.8, gold, rng.integers(0, 500, 2_000))
    found = []

    peak = peak_memory(lambda: found.append(measure_classification(judged, gold, n_labels=500)))

    # 1,000 draws of a table of 500 by 500 would be 2 GB; those of the cells that occur are 7 MB
    assert peak < 200e6
    correlation = found[0].figures["mcc"]
    assert correlation.estimate == pytest.approx(metrics.matthews_corrcoef(gold, judged))
    assert correlation.low < correlation.estimate < correlation.high
