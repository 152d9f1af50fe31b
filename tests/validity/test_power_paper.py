"""The published simulation of how many items are needed comes out of ours.

Published [1]_: the mean kappa of pairs of annotators is about .81, .64, .48, .36, .25 under noise
.1 to .5; with noise .3 of annotators and of the judge about 125 items are needed at ε = .1 and
about 30 at ε = .2. The simulation is one of 20 data sets by 10 resamples, 18 sizes and four ε.

The number of labels and of annotators, and what "needed" means, are ours to find. Under four
labels, three annotators and "the mean of ω is at least .5" the first sizes of the grid below are
125 and 30. Others are as close, given the error of 20 data sets: three labels and four annotators
(the same two sizes), three and five, five and three, and two and three with "the judge passes in
.8 of the studies". None is known to be the authors' own.

.. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge",
   ACL 2025, arXiv 2501.10970.
"""

from itertools import combinations

import numpy as np
import pytest

from power_oracle import cohen_kappa
from voirdire.stats import NoiseModel, power

pytestmark = pytest.mark.slow

SIZES = (10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 125, 150, 175, 200, 250, 300)
EPSILONS = (0.05, 0.1, 0.15, 0.2)
PUBLISHED_KAPPA = {0.1: 0.81, 0.2: 0.64, 0.3: 0.48, 0.4: 0.36, 0.5: 0.25}
PUBLISHED_ITEMS = {0.1: 125, 0.2: 30}
NOISE = {"human_noise": 0.3, "judge_noise": 0.3}
PLAN = {"n_items": SIZES, "n_annotators": 3, "epsilon": EPSILONS, "min_items": 2}
N_CATEGORIES = 4


def mean_rates(result, epsilon):
    return np.array([row.winning_rate for row in result.curve(n_annotators=3, epsilon=epsilon)])


def items_needed(rates):
    """First size from which on the mean of ω is at least .5."""
    below = np.flatnonzero(rates < 0.5)
    first = below[-1] + 1 if below.size else 0
    return SIZES[first] if first < len(SIZES) else np.inf


@pytest.mark.parametrize(("noise", "published"), PUBLISHED_KAPPA.items())
def test_the_published_kappas_come_out(noise, published):
    model = NoiseModel(human_noise=noise, judge_noise=noise, n_categories=N_CATEGORIES)
    rng = np.random.default_rng(round(10 * noise))

    labels = model.draw(rng, n_studies=200, n_items=300, n_annotators=3)

    kappas = [
        np.mean(
            [
                cohen_kappa(study[:, j].tolist(), study[:, k].tolist())
                for j, k in combinations(range(3), 2)
            ]
        )
        for study in labels.humans
    ]
    # the published figures are means over 20 data sets, rounded to .01
    allowed = 3 * np.std(kappas) / np.sqrt(20) + 0.005
    assert np.mean(kappas) == pytest.approx(published, abs=allowed)
    assert np.mean(kappas) == pytest.approx((1 - noise) ** 2, abs=0.015)


def test_the_published_numbers_of_items_come_out():
    result = power(
        **NOISE, **PLAN, n_categories=N_CATEGORIES, prevalences="drawn", n_simulations=8_000
    )

    for epsilon, published in PUBLISHED_ITEMS.items():
        rates = mean_rates(result, epsilon)
        place = SIZES.index(published)
        assert items_needed(rates) == published
        # and not by chance: the standard error of a mean of ω in [0, 1] is at most .0056
        assert rates[place - 1] < 0.5 - 3 * 0.0056
        assert rates[place] > 0.5 + 3 * 0.0056


def test_twenty_data_sets_by_ten_resamples_scatter_around_the_published_numbers():
    rng = np.random.default_rng(0)
    needed = {epsilon: [] for epsilon in PUBLISHED_ITEMS}

    for _ in range(100):
        data_sets = [
            power(
                **NOISE,
                **PLAN,
                prevalences=rng.dirichlet(np.ones(N_CATEGORIES)),
                n_simulations=10,
                seed=int(rng.integers(2**32)),
            )
            for _ in range(20)
        ]
        for epsilon, found in needed.items():
            found.append(items_needed(np.mean([mean_rates(x, epsilon) for x in data_sets], axis=0)))

    for epsilon, published in PUBLISHED_ITEMS.items():
        low, high = np.quantile(needed[epsilon], [0.05, 0.95], method="nearest")
        assert low <= published <= high
        assert high <= 2 * low
