"""The public data sets are read as they were published."""

import csv
import json
from collections import Counter

import pytest

from voirdire.io import read_items, read_labels


@pytest.fixture(scope="module")
def gold(shared_dir):
    return shared_dir / "data" / "rbr_gold" / "train.jsonl"


def test_every_gold_row_is_an_item(gold):
    rows = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]

    table = read_items(gold)

    assert table.dropped == ()
    assert [item.id for item in table.items] == [f"train:{n}" for n in range(1, 352)]
    assert [item.response for item in table.items] == [
        row["completion"][0]["content"] for row in rows
    ]
    assert [len(item.prompt) for item in table.items] == [len(row["prompt"]) for row in rows]
    assert Counter(item.behavior for item in table.items) == {
        "hard_refuse": 88,  # 37 + 33 + 18
        "soft_refuse": 67,  # 58 + 9
        "comply": 196,
    }


def test_gold_labels_are_about_the_same_items(gold):
    items = {item.id: item for item in read_items(gold).items}

    labels = read_labels(gold, role="annotator", kind="boolean")

    assert labels.frame.height == 351 * 23
    assert labels.dropped == ()
    theirs = {"empathetic_apology": "apology_acknowledges_emotional_state"}
    for row in labels.frame.filter(labels.frame["question"] == "empathetic_apology").to_dicts():
        propositions = items[row["item"]].metadata["propositions"]
        assert (row["label"] == "true") == propositions[theirs[row["question"]]]


@pytest.mark.edges
@pytest.mark.parametrize("model", ["gpt4", "mistralinstruct"])
@pytest.mark.parametrize("judge", ["gpteval", "streval"])
def test_xstest_is_read_as_it_is(shared_dir, model, judge):
    path = shared_dir / "data" / "xstest" / f"xstest_v2_completions_{model}_{judge}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    table = read_items(path)

    assert table.dropped == ()
    assert len(table.items) == 450
    for item, row in zip(table.items, rows, strict=True):
        assert item.id == row.pop("id")
        assert item.prompt[0].content == row.pop("prompt")
        assert item.response == row.pop("completion")
        assert item.metadata == row
