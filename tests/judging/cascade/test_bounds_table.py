"""What bounds come to: counted by hand, recomputed by running the cascade, and on human labels."""

import itertools

import polars as pl
import pytest

from judging.cascade.cascade_cases import made_items
from voirdire.errors import InputError
from voirdire.io import read_items, read_labels
from voirdire.judging import cascade_table, judge

FIRST = pl.DataFrame(
    {
        "item": ["a", "b", "c", "d", "stranger"],
        "sorry": [0.9, 0.6, 0.4, 0.1, 0.5],
        "rude": [0.0, 0.3, 0.2, None, 0.5],
    }
)
THEN = pl.DataFrame(
    {
        "item": ["d", "c", "b", "a"],
        "sorry": [0.2, 0.7, 0.3, 0.8],
        "rude": [0.4, 0.6, 0.1, None],
        "unasked": [0.0, 0.0, 0.0, 0.0],
    }
)


def test_a_table_counted_by_hand():
    # first and then agree: sorry a, d of a..d; rude b of b, c, d (the first says nothing of d,
    # which therefore always goes on, and the second says nothing of a)
    table = cascade_table(
        FIRST, THEN, grid=[(0, 0), (0.35, 0.65), (-1, 2)], first_time=0.01, cost_per_item=0.5
    )

    assert table["n_items"].to_list() == [4, 4, 4]
    assert table["n_passed_on"].to_list() == [1, 3, 4]  # d; b, c and d; all
    assert table["share_passed_on"].to_list() == [0.25, 0.75, 1.0]
    assert table["speed_up"].to_list() == pytest.approx([1 / 0.26, 1 / 0.76, 1 / 1.01])
    assert table["cost"].to_list() == [0.5, 1.5, 2.0]
    assert table["agreement_sorry"].to_list() == [2 / 4, 1.0, 1.0]
    assert table["agreement_rude"].to_list() == [2 / 3, 1.0, 1.0]
    assert table["agreement"].to_list() == pytest.approx([(1 / 2 + 2 / 3) / 2, 1.0, 1.0])
    assert table["worst_proposition"].to_list() == ["sorry", "rude", "rude"]
    assert table["worst_agreement"].to_list() == [0.5, 1.0, 1.0]
    assert (table["low"][1], table["high"][1]) == (0.35, 0.65)


def test_only_the_named_propositions_decide_and_bounds_may_be_by_proposition():
    named = cascade_table(FIRST, THEN, grid=[(0.25, 0.35)], propositions=["sorry"])
    apart = cascade_table(FIRST, THEN, grid=[{"default": (0, 0), "sorry": (0.35, 0.45)}])

    assert named["n_passed_on"].to_list() == [1]  # d, of which an answer is missing
    assert apart["n_passed_on"].to_list() == [2]  # c and d
    assert apart["agreement_sorry"].to_list() == [3 / 4]


def test_without_anything_passed_on_there_is_no_bound_to_the_speed():
    one = FIRST.drop("rude")

    table = cascade_table(one, THEN, grid=[(0, 0)])

    assert table["speed_up"].to_list() == [None]
    assert table["cost"].to_list() == [None]


def test_annotators_vote_and_a_tie_is_no_answer():
    votes = [("a", 1, 1), ("b", 1, 0), ("c", 0, 1), ("c", 0, 0), ("c", 0, 0)]
    rows = [
        {"item": item, "annotator": name, "question": "sorry", "label": bool(label)}
        for item, *labels in votes
        for name, label in zip(("x", "y"), labels, strict=True)
    ]

    table = cascade_table(FIRST, pl.DataFrame(rows), grid=[(0, 0)])

    # a: yes and yes; b: a tie; c: one of six says yes, and the first says no
    assert table["agreement_sorry"].to_list() == [1.0]
    assert table["n_items"].to_list() == [3]


def test_the_table_foretells_what_the_cascade_does(cascades, rubric):
    items = made_items(400)
    first = judge(items, rubric=rubric, judge=cascades.first())
    then = judge(items, rubric=rubric, judge=cascades.then())
    grid = [(0, 0), (0.4, 0.6), (0.1, 0.9), (0.05, 0.95)]

    table = cascade_table(first, then, grid=grid)

    for pair, row in zip(grid, table.iter_rows(named=True), strict=True):
        found = judge(items, rubric=rubric, judge=cascades.cascade(pair))
        assert len(items) - found.calls.n_kept == row["n_passed_on"]
        for name in ("sorry", "rude"):
            same = (found.probability(name) >= 0.5) == (then.probability(name) >= 0.5)
            assert row[f"agreement_{name}"] == same.mean()


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_files_of_verdicts_say_the_same_as_frames(cascades, rubric, tmp_path, suffix, layout):
    items = made_items(50)
    both = [judge(items, rubric=rubric, judge=who) for who in (cascades.first(), cascades.then())]
    paths = [tmp_path / f"{name}.{suffix}" for name in ("first", "then")]
    for verdicts, path in zip(both, paths, strict=True):
        frame = verdicts.frame(layout)
        write = {"parquet": "write_parquet", "jsonl": "write_ndjson", "csv": "write_csv"}[suffix]
        getattr(frame, write)(path)

    assert cascade_table(*paths).equals(cascade_table(*both))


def test_two_tables_about_other_things_are_refused():
    other = FIRST.with_columns(item=pl.col("item") + "!")
    with pytest.raises(InputError, match="about the same items, got none in common"):
        cascade_table(FIRST, other)
    with pytest.raises(InputError, match="about the same propositions, got none in common"):
        cascade_table(FIRST.select("item", "sorry"), THEN.select("item", "rude"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grid": []}, "`grid` must hold at least one pair"),
        ({"grid": [(1, 0)]}, "`unsure` must be two finite numbers"),
        ({"propositions": ["none"]}, "`propositions` must be among"),
        ({"threshold": 1.0}, "`threshold` must be in the interval"),
        ({"first_time": -1}, "`first_time` must be a finite number"),
        ({"cost_per_item": float("nan")}, "`cost_per_item` must be a finite number"),
    ],
)
def test_arguments_that_break_their_rule_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        cascade_table(FIRST, THEN, **settings)


@pytest.mark.parametrize("table", [5, pl.DataFrame({"x": [1]}), pl.DataFrame({"item": ["a"]})])
def test_what_is_no_table_of_verdicts_is_refused(table, tmp_path):
    with pytest.raises(InputError, match="`first_verdicts` must be a table of verdicts"):
        cascade_table(table, THEN)
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match=r"bad\.parquet: must be a table of verdicts"):
        cascade_table(tmp_path / "bad.parquet", THEN)


def test_agreement_with_people_rises_with_the_share_passed_on(shared_dir):
    gold = shared_dir / "data" / "rbr_gold" / "train.jsonl"
    labels = read_labels(gold, role="annotator", kind="boolean").frame
    people = labels.select("item", "question", "label")
    items = read_items(gold).items

    table = cascade_table(judge(items), people)

    # the bounds hold each other, so what agrees under the narrow ones agrees under the wide ones
    for column in ("share_passed_on", "agreement", "worst_agreement"):
        values = table[column].to_list()
        assert all(low <= high for low, high in itertools.pairwise(values))
        assert values[0] < values[3] <= values[-1] == 1.0
    assert table["n_passed_on"].to_list()[0] == 0
