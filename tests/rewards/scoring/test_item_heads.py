"""Rewards of stored verdicts are of the same items, behaviors and drops as reading them whole."""

import json
import random

import polars as pl
import pytest

from rewards.reward_cases import tiny_reward
from voirdire.errors import InputError
from voirdire.io import stream_items
from voirdire.rewards import score_file

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


@pytest.fixture
def verdicts(tmp_path):
    """Give a file of verdicts on nothing that is asked for."""
    path = tmp_path / "verdicts.jsonl"
    row = {"item": "nobody", "sorry": 0.5, "rude": 0.5, "judge": "j", "fingerprint": "f"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def by_score(path, verdicts, **settings):
    """Give what scoring says of items and drops, without looking at their texts."""
    output = path.with_name("rewards.jsonl")
    score_file(
        path, output, reward=tiny_reward(), verdicts=verdicts, base="base_reward", **settings
    )
    found = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    listed = path.with_name("rewards.jsonl.dropped.jsonl")
    dropped = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    return (
        [(row["item"], row["behavior"]) for row in found],
        [(row["line"], row["reason"]) for row in map(json.loads, dropped)],
    )


def by_reading(path, **settings):
    """Give the same by reading the items whole."""
    batches = list(stream_items(path, **settings))
    return (
        [(item.id, item.behavior) for batch in batches for item in batch.items],
        [(drop.line, drop.reason) for batch in batches for drop in batch.dropped],
    )


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 20))]
)
@pytest.mark.parametrize("behavior", [None, "chat"])
def test_rows_of_all_kinds_give_the_same_items(tmp_path, verdicts, seed, behavior):
    path = write(tmp_path / "items.jsonl", random_rows(seed))

    items, dropped = by_reading(path, behavior=behavior)

    assert items
    assert dropped
    assert by_score(path, verdicts, behavior=behavior) == (items, dropped)


@pytest.mark.parametrize("columns", [{"response": "note"}, {"id": "note"}, {"prompt": "x"}])
def test_declared_columns_are_looked_for_in_the_same_way(tmp_path, verdicts, columns):
    rows = [{"id": f"i{n}", "response": "Yes", "note": f"n{n}", "base_reward": 1} for n in range(5)]
    path = write(tmp_path / "items.jsonl", rows)

    def outcome(read):
        try:
            return read()
        except InputError as error:
            return str(error)

    whole = outcome(lambda: by_reading(path, columns=columns))

    assert outcome(lambda: by_score(path, verdicts, columns=columns)) == whole


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_files_of_every_format_give_the_same_items(tmp_path, verdicts, suffix):
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

    whole = by_reading(path, behavior="chat")

    assert len(whole[0]) == 4
    assert by_score(path, verdicts, behavior="chat") == whole


def test_an_id_that_comes_twice_is_an_error(tmp_path, verdicts):
    rows = [{"id": "a", "response": "x"}, {"id": "b", "response": "x"}, {"id": "b", "response": ""}]
    path = write(tmp_path / "items.jsonl", [row | {"base_reward": 1} for row in rows])

    with pytest.raises(InputError, match=r"got 'b' again \(first at line 2\)"):
        by_score(path, verdicts)
