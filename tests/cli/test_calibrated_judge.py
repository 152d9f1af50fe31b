"""A judge that is too sure, calibrated on gold labels by the commands, up to the reward."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from rewards.reward_cases import TINY, expected_rule_reward, tiny_reward
from voirdire.errors import InputError
from voirdire.judging import LlmJudge
from voirdire.models import load_model
from voirdire.rewards import LiveReward, load_reward
from voirdire.stats import decompose_brier

N_ITEMS, N_GOLD = 1_500, 500
QUESTIONS = ("sorry", "rude")
RNG = np.random.default_rng(3)
LEANING = RNG.normal(-0.3, 1.3, (N_ITEMS, 2)).clip(-4, 4)  # probabilities end at one in a million
"""Log-odds of how often an item like this one is a yes."""
TRUTH = RNG.random((N_ITEMS, 2)) < expit(LEANING)
STATED = expit(3 * LEANING + 1)
"""What the judge says: far too sure, and too often yes."""


@pytest.fixture
def place(tmp_path, monkeypatch, faulty_server):
    """Go to a folder with items, the first third with gold labels, before a server that is sure."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    faulty_server.probability = lambda item, key: float(
        STATED[int(item.removeprefix("item-")), QUESTIONS.index(key)]
    )
    (tmp_path / "tiny.yaml").write_text(TINY, encoding="utf-8")
    items = [
        {
            "id": f"i{k}",
            "prompt": "?",
            "response": f"item-{k}",
            "behavior": ("refuse", "chat")[k % 2],
        }
        for k in range(N_ITEMS)
    ]
    gold = [
        {"item": f"i{k}", "question": question, "label": bool(TRUTH[k, column])}
        for k in range(N_GOLD)
        for column, question in enumerate(QUESTIONS)
    ]
    pairs = [
        {"prompt": f"prompt {k}", "chosen": f"item-{k}", "rejected": f"item-{k + 50}"}
        | {"behavior": ("refuse", "chat")[k % 2]}
        for k in range(50)
    ]
    write_lines("seen.jsonl", items[:N_GOLD])
    write_lines("new.jsonl", items[N_GOLD:])
    write_lines("gold.jsonl", gold)
    write_lines("pairs.jsonl", pairs)
    return tmp_path


def write_lines(name, rows):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def run(call, place, faulty_server):
    """Run a command that asks the judge on the server."""

    def run(*words, code=0):
        asking = ("--judge", "openai/test", "--base-url", faulty_server.url)
        done = call(*words, *asking, "--store", "replies.sqlite")
        assert done.code == code, done.err
        return done

    return run


@pytest.fixture
def calibrate(call, run):
    """Judge the items with gold labels, and calibrate the judge on them."""
    run("judge", "seen.jsonl", "--rubric", "tiny.yaml", "-o", "seen.parquet")
    return lambda *more: call("examine", "--gold", "gold.jsonl", "--judges", "seen.parquet", *more)


def probabilities(path):
    """Give the probabilities of a file of verdicts, an item a row, in the order of the items."""
    rows = pl.read_parquet(path).filter(pl.col("question").is_in(QUESTIONS))
    wide = rows.pivot(on="question", index="item", values="probability")
    return wide.select(QUESTIONS).to_numpy()


def rewards(path):
    return pl.read_ndjson(path)["reward"].to_numpy()


@pytest.mark.ci
def test_calibrated_probabilities_are_better_on_new_items_and_pay_everywhere(
    call, run, calibrate, faulty_server
):
    judging = ("judge", "new.jsonl", "--rubric", "tiny.yaml", "-o")
    done = calibrate("--calibration", "calibration.json")
    run(*judging, "raw.parquet")
    n_served = sum(faulty_server.served.values())

    run(*judging, "calibrated.parquet", "--calibration", "calibration.json")

    assert done.code == 0
    assert sum(faulty_server.served.values()) == n_served  # replies are kept as they came
    assert "sorry by openai/test: Platt scaling lowers the Brier score from" in done.out
    document = json.loads(Path("calibration.json").read_text(encoding="utf-8"))
    raw, better, truth = (
        probabilities("raw.parquet"),
        probabilities("calibrated.parquet"),
        TRUTH[N_GOLD:],
    )
    expected = np.empty_like(raw)
    for column, question in enumerate(QUESTIONS):
        row = document["questions"][question]
        line = row["calibrator"]
        expected[:, column] = expit(line["slope"] * logit(raw[:, column]) + line["intercept"])
        assert row["n_items"] == N_GOLD
        assert row["calibrated_brier"] < row["brier"]
        assert line["slope"] == pytest.approx(1 / 3, abs=0.08)  # the judge leans three times as far
        before, after = (decompose_brier(p[:, column], truth[:, column]) for p in (raw, better))
        assert after.brier < before.brier - 0.02
        assert after.calibration_error.estimate < before.calibration_error.estimate / 2
        assert after.brier == pytest.approx(row["calibrated_brier"], abs=0.03)
        assert roc_auc_score(truth[:, column], better[:, column]) == pytest.approx(
            roc_auc_score(truth[:, column], raw[:, column]), abs=1e-12
        )
    assert better == pytest.approx(expected, abs=1e-9)
    labels = pl.read_parquet("calibrated.parquet").filter(question="sorry")["label"]
    assert labels.to_list() == (expected[:, 0] >= 0.5).tolist()

    tiny_reward().save("by_hand.json")
    run(
        *("score", "new.jsonl", "--reward", "by_hand.json", "-o", "rewards.jsonl"),
        *("--calibration", "calibration.json", "--rubric", "tiny.yaml"),
    )

    by_hand = [
        expected_rule_reward(("refuse", "chat")[(N_GOLD + k) % 2], *row)
        for k, row in enumerate(expected)
    ]
    assert rewards("rewards.jsonl") == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
def test_a_reward_of_the_calibrated_judge_is_paid_by_no_other(call, run, calibrate, faulty_server):
    calibrate("--calibration", "calibration.json")
    judging = ("judge", "new.jsonl", "--rubric", "tiny.yaml", "-o")
    run(*judging, "raw.parquet")
    run(*judging, "calibrated.parquet", "--calibration", "calibration.json")
    fitting = ("fit", "pairs.jsonl", "--rubric", "tiny.yaml", "-o", "reward.json")
    run(*fitting, "--calibration", "calibration.json")
    scoring = ("score", "new.jsonl", "--reward", "reward.json", "--rubric", "tiny.yaml", "-o")

    refused = call(*scoring, "a.jsonl", "--verdicts", "raw.parquet")
    stored = call(*scoring, "b.jsonl", "--verdicts", "calibrated.parquet")
    run(*scoring, "c.jsonl", code=1)
    run(*scoring, "d.jsonl", "--calibration", "calibration.json")

    assert refused.code == 1
    assert "must be of the judge that reward" in refused.err
    assert "The judge of the reward is calibrated: name its `--calibration`." in " ".join(
        refused.err.split()
    )
    assert stored.code == 0, stored.err
    assert rewards("b.jsonl") == pytest.approx(rewards("d.jsonl"), abs=1e-12)
    # the reward can make its judge again, calibration and all
    reward = load_reward("reward.json", rubric="tiny.yaml")
    same = LlmJudge(
        model=load_model("openai/test", base_url=faulty_server.url), calibration="calibration.json"
    )
    own, named = (LiveReward(reward, judge=each) for each in ("own", same))
    assert own.judge_fingerprint == named.judge_fingerprint
    with pytest.raises(InputError, match="must be of the judge that reward"):
        LiveReward(reward, judge=replace(same, calibration=None))
