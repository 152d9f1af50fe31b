"""Marks that mean the same in every figure, their key, and labels that keep apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voirdire.reporting.plots.canvas import note, pixels, wrap_px
from voirdire.reporting.plots.names import text_px
from voirdire.reporting.plots.style import LIGHT, SMALL_PX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from voirdire.reporting.plots.figure import Plot
    from voirdire.reporting.plots.words import Words

__all__ = ["KeyItem", "draw_key", "key_height", "legend", "mark_style", "outcome_key", "spread"]

KEY_LINE_PX = 24.0
_SYMBOL_PX = 24.0
_GAP_PX = 14.0


def mark_style(outcome: str | None, colour: str, *, size: float = 9) -> dict[str, Any]:
    """Style a point by what it stands for: passed filled, failed hollow, no evidence a cross.

    Controls are diamonds.
    """
    if outcome == "no_evidence":
        return {
            "marker": "X",
            "markersize": size + 3,
            "markeredgewidth": 1,
            "color": colour,
            "markeredgecolor": LIGHT["paper"],
        }
    if outcome == "control":
        return {"marker": "D", "markersize": size - 2, "color": colour}
    return {
        "marker": "o",
        "markersize": size,
        "markeredgewidth": 2,
        "color": colour,
        "markeredgecolor": colour,
        "markerfacecolor": LIGHT["paper"] if outcome == "failed" else colour,
    }


@dataclass(frozen=True, kw_only=True)
class KeyItem:
    """A symbol with its meaning; `style` is that of a line, or of a filled box if `box`.

    Without a style it is words only.
    """

    text: str
    style: dict[str, Any] = field(default_factory=dict)
    box: bool = False


def outcome_key(outcomes: Iterable[str], say: Words) -> list[KeyItem]:
    """Explain the marks of the outcomes that occur."""
    found = set(outcomes)
    return [
        KeyItem(text=say(outcome), style={"linestyle": "none"} | mark_style(outcome, LIGHT["ink"]))
        for outcome in ("passed", "failed", "no_evidence")
        if outcome in found
    ]


def key_height(items: Sequence[KeyItem], *, width: float) -> float:
    """Return the height of a key in pixels."""
    return KEY_LINE_PX * len(_lines(items, width)) if items else 0.0


def _lines(items: Sequence[KeyItem], width: float) -> list[list[int]]:
    texts = [item.text for item in items]
    return wrap_px(texts, size=SMALL_PX, width=width, gap=_SYMBOL_PX + _GAP_PX)


def draw_key(figure: Plot, items: Sequence[KeyItem]) -> None:
    """Draw a key at the foot of the figure."""
    lines = _lines(items, figure.inner_px[0]) if items else []
    for row, places in enumerate(lines):
        x, y = 0.0, KEY_LINE_PX * (len(lines) - row) - KEY_LINE_PX / 2
        for place in places:
            item = items[place]
            if item.style:
                _draw_symbol(figure, item, x=x, y=y)
                x += _SYMBOL_PX
            note(figure, item.text, x=x, y=y)
            x += text_px(item.text, SMALL_PX) + _GAP_PX


def _draw_symbol(figure: Plot, item: KeyItem, *, x: float, y: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    place = pixels(figure)
    if item.box:
        figure.add_artist(Rectangle((x, y - 6), 18, 12, transform=place, **item.style))
        return
    marker = item.style.get("marker")
    only_marker = item.style.get("linestyle") == "none"
    xs = [x + 9] if only_marker and marker else [x, x + 18]
    figure.add_artist(Line2D(xs, [y] * len(xs), transform=place, **item.style))


def legend(axes: Axes, items: Sequence[KeyItem]) -> None:
    """Put the key on axes that somebody else laid out."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if not items:
        return
    handles = [
        Patch(label=item.text, **item.style)
        if item.box
        else Line2D([], [], label=item.text, **(item.style or {"linestyle": "none"}))
        for item in items
    ]
    made = axes.legend(handles=handles, frameon=False, loc="best")
    for text in made.get_texts():
        text.set_parse_math(False)


def spread(places: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Move labels as little as possible until they are `gap` apart and between `low` and `high`.

    The least squares answer: neighbours that would collide form a block, centred on its mean.
    """
    order = sorted(range(len(places)), key=lambda at: places[at])
    blocks: list[tuple[float, int]] = []
    for rank, at in enumerate(order):
        total, n = places[at] - rank * gap, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / n:
            before = blocks.pop()
            total, n = total + before[0], n + before[1]
        blocks.append((total, n))
    free = [total / n for total, n in blocks for _ in range(n)]
    top = max(high - (len(places) - 1) * gap, low)
    moved = [0.0] * len(places)
    for rank, at in enumerate(order):
        moved[at] = min(max(free[rank], low), top) + rank * gap
    return moved
