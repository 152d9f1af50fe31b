"""How every figure of a training run begins: what it is of, its heading, its key, whose axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import clear, figure_of, new_plot
from voirdire.reporting.plots.marks import draw_key, key_height, legend
from voirdire.reporting.plots.names import label
from voirdire.reporting.plots.style import WIDTH_PX
from voirdire.reporting.plots.training_sheet import training_sheet
from voirdire.reporting.plots.training_words import training_words_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.figure import Plot
    from voirdire.reporting.plots.marks import KeyItem
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.plots.training_words import TrainingWords

__all__ = ["drawn_on", "new_training_plot", "sheet_and_words"]

_NAME_WIDTH = 36


def sheet_and_words(result: Any, language: Language) -> tuple[TrainingSheet, TrainingWords]:
    """Take what is drawn out of a run, and the words of a language.

    Raises
    ------
    InputError
        If the language is another, or the result is no training run with steps.
    """
    say = training_words_in(language)
    return training_sheet(result), say


def drawn_on(ax: Axes, draw: Callable[[Axes], None], *, key: Sequence[KeyItem]) -> Figure:
    """Draw on axes that the caller laid out, with the key as their legend."""
    clear(ax)
    draw(ax)
    legend(ax, key)
    return figure_of(ax)


def new_training_plot(sheet: TrainingSheet, say: TrainingWords, *, kind: str,
                      height: float, key: Sequence[KeyItem], width: float = WIDTH_PX,
                      shown: tuple[int, int] | None = None,
                      name_width: int = _NAME_WIDTH) -> Plot:  # fmt: skip
    """Make the figure of one kind: its heading, its text for those who do not see it, its key.

    Parameters
    ----------
    sheet : TrainingSheet
        What is drawn.
    say : TrainingWords
        Of the language.
    kind : str
        Such as ``"reward"``: words are found under it.
    height, width : float
        In pixels; the key comes on top of the height.
    key : sequence of KeyItem
        Drawn at the foot.
    shown : tuple of (int, int), optional
        So many panels of so many; the heading says it where some are left out.
    name_width : int, optional
        Most characters of the run's name.

    Returns
    -------
    Plot
        Without axes.
    """
    heading = say(f"training_{kind}_title", name=label(sheet.name, width=name_width))
    if shown is not None and shown[0] < shown[1]:
        heading = say("training_of", title=heading, n=shown[0], total=shown[1])
    figure = new_plot(
        width=width,
        height=height + key_height(key, width=width),
        heading=heading,
        alt=say(f"alt_training_{kind}"),
    )
    draw_key(figure, key)
    return figure
