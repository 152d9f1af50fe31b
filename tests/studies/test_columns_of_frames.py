"""Labels as columns of one frame: the same as the long form."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import voirdire
from voirdire import InputError

PEOPLE = ["ann", "bob", "eve"]
N = 60


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=N)
    slips = {"ann": 0.1, "bob": 0.15, "eve": 0.1, "gpt": 0.05}
    return {
        name: [["no", "yes"][code] for code in np.where(rng.random(N) < p, 1 - truth, truth)]
        for name, p in slips.items()
    }


@pytest.fixture(scope="module")
def expected(rows):
    """Examine the same labels, item by item."""
    named = {name: {f"t{i}": x for i, x in enumerate(labels)} for name, labels in rows.items()}
    return voirdire.alt_test(named["gpt"], {name: named[name] for name in PEOPLE})


def figures(result):
    return (
        result.winning_rate,
        result.advantage_probability,
        result.outcome,
        [(row.annotator, row.n_items, row.p_value) for row in result.annotators],
    )


def frames(rows):
    plain = pd.DataFrame(rows)
    named = plain.set_axis([f"t{i}" for i in range(N)], axis=0)
    shuffled = named["gpt"].sample(frac=1, random_state=1)
    return {
        "pandas": (plain["gpt"], plain[PEOPLE]),
        "pandas, its index in another order": (shuffled, named[PEOPLE]),
        "pandas, items in a column": (
            named["gpt"],
            named[PEOPLE].assign(item=[f"x{i}" for i in range(N)]),
        ),
        "polars": (pl.DataFrame(rows)["gpt"], pl.DataFrame(rows)[PEOPLE]),
    }


@pytest.mark.parametrize("case", frames({name: ["no"] * N for name in (*PEOPLE, "gpt")}))
def test_a_column_is_compared_with_the_frame_that_it_is_of(rows, expected, case):
    judge, humans = frames(rows)[case]

    found = voirdire.alt_test(judge, humans)

    assert figures(found) == figures(expected)
    assert found.judge == "gpt"


def test_a_column_may_lack_rows(rows, expected):
    frame = pd.DataFrame(rows | {"gpt": [4, 5] * (N // 2), "ann": [4, 5] * (N // 2)})
    numbers = frame.assign(bob=frame["ann"], eve=frame["ann"])

    found = voirdire.alt_test(numbers["gpt"].iloc[:40], numbers[PEOPLE], kind="choice")

    assert {row.n_items for row in found.annotators} == {40}
    assert found.advantage_probability == 1


def test_gold_may_be_a_column(rows):
    frame = pd.DataFrame(rows)
    gold = dict(enumerate(rows["bob"]))

    found = voirdire.outperforms_humans(frame["gpt"], frame[["ann", "eve"]], gold=frame["bob"])

    humans = {name: dict(enumerate(rows[name])) for name in ("ann", "eve")}
    whole = voirdire.outperforms_humans(dict(enumerate(rows["gpt"])), humans, gold=gold)
    assert figures(found) == figures(whole)


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: pd.DataFrame(rows).set_axis([f"t{i}" for i in range(N)], axis=0),
        lambda rows: pd.DataFrame(rows).assign(item=[f"t{i}" for i in range(N)]),
        lambda rows: pl.DataFrame(rows).with_row_index("id"),
    ],
    ids=["pandas with an index", "pandas", "polars"],
)
def test_one_frame_may_hold_people_and_judges(rows, expected, make):
    table = make(rows)

    found = voirdire.examine(table, judges=["gpt"])

    [result] = found.results
    assert figures(result) == figures(expected)
    assert found.results == voirdire.examine(table, judges="gpt").results


def test_the_index_of_pandas_names_the_items_of_both_sides(rows, expected):
    frame = pd.DataFrame(rows).set_axis([f"t{i}" for i in range(N)], axis=0)

    [found] = voirdire.examine(humans=frame[PEOPLE], judges=frame[["gpt"]]).results

    assert figures(found) == figures(expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda frame: voirdire.alt_test(frame["gpt"].set_axis(range(N, 2 * N)), frame[PEOPLE]),
            "`judge` and `humans` must have the same index",
        ),
        (
            lambda frame: voirdire.alt_test(pl.Series(["no"] * 3), pl.from_pandas(frame)[PEOPLE]),
            r"`judge`, `humans` must have the same length, got \{'judge': 3, 'humans': 60\}",
        ),
        (
            lambda frame: voirdire.alt_test(frame["gpt"], {"ann": {0: "no"}}),
            "`humans` must be a data frame beside a column `judge`, got dict",
        ),
        (lambda frame: voirdire.examine(judges=frame), "`humans` must be given, or one table"),
        (
            lambda frame: voirdire.examine(frame, judges=["gtp"]),
            "`judges` must name columns of the table, got 'gtp'. Did you mean `gpt`?",
        ),
        (
            lambda frame: voirdire.alt_test(frame["gpt"], frame[PEOPLE], alignmnt="accuracy"),
            "`alignmnt` must be a setting of `alt_test`, got .* Write 'alignment'",
        ),
        (
            lambda frame: voirdire.examine(frame, judges=["gpt"], epsilonn=0.1),
            "Write 'epsilon'",
        ),
    ],
    ids=["index", "length", "dict", "humans", "judge", "setting", "plan"],
)
def test_what_cannot_be_meant_is_said_in_words_of_the_call(rows, call, message):
    frame = pd.DataFrame(rows)

    with pytest.raises(InputError, match=message):
        call(frame)
