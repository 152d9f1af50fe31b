"""A file and a model in; a value out, or every mistake at once at its place."""

import datetime as dt
import json

import pytest

from voirdire.documents import (
    Document,
    Filled,
    Form,
    Line,
    Name,
    Number,
    document_from_text,
    read_document,
    write_json,
)
from voirdire.errors import InputError, RubricError


class Part(Form):
    size: Number
    note: Filled | None = None


class Whole(Form):
    name: Name
    title: Line
    parts: list[Part]
    by_name: dict[str, Part]
    made: dt.date | None = None


YAML = """\
name: mine
title: Mine
parts:
  - {size: 1}
  - {size: 2, note: two}
by_name:
  a: {size: 3}
"""
JSON = json.dumps(
    {
        "name": "mine",
        "title": "Mine",
        "parts": [{"size": 1}, {"size": 2, "note": "two"}],
        "by_name": {"a": {"size": 3}},
    },
    indent=2,
)
LAYOUTS = {"yaml": YAML, "json": JSON}


def problems(text, layout):
    document = document_from_text(text, source="f", what="a thing", layout=layout)
    with pytest.raises(RubricError) as caught:
        document.read_or_raise(Whole)
    return [(row.line, row.column, row.message) for row in caught.value.problems]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_that_is_right_is_a_value(tmp_path, layout):
    (tmp_path / "f").write_text(LAYOUTS[layout], encoding="utf-8")

    found = read_document(tmp_path / "f", what="a thing", layout=layout).read_or_raise(Whole)

    assert (found.name, [part.size for part in found.parts]) == ("mine", [1, 2])
    assert found.by_name["a"].size == 3


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_mistake_is_told_in_yaml_at_its_line_and_column(layout):
    text = LAYOUTS[layout].replace("title", "titlee").replace("3}", "x: 3}")
    for right, wrong in {'"size": 1': '"size": "1"', "size: 1": "size: '1'"}.items():
        text = text.replace(right, wrong)
    for right, wrong in {'"note": "two"': '"note": ""', "note: two": "note: ''"}.items():
        text = text.replace(right, wrong)
    text = text.replace('"size": 3', '"sizze": 3').replace("{size: x: 3}", "{sizze: 3}")

    found = problems(text, layout)

    messages = [
        "a thing has no key 'titlee'. Did you mean `title`?",
        "`parts.size` must be a number, got '1'.",
        "`parts.note` must not be empty, got ''.",
        "`by_name.a` has no key 'sizze'. Did you mean `size`?",
    ]
    places = [(2, 1), (4, 12), (5, 21), (7, 7)] if layout == "yaml" else [(None, None)] * 4
    assert [row[:2] for row in found] == places
    assert {row[2] for row in found} == set(messages)
    assert layout == "json" or [row[2] for row in found] == messages


def test_a_key_that_is_missing_is_told_at_what_lacks_it():
    text = JSON.replace('"size": 1', "")

    assert problems(text, "json") == [
        (None, None, "an entry of `parts` must have the key `size`. Add it.")
    ]


def test_a_rule_that_has_no_words_is_still_a_rule():
    assert problems(YAML + "made: 7.5\n", "yaml") == [
        (8, 7, "`made` must be of another form, got the number 7.5.")
    ]


def test_what_came_from_a_server_has_no_lines():
    document = Document({"name": "a/b"}, source="http://x", what="a thing")

    with pytest.raises(RubricError, match=r"^http://x: `name` must be letters") as caught:
        document.read_or_raise(Whole)

    assert {row.line for row in caught.value.problems} == {None}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "f: x must hold keys and values, got an empty file"),
        ('{\n  "a": 1,\n  b: 2}', r"f:3:3: x must be a JSON object, got something else"),
        ("3", "got the number 3"),
        ('"x"', "got 'x'"),
        ("true", "got true"),
        ("[" * 70 + "]" * 70, "a list"),
        ('{"a":' * 70 + "1" + "}" * 70, "more than 64 levels: it is nested too deeply"),
        ('{"a": NaN}', "NaN is no number"),
    ],
)
def test_what_is_no_json_object_says_what_it_is(text, words):
    with pytest.raises(RubricError, match=words):
        document_from_text(text, source="f", what="x", layout="json")


def test_a_text_is_checked_before_anything_of_it_gets_into_a_message():
    text = 'a: ok\nb: {secret: "\n'

    with pytest.raises(RubricError) as caught:
        document_from_text(
            text,
            source="f",
            what="a thing",
            check_text=lambda found: [(found.index("secret"), "be without secrets.")],
        )

    assert str(caught.value) == "f:2:5: a thing must be without secrets."


def test_json_is_written_whole_and_reads_back(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")

    write_json(path, {"a": (1, float("nan")), "b": {"中", "é"}})

    assert json.loads(path.read_text(encoding="utf-8")) == {"a": [1, None], "b": ["é", "中"]}
    assert read_document(path, what="x", layout="json").get(("a", 0)) == 1
    with pytest.raises(InputError, match=r"none/x\.json: cannot be written \(No such file"):
        write_json(tmp_path / "none" / "x.json", {})
