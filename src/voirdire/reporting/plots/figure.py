"""The figure that `plot` returns: it shows itself in notebooks, and finds fonts for its texts.

This module loads matplotlib; others import it where they draw.
"""

from __future__ import annotations

import io
import logging
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text

from voirdire.reporting.plots.style import DRAWING, ignore_warnings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["MISSING_GLYPH", "PAD_PX", "Plot"]

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
MISSING_GLYPH = "Glyph .* missing from"


class Plot(Figure):
    """A matplotlib figure that needs no pyplot to be seen.

    Attributes
    ----------
    alt : str
        What the figure shows, in a sentence.
    inner_px : tuple of float
        Width and height without the margin of `PAD_PX`, which a page does not need.
    heading : list of Text
        The lines above it.
    heading_px : float
        Height of those lines; a page with headings of its own cuts them off.
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
        self.heading: list[Text] = []
        self.heading_px = 0.0
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
            with ignore_warnings(MISSING_GLYPH):
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
            found = {letter for letter in missing if ord(letter) in _list_characters(family)}
            families += [family] * bool(found)
            missing -= found
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
    known = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in families if family in known]
