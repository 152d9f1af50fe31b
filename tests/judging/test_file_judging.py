"""From a file of items to a file of verdicts: formats, going on, and what must never be lost."""

import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.judging import (
    JudgingSettings,
    ScriptedJudge,
    judge_file,
    judge_items,
    kept_items,
)
from voirdire.records import Item
from voirdire.rubrics import rubric_to_yaml

PART = 2_000
"""Items of a part, which a run that is interrupted does not judge again."""


class Counting(ScriptedJudge):
    """Counts the items that it is asked about, and may break down on one of them."""

    asked: ClassVar[list[str]] = []
    breaks_at: ClassVar[str | None] = None

    def probabilities(self, items):
        if self.breaks_at in {item.id for item in items}:
            raise KeyboardInterrupt
        self.asked.extend(item.id for item in items)
        return super().probabilities(items)


@pytest.fixture
def counting(judge):
    Counting.asked, Counting.breaks_at = [], None
    return Counting(questions=judge.questions, answer=judge.answer)


@pytest.fixture
def run(rubric, judge, tmp_path):
    def judged(source, output="out.parquet", **settings):
        settings = {"rubric": rubric, "judge": judge} | settings
        return judge_file(source, tmp_path / output, **settings)

    return judged


def interrupt(run, source, counting, *, at, **settings):
    Counting.breaks_at = at
    with pytest.raises(KeyboardInterrupt):
        run(source, judge=counting, **settings)
    Counting.breaks_at = None


# What is written ------------------------------------------------------------------------------


def expected_frame(path, judge, rubric, **settings):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    items = [Item(id=r["id"], response=r["response"], behavior=r["behavior"]) for r in rows]
    (batch,) = judge_items(items, judge, rubric=rubric, batch_size=len(items))
    return batch.frame(**settings)


def test_a_record_says_what_keywords_say_and_a_keyword_counts_before_it(run, write_items):
    path, record = write_items(3), JudgingSettings(layout="wide", threshold=0.9)

    by_record = pl.read_parquet(run(path, "record.parquet", settings=record).output)
    by_keywords = pl.read_parquet(
        run(path, "keywords.parquet", layout="wide", threshold=0.9).output
    )
    by_both = pl.read_parquet(run(path, "both.parquet", settings=record, layout="long").output)

    assert by_record.equals(by_keywords)
    assert "question" in by_both.columns


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"layout": "tall"}, "`layout` must be one of"),
        ({"workers": 0}, "`workers` must be"),
        ({"judged": "thoughts"}, "`judged` must be one of"),
        ({"behavior": " "}, "`behavior` must be a name"),
    ],
    ids=str,
)
def test_a_record_is_checked_where_it_is_made(wrong, said):
    with pytest.raises(InputError, match=said):
        JudgingSettings(**wrong)


@pytest.mark.edges
@pytest.mark.parametrize("n_items", [1, PART, PART + 1, 2 * PART - 1])
def test_a_parquet_file_holds_the_verdicts_in_order(run, write_items, judge, rubric, n_items):
    path = write_items(n_items)

    summary = run(path)

    assert pl.read_parquet(summary.output).equals(expected_frame(path, judge, rubric))
    assert summary.n_items == n_items


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_the_three_formats_hold_the_same(run, write_items, judge, rubric, layout):
    path = write_items(120)

    outputs = [run(path, f"out.{end}", layout=layout).output for end in ("parquet", "jsonl", "csv")]

    expected = expected_frame(path, judge, rubric, layout=layout)
    whole = pl.read_parquet(outputs[0])
    lines = pl.read_ndjson(outputs[1], schema=expected.schema)
    cells = pl.read_csv(outputs[2], schema=expected.schema)
    assert whole.equals(expected)
    assert lines.equals(expected)
    assert cells.equals(expected)


def test_csv_has_one_header_and_jsonl_none(run, write_items, rubric):
    run(write_items(120), "out.csv", layout="wide")
    (header, *rows) = Path(run(write_items(120), "out.csv").output).read_text().splitlines()

    columns = "item,judge,question,label,probability,source,threshold,behavior,failure,fingerprint"
    assert header == columns
    assert header not in rows


def test_the_work_folder_is_gone_at_the_end(run, write_items, tmp_path):
    source = write_items(120)

    run(source)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl", "out.parquet"]


def test_the_summary_adds_up(run, write_items, judge, rubric):
    path = write_items(130)

    summary = run(path, threshold=0.4)

    (batch,) = judge_items(
        [Item(**json.loads(line)) for line in path.read_text().splitlines()],
        judge,
        rubric=rubric,
        threshold=0.4,
    )
    frame = batch.frame()
    for row in summary.questions:
        (part,) = frame.filter(pl.col("question") == row.question).partition_by("question")
        assert row.share_true == pytest.approx(part["label"].mean())
        assert row.mean_probability == pytest.approx(part["probability"].mean())
        assert row.n_failed == 0
    for row in summary.classes:
        name = f"{row.behavior}.{row.completion_class}"
        part = frame.filter(pl.col("question") == name)
        assert row.n_items == part.height
        assert row.share == pytest.approx(part["label"].mean())
        assert row.mean_probability == pytest.approx(part["probability"].mean())
    assert (summary.threshold, summary.rubric, summary.judge) == (0.4, "tiny", "scripted")
    assert json.loads(json.dumps(summary.as_dict(), allow_nan=False))["n_items"] == 130


def test_failures_are_counted_and_means_leave_them_out(run, tmp_path):
    path = tmp_path / "items.jsonl"
    rows = [{"id": "a", "response": "nan 0.2"}, {"id": "b", "response": "0.6 0.4"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    sorry, rude = run(path).questions

    assert (sorry.n_failed, sorry.share_true, sorry.mean_probability) == (1, 1.0, 0.6)
    assert (rude.n_failed, rude.mean_probability) == (0, pytest.approx(0.3))


def test_a_behavior_may_be_given_to_items_that_have_none(run, write_items):
    summary = run(write_items(30), behavior="chat")

    frame = pl.read_parquet(summary.output)
    assert set(frame["behavior"].unique()) == {"refuse", "chat"}


def test_progress_is_told_after_every_part(run, write_items):
    told = []

    run(write_items(PART + 20), progress=told.append)

    assert [state.n_items for state in told] == [PART, PART + 20, PART + 20]
    assert [state.finishing for state in told] == [False, False, True]


@pytest.mark.ci
def test_long_items_make_shorter_parts(run, tmp_path):
    told = []
    path = tmp_path / "items.jsonl"
    rows = [{"id": f"i{n}", "response": f"0.5 0.{n} " + " " * 12_000_000} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    summary = run(path, progress=told.append)

    assert [state.n_items for state in told if not state.finishing][-2:] > [0, 4]
    assert len(told) > 2
    rude = pl.read_parquet(summary.output).filter(question="rude")
    assert rude["probability"].to_list() == [0.0, 0.1, 0.2, 0.3]


def test_standard_output_gets_json_lines(write_items, judge, rubric, monkeypatch):
    path = write_items(30)
    caught = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", caught)

    summary = judge_file(path, "-", rubric=rubric, judge=judge)

    expected = expected_frame(path, judge, rubric)
    assert pl.read_ndjson(caught.buffer.getvalue(), schema=expected.schema).equals(expected)
    assert (summary.output, summary.n_items) == ("-", 30)


# What is set aside ----------------------------------------------------------------------------


def test_rows_that_are_no_items_are_listed_beside_the_verdicts(run, write_items, tmp_path):
    path = write_items(3)
    with path.open("a") as file:
        file.write('{"id": "x"}\nnot json\n{"id": "y", "response": "0 0", "behavior": "sing"}\n')

    summary = run(path)

    listed = (tmp_path / "out.parquet.dropped.jsonl").read_text().splitlines()
    assert summary.dropped_output == str(tmp_path / "out.parquet.dropped.jsonl")
    assert (summary.n_items, summary.n_dropped, len(listed)) == (3, 3, 3)
    assert [json.loads(line)["line"] for line in listed[:2]] == [4, 5]
    assert json.loads(listed[2])["reason"] == "unknown behavior: must be one of refuse, chat"
    assert json.loads(listed[2])["item"] == "y"
    assert json.loads(listed[2])["value"] == "sing"


def test_a_run_without_such_rows_leaves_no_old_list(run, write_items, tmp_path):
    path = write_items(3)
    path.write_text(path.read_text() + "not json\n")
    run(path)

    run(write_items(3))

    assert not (tmp_path / "out.parquet.dropped.jsonl").exists()


def test_somebody_elses_file_is_no_list_to_replace(run, write_items, tmp_path):
    (tmp_path / "out.parquet.dropped.jsonl").write_text("my notes\n")

    with pytest.raises(voirdire.InputError, match=r"must be free for the rows that are set aside"):
        run(write_items(3))

    assert (tmp_path / "out.parquet.dropped.jsonl").read_text() == "my notes\n"


@pytest.mark.parametrize("text", ["", "\n\n", "not json\n", '{"id": "x"}\n'])
def test_a_file_with_nothing_to_judge_is_an_error_and_leaves_nothing(run, tmp_path, text):
    path = tmp_path / "items.jsonl"
    path.write_text(text)

    with pytest.raises(voirdire.NoDataError, match=r"items\.jsonl: must hold at least one"):
        run(path)

    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]


def test_only_unknown_behaviors_is_nothing_to_judge(run, tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": "y", "response": "0 0", "behavior": "sing"}\n')

    with pytest.raises(voirdire.NoDataError, match=r"1 set aside.*unknown behavior"):
        run(path)


# Going on -------------------------------------------------------------------------------------


def test_an_interrupted_run_goes_on_and_gives_the_same_file(run, write_items, counting, tmp_path):
    path = write_items(2 * PART + 20)
    whole = Path(run(path, "whole.parquet").output).read_bytes()
    interrupt(run, path, counting, at=f"i{PART + 30}")
    assert not (tmp_path / "out.parquet").exists()
    assert kept_items(tmp_path / "out.parquet") == PART
    Counting.asked.clear()

    summary = run(path, judge=counting)

    assert summary.n_reused == PART
    assert counting.asked == [f"i{number}" for number in range(PART, 2 * PART + 20)]
    assert Path(summary.output).read_bytes() == whole
    assert kept_items(summary.output) == 0


def test_a_changed_item_is_judged_again_and_no_other_part(run, write_items, counting, tmp_path):
    path = write_items(2 * PART + 20)
    interrupt(run, path, counting, at=f"i{2 * PART + 19}")
    Counting.asked.clear()
    write_items(2 * PART + 20, changed={70})

    summary = run(path, judge=counting)

    again = [*range(PART), *range(2 * PART, 2 * PART + 20)]
    assert counting.asked == [f"i{number}" for number in again]
    fresh = run(path, "fresh.parquet").output
    assert pl.read_parquet(summary.output).equals(pl.read_parquet(fresh))


def test_an_item_with_another_id_is_judged_again(run, write_items, counting):
    path = write_items(PART + 10)
    interrupt(run, path, counting, at=f"i{PART + 9}")
    Counting.asked.clear()
    path.write_text(path.read_text().replace('"i7"', '"seven"'))

    run(path, judge=counting)

    assert "seven" in counting.asked


def test_fewer_items_than_before_leave_no_old_verdict(run, write_items, counting, judge, rubric):
    path = write_items(2 * PART + 20)
    interrupt(run, path, counting, at=f"i{2 * PART + 19}")
    write_items(PART + 10)

    summary = run(path, judge=counting)

    assert summary.n_items == PART + 10
    assert pl.read_parquet(summary.output).equals(expected_frame(path, counting, rubric))


@pytest.mark.edges
@pytest.mark.parametrize(
    "other",
    [
        {"threshold": 0.3},
        {"judged": "whole_turn"},
        {"layout": "wide"},
        {"behavior": "chat"},
        {"version": "2"},
        {"name": "renamed"},
        {"source": "vote"},
        {"text": "Does it apologise?"},
    ],
    ids=str,
)
def test_a_verdict_is_never_stale(run, write_items, counting, rubric, other):
    path = write_items(PART + 20)
    interrupt(run, path, counting, at=f"i{PART + 19}")
    Counting.asked.clear()
    settings = {name: other[name] for name in other if name in {"threshold", "judged", "layout"}}
    if "behavior" in other:
        settings["behavior"] = other["behavior"]
    if "text" in other:
        first = dataclasses.replace(rubric.questions[0], text={"en": other["text"]})
        settings["rubric"] = dataclasses.replace(rubric, questions=(first, rubric.questions[1]))
    own = {name: other[name] for name in other if name in {"version", "name", "source"}}
    judge = dataclasses.replace(counting, **own)

    summary = run(path, judge=judge, **settings)

    assert summary.n_reused == 0
    assert len(counting.asked) == PART + 20


@pytest.mark.edges
@pytest.mark.parametrize("what", ["data", "record", "no record", "half data"])
def test_a_damaged_part_is_judged_again(run, write_items, counting, tmp_path, what):
    path = write_items(2 * PART + 20)
    interrupt(run, path, counting, at=f"i{2 * PART + 19}")
    Counting.asked.clear()
    data = tmp_path / "out.parquet.partial" / "part-0000000.parquet"
    record = data.with_suffix(".json")
    if what == "no record":
        record.unlink()
    elif what == "record":
        record.write_text(record.read_text()[:-5])
    else:
        data.write_bytes(data.read_bytes()[: -1 if what == "data" else 100])

    summary = run(path, judge=counting)

    assert summary.n_reused == PART
    assert counting.asked[:PART] == [f"i{number}" for number in range(PART)]


def test_restart_throws_the_parts_away(run, write_items, counting):
    path = write_items(PART + 20)
    interrupt(run, path, counting, at=f"i{PART + 19}")
    Counting.asked.clear()

    summary = run(path, judge=counting, restart=True)

    assert summary.n_reused == 0
    assert len(counting.asked) == PART + 20


def test_two_runs_at_once_are_noticed(run, write_items):
    pytest.importorskip("fcntl")
    path, told = write_items(10), []

    def run_again(state):
        with pytest.raises(voirdire.InputError, match=r"must not be written by another run"):
            run(path)
        told.append(state)

    run(path, progress=run_again)

    assert told


def test_the_folder_of_somebody_else_is_left_alone(run, write_items, tmp_path):
    folder = tmp_path / "out.parquet.partial"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all my work")

    with pytest.raises(voirdire.InputError, match=r"did not make"):
        run(write_items(10))

    assert (folder / "thesis.txt").read_text() == "all my work"


def test_items_that_change_while_they_are_read_are_refused(run, write_items, tmp_path):
    path = write_items(PART + 20)

    def grow(state):
        if state.n_items == PART:
            path.write_text(path.read_text() + '{"id": "new", "response": "0 0"}\n')

    with pytest.raises(voirdire.InputError, match=r"must not change while it is judged"):
        run(path, progress=grow)

    assert not (tmp_path / "out.parquet").exists()
    assert kept_items(tmp_path / "out.parquet") >= PART


# Where it is written --------------------------------------------------------------------------


def test_a_file_of_verdicts_is_replaced(run, write_items):
    first = run(write_items(10)).output

    second = run(write_items(20))

    assert second.output == first
    assert pl.read_parquet(first)["item"].n_unique() == 20


@pytest.mark.edges
@pytest.mark.parametrize("end", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_each_kind_of_verdict_file_may_be_replaced(run, write_items, end, layout):
    run(write_items(10), f"out.{end}", layout=layout)

    summary = run(write_items(20), f"out.{end}")

    assert summary.n_items == 20


def test_an_empty_file_may_be_replaced(run, write_items, tmp_path):
    (tmp_path / "out.csv").touch()

    assert run(write_items(3), "out.csv").n_items == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("out.csv", "item,score\na,1\n"),
        ("out.csv", "item,behavior\na,\n"),
        ("out.csv", "item,judge,label\na,m,true\n"),
        ("out.jsonl", '{"item": "a"}\n'),
        ("out.jsonl", "[1, 2]\n"),
        ("out.jsonl", "\x00\xff"),
        ("out.parquet", "not parquet"),
    ],
)
def test_nothing_else_is_replaced(run, write_items, tmp_path, name, content):
    (tmp_path / name).write_text(content)

    with pytest.raises(voirdire.InputError, match=r"must not replace .* holds no verdicts"):
        run(write_items(3), name)

    assert (tmp_path / name).read_text() == content


def test_the_items_are_never_the_output(run, write_items):
    path = write_items(3)
    before = path.read_bytes()

    with pytest.raises(voirdire.InputError, match=r"another file than the items"):
        run(path, path.name)

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("out.xlsx", r"must end in \.parquet, \.jsonl or \.csv"),
        ("none/out.csv", r"must be in a folder.*does not exist"),
        (".", r"must end in"),
        ("out\udcff.csv", r"must be a path in UTF-8"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_anything_is_judged(
    run, write_items, counting, output, words
):
    with pytest.raises(voirdire.InputError, match=words):
        run(write_items(3), output, judge=counting)

    assert counting.asked == []


def test_a_folder_is_no_output(run, write_items, tmp_path):
    (tmp_path / "out.csv").mkdir()

    with pytest.raises(voirdire.InputError, match=r"must be a file, got the folder"):
        run(write_items(3), "out.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_refused(run, write_items, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)

    with pytest.raises(voirdire.InputError, match=r"cannot be written to"):
        run(write_items(3), "locked/out.csv")


def test_a_link_is_followed_and_stays(run, write_items, tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "real" / "verdicts.csv")

    run(write_items(3), "out.csv")

    assert link.is_symlink()
    assert (tmp_path / "real" / "verdicts.csv").read_text().startswith("item,judge,")


def test_the_mode_of_a_replaced_file_is_kept(run, write_items, tmp_path):
    run(write_items(3))
    (tmp_path / "out.parquet").chmod(0o640)

    run(write_items(3))

    assert (tmp_path / "out.parquet").stat().st_mode & 0o777 == 0o640


LIMITED = """
import resource, sys
from voirdire.judging import ScriptedJudge, judge_file
from voirdire.rubrics import load_rubric

rubric = load_rubric(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
judge = ScriptedJudge(
    questions=rubric.propositions, answer=lambda item: [float(x) for x in item.response.split()]
)
judge_file(sys.argv[1], sys.argv[2], rubric=rubric, judge=judge)
"""


@pytest.fixture
def limited(rubric, tmp_path):
    """Run a program that may write no file larger than so many bytes."""
    (tmp_path / "tiny.yaml").write_text(rubric_to_yaml(rubric), encoding="utf-8")

    def judged(source, output, n_bytes):
        words = [source, tmp_path / output, tmp_path / "tiny.yaml", n_bytes]
        return subprocess.run(
            [sys.executable, "-c", LIMITED, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
        )

    return judged


@pytest.mark.ci
@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_a_disk_that_is_full_at_the_end_keeps_the_parts_and_the_old_file(
    run, write_items, limited, tmp_path, end
):
    old = Path(run(write_items(10), f"out.{end}").output).read_bytes()
    source = write_items(3 * PART)
    limited(source, f"whole.{end}", 100_000_000)
    whole = (tmp_path / f"whole.{end}").read_bytes()

    # Enough for each part, too little for all of them in one file.
    done = limited(source, f"out.{end}", len(whole) - 1)

    assert done.returncode == 1
    assert "cannot be written (File too large)" in done.stderr
    assert "The finished parts are kept" in done.stderr
    assert (tmp_path / f"out.{end}").read_bytes() == old
    assert kept_items(tmp_path / f"out.{end}") == 3 * PART
    limited(source, f"out.{end}", len(whole))
    assert (tmp_path / f"out.{end}").read_bytes() == whole


@pytest.mark.ci
def test_a_disk_that_is_full_on_the_way_keeps_the_parts(write_items, limited, tmp_path):
    source = write_items(PART)
    limited(source, "first.jsonl", 100_000_000)
    n_bytes = (tmp_path / "first.jsonl").stat().st_size
    row = {"id": "i" * n_bytes, "response": "0 0"}
    with source.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")

    done = limited(source, "out.jsonl", n_bytes + 1)

    assert done.returncode == 1
    assert "(File too large)" in done.stderr
    assert "parts are kept" in done.stderr
    assert kept_items(tmp_path / "out.jsonl") == PART


# What does not fit together -------------------------------------------------------------------


def test_a_judge_that_lacks_questions_judges_the_rest_and_says_what_it_leaves_out(run, write_items):
    judge = ScriptedJudge(questions=("sorry",), answer=lambda item: [0.5])

    summary = run(write_items(3), judge=judge)

    assert [row.question for row in summary.questions] == ["sorry"]
    assert set(pl.read_parquet(summary.output)["question"]) == {"sorry"}
    assert "does not answer it: 'rude' and the completion classes" in " ".join(summary.notes)


def test_a_judge_that_answers_nothing_of_a_rubric_is_refused_with_the_way_out(run, write_items):
    judge = ScriptedJudge(questions=("funny",), answer=lambda item: [0.5])

    with pytest.raises(voirdire.InputError, match=r"without 'sorry', 'rude'.*voirdire distill"):
        run(write_items(3), judge=judge)


def test_a_judge_may_answer_more_than_is_asked_in_any_order(run, write_items, judge, rubric):
    wider = ScriptedJudge(
        questions=("rude", "funny", "sorry"),
        answer=lambda item: [float(item.response.split()[1]), 0.5, float(item.response.split()[0])],
    )
    path = write_items(3)

    found = pl.read_parquet(run(path, judge=wider).output).drop("fingerprint")

    assert found.equals(expected_frame(path, judge, rubric).drop("fingerprint"))


def test_a_rubric_without_propositions_cannot_be_judged(run, write_items):
    with pytest.raises(voirdire.InputError, match=r"must ask boolean questions, got 'helpfulness'"):
        run(write_items(3), rubric="helpfulness")


def test_questions_of_another_kind_are_noted(run, write_items, rubric):
    scale = dataclasses.replace(rubric.questions[0], id="much", kind="scale", minimum=1, maximum=5)
    wider = dataclasses.replace(rubric, questions=(*rubric.questions, scale))

    summary = run(write_items(3), rubric=wider)

    assert summary.notes[0] == "not asked, since they are not boolean: 'much'"


def test_another_wording_than_the_judge_was_made_for_is_noted(run, write_items, judge):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Worded(ScriptedJudge):
        question_texts: dict

    texts = {"sorry": {"en": "Is it sorry?"}, "rude": {"en": "Is it rude?"}}
    worded = Worded(questions=judge.questions, answer=judge.answer, question_texts=texts)

    summary = run(write_items(3), judge=worded)

    assert summary.notes[0] == "the judge was made for another wording of: 'sorry'"


def test_a_judge_that_cannot_be_sent_to_workers_is_refused_with_the_way_out(run, write_items):
    judge = ScriptedJudge(questions=("sorry", "rude"), answer=lambda item: [0.5, 0.5])

    with pytest.raises(voirdire.InputError, match=r"can be sent to other processes.*`workers` 1"):
        run(write_items(3), judge=judge, workers=2)


def test_what_is_no_judge_is_refused(run, write_items):
    with pytest.raises(voirdire.InputError, match=r"`judge` must have a name.*got dict"):
        run(write_items(3), judge={})


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"threshold": 0}, r"`threshold` must be in the interval \(0, 1\)"),
        ({"threshold": 50}, r"`threshold` must be in the interval \(0, 1\)"),
        ({"layout": "broad"}, r"`layout` must be one of"),
        ({"judged": "all"}, r"`judged` must be one of"),
        ({"workers": 0}, r"`workers` must be a whole number of at least 1"),
        ({"behavior": "sing"}, r"`behavior` must be in rubric 'tiny' \('refuse', 'chat'\)"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_judged(
    run, write_items, counting, tmp_path, setting, words
):
    with pytest.raises(voirdire.InputError, match=words):
        run(write_items(3), judge=counting, **setting)

    assert counting.asked == []
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]


def test_the_columns_of_a_wide_file_are_those_that_are_promised(run, write_items):
    output = run(write_items(60), "out.csv", layout="wide").output

    classes = ["refuse.bad", "refuse.good", "refuse.poor", "chat.good", "chat.poor"]
    expected = ["item", "behavior", "sorry", "rude", *classes, "judge", "fingerprint"]
    assert pl.read_csv(output).columns == expected


AUDIT = """
import sys
from pathlib import Path
from voirdire.judging import judge_file

folder, events = sys.argv[1], []

def hook(event, about):
    is_made = event == "open" and set("wa") & set(str(about[1]))
    is_ours = "out.jsonl.partial" in str(about[0]) or str(about[0]) == "README.txt"
    if is_ours and (is_made or event in ("os.remove", "os.rmdir")):
        events.append(f"{event} {Path(str(about[0])).name}")

sys.addaudithook(hook)
judge_file(Path(folder) / "items.jsonl", Path(folder) / "out.jsonl")
print("\\n".join(events))
"""


@pytest.mark.ci
def test_a_folder_is_marked_before_anything_is_in_it_and_until_nothing_is(write_items, tmp_path):
    """So that a run which is killed in between leaves no folder that the next one refuses."""
    path = write_items(10)
    path.write_text(path.read_text().replace("refuse", "comply").replace("chat", "comply"))

    done = subprocess.run(
        [sys.executable, "-c", AUDIT, str(tmp_path)], check=True, capture_output=True, text=True
    )

    events = done.stdout.split("\n")[:-1]
    made = [event for event in events if event.startswith("open")]
    gone = [event for event in events if not event.startswith("open")]
    assert made[0] == "open README.txt"
    assert any("part-" in event for event in made)
    assert gone[-2:] == ["os.remove README.txt", "os.rmdir out.jsonl.partial"]


def test_a_misspelt_setting_is_refused_with_the_nearest_name(tmp_path):
    with pytest.raises(InputError, match="`thresholdd` must be a setting") as e:
        judge_file(tmp_path / "items.jsonl", tmp_path / "out.parquet", thresholdd=0.4)

    assert "Write 'threshold'." in str(e.value)
