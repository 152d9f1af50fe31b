"""How many rows a file has, about, and what a terminal is told."""

import json

import polars as pl
import pytest

from voirdire.cli import judging_progress
from voirdire.cli.judging_progress import estimated_rows, said_of
from voirdire.judging import JudgingProgress


@pytest.mark.parametrize("end", ["jsonl", "csv", "parquet"])
def test_a_small_file_is_counted_exactly(tmp_path, end):
    frame = pl.DataFrame({"id": range(7), "response": ['two\nlines and "quotes"'] * 7})
    path = tmp_path / f"items.{end}"
    {"jsonl": frame.write_ndjson, "csv": frame.write_csv, "parquet": frame.write_parquet}[end](path)

    assert estimated_rows(str(path)) == 7


def test_a_large_file_is_estimated_from_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(judging_progress, "_SAMPLE_BYTES", 1_000)
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps({"id": 1_000 + n}) + "\n" for n in range(5_000)))

    assert estimated_rows(str(path)) == pytest.approx(5_000, rel=0.02)


@pytest.mark.parametrize("name", ["-", "none.jsonl", "items.json", "broken.parquet", "empty.jsonl"])
def test_what_cannot_be_told_is_unknown(tmp_path, name):
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "items.json").write_text("[]")
    (tmp_path / "empty.jsonl").touch()

    assert estimated_rows(name if name == "-" else str(tmp_path / name)) is None


def test_the_rate_leaves_out_what_an_earlier_run_judged():
    state = JudgingProgress(n_items=3_000, n_reused=1_000, n_dropped=0)

    said = said_of(state, seconds=2.0)

    assert said == "3,000 items (1,000 from before) · 1,000/s"


def test_the_end_is_said():
    state = JudgingProgress(n_items=1_234, n_reused=0, n_dropped=0, finishing=True)

    assert said_of(state, seconds=2.0) == "1,234 items · writing the file"
