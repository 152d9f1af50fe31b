"""Draw any figure by one call: choose its kind, and call the function of that kind."""

from __future__ import annotations

import gc
import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.reporting.plots import examination, reliability, training
from voirdire.reporting.plots.figure import to_svg
from voirdire.reporting.plots.frame import Frame
from voirdire.reporting.plots.results import Choice, read_result
from voirdire.reporting.plots.style import DRAWING
from voirdire.reporting.plots.training_sheet import TrainingSheet
from voirdire.reporting.plots.words import Words
from voirdire.rewards.training.run import TrainingRun
from voirdire.stats import PowerResult
from voirdire.studies import GoldExamination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language

__all__ = ["PlotKind", "draw_svg", "plot"]

PlotKind: TypeAlias = Literal[
    "advantage",
    "power",
    "reliability",
    "scatter",
    "training_classes",
    "training_length",
    "training_missing",
    "training_propositions",
    "training_reward",
    "winning_rate",
]
"""What a figure shows."""

_DRAWN_BY: dict[str, Callable[[Any, Frame, Choice], Figure]] = {
    name.removeprefix("draw_"): getattr(module, name)
    for module in (examination, reliability, training)
    for name in module.__all__
}
"""The function of each kind: `draw_` and the kind."""

_DEFAULT_KINDS: dict[type, str] = {
    GoldExamination: "reliability",
    PowerResult: "power",
    TrainingRun: "training_reward",
    TrainingSheet: "training_reward",
}
"""The kind of figure for results without a `kind`; all other results are examinations."""

_PLACEHOLDER = "voirdire-figure-name"


def plot(
    result: Any,
    *,
    kind: PlotKind = "advantage",
    epsilon: float | None = None,
    alignment: str | None = None,
    question: str | None = None,
    judge: str | Sequence[str] | None = None,
    behavior: str | None = None,
    language: Language = "en",
    ax: Axes | None = None,
) -> Figure:
    """Draw a result.

    Parameters
    ----------
    result : AltTestResult, sequence, mapping, Examination, GoldExamination, PowerResult, \
            TrainingRun
        What `alt_test` returns for one judge or several, what `examine`, `examine_gold`, `power` or
        `read_training_run` returns, or the parsed JSON of ``voirdire examine --json``. A power
        analysis is always drawn as ``"power"``; by default probabilities beside gold labels are
        drawn as ``"reliability"`` and a training run as ``"training_reward"``.
    kind : str, optional
        ``"advantage"``: ρ of every judge with its interval, and the annotators' own advantage.
        ``"winning_rate"``: ω against ε. ``"scatter"``: the judge's advantage against each
        annotator's own. ``"power"``: power against the number of items. ``"reliability"``: how
        often what a judge states comes true. ``"training_reward"``: the mean reward of each step.
        ``"training_propositions"``: how often propositions are true. ``"training_classes"``: the
        classes of the responses. ``"training_length"``: length beside reward.
        ``"training_missing"``: missing rewards.
    epsilon : float, optional
        Which margin, of several; by default .2 where it is among them, else the first.
    alignment, question : str, optional
        Which, of several; by default the first.
    judge : str or sequence of str, optional
        Only these judges.
    behavior : str, optional
        Of the classes of a training run; by default all.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller; several judges then share one panel.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot: it shows itself in notebooks, and nothing needs to be closed.

    Raises
    ------
    InputError
        If an argument breaks a rule, or the result has not what the figure shows.

    Notes
    -----
    A picture (PNG, PDF) is drawn with the fonts of this machine. A character that none of them has
    becomes a box, and the log of ``voirdire`` tells it once. Pages leave letters to the browser.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.reporting import plot
    >>> humans = {name: {item: item % 2 for item in range(40)} for name in ("ann", "bob", "eve")}
    >>> result = voirdire.alt_test({item: item % 2 for item in range(40)}, humans)
    >>> figure = plot(result, kind="scatter")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['ann', 'bob', 'eve']
    """
    choice = Choice(epsilon=epsilon, alignment=alignment, question=question, judge=judge,
                    behavior=behavior)  # fmt: skip
    return _draw(kind, result, Frame(say=Words(language), ax=ax), choice)


def draw_svg(
    kind: PlotKind,
    result: Any,
    *,
    language: Language,
    width_px: float,
    name: str | None = None,
    **which: Any,
) -> str:
    """Draw a figure as inline SVG for the width at which a page shows it.

    Parameters
    ----------
    kind, result, language
        As of `plot`.
    width_px : float
        CSS pixels. Text is the same size at every width.
    name : str, optional
        Prefix of the ids within the figure; by default made from what is drawn, so that figures
        that differ never share an id.
    **which
        What is drawn of several, as of `plot`.

    Returns
    -------
    str
        One ``<svg>`` element.

    Raises
    ------
    InputError
        As of `plot`.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.reporting import draw_svg
    >>> humans = {name: {item: item % 2 for item in range(40)} for name in ("ann", "bob", "eve")}
    >>> result = voirdire.alt_test({item: item % 2 for item in range(40)}, humans)
    >>> svg = draw_svg("advantage", result, language="en", width_px=640)
    >>> 'width="640"' in svg
    True
    """
    frame = Frame(say=Words(language), width=width_px)
    with DRAWING, _pause_collector():
        figure = _draw(kind, result, frame, Choice(**which))
        svg = to_svg(figure, name=name or _PLACEHOLDER)
    if name is not None:
        return svg
    own = f"{kind}-{hashlib.sha256(svg.encode()).hexdigest()[:12]}"
    return svg.replace(f'"{_PLACEHOLDER}-', f'"{own}-').replace(f"#{_PLACEHOLDER}-", f"#{own}-")


@contextmanager
def _pause_collector() -> Iterator[None]:
    """Pause the search for garbage, a quarter of the time: a figure is used until it is written."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _draw(kind: PlotKind, result: Any, frame: Frame, choice: Choice) -> Figure:
    chosen: str = check_choice("kind", kind, PlotKind)
    record = read_result(result)
    default = _DEFAULT_KINDS.get(type(record), "advantage")
    if chosen == "advantage":
        chosen = default
    elif default == "power" and chosen != default:
        msg = f"`kind` must be 'power' for a power analysis, got {chosen!r}."
        raise InputError(msg)
    return _DRAWN_BY[chosen](record, frame, choice)
