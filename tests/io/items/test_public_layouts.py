"""Rows as public data sets hold them: their responses, and what the judge is shown of them."""

import bz2
import gzip
import json
import lzma

import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import items_from_frame, read_items

ASKED = [{"role": "user", "content": "Hi"}]
TURNS = "\n\nHuman: Hi\n\nAssistant: Yes?\n\nHuman: Go on\n\nAssistant: "
SAID = [("user", "Hi"), ("assistant", "Yes?"), ("user", "Go on")]


def talk(reply, *, order=("role", "content")):
    said = [*ASKED, {"role": "assistant", "content": reply}]
    return [{key: message[key] for key in order} for message in said]


TWO = {
    "pku": {"prompt": "Hi", "response_0": "a", "response_1": "b", "better_response_id": 1},
    "helpsteer2": {"prompt": "Hi", "response_1": "a", "response_2": "b", "preference_strength": 2},
    "helpsteer3": {"context": ASKED, "response1": "a", "response2": "b", "overall_preference": -3},
    "shp": {"history": "Hi", "human_ref_A": "a", "human_ref_B": "b", "labels": 1, "score_A": 3},
    "arena": {
        "model_a": "m",
        "model_b": "n",
        "winner": "tie (bothbad)",
        "conversation_a": talk("a", order=("content", "role")),
        "conversation_b": talk("b"),
    },
}
SEVERAL = {
    "ultrafeedback": {
        "instruction": "Hi",
        "models": ["m", "n"],
        "completions": [
            {"response": "a", "overall_score": 4.0, "model": "m"},
            {"response": "b", "overall_score": 9.0, "model": "n"},
        ],
    },
    "nectar": {
        "prompt": "\n\nHuman: Hi\n\nAssistant: ",
        "answers": [{"answer": "a", "rank": 2.0}, {"answer": "b", "rank": 1.0}],
    },
    "rewardbench2": {"prompt": "Hi", "chosen": ["a"], "rejected": ["b"], "subset": "Ties"},
}


def shown(items):
    return [(item.id, [(x.role, x.content) for x in item.prompt], item.response) for item in items]


@pytest.mark.parametrize("row", [*TWO.values(), *SEVERAL.values()], ids=[*TWO, *SEVERAL])
def test_the_responses_of_a_row_are_items_of_one_group(read_rows, row):
    table = read_rows({"id": 7, **row})

    assert shown(table.items) == [
        ("7:0", [("user", "Hi")], "a"),
        ("7:1", [("user", "Hi")], "b"),
    ]
    assert {item.group for item in table.items} == {"7"}
    assert table.dropped == ()


@pytest.mark.parametrize("row", TWO.values(), ids=TWO)
def test_two_responses_are_a_pair_for_a_pairwise_question(read_rows, row):
    (item,) = read_rows({"id": 7, **row}, pairs=True).items

    assert (item.id, item.response, item.other) == ("7", "a", "b")


def test_what_a_row_says_besides_is_metadata(read_rows):
    table = read_rows(SEVERAL["ultrafeedback"], TWO["shp"])

    assert table.items[1].metadata == {"models": ["m", "n"], "model": "n", "overall_score": 9.0}
    assert table.items[2].metadata == {"labels": 1, "score_A": 3}


def test_a_transcript_in_text_is_a_conversation(read_rows):
    pair = {"chosen": f"{TURNS}Good.", "rejected": f"{TURNS}Bad."}

    table = read_rows(pair, {"transcript": f"{TURNS}Well.", "rating": 2})

    assert shown(table.items) == [
        ("stream:1:chosen", SAID, "Good."),
        ("stream:1:rejected", SAID, "Bad."),
        ("stream:2", SAID, "Well."),
    ]
    (both,) = read_rows(pair, pairs=True).items
    assert (len(both.prompt), both.response, both.other) == (3, "Good.", "Bad.")


def test_a_frame_is_read_by_the_same_layouts():
    table = items_from_frame(pl.DataFrame([TWO["helpsteer3"]]))

    assert shown(table.items)[1] == ("items:1:1", [("user", "Hi")], "b")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**TWO["pku"], "better_response_id": 2}, "must be one of 0, 1 or a tie, got 2"),
        ({"instruction": "Hi", "completions": ["a"]}, "must be a list of objects with a `resp"),
        ({"instruction": "Hi", "completions": []}, "must be a list of objects with a `resp"),
        (
            {"prompt": "Hi", "answers": [{"answer": "a", "rank": None}]},
            "each entry must have a number `rank`",
        ),
    ],
)
def test_a_row_that_says_something_else_is_set_aside(read_rows, row, message):
    table = read_rows({"prompt": "Hi", "response": "a"}, row)

    assert message in table.dropped[0].reason


def test_rows_of_no_layout_are_refused_with_their_keys_and_the_way_out(read_rows):
    with pytest.raises(NoDataError, match=r"no column holds one, of 'q', 'reply'\).*`make_item=`"):
        read_rows({"q": "Hi", "reply": "a"})


# What stands before the prompt ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"system": "Be brief."}, [("system", "Be brief.")]),
        ({"system_prompt": "请简短。"}, [("system", "请简短。")]),
        ({"context": ["One.", "Two."]}, [("context", "One.\n\nTwo.")]),
        ({"system": "Be brief.", "context": ASKED}, [("system", "Be brief."), ("user", "Hi")]),
        ({"system": "gpt-4-0613", "context": [1, 2]}, []),  # a model, and no text
        ({"system": " ", "context": None}, []),
    ],
)
def test_a_system_prompt_and_a_context_stand_before_the_prompt(read_rows, more, expected):
    (first, second, third) = read_rows(
        {"prompt": "Hello?", "response": "a", **more},
        {"prompt": "Hello?", "chosen": "a", "rejected": "b", **more},
    ).items

    for item in (first, second, third):
        assert [(x.role, x.content) for x in item.prompt] == [*expected, ("user", "Hello?")]
    assert first.metadata == {key: value for key, value in more.items() if value is not None}


def test_a_declared_system_column_is_always_shown(read_rows):
    row = {"prompt": "Hello?", "response": "a", "persona": "Pirate"}

    (item,) = read_rows(row, columns={"system": "persona"}).items

    assert [x.role for x in item.prompt] == ["system", "user"]


# Rows of any other form --------------------------------------------------------------------------


def test_a_function_makes_items_of_rows_of_any_other_form(read_rows):
    def make(row):
        if "only" in row:
            return {"prompt": row["q"], "response": row["only"]}
        return [{"prompt": row["q"], "response": text} for text in row["texts"]]

    table = read_rows(
        {"q": "Hi", "texts": ["a", "b"]},
        {"q": "Ho", "only": "c"},
        {"q": "He", "texts": []},
        make_item=make,
    )

    assert shown(table.items) == [
        ("stream:1:0", [("user", "Hi")], "a"),
        ("stream:1:1", [("user", "Hi")], "b"),
        ("stream:2", [("user", "Ho")], "c"),
    ]
    assert [(drop.line, drop.reason) for drop in table.dropped] == [(3, "`make_item` gave nothing")]


def test_a_function_makes_items_of_the_rows_of_a_table(read):
    def make(row):
        return {"id": row["nr"], "response": row["text"]}

    table = read("nr,text\n5,a\n", format="csv", make_item=make)

    assert [item.id for item in table.items] == ["5"]


# Parts of a table --------------------------------------------------------------------------------


def test_a_folder_of_parts_is_one_table(tmp_path):
    for name, pack in [("a.jsonl.gz", gzip), ("b.jsonl.bz2", bz2), ("c.jsonl.xz", lzma)]:
        text = json.dumps({"prompt": name, "response": "r"}) + "\n{}\n"
        (tmp_path / name).write_bytes(pack.compress(text.encode()))
    pl.DataFrame({"prompt": ["p"], "response": ["r"]}).write_parquet(tmp_path / "d.parquet")
    (tmp_path / "README.md").write_text("no part")
    (tmp_path / "old.dropped.jsonl").write_text("{}")

    table = read_items(tmp_path)

    assert [item.id for item in table.items] == ["a:1", "b:1", "c:1", "d:1"]
    assert [drop.place() for drop in table.dropped] == [
        f"{tmp_path / name}:2" for name in ("a.jsonl.gz", "b.jsonl.bz2", "c.jsonl.xz")
    ]


def test_an_id_stands_once_in_all_parts(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"id": "x", "response": "r"}\n')

    with pytest.raises(InputError, match="item ids must be unique, got 'x' again"):
        read_items(tmp_path)


def test_a_part_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("response\nr\n")
    (tmp_path / "b.csv").write_text("reply\nr\n")

    with pytest.raises(InputError, match=r"b\.csv: column `response` must exist, got columns 're"):
        read_items(tmp_path)
