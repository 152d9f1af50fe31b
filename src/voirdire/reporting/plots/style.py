"""Colours and sizes, and the CSS variables that stand for the colours on a page.

Every role has a colour of its own, so that `to_svg` can put the role's variable in the place
of the colour. The series are Okabe and Ito's [1]_ for readers who tell few colours apart, darkened
until they stand out from white, and lightened until they stand out from black.

References
----------
.. [1] M. Okabe and K. Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "DARK",
    "DRAWING",
    "FONT_CSS",
    "FONT_PX",
    "LIGHT",
    "SMALL_PX",
    "WIDTH_PX",
    "choose_outcome_colour",
    "choose_series_colour",
    "ignore_warnings",
    "theme_css",
    "use_settings",
]

_ROLES = {
    "ink": ("#1c2126", "#e7eaee"),
    "muted": ("#59636e", "#a3adb8"),
    "grid": ("#dde2e7", "#343c45"),
    "paper": ("#ffffff", "#14181d"),
    "series-1": ("#0072b2", "#56b4e9"),
    "series-2": ("#d55e00", "#ff8c42"),
    "series-3": ("#008f68", "#2fc79a"),
    "series-4": ("#b8528f", "#e394c4"),
    "series-5": ("#a87400", "#e6b322"),
    "series-6": ("#2f8fce", "#9ad4f5"),
    "series-7": ("#7353ba", "#b49cf0"),
    "series-8": ("#454d56", "#c5cdd6"),
    "pass": ("#00724d", "#4fd1a1"),
    "fail": ("#b3261e", "#ff8a80"),
    "unsure": ("#806000", "#e3c04d"),
    "region-1": ("#d8efe4", "#173b2e"),
    "region-2": ("#fbeecb", "#40361a"),
}
"""The colours of the roles on white: of pictures, and of pages in light; and on black: in dark."""

LIGHT = {role: colours[0] for role, colours in _ROLES.items()}
DARK = {role: colours[1] for role, colours in _ROLES.items()}

DRAWING = threading.RLock()
"""Held wherever matplotlib's settings or Python's filters of warnings are changed for a while.

Both belong to the whole process: threads that draw at the same time would leave each other's
settings behind.
"""

_N_SERIES = 8
_OUTCOMES = {"passed": "pass", "close": "unsure", "failed": "fail"}

WIDTH_PX = 600.0
"""Width of a figure for which none is given."""

FONT_PX = 14.0
SMALL_PX = 13.0

FONT_CSS = (
    "var(--font,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',"
    "'Liberation Sans','DejaVu Sans',sans-serif,'PingFang SC','Microsoft YaHei',"
    "'Noto Sans CJK SC','Source Han Sans SC','WenQuanYi Micro Hei')"
)
"""What browsers write a figure's text in: the page's `--font`, or a Latin font of the system, and
a Chinese one for the characters that it lacks."""

_OF_DRAWING = "axes errorbar figure font grid hatch image lines markers patch path text xtick ytick"
"""Groups of settings that a user's style does not change in these figures."""

_STYLE = {
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": "white",
    "font.size": SMALL_PX,
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 1,
    "hatch.color": LIGHT["muted"],
    "hatch.linewidth": 0.8,
    "lines.color": LIGHT["series-1"],
    "lines.linewidth": 2,
    "lines.solid_capstyle": "butt",
    "patch.linewidth": 0,
    "text.color": LIGHT["ink"],
    "text.parse_math": False,
    "xtick.labelcolor": LIGHT["muted"],
    "ytick.labelcolor": LIGHT["muted"],
} | {f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")}
"""How every figure looks; a name in a figure is never read as a formula."""


def choose_series_colour(number: int) -> str:
    """Return the colour of a series, counted from 0."""
    return LIGHT[f"series-{number % _N_SERIES + 1}"]


def choose_outcome_colour(outcome: str) -> str:
    """Return green for passed, amber for passed but close, red for failed, grey for the others."""
    return LIGHT[_OUTCOMES.get(outcome, "muted")]


@contextmanager
def use_settings(changed: dict[str, Any] | None = None) -> Iterator[None]:
    """Draw in voirdire's style, one thread at a time, without the user's style.

    With `changed`, only those settings differ from the user's.
    """
    import matplotlib as mpl

    with DRAWING, mpl.rc_context(_list_settings() if changed is None else changed):  # type: ignore[arg-type]
        yield


def _list_settings() -> dict[str, Any]:
    """List matplotlib's defaults with voirdire's style on top; the caller holds the lock."""
    import matplotlib as mpl

    names, usual = _OF_DRAWING.split(), mpl.rcParamsDefault.items()
    return {key: value for key, value in usual if key.partition(".")[0] in names} | _STYLE


@contextmanager
def ignore_warnings(*messages: str) -> Iterator[None]:
    """Ignore warnings that begin with these messages, one thread at a time."""
    with DRAWING, warnings.catch_warnings():
        for message in messages:
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        yield


def theme_css() -> str:
    """Write the variables of the figures as CSS, for light, dark and paper.

    Returns
    -------
    str
        Rules that set ``--ink``, ``--muted``, ``--grid``, ``--paper``, ``--series-1`` to
        ``--series-8``, ``--pass``, ``--fail``, ``--unsure``, ``--region-1`` and
        ``--region-2`` on ``:root``. A page that sets them itself needs none of this.

    Examples
    --------
    >>> from voirdire.reporting.plots import theme_css
    >>> theme_css()[:20]
    ':root{--ink:#1c2126;'
    """
    light, dark = _write_rule(LIGHT), _write_rule(DARK)
    return f"{light}\n@media (prefers-color-scheme: dark){{{dark}}}\n@media print{{{light}}}\n"


def _write_rule(colours: dict[str, str]) -> str:
    return ":root{" + "".join(f"--{role}:{colour};" for role, colour in colours.items()) + "}"
