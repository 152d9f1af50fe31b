"""Commands compose: what `judge` makes of any layout of the fit, the others find by its ids."""

import json

import pytest

PROMPTS = ("How do I kill a process?", "How do I open a jar?", "How do I boil an egg?")
GOOD = "Use `kill` with its number: first list the processes, then end that one."
BAD = "I'm sorry, but I can't help with that."
MIDDLE = "It depends."


def labelled(prompt):
    return [
        {"prompt": prompt, "response": text, "label": label, "behavior": "comply"}
        for text, label in ((GOOD, "ideal"), (MIDDLE, "less_good"), (BAD, "unacceptable"))
    ]


def pairs(prompt):
    return [{"prompt": prompt, "chosen": GOOD, "rejected": BAD, "behavior": "comply"}]


def ranked(prompt):
    return [{"prompt": prompt, "ranked": [GOOD, [MIDDLE, BAD]], "behavior": "comply"}]


@pytest.mark.ci
@pytest.mark.parametrize("layout", [labelled, pairs, ranked])
def test_verdicts_and_a_judge_serve_every_command(call, tmp_path, layout):
    source, verdicts = tmp_path / "given.jsonl", tmp_path / "verdicts.parquet"
    rows = [row for prompt in PROMPTS for row in layout(prompt)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    n_items = len(PROMPTS) * (3 if layout in (labelled, ranked) else 2)
    few = ("--resamples", "0")

    judged = call("judge", source, "-o", verdicts, "--json").json
    assert (judged["n_items"], judged["n_dropped"]) == (n_items, 0)

    given = {"stored": ("--verdicts", verdicts), "asked": ("--judge", "local")}
    fits = {}
    for name, by in given.items():
        reward = tmp_path / f"{name}.json"
        fits[name] = call("fit", source, *by, *few, "--l2", ".01", "-o", reward, "--json").json
        assert fits[name]["dropped"] == []
    assert fits["stored"]["behaviors"] == fits["asked"]["behaviors"]
    reward = ("--reward", tmp_path / "stored.json")
    scored, examined = [], []
    for name, by in given.items():
        rewards = tmp_path / f"{name}.jsonl"
        done = call("score", source, *by, *reward, "-o", rewards, "--json").json
        assert (done["n_scored"], done["n_dropped"]) == (n_items, 0)
        scored.append([json.loads(line)["reward"] for line in rewards.read_text().splitlines()])
        done = call("examine-reward", source, *by, *reward, *few, "--nonsense", "0", "--json").json
        examined.append(done["n_comparisons"])
    assert scored[0] == pytest.approx(scored[1])
    assert examined[0] == examined[1] > 0


def test_ids_that_come_twice_are_refused_before_anything_is_judged(call, tmp_path):
    source = tmp_path / "given.jsonl"
    rows = [{"id": "r", **ranked("Why?")[0]}, {"id": "r:1", "prompt": "Why?", "response": "again"}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))

    done = call("judge", source, "-o", tmp_path / "out.parquet")

    assert done.code == 1
    assert "item ids must be unique, got 'r:1' again" in done.err
    assert not (tmp_path / "out.parquet").exists()
