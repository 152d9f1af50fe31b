"""The files of a study, as they were named on the command line."""

import io
import json
import sys
from dataclasses import replace

import pytest

from voirdire.cli.study_files import read_files
from voirdire.errors import InputError
from voirdire.io import Reading
from voirdire.studies.study import notes_on_gold

PLAIN = Reading(kind="choice", threshold=0.5)


@pytest.fixture
def read(files):
    """Read the study's files, or others, as the options say."""

    def read_named(*, humans=None, judges=None, gold=None, only=(), questions=(), **options):
        return read_files(
            humans or [str(files[1])],
            judges or [str(files[3])],
            gold,
            reading=replace(PLAIN, **options),
            questions=questions,
            only=only,
        )

    return read_named


def labels_of(table):
    rows = table.frame.select("rater", "item", "label").iter_rows()
    return {(rater, item): label for rater, item, label in rows}


def flat(raters):
    return {
        (rater, item): label for rater, labels in raters.items() for item, label in labels.items()
    }


def test_only_some_judges_with_their_drops(read, study, tmp_path):
    rows = [f"{i},{r},{x}" for r, labels in study["judges"].items() for i, x in labels.items()]
    rows += ["x1,good,perhaps", "x2,bad,perhaps", "x3,,yes"]
    (tmp_path / "more.csv").write_text("item,judge,label\n" + "\n".join(rows))

    found = read(judges=[str(tmp_path / "more.csv")], only=["bad"], labels=["yes", "no"])

    assert found.judges.raters == ["bad"]
    assert {rater for rater, _ in labels_of(found.judges)} == {"bad"}
    assert sorted((row.rater or "", row.item) for row in found.judges.dropped) == [
        ("", "x3"),
        ("bad", "x2"),
    ]


def test_a_column_that_only_one_file_has_is_not_looked_for_in_the_other(read, study, tmp_path):
    rows = [f"{i},{r},{x}" for r, labels in study["humans"].items() for i, x in labels.items()]
    (tmp_path / "others.csv").write_text("text,annotator,label\n" + "\n".join(rows))

    found = read(humans=[str(tmp_path / "others.csv")], columns={"item": "text"})

    assert labels_of(found.humans) == flat(study["humans"])
    assert labels_of(found.judges) == flat(study["judges"])


def test_annotators_called_like_models_are_noted(read, study, tmp_path):
    lines = [[item, *("yes" for _ in range(4))] for item in study["humans"]["ann"]]
    text = "item,ann,gpt-4o,my_llama,Georgpt\n" + "\n".join(map(",".join, lines))
    (tmp_path / "wide.csv").write_text(text)

    found = read(humans=[str(tmp_path / "wide.csv")])

    assert len(found.humans.raters) == 4
    [note] = found.notes
    assert note.startswith("'gpt-4o', 'my_llama' count as people, among the annotators.")
    assert "`--judge-column`" in note


def test_gold_labels_are_read_as_the_question_is(read, study, tmp_path):
    gold = dict(study["judges"]["good"])
    rows = [f"{i},{x.upper()}" for i, x in gold.items()]
    (tmp_path / "gold.csv").write_text("item,label\n" + "\n".join(rows))

    found = read(gold=str(tmp_path / "gold.csv"), kind="boolean")

    truths = {"yes": "true", "no": "false"}
    assert labels_of(found.gold) == {("gold", item): truths[label] for item, label in gold.items()}


def test_a_stream_is_read_once_for_several_questions(read, study, tmp_path, monkeypatch):
    people = [
        {"item": item, "annotator": name, "question": question, "label": label}
        for question in ("a", "b")
        for name, labels in study["humans"].items()
        for item, label in labels.items()
    ]
    for number, row in enumerate(people):
        row["label"] = row["label"] if number % 7 else "other"
    lines = "".join(json.dumps(row) + "\n" for row in people)
    (tmp_path / "humans.jsonl").write_text(lines)
    rows = [
        {"item": item, "judge": "good", "question": question, "label": label}
        for question in ("a", "b", "c")
        for item, label in study["judges"]["good"].items()
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    found = read(humans=[str(tmp_path / "humans.jsonl")], judges=["-"], questions=("a", "b"))

    assert {"a", "b"} <= set(found.judges.frame["question"])
    assert found.judges.raters == ["good"]


def sheet(folder, name, labels, *, more=""):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    rows = "".join(f"{item},{label}{more}\n" for item, label in labels.items())
    path.write_text(f"id,label{',status' if more else ''}\n{rows}")
    return str(path)


@pytest.mark.parametrize(
    ("names", "raters"),
    [
        (["ann.csv", "bob.csv", "cem.csv"], {"ann", "bob", "cem"}),
        (["ann/labels.csv", "bob/labels.csv"], {"ann/labels", "bob/labels"}),
    ],
)
def test_people_without_names_are_called_after_their_files(read, study, tmp_path, names, raters):
    humans = [sheet(tmp_path, name, {"x1": "yes", "x2": "no"}) for name in names]

    found = read(humans=humans)

    assert set(found.humans.raters) == raters
    assert found.notes == []


def test_items_of_one_label_each_are_called_gold(read, tmp_path):
    humans = [sheet(tmp_path, "ann.csv", {"x1": "yes"}), sheet(tmp_path, "bob.csv", {"x2": "no"})]

    found = read(humans=humans)

    alone = read(humans=humans[:1] * 2)

    command = f"`voirdire examine --gold {humans[0]} --judges FILE`"
    (note,) = notes_on_gold(found, humans)
    assert note.startswith("each of 2 items has one label, by one of 2 annotators: nobody is")
    assert notes_on_gold(alone, humans) == [
        f"each of 1 items has one label, which is gold: {command} measures judges by it"
    ]


def test_rows_are_chosen_in_the_files_that_have_the_column(read, tmp_path):
    humans = [
        sheet(tmp_path, "ann.csv", {"x1": "yes", "x2": "no"}, more=",Approved"),
        sheet(tmp_path, "bob.csv", {"x1": "yes", "x2": "no"}, more=",Rejected"),
        sheet(tmp_path, "cem.csv", {"x1": "yes", "x2": "no"}),
    ]

    found = read(humans=[humans[0], humans[2]], where=["status=Approved"])

    assert set(found.humans.raters) == {"ann", "cem"}
    with pytest.raises(InputError, match="column `status` must hold 'Approved' somewhere"):
        read(humans=humans, where=["status=Approved"])
