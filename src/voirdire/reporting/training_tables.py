"""A training run in a few lines for a terminal; the page has the rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.reporting.number_formats import counted, decimal
from voirdire.reporting.pages.training_sections import certified_counts, uncertified
from voirdire.reporting.plots.training_sheet import compute_edge_size, compute_move

if TYPE_CHECKING:
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["training_summary"]

_MOST_ALARMS = 3
_MOST_UNCERTIFIED = 5
_WIDTH = 80


def training_summary(run: TrainingRun) -> tuple[str, ...]:
    """Say what happened in a training in one or two lines.

    Parameters
    ----------
    run : TrainingRun
        With at least one step.

    Returns
    -------
    tuple of str
        Size and mean reward, the alarms, and what the reward's certificates are about, each where
        there is something to say.
    """
    n = len(run.steps)
    rewards = [step.reward_mean for step in run.steps]
    words = f"{counted(n, 'step')}, {counted(run.n_completions, 'completion')}"
    if any(map(math.isfinite, rewards)):
        move, edge = compute_move("reward", rewards), compute_edge_size(n)
        ends = f"{decimal(move.start)} → {decimal(move.end)}" if n > 1 else decimal(move.end)
        over = f" (first and last {edge} steps)" if edge > 1 else ""
        words += f", mean reward {ends}{over}"
    else:
        words += ", no rewards"
    return (words, *_alarms(run), *_certificates(run))


def _alarms(run: TrainingRun) -> tuple[str, ...]:
    """Name the first alarms; nothing where there are none."""
    if not run.alarms:
        return ()
    named = [
        f"{alarm.kind} at step {alarm.step:,} ({shorten(alarm.text, width=_WIDTH)})"
        for alarm in run.alarms[:_MOST_ALARMS]
    ]
    more = len(run.alarms) - len(named)
    count = counted(len(run.alarms), "alarm")
    return (f"{count}: {'; '.join(named)}{f'; and {more:,} more' if more else ''}",)


def _certificates(run: TrainingRun) -> tuple[str, ...]:
    """Name the propositions that pay without a valid certificate."""
    certified, n = certified_counts(run)
    pay = "pays" if n == 1 else "pay"
    words = f"certificates: valid for {certified} of {counted(n, 'proposition')} that {pay}"
    lacking = [shorten(name, width=_WIDTH) for name in uncertified(run)]
    if lacking:
        more = len(lacking) - _MOST_UNCERTIFIED
        named = ", ".join(lacking[:_MOST_UNCERTIFIED])
        words += f"; not for {named}{f' and {more:,} more' if more > 0 else ''}"
    return (words,)
