r"""Power of the alternative annotator test under assumed noise: simulate before annotating."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.stats.alignment import AccuracyScorer
from voirdire.stats.outcomes import HumanBlock
from voirdire.stats.planning.gaps import EVERYTHING, ShareGiven
from voirdire.stats.planning.grid import DEFAULT_EPSILONS, DEFAULT_SIZES, PowerGrid
from voirdire.stats.planning.noise_model import NoiseModel, check_shares
from voirdire.stats.planning.planned_sums import sums_at_sizes
from voirdire.stats.planning.result import PowerResult
from voirdire.stats.planning.tally import PowerTally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import EpsilonMode, Method
    from voirdire.stats.planning.noise_model import SimulatedLabels
    from voirdire.stats.planning.result import PowerRow, Route

__all__ = ["power", "simulate_rows"]


def power(
    *,
    human_noise: float,
    judge_noise: float,
    n_categories: int | None = None,
    prevalences: Sequence[float] | None = None,
    n_items: int | Sequence[int] = DEFAULT_SIZES,
    n_annotators: int | Sequence[int] = 3,
    epsilon: float | Sequence[float] = DEFAULT_EPSILONS,
    epsilon_mode: EpsilonMode = "additive",
    method: Method = "t",
    false_discovery_rate: float = 0.05,
    min_items: int = 30,
    wanted_power: float = 0.8,
    n_simulations: int = 1_000,
    seed: int = 0,
) -> PowerResult:
    r"""Find how many items and annotators an examination needs, before anyone annotates.

    Studies are simulated under assumed noise and examined by the alternative annotator test with
    the alignment ``"accuracy"`` [1]_. The power of a size of study is the share of simulated
    studies that the judge passes, ω at least .5.

    Parameters
    ----------
    human_noise, judge_noise : float
        η, the probability that an annotator's or the judge's label is a blind guess instead of
        the truth, in [0, 1]. Two annotators then have a Cohen kappa of (1 - η_h)², so that an
        annotator noise of .1, .3, .5 stands for a kappa of .81, .49, .25.
    n_categories : int, optional
        Number of labels, 2 to 10,000; by default as many as `prevalences`, or 2 without them.
    prevalences : sequence of float, optional
        Share of each label, summing to 1. By default drawn anew for every simulated study,
        uniformly: power is then an average over skewed and even questions.
    n_items, n_annotators : int or sequence of int, optional
        Sizes of study to look at, at least 2 each; at most 1,000 sizes, and at most 10⁸ labels
        in the largest study.
    epsilon : float or sequence of float, optional
        Cost-benefit margins, fractions in [0, 1).
    epsilon_mode : {"additive", "multiplicative"}, optional
        As in `voirdire.alt_test`.
    method : {"t", "exact"}, optional
        The t-test, or the exact test, which takes up to some seconds more per size and ε.
    false_discovery_rate : float, optional
        q of Benjamini-Yekutieli over annotators, in (0, 1).
    min_items : int, optional
        Fewest items for an annotator to be tested, at least 2, as in the examination. With fewer
        nobody is tested, so the power is 0, and `reason` says why.
    wanted_power : float, optional
        In (0, 1).
    n_simulations : int, optional
        Studies per number of annotators, at least 1; the standard error of a power of .8 is .013
        with 1,000.
    seed : int, optional
        Of the simulation.

    Returns
    -------
    PowerResult
        One row per size of study and ε, the fewest items that reach the wanted power, and the
        plan with the fewest labels.

    Raises
    ------
    InputError
        If a setting breaks a rule above.

    Notes
    -----
    Every simulated study is drawn once, at the largest size: its first items and its first
    annotators are the smaller studies, and one pass over cumulative outcomes gives all sizes and
    every ε. Rows are therefore dependent, and rise smoothly. Memory is bounded; time is
    O(n_simulations * n_items * n_annotators²). A seed gives the same figures for the same
    largest `n_items`, whatever the other sizes and, up to 32, the numbers of annotators.

    The noise model lets everyone err independently of each other and alike on all items. Real
    items differ in difficulty, so that errors coincide; then a pilot study tells more, see
    `voirdire.studies.power_from_pilot`. What is simulated is ω at least .5, not the outcome: the
    controls and the rules for ``"no_evidence"`` are not applied, so that on skewed labels a judge
    that guesses blindly has power too. Declare `prevalences` where labels will be skewed.

    References
    ----------
    .. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for
       LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs",
       ACL 2025, arXiv 2501.10970.

    Examples
    --------
    A judge as noisy as the annotators needs far more items under a narrow margin:

    >>> result = power(human_noise=0.3, judge_noise=0.3, epsilon=[0.1, 0.2], n_simulations=400)
    >>> [(size.epsilon, size.n_items) for size in result.smallest_sizes]
    [(0.1, 125), (0.2, 30)]
    """
    shares = None if prevalences is None else check_shares(prevalences)
    if n_categories is None:
        n_categories = 2 if shares is None else len(shares)
    model = NoiseModel(
        human_noise=human_noise,
        judge_noise=judge_noise,
        n_categories=n_categories,
        prevalences=shares,
    )
    grid = PowerGrid.of(
        n_items=n_items,
        n_annotators=n_annotators,
        epsilon=epsilon,
        epsilon_mode=epsilon_mode,
        method=method,
        false_discovery_rate=false_discovery_rate,
        min_items=min_items,
        wanted_power=wanted_power,
        n_simulations=n_simulations,
        seed=seed,
    )
    return PowerResult(
        rows=tuple(simulate_rows(model, grid, route="assumptions")),
        wanted_power=grid.wanted_power,
        human_kappa=model.human_kappa,
        judge_kappa=model.judge_kappa,
        human_noise=model.human_noise,
        judge_noise=model.judge_noise,
        settings=_model_settings(model) | grid.as_settings(),
    )


def simulate_rows(
    model: NoiseModel,
    grid: PowerGrid,
    *,
    route: Route,
    annotators: Sequence[int] | None = None,
    given: ShareGiven = EVERYTHING,
) -> list[PowerRow]:
    """Simulate studies from a noise model.

    Parameters
    ----------
    model : NoiseModel
        How labels come about.
    grid : PowerGrid
        What is asked.
    route : {"assumptions", "noise_model"}
        What the rows say about where their labels come from.
    annotators : sequence of int, optional
        Instead of the grid's numbers of annotators.
    given : ShareGiven, optional
        Shares of the labels that are there; the others are missing at random.

    Returns
    -------
    list of PowerRow
    """
    wanted = grid.annotators if annotators is None else tuple(annotators)
    tallies = {n_annotators: PowerTally(grid) for n_annotators in wanted}
    for start, n_studies in grid.blocks():
        labels = model.draw(
            np.random.default_rng([grid.seed, start]),
            n_studies=n_studies,
            n_items=grid.sizes[-1],
            n_annotators=max(wanted),
        )
        # another stream than that of the labels, which are the same with and without gaps
        labels = given.thin(labels, np.random.default_rng([grid.seed, start, 1]))
        for n_annotators, tally in tallies.items():
            outcomes = _outcomes(labels, n_annotators, model.n_categories)
            tally.add(sums_at_sizes(outcomes, grid.sizes))
    return [
        row
        for m, tally in tallies.items()
        for row in tally.rows(m, route=route, label_share=given.humans)
    ]


def _outcomes(labels: SimulatedLabels, n_annotators: int, n_categories: int) -> NDArray[np.int8]:
    """Compare the judge with the first annotators: shape (n_annotators, n_studies, n_items)."""
    humans = labels.humans[..., :n_annotators].reshape(-1, n_annotators)
    block = HumanBlock(humans, scorer=AccuracyScorer(n_categories, n_annotators))
    outcomes = block.outcomes(labels.judge.ravel())
    return outcomes.reshape(n_annotators, *labels.judge.shape)


def _model_settings(model: NoiseModel) -> dict[str, object]:
    prevalences = model.prevalences
    return {
        "human_noise": model.human_noise,
        "judge_noise": model.judge_noise,
        "n_categories": model.n_categories,
        "prevalences": None if prevalences is None else list(prevalences),
    }
