"""Names and groups: what is looked up, what leads in a circle, what nobody knows."""

import numpy as np
import pytest

from rubrics.logic.class_oracle import make_rubric
from voirdire.errors import LogicError
from voirdire.rubrics import Question, Rubric, expression_probability

PLACE = ("expression",)


def probability(text, rubric, *, behavior=None, unknown=()):
    """Where everything is certain but what is unknown."""
    names = rubric.propositions
    row = [np.nan if name in unknown else 1.0 for name in names]
    found = expression_probability(rubric, text, behavior=behavior, probabilities=[row])
    return found.item()


def depends_on(text, rubric, *, behavior=None):
    return {
        name
        for name in rubric.propositions
        if np.isnan(probability(text, rubric, behavior=behavior, unknown={name}))
    }


def test_named_expressions_may_need_each_other_in_any_order():
    rubric = make_rubric("abcd", expressions={"top": "mid and a", "mid": "low or b", "low": "c"})

    assert depends_on("top or low", rubric) == {"a", "b", "c"}


def test_only_what_is_needed_is_followed():
    rubric = make_rubric("ab", expressions={"used": "a", "broken": "a xor b"})

    assert probability("used", rubric) == 1


def test_groups_are_the_demands_of_the_behavior():
    demands = {"a": "required", "b": "undesired", "c": "core required false"}
    rubric = make_rubric("abcd", demands=demands, classes={"only": "otherwise"})

    assert depends_on("any(required)", rubric, behavior="b") == {"a", "c"}
    assert depends_on("any(core)", rubric, behavior="b") == {"c"}
    assert depends_on("any(illogical)", rubric, behavior="b") == set()


@pytest.mark.parametrize(
    ("expressions", "circle"),
    [
        ({"a": "a"}, "a → a"),
        ({"a": "b and p", "b": "not a"}, "a → b → a"),
        ({"a": "b", "b": "c", "c": "p or b"}, "b → c → b"),
    ],
)
def test_a_circle_is_named(expressions, circle):
    rubric = make_rubric(["p"], expressions=expressions)

    with pytest.raises(LogicError, match=f"lead back to itself, got {circle}") as caught:
        probability("a", rubric)

    assert caught.value.where == ("expressions", circle[0])


def test_a_name_used_twice_is_no_circle():
    rubric = make_rubric(["p"], expressions={"a": "b and c", "b": "d", "c": "d or b", "d": "p"})

    assert probability("a or b", rubric) == 1


def test_a_long_circle_is_shortened():
    expressions = {f"e{k}": f"e{(k + 1) % 3_000}" for k in range(3_000)}
    rubric = make_rubric(["p"], expressions=expressions)

    with pytest.raises(
        LogicError, match="got e0 → e1 → e2 → e3 → … → e2998 → e2999 → e0"
    ) as caught:
        probability("e0", rubric)

    assert len(str(caught.value)) < 200


def test_a_long_chain_needs_no_recursion():
    expressions = {f"e{k}": f"e{k + 1}" for k in range(3_000)} | {"e3000": "p"}

    assert depends_on("e0", make_rubric(["p"], expressions=expressions)) == {"p"}


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("apology and judgment", 13, "got 'judgment'. Did you mean `judgement`"),
        ("safe_refusl", 1, "got 'safe_refusl'. Did you mean `safe_refusal`"),
        ("zzz", 1, "expected a proposition or a named expression, got 'zzz'.$"),
        ("not quality", 5, "`quality` is a scale question; expressions are over boolean ones"),
        ("a" * 90, 1, "got 'a+…'"),
    ],
)
def test_an_unknown_name_is_shown_with_the_nearest_one(text, column, message):
    made = make_rubric(["apology", "judgement"], expressions={"safe_refusal": "apology"})
    quality = Question(id="quality", kind="scale", text={"en": "?"}, minimum=1, maximum=5)
    rubric = Rubric(
        name="x",
        version="1",
        questions=(*made.questions, quality),
        expressions=made.expressions,
    )

    with pytest.raises(LogicError, match=message) as caught:
        probability(text, rubric)

    assert (caught.value.where, caught.value.column) == (PLACE, column)


def test_what_is_wrong_in_a_named_expression_is_placed_there():
    rubric = make_rubric(["a"], expressions={"outer": "inner", "inner": "a and"})

    with pytest.raises(LogicError, match=r"^expressions > inner: column 6: expected") as caught:
        probability("outer", rubric)

    assert caught.value.where == ("expressions", "inner")


def test_a_group_needs_a_behavior():
    rubric = make_rubric(["a"], expressions={"inner": "a or any(undesired)"})

    with pytest.raises(LogicError, match="group `undesired` needs a behavior") as caught:
        probability("inner", rubric)

    assert (caught.value.where, caught.value.column) == (("expressions", "inner"), 10)


def test_the_number_of_propositions_is_bounded():
    names = [f"p{k}" for k in range(257)]

    assert probability(" or ".join(names[:256]), make_rubric(names)) == 1
    with pytest.raises(LogicError, match="at most 256 propositions may be depended on, got 257"):
        probability(" or ".join(names), make_rubric(names))
