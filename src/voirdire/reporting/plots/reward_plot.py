"""One call for every figure of a reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._validation import check_choice
from voirdire.reporting.plots.reward_drives import draw_reward_drives
from voirdire.reporting.plots.reward_errors import draw_reward_errors
from voirdire.reporting.plots.reward_histograms import draw_reward_histograms
from voirdire.reporting.plots.reward_scales import draw_reward_scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language

__all__ = ["RewardPlotKind", "plot_reward"]

RewardPlotKind: TypeAlias = Literal[
    "reward_drives", "reward_errors", "reward_histograms", "reward_scales"
]
"""What a figure of a reward shows."""


def plot_reward(
    result: Any,
    *,
    kind: RewardPlotKind = "reward_errors",
    behavior: str | None = None,
    language: Language = "en",
    ax: Axes | None = None,
) -> Figure:
    """Draw the examination of a reward.

    Parameters
    ----------
    result : RewardExamination or mapping
        What `examine_reward` returns, or the parsed JSON of ``voirdire examine-reward --json``.
    kind : str, optional
        ``"reward_errors"``: how often comparisons are ranked the wrong way.
        ``"reward_histograms"``: centred rewards by label. ``"reward_drives"``: weights, and what
        they do to rankings. ``"reward_scales"``: the behaviors side by side.
    behavior : str, optional
        Of histograms and drives; by default the first.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot: it shows itself in notebooks, and nothing needs to be closed.

    Raises
    ------
    InputError
        If an argument breaks a rule, or the result has not what the figure shows.
    """
    check_choice("kind", kind, RewardPlotKind)
    if kind == "reward_drives":
        return draw_reward_drives(result, behavior=behavior, language=language, ax=ax)
    if kind == "reward_histograms":
        return draw_reward_histograms(result, behavior=behavior, language=language, ax=ax)
    draw = draw_reward_errors if kind == "reward_errors" else draw_reward_scales
    return draw(result, language=language, ax=ax)
