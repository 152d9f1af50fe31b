"""The grammar of expressions: what is read, what is refused, and with which words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.logic.class_oracle import assignments, holds, text_of
from rubrics.logic.logic_strategies import expression_trees
from voirdire.errors import InputError, LogicError
from voirdire.rubrics.logic import parse_expression, render_expression
from voirdire.rubrics.logic.expressions import (
    And,
    Constant,
    Counted,
    Group,
    Name,
    Not,
    Or,
    Quantified,
)
from voirdire.rubrics.logic.parsing import MAX_CHARACTERS, MAX_DEPTH

A, B, C = (Name(id=name) for name in "abc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ("  a\n ", A),
        ("true", Constant(value=True)),
        ("false", Constant(value=False)),
        ("not a", Not(operand=A)),
        ("not not a", Not(operand=Not(operand=A))),
        ("a and b or c", Or(operands=(And(operands=(A, B)), C))),
        ("a or b and c", Or(operands=(A, And(operands=(B, C))))),
        ("not a and b", And(operands=(Not(operand=A), B))),
        ("(a or b) and c", And(operands=(Or(operands=(A, B)), C))),
        ("a and(b and c)", And(operands=(A, And(operands=(B, C))))),
        ("any(core unmet)", Quantified(quantifier="any", group=Group(word="core", state="unmet"))),
        ("all ( required )", Quantified(quantifier="all", group=Group(word="required"))),
        (
            "count(desired met)!=3",
            Counted(group=Group(word="desired", state="met"), comparison="!=", number=3),
        ),
        ("anything_2", Name(id="anything_2")),
    ],
)
def test_an_expression_is_read_as_the_grammar_says(text, expected):
    assert parse_expression(text) == expected


def test_a_name_knows_its_column():
    assert parse_expression("not  apology").operand.column == 6


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a name, `not`, `\\(`, `any`, `all` or `count`, got the end"),
        ("   ", 1, "got the end"),
        ("a xor b", 3, "expected `and`, `or` or the end, got 'xor'. Did you mean `or`?"),
        ("a amd b", 3, "got 'amd'. Did you mean `and`?"),
        ("a b", 3, "expected `and`, `or` or the end, got 'b'"),
        ("a and", 6, "expected a name, .* got the end"),
        ("and a", 1, "expected a name, .* got 'and'"),
        ("a or or b", 6, "got 'or'"),
        ("(a or b", 8, "expected `and`, `or` or `\\)`, got the end"),
        ("a)", 2, "expected the end, as no `\\(` is open, got '\\)'"),
        ("()", 2, "got '\\)'"),
        ("nota a", 6, "expected `and`, `or` or the end, got 'a'"),
        ("Apology", 1, "names have lower-case letters, .* got 'Apology'"),
        ("NOT a", 1, "got 'NOT'. Did you mean `not`?"),
        ("道歉", 1, "names have lower-case letters"),
        ("3 and a", 1, "expected a name, .* got '3'"),
        ("a == b", 3, "only `count\\(...\\)` is compared"),
        ("required", 1, "a group stands inside `any\\(required\\)`"),
        ("a and met", 7, "expected a name, .* got 'met'"),
        ("otherwise", 1, "`otherwise` stands alone"),
        ("any", 4, "expected `\\(` and a group of demands, got the end"),
        ("any required", 5, "expected `\\(` and a group of demands, got 'required'"),
        ("any(require)", 5, "expected a group .* got 'require'. Did you mean `required`?"),
        ("any(apology)", 5, "expected a group \\(core, required, .* got 'apology'"),
        ("all(core unmeet)", 10, "expected `met`, `unmet` or `\\)`, got 'unmeet'. Did you mean"),
        ("all(allowed met)", 13, "`allowed` demands nothing"),
        ("any(core, desired)", 9, "expected a name, a number, .* got ','"),
        ("count(required)", 16, "is a number; expected a comparison such as `>=`, got the end"),
        ("count(required) = 2", 17, "equality is `==`, got '='"),
        ("count(required) >= two", 20, "expected a whole number of at most 6 digits, got 'two'"),
        ("count(required) >= 1.5", 20, "got '1.5'"),
        ("count(required) >= -1", 20, "got '-'"),
        ("count(required) >= ²", 20, "got '²'"),
        ("count(required) >= 1000000", 20, "at most 6 digits, got '1000000'"),
        ("count(required) >= 1 >= 1", 22, "only `count\\(...\\)` is compared"),
        ("!a", 1, "negation is `not`, got '!'"),
        ("~a", 1, "negation is `not`, got '~'"),
        ("a & b", 3, "conjunction is `and`, got '&'"),
        ("a || b", 3, "disjunction is `or`, got '\\|'"),
        ("b.ideal", 2, "got '\\.'"),
        ("__import__('os')", 12, 'got "\'"'),
        ("a\x00b", 2, r"got '.*x00'"),
    ],
)
def test_a_malformed_expression_is_refused_by_column_and_word(text, column, message):
    with pytest.raises(LogicError, match=message) as caught:
        parse_expression(text)

    assert caught.value.column == column
    assert str(caught.value).startswith(f"column {column}: ")
    assert caught.value.where == ()


def test_what_is_wrong_with_an_expression_is_a_wrong_input():
    assert issubclass(LogicError, InputError)


def test_an_expression_is_text():
    with pytest.raises(LogicError, match="must be text, got int"):
        parse_expression(3)


def test_depth_is_bounded():
    deepest = "(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH

    assert parse_expression(deepest) == A
    for text in (f"({deepest})", "not " * (MAX_DEPTH + 1) + "a", "(" * 9_000):
        with pytest.raises(LogicError, match="nested at most 50 deep"):
            parse_expression(text)


def test_length_is_bounded():
    text = "a" * MAX_CHARACTERS

    with pytest.raises(LogicError, match="at most 10,000 characters, got 10,001"):
        parse_expression(text + "a")


@given(st.text(alphabet="ab ()01<>=!.notardcueyl_\n道", max_size=30) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text):
    try:
        expression = parse_expression(text)
    except LogicError:
        return
    assert parse_expression(render_expression(expression)) == expression


@given(expression_trees(["a", "b", "c"]))
def test_rendered_expressions_read_back(tree):
    expression = parse_expression(text_of(tree))

    assert parse_expression(render_expression(expression)) == expression


@given(expression_trees(["a", "b", "c"], groups=False))
def test_python_reads_a_rendered_expression_in_the_same_way(tree):
    # `not`, `and`, `or` bind in Python as they do here: a second parser, at no cost.
    rendered = render_expression(parse_expression(text_of(tree)))
    python = compile(rendered, "expression", "eval")

    for truth in assignments(["a", "b", "c"]):
        constants = {"true": True, "false": False}

        assert eval(python, {}, truth | constants) == holds(tree, truth, demands={}, named={})
