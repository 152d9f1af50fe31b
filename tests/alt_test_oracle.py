"""The alternative annotator test in plain loops, written from the formulas of the design alone.

A second opinion for the tests and the baseline of the benchmark: it shares no line with
``voirdire`` and is what a competent reader of the paper would write. Scores of label sets are
fractions, so that ties are ties; all other scores are floats compared to ``TOLERANCE``.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from scipy import optimize, special, stats

TOLERANCE = 1e-9
SET_ALIGNMENTS = ("jaccard", "jaccard_macro", "jaccard_slots", "hamming")
UNIVERSE_ALIGNMENTS = ("jaccard_macro", "jaccard_slots", "hamming")


# Labels ---------------------------------------------------------------------------------------


def is_missing(label):
    return label is None or (isinstance(label, float) and math.isnan(label))


def normalise(label):
    """A collection of labels is a set of them; anything else is itself."""
    return frozenset(label) if isinstance(label, (list, tuple, set, frozenset)) else label


def observed(labels):
    """The labels of a dict that are not missing."""
    return {item: normalise(label) for item, label in labels.items() if not is_missing(label)}


def label_universe(*label_dicts):
    """The union of all label sets."""
    return frozenset().union(*(label for d in label_dicts for label in observed(d).values()))


# Alignment ------------------------------------------------------------------------------------


def _index(intersection, union):
    return Fraction(len(intersection), len(union)) if union else Fraction(1)


def pair_jaccard(a, b, universe=None):
    return _index(a & b, a | b)


def pair_jaccard_macro(a, b, universe):
    """The mean Jaccard index of "present" and of "absent", over those that occur in a or b."""
    parts = []
    if a | b:
        parts.append(_index(a & b, a | b))
    absent_a, absent_b = universe - a, universe - b
    if absent_a | absent_b:
        parts.append(_index(absent_a & absent_b, absent_a | absent_b))
    return sum(parts) / len(parts) if parts else Fraction(1)


def pair_jaccard_slots(a, b, universe):
    """The mean Jaccard index over the slot strings: one per label present, and "absent"."""
    absent_a, absent_b = universe - a, universe - b
    if not absent_a | absent_b:
        return _index(a & b, a | b)
    return (len(a & b) + _index(absent_a & absent_b, absent_a | absent_b)) / (len(a | b) + 1)


def pair_hamming(a, b, universe):
    """The share of the universe on which both say the same."""
    return Fraction(len(universe) - len(a ^ b), len(universe)) if universe else Fraction(1)


PAIR_SCORES = {
    "jaccard": pair_jaccard,
    "jaccard_macro": pair_jaccard_macro,
    "jaccard_slots": pair_jaccard_slots,
    "hamming": pair_hamming,
}


def alignment_score(name, a, others, labels=None, *, quality=None, similarity=None):
    """S(a, others): `quality` holds one weight per other, `similarity` is the user's function."""
    if name in SET_ALIGNMENTS:
        return _set_score(name, a, others, labels, quality)
    if name == "accuracy":
        a = normalise(a)
        values = [a == normalise(h) for h in others]
    elif name == "neg_rmse":
        values = [(float(a) - float(h)) ** 2 for h in others]
    elif name == "similarity":
        values = [similarity(a, h) for h in others]
    else:
        raise ValueError(f"no alignment is called {name!r}")
    mean = np.mean(values) if quality is None else np.average(values, weights=quality)
    return -np.sqrt(mean) if name == "neg_rmse" else mean


def _set_score(name, a, others, labels, quality):
    if name in UNIVERSE_ALIGNMENTS and labels is None:
        raise ValueError(f"{name} needs the label universe")
    universe = None if labels is None else frozenset(labels)
    a, others = frozenset(a), [frozenset(h) for h in others]
    if universe is not None and not universe.issuperset(a.union(*others)):
        raise ValueError(f"labels outside the universe: {a.union(*others) - universe}")
    scores = [PAIR_SCORES[name](a, h, universe) for h in others]
    if quality is None:
        return sum(scores) / len(scores)
    return np.average([float(score) for score in scores], weights=quality)


def at_least(first, second):
    """first >= second: exactly for fractions, to the tolerance for floats."""
    if isinstance(first, Fraction) and isinstance(second, Fraction):
        return first >= second
    return bool(first >= second - TOLERANCE)


# Weights --------------------------------------------------------------------------------------


def imbalance_weights(panels):
    """Inverse probability weights, from the labels of the others on each item of I_j."""
    majorities = []
    for others in panels:
        counts = Counter(others)
        top = max(counts.values())
        majorities.append([label for label, count in counts.items() if count == top])
    frequency = Counter()
    for tied in majorities:
        for label in tied:
            frequency[label] += Fraction(1, len(tied))
    return [
        float(sum(len(panels) / frequency[label] for label in tied) / len(tied))
        for tied in majorities
    ]


# The test of one annotator --------------------------------------------------------------------


def t_test_p(d, null, weights=None, clusters=None):
    """Left tail of the mean of d against `null`; nan where no error can be estimated."""
    d = np.asarray(d, dtype=float)
    pi = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=float)
    mean = float(np.average(d, weights=pi))
    if clusters is not None:
        error, df = _cluster_error(d - mean, pi, clusters)
    elif weights is not None:
        df = pi.sum() ** 2 / (pi**2).sum() - 1
        error = math.sqrt((pi * (d - mean) ** 2).sum() / pi.sum() / (df + 1))
    else:
        df = len(d) - 1
        error = float(np.std(d, ddof=1)) / math.sqrt(len(d)) if df else math.nan
    if len(d) == 1 or df == 0:
        return math.nan
    if np.all(d == d[0]) or error < 1e-12:
        mean = d[0] if np.all(d == d[0]) else mean
        return 0.0 if mean < null - 1e-12 else 1.0
    return float(stats.t.cdf((mean - null) / error, df))


def _cluster_error(residuals, pi, clusters):
    """The cluster-robust error of the mean and its degrees of freedom."""
    sums = {}
    for residual, weight, cluster in zip(residuals, pi, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + weight * residual
    g = len(sums)
    if g == 1:
        return math.nan, 0
    variance = g / (g - 1) * sum(s**2 for s in sums.values()) / pi.sum() ** 2
    return math.sqrt(variance), g - 1


def benjamini(p_values, q, *, yekutieli):
    """What Benjamini-Yekutieli (or Benjamini-Hochberg) rejects; a nan counts as 1."""
    m = len(p_values)
    p = [1.0 if math.isnan(value) else value for value in p_values]
    harmonic = sum(1 / k for k in range(1, m + 1)) if yekutieli else 1.0
    order = sorted(range(m), key=p.__getitem__)
    largest = 0
    for i, index in enumerate(order, start=1):
        if p[index] <= i / m * q / harmonic:
            largest = i
    rejected = [False] * m
    for index in order[:largest]:
        rejected[index] = True
    return [r and not math.isnan(v) for r, v in zip(rejected, p_values, strict=True)]


# The whole test -------------------------------------------------------------------------------


def alt_test_oracle(
    judge,
    humans,
    *,
    alignment="accuracy",
    epsilon=0.2,
    epsilon_mode="additive",
    min_items=30,
    min_annotators=2,
    q=0.05,
    labels=None,
    weights=None,
    quality=None,
    expert=None,
    gold=None,
    clusters=None,
    similarity=None,
    method="t",
):
    """One judge against one panel at one epsilon.

    `clusters` maps an item to its cluster, `quality` an annotator to a weight above 0. With
    `expert` (an annotator) or `gold` (a dict), that label alone is "the others" of everyone, and
    `min_annotators` does not apply. Without `labels`, the universe is the union over the humans,
    this judge and `gold`: pass it where several judges share one.
    """
    _check_options(epsilon_mode, method, weights, clusters, quality)
    _check_reference(humans, expert, gold)
    if labels is None and alignment in UNIVERSE_ALIGNMENTS:
        labels = label_universe(judge, *humans.values(), gold or {})
    judge = observed(judge)
    humans = {name: observed(answers) for name, answers in humans.items()}
    if weights == "imbalance":
        _refuse_continuous(humans)
    reference = humans.get(expert) if gold is None else observed(gold)
    rows = _rows(humans)

    annotators, untested = {}, {}
    for j, answers in humans.items():
        if j == expert:
            continue
        wins_judge, wins_human, panels, items = [], [], [], []
        for item, own in answers.items():
            others = _others(j, item, rows, reference, min_annotators)
            if item not in judge or not others:
                continue
            panel = list(others.values())
            options = {"similarity": similarity}
            if quality is not None and reference is None:
                options["quality"] = [quality[k] for k in others]
            score_judge = alignment_score(alignment, judge[item], panel, labels, **options)
            score_human = alignment_score(alignment, own, panel, labels, **options)
            wins_judge.append(int(at_least(score_judge, score_human)))
            wins_human.append(int(at_least(score_human, score_judge)))
            panels.append(panel)
            items.append(item)
        if not items or len(items) < min_items:
            untested[j] = len(items)
            continue
        annotators[j] = _examine(
            np.array(wins_judge),
            np.array(wins_human),
            epsilon,
            epsilon_mode,
            imbalance_weights(panels) if weights == "imbalance" else None,
            None if clusters is None else [clusters[item] for item in items],
            method,
        )

    _reject(annotators, q)
    return _summary(annotators, untested, quality)


def _rows(humans):
    """Who said what on each item."""
    rows = {}
    for name, answers in humans.items():
        for item, label in answers.items():
            rows.setdefault(item, {})[name] = label
    return rows


def _others(j, item, rows, reference, min_annotators):
    """The labels that j is compared with on an item; none where the item does not count."""
    if reference is not None:
        return {None: reference[item]} if item in reference else {}
    if len(rows[item]) < min_annotators:
        return {}
    return {name: label for name, label in rows[item].items() if name != j}


def _check_options(epsilon_mode, method, weights, clusters, quality):
    if epsilon_mode not in ("additive", "multiplicative"):
        raise ValueError(f"epsilon_mode={epsilon_mode!r}")
    if weights not in (None, "imbalance"):
        raise ValueError(f"weights={weights!r}")
    if method not in ("t", "exact"):
        raise ValueError(f"method={method!r}")
    if method == "exact" and (weights is not None or clusters is not None):
        raise ValueError("the exact test takes neither weights nor clusters")
    if quality is not None and min(quality.values()) <= 0:
        raise ValueError("a quality must be above 0")


def _check_reference(humans, expert, gold):
    if expert is not None and gold is not None:
        raise ValueError("either an expert or gold labels")
    if expert is not None and expert not in humans:
        raise ValueError(f"no annotator is called {expert!r}")


def _refuse_continuous(humans):
    for answers in humans.values():
        for label in answers.values():
            if isinstance(label, float) and not label.is_integer():
                raise ValueError(f"imbalance weights need categories, not {label}")


def _examine(wins_judge, wins_human, epsilon, mode, pi, clusters, method):
    if mode == "additive":
        d, null = wins_human - wins_judge, epsilon
    else:
        d, null = wins_human - wins_judge / (1 - epsilon), 0.0
    wins = int(np.sum((wins_judge == 1) & (wins_human == 0)))
    ties = int(np.sum((wins_judge == 1) & (wins_human == 1)))
    losses = int(np.sum((wins_judge == 0) & (wins_human == 1)))
    if method == "exact":
        p = exact_p_oracle(wins, ties, losses, epsilon, mode)
    else:
        p = t_test_p(d, null, pi, clusters)
    return {
        "n_items": len(d),
        "advantage_judge": float(np.average(wins_judge, weights=pi)),
        "advantage_human": float(np.average(wins_human, weights=pi)),
        "mean_difference": float(np.average(d, weights=pi)),
        "p_value": p,
        "wins": wins,
        "ties": ties,
        "losses": losses,
    }


def _reject(annotators, q):
    p_values = [a["p_value"] for a in annotators.values()]
    by = benjamini(p_values, q, yekutieli=True)
    bh = benjamini(p_values, q, yekutieli=False)
    for annotator, rejected, rejected_bh in zip(annotators.values(), by, bh, strict=True):
        annotator["rejected"] = rejected
        annotator["rejected_bh"] = rejected_bh


def _summary(annotators, untested, quality):
    rate = advantage = math.nan
    if annotators:
        shares = [a["rejected"] for a in annotators.values()]
        by_quality = None if quality is None else [quality[name] for name in annotators]
        rate = float(np.average(shares, weights=by_quality))
        advantage = float(np.mean([a["advantage_judge"] for a in annotators.values()]))
    return {
        "winning_rate": rate,
        "advantage_probability": advantage,
        "annotators": annotators,
        "untested": untested,
    }


# The outcome ----------------------------------------------------------------------------------


def outcome_oracle(judge, humans, *, epsilon=0.2, epsilon_mode="additive", min_items=2, q=0.05):
    """Outcome and what decided it, for nominal labels where everybody labelled every item.

    A judge's None is a failure, and lost. The exact test is enumerated: some 20 items at most.
    """
    items = list(next(iter(humans.values())))
    options = {"epsilon": epsilon, "epsilon_mode": epsilon_mode, "min_items": min_items, "q": q}

    def examine(labels):
        lost = {item: object() if labels[item] is None else labels[item] for item in items}
        return alt_test_oracle(lost, humans, method="exact", **options)

    found = examine(judge)
    if not found["annotators"]:
        return "no_evidence", "untestable"
    frequent = Counter(label for row in humans.values() for label in row.values())
    constants = {label: examine(dict.fromkeys(items, label)) for label in sorted(frequent)}
    best = max(constants, key=lambda label: constants[label]["advantage_probability"])
    if found["winning_rate"] >= 0.5:
        gains = []
        for item in items:
            first, second = (_wins(label, humans, item) for label in (judge[item], best))
            gains.append(np.mean(first) - np.mean(second))
        p = stats.ttest_1samp(gains, 0.0, alternative="greater").pvalue
        if len(set(gains)) == 1:
            p = 0.0 if gains[0] > 0 else 1.0
        apart = [gain for gain in gains if abs(gain) > 1e-12]
        if 0 < len(apart) <= 10:  # few items that differ: an exact sign flip too
            flipped = [
                sum(s * gain for s, gain in zip(signs, apart, strict=True))
                for signs in product((1, -1), repeat=len(apart))
            ]
            p = max(p, np.mean([total >= sum(apart) - 1e-12 for total in flipped]))
        return ("passed", "shown") if p <= 0.05 else ("no_evidence", "like_constant")
    target = epsilon if epsilon_mode == "additive" else 0.0
    rows = found["annotators"].values()
    is_close = sum(row["mean_difference"] < target for row in rows) * 2 >= len(rows)
    majority = {
        item: Counter(row[item] for row in humans.values()).most_common(1)[0][0] for item in items
    }
    if is_close and examine(majority)["winning_rate"] < 0.5:
        return "no_evidence", "unpassable"
    return "failed", "not_shown" if is_close else "missed"


def _wins(label, humans, item):
    """Whether a label is at least as close to the others as each annotator is."""
    votes = [row[item] for row in humans.values()]
    wins = []
    for left_out, own in enumerate(votes):
        others = votes[:left_out] + votes[left_out + 1 :]
        wins.append(others.count(label) >= others.count(own))
    return wins


# The exact test -------------------------------------------------------------------------------
#
# The three outcomes of an item: the judge wins (d = -1), a tie (d = 0), the human wins (d = +1).
# e is d, or (1 - epsilon) W^h - W^f when multiplicative, less its expectation on the boundary.


def outcome_values(epsilon, mode):
    """e on a win, a tie and a loss of the judge; E e = 0 is the boundary of the null."""
    if mode == "additive":
        return np.array([-1 - epsilon, -epsilon, 1 - epsilon])
    return np.array([-1.0, -epsilon, 1 - epsilon])


def boundary_probabilities(tie, epsilon, mode):
    """P(win), P(tie), P(loss) on the boundary, for a tie probability in [0, 1 - epsilon]."""
    tie = np.asarray(tie, dtype=float)
    if mode == "additive":
        # loss - win = epsilon and win + tie + loss = 1
        win, loss = (1 - tie - epsilon) / 2, (1 - tie + epsilon) / 2
    else:
        # (1 - epsilon)(loss + tie) = win + tie and win + tie + loss = 1
        win = (1 - epsilon - tie) / (2 - epsilon)
        loss = (1 - (1 - epsilon) * tie) / (2 - epsilon)
    return np.stack([np.maximum(win, 0.0), tie, loss], axis=-1)


def tables_of(n):
    """Every (wins, ties, losses) of n items."""
    return np.array([(w, t, n - w - t) for w in range(n + 1) for t in range(n - w + 1)])


def table_probabilities(tables, probabilities):
    """Multinomial probabilities: one row per table, one column per row of `probabilities`."""
    n = tables[0].sum()
    log_ways = special.gammaln(n + 1) - special.gammaln(tables + 1).sum(axis=1)
    exponent = special.xlogy(tables[:, None, :], np.atleast_2d(probabilities)[None, :, :])
    return np.exp(log_ways[:, None] + exponent.sum(axis=2))


def restricted_tie_share(wins, ties, losses, epsilon, mode):
    """The maximum-likelihood tie probability on the boundary: the root of the score."""
    highest = 1 - epsilon
    if ties == 0:
        return 0.0
    slope_win, slope_loss = (0.5, 0.5)
    if mode == "multiplicative":
        slope_win, slope_loss = 1 / (2 - epsilon), (1 - epsilon) / (2 - epsilon)

    def score(tie):
        win, _, loss = boundary_probabilities(tie, epsilon, mode)
        lost = wins * slope_win / win if wins else 0.0
        return ties / tie - lost - (losses * slope_loss / loss if losses else 0.0)

    edge = highest * (1 - 1e-13)
    if score(edge) >= 0:
        return highest
    return optimize.brentq(score, highest * 1e-9, edge, xtol=1e-16, rtol=1e-15)


def score_statistic(wins, ties, losses, epsilon, mode):
    """The mean of e over its error, with the variance of the restricted fit."""
    n = wins + ties + losses
    values = outcome_values(epsilon, mode)
    mean = float(values @ (wins, ties, losses)) / n
    tie = restricted_tie_share(wins, ties, losses, epsilon, mode)
    variance = float(boundary_probabilities(tie, epsilon, mode) @ values**2)
    if abs(mean) < 1e-14:
        return 0.0
    if variance < 1e-14:
        return math.copysign(math.inf, mean)
    return mean / math.sqrt(variance / n)


@cache
def _statistics(n, epsilon, mode):
    return np.array([score_statistic(*map(int, table), epsilon, mode) for table in tables_of(n)])


def exact_p_oracle(wins, ties, losses, epsilon, mode="additive"):
    """The exact unconditional p-value, by enumeration: meant for n up to about 20."""
    n = wins + ties + losses
    own = score_statistic(wins, ties, losses, epsilon, mode)
    extreme = tables_of(n)[_statistics(n, epsilon, mode) <= own + 1e-12]

    def tail(tie):
        return table_probabilities(extreme, boundary_probabilities(tie, epsilon, mode)).sum(axis=0)

    grid = np.linspace(0.0, 1 - epsilon, 1001)
    values = tail(grid)
    best = float(values.max())
    for k in np.argsort(values)[-5:]:
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
        found = optimize.minimize_scalar(
            lambda tie: -tail(tie)[0],
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-12},
        )
        best = max(best, -float(found.fun))
    return min(best, 1.0)


def t_test_size(n, tie_share, epsilon, mode="additive", alpha=0.05):
    """The exact size of the t-test on the boundary, zero-variance rule included."""
    if tie_share > 1 - epsilon + 1e-12:
        raise ValueError(f"no boundary point has ties {tie_share} at epsilon {epsilon}")
    tables = tables_of(n)
    values = outcome_values(epsilon, mode)
    mean = tables @ values / n
    constant = tables.max(axis=1) == n
    variance = np.maximum(tables @ values**2 - n * mean**2, 0.0) / (n - 1)
    error = np.sqrt(np.where(constant, 1.0, variance) / n)
    p = np.where(constant, np.where(mean < -1e-12, 0.0, 1.0), stats.t.cdf(mean / error, n - 1))
    point = boundary_probabilities(tie_share, epsilon, mode)
    return float(table_probabilities(tables, point)[p <= alpha, 0].sum())


# Krippendorff's alpha -------------------------------------------------------------------------


def nominal_distance(a, b):
    return float(a != b)


def interval_distance(a, b):
    return float(a - b) ** 2


def jaccard_distance(a, b):
    return float(1 - pair_jaccard(frozenset(a), frozenset(b)))


def ordinal_distance(units):
    """The squared rank distance, from how often each pairable value occurs."""
    frequency = Counter(value for unit in _pairable(units) for value in unit)

    def distance(a, b):
        low, high = min(a, b), max(a, b)
        between = sum(count for value, count in frequency.items() if low <= value <= high)
        return (between - (frequency[low] + frequency[high]) / 2) ** 2

    return distance


def _pairable(units):
    rows = [list(observed(unit).values()) for unit in units]
    return [row for row in rows if len(row) >= 2]


def krippendorff_oracle(units, distance):
    """alpha = 1 - D_o / D_e over the pairable values of a list of {rater: label}.

    `distance` gives the squared difference of two values; nan where nothing is pairable or no
    disagreement is to be expected.
    """
    rows = _pairable(units)
    coincidence = Counter()
    for row in rows:
        for i, a in enumerate(row):
            for k, b in enumerate(row):
                if i != k:
                    coincidence[a, b] += Fraction(1, len(row) - 1)
    margin = Counter(value for row in rows for value in row)
    n = sum(margin.values())
    if n == 0:
        return math.nan
    seen = sum(float(count) * distance(a, b) for (a, b), count in coincidence.items()) / n
    expected = sum(margin[a] * margin[b] * distance(a, b) for a in margin for b in margin) / (
        n * (n - 1)
    )
    return 1 - seen / expected if expected else math.nan
