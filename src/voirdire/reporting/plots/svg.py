"""A figure as inline SVG that takes its colours and its font from the page around it."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.style import FONT_CSS, LIGHT, ignore_warnings, use_settings

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from matplotlib.figure import Figure

__all__ = ["to_svg"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_VARIABLES = {colour: f"var(--{role})" for role, colour in LIGHT.items()}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_URL = re.compile(r"url\(#([^)]+)\)")
_LONG_NUMBER = re.compile(r"(?<![#\w])-?\d+\.\d{3,}")
_GEOMETRY = ("d", "x", "y", "transform", "width", "height")
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "voirdire",
    "svg.id": None,
    "savefig.bbox": None,
    "path.simplify": False,
}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def to_svg(figure: Figure, *, name: str, heading: bool = True) -> str:
    """Write a figure as an ``<svg>`` element for the middle of an HTML page.

    Colours become CSS variables (see `theme_css`), text stays text in the page's font, and ids
    begin with `name`, so that several figures share a page. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        As `plot` makes it. Colours that are not of its palette stay as they are.
    name : str
        Letters, digits, ``-`` and ``_``, beginning with a letter; one per page.
    heading : bool, optional
        Whether to keep the line above the figure.

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
    import xml.etree.ElementTree as ET

    if not _NAME.fullmatch(str(name)):
        msg = (
            "`name` must be letters, digits, - and _ beginning with a letter, "
            f"got {shorten(name)!r}."
        )
        raise InputError(msg)
    root = ET.fromstring(_draw_figure(figure, heading=heading))  # noqa: S314  # our own
    _drop_foreign_parts(root)
    for element in root.iter():
        _adapt_element(element, name)
    _number_ids(root)
    _set_size(root, figure, heading=heading)
    text = ET.tostring(root, encoding="unicode")
    return text.replace("<svg", f'<svg xmlns="{_SVG}"', 1)


def _draw_figure(figure: Figure, *, heading: bool) -> str:
    from voirdire.reporting.plots.figure import MISSING_GLYPH

    titles = getattr(figure, "heading", [])
    buffer = io.StringIO()
    with use_settings(_SETTINGS), ignore_warnings(MISSING_GLYPH):  # the browser has the fonts
        try:
            figure.drawn_by_browser = True  # type: ignore[attr-defined]
            for title in titles:
                title.set_visible(heading)
            figure.savefig(buffer, format="svg", facecolor="none", metadata=_NO_METADATA)
        finally:
            figure.drawn_by_browser = False  # type: ignore[attr-defined]
            for title in titles:
                title.set_visible(True)
    return buffer.getvalue()


def _drop_foreign_parts(root: Element) -> None:
    """Drop metadata, and the style sheet that would reach everything else on the page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{_SVG}}}defs" and len(child) == 0:
                parent.remove(child)


def _adapt_element(element: Element, name: str) -> None:
    """Give one element ids of this figure, variables for colours, and short numbers."""
    own_url = rf"url(#{name}-\1)"
    element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    element.tail = None  # line breaks between elements
    if element.text and element.text.isspace():
        element.text = None
    if "id" in element.attrib:
        element.set("id", f"{name}-{element.attrib['id']}")
    link = element.attrib.pop(_XLINK, None)
    if link is not None:
        link = "".join(link.split()) if link.startswith("data:") else f"#{name}-{link[1:]}"
        element.set("href", link)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for key, value in list(element.attrib.items()):
        if key == "style":
            element.set(
                key, _URL.sub(own_url, _rewrite_style(value, is_text=element.tag == "text"))
            )
        elif key == "clip-path":
            element.set(key, _URL.sub(own_url, value))
        elif key in _GEOMETRY:
            element.set(key, _LONG_NUMBER.sub(_round_number, " ".join(value.split())))


def _number_ids(root: Element) -> None:
    """Add numbers to ids that several panels share; nothing refers to these."""
    seen: dict[str, int] = {}
    for element in root.iter():
        name = element.get("id")
        if name is not None:
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                element.set("id", f"{name}-{seen[name]}")


def _rewrite_style(style: str, *, is_text: bool) -> str:
    """Replace colours by variables, and leave the font family to the page."""
    rules = [rule.strip() for rule in style.split(";")]
    if is_text:
        rules = [rule for rule in rules if not rule.startswith("font-family")]
        if not any(rule.startswith("fill:") for rule in rules):
            rules.append("fill: #000000")
    rules = [_COLOUR.sub(_replace_colour, rule) for rule in rules if rule]
    return ";".join(rule.replace(": ", ":", 1) for rule in rules)


def _replace_colour(match: re.Match[str]) -> str:
    colour = match.group()
    return "var(--ink)" if colour == "#000000" else _VARIABLES.get(colour, colour)


def _round_number(match: re.Match[str]) -> str:
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")


def _set_size(root: Element, figure: Figure, *, heading: bool) -> None:
    """Size the element: as wide as its place, up to its own width."""
    from voirdire.reporting.plots.figure import PAD_PX, Plot

    width, height = (float(size) * 72 for size in figure.get_size_inches())
    left = top = 0.0
    if isinstance(figure, Plot):
        left = top = PAD_PX
        width, height = figure.inner_px
    if not heading:
        top += float(getattr(figure, "heading_px", 0.0))
        height -= float(getattr(figure, "heading_px", 0.0))
    min_width = getattr(figure, "min_width_px", None)
    narrow = "" if min_width is None else f"min-width:{min_width:.0f}px;"
    attributes = {
        "role": "img",
        "aria-label": str(getattr(figure, "alt", "")),
        "viewBox": f"{left:g} {top:g} {width:g} {height:g}",
        "width": f"{width:g}",
        "height": f"{height:g}",
        "style": (
            f"width:100%;max-width:{width:.0f}px;{narrow}height:auto;font-family:{FONT_CSS};"
            "overflow:visible;stroke-linejoin:round;stroke-linecap:butt"
        ),
    }
    root.attrib.clear()
    root.attrib.update(attributes)
