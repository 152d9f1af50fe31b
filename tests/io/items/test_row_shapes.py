"""Every shape of row, with the items that it is read as."""

import json
import re

import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import stream_items

USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hello."}


@pytest.mark.parametrize("prompt", ["prompt", "question", "instruction", "input"])
@pytest.mark.parametrize("response", ["response", "completion", "output", "answer"])
def test_a_prompt_with_a_response_goes_by_several_names(read_rows, item, prompt, response):
    table = read_rows({prompt: "Hi", response: "Hello."})

    assert table.items == (item("Hello."),)
    assert table.dropped == ()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {
                "id": "a",
                "prompt": "Hi",
                "response": "Hello.",
                "behavior": "comply",
                "group": "g",
                "cluster": 3,
                "type": "greeting",
                "tags": ["x", None],
                "nothing": None,
            },
            {
                "id": "a",
                "behavior": "comply",
                "group": "g",
                "cluster": "3",
                "metadata": {"type": "greeting", "tags": ["x", None]},
            },
        ),
        ({"prompt": [USER], "response": "Hello."}, {}),
        ({"prompt": USER, "completion": ANSWER}, {}),
        ({"prompt": [USER], "completion": [ANSWER]}, {}),
        ({"prompt": "Hi", "completion": [ANSWER], "label": True}, {"metadata": {"label": True}}),
        ({"response": "Hello."}, {"prompt": []}),
        ({"prompt": "", "response": "Hello."}, {"prompt": []}),
        ({"prompt": [], "response": "Hello."}, {"prompt": []}),
        ({"messages": [USER], "response": "Hello."}, {}),
        ({"messages": [USER, ANSWER]}, {}),
        ({"messages": [ANSWER]}, {"prompt": []}),
        (
            {"messages": [USER, ANSWER], "output": "o", "answer": "a"},
            {"metadata": {"output": "o", "answer": "a"}},
        ),
        (
            {
                "conversations": [
                    {"from": "human", "value": "Hi"},
                    {"from": "gpt", "value": "Hello."},
                ]
            },
            {},
        ),
        (
            {"messages": [USER, ANSWER], "conversations": [USER]},
            {"metadata": {"conversations": [USER]}},
        ),
        ({"prompt": "Hi", "question": "q", "response": "Hello."}, {"metadata": {"question": "q"}}),
        ({"prompt": "Hi", "response": "Hello.", "answer": "42"}, {"metadata": {"answer": "42"}}),
        (
            {"prompt": "Hi", "response": "Hello.", "chosen": "c", "rejected": "r"},
            {"metadata": {"chosen": "c", "rejected": "r"}},
        ),
        ({"instruction": "Sum", "input": "1, 2", "output": "Hello."}, {"prompt": "Sum\n\n1, 2"}),
        ({"instruction": "Hi", "input": "", "output": "Hello."}, {}),
        ({"prompt": "Hi", "response": None, "completion": "Hello."}, {}),
        (
            {"question": "Hi", "choices": ["a", "b"], "answer": "Hello."},
            {"metadata": {"choices": ["a", "b"]}},
        ),
        ({"response": "Hello.", "error": "e"}, {"prompt": [], "metadata": {"error": "e"}}),
    ],
)
def test_one_row_is_one_item(read_rows, item, row, expected):
    table = read_rows(row)

    assert table.items == (item("Hello.", **expected),)
    assert table.dropped == ()


@pytest.mark.parametrize(
    ("shape", "metadata"),
    [
        ({"prompt": "Hi", "chosen": "Hello.", "rejected": "Go."}, {}),
        ({"prompt": [USER], "chosen": [ANSWER], "rejected": [{**ANSWER, "content": "Go."}]}, {}),
        ({"chosen": [USER, ANSWER], "rejected": [USER, {**ANSWER, "content": "Go."}]}, {}),
        (
            {
                "conversations": [{"from": "human", "value": "Hi"}],
                "chosen": {"from": "gpt", "value": "Hello."},
                "rejected": {"from": "gpt", "value": "Go."},
            },
            {},
        ),
        # the prompt once more inside both sides
        (
            {
                "prompt": "Hi",
                "score": 1,
                "messages": [USER, ANSWER],
                "chosen": [USER, ANSWER],
                "rejected": [USER, {**ANSWER, "content": "Go."}],
            },
            {"score": 1, "messages": [USER, ANSWER]},
        ),
    ],
)
def test_a_preference_is_two_items_of_one_group(read_rows, item, shape, metadata):
    table = read_rows({"id": "a", **shape})

    chosen, rejected = table.items
    assert chosen == item(
        "Hello.", id="a:chosen", group="a", metadata={**metadata, "preference": "chosen"}
    )
    assert rejected == item(
        "Go.", id="a:rejected", group="a", metadata={**metadata, "preference": "rejected"}
    )


def test_what_both_sides_begin_with_is_the_prompt(read_rows):
    shared = [USER, {**ANSWER, "content": "Let me look."}]
    chosen = [*shared, {**ANSWER, "content": "Found it."}]
    rejected = [*shared, {**ANSWER, "content": "No."}]

    table = read_rows({"chosen": chosen, "rejected": rejected}, judged="whole_turn")

    assert [len(found.prompt) for found in table.items] == [2, 2]
    assert [found.response for found in table.items] == ["Found it.", "No."]


def test_two_equal_sides_keep_their_response(read_rows):
    table = read_rows({"chosen": [USER, ANSWER], "rejected": [USER, ANSWER]})

    assert [found.response for found in table.items] == ["Hello.", "Hello."]


def test_a_group_of_its_own_goes_before_the_id(read_rows):
    table = read_rows({"prompt": "Hi", "chosen": "a", "rejected": "b", "group": "g"})

    assert [found.group for found in table.items] == ["g", "g"]


def test_half_a_preference_is_an_item_and_a_reason(read_rows):
    table = read_rows({"prompt": "Hi", "chosen": "a", "rejected": None})

    assert [found.id for found in table.items] == ["stream:1:chosen"]
    assert [found.group for found in table.items] == ["stream:1"]
    assert [drop.reason for drop in table.dropped] == [
        "no response: nothing after the prompt is by the assistant"
    ]
    assert table.dropped[0].column == "rejected"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"prompt": "Hi"}, "no response: no column holds one"),
        ({"prompt": [USER]}, "no response: no column holds one"),
        ({"text": "The sky is blue."}, "no response: no column holds one"),
        ({"prompt": "p", "completions": ["a"], "labels": [True]}, "no response: no column"),
        ({}, "no response: no column holds one"),
        ({"prompt": "Hi", "response": None}, "no response: no column holds one"),
        ({"messages": [USER]}, "no response: the last message is by 'user'"),
        ({"messages": [USER, ANSWER, USER]}, "no response: the last message is by 'user'"),
        (
            {"messages": [USER, ANSWER, {"role": "critic", "content": "x"}]},
            "last message is by 'cri",
        ),
        ({"messages": []}, "no response: nothing after the prompt is by the assistant"),
        ({"messages": [USER, {"role": "tool", "content": "x"}]}, "no response: nothing after"),
        ({"prompt": "Hi", "completion": [USER]}, "no response: nothing after the prompt"),
        ({"prompt": "Hi", "completion": []}, "no response: nothing after the prompt"),
        ({"prompt": 5, "response": "a"}, "prompt must be text or messages, got 5"),
        ({"prompt": ["a"], "response": "a"}, "message 1 must be an object with a role and a"),
        ({"prompt": "Hi", "response": 5}, "response must be text or messages, got 5"),
        ({"prompt": "Hi", "response": True}, "response must be text or messages, got True"),
        ({"prompt": "Hi", "response": ["a", "b"]}, "message 1 must be an object with a role"),
        ({"prompt": "Hi", "response": {"text": "a"}}, "messages must be a list, got {'text': 'a'}"),
        ({"messages": [{"content": "x"}]}, "message 1 must be an object with a role and a"),
        ({"messages": [{"role": 1, "content": "x"}]}, "message 1 must be an object with a role"),
        ({"messages": [USER, {**ANSWER, "content": 7}]}, "content of message 2 must be text or"),
        ({"messages": "not json"}, "messages must be JSON, got 'not json' at character 1"),
        ({"messages": {"a": 1}}, "messages must be a list, got {'a': 1}"),
        ({"id": [1], "response": "a"}, r"must be text or a number, got \[1\]"),
        ({"id": True, "response": "a"}, "must be text or a number, got True"),
        ({"group": {}, "response": "a"}, "must be text or a number, got {}"),
        ({"chosen": "a b", "rejected": "a c"}, "no prompt: where it ends in the texts chosen"),
        (
            {"prompt": "Hi", "chosen": 1, "rejected": "a"},
            "response must be text or messages, got 1",
        ),
    ],
)
def test_what_is_no_item_is_set_aside_with_its_reason(read_rows, row, reason):
    table = read_rows({"id": "good", "response": "x"}, row)

    assert [found.id for found in table.items] == ["good"]
    (drop,) = table.dropped
    assert drop.line == 2
    assert drop.source == "<stream>"
    assert re.search(reason, drop.reason), drop.reason


def test_an_empty_response_is_a_response(read_rows, item):
    table = read_rows(
        {"prompt": "Hi", "response": ""}, {"messages": [USER, {**ANSWER, "content": ""}]}
    )

    assert table.items == (item(""), item("", id="stream:2"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"),
        (" a ", " a "),
        (3, "3"),
        (3.0, "3"),
        (2.5, "2.5"),
        (-1, "-1"),
        ("x" * 9, "x" * 9),
    ],
)
def test_ids_are_text_to_the_letter_or_numbers(read_rows, value, expected):
    table = read_rows({"id": value, "response": "r"})

    assert table.items[0].id == expected


@pytest.mark.parametrize("value", [None, "", "  "])
def test_without_an_id_an_item_is_called_after_its_line(read_rows, value):
    table = read_rows({"response": "r"}, {"id": value, "response": "r"})

    assert [found.id for found in table.items] == ["stream:1", "stream:2"]


def test_columns_rename_ours_to_the_files(read_rows, item):
    row = {"uid": 7, "q": "Hi", "a": "Hello.", "response": "other", "kind": "k", "src": "s"}
    names = {"id": "uid", "prompt": "q", "response": "a", "group": "kind", "cluster": "src"}

    table = read_rows(row, columns=names)

    assert table.items == (
        item("Hello.", id="7", group="k", cluster="s", metadata={"response": "other"}),
    )


def test_a_column_may_be_the_group_and_the_prompt(read_rows):
    table = read_rows({"prompt": "Hi", "response": "r"}, columns={"group": "prompt"})

    assert table.items[0].group == "Hi"
    assert table.items[0].prompt[0].content == "Hi"


def test_a_column_declared_for_the_response_is_no_prompt_by_its_name(read_rows):
    table = read_rows({"input": "answer"}, columns={"response": "input"})

    assert table.items[0].response == "answer"
    assert table.items[0].prompt == ()


def test_a_declared_column_that_a_row_lacks_is_named(read_rows):
    table = read_rows({"a": "x"}, {"response": "x"}, columns={"response": "a"})

    assert [(drop.column, drop.reason) for drop in table.dropped] == [
        ("a", "no response: no column holds one")
    ]


def test_a_declared_column_that_no_row_has_is_refused(read_rows):
    rows = [{"prompt": "p", "response": "r"}] * 2

    with pytest.raises(
        InputError,
        match=r"<stream>: column `q` must exist, got columns 'prompt', 'response'. "
        "Correct `columns`",
    ):
        read_rows(*rows, columns={"prompt": "q"})


def test_a_declared_column_may_come_late_and_be_null(read_rows):
    rows = [{"response": "r"}] * 3

    table = read_rows(*rows, {"response": "s", "family": None}, columns={"group": "family"})

    assert [found.group for found in table.items] == [None] * 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"item": "a", "annotator": "x", "label": 1}, "looks like labels: name the file of the re"),
        ({"id": "a", "judge": "x", "value": 1}, "looks like labels"),
        ({"Prompt": "a", "Response": "b"}, r"of 'Prompt', 'Response'\). Name it with"),
        ({"item": "a", "label": 1, "response": 5}, r"got 5\). Name the columns with"),
        ([{"response": "x"}], r"row must be a JSON object.*\). Declare another `format`"),
    ],
)
def test_a_file_of_another_kind_is_told_what_to_do(read_rows, row, message):
    with pytest.raises(NoDataError, match=message):
        read_rows(row)


def test_the_behavior_given_is_for_rows_that_name_none(read_rows):
    table = read_rows(
        {"response": "r"}, {"response": "r", "behavior": "hard_refuse"}, behavior="comply"
    )

    assert [found.behavior for found in table.items] == ["comply", "hard_refuse"]


def test_text_that_looks_like_json_stays_text_where_no_column_was_declared(read_rows):
    cell = json.dumps([USER])

    table = read_rows({"prompt": cell, "response": cell})

    assert table.items[0].prompt[0].content == cell
    assert table.items[0].response == cell


def test_messages_as_json_text_need_no_declaration(read_rows, item):
    table = read_rows(
        {"messages": json.dumps([USER, ANSWER])},
        {"messages": "", "prompt": "Hi", "response": "Hello."},
        {"messages": json.dumps([USER]), "response": "Hello."},
    )

    assert table.items == tuple(item("Hello.", id=f"stream:{line}") for line in (1, 2, 3))


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"judged": "answer"}, r"`judged` must be one of 'final_answer', 'with_reasoning'"),
        ({"format": "xml"}, r"`format` must be one of 'csv', 'tsv'.*got 'xml'"),
        ({"batch_size": 0}, r"`batch_size` must be a whole number of at least 1, got 0"),
        ({"behavior": " "}, r"`behavior` must be a name, got ' '"),
        ({"behavior": 3}, r"`behavior` must be a name, got 3"),
        ({"columns": ["id"]}, r"`columns` must map our names to the file's, got \['id'\]"),
        ({"columns": {"item": "x"}}, r"`columns` must map .* got {'item': 'x'}. Use some of 'id'"),
        ({"columns": {"id": 3}}, r"`columns` must map .* got {'id': 3}"),
    ],
)
def test_a_wrong_argument_is_refused_before_the_file_is_opened(declared, message):
    with pytest.raises(InputError, match=message):
        stream_items("nowhere.jsonl", **declared)


def test_a_file_without_any_item_says_what_is_wrong_with_its_first_row(read_rows):
    with pytest.raises(
        NoDataError,
        match=r"<stream>: must hold at least one item, got 2 rows and a reason against each "
        r"\(first <stream>:1: no response: no column holds one, of 'prompt'\)",
    ):
        read_rows({"prompt": "a"}, {"prompt": "b"})


def test_rows_that_all_differ_in_their_keys_are_read_all_the_same(read_rows):
    rows = [{f"key{n}": n, "response": "r"} for n in range(2_500)]

    table = read_rows(*rows)

    assert [found.metadata for found in table.items] == [{f"key{n}": n} for n in range(2_500)]


@pytest.mark.parametrize("word", ["NA", "n/a", "NaN", "null", " NA "])
@pytest.mark.parametrize(
    "rest",
    [
        lambda word: {"prompt": "Hi", "response": word},
        lambda word: {"messages": [USER, ANSWER | {"content": word}]},
        lambda word: {"prompt": "Hi", "response": "Hello.", "other": word},
    ],
    ids=["text", "messages", "pair"],
)
def test_a_word_for_nothing_is_no_response_unless_other_words_are_declared(read_rows, word, rest):
    row = {"id": "a"} | rest(word)

    table = read_rows({"response": "Hello."}, row)
    kept = read_rows(row, missing=["<NA>"])

    assert [found.response for found in table.items] == ["Hello."]
    assert table.dropped[0].item == "a"
    assert "no response" in table.dropped[0].reason
    assert "missing=['<NA>']" in table.dropped[0].reason
    assert word in (kept.items[0].response, kept.items[0].other)
    assert kept.dropped == ()


def test_a_word_for_nothing_is_no_prompt_and_no_system_message(read_rows):
    table = read_rows(
        {"system": "NaN", "prompt": "Hi", "response": "Hello."},
        {"instruction": "Hi", "input": "null", "response": "Hello."},
        {"prompt": "NA", "response": "Hello."},
    )

    said = [[one.content for one in found.prompt] for found in table.items]
    assert said == [["Hi"], ["Hi"], []]


def test_an_empty_response_is_none_where_that_is_declared(read_rows):
    table = read_rows({"response": ""}, {"response": "Hello."}, missing=[""])

    assert [found.response for found in table.items] == ["Hello."]
