"""`voirdire sample`: from a training run to an examination in one command."""

import csv
import shlex

import numpy as np
import pytest

from rewards.training.recorded_runs import recorded


@pytest.fixture
def run(tmp_path):
    """Record a run in which every verdict is clear."""
    recorded(tmp_path / "run", n_steps=6)
    return tmp_path / "run"


def fill(path, *, rng, slips):
    """Answer as the judge does (its answers stand in the responses), with some slips."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {row["item"]: row["response"] for row in rows if row["response"]}
    for row in rows:
        sorry, rude = map(float, texts[row["item"]].split())
        is_true = (sorry if row["question"] == "sorry" else rude) >= 0.5
        row["label"] = "yes" if is_true != (rng.random() < slips) else "no"
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, rows[0].keys())
        sheet.writeheader()
        sheet.writerows(rows)


@pytest.mark.ci
def test_the_command_that_is_printed_examines_the_judge(call, run, tmp_path):
    done = call("sample", run, "-n", "60", "-o", tmp_path / "sample")
    rng = np.random.default_rng(0)
    for path in sorted((tmp_path / "sample").glob("labels-*.csv")):
        fill(path, rng=rng, slips=0.1)
    command = done.out.splitlines()[-1]

    program, *arguments = shlex.split(command)
    examined = call(*arguments, "--json")

    assert program == "voirdire"
    rows = {row["question"]: row for row in examined.json["examinations"]}
    assert set(rows) == {"sorry", "rude"}
    for row in rows.values():
        assert (row["judge"], row["outcome"]) == ("scripted", "passed")
        assert [one["annotator"] for one in row["annotators"]] == [
            "annotator-1",
            "annotator-2",
            "annotator-3",
        ]
    assert rows["rude"]["n_items"] == 60
    assert examined.json["dropped"] == []


def test_what_was_drawn_and_what_comes_next_is_printed(call, run, tmp_path):
    done = call("sample", run, "-o", tmp_path / "sample", "--annotators", "2", "--seed", "5")

    assert done.code == 0
    assert "60 completions drawn from 144 completions, seed 5" in done.out
    assert "Next: give each annotator one sheet" in done.out
    assert done.out.count("labels-2.csv") == 2
    assert "labels-3.csv" not in done.out


def test_json_names_every_file(call, run, tmp_path):
    found = call("sample", run, "-o", tmp_path / "sample", "-n", "12", "--json").json

    assert found["n_items"] == 12
    # 6 steps of 8 chats and 16 refusals, two in each third
    assert found["strata"]["chat/early"]["n_different"] == 16
    assert found["strata"]["refuse/late"]["n_different"] == 32
    assert found["command"].startswith("voirdire examine --humans ")
    assert len(found["sheets"]) == 3
    # fewer than 30 items are asked about either question
    assert "the least that an examination takes" in found["notes"][0]


def test_labels_are_not_overwritten(call, run, tmp_path, assert_one_line):
    call("sample", run, "-o", tmp_path / "sample")
    fill(tmp_path / "sample" / "labels-1.csv", rng=np.random.default_rng(0), slips=0)

    done = call("sample", run, "-o", tmp_path / "sample")

    assert_one_line(done, "`--output` must hold no labels", "labels-1.csv")
