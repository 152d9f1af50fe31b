"""A fit in plain loops: pairs by looking at all completions, and solvers that are not ours."""

import numpy as np
from scipy.optimize import minimize

LEVELS = {"ideal": 3, "less_good": 2, "poor": 1}


def features_of(p):
    """Features of the behavior `answer`: four propositions, then ideal and poor."""
    ideal = p[1] * (1 - p[2])
    return np.array([*p, ideal, 1 - ideal])


def pairs_of(rows):
    """Pair completions of one prompt whose labels differ."""
    found = []
    for a, one in enumerate(rows):
        for b, other in enumerate(rows):
            same = one["prompt"] == other["prompt"]
            if same and LEVELS[one["label"]] > LEVELS[other["label"]]:
                found.append((a, b))
    return found


def differences(case, pairs, *, columns=range(6)):
    """Give the differences of features, and the margins less those of the base rewards."""
    values = [features_of(row)[list(columns)] for row in case.judged.probabilities]
    gaps = [
        1.0 - (case.rows[a].get("base_reward", 0.0) - case.rows[b].get("base_reward", 0.0))
        for a, b in pairs
    ]
    return np.array([values[a] - values[b] for a, b in pairs]), np.array(gaps)


def pair_weights(case, pairs, *, equal_prompts):
    """Weigh pairs: the same each, or the same for each prompt."""
    prompts = [case.rows[a]["prompt"] for a, _ in pairs]
    if not equal_prompts:
        return np.full(len(pairs), 1 / len(pairs))
    return np.array([1 / prompts.count(name) / len(set(prompts)) for name in prompts])


def objective(w, d, c, v, *, l2):
    """What is minimised."""
    return float(v @ np.maximum(c - d @ w, 0) + l2 / 2 * w @ w)


def hinge_weights(d, c, v, *, l2, n_sweeps=4_000):
    """Solve the hinge problem by coordinate ascent on its dual."""
    alpha = np.zeros(len(c))
    w = np.zeros(d.shape[1])
    norms = (d * d).sum(axis=1)
    for _ in range(n_sweeps):
        largest = 0.0
        for k in range(len(c)):
            if norms[k] == 0:
                continue
            old = alpha[k]
            alpha[k] = min(max(old + l2 * (c[k] - d[k] @ w) / norms[k], 0.0), v[k])
            if alpha[k] != old:
                w = w + (alpha[k] - old) / l2 * d[k]
                largest = max(largest, abs(alpha[k] - old))
        if largest < 1e-14:
            break
    return w


def held_hinge_weights(d, c, v, *, l2, lower, upper):
    """Solve the hinge problem within bounds: climb its dual, again and again, by L-BFGS-B."""

    def falling(alpha):
        push = d.T @ alpha
        w = np.clip(push / l2, lower, upper)
        return l2 / 2 * w @ w - w @ push + w @ push - alpha @ c, d @ w - c

    alpha = v / 2
    for _ in range(20):
        alpha = minimize(
            falling,
            alpha,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, most) for most in v],
            options={"ftol": 1e-16, "gtol": 1e-13, "maxiter": 50_000, "maxfun": 200_000},
        ).x
    return np.clip(d.T @ alpha / l2, lower, upper)


def rounded_hinge_weights(d, c, v, *, l2, width=0.01):
    """Solve the hinge problem with its corner rounded off: for so many pairs it is the same."""

    def both(w):
        short = c - d @ w
        share = np.clip(short / width + 0.5, 0, 1)
        each = np.where(np.abs(short) < width / 2, width / 2 * share**2, np.maximum(short, 0))
        return float(v @ each + l2 / 2 * w @ w), l2 * w - d.T @ (v * share)

    return minimize(both, np.zeros(d.shape[1]), jac=True, method="L-BFGS-B").x


def error_rate(gains, v=None):
    """Count pairs that are ranked the wrong way, ties as half."""
    v = np.full(len(gains), 1 / len(gains)) if v is None else v
    wrong = 0.0
    for gain, share in zip(gains, v, strict=True):
        wrong += share * (0.5 if abs(gain) < 1e-9 else 1.0 if gain < 0 else 0.0)
    return wrong / sum(v)
