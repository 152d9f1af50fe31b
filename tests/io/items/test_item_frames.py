import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import items_from_frame

USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hello."}
ROWS = {
    "id": [1, 2],
    "messages": [[USER, ANSWER], [ANSWER]],
    "score": [0.5, None],
    "kind": ["x", None],
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_every_library_give_the_same_items(item, library):
    table = items_from_frame(FRAMES[library](ROWS))

    assert table.items == (
        item("Hello.", id="1", metadata={"score": 0.5, "kind": "x"}),
        item("Hello.", id="2", prompt=[]),
    )
    assert table.dropped == ()


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_what_pandas_calls_missing_is_nothing(nothing):
    frame = pd.DataFrame({"id": [7, nothing], "response": ["r", "s"], "note": ["x", nothing]})

    table = items_from_frame(frame)

    assert [(found.id, found.metadata) for found in table.items] == [
        ("7", {"note": "x"}),
        ("items:2", {}),
    ]


def test_arrays_and_tuples_are_lists_in_their_order():
    frame = pd.DataFrame({"messages": [np.array([USER, ANSWER]), (USER, ANSWER)]})

    table = items_from_frame(frame)

    assert [found.prompt[0].content for found in table.items] == ["Hi", "Hi"]
    assert [found.response for found in table.items] == ["Hello.", "Hello."]


def test_many_rows_keep_their_numbers():
    responses = [None if n % 7 == 0 else f"{n}" for n in range(3_000)]

    table = items_from_frame(pl.DataFrame({"response": responses}))

    assert [drop.line for drop in table.dropped] == list(range(1, 3_001, 7))
    assert [found.id for found in table.items[:2]] == ["items:2", "items:3"]
    assert table.items[-1].response == "2999"


def test_half_a_surrogate_pair_is_set_aside():
    table = items_from_frame(pd.DataFrame({"response": ["a", "\ud83d", "b"]}))

    assert [found.response for found in table.items] == ["a", "b"]
    assert [(drop.line, drop.reason) for drop in table.dropped] == [
        (2, "text must be Unicode, got half a surrogate pair")
    ]


def test_the_reading_is_declared_as_for_files():
    frame = pl.DataFrame({"q": ["Hi"], "a": ["<think>x</think>y"]})

    table = items_from_frame(
        frame,
        columns={"prompt": "q", "response": "a"},
        judged="with_reasoning",
        behavior="comply",
    )

    (found,) = table.items
    assert found.prompt[0].content == "Hi"
    assert (found.response, found.behavior) == ("<think>x</think>y", "comply")


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        ([1], InputError, "`frame` must be a pandas, polars or pyarrow table, got list"),
        (
            pl.LazyFrame({"response": ["r"]}),
            InputError,
            "got LazyFrame. Collect a lazy frame first",
        ),
        (pd.DataFrame({5: ["r"]}), InputError, "items: columns must have names of text, got 5"),
        (
            pd.DataFrame([["r", "s"]], columns=["response", "response"]),
            InputError,
            "items: columns must have unique names",
        ),
        (pl.DataFrame({"prompt": ["r"]}), InputError, "items: column `response` must exist"),
        (pl.DataFrame({"response": [None]}), NoDataError, "items: must hold at least one item"),
        (
            pl.DataFrame({"id": [1, 1], "response": "r"}),
            InputError,
            "items:2: item ids must be uni",
        ),
    ],
)
def test_what_is_no_table_of_items_is_refused(frame, error, message):
    with pytest.raises(error, match=message):
        items_from_frame(frame)
