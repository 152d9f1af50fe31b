"""The figure that `plot` returns: it shows itself in notebooks, finds fonts, and becomes SVG.

In a page its colours and its font come from the page. This module loads matplotlib.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.style import (
    DRAWING,
    FONT_CSS,
    LIGHT,
    ignore_warnings,
    use_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["PAD_PX", "Plot", "to_svg"]

_log = logging.getLogger("voirdire")

PAD_PX = 12.0
_DPI = 144
"""Two dots a pixel: sharp on today's screens."""

_FALLBACKS = (
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "Noto Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Segoe UI Symbol",
)
_MISSING_GLYPH = "Glyph .* missing from"


class Plot(Figure):
    """A matplotlib figure that needs no pyplot to be seen.

    Attributes
    ----------
    alt : str
        What the figure shows, in a sentence.
    inner_px : tuple of float
        Width and height without the margin of `PAD_PX`, which a page does not need.
    min_width_px : float or None
        Width below which a page should let readers scroll rather than make the figure smaller.
    drawn_by_browser : bool
        Whether the fonts of a browser will write the text; then none is looked for here.
    """

    def __init__(self, *, width: float, height: float, alt: str) -> None:
        size = ((width + 2 * PAD_PX) / 72, (height + 2 * PAD_PX) / 72)
        super().__init__(figsize=size, dpi=_DPI, facecolor="white")
        self.inner_px = (width, height)
        self.alt = alt
        self.min_width_px: float | None = None
        self.drawn_by_browser = False
        self._has_warned = False

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Save without the settings of a page that another thread is drawing."""
        with DRAWING:
            super().savefig(*args, **kwargs)

    def draw(self, renderer: Any) -> None:
        """Draw with fonts that have the characters; the log names characters without a font."""
        with self._use_fonts():
            super().draw(renderer)

    def get_tightbbox(self, *args: Any, **kwargs: Any) -> Any:
        """Measure with the same fonts."""
        with self._use_fonts():
            return super().get_tightbbox(*args, **kwargs)

    @contextmanager
    def _use_fonts(self) -> Iterator[None]:
        """Set fonts that have the characters of each text, and restore the fonts afterwards."""
        texts = [] if self.drawn_by_browser else self.findobj(Text)
        before: list[Any] = []
        for text in texts:
            families = self._find_families(text.get_text())
            if families:
                before.append((text, text.get_fontfamily(), text.get_fontweight()))
                text.set_fontfamily([*text.get_fontfamily(), *families])
                if not any(map(_has_bold, families)):
                    text.set_fontweight("normal")
        try:
            with ignore_warnings(_MISSING_GLYPH):
                yield
        finally:
            for text, families, weight in before:
                text.set_fontfamily(families)
                text.set_fontweight(weight)

    def _find_families(self, text: str) -> list[str]:
        """List the installed families that a text needs; log once which characters none has."""
        if text.isascii():
            return []
        missing = {letter for letter in text if letter.isprintable()}
        missing = {
            letter for letter in missing if ord(letter) not in _list_characters("DejaVu Sans")
        }
        families = []
        for family in _list_installed(_FALLBACKS) if missing else ():
            characters = {letter for letter in missing if ord(letter) in _list_characters(family)}
            families += [family] * bool(characters)
            missing -= characters
        if missing and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "No font on this machine has the characters %r: they are drawn as boxes. "
                "Install one that has, such as Noto Sans CJK.",
                "".join(sorted(missing)[:10]),
            )
        return families

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Show the figure in a notebook, with or without its inline backend."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=_DPI, bbox_inches=None)
        width, height = self.get_size_inches() * 72
        return buffer.getvalue(), {"width": round(width), "height": round(height)}


@cache
def _list_characters(family: str) -> frozenset[int]:
    path = font_manager.findfont(family, fallback_to_default=False)
    return frozenset(font_manager.get_font(path).get_charmap())


@cache
def _has_bold(family: str) -> bool:
    fonts = [font for font in font_manager.fontManager.ttflist if font.name == family]
    return any(str(font.weight) in ("600", "700", "800", "bold") for font in fonts)


def _list_installed(families: Iterable[str]) -> list[str]:
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in families if family in installed]


# As SVG ---------------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_VARIABLES = {colour: f"var(--{role})" for role, colour in LIGHT.items()} | {
    "#000000": "var(--ink)"
}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_LONG_NUMBER = re.compile(r"(?<![#\w])-?\d+\.\d{3,}")
_GEOMETRY = ("d", "x", "y", "transform", "width", "height")
_TAG = re.compile(r"<(\w+)([^>]*?)(/?)>")
_ATTRIBUTE = re.compile(r' ([\w:-]+)="([^"]*)"')
_FOREIGN = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>|<style[^>]*>.*?</style>", re.DOTALL)
"""What a page does not need, and the style sheet that would reach everything else on it."""
_EMPTY = re.compile(r"(?<=>)\s+(?=<)|<defs>\s*</defs>")
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "voirdire",
    "svg.id": None,
    "savefig.bbox": None,
    "path.simplify": False,
}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def to_svg(figure: Figure, *, name: str) -> str:
    """Write a figure as an ``<svg>`` element for the middle of an HTML page.

    Colours become CSS variables (see `theme_css`), text stays text in the page's font, and ids
    begin with `name`, so that several figures share a page. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        As `plot` makes it. Colours that are not of its palette stay as they are.
    name : str
        Letters, digits, ``-`` and ``_``, beginning with a letter; one per page.

    Returns
    -------
    str
        One element, without prolog, script or reference to anything outside.

    Raises
    ------
    InputError
        If `name` is no such name.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.reporting import plot, to_svg
    >>> humans = {name: {item: item % 2 for item in range(40)} for name in ("ann", "bob", "eve")}
    >>> result = voirdire.alt_test({item: item % 2 for item in range(40)}, humans)
    >>> to_svg(plot(result), name="advantage")[:27]
    '<svg xmlns="http://www.w3.o'
    """
    if not _NAME.fullmatch(str(name)):
        msg = (
            "`name` must be letters, digits, - and _ beginning with a letter, "
            f"got {shorten(name)!r}."
        )
        raise InputError(msg)
    svg = _draw_figure(figure)
    svg = svg[svg.index("<svg") :].partition(">")[2]
    svg = _EMPTY.sub("", _EMPTY.sub("", _FOREIGN.sub("", svg)))
    counts: Counter[str] = Counter()

    def adapt_tag(match: re.Match[str]) -> str:
        tag, attributes, end = match.groups()
        pairs = (
            _adapt_attribute(tag, *pair, name=name, counts=counts)
            for pair in _ATTRIBUTE.findall(attributes)
        )
        return f"<{tag}{''.join(pairs)}{end}>"

    return _open_element(figure) + _TAG.sub(adapt_tag, svg).rstrip()


def _draw_figure(figure: Figure) -> str:
    buffer = io.StringIO()
    with use_settings(_SETTINGS), ignore_warnings(_MISSING_GLYPH):  # the browser has the fonts
        try:
            figure.drawn_by_browser = True  # type: ignore[attr-defined]
            figure.savefig(buffer, format="svg", facecolor="none", metadata=_NO_METADATA)
        finally:
            figure.drawn_by_browser = False  # type: ignore[attr-defined]
    return buffer.getvalue()


def _adapt_attribute(tag: str, key: str, value: str, *, name: str, counts: Counter[str]) -> str:
    """Give an element ids of this figure, variables for colours, and short numbers."""
    own_url = f"url(#{name}-"
    if key == "id":  # panels share ids to which nothing refers
        value = f"{name}-{value}"
        counts[value] += 1
        value += f"-{counts[value]}" * (counts[value] > 1)
    elif key == "xlink:href":
        key = "href"
        value = "".join(value.split()) if value.startswith("data:") else f"#{name}-{value[1:]}"
    elif key == "style":
        value = _rewrite_style(value, is_text=tag == "text").replace("url(#", own_url)
    elif key == "clip-path":
        value = value.replace("url(#", own_url)
    elif key in _GEOMETRY:
        if value.startswith("rotate(-0 "):
            return ""
        value = _LONG_NUMBER.sub(_round_number, " ".join(value.split()))
    return f' {key}="{value}"'


def _rewrite_style(style: str, *, is_text: bool) -> str:
    """Replace colours by variables, and leave the font family to the page."""
    rules = [rule.strip() for rule in style.split(";")]
    if is_text:
        rules = [rule for rule in rules if not rule.startswith("font-family")]
        if not any(rule.startswith("fill:") for rule in rules):
            rules.append("fill: #000000")
    return ";".join(
        _COLOUR.sub(lambda match: _VARIABLES.get(match[0], match[0]), rule).replace(": ", ":", 1)
        for rule in rules
        if rule
    )


def _round_number(match: re.Match[str]) -> str:
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")


def _open_element(figure: Figure) -> str:
    """Begin the element: as wide as its place, up to its own width."""
    width, height = (float(size) * 72 for size in figure.get_size_inches())
    left = top = 0.0
    if isinstance(figure, Plot):
        left = top = PAD_PX
        width, height = figure.inner_px
    min_width = getattr(figure, "min_width_px", None)
    narrow = "" if min_width is None else f"min-width:{min_width:.0f}px;"
    label = quoteattr(str(getattr(figure, "alt", "")), {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={label} '
        f'viewBox="{left:g} {top:g} {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" '
        f'style="width:100%;max-width:{width:.0f}px;{narrow}height:auto;font-family:{FONT_CSS};'
        'overflow:visible;stroke-linejoin:round;stroke-linecap:butt">'
    )
