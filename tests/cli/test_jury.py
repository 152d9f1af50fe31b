"""A jury on the command line: one file of judges that answer together."""

import json

import polars as pl
import pytest

from cli.test_cascade import (  # noqa: F401  # two fixtures among them
    PRICE,
    QUESTIONS,
    made,
    n_served,
    named_items,
    place,
    probability,
)
from judging_files import write_labels
from voirdire.io import read_items
from voirdire.judging import LocalJudge

COMMAND = ("judge", "items.jsonl", "--rubric", "tiny.yaml", "--judge", "jury.yaml")


@pytest.fixture
def jury(place, faulty_server):  # noqa: F811  # the fixture that was imported
    """Write a jury of a model and a local judge."""
    (place / "jury.yaml").write_text(
        f"""\
schema: voirdire.jury/1
jury:
  name: all
  judges:
    - {{model: openai/test, base_url: "{faulty_server.url}", probability: stated, price: {PRICE}}}
    - {{judge: tiny.npz, weight: 3}}
""",
        encoding="utf-8",
    )
    return place


def expected(folder):
    """Work out the weighted means by hand."""
    local = LocalJudge.load(folder / "tiny.npz")
    columns = [local.questions.index(name) for name in QUESTIONS]
    items = read_items(folder / "items.jsonl").items
    values = local.probabilities(items)[:, columns].tolist()
    return {
        (item.id, name): (probability(item.id, name) + 3 * value) / 4
        for item, row in zip(items, values, strict=True)
        for name, value in zip(QUESTIONS, row, strict=True)
    }


@pytest.mark.ci
def test_a_file_is_judged_by_all_and_examined_as_one(call, jury, faulty_server):
    done = call(*COMMAND, "-o", "out.parquet")
    again = call(*COMMAND, "-o", "again.parquet", "--json")

    assert done.code == 0, done.err
    assert "60 items judged by all (openai/test, tiny-judge and mean)" in done.out
    assert n_served(faulty_server) == 60
    assert json.loads(again.out)["calls"]["n_calls"] == 0
    frame = pl.read_parquet("out.parquet").filter(pl.col("source") == "jury")
    found = frame.select("item", "question", "probability").rows()
    assert {row[:2]: row[2] for row in found} == pytest.approx(expected(jury), abs=1e-12)
    assert frame.equals(pl.read_parquet("again.parquet").filter(pl.col("source") == "jury"))

    write_labels(jury / "labels.csv", named_items(60), annotators=("ann", "bob"), slips=0.1)
    told = call(
        *("examine", "--humans", "labels.csv", "--judges", "out.parquet", "--kind", "boolean"),
        *("--epsilon", "0.2", "--json"),
    )
    assert {row["judge"] for row in json.loads(told.out)["examinations"]} == {"all"}


@pytest.mark.ci
def test_what_is_wrong_with_the_file_is_one_line(call, jury, assert_one_line):
    text = (jury / "jury.yaml").read_text(encoding="utf-8")
    (jury / "jury.yaml").write_text(text.replace("tiny.npz", "nowhere.npz"), encoding="utf-8")

    assert_one_line(call(*COMMAND, "-o", "out.parquet"), "nowhere.npz")


def test_two_judges_are_not_one_in_silence(call, place):  # noqa: F811  # the fixture
    done = call(*COMMAND[:-1], "tiny.npz", "--judge", "openai/test")

    assert done.code == 2
    assert "`--judge` must be given once, got it twice. A jury.yaml makes one" in done.err
