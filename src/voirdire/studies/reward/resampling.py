"""Intervals of ratios from resampling prompts: what shares a prompt is drawn together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.rewards.fitting.weight_problem import compute_percentiles
from voirdire.studies.reward.result import RateEstimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.studies.reward.settings import RewardExaminationSettings

__all__ = ["PromptResamples"]

_BLOCK_DRAWS = 1 << 20
"""Draws that are made at once: more would only take memory."""

_MOST_KEPT = 1 << 28
"""Bytes of counts that are kept between calls; beyond, they are drawn again from the seed."""


class PromptResamples:
    r"""Resamples of prompts, the same ones for every figure of an examination.

    A figure is a ratio of sums over prompts, :math:`\sum_p a_p / \sum_p b_p`; a resample weighs
    each prompt by how often it was drawn, so that all figures of all resamples are two products of
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
        self.n_prompts = n_prompts
        self.n_resamples = settings.n_resamples
        self.confidence_level, self.seed = settings.confidence_level, settings.seed
        self._kept: list[NDArray[np.uint8]] | None = None

    def estimates(
        self,
        numerators: NDArray[np.float64],
        denominators: NDArray[np.float64],
        *,
        is_share: bool = True,
    ) -> list[RateEstimate]:
        r"""Estimate ratios, each with the interval that its resamples give.

        Parameters
        ----------
        numerators, denominators : ndarray of float, shape (n_prompts, n_figures)
            Sums per prompt. Denominators count, such as comparisons.
        is_share : bool, optional
            Whether the ratios lie in [0, 1].

        Returns
        -------
        list of RateEstimate
            One per column; nan where a denominator is 0 in all. An interval is nan where fewer
            than two prompts have anything to count.

        Notes
        -----
        No resample of a share that is 0 in every prompt is above 0, which says nothing of how far
        it may be from 0. The interval then goes to :math:`1 - (\alpha/2)^{1/n}` for n prompts: of
        prompts that count alike, a mean above that would leave all n at 0 in fewer than
        :math:`\alpha/2` of the samples. A share of 1 mirrors that.
        """
        tops, bottoms = numerators.sum(axis=0), denominators.sum(axis=0)
        concerned = (denominators > 0).sum(axis=0)
        values = _compute_ratio(tops, bottoms)
        drawn = self.ratios(numerators, denominators)
        lows, highs = self.interval(drawn, n_prompts=concerned.tolist())
        found = []
        for k, n in enumerate(concerned.tolist()):
            low, high = float(lows[k]), float(highs[k])
            if n < 2 or not self.n_resamples:
                low = high = float("nan")
            elif is_share and not numerators[:, k].any():
                high = self.farthest([n])
            elif is_share and np.array_equal(numerators[:, k], denominators[:, k]):
                low = 1.0 - self.farthest([n])
            found.append(
                RateEstimate(
                    value=float(values[k]), low=low, high=high, n=round(bottoms[k]), n_prompts=n
                )
            )
        return found

    def ratios(
        self, numerators: NDArray[np.float64], denominators: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Compute the ratios of every resample.

        Parameters
        ----------
        numerators, denominators : ndarray of float, shape (n_prompts, n_figures)
            Sums per prompt.

        Returns
        -------
        ndarray of float, shape (n_resamples, n_figures)
            nan where a resample has nothing to count.
        """
        if not self.n_prompts or not self.n_resamples:
            return np.full((self.n_resamples, numerators.shape[1]), np.nan)
        blocks = []
        for counts in self._read_blocks():
            drawn = counts.astype(np.float64)
            blocks.append(_compute_ratio(drawn @ numerators, drawn @ denominators))
        return np.concatenate(blocks)

    def interval(
        self, drawn: NDArray[np.float64], *, n_prompts: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the interval of each column, from the resamples that are not nan.

        Parameters
        ----------
        drawn : ndarray of float, shape (n_resamples, n_figures)
            Figures of the resamples.
        n_prompts : sequence of int
            Of each figure, how many prompts have anything to count.

        Returns
        -------
        tuple of two ndarray of float, shape (n_figures,)
            Lower and upper ends, as for the intervals of a fit; nan where every resample is.
        """
        ends = np.full((2, drawn.shape[1]), np.nan)
        for k, n in enumerate(n_prompts):
            known = drawn[~np.isnan(drawn[:, k]), k]
            if known.size:
                ends[:, k] = compute_percentiles(known, tail=self.tail, n_prompts=n)
        return ends[0], ends[1]

    @property
    def tail(self) -> float:
        """The share outside each end of an interval."""
        return (1.0 - self.confidence_level) / 2.0

    def farthest(self, n_prompts: Sequence[int]) -> float:
        r"""Tell how far from 0 a mean of shares can be that were 0 in every prompt.

        Parameters
        ----------
        n_prompts : sequence of int
            Prompts of each share, at least 1; one number for a single share.

        Returns
        -------
        float
            The largest :math:`\frac{1}{m}\sum_k p_k` under which :math:`\prod_k (1 - p_k)^{n_k}`,
            the chance of so many zeros, is still :math:`\alpha/2`. For one share that is
            :math:`1 - (\alpha/2)^{1/n}`.
        """
        # Lagrange: 1 - p_k = n_k / mu for the shares of the fewest prompts, and p_k = 0 beyond.
        n = np.sort(np.asarray(n_prompts, dtype=np.float64))
        spent = (np.cumsum(n * np.log(n)) - np.log(self.tail)) / np.cumsum(n)
        some = int(np.flatnonzero(np.append(np.log(n[1:]), np.inf) >= spent)[0]) + 1
        shares = 1.0 - n[:some] / np.exp(spent[some - 1])
        return float(shares.sum() / n.size)

    def _read_blocks(self) -> Iterator[NDArray[np.uint8]]:
        if self._kept is None and self.n_prompts * self.n_resamples <= _MOST_KEPT:
            self._kept = list(self._count_draws())
        yield from self._count_draws() if self._kept is None else self._kept

    def _count_draws(self) -> Iterator[NDArray[np.uint8]]:
        """Count how often each prompt is drawn; no real draw reaches 255 times."""
        rng = np.random.default_rng(self.seed)
        n = self.n_prompts
        size = max(1, _BLOCK_DRAWS // n)
        for start in range(0, self.n_resamples, size):
            rows = min(size, self.n_resamples - start)
            drawn = rng.integers(n, size=(rows, n))
            drawn += np.arange(rows)[:, None] * n
            counts = np.bincount(drawn.ravel(), minlength=rows * n)
            yield np.minimum(counts, 255).astype(np.uint8).reshape(rows, n)


def _compute_ratio(tops: NDArray[np.float64], bottoms: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.full(tops.shape, np.nan)
    np.divide(tops, bottoms, out=found, where=bottoms > 0)
    return found
