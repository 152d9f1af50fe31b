"""What a page is made from, and what is said about everything else."""

import json

import pytest

from examined_reward import examined_reward
from made_probing import probe, question, report
from made_results import made_gold, made_power, made_rates
from voirdire.errors import InputError
from voirdire.reporting import from_json, to_json
from voirdire.studies import Examination


@pytest.fixture(scope="module")
def content(make_examination):
    return json.loads(to_json(make_examination({"gpt": 0.05}, epsilon=0.2)))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"epsilon": 3}, r"\$\.examinations\[0\]\.epsilon must be .*: Expected 'float' < 1\.0\."),
        ({"epsilon": "x"}, r"\[0\]\.epsilon must be .*: Expected 'float', got 'str'\."),
        ({"outcome": "fine"}, r"\[0\]\.outcome must be .*: Invalid enum value 'fine'\."),
        ({"n_items": 1.5}, r"n_items must be .*: Expected 'int', got 'float'\."),
        ({"annotators": {}}, r"annotators must be .*: Expected 'array', got 'object'\."),
        ({"judge": ["x"]}, r"judge must be .*: Expected 'str', got 'array'\."),
    ],
)
def test_a_wrong_value_is_named_with_its_place(content, keys, message):
    rows = [content["examinations"][0] | keys]

    with pytest.raises(InputError, match=rf"^x\.json: .*{message}"):
        from_json(content | {"examinations": rows}, source="x.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"report\.json: must be JSON .*: Expecting value: line 1 column 1"),
        (
            '{"n_items": 1, "n_items": 2}',
            "wrote: keys of an object must differ, got 'n_items' twice",
        ),
        ("[1, 2]", r"must be a result that voirdire wrote, got \[1, 2\]"),
        ("{}", r"Object missing required field 'examinations'"),
        ("[" * 100_000, r"must be JSON that voirdire wrote: maximum recursion depth"),
        (b"\xff{}", r": 'utf-8' codec can't decode byte 0xff"),
        ('{"examinations": [{}]}', r"\$\.examinations\[0\] .* required field 'question'"),
        (bytes(256 * 2**20 + 1), "must be JSON of at most 256 MiB"),
        (7, "must be a result that voirdire wrote, got 7"),
    ],
)
def test_another_file_is_refused_in_one_line(text, message):
    with pytest.raises(InputError, match=message) as caught:
        from_json(text, Examination, source="report.json")

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('"n_items": 1e400', r"n_items must be .*: Expected 'int', got 'null'"),
        ('"n_items": ' + "9" * 5_000, "integer string conversion"),
        ('"n_items": 60, "older": 1', r"\$\.examinations\[0\] .* unknown field 'older'"),
    ],
)
def test_keys_and_numbers_that_nobody_writes_are_refused_in_one_line(content, written, message):
    text = json.dumps(content).replace('"n_items": 60', written, 1)

    with pytest.raises(InputError, match=message) as caught:
        from_json(text)

    assert "\n" not in str(caught.value)


def test_every_result_is_read_back_as_it_was(make_examination):
    examination = make_examination({"gpt": 0.05, "poor": 0.4}, epsilon=[0.1, 0.2], failures=3)
    probed = report(probes=(probe("length", question("label", 0.1)),))

    for result in (examination, examination.results[0], made_gold(), made_rates(), made_power(),
                   examined_reward(), probed):  # fmt: skip
        text = to_json(result)
        assert type(from_json(text)) is type(result)
        assert to_json(from_json(text)) == text
        assert to_json(from_json(json.loads(text), type(result))) == text
