"""Signs, fixed and ignored weights, by the names of features."""

import numpy as np
import pytest

from rewards.fitting.fit_cases import RUBRIC
from voirdire.errors import InputError
from voirdire.rewards import FitSettings
from voirdire.rewards.fitting.feature_choice import feature_choices

NAMES = ["polite", "useful", "rude", "long", "answer.ideal", "answer.poor"]


def test_without_a_word_every_weight_is_free():
    choice = feature_choices(RUBRIC, FitSettings())["answer"]

    assert list(choice.features.names) == NAMES
    assert choice.is_fitted.all()
    assert np.isneginf(choice.lower).all()
    assert np.isposinf(choice.upper).all()


def test_a_proposition_is_named_in_all_behaviors_and_in_one():
    settings = FitSettings(
        signs={"polite": "positive", "refuse:polite": "negative"}, fixed={"rude": -2}
    )

    found = feature_choices(RUBRIC, settings)

    assert (found["answer"].lower[0], found["answer"].upper[0]) == (0, np.inf)
    assert (found["refuse"].lower[0], found["refuse"].upper[0]) == (-np.inf, 0)
    assert found["answer"].given[2] == -2
    assert found["refuse"].given[1] == -2


def test_what_is_said_of_one_behavior_goes_before_what_is_said_of_all():
    settings = FitSettings(ignored=["polite"], fixed={"answer:polite": 3})

    found = feature_choices(RUBRIC, settings)

    assert found["answer"].given[0] == 3
    assert found["answer"].ignored == frozenset()
    assert found["refuse"].given[0] == 0
    assert found["refuse"].ignored == {"polite"}


def test_a_class_is_named_in_all_behaviors_and_in_one():
    found = feature_choices(RUBRIC, FitSettings(fixed={"ideal": 1, "refuse.ideal": 2}))

    assert found["answer"].given[4] == 1
    assert found["refuse"].given[2] == 2


def test_classes_have_a_gauge_only_where_all_of_them_are_fitted():
    free = feature_choices(RUBRIC, FitSettings(ignored=["long"]))["answer"]
    held = feature_choices(RUBRIC, FitSettings(ignored=["answer.poor"]))["answer"]

    assert free.gauge().tolist() == [[0, 0, 0, 1, 1]]
    assert held.gauge().shape == (0, 5)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("polit", "`polite`"), ("answer.idael", "`answer.ideal`"), ("refuse:polit_e", "")],
)
def test_an_unknown_feature_is_refused_with_the_nearest(name, hint):
    with pytest.raises(InputError, match=f"got '{name}'.*{hint}"):
        feature_choices(RUBRIC, FitSettings(ignored=[name]))


def test_a_proposition_that_a_behavior_says_nothing_of_is_no_feature_of_it():
    with pytest.raises(InputError, match="got 'refuse:useful'"):
        feature_choices(RUBRIC, FitSettings(ignored=["refuse:useful"]))
