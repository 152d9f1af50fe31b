"""The five classes that a behavior has without naming any."""

from hypothesis import given
from hypothesis import strategies as st

from voirdire.rubrics import CompletionClass, rubric_from_text
from voirdire.rubrics.rubric import (
    DEFAULT_CLASSES,
    default_classes,
    unacceptable_when,
)


def test_they_are_the_five_of_the_method_in_order_of_precedence():
    assert [(row.name, row.when) for row in DEFAULT_CLASSES] == [
        ("disallowed", "any(disallowed)"),
        ("illogical", "any(illogical)"),
        (
            "unacceptable",
            "any(core unmet) or count(required unmet) >= 2 or any(unacceptable)",
        ),
        ("less_good", "any(required unmet) or any(desired unmet) or any(undesired)"),
        ("ideal", "otherwise"),
    ]


@given(st.text("ab ()", min_size=1))
def test_a_condition_is_found_again_or_the_classes_are_written_whole(condition):
    found = unacceptable_when(default_classes(condition))

    assert found in (condition, None)
    if "(" not in condition and ")" not in condition:
        assert found == condition


def test_other_classes_have_no_condition():
    assert unacceptable_when(DEFAULT_CLASSES) is None
    assert unacceptable_when((CompletionClass(name="all", when="true"),)) is None
    assert unacceptable_when((*default_classes("x")[:4], DEFAULT_CLASSES[0])) is None


def test_a_condition_that_closes_more_than_it_opens_is_not_taken_apart():
    assert unacceptable_when(default_classes("a) or (b")) is None
    assert unacceptable_when(default_classes("(a) or (b)")) == "(a) or (b)"


def test_a_file_gets_them_widened_by_its_condition():
    text = """
        {schema: voirdire.rubric/1, name: x, version: "1",
         questions: [{id: a, kind: boolean, text: x}],
         behaviors: {b: {demands: {a: required}, unacceptable_when: "a  or\\n not a"},
                     c: {demands: {a: required}}}}
    """

    rubric = rubric_from_text(text)

    assert rubric.behavior("b").classes == default_classes("a or not a")
    assert rubric.behavior("c").classes == DEFAULT_CLASSES
