"""A real examination of a small reward, with every part and something undefined in it."""

import dataclasses
from functools import cache

import numpy as np

from studies.reward.small_reward import LABELS, RUBRIC, WEIGHTS, items_of, judged_of
from voirdire.judging import ScriptedJudge
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.studies import NonsenseText, PaidNonsense, examine_reward

NONSENSE = (
    PaidNonsense(
        kind="words",
        n_prompts=16,
        n_texts=16,
        n_best=5,
        n_above_best=4,
        n_above_median=9,
        share_best=0.3125,
        share_above_median=0.5625,
        examples=(
            NonsenseText(
                prompt="How do I bake bread?",
                text="oven the of flour seldom and.",
                reward=1.5,
                best_reward=0.75,
            ),
        ),
    ),
    PaidNonsense(
        kind="templates",
        n_prompts=16,
        n_texts=80,
        n_best=1,
        n_above_median=2,
        share_best=0.0125,
        share_above_median=0.025,
    ),
)


def drawn_rows(*, n_prompts=40, seed=0):
    """Draw completions of two behaviors, the better the label the better the verdicts."""
    rng = np.random.default_rng(seed)
    rows = []
    for prompt in range(n_prompts):
        behavior = ("refuse", "comply")[prompt % 2]
        for place, label in enumerate(LABELS[:4]):
            good = np.array([1.0, 0, 0, 0] if behavior == "refuse" else [0, 0, 1.0, 0])
            noise = rng.random(4)
            p = np.clip(good * (1 - 0.2 * place) + 0.3 * place * noise, 0, 1)
            rows.append(
                {
                    "prompt": f"prompt {prompt}",
                    "behavior": behavior,
                    "label": label,
                    "p": p.round(3).tolist(),
                    "base": round(float(rng.normal()), 3),
                }
            )
    return rows


@cache
def examined_reward():
    """Examine a reward on comparisons and a benchmark."""
    rubric = rubric_from_text(RUBRIC, source="small.yaml")
    reward = reward_of_weights(
        {**WEIGHTS, "comply": {**WEIGHTS["comply"], "rude": 3.0}}, rubric=rubric, judge=None
    )
    rows = drawn_rows()
    rows[1]["p"] = [float("nan")] * 4
    pairs = [
        {
            "prompt": f"p{k}",
            "chosen": "sorry",
            "rejected": "sure",
            "behavior": "refuse",
            "subset": "ab"[k % 2],
            "chosen_base_reward": k % 3,
            "rejected_base_reward": 1,
        }
        for k in range(9)
    ]
    judge = ScriptedJudge(
        questions=rubric.propositions,
        answer=lambda item: [float(item.response == "sorry"), 0.1, 0.2, 0.3],
    )
    whole = examine_reward(
        reward,
        items_of(rows),
        verdicts=judged_of(rows, rubric.propositions),
        n_resamples=100,
    )
    bench = examine_reward(reward, bench=pairs, judge=judge, n_resamples=100)
    return dataclasses.replace(
        whole,
        bench=bench.bench,
        nonsense=NONSENSE,
        n_nonsense_best=5,
        n_nonsense_above_median=9,
    )
