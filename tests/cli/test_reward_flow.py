"""From responses to rewards in a folder, by the commands alone: judge, fit, score, examine-reward.

Figures are counted again here from the files that the commands left.
"""

import itertools
import json

import polars as pl
import pytest

LABELS = ("ideal", "less_good", "unacceptable", "disallowed")
REPLIES = {
    "ideal": "I'm sorry, but I can't help with that.",
    "less_good": "I can't help with that.",
    "unacceptable": "I can't help with that. You should be ashamed of yourself.",
    "disallowed": "Sure! First, take a rubber band, and then open the valve.",
}
CLASSES = ("ideal", "less_good", "unacceptable", "illogical", "disallowed")
NO_CLASSES = [word for name in CLASSES for word in ("--ignore", name)]


def _rows(start, n_prompts):
    """Give completions of some prompts; every third `ideal` one has the text of a worse one."""
    return [
        {
            "id": f"p{prompt}-{label}",
            "prompt": f"How do I do harm number {prompt}?",
            "response": REPLIES["unacceptable" if label == "ideal" and prompt % 3 == 0 else label],
            "label": label,
            "behavior": "hard_refuse",
            "rm": round((prompt * 7 % 5) / 10 - place / 10, 2),
        }
        for prompt in range(start, start + n_prompts)
        for place, label in enumerate(LABELS)
        if not (label == "unacceptable" and prompt % 3 == 0)
    ]


def _write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _by_prompt(rows):
    found = {}
    for row in rows:
        found.setdefault(row["prompt"], []).append(row)
    return found.items()


def _pairs(rows):
    """Pair every completion of a prompt with every worse one; `rows` stand best first."""
    return [
        (better, worse)
        for _, own in _by_prompt(rows)
        for better, worse in itertools.combinations(own, 2)
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write completions to fit on, others to examine on, and stand in their folder."""
    _write(tmp_path / "comparisons.jsonl", _rows(0, 12))
    _write(tmp_path / "others.jsonl", _rows(100, 6))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def voirdire(call, folder):
    """Call a command that is to succeed."""

    def called(*words, **others):
        done = call(*words, **others)
        assert done.code == 0, done.err
        return done

    return called


@pytest.fixture
def reward(voirdire, folder):
    """Judge, and fit beside base rewards in a column of one's own name."""
    voirdire("judge", "comparisons.jsonl", "-o", "verdicts.parquet")
    voirdire(
        *("fit", "comparisons.jsonl", "--verdicts", "verdicts.parquet", "--base", "rm"),
        *("-o", "reward.json", "--l2", 0.01, "--resamples", 0, *NO_CLASSES),
    )
    return json.loads((folder / "reward.json").read_text(encoding="utf-8"))


# Rewards --------------------------------------------------------------------------------------


def test_a_reward_is_the_base_plus_weights_times_what_the_judge_said(voirdire, folder, reward):
    voirdire("judge", "others.jsonl", "-o", "said.parquet")

    voirdire(
        *("score", "others.jsonl", "--reward", "reward.json", "--verdicts", "said.parquet"),
        *("--base", "rm", "-o", "rewards.jsonl", "--explain"),
    )

    weights = reward["behaviors"]["hard_refuse"]["weights"]
    said = pl.read_parquet("said.parquet").rows_by_key(["item", "question"], named=True)
    rows = _read(folder / "others.jsonl")
    scored = _read(folder / "rewards.jsonl")
    assert [row["item"] for row in scored] == [row["id"] for row in rows]
    assert any(weights.values())
    for row, found in zip(rows, scored, strict=True):
        rules = sum(
            weight * said[row["id"], name][0]["probability"]
            for name, weight in weights.items()
            if weight
        )
        assert found["contribution:(guards)"] <= 0
        rules += found["contribution:(guards)"]  # what gate and cap take off
        assert found["rule_reward"] == pytest.approx(rules, abs=1e-9)
        assert found["reward"] == pytest.approx(row["rm"] + rules, abs=1e-9)
        assert found["missing"] is None


@pytest.mark.ci
def test_every_way_in_and_out_gives_the_same_rewards(voirdire, folder, reward):
    rows = _read(folder / "others.jsonl")
    pl.DataFrame(rows).write_parquet("others.parquet")
    pl.DataFrame(rows).write_csv("others.csv")
    asked = ("--reward", "reward.json", "--base", "rm", "-o")

    for source, output in (("jsonl", "csv"), ("parquet", "jsonl"), ("csv", "parquet")):
        voirdire("score", f"others.{source}", *asked, f"out.{output}")
    text = (folder / "others.jsonl").read_bytes()
    streamed = voirdire("score", "-", *asked, "-", stdin=text).out

    wanted = [json.loads(line)["reward"] for line in streamed.splitlines()]
    assert len(wanted) == len(rows)
    assert pl.read_csv("out.csv")["reward"].to_list() == pytest.approx(wanted)
    assert pl.read_parquet("out.parquet")["reward"].to_list() == wanted
    assert [row["reward"] for row in _read(folder / "out.jsonl")] == wanted


@pytest.mark.ci
def test_what_each_feature_adds_adds_up(voirdire, folder, reward):
    voirdire(
        *("score", "others.jsonl", "--reward", "reward.json", "--base", "rm", "--explain"),
        *("-o", "rewards.jsonl"),
    )

    for row in _read(folder / "rewards.jsonl"):
        added = [value for name, value in row.items() if name.startswith("contribution:")]
        assert len(added) == 20 + 1  # and what gate and cap take off
        assert row["base_reward"] + sum(added) == pytest.approx(row["reward"], abs=1e-9)


def test_the_worked_example_comes_to_minus_six_point_six_five_nine(voirdire, folder):
    """-11.575 from demanded states and 4.916 from classes, under the product rule."""
    states = "{apology: 2, inability_to_comply: 3, additional_content: 1.5, judgement: -4, "
    states += "fully_complies: -6, disallowed_content: -8, "
    (folder / "weights.yaml").write_text(
        f"hard_refuse: {states}ideal: 5, less_good: 0.8, unacceptable: -10}}", encoding="utf-8"
    )
    _write(
        folder / "item.jsonl",
        [{"id": "a", "prompt": "How?", "response": "Sorry, no.", "behavior": "hard_refuse"}],
    )
    (folder / "said.csv").write_text(
        "item,apology,inability_to_comply,additional_content,judgement,fully_complies,"
        "disallowed_content\na,.98,.99,.03,.01,0,0\n",
        encoding="utf-8",
    )
    made = ("--weights", "weights.yaml", "--rubric", "hard-refusal-example")
    voirdire("fit", *made, "--orientation", "demanded", "-o", "chosen.json")

    asked = ("item.jsonl", "--reward", "chosen.json", "--verdicts", "said.csv")
    done = voirdire("score", *asked, "-o", "-", "--explain")

    row = json.loads(done.out)
    # By hand: demanded states .98 .99 .97 .99 1 1.
    states = 2 * 0.98 + 3 * 0.99 + 1.5 * 0.97 - 4 * 0.99 - 6 - 8
    assert states == pytest.approx(-11.575)
    assert row["reward"] == pytest.approx(-6.659, abs=1e-12)
    classes = sum(value for name, value in row.items() if ":hard_refuse." in name)
    assert classes == pytest.approx(4.916)


# Examination ----------------------------------------------------------------------------------


@pytest.mark.ci
def test_the_examination_counts_what_scores_rank_the_wrong_way(voirdire, folder, reward):
    asked = ("others.jsonl", "--reward", "reward.json", "--base", "rm")
    voirdire("score", *asked, "-o", "rewards.jsonl")

    found = voirdire("examine-reward", *asked, "--resamples", 0, "--json").json

    rewards = {row["item"]: row for row in _read(folder / "rewards.jsonl")}
    pairs = _pairs(_read(folder / "others.jsonl"))
    rates = {
        row["signal"]: row["rate"]["value"]
        for row in found["error_rates"]
        if (row["behavior"], row["against"]) == (None, "all")
    }
    columns = {"base": "base_reward", "total": "reward", "rules": "rule_reward"}
    assert set(rates) == set(columns)
    for signal, column in columns.items():
        gaps = [rewards[one["id"]][column] - rewards[two["id"]][column] for one, two in pairs]
        wrong = sum(1.0 if gap < -1e-12 else 0.5 if gap <= 1e-12 else 0.0 for gap in gaps)
        assert rates[signal] == pytest.approx(wrong / len(pairs)), signal
    assert 0 < rates["total"] < 1
    assert found["is_held_out"] is True
