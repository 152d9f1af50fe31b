"""The figures of an examination in plain loops, from the rows and the rubric's own functions."""

import itertools

import numpy as np

from voirdire.rewards import feature_set, feature_values

LEVEL = {"ideal": 0, "less_good": 1, "unacceptable": 2, "illogical": 2, "disallowed": 3}


def rule_rewards(rows, reward):
    """One rule reward per row, added up feature by feature."""
    found = []
    for row in rows:
        behavior = row["behavior"]
        names = feature_set(reward.rubric, behavior, orientation=reward.orientation).names
        values = feature_values(
            reward.rubric, behavior, probabilities=[row["p"]], orientation=reward.orientation
        )[0]
        weights = reward.behaviors[behavior].weights
        found.append(
            sum(weights[name] * x for name, x in zip(names, values, strict=True) if weights[name])
        )
    return found


def signals(rows, reward):
    """Rewards of every row under the three signals."""
    rules = rule_rewards(rows, reward)
    base = [row.get("base", 0.0) for row in rows]
    total = [x + y for x, y in zip(base, rules, strict=True)]
    return {"base": base, "total": total, "rules": rules}


def comparisons(rows):
    """All (better, worse) places: of one prompt, and of better and worse label."""
    return [
        (high, low)
        for high, low in itertools.permutations(range(len(rows)), 2)
        if rows[high]["prompt"] == rows[low]["prompt"]
        and LEVEL[rows[high]["label"]] < LEVEL[rows[low]["label"]]
    ]


def errors(pairs, values):
    """One error per comparison, a half for a tie."""
    return [
        0.5 if abs(values[high] - values[low]) < 1e-9 else float(values[high] < values[low])
        for high, low in pairs
    ]


def of_best(rows, pairs):
    """Those whose better side has the best level of its prompt."""
    best = {}
    for row in rows:
        best[row["prompt"]] = min(best.get(row["prompt"], 9), LEVEL[row["label"]])
    return [
        (high, low)
        for high, low in pairs
        if LEVEL[rows[high]["label"]] == best[rows[high]["prompt"]]
    ]


def pooled_within(prompts, values):
    """Pooled standard deviation within prompts."""
    squares = free = 0.0
    for prompt in set(prompts):
        own = [x for p, x in zip(prompts, values, strict=True) if p == prompt]
        squares += sum((x - np.mean(own)) ** 2 for x in own)
        free += len(own) - 1
    return float(np.sqrt(squares / free))
