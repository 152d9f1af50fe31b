"""The JSON of an examination: every promised key, every figure, nothing that JSON lacks."""

import json
import math
from dataclasses import asdict

import polars as pl
import pytest

import voirdire
from voirdire.records import Dropped
from voirdire.reporting import (
    from_json,
    to_json,
)
from voirdire.studies import Examination

NUMBER = (int, float)
# As ../shared/design.md, section 7, lists them.
EXAMINATION_KEYS = {
    "question": str,
    "judge": str,
    "alignment": str,
    "epsilon": NUMBER,
    "epsilon_mode": str,
    "n_items": int,
    "n_annotators": int,
    "winning_rate": NUMBER,
    "passed": bool,
    "outcome": str,
    "advantage_probability": NUMBER,
    "annotators": list,
    "warnings": list,
}
ANNOTATOR_KEYS = {
    "annotator": str,
    "n_items": int,
    "advantage_judge": NUMBER,
    "advantage_human": NUMBER,
    "p_value": NUMBER,
    "rejected": bool,
}
HOSTILE = [
    "<script>alert('x')</script>",
    "[red]x[/]",
    "\x1b[31mred\x1b[0m",
    'a "quoted" \\ name',
    "two\nlines\r\u2028",
    "שלום עולם",
    "中文",
    "\x00\x07",
    "NaN",
    "x" * 100_000,
]


def read(examination):
    def refuse(word):
        raise AssertionError(word)

    return json.loads(to_json(examination), parse_constant=refuse)


def assert_equal_but_for_nan(found, expected, path="examination"):
    if isinstance(expected, float) and math.isnan(expected):
        assert found is None, path
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for name in expected:
            assert_equal_but_for_nan(found[name], expected[name], f"{path}.{name}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), path
        for number, value in enumerate(expected):
            assert_equal_but_for_nan(found[number], value, f"{path}[{number}]")
    else:
        assert found == expected, path
        assert isinstance(found, bool) == isinstance(expected, bool), path


def test_every_promised_key_is_there_with_its_type(make_examination):
    written = read(make_examination(epsilon=[0.1, 0.2], failures=3))

    assert written.keys() >= {"examinations", "dropped"}
    assert len(written["examinations"]) == 6
    for row in written["examinations"]:
        for name, kind in EXAMINATION_KEYS.items():
            assert isinstance(row[name], kind), name
            assert isinstance(row[name], bool) == (kind is bool), name
        assert row["outcome"] in ("passed", "failed", "no_evidence")
        assert all(isinstance(sentence, str) for sentence in row["warnings"])
        for person in row["annotators"]:
            for name, kind in ANNOTATOR_KEYS.items():
                assert isinstance(person[name], kind), name
                assert isinstance(person[name], bool) == (kind is bool), name


def test_every_figure_is_that_of_the_result(make_examination):
    examination = make_examination(
        epsilon=[0.1, 0.2], failures=3, questions=("polite", "helpful"), n_items=30
    )

    written = read(examination)

    for row, result in zip(written["examinations"], examination.results, strict=True):
        plain = vars(result) | {
            "annotators": [
                {name: value for name, value in vars(person).items() if not name.startswith("_")}
                | {"tie_share": person.tie_share, "exact_p_value": person.exact_p_value}
                for person in result.annotators
            ],
            "controls": [asdict(control) for control in result.controls],
            "worst_case": asdict(result.worst_case),
            "t_test": asdict(result.t_test),
            "warnings": result.warnings,
            "because": asdict(result.because),
            "cautions": [asdict(caution) for caution in result.cautions],
            "uncertainty": asdict(result.uncertainty),
            "human_agreement": row["human_agreement"],
        }
        assert_equal_but_for_nan(row, {name: plain[name] for name in plain if name != "dropped"})
        agreement = result.human_agreement
        for name, value in row["human_agreement"].items():
            assert value == getattr(agreement, name), name
    for row, pooled in zip(written["pooled"], examination.pooled, strict=True):
        assert_equal_but_for_nan(row, asdict(pooled))
    assert_equal_but_for_nan(written["settings"], examination.settings)


def test_undefined_figures_are_null(make_examination):
    examination = make_examination(n_items=12)

    (row, *_) = read(examination)["examinations"]

    assert math.isnan(examination.results[0].winning_rate)
    assert row["winning_rate"] is None
    assert row["advantage_probability"] is None
    assert row["passed"] is False
    assert row["outcome"] == "no_evidence"
    assert row["annotators"] == []
    assert row["untested"] == ["ann", "bob", "eve", "kim"]


@pytest.mark.edges
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:12]))
def test_any_name_and_label_survives(make_examination, name):
    labels = ("no", "yes" if name == "NaN" else name)  # NaN is no label
    examination = make_examination(
        {name: 0.1}, annotators=(f"{name}2", "bob", "eve"), labels=labels, questions=(name,)
    )

    (row,) = read(examination)["examinations"]

    assert row["judge"] == row["question"] == name
    assert f"{name}2" in [person["annotator"] for person in row["annotators"]]
    if len(name) < 80:  # a longer one may be cut: it stands beside every judge and ε
        assert {control["label"] for control in row["controls"]} <= {None, *labels}


def test_every_drop_has_its_reason_and_place():
    drop = Dropped(
        reason="can't tell",
        source="h.csv",
        line=7,
        column="label",
        item="i3",
        rater="ann",
        question="polite",
        value="can't tell",
    )

    written = read(Examination(results=(), dropped=(drop,)))

    told = {name: value for name, value in asdict(drop).items() if name != "n_rows"}
    assert written["dropped"] == [told]
    assert written["examinations"] == written["pooled"] == []


@pytest.fixture(scope="module")
def examination():
    """Give an examination of two judges under two alignments, with slices, texts and a failure."""
    n = 60
    items = [f"t{place}" for place in range(n)]
    humans = {
        name: {item: (place + (place % 9 == slip)) % 2 for place, item in enumerate(items)}
        for slip, name in enumerate(["ann", "bob", "eve"])
    }
    judges = {
        "mine": {item: place % 2 for place, item in enumerate(items)},
        "yours": {item: int(place % 5 == 0) if place else None for place, item in enumerate(items)},
    }
    metadata = pl.DataFrame(
        {"item": items, "lang": ["en", "zh"] * (n // 2), "prompt": ["How?"] * n}
    )
    return voirdire.examine(
        judges=judges, humans=humans, epsilon=[0.1, 0.2], metadata=metadata,
        alignment=["accuracy", "neg_rmse"],
    )  # fmt: skip


def test_an_examination_is_read_back_with_every_figure(examination):
    written = to_json(examination)

    for given in (written, written.encode(), json.loads(written)):
        found = from_json(given)
        assert to_json(found) == written
        assert [row.outcome for row in found.results] == [x.outcome for x in examination.results]
