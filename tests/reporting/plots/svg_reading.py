"""What a reader of a figure sees: its texts and where they stand, and the colours of a page."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations

from matplotlib.textpath import TextPath

from voirdire.reporting import theme_css

SVG = "{http://www.w3.org/2000/svg}"
KINDS = ("advantage", "scatter", "winning_rate")
"""The figures of an examination."""


def _theme(css):
    return dict(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})", css))


_LIGHT, _DARK = theme_css().split("prefers-color-scheme: dark")[:2]
LIGHT, DARK = _theme(_LIGHT), _theme(_DARK.partition("@media print")[0])
"""The colours of each role."""


def texts_of(svg):
    """List the texts of a figure."""
    return [element.text for element in ET.fromstring(svg).iter(f"{SVG}text")]


def cut_texts(svg):
    """List the texts that reach beyond the figure's edges."""
    left, top, width, height = map(float, ET.fromstring(svg).get("viewBox").split())
    return [
        text
        for text, (x0, y0, x1, y1) in boxes_of(svg)
        if x0 < left - 1 or x1 > left + width + 1 or y0 < top - 1 or y1 > top + height + 1
    ]


def covered_texts(svg):
    """List the pairs of texts that cover each other."""
    return [
        (one, other)
        for (one, box), (other, more) in combinations(boxes_of(svg), 2)
        if min(box[2], more[2]) - max(box[0], more[0]) > 1
        and min(box[3], more[3]) - max(box[1], more[1]) > 1
    ]


def boxes_of(svg):
    """List every text with the ends of its box: from the cap line to the base line."""
    root = ET.fromstring(svg)
    texts = [each for each in root.iter(f"{SVG}text") if (each.text or "").strip()]
    return [(each.text, _box(each)) for each in texts]


def _box(element):
    style = element.get("style")
    size = float(re.search(r"font-size:([\d.]+)px", style)[1])
    long, high = _width(element.text, size), 0.75 * size
    anchor = re.search(r"text-anchor:(\w+)", style)
    before = {"end": 1.0, "middle": 0.5}.get(anchor and anchor[1], 0.0) * long
    x, y = (float(element.get(name)) for name in ("x", "y"))
    if "rotate(-90" in element.get("transform", ""):
        return x - high, y + before - long, x, y + before
    return x - before, y - high, x - before + long, y


def _width(text, size):
    """Measure as DejaVu Sans, about the widest font of a browser; what it lacks is square."""
    drawn = "".join(letter for letter in text if ord(letter) < 0x2E80)
    wide = (len(text) - len(drawn)) * size
    return wide + (TextPath((0, 0), drawn, size=size).get_extents().width if drawn.strip() else 0)
