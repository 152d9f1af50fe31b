"""A small reward, and completions with verdicts that everything can be worked out from by hand."""

import dataclasses

import numpy as np
import pytest

from studies.reward.small_reward import LABELS, RUBRIC, WEIGHTS, items_of, judged_of
from voirdire.rewards import read_comparisons, reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.studies import examine_reward


@pytest.fixture(scope="session")
def rubric():
    """Give a rubric of four propositions and two behaviors."""
    return rubric_from_text(RUBRIC, source="small.yaml")


@pytest.fixture(scope="session")
def make_reward(rubric):
    """Make a reward of weights."""

    def make(weights=None, **settings):
        return reward_of_weights(weights or WEIGHTS, rubric=rubric, judge=None, **settings)

    return make


@pytest.fixture(scope="session")
def reward(make_reward):
    """Give a reward with weights for both behaviors."""
    return make_reward()


@pytest.fixture(scope="session")
def propositions(rubric):
    """Give the names of the columns."""
    return rubric.propositions


@pytest.fixture(scope="session")
def examine_rows(reward):
    """Examine a reward on rows with verdicts, and on declared pairs of them."""

    def examine(rows, *, of=reward, pairs=(), judged=None, **settings):
        data = read_comparisons(items_of(rows))
        if pairs:
            data = dataclasses.replace(
                data,
                better=np.array([high for high, _ in pairs]),
                worse=np.array([low for _, low in pairs]),
                margins=np.full(len(pairs), np.nan),
            )
        if any(row.get("base") is not None for row in rows):
            of = dataclasses.replace(of, settings={**of.settings, "use_base": True})
        verdicts = judged_of(rows, of.rubric.propositions) if judged is None else judged
        return examine_reward(of, data, verdicts=verdicts, **{"n_resamples": 0} | settings)

    return examine


@pytest.fixture(scope="session")
def random_rows():
    """Draw rows of two behaviors, with ties among base rewards and probabilities."""

    def draw(seed, *, n_prompts=12, with_base=True):
        rng = np.random.default_rng(seed)
        rows = []
        for prompt in range(n_prompts):
            behavior = ("refuse", "comply")[prompt % 2]
            for _ in range(int(rng.integers(2, 6))):
                row = {
                    "prompt": prompt,
                    "behavior": behavior,
                    "label": str(rng.choice(LABELS)),
                    "p": rng.integers(0, 5, size=4) / 4,
                }
                if with_base:
                    row["base"] = float(rng.integers(-2, 3))
                rows.append(row)
        return rows

    return draw
