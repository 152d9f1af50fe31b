"""The grammar of expressions: what is read, what is refused, and with which words."""

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.logic.class_oracle import assignments, holds, text_of
from rubrics.logic.logic_strategies import expression_trees
from voirdire.errors import InputError, LogicError
from voirdire.rubrics import parse_expression, render_expression


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        ("  a\n ", "a", "b"),
        ("true", "(true)", "false"),
        ("not not a", "not (not a)", "a"),
        ("a and b or c", "(a and b) or c", "a and (b or c)"),
        ("a or b and c", "a or (b and c)", "(a or b) and c"),
        ("not a and b", "(not a) and b", "not (a and b)"),
        ("a and(b and c)", "a and (b and c)", "b and (a and c)"),
        ("any(core unmet)", "any( core  unmet )", "any(core met)"),
        ("all ( required )", "all(required)", "any(required)"),
        ("count(desired met)!=3", "count( desired met ) != 3", "count(desired met) == 3"),
        ("a\n  or\t b", "a or b", "a and b"),
        ("anything_2", "anything_2", "any_thing_2"),
    ],
)
def test_an_expression_is_read_as_the_grammar_says(text, same, other):
    assert parse_expression(text) == parse_expression(same)
    assert parse_expression(text) != parse_expression(other)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a name, .* got the end"),
        ("   ", 1, "got the end"),
        ("a xor b", 3, "`and`, `or` or `not` beside one, got 'xor'. Did you mean `or`?"),
        ("a amd b", 3, "got 'amd'. Did you mean `and`?"),
        ("a b", 3, "expected a name, or `and`, `or` or `not` beside one, got 'b'"),
        ("a and", 6, "expected a name, .* got the end"),
        ("and a", 1, "expected a name, .* got 'and'"),
        ("a or or b", 6, "got 'or'"),
        ("(a or b", 1, "'\\(' was never closed"),
        ("a)", 2, "unmatched '\\)'"),
        ("(a b) or c", 2, "got 'a b'"),
        ("()", 1, "expected a name, .* got '\\(\\)'"),
        ("nota a", 6, "got 'a'"),
        ("Apology", 1, "names have lower-case letters, .* got 'Apology'"),
        ("NOT a", 1, "got 'NOT'. Did you mean `not`?"),
        ("道歉", 1, "names have lower-case letters"),
        ("3 and a", 1, "expected a name, .* got '3'"),
        ("a == b", 1, "only `count\\(...\\)` is compared"),
        ("required", 1, "a group stands inside `any\\(required\\)`"),
        ("(core unmet)", 2, "expected a name, .* got 'core unmet'"),
        ("a and met", 7, "expected a name, .* got 'met'"),
        ("otherwise", 1, "`otherwise` stands alone"),
        ("any", 1, "expected a name, .* got 'any'"),
        ("any required", 5, "got 'required'"),
        ("any(require)", 5, "expected a group .* got 'require'. Did you mean `required`?"),
        ("any(apology)", 5, "expected a group \\(core, required, .* got 'apology'"),
        ("all(core unmeet)", 5, "got 'core unmeet'"),
        ("all(allowed met)", 5, "`allowed` demands nothing"),
        ("a is b", 3, "got 'is'"),
        ("any(core, desired)", 9, "expected a name, a whole number, .* got ','"),
        ("count(required)", 1, "is a number; expected a comparison such as `>=`"),
        ("count(required) = 2", 17, "expected a name, a whole number.*, got '='"),
        ("count(required) >= two", 1, "is compared, with one whole number"),
        ("count(required) >= 1.5", 21, "got '.'"),
        ("count(required) >= -1", 20, "got '-'"),
        ("count(required) >= ²", 20, "got '²'"),
        ("count(required) >= 1000000", 20, "at most 6 digits, got '1000000'"),
        ("count(required) >= 1 >= 1", 1, "with one whole number"),
        ("a || b", 3, "expected a name, a whole number.*, got '\\|'"),
        ("b.ideal", 2, "got '\\.'"),
        ("__import__('os')", 1, "got '__import__'"),
        ("[a for a in b]", 1, "got '\\['"),
        ("a\x00b", 2, r"got '.*x00'"),
        ("(" * 9_000, 201, "too many nested parentheses"),
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
    deepest = "not " * 50 + "a"

    assert render_expression(parse_expression(deepest)) == deepest
    for text in (
        f"not {deepest}",
        "not " * 2_499 + "a",
        ("(" + "not " * 12) * 180 + "a" + ")" * 180,
    ):
        with pytest.raises(LogicError, match="nested at most 50 deep"):
            parse_expression(text)


def test_words_of_python_are_names():
    words = [word for word in keyword.kwlist if word.islower() and word not in ("and", "or", "not")]

    leaves = parse_expression(f"not ({' or '.join(words)})").operand.operands

    assert [leaf.id for leaf in leaves] == words


def test_length_is_bounded():
    text = "a" * 10_000

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
