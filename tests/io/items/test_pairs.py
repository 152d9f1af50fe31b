"""Rows with two responses to one prompt are one item."""

import io
import json

import msgspec
import polars as pl
import pytest

from voirdire.errors import InputError
from voirdire.io import items_from_frame, read_items
from voirdire.records import Item, Message

USER = {"role": "user", "content": "Hi"}
HELLO = {"role": "assistant", "content": "Hello."}
GO = {"role": "assistant", "content": "Go."}
LATER = [{"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Bye"}]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"prompt": "Hi", "response": "Hello.", "other": "Go."}, {}),
        ({"prompt": "Hi", "response_a": "Hello.", "response_b": "Go."}, {}),
        ({"prompt": [USER], "response_a": HELLO, "response_b": [GO]}, {}),
        ({"prompt": "Hi", "response_a": HELLO, "response_b": "Go."}, {}),
        ({"messages": [USER], "response_a": "Hello.", "response_b": "Go."}, {}),
        # whole conversations, and one of them with a text beside it
        ({"response_a": [USER, HELLO], "response_b": [USER, GO]}, {}),
        ({"response_a": [USER, HELLO], "response_b": "Go."}, {}),
        ({"response": "Hello.", "other": [USER, GO]}, {}),
        ({"response": "Hello.", "other": "Go."}, {"prompt": []}),
        (
            {"prompt": "Hi", "response": "Hello.", "other": "Go.", "response_b": "x", "output": 1},
            {"metadata": {"response_b": "x", "output": 1}},
        ),
        (
            {"prompt": "Hi", "response_a": "Hello.", "response_b": "Go.", "other": "x",
             "chosen": "a", "answer": "b", "group": "g", "behavior": "comply", "winner": "A"},
            {"group": "g", "behavior": "comply",
             "metadata": {"other": "x", "chosen": "a", "answer": "b", "winner": "A"}},
        ),
    ],
)  # fmt: skip
def test_a_row_of_two_responses_is_one_item(read_rows, item, row, expected):
    table = read_rows(row)

    assert table.items == (item("Hello.", other="Go.", **expected),)
    assert table.dropped == ()


@pytest.mark.parametrize(
    ("row", "metadata"),
    [
        ({"prompt": "Hi", "response": "Hello.", "response_b": "Go."}, {"response_b": "Go."}),
        ({"prompt": "Hi", "completion": "Hello.", "other": "x"}, {"other": "x"}),
        ({"prompt": "Hi", "output": "Hello.", "other": "x"}, {"other": "x"}),
        ({"messages": [USER, HELLO], "other": "x"}, {"other": "x"}),
        ({"prompt": "Hi", "response": "Hello.", "other": None}, {}),
    ],
)
def test_a_row_of_one_response_stays_an_item_with_one(read_rows, item, row, metadata):
    table = read_rows(row)

    assert table.items == (item("Hello.", metadata=metadata),)


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"prompt": "Hi", "a": "Hello.", "b": "Go."}, {"response": "a", "other": "b"}),
        ({"prompt": "Hi", "response": "Hello.", "b": "Go."}, {"other": "b"}),
        ({"prompt": "Hi", "completion": "Hello.", "b": "Go."}, {"other": "b"}),
        ({"prompt": "Hi", "output": "Hello.", "b": "Go."}, {"other": "b"}),
        ({"prompt": "Hi", "response_a": "Hello.", "b": "Go."}, {"other": "b"}),
        ({"messages": [USER, HELLO], "b": "Go."}, {"other": "b"}),
        ({"messages": [USER, HELLO], "b": [USER, GO]}, {"other": "b"}),
        ({"prompt": "Hi", "rejected": "Hello.", "chosen": "Go."},
         {"response": "rejected", "other": "chosen"}),
    ],
)  # fmt: skip
def test_columns_of_any_name_can_hold_the_two(read_rows, item, row, columns):
    table = read_rows(row, columns=columns)

    assert table.items == (item("Hello.", other="Go."),)


def test_a_column_given_for_a_response_leaves_other_names_alone(read_rows, item):
    row = {"prompt": "Hi", "reply": "Hello.", "other": "x", "response_a": "y", "response_b": "z"}

    table = read_rows(row, columns={"response": "reply"})

    metadata = {"other": "x", "response_a": "y", "response_b": "z"}
    assert table.items == (item("Hello.", metadata=metadata),)


@pytest.mark.parametrize(
    ("row", "columns", "column", "reason"),
    [
        ({"response_a": "x", "response_b": None}, {}, "response_b", "no response: a pair must"),
        ({"response_b": "x"}, {}, "response_a", "no response: a pair must have two"),
        ({"response": "x", "b": None}, {"other": "b"}, "b", "no response: a pair must have two"),
        ({"response": "x", "other": 5}, {}, "other", "response must be text or messages, got 5"),
        (
            {"response_a": [USER, HELLO], "response_b": [USER, *LATER, GO]},
            {},
            "response_b",
            "both responses must answer one prompt, got two conversations",
        ),
        (
            {"prompt": "Hi", "response_a": "x", "response_b": [{**USER, "content": "Ho"}, GO]},
            {},
            "response_b",
            "both responses must answer one prompt, got two conversations",
        ),
        ({"response_a": "x", "response_b": [USER]}, {}, "response_b", "no response: nothing after"),
        ({"response_a": "x", "response_b": []}, {}, "response_b", "no response: nothing after"),
        ({"response": {"choice": []}, "other": "x"}, {}, "response", "messages must be a list"),
    ],
)
def test_what_is_no_pair_is_set_aside_with_its_reason(read_rows, row, columns, column, reason):
    good = {"id": "good", "prompt": "Hi", "response": "x", "b": "y", "response_b": "z"}

    table = read_rows(good, {"prompt": None, **row}, columns=columns or None)

    assert [found.id for found in table.items] == ["good"]
    (drop,) = table.dropped
    assert (drop.line, drop.column) == (2, column)
    assert drop.reason.startswith(reason)


@pytest.mark.parametrize(
    "shape",
    [
        {"prompt": "Hi", "chosen": "Hello.", "rejected": "Go."},
        {"prompt": [USER], "chosen": [HELLO], "rejected": [GO]},
        {"chosen": [USER, HELLO], "rejected": [USER, GO]},
        {"prompt": "Hi", "chosen": [USER, HELLO], "rejected": [USER, GO]},
    ],
)
def test_a_preference_is_a_pair_where_pairs_are_wanted(read_rows, item, shape):
    table = read_rows({"id": "a", "score": 1, **shape}, pairs=True)

    assert table.items == (
        item("Hello.", other="Go.", id="a", metadata={"score": 1, "preference": "A"}),
    )


@pytest.mark.parametrize(
    ("row", "column", "reason"),
    [
        ({"prompt": "Hi", "chosen": "a"}, "rejected", "no response: a pair must have two"),
        ({"prompt": "Hi", "rejected": "a"}, "chosen", "no response: a pair must have two"),
        ({"chosen": "Hi a", "rejected": "Hi b"}, "chosen", "no prompt: where it ends in the texts"),
    ],
)
def test_half_a_preference_is_no_pair(read_rows, row, column, reason):
    table = read_rows({"id": "good", "response": "x"}, row, pairs=True)

    (drop,) = table.dropped
    assert drop.column == column
    assert drop.reason.startswith(reason)


def test_wanting_pairs_changes_nothing_else(read_rows):
    rows = [
        {"prompt": "Hi", "response": "Hello."},
        {"messages": [USER, HELLO]},
        {"prompt": "Hi", "response_a": "a", "response_b": "b"},
    ]

    assert read_rows(*rows, pairs=True) == read_rows(*rows)


def test_reasoning_is_taken_off_both_responses(read_rows, item):
    row = {"prompt": "Hi", "response_a": "<think>x</think>Hello.", "response_b": "hm</think>Go."}

    final = read_rows(row)
    whole = read_rows(row, judged="with_reasoning")

    assert final.items == (item("Hello.", other="Go."),)
    assert whole.items == (item(row["response_a"], other=row["response_b"]),)


def test_an_item_written_as_json_is_read_as_the_same_pair():
    pair = Item(
        id="p", prompt=(Message(role="user", content="Hi"),), response="Hello.", other="Go.",
        behavior="comply", group="g", cluster="c",
    )  # fmt: skip
    written = msgspec.to_builtins(pair)
    written.pop("metadata", None)

    table = read_items(io.BytesIO(json.dumps(written).encode()))

    assert table.items == (pair,)
    assert table.items[0].content_hash() == pair.content_hash()


def test_a_frame_gives_pairs():
    frame = pl.DataFrame(
        {"prompt": ["Hi", "Hi"], "chosen": ["Hello.", "Good day."], "rejected": ["Go.", None]}
    )

    table = items_from_frame(frame, pairs=True)

    assert [(found.response, found.other) for found in table.items] == [("Hello.", "Go.")]
    assert [drop.line for drop in table.dropped] == [2]


def test_messages_in_a_cell_of_text_end_in_the_first_response(read, item):
    cell = json.dumps([USER, HELLO]).replace('"', '""')

    table = read(f'messages,b\n"{cell}",Go.\n', format="csv", columns={"other": "b"})

    assert table.items == (item("Hello.", other="Go.", id="stream:2"),)


def test_a_missing_side_is_named_as_the_file_names_it(read_rows):
    good = {"prompt": "Hi", "win": "a", "lose": "b"}

    table = read_rows(
        good, {**good, "lose": None}, columns={"chosen": "win", "rejected": "lose"}, pairs=True
    )

    assert [drop.column for drop in table.dropped] == ["lose"]


@pytest.mark.parametrize("written_as", ["csv", "tsv"])
def test_a_table_gives_pairs(read, written_as):
    text = "id,prompt,response_a,response_b\n1,Hi,Hello.,Go.\n2,Hi,,Go.\n"

    table = read(text.replace(",", "\t") if written_as == "tsv" else text, format=written_as)

    assert [(found.id, found.response, found.other) for found in table.items] == [
        ("1", "Hello.", "Go."),
        ("2", "", "Go."),  # an empty text is a response
    ]


def test_a_column_for_the_other_response_must_be_there(read):
    with pytest.raises(InputError, match="column `b` must exist"):
        read("response\nx\n", format="csv", columns={"other": "b"})


def test_a_json_document_of_one_pair_is_a_row(read):
    table = read('{"id": "p", "response_a": "x", "response_b": "y"}', format="json")

    assert [(found.id, found.response, found.other) for found in table.items] == [("p", "x", "y")]
