"""Orders of labels: the two forms, what they imply, and what is refused."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire import load_rubric
from voirdire.errors import InputError
from voirdire.rewards import LabelOrder, default_order
from voirdire.rubrics import Behavior, CompletionClass, Question, Rubric

DEFAULT = "ideal > less_good > unacceptable, illogical > disallowed"


def rubric_with(*classes):
    return Rubric(
        name="r",
        version="1",
        questions=(Question(id="a", kind="boolean", text={"en": "a"}),),
        behaviors=(
            Behavior(
                id="b",
                demands={},
                classes=tuple(CompletionClass(name=name, when="a") for name in classes),
            ),
        ),
    )


def test_labels_between_commas_are_not_ordered():
    order = LabelOrder.of(DEFAULT)

    assert order.labels == ("ideal", "less_good", "unacceptable", "illogical", "disallowed")
    assert order.better("ideal") == {"less_good", "unacceptable", "illogical", "disallowed"}
    assert order.better("unacceptable") == order.better("illogical") == {"disallowed"}
    assert order.better("disallowed") == frozenset()
    assert order.best == ("ideal",)
    assert order.levels == (
        ("ideal",),
        ("less_good",),
        ("unacceptable", "illogical"),
        ("disallowed",),
    )


def test_the_matrix_says_what_better_says():
    order = LabelOrder.of("a > b, c; d > c")

    for row, label in enumerate(order.labels):
        named = {order.labels[k] for k in range(4) if order.better_than[row, k]}
        assert named == order.better(label)


def test_steps_that_a_text_leaves_out_are_followed():
    order = LabelOrder.of("a > b; b > c")

    assert order.better("a") == {"b", "c"}


def test_several_chains_give_any_partial_order():
    order = LabelOrder.of("a > b > c; a > d ;\n e > d")

    assert order.better("a") == {"b", "c", "d"}
    assert order.better("e") == {"d"}
    assert order.best == ("a", "e")


@pytest.mark.parametrize("text", [DEFAULT, "a > b", "a, b > c", "one", "full > part > none, rude"])
def test_text_comes_back_as_it_was(text):
    assert str(LabelOrder.of(text)) == text


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
def test_text_and_order_are_two_forms_of_one_thing(steps):
    # from the smaller number to the larger one: no circles
    mapping = {}
    for low, high in (sorted(step) for step in steps if step[0] != step[1]):
        mapping.setdefault(f"l{low}", []).append(f"l{high}")
    if not mapping:
        return
    order = LabelOrder.of("; ".join(f"{a} > {', '.join(b)}" for a, b in mapping.items()))

    assert LabelOrder.of(str(order)) == order
    assert order.better_than.sum() == len(closure(mapping))
    assert {(a, b) for a in order.labels for b in order.better(a)} == closure(mapping)


def closure(mapping):
    """Compose the relation with itself until nothing is new."""
    found = {(a, b) for a, others in mapping.items() for b in others}
    while True:
        more = {(a, d) for (a, b), (c, d) in itertools.product(found, found) if b == c}
        if more <= found:
            return found
        found |= more


def test_an_order_is_taken_as_it_is():
    order = LabelOrder.of(DEFAULT)

    assert LabelOrder.of(order) is order


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "must be text that names at least one label, got ''"),
        (" ; ", "names at least one label"),
        ("a, b", "must say of a label that it is better than another, got 'a', 'b' side by side"),
        ("a > b > a", "must not go in circles, got 'a' > 'b' > 'a'"),
        ("a > a", "must not go in circles, got 'a' > 'a'"),
        ("a > b; b > c; c > a", "must not go in circles"),
        ("a >", "must have labels between its marks, got 'a >'"),
        ("a,, b > c", "must have labels between its marks"),
        (5, "must be text that names at least one label, got int"),
    ],
)
def test_what_is_no_order_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        LabelOrder.of(spec)


def test_labels_may_be_held_to_those_that_exist():
    LabelOrder.of("a > b", known=["b", "a", "c"])

    with pytest.raises(InputError, match=r"must use labels that exist \('a', 'c'\), got 'b'"):
        LabelOrder.of("a > b", known=["a", "c"])


def test_a_label_that_is_not_in_the_order_is_better_than_nothing_known():
    with pytest.raises(InputError, match=r"`label` must be in the order \('a', 'b'\), got 'z'"):
        LabelOrder.of("a > b").better("z")


@pytest.mark.parametrize("behavior", ["hard_refuse", "soft_refuse", "comply"])
def test_the_five_default_classes_have_their_order(behavior):
    assert str(default_order(load_rubric("safety"), behavior)) == DEFAULT


def test_some_of_the_default_classes_keep_it():
    order = default_order(load_rubric("hard-refusal-example"), "hard_refuse")

    assert str(order) == "ideal > less_good > unacceptable"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("ideal", "fair", "bad"), "ideal > fair > bad"),
        (("bad", "fair", "ideal"), "ideal > fair > bad"),
        (("only",), "only"),
    ],
)
def test_other_classes_follow_where_ideal_stands(names, text):
    assert str(default_order(rubric_with(*names), "b")) == text


def test_classes_whose_goodness_nobody_says_are_not_guessed_at():
    with pytest.raises(InputError, match="must say which classes of 'b' are better than which"):
        default_order(rubric_with("good", "fair", "bad"), "b")


def test_an_unknown_behavior_is_refused():
    with pytest.raises(InputError, match="`behavior` must be in rubric"):
        default_order(load_rubric("safety"), "refuse")
