"""Judges of criteria are examined like any other: pooled, by prompt, by tag and by sign."""

import json
import random

import pytest

from rewards.test_criteria_reward import chance_of, judge_of
from voirdire.errors import InputError
from voirdire.io import Reading, read_criteria_metadata, read_items
from voirdire.judging import judge_file
from voirdire.records import Criterion
from voirdire.stats import pairwise_f1
from voirdire.studies import examine


def meta_rows(*, written=lambda x: x):
    """Make rows in the shape of HealthBench's meta-evaluation."""
    rng, rows = random.Random(0), []
    for prompt in range(30):
        for answer in range(2):
            for k in range(2):
                text = f"Says fact {k} of {prompt}"
                truth = chance_of(text, str(answer)) >= 0.5
                labels = [truth if rng.random() < 0.85 else not truth for _ in range(3)]
                rows.append(
                    {
                        "prompt": written([{"role": "user", "content": f"Question {prompt}?"}]),
                        "prompt_id": f"p{prompt}", "completion_id": f"p{prompt}-{answer}",
                        "completion": f"Take pill {answer}.", "rubric": text,
                        "category": f"cluster:part_{k}", "binary_labels": written(labels),
                        "anonymized_physician_ids": written(["d1", "d2", f"d{3 + prompt % 2}"]),
                    }
                )  # fmt: skip
    return rows


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("written", [lambda x: x, repr], ids=["lists", "lists in Python"])
def test_healthbenchs_meta_evaluation_is_judged_and_examined(tmp_path, written):
    rows = meta_rows(written=written)
    path, verdicts = write(tmp_path / "meta.jsonl", rows), tmp_path / "v.parquet"
    judge_file(path, verdicts, judge=judge_of(), rubric="criteria", store=False)
    found = examine(
        judges=verdicts, humans=path, clusters=True, min_items=5, n_resamples=0,
        reading=Reading(cluster="prompt_id"),
    )  # fmt: skip

    assert {item.cluster for item in read_items(path, criteria=True).items} == {
        f"p{n}" for n in range(30)
    }
    [result] = found.results
    assert (result.n_items, result.question) == (120, "is_met")
    assert {row.annotator for row in result.annotators} <= {"d1", "d2", "d3", "d4"}
    chances = [chance_of(row["rubric"], row["completion"][-2]) >= 0.5 for row in rows]
    labels = [eval(str(row["binary_labels"])) for row in rows]
    expected = pairwise_f1([int(x) for x in chances], [[int(x) for x in row] for row in labels])
    f1 = found.questions[0].pairwise_f1["model"]
    assert (f1.value, f1.n_pairs, f1.n_units) == (expected.value, 360, 30)
    assert "unclustered_criteria" not in {caution.code for caution in result.cautions}


def test_without_clusters_it_is_said(tmp_path):
    path, verdicts = write(tmp_path / "meta.jsonl", meta_rows()), tmp_path / "v.parquet"
    judge_file(path, verdicts, judge=judge_of(), rubric="criteria", store=False)

    found = examine(judges=verdicts, humans=path, min_items=5, n_resamples=0)

    assert "unclustered_criteria" in {caution.code for caution in found.results[0].cautions}


def test_criteria_are_items_with_tags_and_signs(tmp_path):
    rows = [
        {"id": "a", "prompt": "How much?", "response": "Two.", "group": "q", "criteria": [
            {"criterion": "Says two", "points": 5, "tags": ["axis:accuracy", "level:example"]},
            {"criterion": "Sells", "points": -3, "tags": ["tone"]},
            {"criterion": "Smiles", "points": 0}]},
    ]  # fmt: skip
    path = write(tmp_path / "a.jsonl", rows)
    keys = [Criterion(text=row["criterion"]).key for row in rows[0]["criteria"]]

    frame, clusters = read_criteria_metadata(path)

    assert frame["item"].to_list() == [f"a:{key}" for key in keys]
    assert frame["sign"].to_list() == ["positive", "negative", "none"]
    assert frame["axis"].to_list() == ["accuracy", None, None]
    assert frame["tag"].to_list() == [None, "tone", None]
    assert clusters == dict.fromkeys(frame["item"].to_list(), "q")
    assert read_criteria_metadata(path, columns=["sign"])[0].columns == ["item", "sign"]
    with pytest.raises(InputError, match=r"`columns` must be among .*'axis'"):
        read_criteria_metadata(path, columns=["axes"])
