"""`voirdire.alt_test`: what it takes, what it gives, what it refuses."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voirdire
from alt_test_oracle import alt_test_oracle
from strategies import aligned_studies, epsilons, item_clusters, qualities
from voirdire.errors import DegenerateDataWarning, DroppedRowsWarning, InputError, NoDataError
from voirdire.records import Failure

ALIGNMENT = {
    "choice": "accuracy",
    "boolean": "accuracy",
    "scale": "neg_rmse",
    "multilabel": "jaccard",
    "text": "similarity",
}
LIBRARIES = ("pandas", "polars", "pyarrow")


def long_frame(library, rows, role):
    columns = dict(zip(("item", role, "label"), map(list, zip(*rows, strict=True)), strict=True))
    return frame_of(library, columns)


def wide_frame(library, raters):
    items = list(dict.fromkeys(item for given in raters.values() for item in given))
    columns = {"item": items}
    columns |= {name: [given.get(item) for item in items] for name, given in raters.items()}
    return frame_of(library, columns)


def frame_of(library, columns):
    if library == "pandas":
        return pd.DataFrame(columns)
    return pl.DataFrame(columns) if library == "polars" else pa.table(columns)


def assert_is_the_oracles(result, expected):
    assert result.winning_rate == pytest.approx(expected["winning_rate"], abs=1e-12, nan_ok=True)
    assert result.advantage_probability == pytest.approx(
        expected["advantage_probability"], abs=1e-12, nan_ok=True
    )
    assert [row.annotator for row in result.annotators] == list(expected["annotators"])
    assert set(result.untested) == set(expected["untested"])
    for row, found in zip(result.annotators, expected["annotators"].values(), strict=True):
        assert row.n_items == found["n_items"]
        assert (row.n_judge_wins, row.n_ties, row.n_human_wins) == (
            found["wins"],
            found["ties"],
            found["losses"],
        )
        assert row.p_value == pytest.approx(found["p_value"], abs=1e-9, nan_ok=True)
        assert (row.rejected, row.rejected_bh) == (found["rejected"], found["rejected_bh"])


# What it gives --------------------------------------------------------------------------------


@given(aligned_studies(), epsilons(), st.data())
def test_dicts_of_every_kind_give_what_the_plain_loops_give(study_and_alignment, epsilon, data):
    study, alignment = study_and_alignment
    margin, mode = epsilon
    variant = data.draw(st.sampled_from(("plain", "quality", "clusters", "expert", "gold")))
    options = {
        "plain": {},
        "quality": {"quality": data.draw(qualities(study))},
        "clusters": {"clusters": data.draw(item_clusters(study))},
        "expert": {"expert": "h0"},
        "gold": {"gold": dict(study.judge)},
    }[variant]
    options |= {"alignment": alignment, "epsilon": margin, "epsilon_mode": mode, "min_items": 2}
    options["labels"] = study.labels

    with pytest.warns(DegenerateDataWarning) if False else _no_degenerate_warnings():
        result = voirdire.alt_test(study.judge, study.humans, **options)

    assert_is_the_oracles(result, alt_test_oracle(study.judge, study.humans, **options))


def _no_degenerate_warnings():
    import warnings

    context = warnings.catch_warnings()
    context.__enter__()
    warnings.simplefilter("ignore", DegenerateDataWarning)
    return _Leaving(context)


class _Leaving:
    def __init__(self, context):
        self._context = context

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self._context.__exit__(*error)
