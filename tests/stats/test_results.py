"""The records of an examination: frozen, complete, and under the names of the JSON."""

import json
import math
from dataclasses import FrozenInstanceError, fields, is_dataclass
from inspect import signature

import pytest

from made_outcomes import labels_with, outcomes_of
from voirdire import alt_test, stats
from voirdire.stats import (
    AnnotatorResult,
    ControlResult,
    LabelSets,
    OutcomeSums,
    WorstCase,
    exact_p_value,
)


@pytest.fixture(scope="module")
def result():
    truth = {i: "ab"[i % 2] for i in range(60)}
    humans = {
        name: {i: "ab"[(i + (i % 9 == slip)) % 2] for i in truth} for slip, name in enumerate("xyz")
    }
    return alt_test(truth, humans)


def test_results_are_frozen(result):
    for record in (result, result.annotators[0], result.controls[0], result.worst_case):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
            record.winning_rate = 1.0


RECORDS = [
    record for record in (getattr(stats, name) for name in stats.__all__) if is_dataclass(record)
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_records_are_frozen_and_keyword_only(record):
    made = record.__new__(record)

    for field in fields(record):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
            setattr(made, field.name, None)
    if record not in (LabelSets, OutcomeSums):
        with pytest.raises(TypeError, match="positional argument"):
            record(1)


@pytest.mark.parametrize(("n_items", "has_exact"), [(2_000, True), (2_001, False)])
def test_beyond_two_thousand_items_there_is_no_exact_p_value(n_items, has_exact):
    study = labels_with(outcomes_of((n_items - 20, 15, 5)))

    [result] = stats.alt_test(**study, controls=False)

    [row] = result.annotators
    assert row.has_exact_p_value == has_exact
    assert math.isnan(row.exact_p_value) != has_exact


def test_the_defaults_are_those_of_the_documents():
    plan = stats.power(human_noise=0.2, judge_noise=0.2, n_simulations=5)
    defaults = {
        name: parameter.default for name, parameter in signature(stats.alt_test).parameters.items()
    }

    assert plan.sizes == (30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400)
    assert plan.epsilons == (0.1, 0.15, 0.2)
    assert (defaults["min_items"], defaults["min_annotators"]) == (30, 2)
    assert (defaults["false_discovery_rate"], defaults["confidence_level"]) == (0.05, 0.95)
    assert (defaults["epsilon_mode"], defaults["method"]) == ("additive", "t")


def test_counts_and_shares_fit_together(result):
    for row in result.annotators:
        assert row.n_items == row.n_judge_wins + row.n_ties + row.n_human_wins
        assert row.tie_share == row.n_ties / row.n_items
        assert row.advantage_judge == (row.n_judge_wins + row.n_ties) / row.n_items
        assert row.advantage_human == (row.n_human_wins + row.n_ties) / row.n_items


def test_the_exact_p_value_stands_beside_the_t_test(result):
    for row in result.annotators:
        assert row.exact_p_value == exact_p_value(
            n_judge_wins=row.n_judge_wins,
            n_ties=row.n_ties,
            n_human_wins=row.n_human_wins,
            epsilon=result.epsilon,
        )


@pytest.mark.parametrize("option", ["weights", "clusters"])
def test_there_is_no_exact_p_value_under_weights_or_clusters(option):
    humans = {name: {i: (i + k) % 3 for i in range(40)} for k, name in enumerate("xyz")}
    given = {"weights": "imbalance", "clusters": {i: i // 2 for i in range(40)}}

    result = alt_test(humans["x"], humans, **{option: given[option]})

    assert all(math.isnan(row.exact_p_value) for row in result.annotators)


def test_dicts_hold_every_figure(result):
    row = result.annotators[0].as_dict()
    public = {f.name for f in fields(AnnotatorResult) if not f.name.startswith("_")}

    assert set(row) == public | {"tie_share", "exact_p_value"}
    assert set(result.controls[0].as_dict()) == {f.name for f in fields(ControlResult)}
    assert set(result.worst_case.as_dict()) == {f.name for f in fields(WorstCase)}
    assert json.loads(json.dumps(row)) == row


def test_figures_are_plain_python(result):
    for record in (result, *result.annotators, *result.controls, result.worst_case):
        for f in fields(record):
            value = getattr(record, f.name)
            assert type(value).__module__ != "numpy", f.name


def test_the_repr_is_one_screen(result):
    assert len(repr(result)) < 1000
    assert "winning_rate=1.0" in repr(result)


def test_warnings_are_the_sentences_of_the_cautions(result):
    assert result.warnings == tuple(caution.sentence for caution in result.cautions)


def test_equal_examinations_are_equal_results(result):
    truth = {i: "ab"[i % 2] for i in range(60)}
    humans = {
        name: {i: "ab"[(i + (i % 9 == slip)) % 2] for i in truth} for slip, name in enumerate("xyz")
    }

    assert alt_test(truth, humans) == result
    assert alt_test(truth, humans, epsilon=0.1) != result
