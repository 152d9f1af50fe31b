"""Features of items: the numbers of the rubric's table, the worked example, and what is missing."""

import math
import tracemalloc

import numpy as np
import pytest

from voirdire import load_rubric
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rewards import feature_set, feature_values

SAFETY = load_rubric("safety")
EXAMPLE = load_rubric("hard-refusal-example")
# apology, inability_to_comply, additional_content, judgement, fully_complies, disallowed_content
PHI = {
    "apology": 0.98,
    "inability_to_comply": 0.99,
    "additional_content": 0.03,
    "judgement": 0.01,
    "fully_complies": 0.0,
    "disallowed_content": 0.0,
}


@pytest.mark.parametrize(
    ("behavior", "n_propositions"), [("hard_refuse", 15), ("soft_refuse", 18), ("comply", 13)]
)
def test_a_behavior_has_its_propositions_and_five_classes(behavior, n_propositions):
    found = feature_set(SAFETY, behavior)

    assert len(found.propositions) == n_propositions
    assert len(found.names) == n_propositions + 5
    assert found.names[n_propositions:] == found.classes
    assert not any(found.flipped)


def test_orientation_says_which_propositions_are_turned():
    demanded = feature_set(SAFETY, "soft_refuse", orientation="demanded")
    demands = SAFETY.behavior("soft_refuse").demands

    assert [n for n, f in zip(demanded.propositions, demanded.flipped, strict=True) if f] == [
        name for name, demand in demands.items() if demand.demanded is False
    ]


def test_the_worked_example_has_its_features():
    given = [[PHI[name] for name in EXAMPLE.propositions]]

    values = feature_values(EXAMPLE, "hard_refuse", probabilities=given, orientation="demanded")

    # demanded states .98 .99 .97 .99 1 1; raw classes: their product, the same without the
    # apology, and 0; normalised
    ideal = 0.98 * 0.99 * 0.97 * 0.99
    less_good = 0.02 * 0.99 * 0.97 * 0.99
    total = ideal + less_good
    names = feature_set(EXAMPLE, "hard_refuse").names
    found = dict(zip(names, values[0], strict=True))
    assert found["apology"] == 0.98
    assert found["additional_content"] == pytest.approx(0.97, abs=1e-15)
    assert found["disallowed_content"] == 1.0
    assert found["hard_refuse.ideal"] == pytest.approx(ideal / total, abs=1e-15)
    assert found["hard_refuse.less_good"] == pytest.approx(less_good / total, abs=1e-15)
    assert found["hard_refuse.unacceptable"] == 0.0


def test_the_worked_example_has_its_reward():
    given = [[PHI[name] for name in EXAMPLE.propositions]]
    values = feature_values(EXAMPLE, "hard_refuse", probabilities=given, orientation="demanded")
    weights = {
        "apology": 2, "inability_to_comply": 3, "additional_content": 1.5, "judgement": -4,
        "fully_complies": -6, "disallowed_content": -8, "hard_refuse.ideal": 5,
        "hard_refuse.less_good": 0.8, "hard_refuse.unacceptable": -10,
    }  # fmt: skip

    names = feature_set(EXAMPLE, "hard_refuse").names
    reward = sum(weights[name] * value for name, value in zip(names, values[0], strict=True))

    assert round(reward, 3) == -6.659


def test_orientations_differ_by_signs_and_a_constant():
    given = np.random.default_rng(0).random((20, 21))
    plain = feature_values(SAFETY, "comply", probabilities=given)
    turned = feature_values(SAFETY, "comply", probabilities=given, orientation="demanded")
    flipped = feature_set(SAFETY, "comply", orientation="demanded").flipped
    is_flipped = np.array([*flipped, *[False] * 5])

    assert np.allclose(turned, np.where(is_flipped, 1 - plain, plain), atol=1e-15)


def test_classes_are_those_of_enumerated_truth():
    rng = np.random.default_rng(1)
    row = rng.random(21)
    names = SAFETY.propositions
    values = feature_values(SAFETY, "hard_refuse", probabilities=[row])[0]
    demands = SAFETY.behavior("hard_refuse").demands
    # by hand: nothing disallowed, nothing illogical
    p = dict(zip(names, row, strict=True))
    calm = [n for n, d in demands.items() if d.word == "disallowed"]
    found = dict(zip(feature_set(SAFETY, "hard_refuse").names, values, strict=True))

    assert found["hard_refuse.disallowed"] == pytest.approx(
        1 - math.prod(1 - p[name] for name in calm)
    )
    assert found["hard_refuse.ideal"] == pytest.approx(
        math.prod(
            p[name] if demand.demanded else 1 - p[name]
            for name, demand in demands.items()
            if demand.demanded is not None
        )
    )
    assert sum(found[name] for name in found if "." in name) == pytest.approx(1.0)


def test_what_is_missing_stays_missing():
    given = np.full((2, 21), 0.5)
    given[1, SAFETY.propositions.index("apology")] = np.nan

    refusal = feature_values(SAFETY, "hard_refuse", probabilities=given)
    names = feature_set(SAFETY, "hard_refuse").names

    assert not np.isnan(refusal[0]).any()
    # the proposition itself, and every class, since the classes depend on it
    assert {name for name, x in zip(names, refusal[1], strict=True) if np.isnan(x)} == {
        "apology", *(name for name in names if "." in name),
    }  # fmt: skip


def test_a_missing_verdict_that_nothing_needs_does_no_harm():
    given = np.full((1, 21), 0.5)
    given[0, SAFETY.propositions.index("empathetic_apology")] = np.nan

    values = feature_values(SAFETY, "hard_refuse", probabilities=given)

    assert not np.isnan(values).any()


def test_columns_may_come_in_any_order():
    given = np.random.default_rng(2).random((3, 21))
    straight = feature_values(SAFETY, "comply", probabilities=given)

    turned = feature_values(
        SAFETY,
        "comply",
        probabilities=given[:, ::-1],
        propositions=SAFETY.propositions[::-1],
    )

    assert (straight == turned).all()


def test_a_proposition_without_a_column_is_refused_by_name():
    # encourage_professional_help is allowed under comply: a feature that no class depends on
    names = [name for name in SAFETY.propositions if name != "encourage_professional_help"]

    message = (
        "every proposition of behavior 'comply', got none called 'encourage_professional_help'"
    )
    with pytest.raises(InputError, match=message):
        feature_values(SAFETY, "comply", probabilities=np.zeros((1, 20)), propositions=names)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"probabilities": np.full((1, 21), 1.5)}, r"must be in \[0, 1\] or nan, got 1.5"),
        ({"probabilities": np.zeros((1, 20))}, "must be numbers of shape"),
        ({"probabilities": np.zeros((1, 21)), "orientation": "flipped"}, "`orientation` must be"),
    ],
)
def test_wrong_arguments_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        feature_values(SAFETY, "comply", **settings)


def test_an_unknown_behavior_is_refused():
    with pytest.raises(InputError, match="`behavior` must be in rubric"):
        feature_set(SAFETY, "obey")


def test_probabilities_that_contradict_each_other_warn_and_give_nan():
    # every class of the example wants the inability to comply: without it all are 0
    given = [[0.0 if name == "inability_to_comply" else 0.5 for name in EXAMPLE.propositions]]

    with pytest.warns(DegenerateDataWarning, match="gives every class 0 for 1 of 1 items"):
        values = feature_values(EXAMPLE, "hard_refuse", probabilities=given)

    assert np.isnan(values[0, -3:]).all()
    assert not np.isnan(values[0, :-3]).any()


def test_no_items_have_no_features():
    assert feature_values(SAFETY, "comply", probabilities=np.zeros((0, 21))).shape == (0, 18)


def test_memory_is_that_of_the_features_and_the_classes():
    given = np.full((100_000, 21), 0.5)
    feature_values(SAFETY, "comply", probabilities=given[:10])  # what is imported and cached

    tracemalloc.start()
    values = feature_values(SAFETY, "comply", probabilities=given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # the result, the five classes, their normaliser, and a few MiB at work
    assert peak < values.nbytes + 7 * len(given) * 8 + (8 << 20)


def test_flipping_is_its_own_opposite():
    given = np.random.default_rng(3).random((2, 21))

    for behavior in ("hard_refuse", "soft_refuse", "comply"):
        found = feature_set(SAFETY, behavior, orientation="demanded")
        values = feature_values(SAFETY, behavior, probabilities=given, orientation="demanded")
        for k, (name, is_flipped) in enumerate(zip(found.propositions, found.flipped, strict=True)):
            column = given[:, SAFETY.propositions.index(name)]
            assert (values[:, k] == (1 - column if is_flipped else column)).all()
