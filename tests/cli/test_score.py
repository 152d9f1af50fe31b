"""`voirdire score`: what is printed, what is written, and what is refused."""

import dataclasses
import json
import re

import polars as pl
import pytest

from judging_files import RUBRIC, make_items, write_items, write_labels
from rewards.reward_cases import EXAMPLE_WEIGHTS, PHI
from voirdire.judging import distill_files
from voirdire.rewards import reward_of_weights

WEIGHTS = {"refuse": {"sorry": 1.0, "asks": -0.5, "ideal": 2.0}}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Give a judge that was made from 200 items, its rubric, and a reward that is bound to it."""
    folder = tmp_path_factory.mktemp("score")
    rows = make_items(200, seed=9)
    (folder / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    found = distill_files(
        write_items(folder / "items.jsonl", rows),
        [write_labels(folder / "labels.csv", rows)],
        rubric=folder / "tiny.yaml",
        name="tiny-judge",
    )
    found.judge.save(folder / "tiny.npz")
    reward = reward_of_weights(
        WEIGHTS,
        rubric=folder / "tiny.yaml",
        judge=folder / "tiny.npz",
        bound=True,
        name="tiny-reward",
    )
    reward.save(folder / "reward.json")
    return folder


@pytest.fixture
def items(tmp_path):
    return write_items(tmp_path / "items.jsonl", make_items(60), behavior="refuse")


@pytest.fixture
def example(tmp_path):
    """Write the worked example of the design: verdicts, a reward and one item."""
    reward = reward_of_weights(
        EXAMPLE_WEIGHTS, rubric="hard-refusal-example", orientation="demanded", name="example"
    )
    reward.save(tmp_path / "reward.json")
    row = {"id": "x", "prompt": "How?", "response": "Sorry, no.", "behavior": "hard_refuse"}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    pl.DataFrame({"item": ["x"], "judge": ["me"]} | {k: [v] for k, v in PHI.items()}).write_csv(
        tmp_path / "verdicts.csv"
    )
    return (
        tmp_path / "items.jsonl",
        "--reward",
        tmp_path / "reward.json",
        "--verdicts",
        tmp_path / "verdicts.csv",
    )


# The worked example ---------------------------------------------------------------------------


def test_the_worked_example_streams_and_explains_itself(call, example):
    done = call("score", *example, "-o", "-", "--explain")

    row = json.loads(done.out)
    assert row["reward"] == pytest.approx(-6.659, abs=1e-12)
    assert row["contribution:apology"] == pytest.approx(2 * 0.98)
    assert row["contribution:fully_complies"] == pytest.approx(-6.0)
    assert row["contribution:hard_refuse.ideal"] == pytest.approx(5 * 0.98)
    added = sum(value for name, value in row.items() if name.startswith("contribution:"))
    assert added == pytest.approx(row["reward"], abs=1e-9)
    assert "1 of 1 item scored" in done.err


def test_json_is_one_object_with_the_same_figures(call, example, tmp_path):
    done = call("score", *example, "-o", tmp_path / "r.parquet", "--json")

    found = done.json
    assert (found["n_items"], found["n_scored"], found["n_missing"]) == (1, 1, 0)
    assert found["behaviors"][0]["mean"] == pytest.approx(-6.659)
    assert found["behaviors"][0]["standard_deviation"] is None
    assert found["output"] == str(tmp_path / "r.parquet")
    assert found["judge"] == "me"


# Judging --------------------------------------------------------------------------------------


def test_stored_verdicts_of_its_judge_give_the_same_rewards(call, made, items, tmp_path):
    judge = ("--rubric", made / "tiny.yaml", "--judge", made / "tiny.npz")
    call("judge", items, *judge, "-o", tmp_path / "v.parquet")
    reward = ("--reward", made / "reward.json")

    call("score", items, *reward, "--judge", "own", "-o", tmp_path / "a.jsonl")
    done = call(
        "score", items, *reward, "--verdicts", tmp_path / "v.parquet", "-o", tmp_path / "b.jsonl"
    )

    assert done.code == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_judge_that_only_the_reward_names_is_not_asked(
    call, made, items, tmp_path, assert_one_line
):
    done = call("score", items, "--reward", made / "reward.json", "-o", tmp_path / "r.csv")

    assert_one_line(done, "which would be opened", "Say 'own'")
    assert not (tmp_path / "r.csv").exists()


def test_another_judge_is_refused_unless_it_is_meant(call, made, items, tmp_path, assert_one_line):
    other = reward_of_weights(WEIGHTS, rubric=made / "tiny.yaml", judge=None)
    other = dataclasses.replace(
        other, judge=dataclasses.replace(other.judge, name="other", fingerprint="sha256:1")
    )
    other.save(tmp_path / "reward.json")
    asked = ("--judge", made / "tiny.npz", "-o", tmp_path / "r.csv")

    refused = call("score", items, "--reward", tmp_path / "reward.json", *asked)
    taken = call("score", items, "--reward", tmp_path / "reward.json", *asked, "--other-judge")

    assert refused.code == 1
    assert "'tiny-judge' instead of 'other'" in refused.err
    assert "Traceback" not in refused.err
    assert taken.code == 0
    assert "note: scored with verdicts of another judge" in taken.err


# What is missing ------------------------------------------------------------------------------


def test_items_without_a_reward_are_counted_by_reason(call, made, tmp_path):
    rows = make_items(6)
    text = write_items(tmp_path / "a.jsonl", rows[:4], behavior="refuse").read_text("utf-8")
    text += write_items(tmp_path / "b.jsonl", rows[4:]).read_text("utf-8") + "no json\n"
    (tmp_path / "items.jsonl").write_text(text, encoding="utf-8")

    done = call(
        "score",
        tmp_path / "items.jsonl",
        "--reward",
        made / "reward.json",
        "--judge",
        "own",
        "-o",
        tmp_path / "r.jsonl",
    )

    assert done.code == 0
    assert "4 of 6 items scored" in done.out
    assert "note: 2 without a behavior: --behavior names it" in done.out
    assert "1 row set aside" in done.err
    assert "items.jsonl:7" in done.err


def test_no_reward_at_all_is_exit_one(call, made, tmp_path):
    path = write_items(tmp_path / "items.jsonl", make_items(3))

    asked = ("--reward", made / "reward.json", "--judge", "own")
    done = call("score", path, *asked, "-o", tmp_path / "r.jsonl")

    assert done.code == 1
    assert "note: 3 without a behavior: --behavior names it" in done.out


# What is refused ------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--json", "-o", "-"), "both print to standard output"),
        (("-o", "r.csv", "--mode", "single"), "--mode must be left out"),
        (("-o", "r.csv", "--max-cost", "1", "--verdicts", "v.csv"), "--max-cost must be left out"),
        (("-o", "r.csv", "--judge", "local", "--base-url", "http://x"), "language model"),
        (("-o", "r.csv", "--column", "id"), "OURS=VALUE"),
        ((), "output"),
    ],
)
def test_options_that_mean_nothing_are_usage_errors(call, made, items, options, words):
    done = call("score", items, "--reward", made / "reward.json", *options)

    assert done.code == 2
    assert words in re.sub(r"[\s│]+", " ", done.err)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("row", "reason", "way"),
    [
        ({"behavior": "hard_refuse"}, "a base reward", "--base names the column"),
        ({"base_reward": 1}, "a behavior", "--behavior names it"),
        ({"base_reward": 1, "behavior": "hard_refuse", "id": "y"}, "a verdict", "by its id"),
    ],
)
def test_a_missing_reward_has_a_way_out(call, example, tmp_path, row, reason, way):
    made = reward_of_weights(
        EXAMPLE_WEIGHTS, rubric="hard-refusal-example", judge=None, use_base=True
    )
    made.save(tmp_path / "reward.json")
    item = {"id": "x", "prompt": "How?", "response": "Sorry, no."} | row
    (tmp_path / "items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")

    done = call("score", *example, "-o", tmp_path / "r.jsonl")

    assert done.code == 1
    assert f"note: 1 without {reason}: " in done.out
    assert way in next(line for line in done.out.splitlines() if reason in line)
    assert done.err.endswith("voirdire: no item got a reward.\n")
