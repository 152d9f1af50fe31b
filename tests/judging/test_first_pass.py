"""A file of items is gone through before anything is judged, so that a fault costs nothing."""

import io
import json
import os
import sys
import threading

import polars as pl
import pytest

from voirdire.errors import InputError
from voirdire.judging import LlmJudge, ScriptedJudge, estimate_run, judge_file
from voirdire.testing import ScriptedModel

N_ITEMS = 5_000


@pytest.fixture
def asked():
    """Give the ids of the items that were judged."""
    return []


@pytest.fixture
def run(rubric, judge, asked, tmp_path):
    def answer(item):
        asked.append(item.id)
        return judge.answer(item)

    counting = ScriptedJudge(questions=judge.questions, answer=answer)

    def judged(source, output="out.parquet"):
        target = output if output == "-" else tmp_path / output
        return judge_file(source, target, rubric=rubric, judge=counting)

    return judged


def named(name):
    return json.dumps({"id": name, "response": "0.5 0.5"})


def lines_of(*last, n_items=N_ITEMS):
    """Write many good items, then these."""
    return "\n".join([*(named(f"i{n}") for n in range(n_items)), *last]) + "\n"


@pytest.mark.edges
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("i7", r"got 'i7' again \(first at line 8\)"),
        ("i7 ", r"got 'i7 ' again \(first at line 8\)"),
        ("\u3000\ti7", r"\\ti7' again \(first at line 8\)"),
    ],
)
@pytest.mark.parametrize("output", ["out.parquet", "-"])
@pytest.mark.parametrize("source", ["items.jsonl", "<stdin>"])
def test_what_is_wrong_at_the_end_is_said_before_anything_is_judged(
    run, asked, tmp_path, monkeypatch, name, message, output, source
):
    data = lines_of(named(name)).encode()
    (tmp_path / source).write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    with pytest.raises(InputError, match=rf"{source}:5001: .*{message}"):
        run("-" if source == "<stdin>" else tmp_path / source, output)

    assert asked == []
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("output", ["out.parquet", "-"])
def test_a_language_model_is_not_called(rubric, tmp_path, monkeypatch, asked, output):
    monkeypatch.chdir(tmp_path)
    judge = LlmJudge(model=ScriptedModel(asked.append), probability="stated")
    path = tmp_path / "items.jsonl"
    path.write_text(lines_of(named("i7\t"), n_items=20), encoding="utf-8")

    with pytest.raises(InputError, match=r"items\.jsonl:21: .*first at line 8"):
        judge_file(path, output, rubric=rubric, judge=judge)
    with pytest.raises(InputError, match=r"items\.jsonl:21: .*first at line 8"):
        estimate_run(path, rubric=rubric, judge=judge)

    assert asked == []


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


def test_a_table_that_ends_badly_is_refused_first(run, asked, tmp_path):
    path = tmp_path / "items.csv"
    rows = "".join(f"i{n},0.5 0.5\n" for n in range(N_ITEMS))
    path.write_text(f"id,response\n{rows}x,0 0,more\n", encoding="utf-8")

    with pytest.raises(InputError, match=r"items\.csv:5002: row must have 2 fields"):
        run(path)

    assert asked == []


def test_ids_differ_by_more_than_white_space_and_rows_set_aside_take_none(run, tmp_path):
    path = tmp_path / "items.jsonl"
    names = ["a b", "ab", "A b", "a_b", "a:b", "a", "b", "a\u200bb"]
    set_aside = [{"id": "a", "prompt": "p"}, {"id": "b ", "messages": []}]
    path.write_text("\n".join([*map(json.dumps, set_aside), *map(named, names)]), encoding="utf-8")

    summary = run(path)

    judged = pl.read_parquet(summary.output).filter(question="rude")["item"].to_list()
    assert judged == names


def test_items_of_one_row_have_ids_that_are_looked_at_too(run, asked, tmp_path):
    path = tmp_path / "items.jsonl"
    rows = [{"id": "q", "ranked": ["0 0", "0 1"]}, {"id": "q:1 ", "response": "0 0"}]
    path.write_text("\n".join(map(json.dumps, rows)))

    with pytest.raises(InputError, match=r":2: .*got 'q:1 ' again \(first at line 1\)"):
        run(path)

    assert asked == []
