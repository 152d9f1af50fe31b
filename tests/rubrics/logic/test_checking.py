"""`check_logic`: every place in a rubric where an expression can go wrong."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from rubrics.logic.class_oracle import demand, make_rubric
from voirdire.errors import LogicError
from voirdire.rubrics import Behavior, CompletionClass, Question, Rubric, check_logic, load_rubric

FINE = {"x": "a", "rest": "otherwise"}


def with_behaviors(rubric, conditions):
    """One behavior per condition of its only class but ``rest``."""
    behaviors = tuple(
        Behavior(
            id=f"b{k}",
            demands={},
            classes=(
                CompletionClass(name="x", when=row),
                CompletionClass(name="rest", when="otherwise"),
            ),
        )
        for k, row in enumerate(conditions)
    )
    return replace(rubric, behaviors=behaviors)


@pytest.mark.parametrize("name", ["safety", "toxicity", "helpfulness", "hard-refusal-example"])
def test_the_built_in_rubrics_are_sound(name):
    check_logic(load_rubric(name))


@pytest.mark.parametrize(
    ("rubric", "where", "message"),
    [
        (
            make_rubric("ab", expressions={"e": "a and"}),
            ("expressions", "e"),
            "^expressions > e: column 6: expected a name",
        ),
        (
            make_rubric("ab", expressions={"e": "a and f", "f": "e"}),
            ("expressions", "e"),
            "lead back to itself, got e → f → e",
        ),
        (
            make_rubric("ab", expressions={"a": "b"}),
            ("expressions", "a"),
            "a key of `expressions` must not be a question, got 'a'",
        ),
        (
            make_rubric("ab", classes={"x": "a or bb", "rest": "otherwise"}),
            ("behaviors", "b", "classes", "x"),
            "^behaviors > b > classes > x: column 6: .* got 'bb'. Did you mean `b`?",
        ),
        (
            make_rubric("ab", classes={"x": "a"}),
            ("behaviors", "b", "classes"),
            "none that holds where a is false. Give the last class the condition `otherwise`",
        ),
        (
            make_rubric("ab", classes={"x": "false"}),
            ("behaviors", "b", "classes"),
            "got none that ever holds",
        ),
        (
            make_rubric("ab", classes={"x": "otherwise", "y": "a"}),
            ("behaviors", "b", "classes", "x"),
            "`otherwise` stands alone, as the condition of the last class",
        ),
        (
            make_rubric("ab", classes={}),
            ("behaviors", "b", "classes"),
            "at least one completion class",
        ),
        (
            make_rubric("ab", demands={"aa": "required"}, classes=FINE),
            ("behaviors", "b", "demands", "aa"),
            "a key of `demands` must be a question, got 'aa'. Did you mean `a`?",
        ),
        (
            make_rubric("ab", classes={"x": "a or b"}, rule="product"),
            ("behaviors", "b", "classes", "x"),
            "must be a conjunction, got `a or b`",
        ),
    ],
)
def test_what_has_no_meaning_is_placed(rubric, where, message):
    with pytest.raises(LogicError, match=message) as caught:
        check_logic(rubric)

    assert caught.value.where == where


def test_classes_have_different_names():
    rubric = make_rubric("ab", classes=FINE)
    rows = (*rubric.behaviors[0].classes[:1], *rubric.behaviors[0].classes)
    twice = replace(rubric, behaviors=(replace(rubric.behaviors[0], classes=rows),))

    with pytest.raises(LogicError, match="classes must have different names"):
        check_logic(twice)


def test_a_demand_is_about_a_boolean_question():
    scale = Question(id="quality", kind="scale", text={"en": "?"}, minimum=1, maximum=5)
    made = make_rubric("ab", classes=FINE)
    behavior = replace(made.behaviors[0], demands={"quality": demand("required")})
    rubric = replace(made, questions=(*made.questions, scale), behaviors=(behavior,))

    with pytest.raises(LogicError, match="must be a boolean question, got 'quality', a scale one"):
        check_logic(rubric)


def test_an_expression_that_nothing_uses_is_checked():
    rubric = make_rubric("ab", expressions={"used": "a", "unused": "b and c"}, classes=FINE)

    with pytest.raises(LogicError, match="got 'c'"):
        check_logic(rubric)


def test_groups_in_a_named_expression_mean_the_demands_of_each_behavior():
    rubric = make_rubric(
        "ab", demands={"a": "required"}, expressions={"e": "any(required)"}, classes={"x": "e"}
    )

    check_logic(replace(rubric, behaviors=()))
    with pytest.raises(LogicError, match="none that holds where a is false"):
        check_logic(rubric)


def test_a_circle_that_only_two_unused_names_make_is_found():
    rubric = make_rubric("a", expressions={"top": "a", "x": "y and a", "y": "x"}, classes=FINE)

    with pytest.raises(LogicError, match="x → y → x"):
        check_logic(rubric)


def chain(length, last):
    return {f"e{k}": f"e{k + 1} and e{k + 1}" for k in range(length)} | {f"e{length}": last}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("rubric", "n_errors"),
    [
        # 2^3000 leaves, were each name replaced by its text.
        (make_rubric("a", expressions=chain(3_000, "a")), 0),
        # Many behaviors over one expression that takes work: there is one budget for all.
        (
            with_behaviors(
                make_rubric(
                    [f"p{k}" for k in range(40)],
                    expressions={
                        "e": " or ".join(f"(p{k} and p{(7 * k) % 40})" for k in range(40))
                    },
                ),
                ["e"] * 500,
            ),
            1,
        ),
        (make_rubric(["p"], expressions={"e": "(" * 4_000 + "p"}), 1),
    ],
    ids=["chain", "behaviors", "brackets"],
)
def test_hostile_rubrics_end(rubric, n_errors):
    with pytest.raises(LogicError) if n_errors else nullcontext():
        check_logic(rubric)


def test_a_sound_rubric_of_an_unusual_form_is_accepted():
    rubric = Rubric(
        name="x",
        version="1",
        questions=make_rubric("ab").questions,
        behaviors=(
            Behavior(id="none", demands={}, classes=(CompletionClass(name="x", when="true"),)),
        ),
    )

    check_logic(rubric)
