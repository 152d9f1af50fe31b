"""Files of items into files of rewards: the same numbers as in memory, whole or not at all."""

import csv
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np
import polars as pl
import pytest

from full_disk import no_file_above
from rewards.reward_cases import (
    expected_rule_reward,
    own_environment,
    tiny_judge,
    tiny_reward,
    tiny_rubric,
)
from voirdire.errors import InputError, NoDataError
from voirdire.io import read_items
from voirdire.judging import LlmJudge, ScriptedJudge, judge, judge_file
from voirdire.rewards import score_file
from voirdire.testing import ScriptedModel

N_ITEMS = 90
N_MANY = 18_000
"""Several batches."""
SCORE_COLUMNS = ("item", "behavior", "reward", "base_reward", "rule_reward", "gated", "missing")


def bound(**settings):
    return tiny_reward(judge=tiny_judge(), bound=True, **settings)


def rows(n_items=N_ITEMS, **more):
    chance = np.random.default_rng(0)
    return [
        {
            "id": f"i{n}",
            "prompt": f"question {n}",
            "response": "{} {}".format(*chance.random(2)),
            "behavior": ("refuse", "chat")[n % 2],
            "base_reward": n / 7,
            **more,
        }
        for n in range(n_items)
    ]


def write(path, found):
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


def read(path):
    """Read rewards with nothing of ours, nulls as None and numbers as numbers."""
    if path.suffix == ".parquet":
        return pl.read_parquet(path).to_dicts()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    words = ("item", "behavior", "gated", "missing")
    return [
        {k: (v or None) if k in words or not v else float(v) for k, v in row.items()}
        | {"gated": row["gated"] == "true"}
        for row in found
    ]


@pytest.fixture
def items(tmp_path):
    return write(tmp_path / "items.jsonl", rows())


@pytest.fixture
def verdicts(items, tmp_path):
    """Judge the items into a file of verdicts."""
    path = tmp_path / "verdicts.parquet"
    judge_file(items, path, rubric=tiny_rubric(), judge=tiny_judge())
    return path


@pytest.fixture
def many_items(tmp_path):
    return write(tmp_path / "items.jsonl", rows(N_MANY))


@pytest.fixture
def many_verdicts(many_items, tmp_path):
    return judged_by_hand(tmp_path / "verdicts.parquet", N_MANY)


def judged_by_hand(path, n_items):
    """Write the verdicts that `tiny_judge` gives, without asking it so often."""
    example = judge(rows(1), judge=tiny_judge(), rubric=tiny_rubric()).frame("wide")
    example = example.drop("response_hash")
    found = rows(n_items)
    numbers = np.array([row["response"].split() for row in found], dtype=float)
    table = pl.DataFrame(
        {
            "item": [row["id"] for row in found],
            "behavior": [row["behavior"] for row in found],
            "sorry": numbers[:, 0],
            "rude": numbers[:, 1],
        }
    )
    rest = [name for name in example.columns if name not in table.columns]
    table = table.with_columns(pl.lit(example[name][0]).alias(name) for name in rest)
    table.select(example.columns).write_parquet(path)
    return path


# The numbers ----------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("way", ["stored", "judged"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_rewards_of_a_file_are_those_of_the_definitions(items, verdicts, tmp_path, suffix, way):
    target = tmp_path / f"rewards.{suffix}"
    settings = {"verdicts": verdicts} if way == "stored" else {"judge": tiny_judge()}

    summary = score_file(items, target, reward=bound(use_base=True), **settings)

    found = read(target)
    assert [row["item"] for row in found] == [f"i{n}" for n in range(N_ITEMS)]
    assert all(tuple(row) == SCORE_COLUMNS for row in found)
    for given, row in zip(rows(), found, strict=True):
        numbers = map(float, given["response"].split())
        rule = expected_rule_reward(given["behavior"], *numbers)
        assert row["rule_reward"] == pytest.approx(rule, abs=1e-12)
        assert row["base_reward"] == given["base_reward"]
        assert row["reward"] == pytest.approx(rule + given["base_reward"], abs=1e-12)
        assert (row["behavior"], row["missing"]) == (given["behavior"], None)
    assert (summary.n_items, summary.n_scored, dict(summary.missing)) == (N_ITEMS, N_ITEMS, {})
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(
        ["items.jsonl", "verdicts.parquet", target.name]
    )


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_items_of_other_formats_are_scored_the_same(items, verdicts, tmp_path, suffix):
    table = pl.DataFrame(rows())
    other = tmp_path / f"others.{suffix}"
    table.write_parquet(other) if suffix == "parquet" else table.write_csv(other)
    settings = {"reward": bound(use_base=True), "verdicts": verdicts}

    score_file(items, tmp_path / "a.jsonl", **settings)
    score_file(other, tmp_path / "b.jsonl", **settings)

    assert read(tmp_path / "a.jsonl") == read(tmp_path / "b.jsonl")


@pytest.mark.ci
def test_verdicts_in_another_order_give_the_same_file(many_items, many_verdicts, tmp_path):
    score_file(many_items, tmp_path / "a.jsonl", reward=bound(), verdicts=many_verdicts)
    pl.read_parquet(many_verdicts).sample(fraction=1.0, shuffle=True, seed=1).write_csv(
        tmp_path / "v.csv"
    )

    score_file(many_items, tmp_path / "b.jsonl", reward=bound(), verdicts=[tmp_path / "v.csv"])

    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_file_is_scored_as_its_items_are_in_memory(items, verdicts, tmp_path):
    score_file(items, tmp_path / "r.jsonl", reward=bound(), verdicts=verdicts)

    scores = bound().score(read_items(items).items, verdicts=verdicts)

    assert [row["reward"] for row in read(tmp_path / "r.jsonl")] == scores.rewards.tolist()


def test_figures_per_behavior_are_those_of_the_rows(many_items, many_verdicts, tmp_path):
    summary = score_file(
        many_items, tmp_path / "r.jsonl", reward=bound(use_base=True), verdicts=many_verdicts
    )

    found = read(tmp_path / "r.jsonl")
    assert [row.behavior for row in summary.behaviors] == ["refuse", "chat"]
    for row in summary.behaviors:
        own = [each for each in found if each["behavior"] == row.behavior]
        rewards = np.array([each["reward"] for each in own])
        assert (row.n_items, row.n_scored) == (len(own), len(own))
        assert row.mean == pytest.approx(rewards.mean())
        assert row.standard_deviation == pytest.approx(rewards.std(ddof=1))
        assert (row.minimum, row.maximum) == (rewards.min(), rewards.max())
        assert row.mean_rule == pytest.approx(np.mean([each["rule_reward"] for each in own]))
        assert row.mean_base == pytest.approx(np.mean([each["base_reward"] for each in own]))


@pytest.mark.edges
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_explained_contributions_and_base_add_up(items, verdicts, tmp_path, suffix, center):
    reward = bound(use_base=True)
    behaviors = {k: dataclasses.replace(v, mean=0.75) for k, v in reward.behaviors.items()}
    reward = dataclasses.replace(reward, behaviors=behaviors)
    target = tmp_path / f"r.{suffix}"

    score_file(items, target, reward=reward, verdicts=verdicts, explain=True, center=center)

    for row in read(target):
        added = {k: v for k, v in row.items() if k.startswith("contribution:") and v is not None}
        own = {f"contribution:{name}" for name in reward.feature_set(row["behavior"]).names}
        assert set(added) == own | ({"contribution:(center)"} if center else set())
        assert sum(added.values()) + row["base_reward"] == pytest.approx(row["reward"], abs=1e-9)


# What is missing ------------------------------------------------------------------------------


def test_every_item_without_a_reward_says_why_and_none_gets_zero(tmp_path):
    found = rows(9)
    found[0]["response"] = "nan 0.5"
    found[1]["base_reward"] = None
    found[2]["base_reward"] = "lots"
    found[3]["behavior"] = None
    found[4]["behavior"] = "dance"
    found[5]["prompt"] = ""
    del found[6]["response"]
    path = write(tmp_path / "items.jsonl", found)
    path.write_text(path.read_text(encoding="utf-8") + "no json\n", encoding="utf-8")

    summary = score_file(
        path, tmp_path / "r.jsonl", reward=bound(use_base=True), judge=tiny_judge()
    )

    rewards = {row["item"]: row for row in read(tmp_path / "r.jsonl")}
    missing = {name: row["missing"] for name, row in rewards.items() if row["reward"] is None}
    assert missing == {
        "i0": "failed verdict: the judge gave no probability",
        "i1": "no base reward",
        "i2": "the base reward is no finite number",
        "i3": "no behavior",
        "i4": "unknown behavior 'dance'",
    }
    assert 0.0 not in [row["reward"] for row in rewards.values()]
    assert dict(summary.missing) == dict.fromkeys(missing.values(), 1)
    assert (summary.n_items, summary.n_scored, summary.n_dropped) == (8, 3, 2)
    drops = read(tmp_path / "r.jsonl.dropped.jsonl")
    assert [row["line"] for row in drops] == [7, 10]
    assert [row.behavior for row in summary.behaviors] == ["refuse", "chat", None, "dance"]


def test_the_behavior_of_items_that_have_none_may_be_given(tmp_path):
    path = write(tmp_path / "items.jsonl", rows(4, behavior=None))

    summary = score_file(
        path, tmp_path / "r.jsonl", reward=bound(), judge=tiny_judge(), behavior="chat"
    )

    assert [row.behavior for row in summary.behaviors] == ["chat"]
    with pytest.raises(InputError, match="`behavior` must be in rubric"):
        score_file(path, tmp_path / "r.jsonl", reward=bound(), judge=tiny_judge(), behavior="x")


def pair(prompt, **more):
    sides = {"chosen": "0.25 0.5", "rejected": "0.75 0.5"}
    return {"id": prompt, "prompt": prompt, "behavior": "chat", **sides, **more}


@pytest.mark.edges
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_each_side_of_a_pair_has_its_own_base_reward(tmp_path, suffix):
    found = [
        pair("a", chosen_base_reward=1.5, rejected_base_reward=-0.5),
        pair("b", chosen_base_reward=None, rejected_base_reward=0.25),
    ]
    path = tmp_path / f"pairs{suffix}"
    if suffix == ".parquet":
        pl.DataFrame(found).write_parquet(path)
    elif suffix == ".csv":
        pl.DataFrame(found).write_csv(path)
    else:
        write(path, found)

    score_file(path, tmp_path / "r.jsonl", reward=bound(use_base=True), judge=tiny_judge())

    scored = {row["item"]: row for row in read(tmp_path / "r.jsonl")}
    assert {name: row["base_reward"] for name, row in scored.items()} == {
        "a:chosen": 1.5, "a:rejected": -0.5, "b:chosen": None, "b:rejected": 0.25,
    }  # fmt: skip
    for name in ("a:chosen", "a:rejected", "b:rejected"):
        row = scored[name]
        assert row["reward"] == pytest.approx(row["base_reward"] + row["rule_reward"], abs=1e-12)
    assert (scored["b:chosen"]["reward"], scored["b:chosen"]["missing"]) == (None, "no base reward")


def test_the_base_rewards_of_pairs_may_be_called_anything_and_be_one_for_both(tmp_path):
    rows_of_pairs = [pair("a", chosen_score=2.0, rejected_score=1.0), pair("b", score=3.0)]
    path = write(tmp_path / "pairs.jsonl", rows_of_pairs)

    score_file(path, tmp_path / "r.jsonl", reward=bound(), judge=tiny_judge(), base="score")

    assert [row["base_reward"] for row in read(tmp_path / "r.jsonl")] == [2.0, 1.0, 3.0, 3.0]


def test_base_rewards_of_pairs_that_are_not_added_are_named(tmp_path):
    path = write(tmp_path / "pairs.jsonl", [pair("a", chosen_base_reward=2.0)])

    summary = score_file(path, tmp_path / "r.jsonl", reward=bound(), judge=tiny_judge())

    assert "`base_reward` is not added" in summary.notes[0]


def test_the_base_column_may_be_called_anything(tmp_path):
    found = [{**row, "score": 2.5} for row in rows(4)]
    path = write(tmp_path / "items.jsonl", found)
    settings = {"reward": bound(), "judge": tiny_judge()}

    named = score_file(path, tmp_path / "a.jsonl", base="score", **settings)
    unused = score_file(path, tmp_path / "b.jsonl", **settings)

    assert [row["base_reward"] for row in read(tmp_path / "a.jsonl")] == [2.5] * 4
    assert [row["base_reward"] for row in read(tmp_path / "b.jsonl")] == [0.0] * 4
    assert named.notes == ()
    assert "`base_reward` is not added" in unused.notes[0]
    with pytest.raises(InputError, match="column of the items, got 'sore'"):
        score_file(path, tmp_path / "c.jsonl", base="sore", **settings)
    assert not (tmp_path / "c.jsonl").exists()


def test_the_other_usual_name_of_the_base_reward_is_found(tmp_path):
    found = [{**row, "rm_score": 4} for row in rows(2)]
    for row in found:
        del row["base_reward"]
    path = write(tmp_path / "items.jsonl", found)

    score_file(path, tmp_path / "r.jsonl", reward=bound(use_base=True), judge=tiny_judge())

    assert [row["base_reward"] for row in read(tmp_path / "r.jsonl")] == [4.0, 4.0]


# Files ----------------------------------------------------------------------------------------


def test_rewards_are_replaced_and_nothing_else_is(items, verdicts, tmp_path):
    settings = {"reward": bound(), "verdicts": verdicts}
    target = tmp_path / "r.jsonl"
    score_file(items, target, **settings)
    before = target.read_bytes()

    score_file(items, target, **settings)

    assert target.read_bytes() == before
    for name in ("notes.jsonl", "verdicts.parquet", "items.jsonl"):
        other = tmp_path / name
        if not other.exists():
            other.write_text('{"mine": 1}\n', encoding="utf-8")
        kept = other.read_bytes()
        with pytest.raises(InputError, match="`output` must"):
            score_file(items, other, **settings)
        assert other.read_bytes() == kept


@pytest.mark.edges
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("r.txt", "end in .parquet"),
        ("", "end in"),
        ("no/such/r.csv", "does not exist"),
        ("folder.csv", "must be a file, got the folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_at_once(items, verdicts, tmp_path, name, words):
    (tmp_path / "folder.csv").mkdir()

    with pytest.raises(InputError, match=words):
        score_file(items, tmp_path / name, reward=bound(), verdicts=verdicts)


@pytest.mark.ci
def test_an_error_on_the_way_leaves_nothing_under_the_name(many_items, many_verdicts, tmp_path):
    text = many_items.read_text(encoding="utf-8")
    many_items.write_text(text + text.splitlines()[0] + "\n", encoding="utf-8")  # an id twice

    with pytest.raises(InputError, match="ids must be unique"):
        score_file(many_items, tmp_path / "r.parquet", reward=bound(), verdicts=many_verdicts)

    assert sorted(x.name for x in tmp_path.iterdir()) == ["items.jsonl", "verdicts.parquet"]


@pytest.mark.skipif(os.name != "posix", reason="no limit on the size of files")
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_full_disk_is_one_line_and_leaves_nothing(items, verdicts, tmp_path, suffix):
    with no_file_above(3_000), pytest.raises(InputError, match="cannot be written"):
        score_file(items, tmp_path / f"r.{suffix}", reward=bound(), verdicts=verdicts)

    assert sorted(x.name for x in tmp_path.iterdir()) == ["items.jsonl", "verdicts.parquet"]


@pytest.mark.ci
def test_items_that_change_while_they_are_read_are_an_error(many_items, many_verdicts, tmp_path):
    def grow(state):
        with many_items.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"id": f"n{state.n_items}", "response": "0 0"}) + "\n")

    with pytest.raises(InputError, match="must not change"):
        score_file(
            many_items, tmp_path / "r.jsonl", reward=bound(), verdicts=many_verdicts, progress=grow
        )

    assert not (tmp_path / "r.jsonl").exists()


def test_an_empty_file_is_an_error(tmp_path, verdicts):
    (tmp_path / "none.jsonl").write_text("", encoding="utf-8")

    with pytest.raises(NoDataError):
        score_file(tmp_path / "none.jsonl", tmp_path / "r.csv", reward=bound(), verdicts=verdicts)
    with pytest.raises(NoDataError):
        score_file(tmp_path / "none.jsonl", tmp_path / "r.csv", reward=bound(), judge=tiny_judge())
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("r.csv")]


def test_rewards_may_go_to_standard_output(items, verdicts, capfdbinary):
    summary = score_file(items, "-", reward=bound(), verdicts=verdicts)

    found = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [row["item"] for row in found] == [f"i{n}" for n in range(N_ITEMS)]
    assert summary.output == "-"


def test_a_reward_may_be_named_by_its_file(items, verdicts, tmp_path):
    bound().save(tmp_path / "reward.json")

    with pytest.warns(UserWarning, match="without a valid certificate"):
        summary = score_file(
            items, tmp_path / "r.csv", reward=tmp_path / "reward.json", verdicts=verdicts
        )

    assert summary.n_scored == N_ITEMS


# Judging --------------------------------------------------------------------------------------


BROKEN = ScriptedJudge(questions=("sorry", "rude"), answer=lambda _: 1 / 0)


@pytest.mark.parametrize("wrong", [{"base": "none"}, {"judge": BROKEN}], ids=["base", "judge"])
def test_a_run_that_breaks_off_leaves_nothing_to_go_on_from(items, tmp_path, monkeypatch, wrong):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    with pytest.raises((InputError, ZeroDivisionError)):
        score_file(
            items, tmp_path / "r.jsonl", **{"reward": bound(), "judge": tiny_judge()} | wrong
        )

    assert sorted(x.name for x in tmp_path.iterdir()) == ["items.jsonl", "temporary"]
    assert not any((tmp_path / "temporary").iterdir())


def scripted_model(calls, **settings):
    def answer(request):
        calls.append(request)
        return {"sorry": 0.75, "rude": 0.25}

    return ScriptedModel(answer, **settings)


@pytest.mark.parametrize("output", ["r.jsonl", "-"])
def test_replies_of_a_language_model_are_kept_and_never_paid_for_twice(
    items, tmp_path, output, capfdbinary
):
    calls = []
    asked = LlmJudge(model=scripted_model(calls), probability="stated")
    reward = tiny_reward(judge=asked, bound=True)
    target = output if output == "-" else tmp_path / output
    settings = {"reward": reward, "judge": asked, "store": tmp_path / "store.sqlite"}

    first = score_file(items, target, **settings)
    n_calls = len(calls)
    second = score_file(items, target, **settings)

    assert n_calls == N_ITEMS
    assert len(calls) == n_calls
    assert first.n_scored == second.n_scored == N_ITEMS
    assert (first.calls.n_calls, second.calls.n_calls) == (N_ITEMS, 0)
    for row in first.behaviors:
        assert row.mean == pytest.approx(expected_rule_reward(row.behavior, 0.75, 0.25))


def test_failed_calls_leave_their_items_without_a_reward_and_say_why(items, tmp_path):
    from voirdire.errors import RefusalError

    def answer(request):
        if "question 13" in request.messages[-1].content:
            return RefusalError("no")
        return {"sorry": 0.75, "rude": 0.25}

    asked = LlmJudge(model=ScriptedModel(answer), probability="stated")

    summary = score_file(items, tmp_path / "r.jsonl", reward=tiny_reward(), judge=asked)

    lost = [row for row in read(tmp_path / "r.jsonl") if row["reward"] is None]
    assert [row["item"] for row in lost] == ["i13"]
    assert lost[0]["missing"].startswith("failed verdict: refusal")
    assert summary.n_missing == 1


@pytest.mark.ci
def test_a_run_of_a_language_model_can_be_stopped_and_goes_on(items, tmp_path):
    calls, stopping = [], threading.Event()

    def answer(request):
        calls.append(1)
        if len(calls) == 10:
            stopping.set()
        return {"sorry": 0.75, "rude": 0.25}

    slow = ScriptedModel(answer, delay_s=0.02)
    asked = LlmJudge(model=slow, probability="stated", concurrency=2)
    settings = {"reward": tiny_reward(), "judge": asked}

    with pytest.raises(KeyboardInterrupt):
        score_file(items, tmp_path / "r.jsonl", stopping=stopping, **settings)
    n_first = len(calls)
    assert not (tmp_path / "r.jsonl").exists()
    score_file(items, tmp_path / "r.jsonl", **settings)

    assert n_first < N_ITEMS
    assert len(calls) == N_ITEMS


def test_another_judge_is_refused_before_anything_is_judged(items, tmp_path):
    with pytest.raises(InputError, match="`judge` must be of the judge"):
        score_file(items, tmp_path / "r.csv", reward=bound(), judge=tiny_judge(version="2"))

    summary = score_file(
        items,
        tmp_path / "r.csv",
        reward=bound(),
        judge=tiny_judge(version="2"),
        other_judge=True,
    )
    assert "verdicts of another judge" in summary.notes[0]


def test_progress_counts_the_items(items, tmp_path):
    told = []

    score_file(items, tmp_path / "r.csv", reward=bound(), judge=tiny_judge(), progress=told.append)

    assert told[-1].n_items == N_ITEMS


# Killed, and two at once ----------------------------------------------------------------------

SCORE = """
import sys
from rewards.scoring.test_score_file import bound
from voirdire.rewards import score_file

items, verdicts, output = sys.argv[1:]

def tell(state):
    print("told", flush=True)
    if output.endswith("slow.jsonl"):
        sys.stdin.readline()

score_file(items, output, reward=bound(), verdicts=verdicts, progress=tell)
"""


def started(*arguments):
    """Score in a process of its own, which waits for a line after each batch."""
    return subprocess.Popen(
        [sys.executable, "-c", SCORE, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=own_environment(),
    )


@pytest.fixture
def half_done(many_items, many_verdicts, tmp_path):
    """Give a process that has written some rewards and waits."""
    process = started(many_items, many_verdicts, tmp_path / "slow.jsonl")
    assert process.stdout.readline() == b"told\n"
    process.stdin.write(b"\n")
    process.stdin.flush()
    yield process
    process.kill()
    process.communicate()


@pytest.mark.ci
def test_a_killed_run_leaves_no_output_and_the_next_one_nothing_else(
    half_done, many_items, many_verdicts, tmp_path
):
    there = {"items.jsonl", "verdicts.parquet"}

    half_done.kill()
    half_done.wait()
    left = {path.name for path in tmp_path.iterdir()}
    score_file(many_items, tmp_path / "slow.jsonl", reward=bound(), verdicts=many_verdicts)

    (folder,) = left - there
    assert folder.startswith(".slow.jsonl.")
    assert {path.name for path in tmp_path.iterdir()} == there | {"slow.jsonl"}
    assert [row["item"] for row in read(tmp_path / "slow.jsonl")] == [
        row["id"] for row in rows(N_MANY)
    ]


@pytest.mark.slow
def test_two_runs_at_once_each_write_a_whole_file(half_done, many_items, many_verdicts, tmp_path):
    output = tmp_path / "slow.jsonl"
    score_file(many_items, output, reward=bound(), verdicts=many_verdicts)
    whole = output.read_bytes()
    output.unlink()
    half_done.communicate(b"\n" * N_ITEMS)

    assert half_done.returncode == 0
    assert output.read_bytes() == whole


@pytest.mark.slow
def test_ctrl_c_leaves_nothing(half_done, tmp_path):
    assert half_done.stdout.readline() == b"told\n"  # it waits now; within polars it would go on
    half_done.send_signal(signal.SIGINT)
    _, errors = half_done.communicate(b"\n" * N_ITEMS)

    assert half_done.returncode != 0
    assert b"KeyboardInterrupt" in errors
    assert {path.name for path in tmp_path.iterdir()} == {"items.jsonl", "verdicts.parquet"}


# Verdicts that do not belong to the responses ---------------------------------------------------


@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_verdicts_on_other_responses_of_the_same_ids_are_refused(tmp_path, layout, suffix):
    found = rows(4)
    items = write(tmp_path / "items.jsonl", found)
    path = tmp_path / f"v.{suffix}"
    judge_file(items, path, rubric=tiny_rubric(), judge=tiny_judge(), layout=layout)
    settings = {"reward": bound(), "verdicts": path}
    assert score_file(items, tmp_path / "r.jsonl", **settings).n_scored == 4
    found[1] |= {"response": "0.5 0.5"}
    found[2] |= {"prompt": "Another prompt", "group": "g"}
    changed = write(tmp_path / "changed.jsonl", found)

    with pytest.raises(InputError, match=r"on these responses, .* for 1 of 4 items \(.* 'i1'\)"):
        score_file(changed, tmp_path / "r.jsonl", **settings)


def test_verdicts_of_another_tool_that_hash_nothing_are_taken(tmp_path):
    items = write(tmp_path / "items.jsonl", rows(2))
    frame = pl.DataFrame({"item": ["i0", "i1"], "sorry": [0.25, 1.0], "rude": [0.0, 0.5]})

    summary = score_file(items, tmp_path / "r.jsonl", reward=tiny_reward(), verdicts=frame)

    assert summary.n_scored == 2
    assert not any("labels" in note for note in summary.notes)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"item": ["i0", "i1"], "sorry": ["yes", "no"], "rude": ["no", "no"]}),
        pl.DataFrame({"item": ["i0", "i1"], "sorry": [1, 0], "rude": [0, 0]}),
        pl.DataFrame(
            {
                "item": ["i0", "i0", "i1", "i1"],
                "question": ["sorry", "rude"] * 2,
                "label": [True, False, False, False],
            }
        ),
    ],
)
def test_labels_without_probabilities_are_said_to_count_as_0_and_1(tmp_path, frame):
    items = write(tmp_path / "items.jsonl", rows(2))

    summary = score_file(items, tmp_path / "r.jsonl", reward=tiny_reward(), verdicts=frame)

    assert "labels without probabilities, and count as 0 and 1" in summary.notes[0]
