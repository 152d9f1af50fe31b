import json

import pytest

from voirdire.errors import InputError


def record(identity, responses, **more):
    return {"id": identity, "fields": {"text": "hello"}, "responses": responses, **more}


def test_responses_of_argilla_2_by_question(read_json):
    records = [
        record("r1", {"q": [{"value": "a", "user_id": "u1"}, {"value": "b", "user_id": "u2"}]}),
        record("r2", {"q": [], "p": [{"value": "c", "user_id": "u1", "status": "submitted"}]}),
    ]

    table = read_json(records)

    assert table.frame.select("question", "item", "rater", "label", "line").rows() == [
        ("q", "r1", "u1", "a", 1),
        ("q", "r1", "u2", "b", 1),
        ("p", "r2", "u1", "c", 2),
    ]


def test_responses_of_argilla_1_by_user(read_json):
    responses = [
        {"user_id": "u1", "status": "submitted", "values": {"q": {"value": "a"}}},
        {"user_id": "u2", "status": "discarded", "values": {"q": {"value": "b"}}},
        {"user_id": "u3", "status": "discarded", "values": None},
        {"user_id": "u4", "status": "draft", "values": {"q": {"value": "b"}}},
    ]

    table = read_json([{"external_id": "x", "fields": {}, "responses": responses}])

    assert table.frame.select("item", "rater", "label").rows() == [("x", "u1", "a")]
    assert [(drop.reason, drop.rater) for drop in table.dropped] == [
        ("discarded response", "u2"),
        ("discarded response", "u3"),
        ("draft response", "u4"),
    ]


def test_flattened_responses(read_json):
    flat = {
        "id": "r1",
        "text": "hello",
        "q.responses": ["a", "b"],
        "q.responses.users": ["u1", "u2"],
        "q.responses.status": ["submitted", "draft"],
        "q.suggestion": "c",
        "q.suggestion.agent": "gpt",
    }

    table, judged = read_json([flat]), read_json([flat], role="judge")

    assert table.frame.select("question", "rater", "label").rows() == [("q", "u1", "a")]
    assert [drop.reason for drop in table.dropped] == ["draft response"]
    assert judged.frame.select("question", "rater", "label").rows() == [("q", "gpt", "c")]


@pytest.mark.parametrize(
    ("kind", "value", "label"),
    [
        ("choice", "a", "a"),
        ("multilabel", ["b", "a"], ["a", "b"]),
        ("scale", 4, 4.0),
        ("text", "long\ntext", "long\ntext"),
    ],
)
def test_values_of_each_question(read_json, kind, value, label):
    table = read_json([record("r", {"q": [{"value": value, "user_id": "u"}]})], kind=kind)

    assert table.frame["label"].to_list() == [label]


def test_jsonl_exports_are_recognised(read):
    lines = [json.dumps(record("r", {"q": [{"value": "a", "user_id": "u"}]}))]

    for declared in ({"format": "jsonl"}, {"format": None}):
        assert read("\n" + lines[0], **declared).frame["line"].to_list() == [2]


def test_a_column_called_responses_is_a_column(read, labels_of):
    table = read('{"item": 1, "responses": "x"}', format="jsonl")

    assert labels_of(table) == {("1", "responses"): "x"}


@pytest.mark.parametrize(
    "suggestions",
    [
        {"q": {"value": "a", "agent": "gpt", "score": 0.5}},
        [{"question_name": "q", "value": "a", "agent": "gpt"}],
    ],
)
def test_suggestions_are_a_judges_labels(read_json, suggestions):
    table = read_json([record("r", {}, suggestions=suggestions)], role="judge")

    assert table.frame.select("question", "item", "rater", "label").rows() == [
        ("q", "r", "gpt", "a")
    ]


def test_an_item_may_be_named_by_metadata(read_json):
    one = record("r", {"q": [{"value": "a", "user_id": "u"}]}, metadata={"doc": 7})

    table = read_json([one], columns={"item": "doc"})

    assert table.frame["item"].to_list() == ["7"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"responses": {"q": [{"value": "a"}]}}, r"must hold the item's key, got no item, id, ext"),
        (record("r", {"q": "a"}), r"`responses` must be a list of objects, got 'a'"),
        (record("r", ["a"]), r"`responses` must be a list of objects, got \['a'\]"),
        (record("r", {}) | {"fields": "x"}, r"`fields` must be an object, got 'x'"),
        (
            {"id": 1, "q.responses": ["a"], "q.responses.users": []},
            r"`q\.responses` must be as long as its users, got \['a'\] for 0",
        ),
    ],
)
def test_broken_records_are_refused(read_json, broken, message):
    with pytest.raises(InputError, match=message):
        read_json([broken])


def test_a_response_of_nobody_is_listed(read_json):
    table = read_json([record("r", {"q": [{"value": "a"}]})])

    assert [(drop.reason, drop.line) for drop in table.dropped] == [("missing rater", 1)]
