from voirdire.reporting.as_json import certificate_to_json as certificate_to_json
from voirdire.reporting.as_json import examination_as_dict as examination_as_dict
from voirdire.reporting.as_json import examination_from_json as examination_from_json
from voirdire.reporting.as_json import examination_to_json as examination_to_json
from voirdire.reporting.as_json import power_to_json as power_to_json
from voirdire.reporting.pages.examination import html_report as html_report
from voirdire.reporting.pages.results import results_report as results_report
from voirdire.reporting.pages.reward import reward_chapter as reward_chapter
from voirdire.reporting.pages.reward import reward_report as reward_report
from voirdire.reporting.pages.training import training_report as training_report
from voirdire.reporting.plots.figure import to_svg as to_svg
from voirdire.reporting.plots.kinds import draw_svg as draw_svg
from voirdire.reporting.plots.kinds import plot as plot
from voirdire.reporting.plots.style import theme_css as theme_css
from voirdire.reporting.result_tables import ResultTables as ResultTables
from voirdire.reporting.reward_json import reward_examination_as_dict as reward_examination_as_dict
from voirdire.reporting.reward_json import (
    reward_examination_from_json as reward_examination_from_json,
)
from voirdire.reporting.reward_json import reward_examination_to_json as reward_examination_to_json
from voirdire.reporting.reward_json import reward_fit_to_json as reward_fit_to_json
from voirdire.reporting.reward_tables import RewardExaminationTables as RewardExaminationTables
from voirdire.reporting.reward_tables import RewardFitTables as RewardFitTables
from voirdire.reporting.rubric_tables import RubricList as RubricList
from voirdire.reporting.terminal import ExaminationTables as ExaminationTables
from voirdire.reporting.training_tables import training_summary as training_summary
