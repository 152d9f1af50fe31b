"""Rewards of stored verdicts: read in parts where that can be, else whole, and always the same.

The large files are of several parts and batches of items.
"""

import json

import numpy as np
import polars as pl
import pytest

from rewards.reward_cases import TINY, expected_rule_reward, tiny_judge, tiny_reward, tiny_rubric
from voirdire.errors import InputError
from voirdire.judging import judge
from voirdire.rewards import reward_of_weights, score_file
from voirdire.rubrics import rubric_from_text

MANY, FEW = 40_000, 60
SHAPES = [
    ("long", "parquet"),
    pytest.param("wide", "parquet", marks=pytest.mark.ci),
    pytest.param("long", "jsonl", marks=pytest.mark.ci),
    ("wide", "jsonl"),
]
BEHAVIORS = ("refuse", "chat")


def names(n_items):
    return [f"i{n}" for n in range(n_items)]


def chances(n_items):
    """Give the probabilities of both propositions; every 41st item has none for the first."""
    found = np.random.default_rng(0).random((n_items, 2))
    found[7::41, 0] = np.nan
    return found


@pytest.fixture(scope="module")
def tables():
    """Give verdicts as `judge` lays them out, as a long and a wide table of few or many items."""
    said = judge([{"id": "x", "response": "0 1"}], judge=tiny_judge(), rubric=tiny_rubric())
    return {
        (layout, n_items): _laid_out(said.frame(layout), layout, n_items)
        for layout in ("long", "wide")
        for n_items in (FEW, MANY)
    }


def _laid_out(example, layout, n_items):
    p, ids = chances(n_items), names(n_items)
    behaviors = [BEHAVIORS[n % 2] for n in range(n_items)]
    if layout == "wide":
        table = pl.DataFrame(
            {"item": ids, "behavior": behaviors, "sorry": p[:, 0], "rude": p[:, 1]}
        ).with_columns(pl.col("sorry", "rude").fill_nan(None))
    else:
        table = pl.DataFrame(
            {
                "item": np.repeat(ids, 2),
                "question": ["sorry", "rude"] * n_items,
                "behavior": np.repeat(behaviors, 2),
                "probability": p.ravel(),
            }
        ).with_columns(
            pl.col("probability").fill_nan(None), (pl.col("probability") > 0.5).alias("label")
        )
        table = table.with_columns(
            pl.when(pl.col("probability").is_null()).then(pl.lit("timeout")).alias("failure")
        ).with_columns(pl.when(pl.col("failure").is_null()).then("label").alias("label"))
    rest = [name for name in example.columns if name not in table.columns]
    return table.with_columns(
        pl.lit(example[name][0], dtype=example[name].dtype).alias(name) for name in rest
    ).select(example.columns)


@pytest.fixture
def write(tables, tmp_path):
    """Give a function that writes verdicts, perhaps changed."""

    def written(layout, suffix, *, n_items=FEW, change=lambda table: table, name="verdicts"):
        path = tmp_path / f"{name}.{suffix}"
        table = change(tables[layout, n_items])
        if suffix == "parquet":
            table.write_parquet(path)
        elif suffix == "jsonl":
            table.write_ndjson(path)
        else:
            table.write_csv(path)
        return path

    return written


@pytest.fixture
def scored(tmp_path):
    """Give a function that scores items by their verdicts: reward, behavior and reason of each."""

    def score(ids, verdicts, *, reward=None, **settings):
        items, output = tmp_path / "items.parquet", tmp_path / "rewards.parquet"
        pl.DataFrame({"id": ids, "response": "0 1"}).write_parquet(items)
        score_file(items, output, reward=reward or tiny_reward(), verdicts=verdicts, **settings)
        found = pl.read_parquet(output)
        assert found["item"].to_list() == list(ids)
        return dict(zip(ids, found.select("reward", "behavior", "missing").rows(), strict=True))

    return score


def check(found, *, n_items=FEW, lacking=()):
    """Hold rewards against the definitions of the classes."""
    p = chances(n_items)
    for name, (reward, behavior, missing) in found.items():
        if name in lacking:
            assert (reward, missing) == (None, "no behavior")
            continue
        n = int(name[1:])
        assert behavior == BEHAVIORS[n % 2]
        # a proposition that the behavior does not weigh may lack its verdict
        if np.isnan(p[n]).any() and behavior == "refuse":
            assert reward is None
            assert missing.startswith(("failed verdict: timeout", "no verdict"))
        else:
            rude = p[n][1]
            sorry = 0.0 if np.isnan(p[n][0]) else p[n][0]
            assert abs(reward - expected_rule_reward(behavior, sorry, rude)) < 1e-12


# Many verdicts --------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_verdicts_in_the_order_of_the_items_and_items_without_verdicts(
    write, scored, layout, suffix
):
    path = write(layout, suffix, n_items=MANY)
    ids = names(MANY)
    ids = ["x0", *ids[:600], "x1", "x2", *ids[600:], "x3"]

    found = scored(ids, path)

    check(found, n_items=MANY, lacking={"x0", "x1", "x2", "x3"})


@pytest.mark.ci
@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_a_second_verdict_is_an_error_however_far_away(write, scored, layout, suffix):
    path = write(layout, suffix, n_items=MANY, change=lambda table: pl.concat([table, table[:9]]))

    with pytest.raises(InputError, match=r"unique by item and question, got a second one"):
        scored(names(9_000), path)  # the rest is read all the same


@pytest.mark.ci
@pytest.mark.parametrize(("layout", "suffix"), SHAPES)
def test_verdicts_of_two_runs_are_an_error_however_far_away(write, scored, layout, suffix):
    def mixed(table):
        late = pl.col("item") == f"i{MANY - 50}"
        return table.with_columns(
            fingerprint=pl.when(late).then(pl.lit("sha256:2")).otherwise("fingerprint")
        )

    with pytest.raises(InputError, match="verdicts must be of one run"):
        scored(names(MANY), write(layout, suffix, n_items=MANY, change=mixed))


@pytest.mark.ci
def test_a_verdict_that_is_negated_far_behind_is_turned_round(write, scored):
    n = MANY - 50
    path = write("long", "jsonl", n_items=MANY)
    lines = path.read_text().splitlines()
    place = 2 * n + 1
    lines[place] = json.dumps(json.loads(lines[place]) | {"negated": True})
    path.write_text("\n".join(lines) + "\n")

    found = scored(names(MANY), path)

    sorry, rude = chances(MANY)[n].tolist()
    expected = expected_rule_reward(BEHAVIORS[n % 2], sorry, 1 - rude)
    assert found[f"i{n}"][0] == pytest.approx(expected, abs=1e-12)


# Few verdicts, laid out in every way ----------------------------------------------------------


def test_verdicts_on_other_items_are_passed_over(write, scored):
    found = scored(names(FEW)[10:40:3], write("wide", "parquet"))

    assert len(found) == 10
    check(found)


@pytest.mark.edges
@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table,
        lambda table: table.sort("question", maintain_order=True),
        lambda table: table.sample(fraction=1.0, shuffle=True, seed=3),
        lambda table: table.drop("threshold", "source"),
    ],
    ids=["as judged", "by question", "shuffled", "fewer columns"],
)
def test_a_long_table_may_be_laid_out_in_any_way(write, scored, suffix, change):
    check(scored(names(FEW), write("long", suffix, change=change)))


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_one_verdict_that_is_not_there_costs_its_item_the_reward(write, scored, suffix):
    path = write(
        "long",
        suffix,
        change=lambda table: table.filter(
            (pl.col("item") != "i20") | (pl.col("question") != "rude")
        ),
    )

    found = scored(names(FEW), path)

    assert found.pop("i20") == (None, "refuse", "no verdict")
    check(found)


def test_the_last_item_may_lack_a_verdict(write, scored):
    path = write("long", "parquet", change=lambda table: table[:-1])

    found = scored(names(FEW), path)

    # a chat weighs only the proposition whose row is gone
    assert found.pop(f"i{FEW - 1}") == (None, "chat", "no verdict")
    check(found)


def test_one_of_several_judges_is_chosen(write, scored):
    def add_another(table):
        other = table.with_columns(
            judge=pl.lit("other"), probability=1 - pl.col("probability"), fingerprint=pl.lit("f")
        )
        return pl.concat([table, other])

    path = write("long", "parquet", change=add_another)

    check(scored(names(FEW), path, judge="scripted"))
    with pytest.raises(InputError, match="`judge` must name one of the judges"):
        scored(names(FEW), path)


def test_several_files_are_joined(write, scored):
    first = write("wide", "parquet", change=lambda table: table[:40], name="a")
    second = write("wide", "parquet", change=lambda table: table[40:], name="b")

    check(scored(names(FEW), [first, second]))


@pytest.mark.ci
@pytest.mark.parametrize("order", [1, -1])
def test_large_files_of_one_run_are_joined_in_any_order(write, scored, order):
    first = write("wide", "parquet", n_items=MANY, change=lambda table: table[:9_000], name="a")
    second = write("wide", "jsonl", n_items=MANY, change=lambda table: table[9_000:], name="b")

    check(scored(names(MANY), [first, second][::order]), n_items=MANY)
    # those of a file that is named again count once
    check(scored(names(MANY), [first, second, first]), n_items=MANY)


def test_a_damaged_file_is_an_error(scored, tmp_path):
    path = tmp_path / "v.parquet"
    path.write_bytes(b"PAR1 and nothing else")

    with pytest.raises(InputError, match=r"v\.parquet"):
        scored(["a"], path)
    with pytest.raises(InputError):
        scored(["a"], tmp_path / "none.parquet")


def test_a_rubric_may_ask_for_more_than_the_reward_weighs_and_a_wide_file_has(write, scored):
    more = TINY.replace("behaviors:", '  - {id: kind, kind: boolean, text: "K?"}\nbehaviors:')
    weights = {"chat": {"rude": 1.0}}
    reward = reward_of_weights(weights, rubric=rubric_from_text(more), judge=None)

    found = scored(["i3", "i1"], write("wide", "parquet"), reward=reward)

    p = chances(FEW)
    assert found["i3"][0] == pytest.approx(p[3, 1])
    assert found["i1"][0] == pytest.approx(p[1, 1])


def test_a_file_whose_last_line_has_no_end_is_read(write, scored):
    path = write("wide", "jsonl")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    check(scored(names(FEW), path))


def with_cell(table, place, column, value):
    """Change one cell of the item in the middle: in the row of its first or second proposition."""
    row = int(np.flatnonzero((table["item"] == "i30").to_numpy())[place])
    cells = table[column].to_list()
    cells[row] = value
    return table.with_columns(pl.Series(column, cells, dtype=table[column].dtype))


@pytest.mark.edges
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
def test_one_row_that_differs_from_its_item_is_an_error(
    write, scored, suffix, place, column, value, said
):
    path = write("long", suffix, change=lambda table: with_cell(table, place, column, value))

    with pytest.raises(InputError, match=said):
        scored(names(FEW), path)


@pytest.mark.edges
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_behavior_that_only_one_row_of_an_item_names_is_its_behavior(
    write, scored, suffix, place
):
    path = write("long", suffix, change=lambda table: with_cell(table, place, "behavior", None))

    check(scored(names(FEW), path))


@pytest.mark.edges
@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e400", "-1", "[0.5]", '"high"'])
def test_what_is_no_probability_is_an_error(write, scored, number):
    path = write("long", "jsonl")
    lines = path.read_text().splitlines()
    lines[61] = json.dumps(json.loads(lines[61]) | {"probability": "@"}).replace('"@"', number)
    path.write_text("\n".join(lines) + "\n")

    with pytest.raises(InputError, match="must be"):
        scored(names(FEW), path)


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_spaces_around_an_id_are_no_part_of_it(write, scored, layout):
    is_spaced = pl.col("item") == "i30"
    spaced = pl.when(is_spaced).then(pl.lit(" i30 ")).otherwise("item").alias("item")
    path = write(layout, "parquet", change=lambda table: table.with_columns(spaced))

    check(scored(names(FEW), path))
