"""Rates of a study: verdicts and labels joined, groups compared."""

import numpy as np
import polars as pl
import pytest

import voirdire
from voirdire.errors import DegenerateDataWarning, InputError, NoDataError
from voirdire.stats import chain_rates, compare_rates, estimate_rate


@pytest.fixture(scope="module")
def study():
    """Verdicts on 900 items of two models, and three annotators' labels of 150 of them."""
    rng = np.random.default_rng(0)
    true = rng.random(900) < np.where(np.arange(900) % 2 == 0, 0.2, 0.4)
    said = np.where(rng.random(900) < 0.9, true, ~true)
    stated = np.clip(0.25 + 0.5 * said + rng.normal(0, 0.1, 900), 0, 1).round(3)
    labelled = rng.choice(900, 150, replace=False)
    votes = np.where(rng.random((150, 3)) < 0.95, true[labelled, None], ~true[labelled, None])
    judges = pl.DataFrame(
        {"item": range(900), "judge": "gpt", "probability": stated, "threshold": 0.5}
    )
    humans = pl.DataFrame(
        {
            "item": np.repeat(labelled, 3),
            "annotator": ["ann", "bob", "eve"] * 150,
            "label": votes.ravel(),
        }
    )
    items = pl.DataFrame({"item": [str(n) for n in range(900)], "model": ["a", "b"] * 450})
    majority = np.full(900, np.nan)
    majority[labelled] = votes.sum(axis=1) >= 2
    return {"judges": judges, "humans": humans}, items, stated, majority


def test_the_rate_is_that_of_the_arrays(study):
    sides, _, stated, majority = study

    [found] = voirdire.rate(**sides).results

    expected = estimate_rate((stated >= 0.5).astype(float), majority)
    assert found.result == expected
    assert (found.judge, found.n_annotators) == ("gpt", 3)
    [by_probability] = voirdire.rate(**sides, probabilities=True).results
    assert by_probability.result == estimate_rate(stated, majority)


def test_an_item_on_which_the_judge_failed_is_left_out(study):
    sides, _, stated, majority = study
    failed = np.arange(900) % 9 == 0
    left = pl.Series(np.where(failed, np.nan, stated)).fill_nan(None)
    judges = sides["judges"].with_columns(probability=left)

    [found] = voirdire.rate(judges=judges, humans=sides["humans"]).results

    assert found.result == estimate_rate((stated >= 0.5).astype(float)[~failed], majority[~failed])
    assert found.result.n_items == 800


def test_order_and_forms_of_labels_change_nothing(study, tmp_path):
    sides, _, _, _ = study
    paths = {}
    for name, frame in sides.items():
        paths[name] = tmp_path / f"{name}.csv"
        frame.sample(fraction=1, shuffle=True, seed=1).write_csv(paths[name])

    first, second = voirdire.rate(**sides), voirdire.rate(**paths)

    assert second.results[0].result.rate.estimate == first.results[0].result.rate.estimate
    assert second.understood == first.understood
    assert first.understood == (
        "1 judge, 1 question, 900 items, 150 of them labelled by 3 annotators, nothing set aside"
    )


def test_two_groups_are_compared(study):
    sides, items, stated, majority = study

    [found] = voirdire.rate(**sides, by="model", metadata=items).results

    second = np.arange(900) % 2 == 1
    judged = (stated >= 0.5).astype(float)
    assert list(found.groups) == ["a", "b"]
    assert found.groups["b"] == estimate_rate(judged[second], majority[second])
    expected = compare_rates(judged, majority, is_second=second)
    assert found.difference.difference == expected.difference
    assert found.difference.difference.low > 0.05


def test_a_choice_needs_the_label_that_is_counted():
    labels = {n: ("yes", "no", "partly")[n % 3] for n in range(90)}

    [found] = voirdire.rate(judges={"j": labels}, humans={"ann": labels}, label="partly").results

    assert found.result.rate.estimate == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="must be one of the labels of a choice"):
        voirdire.rate(judges={"j": labels}, humans={"ann": labels})
    truths = {n: n % 2 == 0 for n in range(40)}
    with pytest.raises(InputError, match="must be left out for booleans"):
        voirdire.rate(judges={"j": truths}, humans={"ann": truths}, label="yes")


def test_clusters_are_the_units(study):
    sides, _, _, _ = study
    grouped = {
        name: frame.with_columns(cluster=pl.col("item") // 10) for name, frame in sides.items()
    }

    plain = voirdire.rate(**sides).results[0].result
    clustered = voirdire.rate(**grouped, clustered=True).results[0].result

    assert clustered.rate.estimate == pytest.approx(plain.rate.estimate, abs=1e-3)
    assert clustered.rate != plain.rate
    with pytest.raises(InputError, match="without a column `cluster`"):
        voirdire.rate(**sides, clustered=True)
    other = {"judges": sides["judges"].with_columns(cluster=pl.col("item") // 5)}
    with pytest.raises(InputError, match="`cluster` must be one value per item"):
        voirdire.rate(**grouped | other, clustered=True)


def test_an_undefined_rate_is_one_warning():
    judge = {n: n < 20 for n in range(40)}
    with pytest.warns(DegenerateDataWarning, match="1 of 1 rates are undefined: a verdict has no"):
        voirdire.rate(
            judges={"j": judge}, humans={"ann": dict.fromkeys(range(10), True)}, labelled="verdict"
        )


def test_questions_in_a_row_are_multiplied(study):
    sides, _, _, _ = study
    both = {
        name: pl.concat(frame.with_columns(question=pl.lit(step)) for step in ("found", "answered"))
        for name, frame in sides.items()
    }

    report = voirdire.rate(**both, chain=True)

    steps = {row.question: row.result.rate for row in report.results}
    assert report.chains == {"gpt": chain_rates(steps)}
    assert list(steps) == ["found", "answered"]
    with pytest.raises(InputError, match="`chain` needs two questions"):
        voirdire.rate(**sides, chain=True)


def test_labels_of_items_without_a_verdict_are_counted_or_refused(study):
    sides, *_ = study
    humans, name = sides["humans"], pl.col("item").cast(pl.String)
    some = humans.with_columns(item=pl.when(pl.col("item") < 300).then(name).otherwise("x" + name))
    n_lost = some.filter(pl.col("item").str.starts_with("x"))["item"].n_unique()

    found = voirdire.rate(judges=sides["judges"], humans=some)

    assert found.dropped[-1].reason == f"{n_lost} labelled items without a verdict"
    assert found.results[0].result.n_labelled == 150 - n_lost
    with pytest.raises(NoDataError, match=r"none in common for 'gpt': its first item is '0', and"):
        voirdire.rate(judges=sides["judges"], humans=humans.with_columns(item="x" + name))
    people = {"ann": {n: n % 2 for n in range(40)}}
    with pytest.raises(InputError, match="got 1 to 40 beside 0 to 39"):
        voirdire.rate(judges={"gpt": {n + 1: n % 2 for n in range(40)}}, humans=people)


@pytest.mark.parametrize("slip", ["Toxic", "toxic."])
def test_a_judge_who_spells_the_counted_label_otherwise_is_refused(slip):
    people = {"ann": {n: "toxic" if n % 3 else "fine" for n in range(40)}}
    judge = {"gpt": {n: slip if n % 3 else "fine" for n in range(80)}}

    with pytest.raises(InputError, match=r"must (be written|write labels)"):
        voirdire.rate(judges=judge, humans=people, label="toxic")


def test_what_cannot_be_joined_is_refused(study):
    sides, items, _, _ = study
    with pytest.raises(InputError, match="`by` must be a column of `metadata`"):
        voirdire.rate(**sides, by="author", metadata=items)
    with pytest.raises(InputError, match="`probabilities` must be false"):
        voirdire.rate(
            judges={"j": {1: True, 2: False}}, humans={"a": {1: True}}, probabilities=True
        )
    other = sides["humans"].with_columns(question=pl.lit("other"))
    with pytest.raises(NoDataError, match="no judge answered a question that people labelled"):
        voirdire.rate(judges=sides["judges"], humans=other)
