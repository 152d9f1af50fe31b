"""What a page is made from, and what is said about everything else."""

import json
import re

import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.reporting import html_report
from voirdire.studies import Examination


def changed(content, **keys):
    [row] = content["examinations"]
    return content | {"examinations": [row | keys]}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"epsilon": 3}, r"\$\.examinations\[0\]\.epsilon must be a number below 1, got 3\."),
        ({"epsilon": "x"}, r"\$\.examinations\[0\]\.epsilon must be a number, got 'x'\."),
        ({"epsilon": None}, r"epsilon must be a number, got null\."),
        ({"outcome": "fine"}, r"\[0\]\.outcome must be one of the words .*, got 'fine'\."),
        ({"winning_rate": 75}, r"winning_rate must be a number of at most 1, got 75\."),
        ({"n_items": -1}, r"n_items must be a whole number of at least 0, got -1\."),
        ({"n_items": 1.5}, r"n_items must be a whole number, got 1\.5\."),
        ({"annotators": {}}, r"annotators must be an array, got an object of 0\."),
        ({"judge": ["x"]}, r"judge must be text, got an array of 1\."),
        ({"passed": 1}, r"passed must be true or false, got 1\."),
        ({"cautions": [{"code": "x"}]}, r"cautions\[0\] must have the key `sentence`, got none\."),
    ],
)
def test_a_wrong_value_is_named_with_its_place(make_row, make_content, keys, message):
    content = changed(make_content(make_row()), **keys)

    with pytest.raises(InputError, match=rf"^x\.json: .*{message}"):
        html_report(content, source="x.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"report\.json:1:1: must be JSON, got the end"),
        ('{"examinations": [}', r"report\.json:1:19: must be JSON, got '}'"),
        ("[1, 2]", r"must be what `voirdire examine --json` prints, got an array of 2"),
        ("null", r"must be what .* prints, got null"),
        ("{}", r"with a key `examinations`, got an object with no keys"),
        ('{"rows": 1}', r"with a key `examinations`, got an object with 'rows'"),
        ("[" * 100_000, r"must be of sensible depth"),
        ("9" * 5_000, r"must be of sensible depth and numbers"),
        (b"\xff{}", r"must be JSON in UTF-8, got byte 0xff"),
        ('{"examinations": [{}]}', r"\$\.examinations\[0\] must have the key `question`, got none"),
        ('{"examinations": 7}', r"\$\.examinations must be an array, got 7"),
    ],
)
def test_another_file_is_refused_in_one_line(text, message):
    with pytest.raises(InputError, match=message) as caught:
        html_report(text)

    assert "\n" not in str(caught.value)


def test_no_examination_is_no_data():
    with pytest.raises(NoDataError, match="must hold at least one examination, got none"):
        html_report('{"examinations": []}')


def test_a_file_that_is_too_long_is_not_parsed():
    with pytest.raises(InputError, match="must be JSON of at most 256 MiB"):
        html_report(bytes(256 * 2**20 + 1))


def test_something_else_is_no_content():
    with pytest.raises(InputError, match="`content` must be the JSON of an examination, got 7"):
        html_report(7)


@pytest.mark.edges
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "null"])
def test_a_figure_may_be_undefined_however_it_is_written(make_row, make_content, page_text, word):
    text = json.dumps(make_content(make_row(winning_rate=0.123456)))

    page = page_text(text.replace("0.123456", word))

    assert "gpt – ✓ passed .91" in page


@pytest.mark.parametrize(
    ("place", "key"),
    [("", "passed"), (".annotators[0]", "rejected"), (".controls[0]", "passed")],
)
def test_what_is_true_or_false_must_be_said(make_row, make_content, place, key):
    row = json.loads(json.dumps(make_row()))
    part = place.strip(".").partition("[")[0]
    del (row[part][0] if part else row)[key]
    where = re.escape(f"$.examinations[0]{place}")

    with pytest.raises(InputError, match=rf"{where} must have the key `{key}`, got none"):
        html_report(make_content(row))


def test_newer_json_has_more_keys(make_row, make_content):
    content = make_content(make_row(from_the_future={"a": 1}), more=[1])

    assert "gpt" in html_report(content)


def test_text_bytes_dict_and_examination_give_the_same_page(make_row, make_content):
    content = make_content(make_row())
    text = json.dumps(content)

    pages = {
        html_report(each)
        for each in (content, text, text.encode(), b"\xef\xbb\xbf" + text.encode())
    }

    assert len(pages) == 1


def test_an_examination_is_taken_as_it_is():
    import voirdire

    judge = {item: item % 2 for item in range(60)}
    humans = {
        name: {item: 1 - x if item % 12 == slip else x for item, x in judge.items()}
        for slip, name in enumerate(["ann", "bob", "eve"])
    }
    result = voirdire.alt_test(judge, humans)

    page = html_report(Examination(results=(result,)))

    assert "may replace an annotator" in page
