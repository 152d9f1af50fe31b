"""A decision model behind what is built on judges: its values arrive, and its failures stay."""

import asyncio
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from servers.deciding import running_decider
from voirdire.adapters.trl import TrlReward
from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge, distill_files, judge_file
from voirdire.models import load_model
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import rubric_from_text
from web.in_process import app_server

RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  refuse:
    demands: {sorry: required, rude: unacceptable}
    classes: {good: all(required), poor: otherwise}
"""
)
REWARD = reward_of_weights(
    {"refuse": {"sorry": 1.0, "rude": -1.0}}, rubric=RUBRIC, judge=None, name="tiny"
)
NAMES = [f"say {n}" for n in range(5)]
WANTED = [0.0, 1 / 16, None, 3 / 16, 4 / 16]
"""n/8 for an apology less n/16 for rudeness; the model declines to say whether the third is."""


@pytest.fixture
def decider():
    def number_of(state):
        return int(state["response"].split()[1])

    with running_decider() as server:
        server.chance = lambda state, name, option: (
            number_of(state) / (8 if name == "sorry" else 16) % 1
        )
        server.refuses = lambda state, name: name == "rude" and number_of(state) == 2
        yield server


class Unsure:
    """A judge in process that never knows."""

    name = "unsure"
    questions = ("sorry", "rude")
    fingerprint = "sha256:unsure"
    source = "classifier"

    def probabilities(self, items):
        return np.full((len(items), 2), 0.5)


def by_score(judge):
    rows = [{"id": name, "prompt": "p", "response": name} for name in NAMES]
    scores = REWARD.score(rows, judge=judge, behavior="refuse", store=False)
    return [None if math.isnan(value) else value for value in scores.rewards.tolist()]


def by_trl(judge):
    function = TrlReward(REWARD, judge=judge)
    given = {"prompts": ["p"] * 5, "completions": NAMES, "behavior": ["refuse"] * 5}
    try:
        return asyncio.run(function(**given, trainer_state=SimpleNamespace(global_step=0)))
    finally:
        function.close(drain_s=0)


def by_server(judge):
    items = [{"prompt": "p", "response": name} for name in NAMES]
    with app_server(judge, reward=REWARD, behavior="refuse") as server:
        return server.post(items).json["rewards"]


@pytest.mark.parametrize("face", [by_score, by_trl, by_server])
@pytest.mark.parametrize("kind", ["alone", "cascade", "jury"])
@pytest.mark.parametrize("api", ["systemone", "decisions"])
def test_a_reward_is_the_models_own_and_none_where_it_declines(decider, api, kind, face):
    model = load_model(f"{api}/m", base_url=decider.url)
    decides, other = LlmJudge(model=model, name="decides"), LlmJudge(model=model, name="other")
    judge = {
        "alone": decides,
        "cascade": CascadeJudge(first=Unsure(), then=decides, unsure=(0.4, 0.6)),
        "jury": JuryJudge(judges=(decides, other)),
    }[kind]

    assert face(judge) == WANTED


def test_a_judge_is_distilled_from_what_was_answered(decider, tmp_path):
    rows = [
        {"id": f"i{n}", "prompt": chr(97 + n) * 9, "response": f"say {n} {'sorry' * (n >= 4)}"}
        for n in range(8)
    ]
    items = tmp_path / "items.jsonl"
    items.write_text("\n".join(map(json.dumps, rows)))
    judge = LlmJudge(model=load_model("systemone/m", base_url=decider.url))
    decider.refuses = lambda state, name: state["response"].startswith("say 2")
    judge_file(items, tmp_path / "verdicts.jsonl", rubric=RUBRIC, judge=judge, store=False)

    found = distill_files(items, [tmp_path / "verdicts.jsonl"], questions=("sorry",), n_folds=3)

    assert (found.n_items, found.n_unlabelled) == (7, 1)  # the one that was declined is nobody's
    [figures] = found.judge.card.figures
    assert (figures.n_items, figures.n_positives) == (7, 4)  # yes from 4/8 on
