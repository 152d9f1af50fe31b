"""Results as text, tables, plots, JSON, and one HTML page.

Everything is loaded when it is first used: a table needs no plotting library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.reporting.as_json import (
        certificate_to_json,
        examination_as_dict,
        examination_to_json,
    )
    from voirdire.reporting.page import html_report
    from voirdire.reporting.plots import plot
    from voirdire.reporting.power_json import power_to_json
    from voirdire.reporting.power_tables import PowerTables
    from voirdire.reporting.terminal import ExaminationTables

__all__ = [
    "ExaminationTables",
    "PowerTables",
    "certificate_to_json",
    "examination_as_dict",
    "examination_to_json",
    "html_report",
    "plot",
    "power_to_json",
]

_HOME = {
    "ExaminationTables": "terminal",
    "PowerTables": "power_tables",
    "certificate_to_json": "as_json",
    "examination_as_dict": "as_json",
    "examination_to_json": "as_json",
    "html_report": "page",
    "plot": "plots",
    "power_to_json": "power_json",
}

__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
