"""A file of items is gone through before anything is judged, so that a fault costs nothing."""

import io
import json
import os
import sys
import threading
from typing import ClassVar

import polars as pl
import pytest

from voirdire.errors import InputError
from voirdire.judging import LlmJudge, ScriptedJudge, estimate_run, judge_file
from voirdire.testing import ScriptedModel

N_ITEMS = 5_000


class Counting(ScriptedJudge):
    """Counts the items that it is asked about."""

    asked: ClassVar[list[str]] = []

    def probabilities(self, items):
        self.asked.extend(item.id for item in items)
        return super().probabilities(items)


@pytest.fixture
def counting(judge):
    Counting.asked = []
    return Counting(questions=judge.questions, answer=judge.answer)


@pytest.fixture
def run(rubric, counting, tmp_path):
    def judged(source, output="out.parquet", **settings):
        target = output if output == "-" else tmp_path / output
        return judge_file(source, target, **({"rubric": rubric, "judge": counting} | settings))

    return judged


def lines_of(*last, n_items=N_ITEMS):
    """Write many good items, then these."""
    good = [json.dumps({"id": f"i{n}", "response": "0.5 0.5"}) for n in range(n_items)]
    return "\n".join([*good, *last]) + "\n"


def named(name):
    return json.dumps({"id": name, "response": "0.5 0.5"})


REFUSED = {
    "an id that comes again": (named("i7"), "5001: .*got 'i7' again \\(first at line 8\\)"),
    "white space at the end": (named("i7 "), r"5001: .*got 'i7 ' again \(first at line 8\)"),
    "white space before": (named("\u3000\ti7"), r"5001: .*\\ti7' again \(first at line 8\)"),
}


@pytest.mark.edges
@pytest.mark.parametrize(("last", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("output", ["out.parquet", "-"])
def test_what_is_wrong_at_the_end_is_said_before_anything_is_judged(
    run, counting, tmp_path, last, message, output
):
    path = tmp_path / "items.jsonl"
    path.write_text(lines_of(last), encoding="utf-8")

    with pytest.raises(InputError, match=rf"items\.jsonl:{message}"):
        run(path, output)

    assert counting.asked == []
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("output", ["out.parquet", "-"])
def test_a_language_model_is_not_called(rubric, tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    calls = []

    def answer(request):
        calls.append(request)
        return '{"sorry": 0.5, "rude": 0.5}'

    asked = LlmJudge(model=ScriptedModel(answer), probability="stated")
    path = tmp_path / "items.jsonl"
    path.write_text(lines_of(named("i7\t"), n_items=20), encoding="utf-8")

    with pytest.raises(InputError, match=r"items\.jsonl:21: .*first at line 8"):
        judge_file(path, output, rubric=rubric, judge=asked)
    with pytest.raises(InputError, match=r"items\.jsonl:21: .*first at line 8"):
        estimate_run(path, rubric=rubric, judge=asked)

    assert calls == []


@pytest.mark.parametrize("output", ["out.parquet", "-"])
def test_standard_input_is_gone_through_too(run, counting, monkeypatch, output):
    data = lines_of(named("i7 ")).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    with pytest.raises(InputError, match=r"<stdin>:5001: .*\(first at line 8\)"):
        run("-", output)

    assert counting.asked == []


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_pipe_with_a_name_is_judged_as_a_file_is(run, tmp_path, ending):
    rows = pl.DataFrame({"id": ["a", "b"], "response": ["0.5 0.25", "1 0"]})
    pipe = tmp_path / f"pipe.{ending}"
    os.mkfifo(pipe)
    data = rows.write_ndjson() if ending == "jsonl" else rows.write_csv()
    giving = threading.Thread(target=pipe.write_text, args=(data,))
    giving.start()

    summary = run(pipe)

    giving.join(60)
    assert summary.n_items == 2
    found = pl.read_parquet(summary.output).filter(question="sorry")
    assert found["probability"].to_list() == [0.5, 1.0]


def test_a_table_that_ends_badly_is_refused_first(run, counting, tmp_path):
    path = tmp_path / "items.csv"
    rows = "".join(f"i{n},0.5 0.5\n" for n in range(N_ITEMS))
    path.write_text(f"id,response\n{rows}x,0 0,more\n", encoding="utf-8")

    with pytest.raises(InputError, match=r"items\.csv:5002: row must have 2 fields"):
        run(path)

    assert counting.asked == []


def test_rows_that_are_set_aside_take_no_id(run, tmp_path):
    path = tmp_path / "items.jsonl"
    rows = [
        {"id": "a", "prompt": "p"},
        {"id": "a", "response": "0 0"},
        {"id": "b", "messages": [{"role": "user", "content": "unanswered"}]},
        {"id": "b ", "response": "1 1"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    assert run(path).n_items == 2


def test_ids_that_are_told_apart_by_more_than_white_space_are_items_of_their_own(run, tmp_path):
    path = tmp_path / "items.jsonl"
    names = ["a b", "ab", "A b", "a_b", "a:b", "a", "b", "a\u200bb"]
    path.write_text("".join(named(name) + "\n" for name in names), encoding="utf-8")

    summary = run(path)

    judged = pl.read_parquet(summary.output).filter(question="rude")["item"].to_list()
    assert judged == names


def test_items_of_one_row_have_ids_that_are_looked_at_too(run, counting, tmp_path):
    path = tmp_path / "items.jsonl"
    rows = [{"id": "q", "ranked": ["0 0", "0 1"]}, {"id": "q:1 ", "response": "0 0"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    with pytest.raises(InputError, match=r":2: .*got 'q:1 ' again \(first at line 1\)"):
        run(path)

    assert counting.asked == []
