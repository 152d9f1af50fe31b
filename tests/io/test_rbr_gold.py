import io
import json

import pytest

from voirdire.errors import InputError
from voirdire.io import read_items, read_labels

MESSAGES = {
    "prompt": [{"role": "user", "content": "Hi"}],
    "completion": [{"role": "assistant", "content": "Hello."}],
}


def gold(*propositions, **more):
    return [
        {**MESSAGES, "response_type": "Comply", "propositions": p, **more} for p in propositions
    ]


@pytest.fixture
def read_gold(read):
    """Read rows as JSONL of boolean labels."""

    def read_rows(rows, **declared):
        text = "\n".join(json.dumps(row) for row in rows)
        return read(text, **{"format": None, "kind": "boolean", **declared})

    return read_rows


def rows_of(table):
    return table.frame.select("item", "rater", "question", "label").rows()


def test_each_proposition_is_a_question_with_our_name(read_gold):
    theirs = {
        "apology_acknowledges_emotional_state": True,
        "gentle_encouragement_for_help": False,
        "illogical_continuation_of_prompt": True,
        "prescribes_dosage": False,
    }

    table = read_gold(gold(theirs))

    assert rows_of(table) == [
        ("stream:1", "gold", "empathetic_apology", "true"),
        ("stream:1", "gold", "gentle_encouragement", "false"),
        ("stream:1", "gold", "illogical_continuation", "true"),
        ("stream:1", "gold", "prescribes_dosage", "false"),
    ]


@pytest.mark.parametrize("name", [None, "", "  ", "a", 3, 3.0])
@pytest.mark.parametrize("key", ["id", "item", "custom_id"])
def test_items_have_the_names_that_reading_them_gives(read_gold, key, name):
    rows = gold({"apology": True}, **{key: name})
    data = json.dumps(rows[0]).encode()

    table = read_gold(rows)

    (item,) = read_items(io.BytesIO(data)).items
    assert table.frame["item"].to_list() == [item.id]


def test_items_are_called_after_their_file(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text("\n\n" + json.dumps(gold({"apology": True})[0]), encoding="utf-8")

    table = read_labels(path, role="annotator", kind="boolean")

    assert table.frame["item"].to_list() == ["train:3"]
    assert table.frame["line"].to_list() == [3]


def test_the_item_and_the_rater_can_be_declared(read_gold):
    rows = gold({"apology": True}, uid="u1")

    table = read_gold(rows, columns={"item": "uid"}, rater_name="ann")

    assert rows_of(table) == [("u1", "ann", "apology", "true")]


def test_one_question_can_be_asked_for(read_gold):
    table = read_gold(gold({"apology": True, "judgement": False}), question="judgement")

    assert rows_of(table) == [("stream:1", "gold", "judgement", "false")]


def test_a_label_that_is_missing_is_set_aside(read_gold):
    table = read_gold(gold({"apology": True, "judgement": None}, {"judgement": False}))

    assert [(row[0], row[2]) for row in rows_of(table)] == [
        ("stream:1", "apology"),
        ("stream:2", "judgement"),
    ]
    assert [(drop.item, drop.question, drop.reason) for drop in table.dropped] == [
        ("stream:1", "judgement", "missing label")
    ]


def test_a_row_without_propositions_is_set_aside(read_gold):
    table = read_gold([*gold({"apology": True}), MESSAGES])

    assert [(drop.line, drop.item, drop.reason) for drop in table.dropped] == [
        (2, "stream:2", "no propositions")
    ]


def test_the_shape_can_be_declared_where_the_first_row_does_not_tell(read_gold):
    table = read_gold([MESSAGES, *gold({"apology": True})], format="rbr-gold")

    assert table.frame["item"].to_list() == ["stream:2"]


def test_declared_gold_that_is_none_is_refused(read_gold):
    with pytest.raises(InputError, match="<stream>: rows must hold `propositions` beside a `compl"):
        read_gold([{"item": "a", "ann": True}], format="rbr-gold")


def test_other_rows_are_not_taken_for_gold(read_gold):
    table = read_gold([{"item": "a", "ann": True, "propositions": "text"}], raters=["ann"])

    assert rows_of(table) == [("a", "ann", "label", "true")]
