"""Files with one mistake each: an error that says what to do, or the clean study's verdicts."""

import csv
import io
import json

import numpy as np
import pytest

ITEMS = [f"t{n:02}" for n in range(60)]
PEOPLE = {"ann": 0.1, "bob": 0.12, "eve": 0.15}
JUDGES = {"good": 0.08, "bad": 0.6}
WORDS = ("insult", "praise", "threat")


def labels_of(raters, seed, words=WORDS):
    """Draw labels: the truth, or by the rater's share another word."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(7).integers(0, len(words), len(ITEMS))
    return {
        name: [
            words[(k + int(rng.integers(1, len(words)))) % len(words)]
            if rng.random() < share
            else words[k]
            for k in truth
        ]
        for name, share in raters.items()
    }


HUMANS, ANSWERS = labels_of(PEOPLE, 1), labels_of(JUDGES, 2)


def long_rows(labels, role):
    return [
        {"item": item, role: name, "label": label}
        for name, row in labels.items()
        for item, label in zip(ITEMS, row, strict=True)
    ]


def as_csv(rows, delimiter=","):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def wide(labels, **more):
    """One row an item, one column a rater."""
    columns = {"item": ITEMS, **more, **labels}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.fixture
def verdicts(call, tmp_path):
    """Examine two files, or one; give the exit status, what was said and the outcomes."""

    def examine(humans, judges, *options):
        names = []
        for name, data in (("humans", humans), ("judges", judges)):
            if data is not None:
                path = tmp_path / f"{name}.csv"
                path.write_bytes(data if isinstance(data, bytes) else data.encode())
                names += [f"--{name}", path]
        done = call("examine", *names, *options, "--json")
        rows = json.loads(done.out)["examinations"] if done.code == 0 else ()
        return done, {row["judge"]: (row["outcome"], row["winning_rate"]) for row in rows}

    return examine


@pytest.fixture
def clean(verdicts):
    found = verdicts(as_csv(long_rows(HUMANS, "annotator")), as_csv(long_rows(ANSWERS, "judge")))[1]
    assert {judge: outcome for judge, (outcome, _) in found.items()} == {
        "good": "passed",
        "bad": "failed",
    }
    return found


def title_case(rows):
    return [
        row | {"label": row["label"].title()} if n % 10 < 3 else row for n, row in enumerate(rows)
    ]


PEOPLE_ROWS, JUDGE_ROWS = long_rows(HUMANS, "annotator"), long_rows(ANSWERS, "judge")
STARS = labels_of(PEOPLE, 1, (1, 3, 5)), labels_of(JUDGES, 2, (1, 3, 5))
JOINED = [row | {"label": row["label"].replace("praise", "insult|threat")} for row in PEOPLE_ROWS]

REFUSED = {
    "annotators in Title Case in some rows": (
        *(title_case(PEOPLE_ROWS), JUDGE_ROWS, []),
        *("must be written alike, got 'Threat' and 'threat'", "--normalize-labels"),
    ),
    "a judge in Title Case": (
        *(PEOPLE_ROWS, [row | {"label": row["label"].title()} for row in JUDGE_ROWS], []),
        *("must be written alike", "--normalize-labels"),
    ),
    "sets in cells and no kind": (
        *(JOINED, JUDGE_ROWS, []),
        *("look like several in one cell", "--kind 'multilabel' with --separator '|'"),
    ),
    "one annotator in two spellings": (
        [
            row | {"annotator": "ann "} if row["annotator"] == "ann" and n % 2 else row
            for n, row in enumerate(PEOPLE_ROWS)
        ],
        *(JUDGE_ROWS, []),
        *("raters must be written alike, got 'ann' and 'ann '", "--normalize-labels"),
    ),
    "stars and no kind": (
        *(long_rows(STARS[0], "annotator"), long_rows(STARS[1], "judge"), []),
        *("numbers, such as", "--kind 'scale'"),
    ),
    "a wrong list of labels": (
        *(PEOPLE_ROWS, JUDGE_ROWS, ["--labels", "rude,praise"]),
        *("cannot be read, more than one in ten", "--labels"),
    ),
    "a judge that is an annotator": (
        *(PEOPLE_ROWS, [row | {"judge": "copy"} for row in long_rows(HUMANS, "judge")[:60]], []),
        *("whose labels are those of 'ann'", "Leave one"),
    ),
    "two labels of one person for one item": (
        *([*PEOPLE_ROWS, PEOPLE_ROWS[0] | {"label": "other"}], JUDGE_ROWS, []),
        *("humans.csv:182", "Keep one of them"),
    ),
    "a judge with other ids": (
        *(PEOPLE_ROWS, [row | {"item": row["item"].upper()} for row in JUDGE_ROWS], []),
        *("must share items", "same item ids"),
    ),
    "a column of text among the annotators": (
        *(wide(HUMANS, text=[f"text {n}" for n in range(60)]), JUDGE_ROWS, []),
        *("`text`", "Name the raters: --rater ann,bob,eve"),
    ),
    "the items instead of their labels": (
        *(wide({}, prompt=["?"] * 60, response=["!"] * 60), JUDGE_ROWS, []),
        *("look like items to be judged", "labels that people gave them"),
    ),
    "a kind that the labels are not of": (
        *(PEOPLE_ROWS, JUDGE_ROWS, ["--kind", "scale"]),
        *("must be a finite number, got 'threat'", "--kind"),
    ),
}


@pytest.mark.edges
@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_that_would_change_verdicts_is_refused(verdicts, mistake):
    people, judges, options, said, way_out = REFUSED[mistake]

    done, _ = verdicts(as_csv(people), as_csv(judges), *options)

    assert done.code == 1
    assert done.said.count("\n") == 1
    assert said in done.err
    assert way_out in done.err


UNDERSTOOD = {
    "semicolons": (as_csv(PEOPLE_ROWS, ";"), []),
    "tabs": (as_csv(PEOPLE_ROWS, "\t"), []),
    "a byte order mark": (as_csv(PEOPLE_ROWS).encode("utf-8-sig"), []),
    "UTF-16": (as_csv(PEOPLE_ROWS).encode("utf-16"), []),
    "blank lines and trailing commas": (
        "\n\n" + as_csv(PEOPLE_ROWS).replace("\n", "\n\n") + ",,\n",
        [],
    ),
    "a row twice": (as_csv([*PEOPLE_ROWS, PEOPLE_ROWS[3]]), []),
    "one label that nobody can read": (
        as_csv([*PEOPLE_ROWS, {"item": "t99", "annotator": "ann", "label": "?"}]),
        ["--labels", ",".join(WORDS)],
    ),
    "a wide table": (as_csv(wide(HUMANS)), []),
    "Title Case, accepted": (as_csv(title_case(PEOPLE_ROWS)), ["--normalize-labels"]),
    "the file of the judges too": (
        as_csv(wide(HUMANS | ANSWERS)),
        ["--rater", "ann", "--rater", "bob", "--rater", "eve"],
    ),
}


@pytest.mark.edges
@pytest.mark.parametrize("oddity", UNDERSTOOD)
def test_an_oddity_that_changes_nothing_gives_the_same_verdicts(verdicts, clean, oddity):
    people, options = UNDERSTOOD[oddity]

    done, found = verdicts(people, as_csv(JUDGE_ROWS), *options)

    assert (done.code, found) == (0, clean)


@pytest.mark.ci
def test_one_file_may_hold_people_and_judges(verdicts, clean):
    options = ["--judge-column", "good", "--judge-column", "bad"]
    long = [*PEOPLE_ROWS, *long_rows(ANSWERS, "annotator")]

    for rows in (wide(HUMANS | ANSWERS), long):
        done, found = verdicts(as_csv(rows), None, *options)

        assert (done.code, found) == (0, clean)
        assert done.err.startswith(
            "3 annotators (ann, bob, eve), 2 judges (good, bad), 60 items, choice, 3"
        )


def test_labels_of_judges_are_not_counted_among_those_of_people(verdicts):
    odd = [row | {"label": "odd"} if n % 20 == 0 else row for n, row in enumerate(JUDGE_ROWS)]
    rows = [*PEOPLE_ROWS, *({"annotator": row.pop("judge"), **row} for row in map(dict, odd))]

    done, _ = verdicts(as_csv(rows), None, "--judge-column", "good", "--judge-column", "bad")

    assert done.err.startswith(
        "3 annotators (ann, bob, eve), 2 judges (good, bad), 60 items, choice, 3"
    )


def test_without_judges_somebody_must_be_one(verdicts):
    done, _ = verdicts(as_csv(wide(HUMANS | ANSWERS)), None)

    assert done.code == 2
    assert "`--judges` must be given, or `--judge-column`" in done.err


def test_a_wide_table_keeps_its_empty_sets(verdicts):
    def sets(labels):
        return {
            name: ["" if x == "praise" else f'["{x}"]' for x in row] for name, row in labels.items()
        }

    options = ["--alignment", "jaccard", "--blank", "nothing"]
    lists = {
        name: [json.dumps([] if not x else json.loads(x)) for x in row]
        for name, row in sets(HUMANS).items()
    }
    judges = as_csv(wide(sets(ANSWERS)))

    found = [
        verdicts(as_csv(wide(people)), judges, *options)[1] for people in (sets(HUMANS), lists)
    ]

    assert found[0] == found[1]
    assert found[0]["good"][0] == "passed"
