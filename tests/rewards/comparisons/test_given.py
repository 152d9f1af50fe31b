"""Comparisons in memory: rows, frames, items, and comparisons themselves."""

import io

import numpy as np
import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.records import Item, Message
from voirdire.rewards import read_comparisons

ROWS = [
    {"id": "a", "prompt": "Hi", "response": "Hello.", "label": "good", "base_reward": 0.5},
    {"id": "b", "prompt": "Hi", "response": "No.", "label": "bad", "base_reward": -1.0},
]


def test_rows_frames_files_and_items_say_the_same(tmp_path):
    path = tmp_path / "rows.jsonl"
    pl.DataFrame(ROWS).write_ndjson(path)
    items = [
        Item(
            id=row["id"],
            prompt=(Message(role="user", content=row["prompt"]),),
            response=row["response"],
            metadata={"label": row["label"], "base_reward": row["base_reward"]},
        )
        for row in ROWS
    ]
    sources = [
        ROWS,
        tuple(ROWS),
        (row for row in ROWS),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).to_pandas(),
        pl.DataFrame(ROWS).to_arrow(),
        path,
        str(path),
        io.BytesIO(path.read_bytes()),
        items,
    ]

    found = [read_comparisons(source, behavior="comply") for source in sources]

    assert {data.data_hash for data in found} == {found[0].data_hash}
    assert all(data.labels == ("good", "bad") for data in found)
    assert all(data.behaviors == ("comply", "comply") for data in found)


def test_comparisons_are_given_back():
    data = read_comparisons(ROWS)

    assert read_comparisons(data) is data


@pytest.mark.parametrize(
    ("name", "value"),
    [("columns", {"label": "score"}), ("format", "csv"), ("base", "score"), ("behavior", "comply")],
)
def test_comparisons_that_are_read_take_no_layout(name, value):
    data = read_comparisons(ROWS)

    with pytest.raises(InputError, match=f"`{name}` must not be given with comparisons that are"):
        read_comparisons(data, **{name: value})


def test_a_behavior_may_stand_beside_comparisons_that_all_have_one():
    data = read_comparisons(ROWS, behavior="comply")

    assert read_comparisons(data, behavior="hard_refuse") is data


def test_missing_values_of_a_frame_are_nothing():
    frame = pl.DataFrame([ROWS[0] | {"base_reward": None}, ROWS[1] | {"label": None}]).to_pandas()

    data = read_comparisons(frame)

    assert data.labels == ("good", None)
    assert np.isnan(data.base_rewards[0])
    assert data.dropped == ()


def test_numbers_of_numpy_are_numbers():
    data = read_comparisons([row | {"base_reward": np.float32(2)} for row in ROWS])

    assert data.base_rewards.tolist() == [2.0, 2.0]


def test_frames_may_hold_ranked_lists_and_pairs():
    ranked = read_comparisons(pl.DataFrame({"prompt": ["Hi"], "ranked": [["A", "B"]]}))
    pair = read_comparisons(pl.DataFrame({"prompt": ["Hi"], "chosen": ["A"], "rejected": ["B"]}))

    assert ranked.better.tolist() == pair.better.tolist() == [0]


def test_items_with_wrong_metadata_are_set_aside():
    items = [
        Item(id=f"{k}", group="g", response=f"{k}", metadata={"base_reward": base})
        for k, base in enumerate([1.0, 2.0, float("nan")])
    ]

    data = read_comparisons(items)

    assert [item.id for item in data.items] == ["0", "1"]
    assert (data.dropped[0].item, data.dropped[0].line) == ("2", 3)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "`comparisons` must be a file, a data frame, or a sequence"),
        (ROWS[0], "`comparisons` must be a file, a data frame, or a sequence"),
        ([ROWS[0], Item(id="x", response="")], "must all be items or all be rows"),
        ([Item(id="x", response="")] * 2, "must have unique ids, got 'x' twice"),
    ],
)
def test_what_holds_no_comparisons_is_refused(source, message):
    with pytest.raises(InputError, match=message):
        read_comparisons(source)


def test_no_rows_are_refused():
    with pytest.raises(NoDataError, match="got no rows"):
        read_comparisons([])


def test_a_column_that_no_row_has_is_refused():
    with pytest.raises(InputError, match="column `score` must exist"):
        read_comparisons(ROWS, columns={"base_reward": "score"})
