"""One call for every figure: choose what is drawn, and hand it to the file of that kind."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.reporting.plots.power import draw_power_curves, is_power
from voirdire.reporting.plots.probes import draw_probes, is_probing
from voirdire.reporting.plots.reliability import draw_reliability
from voirdire.reporting.plots.reward_plot import RewardPlotKind, plot_reward
from voirdire.reporting.plots.reward_sheet import is_reward
from voirdire.reporting.plots.rows import sheet_of
from voirdire.reporting.plots.style import settings
from voirdire.reporting.plots.training_plot import TrainingPlotKind, plot_training
from voirdire.reporting.plots.training_sheet import is_training
from voirdire.reporting.plots.words import words_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["PlotKind", "draw_power", "plot"]

PlotKind: TypeAlias = Literal[
    "advantage",
    "agreement",
    "ceiling",
    "confusion",
    "controls",
    "power",
    "probes",
    "reliability",
    "reward_drives",
    "reward_errors",
    "reward_histograms",
    "reward_scales",
    "scatter",
    "slices",
    "training_classes",
    "training_length",
    "training_missing",
    "training_propositions",
    "training_reward",
    "winning_rate",
]
"""What a figure shows."""

_WHOLE = (
    ("power", is_power, "a power analysis", draw_power_curves),
    ("probes", is_probing, "probes of a judge", draw_probes),
)
_NEEDS_EXAMINATIONS = ("advantage", "controls", "scatter", "winning_rate")


def plot(
    result: Any,
    *,
    kind: PlotKind = "advantage",
    epsilon: float | None = None,
    alignment: str | None = None,
    question: str | None = None,
    judge: str | Sequence[str] | None = None,
    coefficient: str | None = None,
    behavior: str | None = None,
    language: Language = "en",
    ax: Axes | None = None,
) -> Figure:
    """Draw a result.

    Parameters
    ----------
    result : AltTestResult, sequence, mapping, Examination, PowerResult, ProbeReport, \
            RewardExamination, TrainingRun
        What `alt_test` returns for one judge or several, what `examine`, `examine_reward` or
        `read_training_run` returns, or the parsed JSON of ``voirdire examine --json`` or
        ``examine-reward --json``. A power analysis is always drawn as ``"power"``, what
        `probe_judge` returns as ``"probes"``, a reward as ``"reward_errors"`` and a training run as
        ``"training_reward"`` by default.
    kind : str, optional
        ``"advantage"``: ρ of every judge with its interval, and the annotators' own advantage.
        ``"winning_rate"``: ω against ε. ``"scatter"``: the judge's advantage against each
        annotator's own. ``"controls"``: ω beside judges that know nothing. ``"agreement"``: κ of
        every two raters. ``"ceiling"``: agreement with the annotators beside theirs with each
        other. ``"slices"``: where the judge is worse. ``"confusion"``: its labels against theirs.
        ``"power"``: power against the number of items. ``"probes"``: the largest shift of a judge's
        answers under each probe. ``"reliability"``: how often what a judge
        states comes true, also of what `examine_gold` returns. ``"reward_errors"``: comparisons
        that a reward ranks the wrong way. ``"reward_histograms"``: centred rewards by label.
        ``"reward_drives"``: weights, and what they do to rankings. ``"reward_scales"``: the
        behaviors side by side. ``"training_reward"``: the mean reward of each step.
        ``"training_propositions"``: how often propositions are true. ``"training_classes"``: the
        classes of the responses. ``"training_length"``: length beside reward.
        ``"training_missing"``: missing rewards.
    epsilon : float, optional
        Which margin, of several; by default .2 where it is among them, else the first.
    alignment, question : str, optional
        Which, of several; by default the first.
    judge : str or sequence of str, optional
        Only these judges.
    coefficient : str, optional
        Of ``"ceiling"``; by default Cohen's κ where it is defined.
    behavior : str, optional
        Of a reward's histograms and drives, by default the first; of the classes of a training
        run, by default all.
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
    check_choice("kind", kind, PlotKind)
    if is_reward(result) and kind == "advantage":
        kind = "reward_errors"
    if kind in get_args(RewardPlotKind):
        return plot_reward(result, kind=kind, behavior=behavior, language=language, ax=ax)  # type: ignore[arg-type]
    if is_training(result) and kind == "advantage":
        kind = "training_reward"
    if kind in get_args(TrainingPlotKind):
        return plot_training(result, kind=kind, behavior=behavior, language=language, ax=ax)  # type: ignore[arg-type]
    say = words_in(language)
    whole = _draw_whole(result, kind, say=say, ax=ax)
    if whole is not None:
        return whole
    if kind == "reliability":
        with settings():
            return draw_reliability(result, question=question, judge=judge, say=say, ax=ax)
    sheet = sheet_of(result, question=question, alignment=alignment, epsilon=epsilon, judge=judge)
    if not sheet.rows and kind in _NEEDS_EXAMINATIONS:
        msg = f"`kind` {kind!r} needs at least one examination, got a result without."
        raise InputError(msg)
    options = {"coefficient": coefficient} if kind == "ceiling" else {}
    with settings():
        return _draw(kind, sheet, say=say, ax=ax, **options)


def draw_power(result: Any, *, language: Language = "en", ax: Axes | None = None) -> Figure:
    """Draw a power analysis: power against the number of items.

    Parameters
    ----------
    result : PowerResult or mapping
        The analysis, or its dict.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller.

    Returns
    -------
    matplotlib.figure.Figure
        One curve per number of annotators and ε, with the wanted power.

    Raises
    ------
    InputError
        If the result is no power analysis.
    """
    say = words_in(language)
    with settings():
        return draw_power_curves(result, say=say, ax=ax)


def _draw_whole(result: Any, kind: PlotKind, *, say: Words, ax: Axes | None) -> Figure | None:
    """Draw a result that has one figure only; None for others."""
    for name, is_such, what, draw in _WHOLE:
        if kind != name and not is_such(result):
            continue
        if kind not in (name, "advantage"):
            msg = f"`kind` must be {name!r} for {what}, got {kind!r}."
            raise InputError(msg)
        with settings():
            return draw(result, say=say, ax=ax)
    return None


def _draw(kind: str, sheet: Sheet, *, say: Words, ax: Axes | None, **options: Any) -> Figure:
    module = import_module(f"voirdire.reporting.plots.{kind}")
    figure: Figure = getattr(module, f"draw_{kind}")(sheet, say=say, ax=ax, **options)
    return figure
