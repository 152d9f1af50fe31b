import json

import pytest

from voirdire.errors import InputError, NoDataError


def result(question, type_, value):
    return {"from_name": question, "to_name": "text", "type": type_, "value": value}


def task(number, *annotations, data=None, **more):
    return {"id": number, "data": data or {"text": "hello"}, "annotations": annotations, **more}


def annotation(by, *results, **more):
    return {"id": 1, "completed_by": by, "was_cancelled": False, "result": results, **more}


CHOICE = result("sentiment", "choices", {"choices": ["Positive"]})


def test_a_task_is_an_item_and_from_name_the_question(read_json):
    table = read_json([task(7, annotation(3, CHOICE), annotation(4, CHOICE))])

    assert table.frame.select("question", "item", "rater", "label").rows() == [
        ("sentiment", "7", "3", "Positive"),
        ("sentiment", "7", "4", "Positive"),
    ]


@pytest.mark.parametrize(
    ("data", "columns", "item"),
    [
        ({"id": "a", "text": "t"}, None, "a"),
        ({"item": "b", "id": "a"}, None, "b"),
        ({"text_id": 5}, {"item": "text_id"}, "5"),
        ({"text": "t"}, None, "7"),
    ],
)
def test_an_item_is_named_by_its_data_or_else_its_task(read_json, data, columns, item):
    table = read_json([task(7, annotation(3, CHOICE), data=data)], columns=columns)

    assert table.frame["item"].to_list() == [item]


def test_a_key_of_data_that_does_not_exist_is_refused(read_json):
    with pytest.raises(InputError, match=r"`data` must hold the item's key, got 'nr' .* 'text'"):
        read_json([task(7, annotation(3, CHOICE))], columns={"item": "nr"})


def test_a_person_is_called_by_email(read_json):
    people = [{"id": 3, "email": "ann@example.org"}, {"id": 4}]

    table = read_json([task(7, *(annotation(by, CHOICE) for by in people))])

    assert table.frame["rater"].to_list() == ["ann@example.org", "4"]


def test_cancelled_and_empty_annotations_are_listed(read_json):
    cancelled = annotation(3, CHOICE, was_cancelled=True)

    table = read_json([task(7, cancelled, annotation(4), annotation(5, CHOICE))])

    assert table.frame["rater"].to_list() == ["5"]
    assert [(drop.reason, drop.item, drop.rater) for drop in table.dropped] == [
        ("cancelled annotation", "7", "3"),
        ("missing label", "7", "4"),
    ]


def test_an_annotation_of_nobody_is_listed(read_json):
    table = read_json([task(7, annotation(None, CHOICE))])

    assert [drop.reason for drop in table.dropped] == ["missing rater"]


@pytest.mark.parametrize(
    ("kind", "type_", "value", "label"),
    [
        ("choice", "choices", {"choices": ["a"]}, "a"),
        ("multilabel", "choices", {"choices": ["b", "a"]}, ["a", "b"]),
        ("multilabel", "labels", {"labels": ["b"], "start": 0, "end": 3}, ["b"]),
        ("multilabel", "taxonomy", {"taxonomy": [["b"], ["a", "c"]]}, ["a/c", "b"]),
        ("choice", "taxonomy", {"taxonomy": [["a", "c"]]}, "a/c"),
        ("scale", "rating", {"rating": 4}, 4.0),
        ("scale", "number", {"number": 2.5}, 2.5),
        ("text", "textarea", {"text": ["one", "two"]}, "one\ntwo"),
        ("text", "textarea", {"text": "one"}, "one"),
        ("choice", "pairwise", {"selected": "left"}, "left"),
    ],
)
def test_results_of_each_type(read_json, kind, type_, value, label):
    table = read_json([task(7, annotation(3, result("q", type_, value)))], kind=kind)

    assert table.frame["label"].to_list() == [label]


def test_the_labels_of_spans_are_one_set(read_json):
    spans = [result("q", "labels", {"labels": [name], "start": 0}) for name in ("b", "a", "b")]

    table = read_json([task(7, annotation(3, *spans))], kind="multilabel")

    assert table.frame["label"].to_list() == [["a", "b"]]


def test_several_choices_where_one_was_asked_for_are_unknown(read_json):
    both = result("q", "choices", {"choices": ["a", "b"]})
    tasks = [task(7, annotation(3, both), predictions=[{"model_version": "m", "result": [both]}])]

    table, judged = read_json(tasks), read_json(tasks, role="judge")

    assert table.frame.is_empty()
    assert [drop.reason for drop in table.dropped] == [
        "unknown label: must be one label, got ['a', 'b']"
    ]
    assert judged.frame.select("rater", "label", "failure").rows() == [("m", None, "missing label")]


def test_other_results_are_listed(read_json):
    box = result("box", "rectanglelabels", {"rectanglelabels": ["cat"], "x": 1})
    relation = {"type": "relation", "from_id": "a", "to_id": "b"}

    table = read_json([task(7, annotation(3, CHOICE, box, relation))])

    assert table.frame.height == 1
    assert [(drop.reason, drop.question) for drop in table.dropped] == [
        ("Label Studio results of type 'rectanglelabels' are not read", "box")
    ]


def test_predictions_are_a_judges_labels(read_json, labels_of):
    predictions = [{"model_version": "bert", "result": [CHOICE]}, {"result": [CHOICE]}]
    tasks = [task(7, annotation(3, CHOICE), predictions=predictions)]

    table = read_json(tasks, role="judge", rater_name="other")

    assert labels_of(table) == {("7", "bert"): "Positive", ("7", "other"): "Positive"}


def test_a_judge_without_predictions_is_no_data(read_json):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one label, got no rows"):
        read_json([task(7, annotation(3, CHOICE))], role="judge")


def test_one_question_of_several_is_read_on_its_own(read_json):
    stars = result("stars", "rating", {"rating": 4})
    tasks = [task(7, annotation(3, CHOICE, stars))]

    assert read_json(tasks, question="stars", kind="scale").frame["label"].to_list() == [4]
    assert read_json(tasks, question="sentiment").frame["label"].to_list() == ["Positive"]


@pytest.mark.parametrize("broken", [[1], {"a": 1}])
def test_broken_tasks_are_refused(read_json, broken):
    with pytest.raises(InputError, match=r"`(annotations|result)` must be a list of objects"):
        read_json(
            [{"id": 1, "data": {}, "annotations": [annotation(1) | {"result": broken}]}],
            format="label-studio",
        )


def test_the_csv_export_is_plain_csv(read):
    text = 'id,text,sentiment,annotator\n1,hello,"{""choices"": [""b"", ""a""]}",3\n'
    assert json.loads('{"choices": ["b", "a"]}')

    table = read(text, kind="multilabel", columns={"label": "sentiment"})

    assert table.frame.select("item", "rater", "label").rows() == [("1", "3", ["a", "b"])]
