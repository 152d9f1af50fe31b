"""Ranking problems, given to `fit_reward` as comparisons with verdicts."""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np

from voirdire.errors import UncertifiedWarning
from voirdire.records import Verdicts
from voirdire.rewards import BehaviorFit, FitSettings, fit_reward
from voirdire.rubrics import rubric_from_text

SIGNS = {1: "positive", -1: "negative"}


@dataclass(frozen=True)
class Solution:
    """What a fit found."""

    weights: np.ndarray
    row: BehaviorFit
    notes: tuple

    @property
    def objective(self):
        return self.row.objective

    @property
    def bound(self):
        return self.row.bound

    @property
    def gap(self):
        return self.objective - self.bound


@cache
def rubric_of(n_features):
    """Give a rubric whose features are so many propositions and a class that says nothing."""
    asked = "".join(f'\n  - {{id: f{k}, kind: boolean, text: "{k}?"}}' for k in range(n_features))
    demands = ", ".join(f"f{k}: desired" for k in range(n_features))
    return rubric_from_text(
        'schema: voirdire.rubric/1\nname: plain\nversion: "1"\n'
        f"questions:{asked}\nbehaviors:\n  answer:\n    demands: {{{demands}}}\n"
        "    classes: {any: otherwise}\n"
    )


def fitted(problem, **settings):
    """Fit a problem; a prompt for each pair, so that pairs may repeat or contradict each other.

    Gaps become base rewards; a prompt of another split takes the place of cross-validation.
    """
    n_pairs, n_features = problem.better.size, problem.features.shape[1]
    places = np.column_stack([problem.better, problem.worse]).ravel()
    values = np.vstack([problem.features[places], np.zeros((2, n_features))])
    bases = np.append(np.column_stack([1 - problem.gap, np.zeros(n_pairs)]).ravel(), [0.0, 0.0])
    rows = [
        {
            "id": f"i{k}",
            "prompt": f"p{k // 2}",
            "response": f"r{k}",
            "behavior": "answer",
            "label": ("good", "bad")[k % 2],
            "base_reward": base,
            "split": "train" if k < 2 * n_pairs else "test",
        }
        for k, base in enumerate(bases.tolist())
    ]
    rubric = rubric_of(n_features)
    judged = Verdicts(
        items=tuple(row["id"] for row in rows),
        questions=rubric.propositions,
        probabilities=values,
        behaviors=(None,) * len(rows),
        failures={},
        judge="hand",
        fingerprint="sha256:" + "0" * 64,
    )
    given = {
        "l2": problem.l2,
        "orders": {"*": "good > bad"},
        "n_resamples": 0,
        "signs": {f"f{k}": SIGNS[sign] for k, sign in enumerate(problem.signs) if sign in SIGNS},
        "ignored": [
            "answer.any",
            *(f"f{k}" for k, sign in enumerate(problem.signs) if sign is None),
        ],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        found = fit_reward(
            rows, rubric=rubric, verdicts=judged, settings=FitSettings(**(given | settings))
        )
    weights = np.array(list(found.model.behaviors["answer"].weights.values()))
    return Solution(weights[:n_features], found.behaviors[0], found.notes)
