"""`voirdire examine` of a decision model whose truth and miscalibration are known."""

import json

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from servers.deciding import running_decider

N_ITEMS = 300
RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Write items, labels of three people, and serve a model that is too sure of what it knows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    chance = rng.uniform(0.02, 0.98, N_ITEMS)
    truth = rng.random(N_ITEMS) < chance
    sure = chance**3 / (chance**3 + (1 - chance) ** 3)  # three times its log-odds
    rows = [{"id": f"i{n}", "prompt": "p", "response": f"say {n}"} for n in range(N_ITEMS)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "tiny.yaml").write_text(RUBRIC)
    people = [
        {"item": f"i{n}", "annotator": name, "question": "sorry", "label": bool(truth[n] ^ slip)}
        for name in ("ann", "bob", "eve")
        for n, slip in enumerate(rng.random(N_ITEMS) < 0.05)
    ]
    (tmp_path / "people.jsonl").write_text("\n".join(map(json.dumps, people)))
    votes = np.reshape([row["label"] for row in people], (3, N_ITEMS))
    with running_decider() as decider:
        decider.chance = lambda state, name, option: float(sure[int(state["response"].split()[1])])
        yield decider, sure, votes.sum(axis=0) >= 2


@pytest.mark.edges
def test_one_run_examines_calibrates_and_pays_once(call, study, tmp_path):
    decider, sure, majority = study
    asked = ("--rubric", "tiny.yaml", "--judge", "systemone/m", "--base-url", decider.url)
    people = ("--humans", "people.jsonl", "--items", "items.jsonl")

    done = call("examine", *people, *asked, "--calibration", "calibration.json")

    assert done.code == 0
    assert "Against the majority of the annotators" in done.out
    (row,) = json.loads((tmp_path / "calibration.json").read_text())["questions"].values()
    assert row["n_items"] == N_ITEMS
    assert row["brier"] == pytest.approx(brier_score_loss(majority, sure))
    assert row["calibrated_brier"] < row["brier"]
    assert 0.2 < row["calibrator"]["slope"] < 0.5  # the log-odds were three times too large
    judged = ("judge", "items.jsonl", *asked, "--calibration", "calibration.json", "--json")
    again = call(*judged, "-o", "verdicts.jsonl", "--store", "voirdire-replies.sqlite")
    assert again.code == 0
    assert len(decider.bodies) == N_ITEMS  # every reply was stored
    rows = map(json.loads, (tmp_path / "verdicts.jsonl").read_text().splitlines())
    mended = np.array([row["probability"] for row in rows])
    assert brier_score_loss(majority, mended) < row["brier"]


@pytest.mark.edges
def test_reliability_is_told_by_slice(call, study, tmp_path):
    """In half of the items the model states what is so, in the others it always says .9."""
    decider, sure, _ = study
    odds = (sure / (1 - sure)) ** (1 / 3)
    chance = odds / (1 + odds)
    is_easy = np.arange(N_ITEMS) % 2 == 0
    rows = map(json.loads, (tmp_path / "items.jsonl").read_text().splitlines())
    known = [row | {"kind": ["easy", "hard"][n % 2]} for n, row in enumerate(rows)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, known)))
    stated = np.where(is_easy, chance, 0.9)
    decider.chance = lambda state, name, option: float(stated[int(state["response"].split()[1])])
    asked = ("--rubric", "tiny.yaml", "--judge", "systemone/m", "--base-url", decider.url)
    people = ("--humans", "people.jsonl", "--items", "items.jsonl", "--slice", "kind")

    shown, told = call("examine", *people, *asked), call("examine", *people, *asked, "--json")

    assert "Probabilities by slice" in shown.out
    [question] = json.loads(told.out)["questions"]
    easy, hard = question["reliability"]
    assert [easy["value"], hard["value"]] == ["easy", "hard"]
    assert easy["brier"]["calibration_error"]["low"] == 0
    # the majority of three who slip in 1 of 20 is wrong in 3 (1/20)^2 (19/20) + (1/20)^3
    wrong = 3 * 0.05**2 * 0.95 + 0.05**3
    truth = 0.9 - np.mean((chance + wrong * (1 - 2 * chance))[~is_easy])
    error = hard["brier"]["calibration_error"]
    assert 0 < error["low"] < truth < error["high"]


@pytest.mark.edges
def test_gold_labels_count_before_the_majority(call, study, tmp_path):
    decider, sure, majority = study
    truth = majority ^ (np.arange(N_ITEMS) % 10 == 0)
    gold = [{"item": f"i{n}", "question": "sorry", "label": bool(x)} for n, x in enumerate(truth)]
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)))
    asked = ("--rubric", "tiny.yaml", "--judge", "systemone/m", "--base-url", decider.url)
    files = ("--humans", "people.jsonl", "--items", "items.jsonl", "--gold", "gold.jsonl")

    done = call("examine", *files, *asked, "--calibration", "calibration.json")

    assert done.code == 0
    assert "Against the gold labels" in done.out
    (row,) = json.loads((tmp_path / "calibration.json").read_text())["questions"].values()
    assert row["brier"] == pytest.approx(brier_score_loss(truth, sure))


@pytest.mark.edges
def test_where_no_calibrator_helps_the_run_goes_on_to_its_gate(call, study, tmp_path):
    decider, _, _ = study
    decider.chance = lambda state, name, option: 0.5
    asked = ("--rubric", "tiny.yaml", "--judge", "systemone/m", "--base-url", decider.url)
    people = ("--humans", "people.jsonl", "--items", "items.jsonl")

    done = call("examine", *people, *asked, "--calibration", "calibration.json", "--gate")

    assert done.code == 3
    assert "calibration.json is not written, since no calibrator helps" in done.err
    assert "gate not passed" in done.err
    assert not (tmp_path / "calibration.json").exists()
