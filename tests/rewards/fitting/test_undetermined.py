"""What comparisons leave open, in words."""

import numpy as np
import pytest
from scipy.linalg import null_space

from voirdire.rewards.fitting.undetermined import undetermined

NAMES = ["a", "b", "c", "d", "e", "x.one", "x.two", "x.three"]
GAUGE = np.array([[0, 0, 0, 0, 0, 1, 1, 1.0]])


def loose_of(differences, gauge):
    """Directions that change no difference, without the gauge: by scipy, not by the solver."""
    kernel = null_space(differences).T
    unit = gauge / np.linalg.norm(gauge, axis=1, keepdims=True)
    rest = kernel - (kernel @ unit.T) @ unit
    _, sizes, directions = np.linalg.svd(rest)
    return directions[: int((sizes > 1e-9).sum())]


def drawn():
    """Give differences of eight features, the last three adding up to 0."""
    values = np.random.default_rng(0).normal(size=(40, 8))
    values[:, 7] = -values[:, 5] - values[:, 6]
    return values


def test_the_gauge_alone_is_not_worth_a_word():
    values = drawn()

    found = undetermined(loose_of(values, GAUGE), gauge=GAUGE, names=NAMES)

    assert found.features == ()
    assert found.directions == ()


def test_two_features_that_always_agree_are_told_apart_by_nothing():
    values = drawn()
    values[:, 1] = values[:, 0]

    found = undetermined(loose_of(values, GAUGE), gauge=GAUGE, names=NAMES)

    assert found.features == ()
    assert found.directions == ("no comparison tells the weights of a and b apart",)


def test_a_feature_that_never_differs_is_named_alone():
    values = drawn()
    values[:, 2] = 0

    found = undetermined(loose_of(values, GAUGE), gauge=GAUGE, names=NAMES)

    assert found.features == ("c",)
    assert found.directions == ()


def test_a_class_that_never_occurs_is_named_though_it_is_in_the_gauge():
    values = drawn()
    values[:, 5], values[:, 7] = 0, -values[:, 6]

    found = undetermined(loose_of(values, GAUGE), gauge=GAUGE, names=NAMES)

    assert found.features == ("x.one",)
    assert found.directions == ()


@pytest.mark.parametrize("place", [5, 6, 7])
def test_a_class_that_is_the_same_as_a_proposition_is_named_with_it_alone(place):
    values = drawn()
    values[:, 0] = values[:, place]

    found = undetermined(loose_of(values, GAUGE), gauge=GAUGE, names=NAMES)

    assert found.directions == (f"no comparison tells the weights of a and {NAMES[place]} apart",)


def test_several_things_at_once_are_kept_apart():
    values = drawn()
    values[:, 1] = -values[:, 0]
    values[:, 2] = 0
    values[:, 4] = values[:, 3] + values[:, 5]  # a sum that a proposition and a class make

    found = undetermined(loose_of(values, GAUGE), gauge=GAUGE, names=NAMES)

    assert found.features == ("c",)
    assert len(found.directions) == 2
    assert "a and b" in found.directions[0] + found.directions[1]
    named = next(words for words in found.directions if "a and b" not in words)
    assert "d" in named
    assert "e" in named


def test_directions_of_many_features_are_counted_and_not_spelt_out():
    values = drawn()[:3]  # three differences leave 8 - 1 - 3 = 4 directions open

    found = undetermined(loose_of(values, GAUGE), gauge=GAUGE, names=NAMES)

    assert found.features == ()
    assert len(found.directions) == 1
    assert "can be shifted against each other in 4 ways" in found.directions[0]


def test_many_pairs_of_features_are_counted_after_the_first_few():
    values = np.repeat(np.random.default_rng(0).normal(size=(40, 7)), 2, axis=1)
    names = [f"f{number}" for number in range(14)]

    found = undetermined(loose_of(values, np.zeros((0, 14))), gauge=np.zeros((0, 14)), names=names)

    assert len(found.directions) == 6
    assert "4 features can be shifted against each other in 2 more ways" in found.directions[-1]


@pytest.mark.parametrize("gauge", [GAUGE, np.zeros((0, 8))])
def test_where_no_comparison_differs_in_anything_every_feature_is_named(gauge):
    found = undetermined(loose_of(np.zeros((5, 8)), gauge), gauge=gauge, names=NAMES)

    assert (found.features, found.directions) == (tuple(NAMES), ())


@pytest.mark.parametrize("gauge", [GAUGE, np.zeros((0, 8))])
def test_no_directions_no_words(gauge):
    found = undetermined(np.zeros((0, 8)), gauge=gauge, names=NAMES)

    assert (found.features, found.directions) == ((), ())
