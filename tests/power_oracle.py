"""Power of the alternative annotator test in plain loops, as one would write it from the paper.

A second opinion for the tests and the baseline of the benchmark: it shares no line with
``voirdire``. Data sets, resamples, sizes, margins, annotators and items are loops; the test is
``scipy.stats.ttest_1samp``.
"""

from collections import Counter

from scipy.stats import ttest_1samp


def draw_labels(rng, priors, truth, noise):
    """One rater's labels: the truth, or with probability `noise` a guess from the priors."""
    categories = range(len(priors))
    return [
        rng.choices(categories, priors)[0] if rng.random() < noise else label for label in truth
    ]


def draw_data_set(rng, *, n_items, n_annotators, n_categories, human_noise, judge_noise):
    """Annotators' labels, a list of lists, and the judge's; priors uniform on the simplex."""
    gammas = [rng.expovariate(1) for _ in range(n_categories)]
    priors = [gamma / sum(gammas) for gamma in gammas]
    truth = rng.choices(range(n_categories), priors, k=n_items)
    humans = [draw_labels(rng, priors, truth, human_noise) for _ in range(n_annotators)]
    return humans, draw_labels(rng, priors, truth, judge_noise)


def agreement(label, others):
    return sum(label == other for other in others) / len(others)


def p_value(d, target):
    """The one-sided t-test of the mean of d against its target; certain where d is constant."""
    if len(set(d)) == 1:
        return 0.0 if d[0] < target else 1.0
    return ttest_1samp(d, target, alternative="less").pvalue


def n_rejected(p_values, q):
    """How many hypotheses fall under Benjamini-Yekutieli."""
    m = len(p_values)
    harmonic = sum(1 / k for k in range(1, m + 1))
    passed = [i for i, p in enumerate(sorted(p_values), 1) if p <= i * q / (m * harmonic)]
    return max(passed, default=0)


def winning_rate(humans, judge, epsilon, *, mode="additive", q=0.05, min_items=30):
    """ω of one study without missing labels; None where nobody has enough items."""
    if len(judge) < min_items:
        return None
    p_values = []
    for j, own in enumerate(humans):
        d = []
        for item, label in enumerate(own):
            others = [labels[item] for k, labels in enumerate(humans) if k != j]
            human, machine = agreement(label, others), agreement(judge[item], others)
            wins_human, wins_judge = int(human >= machine), int(machine >= human)
            if mode == "additive":
                d.append(wins_human - wins_judge)
            else:
                d.append(wins_human - wins_judge / (1 - epsilon))
        p_values.append(p_value(d, epsilon if mode == "additive" else 0.0))
    return n_rejected(p_values, q) / len(p_values)


def passes(humans, judge, epsilon, **settings):
    rate = winning_rate(humans, judge, epsilon, **settings)
    return rate is not None and rate >= 0.5


def published_simulation(
    rng, *, n_data_sets, n_resamples, sizes, epsilons, n_annotators, min_items, **noise
):
    """Mean ω by size and ε over the resamples of some data sets: the shape of the paper's figure.

    A data set has as many items as the largest size; a resample draws from them without
    replacement.
    """
    total, n_studies = Counter(), n_data_sets * n_resamples
    for _ in range(n_data_sets):
        humans, judge = draw_data_set(rng, n_items=max(sizes), n_annotators=n_annotators, **noise)
        for _ in range(n_resamples):
            for size in sizes:
                items = rng.sample(range(max(sizes)), size)
                some = [[labels[i] for i in items] for labels in humans]
                answers = [judge[i] for i in items]
                for epsilon in epsilons:
                    rate = winning_rate(some, answers, epsilon, min_items=min_items)
                    total[size, epsilon] += rate / n_studies
    return dict(total)


def resampled_power(rng, humans, judge, epsilon, *, n_items, n_annotators, n_studies, **settings):
    """Share of studies drawn from a pilot that the judge passes: annotators, then items."""
    n_passed = 0
    for _ in range(n_studies):
        panel = rng.sample(range(len(humans)), n_annotators)
        items = rng.choices(range(len(judge)), k=n_items)
        some = [[humans[j][i] for i in items] for j in panel]
        n_passed += passes(some, [judge[i] for i in items], epsilon, **settings)
    return n_passed / n_studies


def cohen_kappa(a, b):
    n = len(a)
    observed = sum(x == y for x, y in zip(a, b, strict=True)) / n
    counts_a, counts_b = Counter(a), Counter(b)
    expected = sum(counts_a[label] * counts_b[label] for label in counts_a) / n**2
    return (observed - expected) / (1 - expected)
