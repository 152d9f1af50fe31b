"""Plain loops for what other packages do not compute: weights on sets, pairs, majorities."""

import itertools
import math
from collections import Counter


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 1.0


def kappa_oracle(rows, agree):
    """Cohen's κ of weighted rows (label, label, weight)."""
    total = sum(weight for *_, weight in rows)
    if len({label for a, b, _ in rows for label in (a, b)}) < 2:
        return math.nan
    observed = sum(weight * agree(a, b) for a, b, weight in rows) / total
    expected = sum(u * w * agree(a, b) for a, _, u in rows for _, b, w in rows) / total**2
    return (observed - expected) / (1 - expected)


def majority_rows(matrix, own, left_out):
    """Rows of a rater's label and the majority of all columns but one; None is missing."""
    rows = []
    for item, labels in enumerate(matrix):
        others = [x for k, x in enumerate(labels) if k != left_out and x is not None]
        if own[item] is None or labels[left_out] is None or not others:
            continue
        votes = Counter(others)
        top = [label for label, count in votes.items() if count == max(votes.values())]
        rows += [(own[item], label, 1 / len(top)) for label in top]
    return rows


def pair_rows(first, second):
    return [(a, b, 1) for a, b in zip(first, second, strict=True) if None not in (a, b)]


def mean_oracle(groups, value):
    """Mean over groups of rows, weighted by their items; undefined ones left out."""
    known = [(sum(w for *_, w in rows), value(rows)) for rows in groups if rows]
    known = [(n, x) for n, x in known if not math.isnan(x)]
    return sum(n * x for n, x in known) / sum(n for n, _ in known) if known else math.nan


def columns(matrix):
    return list(zip(*matrix, strict=True))


def all_pairs(matrix):
    return [pair_rows(a, b) for a, b in itertools.combinations(columns(matrix), 2)]
