"""Comparisons as judges and people make them, and the published fitter of rule-based rewards."""

from dataclasses import dataclass

import numpy as np

from voirdire.rewards import feature_values
from voirdire.rubrics import load_rubric

BEHAVIORS = ("hard_refuse", "soft_refuse", "comply")
CLASSES = ("ideal", "less_good", "unacceptable", "illogical", "disallowed")
BETTER = {
    (0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4),
}  # fmt: skip
"""Pairs of classes of which the first is better; unacceptable and illogical are not ordered."""
MARGINS = {"ideal": 2.0, "less_good": 1.0, "unacceptable": 0.5, "illogical": 0.5}
N_STEPS, LEARNING_RATE, DECAY = 1_000, 0.01, 0.05


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """Completions of one behavior; `features` are 20 for hard refusals, 23 for soft ones, or 18."""

    behavior: str
    probabilities: np.ndarray
    features: np.ndarray
    labels: np.ndarray
    prompts: np.ndarray
    base: np.ndarray
    is_test: np.ndarray

    def pairs(self, *, is_test=False):
        """Look at every two completions of the training prompts, or of the others."""
        places = np.flatnonzero(self.is_test == is_test).tolist()
        labels, prompts = self.labels.tolist(), self.prompts.tolist()
        found = [
            (one, other)
            for one in places
            for other in places
            if prompts[one] == prompts[other] and (labels[one], labels[other]) in BETTER
        ]
        return np.array(found)

    def differences(self, pairs):
        """Features of the better one less those of the worse one."""
        return self.features[pairs[:, 0]] - self.features[pairs[:, 1]]

    def gap(self, better, worse):
        """What is left of each margin after the base rewards."""
        margins = np.array([MARGINS.get(name, 1.0) for name in CLASSES])[self.labels[better]]
        return margins - (self.base[better] - self.base[worse])

    def error_rate(self, pairs, weights):
        """How often the worse one gets more; ties count half."""
        total = self.base + self.features @ weights
        gains = total[pairs[:, 0]] - total[pairs[:, 1]]
        is_tie = np.abs(gains) < 1e-9
        return float(np.mean(np.where(is_tie, 0.5, gains < 0)))


def realistic_comparisons(seed, behavior, *, n_prompts=60, mean_group=6):
    """Make completions whose classes show in what a judge says of them, which errs.

    Groups differ in size, prompts in how hard they are, and probabilities are rounded, to one
    digit for even seeds, so that many are tied.
    """
    rng = np.random.default_rng([20_260_222, seed, BEHAVIORS.index(behavior)])
    rubric = load_rubric("safety")
    demands = rubric.behavior(behavior).demands
    sizes = np.minimum(1 + rng.geometric(1 / (mean_group - 1), n_prompts), 50)
    prompts = np.repeat(np.arange(n_prompts), sizes)
    labels = rng.choice(5, prompts.size, p=rng.dirichlet([6, 5, 5, 1.5, 4]))
    amiss = np.array([0.05, 0.2, 0.45, 0.5, 0.6])
    typical = np.empty((5, len(rubric.propositions)))
    for column, name in enumerate(rubric.propositions):
        wanted = demands[name].demanded if name in demands else None
        failing = amiss * rng.uniform(0.3, 1.3, 5)
        typical[:, column] = rng.uniform(0.1, 0.9, 5) if wanted is None else failing
        if wanted:
            typical[:, column] = 1 - failing
    leaning = np.log(typical / (1 - typical))[labels]
    leaning += 0.6 * rng.normal(size=(n_prompts, leaning.shape[1]))[prompts]
    is_true = rng.random(leaning.shape) < 1 / (1 + np.exp(-leaning))
    evidence = rng.uniform(1.5, 5.0) * np.where(is_true, 1, -1)
    evidence = evidence + 1.5 * rng.normal(size=leaning.shape)
    probabilities = np.round(1 / (1 + np.exp(-evidence)), 1 + seed % 2)
    return Comparisons(
        behavior=behavior,
        probabilities=probabilities,
        features=feature_values(
            rubric, behavior, probabilities=probabilities, propositions=rubric.propositions
        ),
        labels=labels,
        prompts=prompts,
        base=rng.uniform(0.2, 1.5) * rng.normal(size=labels.size) - 0.15 * labels,
        is_test=(rng.random(n_prompts) < 0.4)[prompts],
    )


def published_fit(differences, gap):
    """Take 1,000 full-batch steps of AdamW on the mean hinge loss, as the authors do."""
    weights, first, second = (np.zeros(differences.shape[1]) for _ in range(3))
    for step in range(1, N_STEPS + 1):
        is_short = gap - differences @ weights > 0
        slope = -(is_short @ differences) / len(gap)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        size = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        weights = weights * (1 - LEARNING_RATE * DECAY)
        weights = weights - LEARNING_RATE * first / (1 - 0.9**step) / size
    return weights
