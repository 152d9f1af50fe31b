"""The records of an examination: frozen, complete, and under the names of the JSON."""

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from voirdire import alt_test, stats, studies
from voirdire.stats import LabelSets


@pytest.fixture(scope="module")
def result():
    truth = {i: "ab"[i % 2] for i in range(60)}
    humans = {
        name: {i: "ab"[(i + (i % 9 == slip)) % 2] for i in truth} for slip, name in enumerate("xyz")
    }
    return alt_test(truth, humans)


RECORDS = [
    record for record in (getattr(stats, name) for name in stats.__all__) if is_dataclass(record)
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_records_are_frozen_and_keyword_only(record):
    made = record.__new__(record)

    for field in fields(record):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
            setattr(made, field.name, None)
    if record is not LabelSets:
        with pytest.raises(TypeError, match="positional argument"):
            record(1)


def test_the_defaults_are_those_of_the_documents():
    plan = stats.power(human_noise=0.2, judge_noise=0.2, n_simulations=5)
    defaults = vars(studies.TestPlan())

    assert plan.sizes == (30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400)
    assert plan.epsilons == (0.1, 0.15, 0.2)
    assert (defaults["min_items"], defaults["min_annotators"]) == (30, 2)
    assert (defaults["false_discovery_rate"], defaults["confidence_level"]) == (0.05, 0.95)
    assert defaults["epsilon_mode"] == "additive"


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
