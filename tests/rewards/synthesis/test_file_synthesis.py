"""From a file of prompts to a file of completions: whole or not at all, and it can go on."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from rewards.reward_cases import own_environment
from rewards.synthesis.obedient import (
    N_COMPLETIONS,
    PROMPTS,
    RECIPES,
    SAFETY,
    judge,
    obeying,
    recipe_of,
    writer,
)
from voirdire.errors import InputError, NoDataError
from voirdire.rewards import read_comparisons, synthesize, synthesize_file
from voirdire.store import open_store


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in PROMPTS), encoding="utf-8")
    return path


def made_by(model, prompts, output, **settings):
    given = {"model": model, "judge": judge(), "rubric": SAFETY, "recipes": RECIPES}
    return synthesize_file(prompts, output, **(given | settings))


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_file_holds_what_is_made_in_memory(prompts, tmp_path):
    output = tmp_path / "comparisons.jsonl"

    summary = made_by(writer(), prompts, output)

    rows = synthesize(
        prompts, model=writer(), judge=judge(), rubric=SAFETY, recipes=RECIPES
    ).rows  # fmt: skip
    assert lines_of(output) == [json.loads(json.dumps(row)) for row in rows]
    assert (summary.output, summary.rejected_output, summary.n_written) == (
        str(output), None, N_COMPLETIONS
    )  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "comparisons.jsonl", "prompts.jsonl", "voirdire-replies.sqlite"
    ]  # fmt: skip


def test_the_output_is_read_as_comparisons_without_a_word_about_it(prompts, tmp_path):
    output = tmp_path / "comparisons.jsonl"
    made_by(writer(), prompts, output)

    data = read_comparisons(output)

    rows = lines_of(output)
    assert data.dropped == ()
    assert data.labels == tuple(row["label"] for row in rows)
    assert data.behaviors == tuple(row["behavior"] for row in rows)
    assert [item.group for item in data.items] == [row["group"] for row in rows]
    assert [item.response for item in data.items] == [row["response"] for row in rows]
    assert data.items[0].prompt[0].content == PROMPTS[0]["prompt"]


def test_what_did_not_come_about_is_listed_beside_the_output(prompts, tmp_path):
    output = tmp_path / "made.jsonl"

    def forgetful(request):
        return obeying(request).replace("disallowed_content", "")

    summary = made_by(writer(forgetful), prompts, output, n_attempts=2)

    rejected = lines_of(tmp_path / "made.jsonl.rejected.jsonl")
    assert [row["label"] for row in rejected] == ["disallowed", "disallowed"]
    assert rejected[0]["unmet"] == ["disallowed_content"]
    assert "disallowed_content must be true (p 0.04)" in rejected[0]["failed"][1]
    assert summary.rejected_output == str(tmp_path / "made.jsonl.rejected.jsonl")
    assert {row["label"] for row in lines_of(output)} == {"ideal", "less_good", "unacceptable"}
    assert summary.n_complete == 1


def test_a_later_run_without_rejected_completions_takes_their_list_away(prompts, tmp_path):
    output = tmp_path / "made.jsonl"
    made_by(writer(lambda request: "This shows: judgement."), prompts, output, n_attempts=1)

    made_by(writer(), prompts, output, n_attempts=1, seed=1)

    assert not (tmp_path / "made.jsonl.rejected.jsonl").exists()
    assert len(lines_of(output)) == N_COMPLETIONS


def test_prompts_that_are_set_aside_are_listed(tmp_path):
    path, output = tmp_path / "p.jsonl", tmp_path / "made.jsonl"
    path.write_text('{"prompt": "Hi", "behavior": "comply"}\n{"prompt": "Ho"}\n', encoding="utf-8")

    summary = made_by(writer(), path, output)

    dropped = lines_of(tmp_path / "made.jsonl.dropped.jsonl")
    assert summary.n_dropped == len(dropped) == 1
    assert dropped[0]["item"] == "p:2"


@pytest.mark.parametrize("name", ["mine.jsonl", "made.jsonl.rejected.jsonl"])
def test_a_file_of_something_else_is_never_replaced(prompts, tmp_path, name):
    (tmp_path / name).write_text('{"dear": "diary"}\n', encoding="utf-8")
    output = tmp_path / (name if name == "mine.jsonl" else "made.jsonl")
    model = writer()

    with pytest.raises(InputError, match="must not replace"):
        made_by(model, prompts, output)

    assert (tmp_path / name).read_text(encoding="utf-8") == '{"dear": "diary"}\n'
    assert model.calls == []


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("made.csv", "must end in .jsonl"),
        ("nowhere/made.jsonl", "does not exist"),
        ("prompts.jsonl", "must be another file than the prompts"),
        (".", "must end in .jsonl"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_anything_is_called(
    prompts, tmp_path, output, message
):
    model = writer()

    with pytest.raises(InputError, match=message):
        made_by(model, prompts, tmp_path / output)

    assert model.calls == []


def test_a_run_that_fails_leaves_no_output_and_no_folder(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "Hi"}\n', encoding="utf-8")

    with pytest.raises(NoDataError, match="no behavior"):
        made_by(writer(), path, tmp_path / "made.jsonl")

    assert sorted(row.name for row in tmp_path.iterdir()) == ["p.jsonl"]


@pytest.mark.ci
def test_many_prompts_come_out_whole_and_in_order(prompts, tmp_path):
    # they are written 200 at a time
    rows = [PROMPTS[2] | {"id": f"{k}", "prompt": f"p {k}"} for k in range(430)]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    whole = tmp_path / "whole.jsonl"
    recipes = recipe_of(RECIPES.behaviors["comply"][0], behavior="comply")

    summary = made_by(writer(), prompts, whole, recipes=recipes)

    assert summary.n_prompts == 430
    assert [row["group"] for row in lines_of(whole)] == [f"{k}" for k in range(430)]


# Killed and gone on ----------------------------------------------------------------------------

DRIVER = """
import asyncio
import os
import sys

from rewards.synthesis.obedient import judge, obeying, writer
from voirdire.rewards import synthesize_file


def noted(request):
    with open(sys.argv[3], "a") as file:
        file.write("x")
    return obeying(request)


def is_held():
    hold, calls = sys.argv[4], sys.argv[3]
    return os.path.exists(hold) and os.path.exists(calls) and os.path.getsize(calls) >= 40


async def held(request):
    while is_held():
        await asyncio.sleep(0.005)
    return await reply(request)


model = writer(noted, delay_s=0.05)
reply, model.reply = model.reply, held
synthesize_file(
    sys.argv[1], sys.argv[2], model=model, judge=judge(),
    concurrency=4,
)
"""
N_PROMPTS = 20
CONCURRENCY = 4


@pytest.fixture
def start(tmp_path):
    (tmp_path / "driver.py").write_text(DRIVER, encoding="utf-8")
    rows = [PROMPTS[k % 3] | {"id": f"{k}", "prompt": f"p {k}"} for k in range(N_PROMPTS)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "many.jsonl").write_text(lines, encoding="utf-8")
    begun = []

    def started():
        """Start a run that waits after half of its calls as long as `hold` is there."""
        words = ["driver.py", "many.jsonl", "made.jsonl", "calls.txt"]
        process = subprocess.Popen(
            [sys.executable, *(str(tmp_path / word) for word in words), tmp_path / "hold"],
            env=own_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        begun.append(process)
        return process

    yield started
    for process in begun:
        process.kill()
        process.communicate()


def n_calls(tmp_path):
    path = tmp_path / "calls.txt"
    return path.stat().st_size if path.exists() else 0


def n_stored(tmp_path):
    with open_store(tmp_path / "voirdire-replies.sqlite") as store:
        return sum(sum(1 for _ in store.scan(row.id)) for row in store.judges())


def wait_for_calls(process, tmp_path, n):
    limit = time.monotonic() + 60
    while n_calls(tmp_path) < n and process.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_goes_on_and_pays_for_nothing_twice(start, tmp_path, end):
    (tmp_path / "hold").touch()
    process = start()
    wait_for_calls(process, tmp_path, 25)

    process.send_signal(end)
    (tmp_path / "hold").unlink()
    process.communicate(timeout=60)

    n_before, kept = n_calls(tmp_path), n_stored(tmp_path)
    assert process.returncode != 0
    assert not (tmp_path / "made.jsonl").exists()
    assert n_before < 4 * N_PROMPTS
    # what was in flight is lost where nobody could wait for it, and kept where somebody did
    assert n_before - kept <= (CONCURRENCY if end == signal.SIGKILL else 0)
    again = start()
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, out + err
    assert n_calls(tmp_path) == 4 * N_PROMPTS + n_before - kept
    groups = Counter(row["group"] for row in lines_of(tmp_path / "made.jsonl"))
    assert groups == {f"{k}": 4 for k in range(N_PROMPTS)}
    assert not list(tmp_path.glob(".made.jsonl.*"))
