"""Files as newcomers bring them: the message of the first call holds the line that works."""

import csv
import io
import json
import random
import re
import shlex

import pytest

from workbooks import workbook

PEOPLE = ("ana", "ben", "chi")


def made(words, *, slips=0.15):
    """Label 40 items: three people and a judge, each of whom slips now and then."""
    rng = random.Random(5)
    truth = [rng.choice(words) for _ in range(40)]
    return {
        name: [rng.choice(words) if rng.random() < slips else word for word in truth]
        for name in (*PEOPLE, "gpt-4o")
    }


def as_csv(header, rows, delimiter=","):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([header, *rows])
    return text.getvalue().encode("utf-8")


def wide(labels, name="item", ids=None):
    ids = ids or [f"t{n}" for n in range(40)]
    return as_csv([name, *labels], zip(ids, *labels.values(), strict=True))


def label_studio():
    def result(word):
        value = {"choices": [word]}
        return [{"type": "choices", "from_name": "s", "to_name": "t", "value": value}]

    labels = made(["Positive", "Negative"])
    return json.dumps([
        {
            "id": n,
            "data": {"text": f"review {n}"},
            "annotations": [
                {"completed_by": {"email": f"{name}@lab.org"}, "was_cancelled": False,
                 "result": result(labels[name][n])}
                for name in PEOPLE
            ],
            "predictions": [{"model_version": "gpt-4o", "result": result(labels["gpt-4o"][n])}],
        }
        for n in range(40)
    ]).encode()  # fmt: skip


def long(header, labels, more=()):
    rows = ((n, *more, name, labels[name][n]) for n in range(40) for name in labels)
    return as_csv(header, rows)


def two_sheets():
    labels = made(["good", "bad"])
    people = [["id", *PEOPLE], *([n, *(labels[x][n] for x in PEOPLE)] for n in range(40))]
    return workbook(People=people, Model=[["id", "gpt"], *enumerate(labels["gpt-4o"])])


YES = made(["yes", "no"])
SETS = made(["hate", "hate; spam", "off-topic", "none"])
STARS = made([1, 2, 3, 4, 5])
MARKS = {name: [f"{x},5" for x in row] for name, row in STARS.items()}
LONG = [{"sample_id": n, "rater": name, "rating": YES[name][n]} for n in range(40) for name in YES]
FORM = [["10:20", f"{x}@lab.org", *YES[x]] for x in PEOPLE]
FILES = {
    "a wide table with a text": ("wide.csv", as_csv(
        ["comment_id", "text", *YES],
        ([f"c{n}", "Some text, with a comma", *(row[n] for row in YES.values())]
         for n in range(40)))),
    "rows of a database": ("long.jsonl", "\n".join(map(json.dumps, LONG)).encode()),
    "Label Studio": ("project-3.json", label_studio()),
    "two sheets": ("study.xlsx", two_sheets()),
    "preferences": ("prefs.csv", long(
        ["question_id", "model_a", "model_b", "judge_name", "winner"],
        made(["model_a", "model_b", "tie"]), ["one", "two"])),
    "stars": ("stars.csv", wide(STARS, "item_id")),
    "several labels in a cell": ("sets.csv", wide(SETS)),
    "decimal commas": ("noten.csv", as_csv(
        ["Nr", *MARKS], zip(range(40), *MARKS.values(), strict=True), ";")),
    "one label an item": ("labels.csv", as_csv(
        ["id", "label", "gpt-4o"], zip(range(40), YES["ana"], YES["gpt-4o"], strict=True))),
    "an index of pandas": ("frame.csv", wide(YES, "", [*range(40)])),
    "ids that are numbers": ("numbers.csv", wide(YES, "id", [*range(1000, 1040)])),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_the_first_message_has_the_line_that_works(call, tmp_path, monkeypatch, kind):
    name, content = FILES[kind]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)

    first = call("examine", name)
    line = re.search(r"Write: voirdire (examine .*)", first.err)[1]
    second = call(*shlex.split(line))

    assert (first.code, second.code) == (2, 0)
    who = "3 annotators (" if kind != "one label an item" else "1 judge, "
    assert second.err.split("note: ")[-1].startswith(who), second.err
    assert "gpt" in second.out


def test_of_a_form_the_line_lacks_only_the_judge(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = ["Timestamp", "Email Address", *(f"Helpful? [Reply {n}]" for n in range(40))]
    (tmp_path / "form.csv").write_bytes(as_csv(header, FORM))

    done = call("examine", "form.csv")

    assert (
        "holds labels by 'ana@lab.org', 'ben@lab.org', 'chi@lab.org': if one of them is" in done.err
    )
    assert "Write: voirdire examine form.csv --judges FILE" in done.err


def test_a_call_that_names_the_judge_gets_the_whole_line_too(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.csv").write_bytes(FILES["a wide table with a text"][1])

    done = call("examine", "wide.csv", "--judge-column", "gpt-4o")

    assert done.code == 1
    assert done.err.rstrip().endswith(
        "Write: voirdire examine wide.csv --judge-column gpt-4o --column item=comment_id "
        "--rater ana,ben,chi"
    )


def test_a_file_that_nobody_can_read_has_no_such_line(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")

    assert "Write:" not in call("examine", "notes.csv", "--judge-column", "c").err


def test_files_of_labels_are_on_sheets_of_one_workbook(call, tmp_path):
    path = tmp_path / "study.xlsx"
    path.write_bytes(two_sheets())

    done = call("examine", f"{path}#People", "--judges", f"{path}#Model", "--json")
    missing = call("examine", f"{path}#People", "--judges", f"{path}#Other")

    assert [row["judge"] for row in done.json["examinations"]] == ["gpt"]
    assert "'People', 'Model'" in missing.err
