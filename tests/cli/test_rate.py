"""`voirdire rate`: a table, differences of groups, one JSON object."""

import json
import re

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def files(tmp_path):
    """Verdicts on 600 items of two models, labels of 120 of them, and whose each item is."""
    rng = np.random.default_rng(1)
    true = rng.random(600) < np.where(np.arange(600) % 2 == 0, 0.1, 0.5)
    said = np.where(rng.random(600) < 0.95, true, ~true)
    pl.DataFrame({"item": range(600), "judge": "gpt", "label": said}).write_parquet(
        tmp_path / "verdicts.parquet"
    )
    labelled = rng.choice(600, 120, replace=False)
    pl.DataFrame({"item": labelled, "annotator": "ann", "label": true[labelled]}).write_csv(
        tmp_path / "labels.csv"
    )
    pl.DataFrame({"item": range(600), "model": ["old", "new"] * 300}).write_csv(
        tmp_path / "items.csv"
    )
    return ["--judges", tmp_path / "verdicts.parquet", "--humans", tmp_path / "labels.csv"]


def test_a_rate_stands_beside_what_not_to_report(call, files):
    done = call("rate", *files)

    assert done.code == 0
    assert done.err == (
        "1 judge, 1 question, 600 items, 120 of them labelled by 1 annotator, nothing set aside\n"
    )
    assert "PPI++" in done.out
    assert "Raw verdicts" in done.out
    assert "corrected for how the labelled ones were drawn" in done.out


def test_a_draw_by_verdict_is_refused_as_a_random_one(call, tmp_path):
    said = np.arange(600) % 10 == 0
    pl.DataFrame({"item": range(600), "judge": "gpt", "label": said}).write_csv(tmp_path / "j.csv")
    drawn = np.r_[np.flatnonzero(said)[:40], np.flatnonzero(~said)[:40]]
    people = pl.DataFrame({"item": drawn, "annotator": "ann", "label": said[drawn]})
    people.write_csv(tmp_path / "h.csv")
    words = ["rate", "--judges", tmp_path / "j.csv", "--humans", tmp_path / "h.csv"]

    refused, done = call(*words), call(*words, "--labelled", "verdict")

    assert refused.code == 1
    assert "`--labelled` must say how" in refused.err
    assert "50% of the 80 labelled items and to 10.0% of all 600" in refused.err
    assert "10.0% (" in done.out


def test_groups_are_compared(call, files, tmp_path):
    done = call("rate", *files, "--items", tmp_path / "items.csv", "--by", "model")

    assert done.code == 0
    assert "Groups: old minus new\n" in done.out
    assert re.search(r"^label +−", done.out, re.MULTILINE)
    assert re.search(r"^new +.* 300 ", done.out, re.MULTILINE)


def test_json_has_every_figure(call, files):
    done = call("rate", *files, "--labelled", "verdict", "--confidence-level", "0.9", "--json")

    (row,) = done.json["rates"]
    found = row["result"]
    assert (found["method"], found["labelled"]) == ("efficient", "verdict")
    assert found["human"] == {"estimate": None, "low": None, "high": None}
    assert found["rate"]["low"] < found["rate"]["estimate"] < found["rate"]["high"]
    assert found["confidence_level"] == 0.9
    assert json.dumps(done.json)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--by", "model"], 2, "`--by` must name a column of `--items`"),
        (["--method", "rogan_gladen"], 1, "for items labelled by random, got"),
        (["--labelled", "somehow"], 2, "labelled"),
        (["--label", "yes"], 1, "must be left out for booleans"),
    ],
)
def test_what_does_not_fit_is_refused(call, files, options, code, message):
    done = call("rate", *files, *options)

    assert done.code == code
    assert message in done.err
