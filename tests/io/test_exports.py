"""Labels as other programs write them."""

import csv
import io
import json

import polars as pl
import pytest

import voirdire
from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels

# The alt-test authors' JSON -----------------------------------------------------------------------


SETS = ["cebab_stars", "framing", "lgbteen", "wax"]


def test_annotators_are_the_outer_keys(read_json, labels_of):
    table = read_json({"ann": {"1": "x", "2": "y"}, "bob": {"1": "z"}})

    assert labels_of(table) == {("1", "ann"): "x", ("2", "ann"): "y", ("1", "bob"): "z"}
    assert table.frame["line"].null_count() == 3


def test_one_judge_may_stand_alone(tmp_path, labels_of):
    path = tmp_path / "gpt-4o.json"
    path.write_text(json.dumps({"1": True, "2": None}))

    table = read_labels(path, role="judge", kind="boolean")

    assert table.frame.select("rater", "label", "failure").rows() == [
        ("gpt-4o", "true", None),
        ("gpt-4o", None, "missing label"),
    ]


def test_one_annotator_alone_must_be_named(read_json, labels_of):
    with pytest.raises(InputError, match=r"must be a mapping \{rater: \{item: label\}\}, got 'x'"):
        read_json({"1": "x"})

    assert labels_of(read_json({"1": "x"}, rater_name="ann")) == {("1", "ann"): "x"}


def test_labels_beside_objects_are_refused(read_json):
    with pytest.raises(InputError, match=r"must be a mapping \{rater: \{item: label\}\}, got 'x'"):
        read_json({"gpt": {"1": "x"}, "2": "x"}, role="judge")


def test_missing_labels_are_listed_with_item_and_annotator(read_json):
    table = read_json({"ann": {"1": None, "2": "", "3": "can't tell", "4": "x"}})

    assert [(drop.reason, drop.item, drop.rater, drop.line) for drop in table.dropped] == [
        ("missing label", "1", "ann", None),
        ("missing label", "2", "ann", None),
        ("can't tell", "3", "ann", None),
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [('{"ann": {"1": "x", "1": "x"}}', "1"), ('{"ann": {"1": "x"}, "ann": {"1": "y"}}', "ann")],
)
def test_a_key_that_repeats_is_refused(read, text, key):
    with pytest.raises(InputError, match=rf"<stream>: keys of an object must .* '{key}' twice"):
        read(text, format="json")


@pytest.mark.parametrize("document", [{}, [], {"ann": {}}])
def test_no_labels_are_no_data(read_json, document):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one label, got"):
        read_json(document)


def test_a_blank_item_is_listed(read_json):
    table = read_json({"ann": {"": "x", "1": "y"}})

    assert [(drop.reason, drop.rater) for drop in table.dropped] == [("missing item id", "ann")]


def test_sets_of_labels(read_json, labels_of):
    table = read_json({"ann": {"1": ["b", "a"], "2": []}}, kind="multilabel")

    assert labels_of(table) == {("1", "ann"): ["a", "b"], ("2", "ann"): []}


@pytest.mark.edges
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("part", "role"), [("human", "annotator"), ("llm", "judge")])
def test_the_authors_data_are_read_whole(shared_dir, labels_of, name, part, role):
    path = shared_dir / "data" / "alttest" / name / f"{part}_annotations.json"
    document = json.loads(path.read_text(encoding="utf-8"))

    table = read_labels(path, role=role, kind="choice")

    expected = {
        (item, rater): str(label)
        for rater, answers in document.items()
        for item, label in answers.items()
    }
    assert labels_of(table) == expected
    assert table.dropped == ()


def test_stars_are_a_scale_too(shared_dir):
    path = shared_dir / "data" / "alttest" / "cebab_stars" / "human_annotations.json"

    table = read_labels(path, role="annotator", kind="scale")

    assert sorted(table.frame["label"].unique()) == [1, 2, 3, 4, 5]


# Label Studio -------------------------------------------------------------------------------------


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


def blank(part="annotations", **more):
    """Write two tasks: of one the answer to `q` is rude, of the other nothing is ticked."""
    rude = result("q", "choices", {"choices": ["rude"]})
    answers = [[annotation(3, *given, model_version="m")] for given in ([rude], [])]
    return [task(n, data={"text": "t"}) | {part: given} | more for n, given in enumerate(answers)]


@pytest.mark.parametrize(("part", "role"), [("annotations", "annotator"), ("predictions", "judge")])
def test_where_sets_are_asked_for_nothing_ticked_is_the_empty_set(read_json, part, role):
    table = read_json(blank(part), kind="multilabel", role=role)

    assert table.frame.select("item", "question", "label", "failure").rows() == [
        ("0", "q", ["rude"], None),
        ("1", "q", [], None),
    ]
    assert table.dropped == ()


@pytest.mark.parametrize(("part", "role"), [("annotations", "annotator"), ("predictions", "judge")])
def test_whether_nothing_ticked_is_an_answer_is_not_guessed(read_json, part, role):
    message = (
        r"<stream>: `kind` must be given for 'q', where 1 of 2 answers have nothing ticked\. "
        "Declare kind='multilabel' if that is an answer, kind='choice' if it is not"
    )

    for question in (None, "q"):
        with pytest.raises(InputError, match=message):
            read_json(blank(part), kind=None, role=role, question=question)


def test_an_answer_of_several_labels_tells_that_sets_are_asked_for(read_json):
    several = result("q", "choices", {"choices": ["rude", "spam"]})
    tasks = [*blank(), task(2, annotation(3, several))]

    table = read_json(tasks, kind=None)

    assert table.kind == "multilabel"
    assert table.frame["label"].to_list() == [["rude"], [], ["rude", "spam"]]


def test_a_judge_that_ticks_nothing_anywhere_answers_what_people_were_asked(read_json):
    nothing = [{"model_version": "m", "result": []}]

    table = read_json(blank(predictions=nothing), kind="multilabel", role="judge", question="q")

    assert table.frame.select("item", "rater", "label").rows() == [("0", "m", []), ("1", "m", [])]


def test_predictions_without_what_they_say_do_not_matter_to_annotations(read_json):
    table = read_json(blank(predictions=[17]), kind="multilabel")

    assert table.frame["label"].to_list() == [["rude"], []]


def test_an_annotation_of_nobody_is_listed(read_json):
    table = read_json([task(7, annotation(None, CHOICE))])

    assert [drop.reason for drop in table.dropped] == ["missing rater"]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("kind", "type_", "value", "label"),
    [
        ("choice", "choices", {"choices": ["a"]}, "a"),
        ("multilabel", "choices", {"choices": ["b", "a"]}, ["a", "b"]),
        ("multilabel", "taxonomy", {"taxonomy": [["b"], ["a", "c"]]}, ["a/c", "b"]),
        ("choice", "taxonomy", {"taxonomy": [["a", "c"]]}, "a/c"),
        ("scale", "rating", {"rating": 4}, 4.0),
        ("scale", "number", {"number": 2.5}, 2.5),
        ("text", "textarea", {"text": ["one", "two"]}, "one\ntwo"),
        ("text", "textarea", {"text": "one"}, "one"),
        ("choice", "pairwise", {"selected": "left"}, "A"),
    ],
)
def test_results_of_each_type(read_json, kind, type_, value, label):
    table = read_json([task(7, annotation(3, result("q", type_, value)))], kind=kind)

    assert table.frame["label"].to_list() == [label]


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("labels", {"labels": ["name"], "start": 0, "end": 3, "text": "Ann"}),
        ("choices", {"choices": ["rude"], "start": "/p[1]/text()[1]", "globalOffsets": {}}),
        ("choices", {"choices": ["cat"], "x": 1.5, "y": 2, "width": 3, "height": 4}),
    ],
)
def test_spans_with_offsets_are_no_choice(read_json, type_, value):
    span = result("span", type_, value)

    table = read_json([task(7, annotation(3, CHOICE, span, span))], kind=None)

    assert table.frame.select("question", "label").rows() == [("sentiment", "Positive")]
    assert [(drop.reason, drop.question) for drop in table.dropped] == [
        ("a span with offsets, which cannot be compared", "span")
    ]
    assert table.notes == ("1 answers are spans with offsets, which cannot be compared",)


def adjudicated(n_items=40, **more):
    """Write tasks of three people and an adjudicator; the judge is wrong once in ten."""
    tasks = []
    for n in range(n_items):
        right = ("no", "yes")[n % 2]
        wrong = ("yes", "no")[n % 2]
        said = [wrong if n % 8 == by else right for by in range(3)]
        answers = [
            annotation(by, result("q", "choices", {"choices": [label]}))
            for by, label in enumerate(said)
        ]
        gold = annotation(9, result("q", "choices", {"choices": [right]}), ground_truth=True)
        prediction = result("q", "choices", {"choices": [wrong if n % 10 == 9 else right]})
        judged = [{"model_version": "gpt", "result": [prediction]}]
        tasks.append(task(n, *answers, gold, predictions=judged) | more)
    return tasks


def test_a_ground_truth_is_gold_and_no_person(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(adjudicated()))

    people = read_labels(path, role="annotator", kind="choice")
    found = voirdire.examine(judges=path, humans=path, kind="choice", around=False)
    against = voirdire.examine(judges=path, humans=path, gold=path, kind="choice", around=False)

    assert people.raters == ["0", "1", "2"]
    assert people.notes == (
        "40 annotations marked as ground truth are no person's: `--gold` reads them",
    )
    assert len(found.results[0].annotators) == 3
    # items 9, 19, 29 and 39 of 40 are wrong, on 9 person 1 is wrong too
    assert against.results[0].advantage_probability == pytest.approx((36 + 37 + 36) / 120)


def test_gold_without_ground_truth_is_what_its_annotators_say(read_json, labels_of):
    tasks = [task(7, annotation(3, CHOICE), predictions=[{"model_version": "m", "result": []}])]

    table = read_json(tasks, role="judge", rater_name="gold")

    assert labels_of(table) == {("7", "3"): "Positive"}


NEGATIVE = result("sentiment", "choices", {"choices": ["Negative"]})


@pytest.mark.parametrize(
    "times",
    [
        [{"updated_at": "2026-01-02"}, {"updated_at": "2026-01-01"}],
        [{"created_at": "2026-01-02"}, {"created_at": "2026-01-01"}],
        [{"id": 9}, {"id": 8}],
        [{"id": 1}, {"id": 8, "was_cancelled": True}],
    ],
)
def test_the_later_annotation_of_a_task_counts(read_json, labels_of, times):
    late, early = times

    table = read_json([task(7, annotation(3, CHOICE, **late), annotation(3, NEGATIVE, **early))])

    assert labels_of(table) == {("7", "3"): "Positive"}
    assert [drop.reason for drop in table.dropped] in (
        ["replaced by the person's later annotation"],
        ["cancelled annotation"],
    )


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
        read_json([{"id": 1, "data": {}, "annotations": [annotation(1) | {"result": broken}]}])


def test_a_judge_that_flags_clean_texts_fails(tmp_path):
    flag = [result("q", "choices", {"choices": ["toxic"]})]
    tasks = []
    for n in range(100):
        annotations = [
            annotation(by, *(flag if (n < 28) != (n % 25 == by) else [])) for by in range(3)
        ]
        predictions = [
            {"model_version": "good", "result": flag if (n < 28) != (n % 25 == 3) else []},
            {"model_version": "eager", "result": flag if n < 56 else []},
        ]
        tasks.append(task(n, *annotations, predictions=predictions))
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))

    found = voirdire.examine(judges=path, humans=path, kind="multilabel", around=False)

    assert {row.judge: row.winning_rate for row in found.results} == {"good": 1, "eager": 0}
    assert {each.n_items for row in found.results for each in row.annotators} == {100}


# CSV and JSON_MIN -----------------------------------------------------------------------------

TICKED = [{"choices": ["rude", "spam"]}, "rude", None]
"""As they are written: several labels, one alone, and nothing."""


def min_rows():
    rows = []
    for number, given in enumerate(TICKED):
        row = {"id": number, "text": "...", "annotator": 7, "annotation_id": 40 + number}
        rows.append(row | ({} if given is None else {"toxic": given}))
    return rows


def min_csv():
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["id", "text", "annotator", "annotation_id", "toxic"])
    for row in min_rows():
        given = row.pop("toxic", "")
        writer.writerow([*row.values(), given if isinstance(given, str) else json.dumps(given)])
    return text.getvalue()


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("named", [{"question": "toxic"}, {"columns": {"label": "toxic"}}])
def test_its_small_exports_hold_sets_and_nothing_ticked_is_the_empty_one(read, form, named):
    text = min_csv() if form == "csv" else json.dumps(min_rows())

    table = read(text, format=form, kind="multilabel", **named)

    assert table.frame.select("item", "rater", "label").rows() == [
        ("0", "7", ["rude", "spam"]),
        ("1", "7", ["rude"]),
        ("2", "7", []),
    ]
    assert table.dropped == ()


def test_a_word_for_no_answer_is_none_in_its_small_exports_too(read):
    rows = [*min_rows()[:2], min_rows()[2] | {"toxic": " NA "}]

    table = read(json.dumps(rows), format="json", kind=None, question="toxic", missing=["NA"])

    assert table.frame["label"].to_list() == [["rude", "spam"], ["rude"]]
    assert [drop.reason for drop in table.dropped] == ["missing label"]


def test_a_single_choice_of_its_small_exports_is_a_word(read):
    rows = [row | {"toxic": "yes"} for row in min_rows()[:2]] + min_rows()[2:]

    table = read(json.dumps(rows), format="json", kind="choice", question="toxic")

    assert table.frame.select("question", "label").rows() == [("toxic", "yes"), ("toxic", "yes")]
    assert [drop.reason for drop in table.dropped] == ["missing label"]


# Argilla ------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("form", ["parquet", "frame"])
def test_flattened_responses_in_columns(form):
    frame = pl.DataFrame(
        {
            "id": ["r1", "r2"],
            "text": ["hello", "bye"],
            "q.responses": [["a", "b"], ["b"]],
            "q.responses.users": [["u1", "u2"], ["u1"]],
            "q.responses.status": [["submitted", "discarded"], ["submitted"]],
            "q.suggestion": ["a", None],
            "q.suggestion.agent": ["gpt", None],
        }
    )
    data = io.BytesIO()
    frame.write_parquet(data)
    given = frame if form == "frame" else io.BytesIO(data.getvalue())
    declared = {} if form == "frame" else {"format": "parquet"}

    table = read_labels(given, role="annotator", **declared)

    assert table.frame.select("question", "item", "rater", "label", "line").rows() == [
        ("q", "r1", "u1", "a", 1),
        ("q", "r2", "u1", "b", 2),
    ]
    assert [(drop.reason, drop.rater) for drop in table.dropped] == [("discarded response", "u2")]
    given = frame if form == "frame" else io.BytesIO(data.getvalue())
    judged = read_labels(given, role="judge", **declared)
    assert judged.frame.select("item", "rater", "label").rows() == [("r1", "gpt", "a")]


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


def test_tasks_in_json_lines_are_recognised(read):
    tasks = [task(number, annotation(3, CHOICE)) for number in (7, 8)]

    table = read("\n".join(map(json.dumps, tasks)), format="jsonl", role="annotator")

    assert table.frame["item"].to_list() == ["7", "8"]


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
