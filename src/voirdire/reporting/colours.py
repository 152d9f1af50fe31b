"""The colours of pages and pictures, by what they stand for.

The series are Okabe and Ito's [1]_ for readers who tell few colours apart, darkened until they
stand out from white, and lightened until they stand out from black.

References
----------
.. [1] M. Okabe and K. Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

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

LIGHT = {role: light for role, (light, _) in _ROLES.items()}


def theme_css() -> str:
    """Write the colours as CSS variables, such as ``--ink``, for light, dark and paper."""
    light, dark = (
        ":root{" + "".join(f"--{role}:{both[place]};" for role, both in _ROLES.items()) + "}"
        for place in (0, 1)
    )
    return f"{light}\n@media (prefers-color-scheme: dark){{{dark}}}\n@media print{{{light}}}\n"
