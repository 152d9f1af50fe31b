"""Labels of Parquet files that are counted instead of held, against the same labels in memory."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import Reading
from voirdire.records import as_plain
from voirdire.studies import examine

JUDGES = ["gpt", "mini"]
PEOPLE = ["ann", "bob", "eve"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::voirdire.errors.DroppedRowsWarning"),
    pytest.mark.filterwarnings("ignore::voirdire.errors.DoubtfulLabelsWarning"),
]


def make_labels(words, *, n_items=120, questions=("polite",), missing=0.15, seed=0):
    """Make a long table, sorted by item, of three people and two judges."""
    rng = np.random.default_rng(seed)
    rows = []
    for question in questions:
        truth = rng.integers(0, len(words), n_items)
        for rater in [*PEOPLE, *JUDGES]:
            own = np.where(rng.random(n_items) < 0.8, truth, rng.integers(0, len(words), n_items))
            there = np.flatnonzero(rng.random(n_items) >= missing)
            rows += [(f"i{item}", question, rater, words[own[item]]) for item in there.tolist()]
    frame = pl.DataFrame(rows, schema=["item", "question", "rater", "label"], orient="row")
    return frame.sort("item", maintain_order=True)


@pytest.fixture
def write(tmp_path):
    """Write a table in row groups of seven rows: sorted, in any order, or people and judges apart.

    Returns the arguments that name its files.
    """

    def write_table(frame, order):
        path = tmp_path / "labels.parquet"
        if order == "apart":
            sides = [pl.col("rater").is_in(JUDGES).not_(), pl.col("rater").is_in(JUDGES)]
            sides = [frame.filter(side) for side in sides] if "rater" in frame.columns else None
            sides = sides or [frame.drop(JUDGES), frame.select("item", *JUDGES).reverse()]
            paths = [tmp_path / "people.parquet", tmp_path / "judges.parquet"]
            for side, each in zip(sides, paths, strict=True):
                side.write_parquet(each, row_group_size=7)
            return {"humans": paths[0], "judges": paths[1]}
        frame = frame.sample(fraction=1, shuffle=True, seed=1) if order == "shuffled" else frame
        frame.write_parquet(path, row_group_size=7)
        return {"humans": path, "judges": path, "reading": Reading(judge_columns=JUDGES)}

    return write_table


def figures(examination):
    """List numbers and words, without what is said to be left out, by their places."""
    flat = {}

    def walk(value, place):
        if isinstance(value, dict):
            for key, each in value.items():
                walk(each, f"{place}.{key}")
        elif isinstance(value, list):
            for number, each in enumerate(value):
                walk(each, f"{place}[{number}]")
        else:
            flat[place] = value

    for number, result in enumerate(examination.results):
        cautions = tuple(x for x in result.cautions if x.code != "counted")
        plain = as_plain(dataclasses.replace(result, cautions=cautions))
        plain["controls"] = [x for x in plain["controls"] if x["control"] != "random"]
        walk(plain, f"[{number}]")
    walk(as_plain(examination.pooled), "pooled")
    return flat


def assert_same(counted, held):
    ours, theirs = figures(counted), figures(held)
    assert ours.keys() == theirs.keys()
    for place, value in ours.items():
        other = theirs[place]
        if isinstance(value, float) and isinstance(other, float):
            both_nan = math.isnan(value) and math.isnan(other)
            assert both_nan or abs(value - other) <= 1e-12, place
        else:
            assert value == other, place
    assert counted.understood == held.understood
    assert count_dropped(counted) == count_dropped(held)


def count_dropped(examination):
    reasons = {}
    for row in examination.dropped:
        key = (row.reason, row.rater, row.question)
        reasons[key] = reasons.get(key, 0) + row.n_rows
    return reasons


def compare(given, **settings):
    """Examine the same files both ways."""
    settings = {"epsilon": [0.1, 0.2], "n_resamples": 100} | settings
    held = examine(**given, **settings, around=False, large=False)
    counted = examine(**given, **settings, large=True)
    assert_same(counted, held)
    return counted


@pytest.mark.parametrize("order", ["sorted", "shuffled", "apart"])
@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["no", "yes"], {}),
        (["a", "b", "c"], {"family": "judges"}),
        ([1, 2, 3, 4, 5], {"kind": "scale", "alignment": ["neg_rmse", "accuracy"]}),
        (
            ["[]", '["x"]', '["x", "y"]'],
            {"kind": "multilabel", "alignment": ["jaccard", "hamming"]},
        ),
    ],
    ids=["boolean", "choice", "scale", "sets"],
)
def test_figures_of_counted_labels_are_those_of_labels_in_memory(write, words, settings, order):
    given = write(make_labels(words), order)

    found = compare(given, **settings)

    [said] = {row.sentence for row in found.results[0].cautions if row.code == "counted"}
    assert "labels were counted and not held" in said
    assert found.questions == ()


def test_several_questions_are_counted_each_by_itself(write):
    frame = make_labels(["a", "b", "c"], questions=("polite", "brief", "true"), n_items=60)

    found = compare(write(frame, "shuffled"))

    assert {row.question for row in found.results} == {"polite", "brief", "true"}
    assert len(found.pooled) == 4  # two judges at two margins


@pytest.mark.parametrize("order", ["sorted", "apart"])
@pytest.mark.parametrize("words", [["a", "b"], [1.0, 2.0, 3.0]], ids=["words", "numbers"])
def test_raters_in_columns_are_counted_alike(write, words, order):
    frame = make_labels(words).pivot(on="rater", index="item", values="label")

    compare(write(frame, order), kind="choice" if words == ["a", "b"] else "scale")


def test_labels_that_are_set_aside_and_failures_are_counted_with_their_reasons(write):
    frame = make_labels(["a", "b"], n_items=200)
    ends, by_judge = pl.col("item").str.ends_with, pl.col("rater").is_in(JUDGES)
    unsure = pl.when(ends("7") & ~by_judge).then(pl.lit("can't tell"))
    unsure = unsure.when(ends("31") | (ends("52") & by_judge)).then(pl.lit("oops"))
    frame = frame.with_columns(label=unsure.otherwise(pl.col("label")))

    found = compare(write(frame, "shuffled"), kind="choice", labels=["a", "b"])

    assert any(row.worst_case.n_failures for row in found.results)
    assert {row.reason for row in found.dropped} >= {"can't tell"}


def test_probabilities_are_cut_at_the_threshold_that_is_asked_for(write):
    frame = make_labels(["no", "yes"])
    given = write(frame, "apart")
    rng = np.random.default_rng(0)
    judges = pl.read_parquet(given["judges"])
    share = np.where(judges["label"] == "yes", 0.55, 0.15) + rng.random(len(judges)) * 0.4
    judges.drop("label").with_columns(probability=share).write_parquet(given["judges"])

    compare(given, reading=Reading(threshold=0.6, kind="boolean"))


def test_clusters_are_the_units(write):
    frame = make_labels(["a", "b", "c"])
    units = pl.col("item").str.slice(1).cast(pl.Int64) // 4
    given = write(frame.with_columns(source=units), "shuffled")
    given["reading"] = Reading(judge_columns=JUDGES, cluster="source")

    found = compare(given, clusters=True)

    assert found.results[0].settings["n_clusters"] == 30


def test_labels_whose_annotator_had_seen_a_judge_do_not_examine_it(write):
    frame = make_labels(["a", "b", "c"])
    seen = pl.when((pl.col("rater") == "ann") & pl.col("item").str.ends_with("3")).then(
        pl.lit("gpt")
    )
    compare(write(frame.with_columns(seen_judge=seen), "shuffled"))


def test_items_may_be_cut_anywhere_by_the_rows_that_are_read_at_once(write):
    # 300,000 rows of three columns: more than are read at once, and five rows an item
    frame = make_labels(["a", "b"], n_items=60_000, missing=0.0).drop("question")
    given = write(frame.head(0), "sorted")
    frame.write_parquet(given["humans"], row_group_size=50_007)

    compare(given, n_resamples=0)


def test_equal_labels_of_two_files_count_once(tmp_path, write):
    frame = make_labels(["a", "b", "c"], missing=0.0)
    given = write(frame, "apart")
    folder = tmp_path / "people"
    folder.mkdir()
    people = pl.read_parquet(given["humans"])
    people.head(200).write_parquet(folder / "one.parquet")
    people.tail(-190).write_parquet(folder / "two.parquet")

    whole = examine(**given, large=True)
    parts = examine(humans=folder, judges=given["judges"], large=True)
    held = examine(humans=folder, judges=given["judges"], around=False)

    assert figures(parts) == figures(whole)
    assert_same(parts, held)
    assert sum(row.n_rows for row in parts.dropped if row.reason == "duplicate row") == 10


def test_two_labels_of_one_rater_for_one_item_are_refused(write):
    frame = make_labels(["a", "b"], missing=0.0)
    other = frame.head(1).with_columns(label=pl.lit("a" if frame["label"][0] == "b" else "b"))

    with pytest.raises(InputError, match="must be given once per question, item and rater"):
        examine(**write(pl.concat([frame, other]), "sorted"), large=True)


def test_a_judge_of_other_items_is_refused(write):
    given = write(make_labels(["a", "b"]), "apart")
    judges = pl.read_parquet(given["judges"]).with_columns(item="x" + pl.col("item"))
    judges.write_parquet(given["judges"])

    with pytest.raises(NoDataError, match="must share items with `humans`, got none in common"):
        examine(**given, large=True)


def test_items_that_are_counted_from_another_number_are_refused(tmp_path):
    ids = pl.int_range(300, eager=True).cast(pl.String)
    truth = [n % 3 == 0 for n in range(300)]
    people = pl.DataFrame(
        {"item": ids, "ann": [True] * 20 + truth[20:], "ben": truth[:200] + [True] * 100}
    )
    people.write_parquet(tmp_path / "people.parquet")
    for first, name in ((0, "right"), (1, "shifted")):
        named = (pl.int_range(300, eager=True) + first).cast(pl.String)
        pl.DataFrame({"item": named, "m": truth}).write_parquet(tmp_path / f"{name}.parquet")

    def call(name, *, large):
        judges = tmp_path / f"{name}.parquet"
        return examine(humans=tmp_path / "people.parquet", judges=judges, kind="boolean",
                       large=large)  # fmt: skip

    assert call("right", large=True).results[0].n_items == 300
    for large in (True, False):
        with pytest.raises(InputError, match="got 1 to 300 beside 0 to 299"):
            call("shifted", large=large)


def test_rows_without_an_item_are_listed(write):
    frame = make_labels(["a", "b"])
    lost = frame.head(3).with_columns(item=pl.lit(None, pl.String))

    found = examine(**write(pl.concat([frame, lost]), "sorted"), large=True)

    [row] = [row for row in found.dropped if row.reason == "missing item id"]
    assert (row.n_rows, row.value) == (3, "3 labels")


def test_only_parquet_is_counted_and_only_without_what_needs_every_item(tmp_path, write):
    given = write(make_labels(["a", "b"]), "sorted")
    path = tmp_path / "labels.csv"
    pl.read_parquet(given["humans"]).write_csv(path)

    with pytest.raises(InputError, match="`large` needs Parquet files of labels"):
        examine(humans=path, judges=path, reading=given["reading"], large=True)
    with pytest.raises(InputError, match="`gold` needs every item"):
        examine(**given, gold=path, large=True)


def test_a_fault_names_the_file_that_was_given(write):
    given = write(make_labels(["a", "b", "A"]), "sorted")

    with pytest.raises(InputError) as caught:
        examine(**given, large=True)

    assert str(caught.value).startswith(f"{given['humans']}: labels must be written alike")
