"""One call for every figure of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._validation import check_choice
from voirdire.reporting.plots.training_classes import draw_training_classes
from voirdire.reporting.plots.training_length import draw_training_length
from voirdire.reporting.plots.training_missing import draw_training_missing
from voirdire.reporting.plots.training_propositions import draw_training_propositions
from voirdire.reporting.plots.training_reward import draw_training_reward

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language

__all__ = ["TrainingPlotKind", "plot_training"]

TrainingPlotKind: TypeAlias = Literal[
    "training_classes",
    "training_length",
    "training_missing",
    "training_propositions",
    "training_reward",
]
"""What a figure of a training run shows."""

_DRAW = {
    "training_length": draw_training_length,
    "training_missing": draw_training_missing,
    "training_propositions": draw_training_propositions,
    "training_reward": draw_training_reward,
}


def plot_training(
    result: Any,
    *,
    kind: TrainingPlotKind = "training_reward",
    behavior: str | None = None,
    language: Language = "en",
    ax: Axes | None = None,
) -> Figure:
    """Draw a training run.

    Parameters
    ----------
    result : TrainingRun or mapping
        What `read_training_run` returns, or what `training_run_as_dict` makes of it.
    kind : str, optional
        ``"training_reward"``: the mean reward of each step. ``"training_propositions"``: how often
        propositions are true. ``"training_classes"``: the classes of the responses.
        ``"training_length"``: length beside reward. ``"training_missing"``: missing rewards.
    behavior : str, optional
        Of the classes; by default all.
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
    check_choice("kind", kind, TrainingPlotKind)
    if kind == "training_classes":
        return draw_training_classes(result, behavior=behavior, language=language, ax=ax)
    return _DRAW[kind](result, language=language, ax=ax)
