"""`voirdire distill`: a judge from labels, and what it says when it cannot be made."""

import shlex

import pytest

from judging_files import RUBRIC, make_items, write_items, write_labels
from voirdire.io import read_items
from voirdire.judging import load_local_judge


@pytest.fixture
def rows():
    return make_items(120, seed=3)


@pytest.fixture
def given(tmp_path, rows):
    """Write items, labels and rubric; give the arguments that name them, and the output."""
    (tmp_path / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    return [
        *(write_items(tmp_path / "items.jsonl", rows), "-o", tmp_path / "made.npz"),
        *("--labels", write_labels(tmp_path / "labels.csv", rows)),
        *("--rubric", tmp_path / "tiny.yaml"),
    ]


# What is made ---------------------------------------------------------------------------------


def test_a_judge_is_made_that_judges_new_items(call, given, tmp_path):
    done = call("distill", *given)

    judge = load_local_judge(tmp_path / "made.npz")
    new = make_items(60, seed=8)
    found = judge.probabilities(read_items(write_items(tmp_path / "new.jsonl", new)).items)
    right = [
        (found[place, column] >= 0.5) == row["truth"][question]
        for place, row in enumerate(new)
        for column, question in enumerate(judge.questions)
    ]
    assert (done.code, done.err) == (0, "")
    assert judge.questions == ("sorry", "asks")
    assert judge.name == "made"
    assert sum(right) / len(right) > 0.95


def test_what_is_printed_is_the_card_and_the_next_command(call, given, tmp_path):
    done = call("distill", *given, "--card", tmp_path / "card.md")

    card = (tmp_path / "card.md").read_text()
    assert card.startswith("# Card of the local judge made")
    assert card.strip() in done.out
    assert "learnt 2 questions from 120 items" in done.out


@pytest.mark.ci
def test_the_next_command_works_as_it_is_printed(call, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = call("distill", *given).out.splitlines()[-1]
    (_, *words) = shlex.split(printed.replace("ITEMS", str(given[0])))

    done = call(*words, "--json")

    (note,) = done.json["notes"]
    assert note.startswith("the items have no behavior")
    assert done.json["n_items"] == 120


def test_json_is_one_object(call, given):
    done = call("distill", *given, "--json")

    assert done.json["questions"] == ["sorry", "asks"]
    assert (done.json["n_items"], done.json["n_unlabelled"]) == (120, 0)
    assert done.json["raters"] == ["ann"]
    assert done.json["fingerprint"].startswith("sha256:")
    assert done.json["card"]["questions"] == ["sorry", "asks"]


def test_one_question_without_a_rubric(call, given, tmp_path):
    given = given[:-2]

    done = call("distill", *given, "--question", "asks", "--name", "curious", "--json")

    assert done.json["questions"] == ["asks"]
    assert done.json["judge"] == "curious"


@pytest.mark.ci
def test_verdicts_of_a_judge_teach_another(call, given, tmp_path, rows):
    call("distill", *given)
    verdicts = tmp_path / "verdicts.parquet"
    more = write_items(tmp_path / "more.jsonl", make_items(150, seed=5))
    tiny = tmp_path / "tiny.yaml"
    call("judge", more, "--judge", tmp_path / "made.npz", "--rubric", tiny, "-o", verdicts)

    done = call(
        *("distill", more, "--labels", verdicts, "--rubric", tiny, "--json"),
        *("-o", tmp_path / "second.npz"),
    )

    assert done.json["raters"] == ["made"]
    assert done.json["questions"] == ["sorry", "asks"]
    assert done.json["n_items"] == 150


# What is left out -----------------------------------------------------------------------------


def test_ties_unlabelled_items_and_strangers_are_counted(call, given, tmp_path, rows):
    other = [{**row, "truth": {q: not x for q, x in row["truth"].items()}} for row in rows[:3]]
    unknown = make_items(1, seed=1)[0] | {"id": "alien"}
    write_labels(tmp_path / "two.csv", [*other, unknown], annotators=("bob",))
    write_items(tmp_path / "items.jsonl", [*rows, *(x | {"id": f"z{x['id']}"} for x in rows[:5])])

    done = call("distill", *given, "--labels", tmp_path / "two.csv")

    assert done.code == 0
    assert "6 ties set aside" in done.err
    assert "'i0' 'sorry' tie: as many raters say yes as no" in done.err
    assert "(and 5 more like this: i0, " in done.err
    assert "8 items without a label" in done.err  # five more, and three of which all is tied
    assert "1 labelled item not in the file of items" in done.err


def test_a_question_with_one_answer_is_left_out_by_name(call, given, tmp_path, rows):
    for row in rows:
        row["truth"]["asks"] = False
    write_labels(tmp_path / "labels.csv", rows)

    done = call("distill", *given)

    assert done.code == 0
    assert "left out: asks: all 120 labels are no" in done.err
    assert "learnt 1 question from 120 items" in done.out
    assert "--rubric RUBRIC.yaml" not in done.out
    assert load_local_judge(tmp_path / "made.npz").questions == ("sorry",)


# Usage and errors -----------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    "arguments",
    [
        ["distill"],
        ["distill", "items.jsonl"],
        ["distill", "items.jsonl", "--labels", "l.csv", "-o", "x.npz"],
        ["distill", "items.jsonl", "--labels", "l.csv", "--rubric", "safety"],
        [
            "distill",
            "i.jsonl",
            "--labels",
            "l.csv",
            "--question",
            "q",
            "-o",
            "x.npz",
            "--seed",
            "x",
        ],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2(call, arguments):
    done = call(*arguments)

    assert done.code == 2
    assert "Traceback" not in done.err


@pytest.mark.edges
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"-o": "made.bin"}, ["`--output` must end in .npz"]),
        ({"-o": "none/made.npz"}, ["must be in a folder that can be written to", "does not exist"]),
        ({"--labels": "none.csv"}, ["none.csv"]),
        ({"--rubric": "sefety"}, ["sefety"]),
        ({"--rubric": "toxicity"}, ["`--rubric` must ask boolean questions, got 'toxicity'"]),
        ({"--folds": "1"}, ["`--folds` must be a whole number of at least 3, got 1"]),
        ({"--question": "sorrie"}, ["`--question` must be one of 'sorry', 'asks', got 'sorrie'"]),
        ({"--card": "notes.txt"}, ["`--card` must not replace 'notes.txt', which is no card"]),
        ({"--card": "made.npz"}, ["`--output` and `--card` must be different files"]),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(call, given, tmp_path, monkeypatch, change, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("my notes")
    options = dict(zip(given[1::2], given[2::2], strict=True)) | {"-o": "made.npz"} | change

    done = call("distill", given[0], *(word for pair in options.items() for word in pair))

    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err
    assert not (tmp_path / "made.npz").exists()
    assert (tmp_path / "notes.txt").read_text() == "my notes"


def test_a_file_that_is_no_judge_is_not_replaced(call, given, tmp_path, assert_one_line):
    (tmp_path / "made.npz").write_bytes(b"PK my archive")

    done = call("distill", *given)

    assert_one_line(done, "`--output` must not replace", "which is no judge")
    assert (tmp_path / "made.npz").read_bytes() == b"PK my archive"
