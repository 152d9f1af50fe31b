"""Plain items that are written in any format, by another tool, are read back equal."""

import csv
import io
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voirdire.io import items_from_frame, read_items
from voirdire.records import Item, Message

CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS, max_size=8)
NAMES = TEXTS.filter(str.strip)
ROW_KEYS = {
    *("response", "completion", "response_a", "response_b", "chosen", "rejected"),
    *("messages", "conversations", "output", "answer"),
}
METADATA = st.dictionaries(st.sampled_from(["source", "类型", "note a"]), TEXTS)


@st.composite
def items(draw):
    """Unique items with the user's text for a prompt, of one set of metadata columns."""
    ids = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    keys = draw(st.sets(st.sampled_from(["source", "类型", "note a"])))
    are_pairs = draw(st.booleans())
    prompts = draw(st.lists(TEXTS, min_size=len(ids), max_size=len(ids)))
    return [
        Item(
            id=name,
            prompt=(Message(role="user", content=prompt),) if prompt else (),
            response=draw(TEXTS),
            other=draw(TEXTS) if are_pairs else None,
            behavior=draw(st.none() | NAMES),
            group=draw(st.none() | NAMES),
            cluster=draw(st.none() | NAMES),
            metadata={key: draw(TEXTS) for key in sorted(keys)},
        )
        for name, prompt in zip(ids, prompts, strict=True)
    ]


def rows_of(found):
    return [
        {
            "id": item.id,
            "prompt": "".join(said.content for said in item.prompt),
            "response": item.response,
            **({} if item.other is None else {"other": item.other}),
            "behavior": item.behavior,
            "group": item.group,
            "cluster": item.cluster,
            **item.metadata,
        }
        for item in found
    ]


def as_csv(rows, delimiter=","):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_polars_csv(rows):
    return pl.DataFrame(rows, infer_schema_length=None).write_csv().encode()


def as_parquet(rows):
    data = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(data)
    return data.getvalue()


WRITERS = {
    "jsonl": lambda rows: "\n".join(json.dumps(row) for row in rows).encode(),
    "json": lambda rows: json.dumps(rows).encode(),
    "csv": as_csv,
    "tsv": lambda rows: as_csv(rows, "\t"),
    "parquet": as_parquet,
}
FRAMES = [
    pd.DataFrame,
    pa.Table.from_pylist,
    lambda rows: pl.DataFrame(rows, infer_schema_length=None),
]


@pytest.mark.edges
@pytest.mark.parametrize("written_as", WRITERS)
@given(found=items())
def test_a_file_gives_back_its_items(written_as, found):
    data = WRITERS[written_as](rows_of(found))

    table = read_items(io.BytesIO(data), format=written_as, judged="whole_turn", missing=())

    assert list(table.items) == found
    assert table.dropped == ()


@given(items())
def test_json_by_id_gives_back_its_items(found):
    document = {row.pop("id"): row for row in rows_of(found)}
    assume(not ROW_KEYS & set(document))  # then the whole document is one row
    data = json.dumps(document).encode()

    table = read_items(io.BytesIO(data), format="json", judged="whole_turn", missing=())

    assert [item.id for item in table.items] == [item.id for item in found]


@pytest.mark.edges
@pytest.mark.parametrize("make", FRAMES)
@given(found=items())
def test_a_frame_gives_back_its_items(make, found):
    table = items_from_frame(make(rows_of(found)), judged="with_reasoning")

    assert list(table.items) == found


@given(items())
def test_csv_by_polars_gives_back_its_items(found):
    assume(not any(item.id.startswith("#") for item in found))  # a comment where nothing follows
    data = as_polars_csv(rows_of(found))

    table = read_items(io.BytesIO(data), format="csv", judged="whole_turn", missing=())

    assert list(table.items) == found


@given(items())
def test_items_can_be_hashed_whatever_stands_in_them(found):
    data = WRITERS["jsonl"](rows_of(found))

    hashes = [
        item.content_hash()
        for item in read_items(io.BytesIO(data), judged="whole_turn", missing=()).items
    ]

    assert hashes == [item.content_hash() for item in found]
