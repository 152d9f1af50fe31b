"""Small studies with known labels, as dicts and as tables of the same labels."""

import json
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

from voirdire.errors import DegenerateDataWarning
from voirdire.io import read_labels
from voirdire.records import as_plain

WORDS = {
    "choice": ["yes", "no", "不确定"],
    "boolean": [True, False],
    "scale": [1, 2, 3, 4, 5],
    "multilabel": [["hate"], ["hate", "insult"], [], ["自伤"], ["insult", "自伤"]],
    "text": ["the cat sat", "the cat sits", "a dog", "no idea", "猫坐着"],
}


@dataclass(frozen=True)
class Survey:
    """Judges and annotators as dicts, `{rater: {item: label}}`."""

    kind: str
    humans: dict[str, dict[str, Any]]
    judges: dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def make_survey():
    """Make a survey: every rater repeats the truth but for the share of slips in its name."""

    def make(kind="choice", *, n_items=60, seed=0, humans=(0.1, 0.2, 0.2, 0.3), judges=(0.1, 0.6)):
        rng = np.random.default_rng(seed)
        words = WORDS[kind]
        truth = rng.integers(len(words), size=n_items)

        def labels(slips):
            drawn = rng.integers(len(words), size=n_items)
            codes = np.where(rng.random(n_items) < slips, drawn, truth)
            return {f"i{row}": words[code] for row, code in enumerate(codes)}

        return Survey(
            kind,
            {f"ann{number}": labels(slips) for number, slips in enumerate(humans)},
            {f"judge{number}": labels(slips) for number, slips in enumerate(judges)},
        )

    return make


@pytest.fixture(scope="session")
def rows_of():
    """Write `{rater: {item: label}}` as rows of (item, rater, label), rater by rater."""

    def rows(raters):
        return [
            (item, name, label) for name, given in raters.items() for item, label in given.items()
        ]

    return rows


@pytest.fixture(scope="session")
def table(rows_of):
    """Read `{rater: {item: label}}` as a `LabelTable`; more columns by item or for all rows."""

    def read(raters, role, kind, *, cluster=None, question=None, **declared):
        rows = rows_of(raters)
        columns = {
            "item": [item for item, _, _ in rows],
            role: [rater for _, rater, _ in rows],
            "label": [label for _, _, label in rows],
        }
        if cluster is not None:
            columns["cluster"] = [cluster.get(item) for item in columns["item"]]
        if question is not None:
            columns["question"] = [question] * len(rows)
        source = "humans" if role == "annotator" else "judges"
        frame = pl.DataFrame(columns, strict=False)
        return read_labels(frame, role=role, kind=kind, source_name=source, **declared)

    return read


@pytest.fixture(scope="session")
def figures():
    """Give every figure of a result but the random control, which is drawn in item order."""

    def plain(result):
        found = as_plain(result)
        found["controls"] = [row for row in found["controls"] if row["control"] != "random"]
        return found

    return plain


@pytest.fixture(scope="session")
def assert_same():
    """Compare nested values: floats to 1e-12, nan equal to nan."""

    def same(found, expected, path="result"):
        if isinstance(expected, dict):
            assert found.keys() == expected.keys(), path
            for name in expected:
                same(found[name], expected[name], f"{path}.{name}")
        elif isinstance(expected, list | tuple):
            assert len(found) == len(expected), path
            for number, value in enumerate(expected):
                same(found[number], value, f"{path}[{number}]")
        elif isinstance(expected, float) and math.isfinite(expected):
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), path
        else:
            assert repr(found) == repr(expected), path

    return same


@pytest.fixture(scope="session")
def quietly():
    """Call something that may warn of undefined figures."""

    def call(function, *args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            return function(*args, **kwargs)

    return call


@pytest.fixture(scope="session")
def canonical():
    """Write canonical JSON a second way: sorted keys, no spaces, text as it is."""

    def write(value):
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        return text.encode("utf-8")

    return write
