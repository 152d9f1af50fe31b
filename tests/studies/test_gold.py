"""Judges against one gold label per item: every question, in one run."""

import numpy as np
import polars as pl
import pytest
from sklearn import metrics

from rbr_script import gold_rows, write_gold
from voirdire.errors import DegenerateDataWarning, InputError, NoDataError
from voirdire.io import read_labels
from voirdire.stats import fit_calibrator
from voirdire.studies import examine_gold


@pytest.fixture(scope="module")
def labels():
    """Gold labels, and a judge with probabilities, of two questions on 120 items."""
    rng = np.random.default_rng(0)
    gold, judged = [], []
    for question, share in (("apologises", 0.4), ("refuses", 0.2)):
        truth = rng.random(120) < share
        probability = np.clip(0.3 * rng.random(120) + 0.5 * truth + 0.1, 0, 1).round(3)
        for item in range(120):
            gold.append({"question": question, "item": f"i{item}", "label": bool(truth[item])})
            row = {"question": question, "item": f"i{item}", "judge": "mine", "threshold": 0.5}
            judged.append(row | {"probability": probability[item]})
    return pl.DataFrame(gold), pl.DataFrame(judged)


def test_every_question_is_measured_as_scikit_learn_does(labels):
    gold, judged = labels
    found = examine_gold(judges=judged.sample(fraction=1, shuffle=True, seed=1), gold=gold)

    assert found.understood == (
        "1 judge, 2 questions, 120 items with gold labels, boolean, nothing set aside"
    )
    assert [row.question for row in found.results] == ["apologises", "refuses"]
    for row in found.results:
        both = gold.filter(question=row.question).join(judged, on=["question", "item"])
        truth, stated = both["label"].to_numpy(), both["probability"].to_numpy()
        figures = row.classification.figures
        assert row.labels == ("false", "true")
        assert figures["mcc"].estimate == pytest.approx(
            metrics.matthews_corrcoef(truth, stated >= 0.5)
        )
        assert figures["auc"].estimate == pytest.approx(metrics.roc_auc_score(truth, stated))
        assert figures["brier"].estimate == pytest.approx(metrics.brier_score_loss(truth, stated))
        assert sum(each.n_items * each.share for each in row.calibration) == pytest.approx(
            truth.sum()
        )
        assert 0.2 < row.threshold.threshold < 0.7
        parts = row.brier
        made = parts.reliability.estimate - parts.resolution + parts.uncertainty
        assert made == pytest.approx(figures["brier"].estimate)
        assert set(row.recalibrated) == {"platt", "temperature"}
        assert row.recalibrated["platt"].brier < parts.brier  # judges here are too unsure


def test_a_choice_has_figures_over_all_labels():
    words = ["yes", "no", "partly"]
    gold = {item: words[item % 3] for item in range(60)}
    judge = {item: words[item % 3] if item % 7 else "no" for item in range(60)}

    [row] = examine_gold(judges={"j": judge}, gold=gold).results

    accuracy = metrics.accuracy_score(list(gold.values()), list(judge.values()))
    assert row.classification.figures["accuracy"].estimate == pytest.approx(accuracy)
    assert sorted(row.labels) == sorted(words)
    assert (row.threshold, row.calibration) == (None, None)


def test_failures_and_items_without_gold_are_counted(labels):
    gold, judged = labels
    judged = judged.with_columns(
        failure=pl.when(pl.col("item") == "i3").then(pl.lit("timeout")),
        probability=pl.when(pl.col("item") != "i3").then("probability"),
    )

    found = examine_gold(judges=judged, gold=gold.filter(pl.col("item") != "i5"))

    assert {row.classification.n_items for row in found.results} == {118}
    assert {row.classification.n_failures for row in found.results} == {1}
    assert any(row.item == "i5" or "1 item" in row.reason for row in found.dropped)


@pytest.mark.ci
def test_clusters_make_intervals_wider(labels):
    gold, judged = labels
    grouped = gold.with_columns(cluster=pl.col("item").str.slice(1).cast(pl.Int64) // 4)

    alone = examine_gold(judges=judged, gold=gold).results[0]
    together = examine_gold(judges=judged, gold=grouped, clustered=True).results[0]

    assert together.classification.n_units == 30
    assert together.threshold.result.n_units == 30
    assert alone.classification.n_units == 120


FINGERPRINT = pl.lit("sha256:1").alias("fingerprint")


def test_the_calibration_has_what_helps_on_other_items_fitted_to_all(labels):
    gold, judged = labels
    found = examine_gold(judges=judged.with_columns(FINGERPRINT), gold=gold)

    calibration = found.calibration()

    assert (calibration.judge, calibration.fingerprint) == ("mine", "sha256:1")
    assert (calibration.threshold, found.gold_hash) == (0.5, calibration.gold_hash)
    for row in found.results:
        one = calibration.questions[row.question]
        both = gold.filter(question=row.question).join(judged, on=["question", "item"])
        stated, truth = both["probability"].to_numpy(), both["label"].to_numpy().astype(bool)
        method = min(("platt", "temperature"), key=lambda name: row.recalibrated[name].brier)
        expected = fit_calibrator(stated, truth, method=method)
        assert one.calibrator.method == method
        assert one.calibrator.apply(stated) == pytest.approx(expected.apply(stated))
        after = row.recalibrated[method]  # of items that each calibrator was not fitted to
        assert one.calibrated_brier == after.brier < one.brier
        assert one.brier == pytest.approx(row.classification.figures["brier"].estimate)
        assert one.calibrated_error == after.calibration_error.estimate
        assert one.n_items == 120


def test_a_question_that_no_calibrator_helps_is_left_out():
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(2, 400))
    honest, backward = 1 / (1 + np.exp(-odds))  # the one means what it says, the other its opposite
    gold, judged = [], []
    for question, stated, p in (("honest", honest, honest), ("backward", backward, 1 - backward)):
        truth = rng.random(400) < p
        for item in range(400):
            gold.append({"question": question, "item": item, "label": bool(truth[item])})
            judged.append({"question": question, "item": item, "judge": "mine", "threshold": 0.5})
            judged[-1] |= {"probability": stated[item], "fingerprint": "sha256:1"}

    found = examine_gold(judges=pl.DataFrame(judged), gold=pl.DataFrame(gold))

    by_name = {row.question: row for row in found.results}
    assert by_name["honest"].recalibrated["platt"].brier > by_name["honest"].brier.brier
    # always saying the share is better than the opposite, and tells no two responses apart
    assert by_name["backward"].recalibrated["platt"].brier < by_name["backward"].brier.brier
    assert [row.recommended for row in found.results] == [None, None]
    with pytest.raises(InputError, match="a calibration of 'mine' must lower the Brier score"):
        found.calibration()


def test_a_calibration_is_of_one_judge_of_one_version(labels):
    gold, judged = labels
    two = pl.concat([judged, judged.with_columns(judge=pl.lit("other"))])

    with pytest.raises(InputError, match=r"`judges` must carry one fingerprint .* got 0"):
        examine_gold(judges=judged, gold=gold).calibration()
    with pytest.raises(InputError, match="`judge` must be one of 'mine', 'other', got None"):
        examine_gold(judges=two.with_columns(FINGERPRINT), gold=gold).calibration()
    found = examine_gold(judges=two.with_columns(FINGERPRINT), gold=gold)
    assert found.calibration("other").judge == "other"
    with pytest.raises(InputError, match="got 'nobody'"):
        found.calibration("nobody")
    both = pl.col("question").replace_strict({"apologises": "sha256:1", "refuses": "sha256:2"})
    with pytest.raises(InputError, match="got 2"):
        examine_gold(judges=judged.with_columns(fingerprint=both), gold=gold).calibration()


def test_a_label_that_is_nobodys_gold_label_is_one_warning(labels):
    gold, judged = labels
    none = gold.with_columns(label=pl.col("label") & (pl.col("question") == "apologises"))

    with pytest.warns(DegenerateDataWarning, match="1 of 2 results are undefined: true is nobody"):
        found = examine_gold(judges=judged, gold=none)

    assert np.isnan(found.results[1].classification.figures["sensitivity"].estimate)
    assert found.results[1].threshold is None


def test_what_gold_labels_cannot_be(labels):
    gold, judged = labels
    numbers = {item: item % 5 for item in range(40)}
    with pytest.raises(InputError, match="must answer a boolean or a choice, got a scale"):
        examine_gold(judges={"j": numbers}, gold=numbers, kind="scale")
    two = {name: dict.fromkeys(range(40), True) for name in ("ann", "bob")}
    with pytest.raises(InputError, match="one label per item, got 2 raters"):
        examine_gold(judges=judged, gold=two, kind="boolean")
    other = gold.filter(question="refuses").with_columns(question=pl.lit("other"))
    with pytest.raises(NoDataError, match="judges answered 'apologises', 'refuses'"):
        examine_gold(judges=judged, gold=other)
    assert len(examine_gold(judges=judged, gold=gold, questions=["refuses"]).results) == 1


def test_labels_read_before_are_taken_as_they_are(labels):
    gold, judged = labels
    tables = {
        "gold": read_labels(gold, role="judge", rater_name="gold"),
        "judges": read_labels(judged, role="judge"),
    }

    assert examine_gold(**tables).results == examine_gold(judges=judged, gold=gold).results


@pytest.mark.ci
def test_the_gold_rows_of_the_rbr_authors_in_two_calls(shared_dir, tmp_path):
    import voirdire

    path, labels = write_gold(shared_dir, tmp_path)
    items = [item for batch in voirdire.stream_items(path) for item in batch.items]
    verdicts = voirdire.judge(items, judge="local", rubric="safety")

    found = examine_gold(judges=verdicts, gold=labels)

    assert len(found.results) == 21
    rows = gold_rows(shared_dir)
    assert {row.classification.n_items for row in found.results} == {len(rows)}
    apology = next(row for row in found.results if row.question == "apology")
    frame = verdicts.frame().filter(question="apology")
    truth = [row["propositions"]["apology"] for row in rows]
    score = metrics.roc_auc_score(truth, frame["probability"])
    assert apology.classification.figures["auc"].estimate == pytest.approx(score)
