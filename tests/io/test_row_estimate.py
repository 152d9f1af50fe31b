"""How many rows a file has, about."""

import json

import polars as pl
import pytest

from voirdire.io import rows
from voirdire.io.rows import estimate_rows


@pytest.mark.parametrize("end", ["jsonl", "csv", "parquet"])
def test_a_small_file_is_counted_exactly(tmp_path, end):
    frame = pl.DataFrame({"id": range(7), "response": ['two\nlines and "quotes"'] * 7})
    path = tmp_path / f"items.{end}"
    {"jsonl": frame.write_ndjson, "csv": frame.write_csv, "parquet": frame.write_parquet}[end](path)

    assert estimate_rows(str(path)) == 7


def test_a_large_file_is_estimated_from_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "_SAMPLE_BYTES", 1_000)
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps({"id": 1_000 + n}) + "\n" for n in range(5_000)))

    assert estimate_rows(str(path)) == pytest.approx(5_000, rel=0.02)


@pytest.mark.parametrize("name", ["-", "none.jsonl", "items.json", "broken.parquet", "empty.jsonl"])
def test_what_cannot_be_told_is_unknown(tmp_path, name):
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "items.json").write_text("[]")
    (tmp_path / "empty.jsonl").touch()

    assert estimate_rows(name if name == "-" else str(tmp_path / name)) is None
