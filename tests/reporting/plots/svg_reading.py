"""What a reader of a figure sees: its texts and where they stand, and the colours of a page."""

import math
import re
import xml.etree.ElementTree as ET

from matplotlib.textpath import TextPath

from voirdire.reporting import theme_css

SVG = "{http://www.w3.org/2000/svg}"
KINDS = (
    "advantage", "agreement", "ceiling", "confusion", "controls", "scatter", "slices",
    "winning_rate",
)  # fmt: skip
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
    """List the texts that reach beyond the figure's left or right edge."""
    root = ET.fromstring(svg)
    left, _, width, _ = map(float, root.get("viewBox").split())
    return [
        element.text
        for element in root.iter(f"{SVG}text")
        for start, end in (_extent(element),)
        if start < left - 1 or end > left + width + 1
    ]


def _extent(element):
    style = element.get("style")
    size = float(re.search(r"font-size:([\d.]+)px", style)[1])
    slant = math.radians(45 if "rotate(-45" in element.get("transform", "") else 0)
    long = _width(element.text, size) * math.cos(slant)
    anchor = re.search(r"text-anchor:(\w+)", style)
    share = {"end": 1.0, "middle": 0.5}.get(anchor and anchor[1], 0.0)
    start = float(element.get("x")) - share * long
    return start, start + long


def _width(text, size):
    """Measure as DejaVu Sans, about the widest font of a browser; what it lacks is square."""
    drawn = "".join(letter for letter in text if ord(letter) < 0x2E80)
    wide = (len(text) - len(drawn)) * size
    return wide + (TextPath((0, 0), drawn, size=size).get_extents().width if drawn.strip() else 0)
