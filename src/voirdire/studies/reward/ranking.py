"""How often a reward ranks comparisons the wrong way, with intervals from resampling prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire.rewards.fitting.weight_problem import compute_percentiles
from voirdire.studies.reward.result import ErrorRate, RateEstimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.studies.reward.responses import RatedComparisons
    from voirdire.studies.reward.settings import RewardExaminationSettings

TIE = 1e-9
"""Rewards closer than this, relative to the larger of them where it is above 1, tie: sums of the
same features in another order differ by rounding."""


def find_errors(
    better: NDArray[np.float64], worse: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give 1 for each pair that is ranked the wrong way, a half for a tie, else 0; and the ties."""
    scale = np.maximum(1.0, np.maximum(np.abs(better), np.abs(worse)))
    is_tie = np.asarray(np.abs(better - worse) <= TIE * scale)
    return np.where(is_tie, 0.5, (better < worse).astype(np.float64)), is_tie


def compute_error_rates(
    comparisons: RatedComparisons, resamples: PromptResamples
) -> tuple[ErrorRate, ...]:
    """Compute how often every signal ranks the wrong way, overall and per behavior."""
    places: list[dict[str, Any]] = []
    columns: list[Column] = []
    rows = comparisons.behaviors
    groups = [(None, rows), *((row.behavior, (row,)) for row in rows)] if rows else []
    for behavior, group in groups:
        better, worse, prompts, is_best = (
            np.concatenate([getattr(row, name) for row in group])
            for name in ("better", "worse", "prompts", "is_best")
        )
        for signal, reward in comparisons.rated.signals.items():
            errors, is_tie = find_errors(reward[better], reward[worse])
            for against, kept in (("all", slice(None)), ("best", is_best)):
                tie_share = compute_mean(is_tie[kept])
                place = {"behavior": behavior, "signal": signal, "against": against}
                places.append(place | {"tie_share": tie_share})
                columns.append((prompts[kept], errors[kept]))
    rates = resamples.estimate_means(columns)
    return tuple(ErrorRate(**place, rate=rate) for place, rate in zip(places, rates, strict=True))


def list_errors(comparisons: RatedComparisons) -> Column:
    """List the errors of the reward as it is paid, with the prompt of each comparison."""
    total = comparisons.rated.signals["total"]
    rows = comparisons.behaviors
    prompts = np.concatenate([np.zeros(0, dtype=np.int64), *(row.prompts for row in rows)])
    errors = (find_errors(total[row.better], total[row.worse])[0] for row in rows)
    return prompts, np.concatenate([np.zeros(0), *errors])


# Means, and intervals from drawing the items of a prompt together ---------------------------------

Column: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float64]]"
"""The prompt and the value of each item."""

_BLOCK_DRAWS = 1 << 20
"""Draws that are made at once: more would only take memory."""

_MAX_KEPT_BYTES = 1 << 28
"""Counts are kept between calls up to this size; beyond, they are drawn again from the seed."""


def compute_mean(values: NDArray[Any]) -> float:
    """Compute the mean of the values that are not nan; nan without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def sum_by_prompt(
    prompts: NDArray[np.int64], values: NDArray[np.float64] | None, *, n_prompts: int
) -> NDArray[np.float64]:
    """Add up values by prompt, or count the items."""
    return np.bincount(prompts, weights=values, minlength=n_prompts).astype(np.float64)


def center_by_prompt(
    prompts: NDArray[np.int64], values: NDArray[np.float64], *, n_prompts: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Subtract from each value the mean of its prompt; also count the values by prompt."""
    counts = sum_by_prompt(prompts, None, n_prompts=n_prompts)
    means = _divide(sum_by_prompt(prompts, values, n_prompts=n_prompts), counts)
    return values - means[prompts], counts


class PromptResamples:
    r"""Resamples of prompts, the same ones for every figure of an examination.

    A mean is a ratio of sums over prompts, :math:`\sum_p a_p / \sum_p n_p`; a resample weighs each
    prompt by how often it was drawn, so that all means of all resamples are two products of
    matrices.

    Parameters
    ----------
    n_prompts : int
        At least 0.
    settings : RewardExaminationSettings
        `n_resamples`, `confidence_level` and `seed`; the same seed gives the same intervals.
        Memory is O(`n_resamples` * `n_prompts`) bytes, at most a quarter of a gigabyte.
    """

    def __init__(self, n_prompts: int, settings: RewardExaminationSettings) -> None:
        self._n_prompts = n_prompts
        self._n_resamples, self._seed = settings.n_resamples, settings.seed
        self._tail = (1.0 - settings.confidence_level) / 2.0  # outside each end of an interval
        self._kept: list[NDArray[np.uint8]] | None = None

    def estimate_means(self, columns: Sequence[Column]) -> list[RateEstimate]:
        """Estimate the mean of each column of shares."""
        if not columns:
            return []
        means, counts, drawn = self._resample_means(columns)
        each = [slice(k, k + 1) for k in range(len(columns))]
        return [self._estimate(means[k], counts[:, k], drawn[:, k]) for k in each]

    def estimate_average(self, columns: Sequence[Column]) -> RateEstimate:
        """Estimate the mean over columns of their shares, each with the same weight."""
        return self._estimate(*self._resample_means(columns))

    def estimate_difference(self, one: Column, other: Column) -> RateEstimate:
        """Estimate by how much the mean of one column is above that of another."""
        means, counts, drawn = self._resample_means([one, other])
        n_prompts = int((counts > 0).all(axis=1).sum())
        low, high = self._bound(drawn[:, 0] - drawn[:, 1], n_prompts)
        value, n = float(means[0] - means[1]), round(counts[:, 0].sum())
        return RateEstimate(value=value, low=low, high=high, n=n, n_prompts=n_prompts)

    def _bound(self, drawn: NDArray[np.float64], n_prompts: int) -> tuple[float, float]:
        """Take the percentiles of figures of resamples; nan without any, or with one prompt."""
        defined = drawn[~np.isnan(drawn)]
        if n_prompts < 2 or not defined.size:
            return float("nan"), float("nan")
        low, high = compute_percentiles(defined, tail=self._tail, n_prompts=n_prompts).tolist()
        return low, high

    def _resample_means(
        self, columns: Sequence[Column]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Compute the mean of each column, its counts by prompt, and its means by resample."""
        n = self._n_prompts
        sums = np.stack([sum_by_prompt(*column, n_prompts=n) for column in columns], axis=1)
        counts = np.stack([sum_by_prompt(own, None, n_prompts=n) for own, _ in columns], axis=1)
        blocks = [np.empty((0, len(columns)))]
        if self._kept is None and self._n_prompts * self._n_resamples <= _MAX_KEPT_BYTES:
            self._kept = list(self._count_draws())
        for draws in self._count_draws() if self._kept is None else self._kept:
            weights = draws.astype(np.float64)
            blocks.append(_divide(weights @ sums, weights @ counts))
        return _divide(sums.sum(axis=0), counts.sum(axis=0)), counts, np.concatenate(blocks)

    def _estimate(
        self,
        means: NDArray[np.float64],
        counts: NDArray[np.float64],
        drawn: NDArray[np.float64],
    ) -> RateEstimate:
        r"""Average the means of some columns; nan where one has no items.

        The interval is nan where fewer than two prompts have items. No resample of a share that is
        0 in every prompt is above 0, which says nothing of how far it may be from 0. The interval
        then goes to :math:`1 - (\alpha/2)^{1/n}` for n prompts: of prompts that count alike, a mean
        above that would leave all n at 0 in fewer than :math:`\alpha/2` of the samples. A share of
        1 mirrors that.
        """
        value, n_prompts = float(means.mean()), int((counts > 0).any(axis=1).sum())
        is_defined = ~np.isnan(drawn)
        totals = np.where(is_defined, drawn, 0.0).sum(axis=1)
        low, high = self._bound(_divide(totals, is_defined.sum(axis=1)), n_prompts)
        if value in (0.0, 1.0) and n_prompts > 1 and self._n_resamples:
            reach = self._find_reach((counts > 0).sum(axis=0))
            low, high = (0.0, reach) if value == 0.0 else (1.0 - reach, 1.0)
        n = round(counts.sum())
        return RateEstimate(value=value, low=low, high=high, n=n, n_prompts=n_prompts)

    def _find_reach(self, n_prompts: NDArray[np.int64]) -> float:
        r"""Find how far from 0 a mean of shares can be that were 0 in every prompt.

        `n_prompts` has the prompts of each share. The mean is the largest
        :math:`\frac{1}{m}\sum_k p_k` under which :math:`\prod_k (1 - p_k)^{n_k}`, the chance of so
        many zeros, is still :math:`\alpha/2`. For one share that is :math:`1 - (\alpha/2)^{1/n}`.
        """
        # Lagrange: 1 - p_k = n_k / mu for the shares of the fewest prompts, and p_k = 0 beyond.
        n = np.sort(n_prompts.astype(np.float64))
        spent = (np.cumsum(n * np.log(n)) - np.log(self._tail)) / np.cumsum(n)
        n_positive = int(np.flatnonzero(np.append(np.log(n[1:]), np.inf) >= spent)[0]) + 1
        shares = 1.0 - n[:n_positive] / np.exp(spent[n_positive - 1])
        return float(shares.sum() / n.size)

    def _count_draws(self) -> Iterator[NDArray[np.uint8]]:
        """Count how often each prompt is drawn; no real draw reaches 255 times."""
        rng = np.random.default_rng(self._seed)
        n = self._n_prompts
        size = max(1, _BLOCK_DRAWS // max(1, n))
        for start in range(0, self._n_resamples if n else 0, size):
            rows = min(size, self._n_resamples - start)
            drawn = rng.integers(n, size=(rows, n))
            drawn += np.arange(rows)[:, None] * n
            counts = np.bincount(drawn.ravel(), minlength=rows * n)
            yield np.minimum(counts, 255).astype(np.uint8).reshape(rows, n)


def _divide(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide sums by counts; nan where there is nothing to count."""
    ratios = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=ratios, where=counts > 0)
    return ratios
