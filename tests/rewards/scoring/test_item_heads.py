"""Items without texts: the same ids, behaviors and drops as with them."""

import io
import json
import random

import polars as pl
import pytest

from voirdire.errors import InputError
from voirdire.io import stream_items
from voirdire.rewards.scoring.item_heads import stream_heads

VALUES = {
    "id": ["a", "b", 3, 3.5, "", "  ", None, True, ["x"], {"y": 1}],
    "prompt": ["Hi", "", None, 7, [{"role": "user", "content": "Hi"}], [{"role": 1}]],
    "response": ["Yes", "", None, 5, [{"role": "assistant", "content": "Yes"}], {"choices": []}],
    "completion": ["Yes", None],
    "behavior": ["refuse", "", " ", None, 4, ["x"]],
    "group": ["g", None, 1, ["x"], True],
    "cluster": ["c", None, {}],
    "messages": [[{"role": "assistant", "content": "Yes"}], "", "text", None],
    "chosen": ["Good", None],
    "rejected": ["Bad", None],
    "other": ["B", None],
    "request": [{"messages": []}, None, "x"],
    "input": ["more", None, 4],
    "instruction": ["Do", None],
    "propositions": [{"a": True}, None],
    "response_type": ["Hard Refuse", None],
    "error": ["timeout", None],
    "base_reward": [1.5, None, "high", float("inf")],
    "note": ["n", None],
}


def random_rows(seed, n_rows=400):
    """Make rows of all kinds, usual ones most often."""
    chance = random.Random(seed)
    rows = []
    for number in range(n_rows):
        row = {"prompt": "Hi", "response": "<think>Hm</think>Yes", "base_reward": number}
        row["id"] = f"r{number}"
        for key, values in VALUES.items():
            if chance.random() < 0.12:
                row[key] = chance.choice(values)
        if isinstance(row["id"], str) and row["id"] in ("a", "b"):
            row["id"] += str(number)
        if row["id"] in (3, 3.5):
            row["id"] += number
        if chance.random() < 0.3:
            del row["id"]
        order = list(row)
        chance.shuffle(order)
        rows.append({key: row[key] for key in order})
    return rows


def as_file(rows):
    file = io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
    file.name = "rows.jsonl"
    return file


def gathered(batches):
    items, dropped = [], []
    for batch in batches:
        items += [(x.id, x.behavior, x.metadata.get("base_reward")) for x in batch.items]
        dropped += batch.dropped
    return items, dropped


SETTINGS = {"format": "jsonl", "columns": None, "judged": "final_answer", "batch_size": 50}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("behavior", [None, "chat"])
def test_rows_of_all_kinds_give_the_same_items(seed, behavior):
    rows = random_rows(seed)

    whole = gathered(stream_items(as_file(rows), behavior=behavior, **SETTINGS))
    heads = gathered(
        stream_heads(as_file(rows), behavior=behavior, kept=("base_reward",), **SETTINGS)
    )

    assert whole[0]
    assert whole[1]
    assert heads == whole


@pytest.mark.parametrize("columns", [{"response": "note"}, {"id": "note"}, {"prompt": "x"}])
def test_declared_columns_are_looked_for_in_the_same_way(columns):
    rows = [{"id": f"i{n}", "response": "Yes", "note": f"n{n}"} for n in range(5)]
    settings = SETTINGS | {"columns": columns, "behavior": None}

    def outcome(batches):
        try:
            return gathered(batches)
        except InputError as error:
            return str(error)

    whole = outcome(stream_items(as_file(rows), **settings))

    assert outcome(stream_heads(as_file(rows), kept=("base_reward",), **settings)) == whole


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_files_of_every_format_give_the_same_items(tmp_path, suffix):
    path = tmp_path / f"items.{suffix}"
    table = pl.DataFrame(
        {
            "id": [1, 2, 3, None],
            "prompt": ["a", "", None, "b"],
            "response": ["x", "y", "z", "w"],
            "messages": [None, None, None, '[{"role": "assistant", "content": "c"}]'],
            "base_reward": [0.5, None, 1.0, 2.0],
        }
    )
    getattr(
        table, {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}[suffix]
    )(path)
    settings = SETTINGS | {"format": None, "behavior": "chat"}

    whole = gathered(stream_items(path, **settings))

    assert len(whole[0]) == 4
    assert gathered(stream_heads(path, kept=("base_reward",), **settings)) == whole


def test_an_id_that_comes_twice_is_an_error():
    rows = [{"id": "a", "response": "x"}, {"id": "b", "response": "x"}, {"id": "b", "response": ""}]

    with pytest.raises(InputError, match=r"got 'b' again \(first at line 2\)"):
        list(stream_heads(as_file(rows), kept=(), behavior=None, **SETTINGS))


def test_texts_are_left_where_they_are():
    rows = [{"id": f"i{n}", "prompt": "Hi", "response": "Yes", "more": n} for n in range(3)]

    (batch,) = stream_heads(as_file(rows), kept=("more",), behavior=None, **SETTINGS)

    assert [item.response for item in batch.items] == ["Yes", "", ""]  # the first one is looked at
    assert [dict(item.metadata) for item in batch.items][1:] == [{"more": 1}, {"more": 2}]
