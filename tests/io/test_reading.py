import csv
import doctest
import importlib

import polars as pl
import pytest

import voirdire.io
from voirdire.io import read_labels


@pytest.mark.parametrize("module", ["frames", "reading", "table"])
def test_the_examples_run(module):
    failed, tried = doctest.testmod(importlib.import_module(f"voirdire.io.{module}"))

    assert tried > 0
    assert failed == 0


def test_files_of_every_ending_hold_the_same_labels(tmp_path):
    frame = pl.DataFrame({"item": ["1", "2"], "annotator": ["ann", "bob"], "label": ["x", "y"]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.write_ndjson(tmp_path / "a.ndjson")
    frame.write_json(tmp_path / "a.json")
    frame.write_parquet(tmp_path / "a.parquet")
    columns = ["question", "item", "rater", "label", "failure", "cluster"]

    tables = [
        read_labels(path, role="annotator", kind="choice").frame.select(columns)
        for path in sorted(tmp_path.iterdir())
    ]

    assert len(tables) == 6
    assert all(table.equals(tables[0]) for table in tables)
    assert tables[0].select("item", "rater", "label").rows() == [
        ("1", "ann", "x"),
        ("2", "bob", "y"),
    ]


def test_a_path_may_be_text(tmp_path):
    path = tmp_path / "gpt.csv"
    path.write_text("item,label\n1,x\n")

    table = read_labels(str(path), role="judge", kind="choice")

    assert table.frame["rater"].to_list() == ["gpt"]
    assert table.frame["source"].to_list() == [str(path)]


@pytest.mark.parametrize(
    "name",
    ["gpt4_gpteval", "gpt4_streval", "mistralinstruct_gpteval", "mistralinstruct_streval"],
)
def test_real_annotations_with_long_texts_are_read_whole(shared_dir, name):
    path = shared_dir / "data" / "xstest" / f"xstest_v2_completions_{name}.csv"
    raters = ["annotation_1", "annotation_2"]

    table = read_labels(path, role="annotator", kind="choice", raters=raters)

    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        expected = {}
        previous = reader.line_num
        for row in reader:
            for rater in raters:
                if row[rater].strip():
                    expected[row["id"], rater] = (row[rater], max(previous, 1) + 1)
            previous = reader.line_num
    found = {
        (item, rater): (label, line)
        for item, rater, label, line in table.frame.select(
            "item", "rater", "label", "line"
        ).iter_rows()
    }
    assert found == expected
    assert len(found) > 800


def test_everything_exported_is_there():
    assert voirdire.io.read_labels is read_labels


def test_a_label_that_nobody_can_read_leaves_an_empty_table(read):
    table = read("item,annotator,label\n1,ann,maybe\n", kind="boolean")

    assert table.frame.is_empty()
    assert table.frame.schema["label"] == pl.String
    assert len(table.dropped) == 1


def test_drops_come_in_the_order_of_lines(read):
    table = read(
        "item,annotator,label\n1,ann,maybe\n,ann,yes\n3,ann,\n4,ann,no\n4,ann,0\n", kind="boolean"
    )

    assert [drop.line for drop in table.dropped] == [2, 3, 4, 6]
