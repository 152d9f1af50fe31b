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
        examination_from_json,
        examination_to_json,
        power_to_json,
    )
    from voirdire.reporting.pages.examination import html_report
    from voirdire.reporting.pages.results import results_report
    from voirdire.reporting.pages.reward import reward_chapter, reward_report
    from voirdire.reporting.pages.training import training_report
    from voirdire.reporting.plots.figure import to_svg
    from voirdire.reporting.plots.kinds import draw_svg, plot
    from voirdire.reporting.plots.style import theme_css
    from voirdire.reporting.result_tables import ResultTables
    from voirdire.reporting.reward_json import (
        reward_examination_as_dict,
        reward_examination_from_json,
        reward_examination_to_json,
        reward_fit_to_json,
    )
    from voirdire.reporting.reward_tables import RewardExaminationTables, RewardFitTables
    from voirdire.reporting.rubric_tables import RubricList
    from voirdire.reporting.terminal import ExaminationTables
    from voirdire.reporting.training_tables import training_summary

__all__ = [
    "ExaminationTables",
    "ResultTables",
    "RewardExaminationTables",
    "RewardFitTables",
    "RubricList",
    "certificate_to_json",
    "draw_svg",
    "examination_as_dict",
    "examination_from_json",
    "examination_to_json",
    "html_report",
    "plot",
    "power_to_json",
    "results_report",
    "reward_chapter",
    "reward_examination_as_dict",
    "reward_examination_from_json",
    "reward_examination_to_json",
    "reward_fit_to_json",
    "reward_report",
    "theme_css",
    "to_svg",
    "training_report",
    "training_summary",
]

_HOME = {
    "ExaminationTables": "terminal",
    "RewardExaminationTables": "reward_tables",
    "ResultTables": "result_tables",
    "RewardFitTables": "reward_tables",
    "RubricList": "rubric_tables",
    "certificate_to_json": "as_json",
    "draw_svg": "plots",
    "examination_as_dict": "as_json",
    "examination_from_json": "as_json",
    "examination_to_json": "as_json",
    "html_report": "pages.examination",
    "plot": "plots",
    "power_to_json": "as_json",
    "results_report": "pages.results",
    "reward_chapter": "pages.reward",
    "reward_examination_as_dict": "reward_json",
    "reward_examination_from_json": "reward_json",
    "reward_examination_to_json": "reward_json",
    "reward_fit_to_json": "reward_json",
    "reward_report": "pages.reward",
    "theme_css": "plots",
    "to_svg": "plots",
    "training_report": "pages.training",
    "training_summary": "training_tables",
}

__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
