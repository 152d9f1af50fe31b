"""`voirdire variance`: components, what would halve the error, wrong files."""

import numpy as np
import polars as pl
import pytest

from voirdire.stats import variance_components


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    item, prompt, run = np.indices((50, 3, 5)).reshape(3, -1)
    score = rng.normal(0, 0.5, 50)[item] + np.array([-0.4, 0, 0.4])[prompt]
    score += rng.normal(0, 0.3, len(item))
    return pl.DataFrame({"item": item, "prompt": prompt, "run": run, "score": score})


OPTIONS = ["--score", "score", "--facet", "item", "--facet", "prompt", "--facet", "run"]


def test_components_and_what_would_halve_the_error(call, scores, tmp_path):
    scores.write_csv(tmp_path / "scores.csv")
    done = call("variance", tmp_path / "scores.csv", *OPTIONS)

    assert done.code == 0
    assert "item × prompt" in done.out
    found = variance_components(
        scores["score"], {name: scores[name] for name in ("item", "prompt", "run")}
    )
    sizes = {size.facet: size.n_to_halve for size in found.sizes}
    assert f"prompt: {sizes['prompt']} (now 3)" in done.out
    assert "run: more of them cannot (now 5)" in done.out


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_json_has_the_figures_of_python_for_every_format(call, scores, tmp_path, ending):
    write = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[ending]
    getattr(scores, write)(tmp_path / f"scores.{ending}")
    done = call("variance", tmp_path / f"scores.{ending}", *OPTIONS, "--json")

    found = variance_components(
        scores["score"], {name: scores[name] for name in ("item", "prompt", "run")}
    )
    assert done.json["standard_error"] == pytest.approx(found.standard_error)
    shares = {tuple(row["facets"]): row["error_share"] for row in done.json["components"]}
    expected = {row.facets: row.error_share for row in found.components}
    assert shares == pytest.approx(expected, abs=1e-9)


def test_yes_and_no_are_scores_and_rows_without_one_are_left_out(call, tmp_path):
    rows = [f"{item},{run},{'yes' if item % 2 else 'no'}" for item in range(6) for run in (1, 2)]
    (tmp_path / "s.csv").write_text("item,run,says\n" + "\n".join(rows) + "\n9,1,\n")
    done = call(
        "variance", tmp_path / "s.csv", "--score", "says", "--facet", "item", "--facet", "run",
        "--json",
    )  # fmt: skip
    assert done.json["n_scores"] == 12
    assert done.json["mean"] == 0.5


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("item,run,s\n1,1,maybe\n", [], "s.csv:2: column `s` must be a number, or yes or no"),
        ("item,run,s\n1,,3\n", [], "s.csv:2: column `run` must hold a value"),
        ("item,run,s\n1,1,\n", [], "must hold scores, got none"),
        ("", [], "s.csv"),
        ("item,turn,s\n1,1,1\n", [], "column `run` must exist"),
        ("item,run,s\n1,1,1\n1,2,2\n", [], "at least two levels each, got 1 for 'item'"),
        ("item,run,s\n1,1,1\n", ["--facet", "run"], "must name different columns"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(call, tmp_path, text, options, message):
    (tmp_path / "s.csv").write_text(text)
    done = call(
        "variance", tmp_path / "s.csv", "--score", "s", "--facet", "item", "--facet", "run",
        *options,
    )  # fmt: skip
    assert done.code in (1, 2)
    assert message in done.err
