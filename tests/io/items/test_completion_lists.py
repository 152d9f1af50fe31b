"""Rows that list several completions of a prompt: each is an item, under the id of the fit."""

import io
import json

import pytest

from voirdire.errors import NoDataError
from voirdire.io import read_items
from voirdire.rewards import read_comparisons

USER = {"role": "user", "content": "Hi"}
TOLD = [{"role": "assistant", "content": "Hello."}]
RANKED = {"id": "r", "prompt": "Hi", "ranked": ["Hello.", ["Yes?", TOLD], {"response": "No."}]}


def read(*rows, **settings):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return read_items(io.BytesIO(text.encode()), **settings)


def test_a_ranked_list_is_an_item_for_each_completion_ties_among_them():
    table = read({**RANKED, "model": "m"})

    assert [(item.id, item.response) for item in table.items] == [
        ("r:0", "Hello."),
        ("r:1", "Yes?"),
        ("r:2", "Hello."),
        ("r:3", "No."),
    ]
    assert {item.group for item in table.items} == {"r"}
    assert {item.prompt[0].content for item in table.items} == {"Hi"}
    assert table.items[0].metadata == {"model": "m"}


def test_the_fit_finds_every_item_by_the_same_id():
    rows = [RANKED, {"prompt": "Bye", "chosen": "Bye.", "rejected": "No."}]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()

    items = read_items(io.BytesIO(text)).items
    compared = read_comparisons(io.BytesIO(text), behavior="comply")

    assert {item.id for item in compared.items} <= {item.id for item in items}
    assert {item.id for item in items} - {item.id for item in compared.items} == {
        "r:2",  # the text of r:0 again
    }


def test_a_declared_column_holds_the_list_even_beside_a_response():
    row = {"prompt": "Hi", "response": "unused", "answers": ["a", "b"], "ranked": 3}

    assert [item.response for item in read(row).items] == ["unused"]
    assert [item.response for item in read(row, columns={"ranked": "answers"}).items] == ["a", "b"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"ranked": ["alone"]}, "a ranked list must hold at least two completions"),
        ({"ranked": "text"}, "a ranked list must hold at least two completions"),
        (["Hi", "x"], r"row must be a JSON object, got \["),
    ],
)
def test_what_is_no_list_of_completions_is_set_aside(row, reason):
    with pytest.raises(NoDataError, match=reason):
        read(row)


def test_ids_of_completions_must_be_unique_too():
    with pytest.raises(ValueError, match="item ids must be unique, got 'r:1' again"):
        read(RANKED, {"id": "r:1", "response": "again"})
