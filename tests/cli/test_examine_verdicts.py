"""`voirdire examine` on what `voirdire judge` wrote: every kind of question, file and folder."""

import polars as pl
import pytest

import voirdire
from judged_kinds import (
    ALIGNMENT_OF,
    KIND_OF,
    KINDS,
    PAIRS,
    RUBRIC_OF,
    human_rows,
    item_rows,
    judge_of,
    machine,
    people,
)
from voirdire.judging import LlmJudge, judge_file, judge_file_with_several

SUFFIXES = (".parquet", ".jsonl", ".csv")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Judge both rubrics into a file of every format, beside the labels of people."""
    folder = tmp_path_factory.mktemp("judged")
    pl.DataFrame(human_rows(KIND_OF)).write_csv(folder / "humans.csv")
    for rubric in (KINDS, PAIRS):
        source = folder / f"items-{rubric.name}.jsonl"
        pl.DataFrame(item_rows(rubric)).write_ndjson(source)
        for suffix in SUFFIXES:
            judge_file(
                source, folder / f"{rubric.name}{suffix}", rubric=rubric, judge=judge_of(rubric)
            )
    return folder


@pytest.fixture
def folder(judged, tmp_path):
    """Give a folder as several judges leave it: two of them, a row set aside, a store."""
    rows = [*item_rows(PAIRS), {"id": "x", "prompt": "What?"}]
    pl.DataFrame(rows).write_ndjson(tmp_path / "items.jsonl")
    stand_ins = [
        LlmJudge(model=judge_of(PAIRS, name=name, version=name).model, name=name)
        for name in ("second", "first")
    ]
    judge_file_with_several(
        tmp_path / "items.jsonl", tmp_path / "verdicts", judges=stand_ins, rubric=PAIRS
    )
    return tmp_path / "verdicts"


@pytest.fixture
def examine(call, judged):
    def run(*options, question="better", kind="choice", humans=None):
        return call(
            *("examine", "--humans", humans or judged / "humans.csv"),
            *("--question", question, "--kind", kind, "--resamples", "0", "--epsilon", "0.1"),
            *options,
        )

    return run


def judges_in(done):
    return [row["judge"] for row in done.json["examinations"]]


@pytest.mark.edges
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("question", KIND_OF)
def test_every_kind_is_examined_from_every_file(examine, judged, question, suffix):
    alignment = ALIGNMENT_OF.get(question, "accuracy")
    path = judged / f"{RUBRIC_OF[question].name}{suffix}"

    done = examine(
        *("--judges", path, "--alignment", alignment, "--json"),
        question=question,
        kind=KIND_OF[question],
    )

    assert (done.code, done.said) == (0, "")
    [row] = done.json["examinations"]
    alone = voirdire.alt_test(
        machine(question),
        people(question),
        kind=KIND_OF[question],
        alignment=alignment,
        epsilon=0.1,
    )
    assert row["winning_rate"] == alone.winning_rate
    assert row["advantage_probability"] == pytest.approx(alone.advantage_probability)
    assert row["n_items"] == alone.n_items


def test_labels_without_a_question_are_told_to_name_it(call, judged, assert_one_line, tmp_path):
    humans = tmp_path / "labels.csv"
    pl.DataFrame(human_rows(["better"])).drop("question").write_csv(humans)
    where = ("--humans", humans, "--judges", judged / "pairs.jsonl", "--kind", "choice")

    done = call("examine", *where)

    assert_one_line(done, "for the question 'label', got none", "'better'", "`--question`")
    assert call("examine", *where, "--question", "better", "--resamples", "0").code == 0


@pytest.mark.ci
def test_a_folder_of_several_judges_is_examined_whole(examine, folder):
    assert {"voirdire-replies.sqlite", "first.parquet.dropped.jsonl"} <= {
        path.name for path in folder.iterdir()
    }
    (folder / ".hidden.csv").write_text("nothing of ours")

    done = examine("--judges", folder, "--json")

    assert (done.code, done.said) == (0, "")
    assert judges_in(done) == ["first", "second"]


@pytest.mark.edges
@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "prompt": "p", "response": "r"},
        {"prompt": "p", "response_a": "r", "response_b": "s"},
        {"id": "a", "prompt": "p", "chosen": "r", "rejected": "s"},
        {"id": "a", "messages": [{"role": "user", "content": "p"}]},
    ],
)
def test_items_are_told_from_verdicts(examine, tmp_path, assert_one_line, row):
    pl.DataFrame([row]).write_ndjson(tmp_path / "items.jsonl")
    items = tmp_path / "items.jsonl"

    as_judges = examine("--judges", items)
    as_humans = examine("--judges", items, humans=items)

    assert_one_line(as_judges, "items.jsonl", "look like items to be judged", "`voirdire judge`")
    assert_one_line(as_humans, "look like items to be judged", "labels that people gave")


def test_one_name_with_two_fingerprints_is_refused(examine, judged, tmp_path, assert_one_line):
    again = judge_of(PAIRS, version="another")
    output = tmp_path / "again.parquet"
    judge_file(judged / "items-pairs.jsonl", output, rubric=PAIRS, judge=again)

    done = examine("--judges", judged / "pairs.parquet", "--judges", output)

    assert_one_line(done, "verdicts by 'scripted' on 'better'", "fingerprint", "pairs.parquet")


def test_one_name_with_other_items_in_each_file_is_said(examine, judged, tmp_path):
    frame = pl.read_parquet(judged / "pairs.parquet")
    frame.head(25).write_parquet(tmp_path / "a.parquet")
    frame.tail(15).write_parquet(tmp_path / "b.parquet")

    done = examine("--judges", tmp_path, "--json")
    whole = examine("--judges", judged / "pairs.parquet", "--json")

    assert done.said.count("\n") == 1
    assert done.said.startswith("note: 'scripted' has verdicts on 25 items in ")
    assert ", 15 items in " in done.said
    assert done.json["examinations"] == whole.json["examinations"]
