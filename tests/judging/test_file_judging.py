"""From a file of items to a file of verdicts: formats, and what is whole or not there at all."""

import dataclasses
import io
import json
import os
import sys
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

import voirdire
from full_disk import no_file_above
from voirdire.errors import InputError
from voirdire.judging import JudgingSettings, LlmJudge, ScriptedJudge, judge_file, judge_items
from voirdire.records import Item
from voirdire.reporting import to_json
from voirdire.testing import ScriptedModel

BATCH = 1_000
"""Items in one call of a judge in this process, and in a part of its output."""


class Counting(ScriptedJudge):
    """Counts the items that it is asked about, and breaks off at one of them."""

    asked: ClassVar[list[str]] = []
    breaks_at: ClassVar[tuple[str, type[BaseException]]] = ("", KeyboardInterrupt)

    def probabilities(self, items):
        name, error = self.breaks_at
        if name in {item.id for item in items}:
            raise error
        self.asked.extend(item.id for item in items)
        return super().probabilities(items)


@pytest.fixture
def counting(judge):
    Counting.asked, Counting.breaks_at = [], ("", KeyboardInterrupt)
    return Counting(questions=judge.questions, answer=judge.answer)


@pytest.fixture
def run(rubric, judge, tmp_path):
    def judged(source, output="out.parquet", **settings):
        settings = {"rubric": rubric, "judge": judge} | settings
        return judge_file(source, tmp_path / output, **settings)

    return judged


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# What is written ------------------------------------------------------------------------------


def expected_frame(path, judge, rubric, **settings):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    items = [Item(id=r["id"], response=r["response"], behavior=r["behavior"]) for r in rows]
    (batch,) = judge_items(items, judge, rubric=rubric, batch_size=len(items))
    return batch.frame(**settings)


def test_a_record_says_what_keywords_say_and_a_keyword_counts_before_it(run, write_items):
    path, record = write_items(3), JudgingSettings(layout="wide", threshold=0.9)

    def read(**settings):
        return pl.read_parquet(run(path, **settings).output)

    by_record, by_keywords = read(settings=record), read(layout="wide", threshold=0.9)
    by_both = read(settings=record, layout="long")

    assert by_record.equals(by_keywords)
    assert "question" in by_both.columns


@pytest.mark.edges
@pytest.mark.parametrize("n_items", [1, BATCH, BATCH + 1])
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
    assert pl.read_parquet(outputs[0]).equals(expected)
    assert pl.read_ndjson(outputs[1], schema=expected.schema).equals(expected)
    assert pl.read_csv(outputs[2], schema=expected.schema).equals(expected)
    assert Path(outputs[2]).read_text().startswith(",".join(expected.columns) + "\n")


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
    assert json.loads(to_json(summary))["n_items"] == 130


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


def test_progress_is_told_after_every_batch(run, write_items):
    told = []

    run(write_items(BATCH + 20), progress=told.append)

    assert [state.n_items for state in told] == [BATCH, BATCH + 20, BATCH + 20]
    assert [state.finishing for state in told] == [False, False, True]


def test_long_items_make_shorter_batches(run, tmp_path):
    told = []
    path = tmp_path / "items.jsonl"
    rows = [{"id": f"i{n}", "response": f"0.5 0.{n} " + " " * 2_500_000} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    summary = run(path, progress=told.append)

    assert [state.n_items for state in told] == [1, 2, 3, 4, 4]
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

    (tmp_path / "out.parquet").touch(mode=0o640)  # an empty file may be replaced
    summary = run(path)

    listed = (tmp_path / "out.parquet.dropped.jsonl").read_text().splitlines()
    assert summary.dropped_output == str(tmp_path / "out.parquet.dropped.jsonl")
    assert (summary.n_items, summary.n_dropped, len(listed)) == (3, 3, 3)
    assert [json.loads(line)["line"] for line in listed[:2]] == [4, 5]
    last = json.loads(listed[2])
    assert last["reason"] == "unknown behavior: must be one of refuse, chat"
    assert (last["item"], last["value"]) == ("y", "sing")
    assert (tmp_path / "out.parquet").stat().st_mode & 0o777 == 0o640
    run(write_items(3))
    assert not (tmp_path / "out.parquet.dropped.jsonl").exists()


def test_somebody_elses_file_is_no_list_to_replace(run, write_items, tmp_path):
    (tmp_path / "out.parquet.dropped.jsonl").write_text("my notes\n")

    with pytest.raises(InputError, match=r"must be free for the rows that are set aside"):
        run(write_items(3))

    assert (tmp_path / "out.parquet.dropped.jsonl").read_text() == "my notes\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ""),
        ("\n\n", ""),
        ("not json\n", "line must be JSON"),
        ('{"id": "y", "response": "0 0", "behavior": "sing"}\n', "1 set aside.*unknown behavior"),
    ],
)
def test_a_file_with_nothing_to_judge_is_an_error_and_leaves_nothing(run, tmp_path, text, why):
    path = tmp_path / "items.jsonl"
    path.write_text(text)

    with pytest.raises(voirdire.NoDataError, match=rf"items\.jsonl: must hold at least one.*{why}"):
        run(path)

    assert names(tmp_path) == ["items.jsonl"]


# Whole or not at all --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_run_that_breaks_off_leaves_the_old_file_and_nothing_else(
    run, write_items, counting, tmp_path, error
):
    old = Path(run(write_items(10)).output).read_bytes()
    path = write_items(BATCH + 20)
    Counting.breaks_at = (f"i{BATCH + 5}", error)

    with pytest.raises(error):
        run(path, judge=counting)

    assert names(tmp_path) == ["items.jsonl", "out.parquet"]
    assert (tmp_path / "out.parquet").read_bytes() == old
    Counting.breaks_at = ("", error)
    assert run(path, judge=counting).n_items == BATCH + 20
    assert names(tmp_path) == ["items.jsonl", "out.parquet"]


def test_what_a_killed_run_left_is_removed_by_the_next_one_on_its_output(
    run, write_items, tmp_path
):
    def leave(output):
        folder = tmp_path / f".{output}.0123456789ab.unfinished"
        folder.mkdir()
        (folder / "part-0000000").write_text("half")
        return folder.name

    leave("out[1].csv")
    other = leave("out1.csv")

    run(write_items(3), "out[1].csv")

    assert names(tmp_path) == sorted([other, "items.jsonl", "out[1].csv"])


def test_two_runs_at_once_each_write_a_whole_file(run, write_items, judge, rubric, tmp_path):
    path = write_items(10)

    def run_again(state):
        if not state.finishing:
            layouts.append(pl.read_parquet(run(path, layout="wide").output).columns[:2])

    layouts = []
    output = run(path, progress=run_again).output

    assert layouts == [["item", "behavior"]]
    assert pl.read_parquet(output).equals(expected_frame(path, judge, rubric))
    assert names(tmp_path) == ["items.jsonl", "out.parquet"]


def test_two_runs_of_a_model_on_one_output_are_refused(run, write_items, tmp_path):
    path, told = write_items(10), []
    judge = LlmJudge(
        model=ScriptedModel(lambda _: {"sorry": 0.5, "rude": 0.5}), probability="stated"
    )

    def run_again(state):
        if not told:
            told.append(state)
            with pytest.raises(InputError, match="another run asks this judge for the same output"):
                run(path, judge=judge)
            assert run(path, "other.parquet", judge=judge).n_items == 10

    summary = run(path, judge=judge, progress=run_again)

    outputs = ["items.jsonl", "other.parquet", "out.parquet"]
    assert (len(told), summary.n_items) == (1, 10)
    assert names(tmp_path) == [*outputs, "voirdire-replies.sqlite"]


def test_items_that_change_while_they_are_read_are_refused(run, write_items, tmp_path):
    path = write_items(BATCH + 20)

    def grow(state):
        if state.n_items == BATCH:
            path.write_text(path.read_text() + '{"id": "new", "response": "0 0"}\n')

    with pytest.raises(InputError, match=r"must not change while it is judged"):
        run(path, progress=grow)

    assert names(tmp_path) == ["items.jsonl"]


@pytest.mark.skipif(os.name != "posix", reason="no limit on the size of files")
@pytest.mark.parametrize("what", ["a part", "the whole", "the rows that are set aside"])
@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_a_full_disk_is_said_and_keeps_the_old_file(run, write_items, tmp_path, what, end):
    old = Path(run(write_items(10), f"out.{end}").output).read_bytes()
    path = write_items(3 if "rows" in what else 2 * BATCH)
    n_whole = Path(run(path, f"whole.{end}").output).stat().st_size
    if "rows" in what:
        path.write_text(path.read_text() + "not json\n" * 200)
    n_most = {"a part": n_whole // 4, "the whole": n_whole - 1}.get(what, n_whole)

    with no_file_above(n_most), pytest.raises(InputError, match=r"written \(File too large\)\."):
        run(path, f"out.{end}")

    assert names(tmp_path) == ["items.jsonl", f"out.{end}", f"whole.{end}"]
    assert (tmp_path / f"out.{end}").read_bytes() == old


# Where it is written --------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("end", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_each_kind_of_verdict_file_may_be_replaced(run, write_items, end, layout):
    run(write_items(10), f"out.{end}", layout=layout)

    summary = run(write_items(20), f"out.{end}", layout="wide")

    table = getattr(pl, "read_ndjson" if end == "jsonl" else f"read_{end}")(summary.output)
    assert table.height == 20


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

    with pytest.raises(InputError, match=r"must not replace .* holds no verdicts"):
        run(write_items(3), name)

    assert (tmp_path / name).read_text() == content


def test_the_items_are_never_the_output(run, write_items):
    path = write_items(3)
    before = path.read_bytes()

    with pytest.raises(InputError, match=r"another file than the items"):
        run(path, path.name)

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("out.xlsx", r"must end in \.parquet, \.jsonl or \.csv"),
        ("none/out.csv", r"must be in a folder.*does not exist"),
        (".", r"must end in"),
        ("folder.csv", r"must be a file, got the folder"),
        ("out\udcff.csv", r"must be a path in UTF-8"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_anything_is_judged(
    run, write_items, counting, tmp_path, output, words
):
    (tmp_path / "folder.csv").mkdir()

    with pytest.raises(InputError, match=words):
        run(write_items(3), output, judge=counting)

    assert counting.asked == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_refused(run, write_items, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)

    with pytest.raises(InputError, match=r"cannot be written to"):
        run(write_items(3), "locked/out.csv")


def test_a_link_is_followed_and_stays(run, write_items, tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "real" / "verdicts.csv")

    run(write_items(3), "out.csv")

    assert link.is_symlink()
    assert (tmp_path / "real" / "verdicts.csv").read_text().startswith("item,judge,")


# What does not fit together -------------------------------------------------------------------


def test_a_judge_that_lacks_questions_judges_the_rest_and_says_what_it_leaves_out(run, write_items):
    judge = ScriptedJudge(questions=("sorry",), answer=lambda item: [0.5])

    summary = run(write_items(3), judge=judge)

    assert [row.question for row in summary.questions] == ["sorry"]
    assert set(pl.read_parquet(summary.output)["question"]) == {"sorry"}
    assert "does not answer it: 'rude' and the completion classes" in " ".join(summary.notes)


def test_a_judge_may_answer_more_than_is_asked_in_any_order(run, write_items, judge, rubric):
    wider = ScriptedJudge(
        questions=("rude", "funny", "sorry"),
        answer=lambda item: [float(item.response.split()[1]), 0.5, float(item.response.split()[0])],
    )
    path = write_items(3)

    found = pl.read_parquet(run(path, judge=wider).output).drop("fingerprint")

    assert found.equals(expected_frame(path, judge, rubric).drop("fingerprint"))


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

    with pytest.raises(InputError, match=r"can be sent to other processes.*`workers` 1"):
        run(write_items(3), judge=judge, workers=2)


NO_ANSWERS = ScriptedJudge(questions=("funny",), answer=lambda item: [0.5])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"threshold": 0}, r"`threshold` must be in the interval \(0, 1\)"),
        ({"threshold": 50}, r"`threshold` must be in the interval \(0, 1\)"),
        ({"layout": "broad"}, r"`layout` must be one of"),
        ({"judged": "all"}, r"`judged` must be one of"),
        ({"workers": 0}, r"`workers` must be a whole number of at least 1"),
        ({"behavior": "sing"}, r"`behavior` must be in rubric 'tiny' \('refuse', 'chat'\)"),
        ({"thresholdd": 0.4}, r"`thresholdd` must be a setting.*Write 'threshold'"),
        ({"rubric": "helpfulness"}, r"must ask boolean questions, got 'helpfulness'"),
        ({"judge": {}}, r"`judge` must have a name.*got dict"),
        ({"judge": NO_ANSWERS}, r"without 'sorry', 'rude'.*voirdire distill"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_judged(
    run, write_items, counting, tmp_path, setting, words
):
    with pytest.raises(InputError, match=words):
        run(write_items(3), **{"judge": counting} | setting)

    assert counting.asked == []
    assert names(tmp_path) == ["items.jsonl"]
