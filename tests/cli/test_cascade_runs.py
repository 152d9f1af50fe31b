"""A cascade as the judge of a fit, a run of scores, an examination and a synthesis, over HTTP."""

import json
import math
import os
import signal
import subprocess
import time

import pytest

from cli.test_cascade import (  # noqa: F401  # two fixtures among them
    UNSURE,
    VAGUE,
    expected_of,
    made,
    n_served,
    named_items,
    place,
)
from judging.llm.counted_runs import PROGRAM
from judging_files import write_items
from servers.faulty import running_faulty_server
from voirdire.judging import LocalJudge
from voirdire.records import Item

FIT = (
    *("fit", "comparisons.jsonl", "--judge", "cascade.yaml", "--rubric", "tiny.yaml"),
    *("--resamples", "50", "-o", "reward.json"),
)
SCORE = (
    *("score", "items.jsonl", "--reward", "reward.json", "--judge", "cascade.yaml"),
    *("-o", "rewards.csv"),
)
EXAMINE = (
    *("examine-reward", "comparisons.jsonl", "--reward", "reward.json"),
    *("--judge", "cascade.yaml", "--resamples", "50", "--json", "--nonsense", "0"),
)
RECIPES = """
schema: voirdire.recipes/1
name: tiny
version: "1"
rubric: tiny
recipes:
  refuse:
    - label: ideal
    - label: less_good
      sampled: {from: [required, undesired]}
"""
COMMANDS = pytest.mark.parametrize("words", [FIT, SCORE, EXAMINE], ids=["fit", "score", "examine"])


@pytest.fixture
def folder(place):  # noqa: F811  # the fixture that was imported
    """Add completions with labels, and a reward of weights, which nobody was asked for."""
    write_comparisons(place, n_prompts=12)
    (place / "reward.json").write_text(json.dumps(made_reward(place)), encoding="utf-8")
    return place


def write_comparisons(folder, *, n_prompts):
    rows = [
        {
            "id": f"c{prompt}-{label}",
            "prompt": f"How is number {prompt} done?",
            "response": f"{said} (item-{10_000 * k + prompt})",
            "label": label,
            "behavior": "refuse",
        }
        for prompt in range(n_prompts)
        for k, (label, said) in enumerate(
            [("ideal", "Sorry, rain is beyond me."), ("unacceptable", VAGUE[prompt % 3])], start=1
        )
    ]
    path = folder / "comparisons.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def made_reward(folder):
    from voirdire.rewards import reward_of_weights

    weights = {"refuse": {"sorry": 2, "asks": -1}}
    reward = reward_of_weights(weights, rubric=folder / "tiny.yaml", judge=folder / "cascade.yaml")
    reward.save(folder / "made.json")
    return json.loads((folder / "made.json").read_text(encoding="utf-8"))


def goes_on(folder, responses):
    """Work out of which responses the first judge is unsure, by name of the item in them."""
    judge = LocalJudge.load(folder / "tiny.npz")
    columns = [judge.questions.index(name) for name in ("sorry", "asks")]
    items = [Item(id=name, response=text) for name, text in responses.items()]
    values = judge.probabilities(items)[:, columns].tolist()
    return {
        name
        for name, row in zip(responses, values, strict=True)
        if any(UNSURE[0] < value < UNSURE[1] for value in row)
    }


def asked_about(folder, words):
    """Name the items of a command that go on."""
    path = folder / ("items.jsonl" if words is SCORE else "comparisons.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    named = {row["response"].rpartition("(")[2].rstrip(")"): row["response"] for row in rows}
    return goes_on(folder, named)


def change_cascade(folder, old, new):
    path = folder / "cascade.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.ci
@COMMANDS
def test_the_model_is_asked_about_what_goes_on_and_once(call, folder, faulty_server, words):
    expected = asked_about(folder, words)

    first = call(*words)
    again = call(*words)

    assert first.code == again.code == 0, first.err + again.err
    assert len(expected) > 3
    assert dict(faulty_server.served) == dict.fromkeys(expected, 1)


@pytest.mark.edges
@COMMANDS
@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("[0.2, 0.8]", "[0.8, 0.2]", "the lower one first, got [0.8, 0.2]"),
        ("[0.2, 0.8]", "3", "must be two finite numbers"),
        ("[0.2, 0.8]", "{sorry: [0, 1]}", "must have the key 'default'"),
        ("[0.2, 0.8]", "{default: [0, 1], nothing: [0, 1]}", "got 'nothing'"),
        ("tiny.npz", "gone.npz", "'gone.npz', which is no file"),
        ("tiny.npz", "items.jsonl", "items.jsonl"),
    ],
)
def test_a_wrong_cascade_is_one_line_and_calls_nothing(
    call, folder, faulty_server, words, old, new, match
):
    change_cascade(folder, old, new)
    before = {path.name for path in folder.iterdir()}

    done = call(*words)

    assert done.code == 1
    assert match in done.err
    assert done.err.startswith("voirdire: ")
    assert done.err.count("\n") == 1
    assert n_served(faulty_server) == 0
    assert {path.name for path in folder.iterdir()} <= {*before, "rewards.csv.scoring"}


@pytest.mark.edges
@COMMANDS
def test_a_model_that_lets_nobody_in_ends_the_run_and_the_next_goes_on(
    call, folder, faulty_server, words
):
    faulty_server.script = lambda item, n_before: "no_access"
    reward = (folder / "reward.json").read_bytes()

    stopped = call(*words)
    faulty_server.script = lambda item, n_before: "ok"
    after = (folder / "reward.json").read_bytes()
    done = call(*words)

    assert stopped.code == 1
    assert "HTTP 401" in stopped.err
    assert "Traceback" not in stopped.err
    assert after == reward  # a fit that ended so wrote nothing over it
    assert done.code == 0, done.err
    assert set(faulty_server.replied) == asked_about(folder, words)
    assert set(faulty_server.replied.values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("words", [FIT, SCORE, EXAMINE], ids=["fit", "score", "examine"])
def test_ctrl_c_and_the_same_command_again_pay_for_nothing_twice(
    call, folder, faulty_server, words
):
    write_items(folder / "items.jsonl", named_items(600), behavior="refuse")
    write_comparisons(folder, n_prompts=300)
    expected = asked_about(folder, words)
    faulty_server.n_allowed = 40
    process = subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 120
    while n_served(faulty_server) < 44:  # four more than are answered: they are in flight
        assert time.monotonic() < limit, "nothing was asked"
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    while process.poll() is None:  # in flight are four at a time; nothing new should begin
        assert time.monotonic() < limit + 120, "it does not end"
        faulty_server.n_allowed += 1
        time.sleep(0.02)
    _, said = process.communicate(timeout=120)

    faulty_server.n_allowed = math.inf
    done = call(*words)

    assert process.returncode != 0
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    assert done.code == 0, done.err
    assert dict(faulty_server.served) == dict.fromkeys(expected, 1)


@pytest.fixture
def writer():
    """Give a server whose drafts leave the first judge unsure for every third prompt."""
    with running_faulty_server() as server:
        server.answer = lambda item, key, form: said_about(item)
        yield server


def said_about(item):
    said = "Of course." if int(item.rpartition("-")[2]) % 3 == 0 else "Sorry, rain is beyond me."
    return f"{said} ({item})"


@pytest.fixture
def synthesize(call, folder, writer):
    """Have completions written and verified by the cascade."""
    rows = [
        {"id": f"p{k}", "prompt": f"Do item-{k}, please.", "behavior": "refuse"} for k in range(9)
    ]
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "recipes.yaml").write_text(RECIPES, encoding="utf-8")

    def called(*options):
        return call(
            *("synthesize", "prompts.jsonl", "--model", "openai/writer", "--rubric", "tiny.yaml"),
            *("--base-url", writer.url, "--judge", "cascade.yaml", "--attempts", "1"),
            *("--recipes", "recipes.yaml", "-o", "written.jsonl", *options),
        )

    return called


def drafts():
    """Give the texts that the writer writes, by name of the item."""
    return {f"item-{k}": json.dumps({"apology": said_about(f"item-{k}")}) for k in range(9)}


@pytest.mark.ci
def test_drafts_are_verified_by_both_and_the_model_is_asked_once(synthesize, folder, faulty_server):
    expected = goes_on(folder, drafts())

    done = synthesize("--json")
    again = synthesize("--json")

    assert done.code == again.code == 0, done.err + again.err
    assert 0 < len(expected) < 9
    assert dict(faulty_server.served) == dict.fromkeys(expected, 1)
    assert done.json["judge_calls"]["n_kept"] > 0
    assert again.json["judge_calls"]["n_calls"] == 0
