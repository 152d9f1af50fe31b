"""Where the rewards of each label lie against the best completions of the same prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import check_count
from voirdire.studies.reward.ranking import TIE, per_prompt
from voirdire.studies.reward.result import LabelHistogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.studies.reward.examined import Examined, ExaminedBehavior
    from voirdire.studies.reward.result import Signal

__all__ = ["Histograms", "label_histograms"]


@dataclass(frozen=True, kw_only=True)
class Histograms:
    """Histograms, and what could not be centred.

    Attributes
    ----------
    histograms : tuple of LabelHistogram
        Per behavior, signal and label.
    without_best : tuple of int
        Prompts with labels, none of which is the best: they are in no histogram.
    """

    histograms: tuple[LabelHistogram, ...]
    without_best: tuple[int, ...]


def label_histograms(examined: Examined, *, n_bins: int) -> Histograms:
    """Centre rewards on the best label's completions of their prompt, and count them by label.

    Parameters
    ----------
    examined : Examined
        Completions with labels.
    n_bins : int
        Bins of every histogram, at least 1.

    Returns
    -------
    Histograms
        The labels of one behavior and signal share their edges, best label first.

    Raises
    ------
    InputError
        If `n_bins` is below 1.

    Notes
    -----
    Rewards are centred since the base reward differs between prompts by far more than between the
    completions of one. What has no best completion has no centre, and is left out.
    """
    check_count("n_bins", n_bins, minimum=1)
    found: list[LabelHistogram] = []
    left_out: set[int] = set()
    for row in examined.behaviors:
        labelled = row.rows[np.array([x is not None for x in examined.labels[row.rows]], bool)]
        best = np.isin(examined.labels[labelled].astype(str), row.order.best)
        n = examined.rated.n_prompts
        prompts = examined.rated.prompts
        n_best = per_prompt(prompts[labelled[best]], None, n_prompts=n)
        centred = labelled[n_best[prompts[labelled]] > 0]
        left_out |= set(prompts[labelled[n_best[prompts[labelled]] == 0]].tolist())
        for signal, reward in examined.rated.signals.items():
            sums = per_prompt(prompts[labelled[best]], reward[labelled[best]], n_prompts=n)
            values = reward[centred] - sums[prompts[centred]] / n_best[prompts[centred]]
            found += _of_labels(examined, row, signal, centred, values, n_bins=n_bins)
    return Histograms(histograms=tuple(found), without_best=tuple(sorted(left_out)))


def _of_labels(
    examined: Examined,
    row: ExaminedBehavior,
    signal: Signal,
    items: NDArray[np.int64],
    values: NDArray[np.float64],
    *,
    n_bins: int,
) -> list[LabelHistogram]:
    if not items.size:
        return []
    edges = _edges(values, n_bins=n_bins)
    found = []
    for label in row.order.labels:
        own = values[examined.labels[items] == label]
        if own.size:
            counts, _ = np.histogram(own, bins=edges)
            found.append(
                LabelHistogram(
                    behavior=row.behavior,
                    signal=signal,
                    label=label,
                    edges=tuple(edges.tolist()),
                    counts=tuple(counts.tolist()),
                    mean=float(own.mean()),
                    standard_deviation=float(own.std()),
                )
            )
    return found


def _edges(values: NDArray[np.float64], *, n_bins: int) -> NDArray[np.float64]:
    """Give bins from the lowest value to the highest; values that tie get bins around them."""
    low, high = float(values.min()), float(values.max())
    if high - low <= TIE * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n_bins + 1)
