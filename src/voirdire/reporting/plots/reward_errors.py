"""How often a reward ranks comparisons the wrong way: base, base and rules, rules alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.reporting.plots.dot_rows import DotRow, DotRows, draw_dot_rows
from voirdire.reporting.plots.marks import KeyItem
from voirdire.reporting.plots.names import distinct_labels, label
from voirdire.reporting.plots.reward_sheet import reward_sheet
from voirdire.reporting.plots.reward_words import reward_words_in
from voirdire.reporting.plots.rows import number
from voirdire.reporting.plots.style import LIGHT, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from voirdire._types import Language
    from voirdire.reporting.plots.reward_sheet import RewardSheet
    from voirdire.reporting.plots.reward_words import RewardWords

__all__ = ["draw_reward_errors"]

MOST_BEHAVIORS = 12
_COLOURS = {"base": "series-8", "total": "series-1", "rules": "series-3"}
_CHANCE = 0.5


def draw_reward_errors(result: Any, *, language: Language = "en", ax: Axes | None = None) -> Figure:
    """Draw the error rates of a reward, overall and by behavior.

    Parameters
    ----------
    result : RewardExamination or mapping
        What `examine_reward` returns, or the parsed JSON of ``voirdire examine-reward --json``.
    language : {"en", "zh"}, optional
        Of the words in the figure.
    ax : matplotlib.axes.Axes, optional
        Draw on these axes, laid out by the caller.

    Returns
    -------
    matplotlib.figure.Figure
        A group per behavior, in it a row per reward with its interval.

    Raises
    ------
    InputError
        If the result is no examination of a reward, or has no error rates.
    """
    say = reward_words_in(language)
    sheet = reward_sheet(result)
    rows = _rows(sheet, say)
    if not rows:
        msg = "`result` must hold error rates, got none: it was examined without comparisons."
        raise InputError(msg)
    ends = [number(end) for row in rows for end in (row.value, row.high)]
    with settings():
        return draw_dot_rows(
            DotRows(
                rows=rows,
                heading=say("errors_title", name=label(sheet.name, width=36)),
                alt=say("alt_errors"),
                x_title=say("errors_axis"),
                limits=(0.0, max([0.1, *filter(math.isfinite, ends)])),
                bounds=(0.0, 1.0),
                line=_CHANCE,
                key=_key(sheet, say),
            ),
            say=say,
            ax=ax,
        )


def _rows(sheet: RewardSheet, say: RewardWords) -> list[DotRow]:
    signals = sheet.signals
    found = [
        row
        for row in sheet.error_rates
        if row["against"] == "all"
        and row["signal"] in signals
        and math.isfinite(number(row["rate"]["value"]))
    ]
    behaviors = list(dict.fromkeys(row["behavior"] for row in found))
    named = [each for each in behaviors if each is not None][:MOST_BEHAVIORS]
    texts = dict(zip(named, distinct_labels(named, width=26), strict=True))
    order = [each for each in (None, *named) if each in behaviors]
    if len(named) == 1 and None in order:  # both are the same
        order = named
    rows: list[DotRow] = []
    for behavior in order:
        text = say("all_behaviors") if behavior is None else texts[behavior]
        rows.append(DotRow(label=text, is_heading=True, starts_group=True))
        rows += [_row(row, say) for row in found if row["behavior"] == behavior]
    return rows


def _row(row: dict[str, Any], say: RewardWords) -> DotRow:
    rate = row["rate"]
    return DotRow(
        label=say(row["signal"]),
        value=number(rate["value"]),
        low=number(rate["low"]),
        high=number(rate["high"]),
        colour=LIGHT[_COLOURS[row["signal"]]],
    )


def _key(sheet: RewardSheet, say: RewardWords) -> list[KeyItem]:
    chance = {"color": LIGHT["ink"], "linewidth": 1.4}
    items = [KeyItem(text=say("errors_chance"), style=chance)]
    if math.isfinite(sheet.level):
        style = {"color": LIGHT["series-1"], "linewidth": 2}
        items.append(KeyItem(text=say("interval", level=sheet.level), style=style))
    return items
