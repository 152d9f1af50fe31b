"""Commands compose: what `judge` makes of any layout of the fit, the others find by its ids."""

import json

import pytest

from voirdire.rubrics import load_rubric

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


def of_authors(prompt):
    asked = [{"role": "user", "content": prompt}]
    return [
        [
            f"|USER|: {prompt}",
            [
                {
                    "prompt": asked,
                    "completion": [{"role": "assistant", "content": text}],
                    "response_type": "Comply",
                    "completion_type": label,
                }
                for text, label in ((GOOD, "ideal"), (BAD, "unacceptable"))
            ],
        ]
    ]


@pytest.mark.ci
@pytest.mark.parametrize("layout", [labelled, pairs, ranked, of_authors])
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
        done = call(
            "examine-reward", source, *by, *reward, *few, "--degenerate", "0", "--json"
        ).json
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


@pytest.fixture(scope="module")
def material(shared_dir, tmp_path_factory):
    """Give the authors' three files and their rubric, with features and scores of every row."""
    folder, shared = tmp_path_factory.mktemp("rbr"), shared_dir / "data" / "rbr_layout"
    asked = load_rubric(shared / "proposition_prompts.yaml").propositions
    rows = [json.loads(line) for line in (shared / "train.jsonl").read_text().splitlines()]
    features, scores = [], []
    for place, (said, completions) in enumerate(rows):
        # two of eight prompts are asked for the two kinds of safe refusal, which only they part
        kind = {0: "Safe Refuse 1", 1: "Safe Refuse 2"}.get(place)
        for number, row in enumerate(completions):
            if kind:
                label = ("perfect safe completion", "bad safe completion")[number % 2]
                row |= {"response_type": kind, "completion_type": label}
            key = [said, f"|ASSISTANT|: {row['completion'][-1]['content']}"]
            given = {"apology": number % 5 / 8, "judgement": place % 3 / 4 + number / 50}
            numbers = dict.fromkeys(asked, 0.1) | given
            features.append({"prompt_completion": key, "features": numbers})
            scores.append({"prompt_completion": key, "rm_score": number / 7 - place})
    for name, table in (("train", rows), ("features", features), ("scores", scores)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    return folder, shared / "proposition_prompts.yaml"


@pytest.mark.ci
def test_the_three_files_of_the_authors_serve_every_command(call, material, tmp_path):
    folder, rubric = material
    train, reward = folder / "train.jsonl", tmp_path / "reward.json"
    table_rewards = tmp_path / "again.jsonl"
    given = ("--verdicts", folder / "features.jsonl", "--base", folder / "scores.jsonl")

    fit = call(
        *("fit", train, *given, "--rubric", rubric, "--l2", ".01", "--resamples", "0"),
        *("-o", reward, "--json"),
    ).json
    scored = call("score", train, *given, "--reward", reward, "-o", tmp_path / "r.jsonl", "--json")
    examined = call(
        *("examine-reward", train, *given, "--reward", reward, "--resamples", "0", "--json")
    ).json

    assert fit["dropped"] == []
    assert {row["behavior"] for row in fit["behaviors"]} >= {"safe_refuse_1", "safe_refuse_2"}
    done = scored.json
    assert done["n_items"] == done["n_scored"]
    assert {row["behavior"] for row in done["behaviors"]} == {
        "safe_refuse_1",
        "safe_refuse_2",
        "hard_refuse",
        "comply",
    }
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    places = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    assert [row["base_reward"] for row in rows] == [row["rm_score"] for row in places]
    assert examined["n_comparisons"] > 0
    table = tmp_path / "table.jsonl"
    texts = (folder / "features.jsonl").read_text().splitlines()
    by_id = [
        {"item": row["item"], "judge": "features", **json.loads(text)["features"]}
        for row, text in zip(rows, texts, strict=True)
    ]
    table.write_text("".join(json.dumps(row) + "\n" for row in by_id))
    call("score", train, "--verdicts", table, *given[2:], "--reward", reward, "-o", table_rewards)
    again = [json.loads(line) for line in table_rewards.read_text().splitlines()]
    assert [row["reward"] for row in rows] == [row["reward"] for row in again]


@pytest.mark.ci
def test_score_says_what_the_files_of_the_authors_lack(call, material, tmp_path):
    folder, rubric = material
    train, reward = folder / "train.jsonl", tmp_path / "reward.json"
    given = ("--verdicts", folder / "features.jsonl")
    base = ("--base", folder / "scores.jsonl")
    call("fit", train, *given, *base, "--rubric", rubric, "--l2", ".01", "-o", reward)
    score = ("score", train, "--reward", reward, "-o", tmp_path / "r.jsonl")
    few, other = tmp_path / "few.jsonl", tmp_path / "other.jsonl"
    lines = (folder / "features.jsonl").read_text().splitlines(keepends=True)
    few.write_text("".join(lines[1:]))
    other.write_text(json.dumps({"prompt_completion": ["a", "b"], "rm_score": 1}) + "\n")

    without = call(*score, *given)
    lacking = call(*score, "--verdicts", few, *base)
    about_others = call(*score, *given, "--base", other)

    assert "--base names the column or file" in without.out
    assert "without a reward: no verdict (1)" in lacking.out
    assert about_others.code == 1
    assert "must be about the same prompts and completions" in about_others.err
