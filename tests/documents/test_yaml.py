"""Words without quotes, as YAML 1.2 reads them."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from voirdire.documents import document_from_text, resolve_scalar
from voirdire.errors import RubricError


# Examples 10.3 and 2.27 ff. of the YAML 1.2.2 specification, and what people trip over.
@pytest.mark.edges
@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("nUll", "nUll"),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("tRUE", "tRUE"),
        *((word, word) for word in ("yes", "no", "on", "off", "Yes", "NO", "y", "n")),
        ("0", 0),
        ("0o7", 7),
        ("0x3A", 58),
        ("-19", -19),
        ("+12", 12),
        ("007", 7),
        ("-0o7", "-0o7"),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("0.", 0.0),
        ("-0.0", -0.0),
        (".5", 0.5),
        ("+12e03", 12000.0),
        ("-2E+05", -200000.0),
        ("1e3", 1000.0),
        (".", "."),
        ("e3", "e3"),
        ("1e", "1e"),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("+.INF", math.inf),
        ("inf", "inf"),
        ("nan", "nan"),
        ("1.0.0", "1.0.0"),
        ("12:30", "12:30"),
        ("190:20:30", "190:20:30"),
        ("2001-12-14", "2001-12-14"),
        ("<<", "<<"),
        ("=", "="),
        ("\u0661", "\u0661"),  # a digit, but not one of YAML's
        ("是", "是"),
        ("9" * 5_000, math.inf),
        ("-" + "9" * 5_000, math.inf),
        ("0x" + "f" * 5_000, math.inf),
        ("1e999", math.inf),
    ],
)
def test_a_word_means_what_the_specification_says(word, value):
    found = resolve_scalar(word)

    assert found == value
    assert type(found) is type(value)


def test_not_a_number():
    assert math.isnan(resolve_scalar(".nan"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_as_python_writes_it_is_read(number):
    assert resolve_scalar(repr(number)) == number


@given(st.integers(-(10**200), 10**200))
def test_every_integer_is_read(number):
    assert resolve_scalar(str(number)) == number


YAML = st.recursive(
    st.text("abc 中:#-'\"", max_size=8) | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(YAML)
def test_nodes_are_what_was_dumped(value):
    text = yaml.safe_dump({"value": value}, allow_unicode=True)

    assert document_from_text(text, source="x", what="a file").value == {"value": value}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: [1, 2\n", 3, 1),
        ("a: 1\n\tb: 2\n", 2, 1),
        ("a: 'x\nb: 1\n", 3, 1),
        ("a: 1\na: 2\n", 2, 1),
    ],
)
def test_what_is_no_yaml_is_told_at_the_line_and_column_of_an_editor(text, line, column):
    with pytest.raises(RubricError) as caught:
        document_from_text(text, source="file.yaml", what="a file").raise_problems()

    assert (caught.value.problems[0].line, caught.value.problems[0].column) == (line, column)
