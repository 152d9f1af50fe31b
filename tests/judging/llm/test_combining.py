"""Several replies about one item: means, votes, pairs in both orders, and what is missing."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.judging.asking import Answers
from voirdire.judging.calls.call import Outcome
from voirdire.judging.llm.combining import combine
from voirdire.records import Failure
from voirdire.rubrics import Question

KINDS = {
    "boolean": Question(id="q", kind="boolean", text={"en": "?"}),
    "choice": Question(id="q", kind="choice", text={"en": "?"}, labels={"x": {}, "y": {}, "z": {}}),
    "multilabel": Question(
        id="q", kind="multilabel", text={"en": "?"}, labels={"x": {}, "y": {}, "z": {}}
    ),
    "scale": Question(id="q", kind="scale", text={"en": "?"}, minimum=1, maximum=5),
    "text": Question(id="q", kind="text", text={"en": "?"}),
    "pairwise": Question(
        id="q", kind="pairwise", text={"en": "?"}, labels={"A": {}, "B": {}, "tie": {}}
    ),
}
ONE = SimpleNamespace(places=(0,))


def outcomes(values, *, masses=None):
    masses = [None] * len(values) if masses is None else masses
    return [
        Outcome(failure=value)
        if isinstance(value, Failure)
        else Outcome(value=Answers((value,), None if mass is None else (mass,)), form="json_schema")
        for value, mass in zip(values, masses, strict=True)
    ]


def combined(kind, values, *, votes=False, masses=None):
    return combine(
        outcomes(values, masses=masses),
        specs=[ONE] * len(values),
        questions=[KINDS[kind]],
        votes=votes,
    )


@given(st.lists(st.integers(0, 64), min_size=2, max_size=7))
def test_orders_of_a_proposition_are_averaged_and_their_range_is_the_shift(numerators):
    values = [n / 64 for n in numerators]

    found = combined("boolean", values)

    mean = Fraction(sum(numerators), 64 * len(numerators))
    assert found.values[0] == pytest.approx(float(mean), abs=1e-15)
    assert found.shift[0] == pytest.approx((max(numerators) - min(numerators)) / 64, abs=1e-15)
    assert found.failures == ()


@given(st.lists(st.booleans(), min_size=2, max_size=9))
def test_votes_on_a_proposition_are_the_share_of_yes_and_have_no_shift(samples):
    found = combined("boolean", [float(sample) for sample in samples], votes=True)

    assert found.values[0] == float(Fraction(sum(samples), len(samples)))
    assert found.shift is None


@pytest.mark.parametrize(
    ("first", "swapped", "expected"),
    [
        (one, other, one if one == other else "tie")
        for one, other in itertools.product(["A", "B", "tie"], repeat=2)
    ],
)
def test_a_pair_is_won_only_where_both_orders_say_so(first, swapped, expected):
    found = combined("pairwise", [first, swapped])

    assert found.values == (expected,)
    assert found.shift == (float(first != swapped),)


def test_a_pair_with_one_failed_order_fails():
    found = combined("pairwise", ["A", Failure(reason="timeout")])

    assert found.values == (None,)
    assert found.failures == ((0, Failure(reason="timeout")),)


@pytest.mark.parametrize("n_failed", [0, 1, 2, 3, 4, 5])
def test_samples_may_fail_as_long_as_more_than_half_are_there(n_failed):
    values = [Failure(reason="refusal by the judge")] * n_failed + [1.0] * (5 - n_failed)

    found = combined("boolean", values, votes=True)

    assert (found.values == (1.0,)) == (n_failed <= 2)
    assert bool(found.failures) == (n_failed > 2)


def test_an_order_that_failed_is_not_left_out_in_silence():
    found = combined("boolean", [0.9, Failure(reason="timeout")])

    assert found.values == (None,)
    assert found.failures[0][1].reason == "timeout"


def test_a_choice_is_the_plurality_and_a_tie_is_a_failure():
    clear = combined("choice", ["x", "y", "x"], votes=True)
    tied = combined("choice", ["x", "y"], votes=True)

    assert clear.values == ("x",)
    assert tied.values == (None,)
    assert "tied" in tied.failures[0][1].reason


@given(
    st.lists(
        st.sets(st.sampled_from("xyz")).map(lambda found: tuple(sorted(found))),
        min_size=2,
        max_size=6,
    )
)
def test_a_label_of_a_set_is_taken_where_more_than_half_name_it(samples):
    found = combined("multilabel", samples, votes=True)

    expected = tuple(
        label
        for label in "xyz"
        if Fraction(sum(label in sample for sample in samples), len(samples)) > Fraction(1, 2)
    )
    assert found.values == (expected,)


def test_scales_take_the_middle_of_whole_numbers_and_the_mean_of_others():
    whole = combined("scale", [1.0, 2.0, 5.0], votes=True)
    even = combined("scale", [1.0, 2.0], votes=True)
    broken = combined("scale", [1.0, 2.5], votes=True)

    assert whole.values == (2.0,)
    assert even.values == (1.0,)  # the lower of two middles, so that it is a point of the scale
    assert broken.values == (1.75,)


def test_a_text_is_the_first_sample():
    assert combined("text", ["one", "two", "two"], votes=True).values == ("one",)


def test_missing_mass_is_averaged_over_the_replies_that_have_it():
    found = combined("boolean", [0.5, 0.7], masses=[0.1, 0.3])

    assert found.missing_mass[0] == pytest.approx(0.2)


def test_missing_mass_is_not_a_number_where_no_reply_has_it():
    assert combined("boolean", [0.5, 0.7]).missing_mass is None


def test_answers_find_their_places_whatever_the_order_they_were_asked_in():
    questions = [
        Question(id=name, kind="boolean", text={"en": "?"}) for name in ("first", "second", "third")
    ]
    given_order = Outcome(value=Answers((0.1, 0.2, 0.3)), form="json_schema")
    shuffled = Outcome(value=Answers((0.5, 0.3, 0.4)), form="text", attempts=2)

    found = combine(
        [given_order, shuffled],
        specs=[SimpleNamespace(places=(0, 1, 2)), SimpleNamespace(places=(2, 0, 1))],
        questions=questions,
        votes=False,
    )

    # the second reply says third .5, first .3, second .4
    assert found.values == pytest.approx((0.2, 0.3, 0.4))
    assert found.shift == pytest.approx((0.2, 0.2, 0.2))
    assert found.form == "text"
    assert found.attempts == 3


def test_single_calls_about_different_questions_are_put_together_and_fail_alone():
    questions = [KINDS["boolean"], Question(id="r", kind="boolean", text={"en": "?"})]

    found = combine(
        [*outcomes([0.25]), *outcomes([Failure(reason="timeout")])],
        specs=[SimpleNamespace(places=(0,)), SimpleNamespace(places=(1,))],
        questions=questions,
        votes=False,
    )

    assert found.values == (0.25, None)
    assert found.failures == ((1, Failure(reason="timeout")),)
    assert found.shift is None
    assert not math.isnan(found.values[0])
