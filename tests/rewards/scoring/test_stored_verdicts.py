"""Stored verdicts, in pieces or whole: what comes out is the same."""

import json

import numpy as np
import polars as pl
import pytest

from rewards.reward_cases import TINY, tiny_judge, tiny_rubric
from voirdire.errors import InputError
from voirdire.judging import judge
from voirdire.records import Item
from voirdire.rewards.scoring import stored_verdicts, verdict_chunks
from voirdire.rewards.scoring.stored_verdicts import StoredVerdicts
from voirdire.rewards.verdict_reading import read_judged_items
from voirdire.rubrics import rubric_from_text

N_ITEMS = 500
SHAPES = [("long", "parquet"), ("wide", "parquet"), ("long", "jsonl"), ("wide", "jsonl")]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Make files of a few hundred items many pieces."""
    monkeypatch.setattr(verdict_chunks, "_CHUNK_ITEMS", 37)
    monkeypatch.setattr(verdict_chunks, "_BLOCK_BYTES", 20_000)
    monkeypatch.setattr(stored_verdicts, "_MOST_AHEAD", 100)


@pytest.fixture(scope="module")
def frame():
    """Give the verdicts of a judge that fails now and then, as a long and a wide table."""
    rng = np.random.default_rng(0)
    items = []
    for n in range(N_ITEMS):
        sorry = "nan" if n % 41 == 7 else repr(float(rng.random()))
        behavior = ("refuse", "chat", None)[n % 3]
        items.append(Item(id=f"i{n}", response=f"{sorry} {rng.random()}", behavior=behavior))
    found = judge(items, judge=tiny_judge(), rubric=tiny_rubric())
    return {layout: found.frame(layout) for layout in ("long", "wide")}


@pytest.fixture
def write(frame, tmp_path):
    """Give a function that writes verdicts, perhaps changed."""

    def written(layout, suffix, *, change=lambda table: table):
        path = tmp_path / f"verdicts.{suffix}"
        table = change(frame[layout])
        if suffix == "parquet":
            table.write_parquet(path)
        elif suffix == "jsonl":
            table.write_ndjson(path)
        else:
            table.write_csv(path)
        return path

    return written


def taken(path, ids, *, sizes=(1, 64, 100), judge=None, rubric=None):
    """Take the verdicts of items in batches; give them, and whether files were read whole."""
    found, start, k = {}, 0, 0
    with StoredVerdicts(path, rubric=rubric or tiny_rubric(), judge=judge) as stored:
        while start < len(ids):
            batch = ids[start : start + sizes[k % len(sizes)]]
            judged = stored.take(batch)
            assert judged.items == tuple(batch)
            for place, name in enumerate(batch):
                found[name] = (
                    judged.probabilities[place].tolist(),
                    judged.behaviors[place],
                    judged.failures.get(name),
                )
            start, k = start + len(batch), k + 1
        stored.finish()
        return found, stored.is_whole


def expected(path, ids, **settings):
    """Read everything at once, and look each item up."""
    judged = read_judged_items(path, rubric=tiny_rubric(), **settings)
    places = {name: place for place, name in enumerate(judged.items)}
    nothing = ([np.nan, np.nan], None, "no verdict")
    return {
        name: (
            judged.probabilities[places[name]].tolist(),
            judged.behaviors[places[name]],
            judged.failures.get(name),
        )
        if name in places
        else nothing
        for name in ids
    }


def same(found, wanted):
    return list(found) == list(wanted) and all(
        np.array_equal(found[name][0], wanted[name][0], equal_nan=True)
        and found[name][1:] == wanted[name][1:]
        for name in wanted
    )


IN_ORDER = [f"i{n}" for n in range(N_ITEMS)]


@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_files_in_the_order_of_the_items_are_read_in_pieces(write, layout, suffix):
    path = write(layout, suffix)

    found, is_whole = taken(path, IN_ORDER)

    assert same(found, expected(path, IN_ORDER))
    assert not is_whole


@pytest.mark.parametrize(("layout", "suffix"), [*SHAPES, ("long", "csv"), ("wide", "csv")])
def test_the_order_of_the_items_does_not_matter(write, layout, suffix):
    path = write(layout, suffix)
    shuffled = np.random.default_rng(1).permutation(IN_ORDER).tolist()

    found, is_whole = taken(path, shuffled)

    assert same(found, expected(path, shuffled))
    assert is_whole


@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_items_without_verdicts_do_not_make_a_file_be_read_whole(write, layout, suffix):
    path = write(layout, suffix)
    some = ["x0", *IN_ORDER[:60], "x1", "x2", *IN_ORDER[60:], "x3"]

    found, is_whole = taken(path, some)

    assert same(found, expected(path, some))
    assert found["x1"][2] == "no verdict"
    assert not is_whole


def test_verdicts_on_other_items_are_passed_over(write):
    path = write("wide", "parquet")
    some = IN_ORDER[10:400:3]

    found, is_whole = taken(path, some, sizes=(20,))

    assert same(found, expected(path, some))
    assert not is_whole


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.sort("question", maintain_order=True),
        lambda table: table.sample(fraction=1.0, shuffle=True, seed=3),
        lambda table: table[1:],  # the first item lacks its first proposition
        lambda table: table.filter((pl.col("item") != "i77") | (pl.col("question") != "rude")),
    ],
)
def test_long_tables_that_are_laid_out_in_another_way_are_read_whole(write, suffix, change):
    path = write("long", suffix, change=change)

    found, is_whole = taken(path, IN_ORDER)

    assert same(found, expected(path, IN_ORDER))
    assert is_whole


def test_columns_of_another_table_are_read_whole(write):
    path = write("long", "parquet", change=lambda table: table.drop("threshold", "source"))

    found, is_whole = taken(path, IN_ORDER)

    assert same(found, expected(path, IN_ORDER))
    assert is_whole


def test_one_of_several_judges_is_chosen(write, frame):
    def add_another(table):
        other = table.with_columns(
            judge=pl.lit("other"), probability=1 - pl.col("probability"), fingerprint=pl.lit("f")
        )
        return pl.concat([table, other])

    path = write("long", "parquet", change=add_another)

    found, is_whole = taken(path, IN_ORDER, judge="scripted")

    assert same(found, expected(path, IN_ORDER, judge="scripted"))
    assert not is_whole
    with pytest.raises(InputError, match="`judge` must name one of the judges"):
        taken(path, IN_ORDER)


@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_a_second_verdict_is_an_error_however_far_away(write, layout, suffix):
    path = write(layout, suffix, change=lambda table: pl.concat([table, table[:9]]))

    with pytest.raises(InputError, match=r"unique by item and question, got a second one"):
        taken(path, IN_ORDER)


@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_verdicts_of_two_runs_are_an_error(write, layout, suffix):
    def mixed(table):
        late = pl.col("item") == "i450"
        return table.with_columns(
            fingerprint=pl.when(late).then(pl.lit("sha256:2")).otherwise("fingerprint")
        )

    with pytest.raises(InputError, match="verdicts must be of one run"):
        taken(write(layout, suffix, change=mixed), IN_ORDER)


@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_a_probability_outside_its_range_is_an_error(write, layout, suffix):
    column = "probability" if layout == "long" else "rude"

    def wrong(table):
        late = pl.col("item") == "i450"
        return table.with_columns(pl.when(late).then(1.5).otherwise(column).alias(column))

    with pytest.raises(InputError, match=r"\[0, 1\]"):
        taken(write(layout, suffix, change=wrong), IN_ORDER)


def test_several_files_are_joined(write, frame, tmp_path):
    frame["wide"][:300].write_parquet(tmp_path / "a.parquet")
    frame["wide"][300:].write_parquet(tmp_path / "b.parquet")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]

    found, is_whole = taken(paths, IN_ORDER)

    assert same(found, expected(paths, IN_ORDER))
    assert is_whole


def test_a_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "v.parquet"
    path.write_bytes(b"PAR1 and nothing else")

    with pytest.raises(InputError, match=r"v\.parquet"):
        taken(path, IN_ORDER)
    with pytest.raises(InputError):
        taken(tmp_path / "none.parquet", IN_ORDER)


def test_a_rubric_that_asks_for_more_than_a_wide_file_has_reads_it_whole(write):
    path = write("wide", "parquet")
    more = TINY.replace("behaviors:", '  - {id: kind, kind: boolean, text: "K?"}\nbehaviors:')

    with StoredVerdicts(path, rubric=rubric_from_text(more), judge=None) as stored:
        judged = stored.take(["i3", "i1"])

    assert judged.propositions == ("sorry", "rude")
    assert stored.is_whole


def test_a_file_whose_last_line_has_no_end_is_read(write, tmp_path):
    path = write("wide", "jsonl")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    found, is_whole = taken(path, IN_ORDER)

    assert same(found, expected(path, IN_ORDER))
    assert not is_whole


def with_cell(table, place, column, value):
    """Change one cell of the item in the middle: in the row of its first or second proposition."""
    rows = np.flatnonzero((table["item"] == "i300").to_numpy() & _is_proposition(table))
    cells = table[column].to_list()
    cells[int(rows[place])] = value
    return table.with_columns(pl.Series(column, cells, dtype=table[column].dtype))


def _is_proposition(table):
    return table["question"].is_in(["sorry", "rude"]).to_numpy()


def outcome(read):
    """Give what is read, or what is said instead."""
    try:
        return read()
    except InputError as error:
        return str(error)


def check_alike(path):
    """Check that reading in pieces comes to what reading at once comes to; give that."""
    wanted = outcome(lambda: expected(path, IN_ORDER))
    found = outcome(lambda: taken(path, IN_ORDER)[0])

    assert found == wanted if isinstance(wanted, str) else same(found, wanted)
    return wanted


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("item", None, "must name an item, got nothing"),
        ("judge", "another", "got none of"),
        ("judge", None, "got none of"),
        ("fingerprint", "sha256:other", "got the fingerprints"),
        ("threshold", 0.9, "got the thresholds"),
        ("behavior", "chat", "must be one for each item"),
    ],
)
def test_one_row_that_differs_from_its_item_is_an_error(write, suffix, place, column, value, said):
    path = write("long", suffix, change=lambda table: with_cell(table, place, column, value))

    assert said in check_alike(path)


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_behavior_that_only_one_row_of_an_item_names_is_its_behavior(write, suffix, place):
    path = write("long", suffix, change=lambda table: with_cell(table, place, "behavior", None))

    assert check_alike(path)["i300"][1] == "refuse"


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize(("source", "expected"), [("vote", (0.0, 1.0)), ("classifier", None)])
def test_labels_without_a_probability_count_as_far_as_they_are_votes(
    write, suffix, source, expected
):
    def voted(table):
        for place in (0, 1):
            table = with_cell(table, place, "probability", None)
            table = with_cell(table, place, "source", source)
            table = with_cell(table, place, "label", bool(place))
        return table

    path = write("long", suffix, change=voted)

    probabilities, _, failure = check_alike(path)["i300"]
    if expected is None:
        assert np.isnan(probabilities).all()
        assert failure == "a label without a probability"
    else:
        assert (tuple(probabilities), failure) == (expected, None)


def test_a_verdict_that_is_negated_far_behind_is_turned_round(write):
    path = write("long", "jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    row = next(row for row in lines if (row["item"], row["question"]) == ("i300", "rude"))
    said = row["probability"]
    row["negated"] = True
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")

    assert check_alike(path)["i300"][0][1] == 1.0 - said


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e400", "-1", "[0.5]", '"high"'])
def test_what_is_no_probability_is_an_error_wherever_it_stands(write, number):
    path = write("long", "jsonl")
    lines = path.read_text().splitlines()
    place = next(k for k, line in enumerate(lines) if '"i300"' in line and '"rude"' in line)
    whole = json.loads(lines[place])
    lines[place] = json.dumps(whole | {"probability": "@"}).replace('"@"', number)
    path.write_text("\n".join(lines) + "\n")

    assert "must be" in check_alike(path)


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_words_of_truth_in_a_wide_table_are_no_missing_verdicts(write, suffix):
    is_true = pl.col("sorry").fill_nan(None) > 0.5
    word = pl.when(is_true).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("sorry")
    path = write("wide", suffix, change=lambda table: table.with_columns(word))

    assert {row[0][0] for row in check_alike(path).values()} == {0.0, 1.0}


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_spaces_around_an_id_are_no_part_of_it(write, layout):
    is_spaced = pl.col("item") == "i300"
    spaced = pl.when(is_spaced).then(pl.lit(" i300 ")).otherwise("item").alias("item")
    path = write(layout, "parquet", change=lambda table: table.with_columns(spaced))

    assert check_alike(path)["i300"][2] is None
