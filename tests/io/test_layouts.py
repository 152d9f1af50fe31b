"""Tables with names of their own for their columns, and several people in a row."""

import csv
import io
import json

import polars as pl
import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.io import read_labels


@pytest.fixture
def read_rows(read):
    """Read rows as JSON Lines."""

    def read_given(rows, **declared):
        text = "\n".join(map(json.dumps, rows))
        return read(text, **{"format": "jsonl", "kind": None, **declared})

    return read_given


def as_csv(rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


def reasons(table):
    return [(drop.reason, drop.item, drop.rater) for drop in table.dropped]


# Prodigy ------------------------------------------------------------------------------------------


def accept(number, by, accepted, answer="accept", **more):
    options = [{"id": "A"}, {"id": "B"}]
    row = {"text": "...", "_input_hash": number, "_annotator_id": by, "options": options}
    return row | {"accept": accepted, "answer": answer} | more


def test_an_ignored_task_of_prodigy_is_missing_and_no_empty_set(read_rows, labels_of):
    rows = [
        accept(-1, "d-ann", ["A", "B"]),
        accept(-2, "d-ann", []),
        accept(-1, "d-bob", [], "ignore"),
    ]

    table = read_rows(rows, kind="multilabel")

    assert labels_of(table) == {("-1", "d-ann"): ["A", "B"], ("-2", "d-ann"): []}
    assert reasons(table) == [("ignored in Prodigy", "-1", "d-bob")]


@pytest.mark.parametrize("kind", [None, "choice"])
def test_single_options_of_prodigy_are_a_choice(read_rows, labels_of, kind):
    rows = [accept(1, "ann", ["A"]), accept(1, "bob", ["B"]), accept(2, "ann", [], "reject")]

    table = read_rows(rows, kind=kind)

    assert table.kind == "choice"
    assert labels_of(table) == {("1", "ann"): "A", ("1", "bob"): "B"}
    assert reasons(table) == [("rejected in Prodigy, so that no option is its answer", "2", "ann")]


def test_a_label_of_prodigy_is_a_question_that_is_accepted_or_rejected(read_rows):
    rows = [
        {"text": "...", "_input_hash": 5, "_session_id": "d-ann", "label": name, "answer": answer}
        for name, answer in (("SPAM", "accept"), ("RUDE", "reject"), ("SPAM", "ignore"))
    ]

    table = read_rows([rows[0] | {"_input_hash": 4}, *rows[1:]])

    assert table.kind == "boolean"
    assert table.frame.select("question", "item", "rater", "label").rows() == [
        ("SPAM", "4", "d-ann", "true"),
        ("RUDE", "5", "d-ann", "false"),
    ]


def test_the_later_answer_to_a_task_of_prodigy_counts(read_rows, labels_of):
    rows = [accept(1, "ann", ["A"], _timestamp=20), accept(1, "ann", ["B"], _timestamp=10)]

    table = read_rows(rows)

    assert labels_of(table) == {("1", "ann"): "A"}
    assert table.notes == ("1 annotations were replaced by a later one of the same person",)


def test_spans_of_prodigy_cannot_be_compared(read_rows):
    rows = [{"text": "Ann", "_input_hash": 1, "_annotator_id": "ann", "answer": "accept",
             "spans": [{"start": 0, "end": 3, "label": "NAME"}]}]  # fmt: skip

    with pytest.raises(InputError, match=r"`accept` or `label` must exist .* Spans"):
        read_rows(rows)


def test_declared_columns_of_prodigy_hold_for_it_alone(tmp_path):
    people, judge = tmp_path / "people.jsonl", tmp_path / "judge.csv"
    rows = [
        accept(n, by, ["AB"[(n + (n % 9 == k)) % 2]])
        for n in range(40)
        for k, by in enumerate("abc")
    ]
    people.write_text("\n".join(map(json.dumps, rows)))
    judge.write_text("item,label\n" + "".join(f"{n},{'AB'[n % 2]}\n" for n in range(40)))
    columns = {"item": "_input_hash", "annotator": "_annotator_id", "label": "accept"}

    found = voirdire.examine(
        judges=judge, humans=people, reading=voirdire.io.Reading(columns=columns), around=False
    )

    assert [row.winning_rate for row in found.results] == [1]


# Parallel lists -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "labels"),
    [
        (["ph_b", "ph_a"], [True, False]),
        ('["ph_b", "ph_a"]', "[true, false]"),
        ("['ph_b', 'ph_a']", "[True, False]"),
        ("['ph_b' 'ph_a']", "[ True False]"),
    ],
)
def test_lists_side_by_side_are_a_row_for_each_person(read_rows, labels_of, people, labels):
    row = {"completion_id": "c1", "binary_labels": labels, "anonymized_physician_ids": people}
    mine = {"doc": "c1", "who": people, "said": labels}

    table = read_rows([row], kind="boolean")
    named = read_rows(
        [mine], kind="boolean", columns={"item": "doc", "annotator": "who", "label": "said"}
    )

    assert labels_of(table) == {("c1", "ph_b"): "true", ("c1", "ph_a"): "false"}
    assert labels_of(named) == labels_of(table)


def test_lists_of_different_lengths_are_refused(read_rows):
    row = {"item": "1", "annotator": ["ann", "bob"], "label": ["x"]}

    with pytest.raises(InputError, match=r"<stream>:1: column `label` must hold a label for each "):
        read_rows([row])


def test_lists_of_texts_leave_prompts_in_place(tmp_path):
    rows = [
        {"item": n, "prompt": f"p{n}", "annotator": ["a", "b", "c"],
         "label": ["xy"[(n + (n % 9 == k)) % 2] for k in range(3)]}
        for n in range(40)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    judge = {str(n): "xy"[(n == 17) != n % 2] for n in range(40)}

    found = voirdire.examine(judges=judge, humans=frame, kind="choice")

    assert found.results[0].winning_rate == 1
    assert found.questions[0].disputed[0].texts == {"prompt": "p17"}


# People within cells ------------------------------------------------------------------------------


def test_summeval_has_three_experts_and_four_questions(read_rows):
    scores = {"coherence": 2, "consistency": 1, "fluency": 4, "relevance": 3}
    row = {"id": "doc", "model_id": "M1", "decoded": "...", "references": []}
    rows = [row | {"expert_annotations": [scores] * 3, "turker_annotations": [scores] * 5}]

    table = read_rows(rows, kind="scale", question="fluency")

    assert table.frame.select("question", "item", "rater", "label").rows() == [
        ("fluency", "doc|M1", f"expert_annotations {n}", 4.0) for n in (1, 2, 3)
    ]
    assert table.notes == (
        "<stream> names no people: they are called by their place in `expert_annotations`",
    )
    for item, name in (("id,model_id", "doc|M1"), ("model_id", "M1")):
        table = read_rows(rows, kind="scale", question="fluency", columns={"item": item})
        assert table.frame["item"].unique().to_list() == [name]


def test_helpsteer_has_scores_of_people_without_ids(read_rows, labels_of):
    people = [{"score": score, "reasoning": "...", "feedback1": "..."} for score in (-2, 3)]
    row = {"domain": "stem", "context": [], "response1": "a", "response2": "b"}

    table = read_rows(
        [row | {"overall_preference": -1, "individual_preference": people}], kind="scale"
    )

    assert labels_of(table) == {
        ("1", "individual_preference 1"): -2,
        ("1", "individual_preference 2"): 3,
    }


def test_judge_bench_has_people_under_each_metric(read_json):
    scored = {"fluency": {"mean_human": 1.5, "individual_human_scores": [1, 2]}}
    document = {"dataset": "x", "instances": [{"id": 7, "instance": "...", "annotations": scored}]}

    table = read_json(document, kind="scale")

    assert table.frame.select("question", "item", "rater", "label").rows() == [
        ("fluency", "7", "annotations 1", 1.0),
        ("fluency", "7", "annotations 2", 2.0),
    ]


@pytest.mark.parametrize(
    "said",
    [
        {"annotations": "0,1", "annotators": "Ann1,Ann2"},
        {"annotations": {"Ann1": "0", "Ann2": "1"}, "annotators": "Ann1,Ann2"},
    ],
)
def test_lewidi_is_by_item(read_json, labels_of, said):
    document = {"12": {"text": "...", "number of annotators": 2, "lang": "en", **said}}

    table = read_json(document, kind=None)

    assert labels_of(table) == {("12", "Ann1"): "false", ("12", "Ann2"): "true"}


@pytest.mark.parametrize("as_lists", [False, True])
@pytest.mark.parametrize("as_frame", [False, True])
def test_argilla_1_from_the_hub(read_rows, as_lists, as_frame):
    people = [
        {"user_id": "u1", "value": "good", "status": "submitted"},
        {"user_id": "u2", "value": None, "status": "discarded"},
    ]
    if as_lists:
        people = {key: [person[key] for person in people] for key in people[0]}
    row = {"prompt": "...", "quality": people, "quality-suggestion": "bad", "external_id": "x1",
           "quality-suggestion-metadata": {"type": "model", "agent": "gpt", "score": None},
           "metadata": "{}"}  # fmt: skip

    read = (lambda rows, **more: read_labels(pl.DataFrame(rows), **more)) if as_frame else read_rows
    table = read([row], role="annotator")
    judged = read([row], role="judge")

    rows = [
        each.frame.select("question", "item", "rater", "label").rows() for each in (table, judged)
    ]
    assert rows == [[("quality", "x1", "u1", "good")], [("quality", "x1", "gpt", "bad")]]
    assert reasons(table) == [("discarded response", "x1", "u2")]


def test_votes_by_name_are_read_where_their_column_is_named(read_rows, labels_of):
    rows = [{"item": "1", "said": {"ann": "x", "bob": "y"}}, {"item": "2", "said": {"ann": "y"}}]
    listed = [
        {"item": "1", "said": [{"worker": "ann", "label": "x"}, {"worker": "bob", "label": "y"}]}
    ]

    table = read_rows(rows, columns={"label": "said"})

    assert labels_of(table) == {("1", "ann"): "x", ("1", "bob"): "y", ("2", "ann"): "y"}
    assert labels_of(read_rows(listed, columns={"label": "said"})) == {
        ("1", "ann"): "x",
        ("1", "bob"): "y",
    }


# People in rows -----------------------------------------------------------------------------------


def test_a_row_of_google_forms_is_a_person(read, labels_of):
    text = as_csv([
        ["Timestamp", "Email Address", "Is text 1 rude?", "Is text 2 rude?"],
        ["2026/01/02 10:00:00", "ann@example.org", "Yes", "No"],
        ["2026/01/02 10:05:00", "bob@example.org", "No", ""],
    ])  # fmt: skip

    table = read(text, kind=None)

    assert labels_of(table) == {
        ("Is text 1 rude?", "ann@example.org"): "Yes",
        ("Is text 2 rude?", "ann@example.org"): "No",
        ("Is text 1 rude?", "bob@example.org"): "No",
    }
    assert table.notes == ("each row of <stream> is a person, each of 2 columns an item",)


def test_the_three_header_rows_of_qualtrics(read, labels_of):
    names = ["StartDate", "Status", "Progress", "ResponseId", "Q1", "Q2"]
    rows = [
        ["Start Date", "Response Type", "Progress", "Response ID", "Is it rude?", "Is it spam?"],
        [json.dumps({"ImportId": name}) for name in names],
        ["2026-01-02", "IP Address", "100", "R_1", "yes", "no"],
        ["2026-01-02", "Survey Preview", "100", "R_2", "yes", "yes"],
        ["2026-01-03", "IP Address", "50", "R_3", "no", ""],
    ]

    table = read(as_csv([names, *rows]), kind=None)

    assert labels_of(table) == {("Q1", "R_1"): "yes", ("Q2", "R_1"): "no", ("Q1", "R_3"): "no"}
    assert reasons(table) == [("a preview or spam of Qualtrics", None, "R_2")]


@pytest.mark.parametrize(("yes", "no"), [("True", "False"), ("1", "0")])
def test_people_who_did_not_finish_are_said(read, yes, no):
    rows = [
        ["StartDate", "Status", "Finished", "ResponseId", "Q1", "Q2"],
        ["Start Date", "Response Type", "Finished", "Response ID", "Rude?", "Spam?"],
        ["2026-01-02", "IP Address", yes, "R_1", "yes", "no"],
        ["2026-01-03", "IP Address", no, "R_2", "no", ""],
    ]

    said = "1 people of Qualtrics did not finish: "
    assert read(as_csv(rows)).notes[1:] == (f"{said}`--where Finished={yes}` leaves them out",)
    assert read(as_csv(rows), where=[f"Finished={yes}"]).raters == ["R_1"]
    assert len(read(as_csv(rows[:-1])).notes) == 1


def test_people_in_rows_without_a_name_are_numbered(read, labels_of):
    table = read(as_csv([["Timestamp", "q1", "q2"], ["t", "x", "y"], ["t", "y", "y"]]), kind=None)

    assert labels_of(table) == {
        ("q1", "row 2"): "x",
        ("q2", "row 2"): "y",
        ("q1", "row 3"): "y",
        ("q2", "row 3"): "y",
    }


def test_a_time_beside_a_label_makes_no_form(read):
    with pytest.raises(
        InputError, match=r'column `item` must exist, .* columns=\{"item": "text_id"'
    ):
        read("Timestamp,text_id,annotator,label\nt,1,ann,x\n")


# Items of several columns -------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["doc,system", "doc, system"])
def test_an_item_may_be_several_columns(read, labels_of, names):
    text = "doc,system,annotator,label\n1,a,ann,x\n1,b,ann,y\n2,,ann,y\n"

    table = read(text, columns={"item": names})

    assert labels_of(table) == {("1|a", "ann"): "x", ("1|b", "ann"): "y"}
    assert reasons(table) == [("missing item id", None, "ann")]


# Rows that count ----------------------------------------------------------------------------------

STATUS = "item,annotator,label,{0}\n1,ann,x,{1}\n1,bob,y,{2}\n2,ann,x,{1}\n"


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ("status", "Approved", "Rejected"),
        ("AssignmentStatus", "Submitted", "Rejected"),
        ("Status", "APPROVED", "RETURNED"),
        ("ASSIGNMENT:status", "APPROVED", "TIMED-OUT"),
        ("review", "ok", "rejected"),
        ("quality_check", "passed", "failed"),
        ("valid", "TRUE", "FALSE"),
        ("is_spam", "no", "yes"),
    ],
)
def test_rows_that_were_not_accepted_are_named_and_chosen(read, labels_of, column, good, bad):
    text = STATUS.format(column, good, bad)

    with pytest.raises(InputError) as refused:
        read(text)
    kept = read(text, where=[f"{column}={good}"])
    both = read(text, where=[f"{column}={good}", f"{column}={bad}"])

    assert f"column `{column}` says of 1 of 3 rows that they are {bad}" in str(refused.value)
    assert f"--where {column}={good}, or all of them with --where {column}={good} " in str(
        refused.value
    )
    assert labels_of(kept) == {("1", "ann"): "x", ("2", "ann"): "x"}
    assert kept.notes == (f"2 of 3 rows of <stream> have {column}={good}",)
    assert len(both) == 3


def test_a_status_is_no_rater_of_a_wide_table(read, labels_of):
    text = "item,ann,bob,status\n1,x,y,Approved\n2,x,x,Rejected\n"

    assert labels_of(read(text, where=["status=Approved"])) == {
        ("1", "ann"): "x",
        ("1", "bob"): "y",
    }


def test_several_columns_choose_rows_together(read, labels_of):
    text = "item,annotator,label,lang,round\n1,ann,x,en,1\n2,ann,x,de,1\n3,ann,y,en,2\n"

    assert labels_of(read(text, where=["lang=en", "round=2"])) == {("3", "ann"): "y"}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (["lang=fr"], r"column `lang` must hold 'fr' somewhere, got 'de', 'en'"),
        (["tongue=en"], r"column `tongue` must exist, got columns 'item'"),
        (["lang"], r"`where` must be COLUMN=VALUE, got \['lang'\]"),
    ],
)
def test_what_chooses_no_rows_is_refused(read, where, message):
    with pytest.raises(InputError, match=message):
        read("item,annotator,label,lang\n1,ann,x,en\n2,ann,x,de\n", where=where)


# A row for each label -----------------------------------------------------------------------------

FLAGS = "item,annotator,label,value\n" + "".join(
    f"{item},{by},{label},{value}\n"
    for item, by, said in (("1", "ann", "11"), ("1", "bob", "10"), ("2", "ann", "00"))
    for label, value in zip(("rude", "spam"), said, strict=True)
)


@pytest.mark.parametrize("text", [FLAGS, FLAGS.replace(",1\n", ",1.0\n").replace(",0\n", ",0.0\n")])
def test_a_row_for_each_label_is_a_set_or_a_question_each(read, labels_of, text):
    sets = read(text, kind="multilabel")
    questions = read(text, kind="boolean", question="spam")

    assert labels_of(sets) == {
        ("1", "ann"): ["rude", "spam"],
        ("1", "bob"): ["rude"],
        ("2", "ann"): [],
    }
    assert labels_of(questions) == {
        ("1", "ann"): "true",
        ("1", "bob"): "false",
        ("2", "ann"): "false",
    }
    with pytest.raises(InputError, match=r"`kind` must be given .* kind='multilabel' for one q"):
        read(text, kind=None)


def test_one_hot_columns_of_people_and_a_judge_in_one_file(read, labels_of):
    text = "item,annotator,rude,spam\n1,ann,1.0,0.0\n1,gpt,0,1\n2,ann,,\n2,gpt,0.0,0.0\n"

    people = read(text, kind="multilabel", judge_columns=["gpt"])
    judge = read(text, kind="multilabel", judge_columns=["gpt"], role="judge")

    assert labels_of(people) == {("1", "ann"): ["rude"]}
    assert labels_of(judge) == {("1", "gpt"): ["spam"], ("2", "gpt"): []}


@pytest.mark.parametrize("kind", [None, "boolean"])
def test_zeros_and_ones_with_decimals_are_boolean(read, labels_of, kind):
    table = read("item,annotator,label\n1,ann,0.0\n1,bob,1.00\n2,ann,1\n", kind=kind)

    assert table.kind == "boolean"
    assert labels_of(table) == {("1", "ann"): "false", ("1", "bob"): "true", ("2", "ann"): "true"}


def test_the_later_annotation_counts_in_small_exports_of_label_studio_too(read, labels_of):
    text = "id,annotator,annotation_id,updated_at,label\n1,7,40,2026-01-02,x\n1,7,41,2026-01-01,y\n"

    table = read(text)

    assert labels_of(table) == {("1", "7"): "x"}
    assert table.notes == ("1 annotations were replaced by a later one of the same person",)


# Crowds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ("HITId,WorkerId,Input.text,Answer.label", "Answer.label"),
        ("ASSIGNMENT:task_id,ASSIGNMENT:worker_id,INPUT:text,OUTPUT:result", "OUTPUT:result"),
    ],
)
def test_crowds_need_only_the_column_of_their_question(read, labels_of, names, label):
    text = f"{names}\nH1,w1,...,x\nH1,w2,...,y\n"

    with pytest.raises(InputError) as refused:
        read(text)

    assert f'Name it with columns={{"label": "{label}"}}' in str(refused.value)
    assert labels_of(read(text, columns={"label": label})) == {("H1", "w1"): "x", ("H1", "w2"): "y"}
