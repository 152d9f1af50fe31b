"""Ask a judge about items: verdicts with probabilities, in memory or from file to file.

Nothing heavy is imported here: numpy and polars arrive with the first name that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.answering import judge_items
    from voirdire.judging.batch import BehaviorClasses, VerdictBatch
    from voirdire.judging.distilling import Distilled, distill_files
    from voirdire.judging.file_judging import JudgingProgress, judge_file
    from voirdire.judging.labelled_items import LeftOut
    from voirdire.judging.local import (
        JudgeCard,
        LocalJudge,
        QuestionFigures,
        TrainingData,
        distill_judge,
        load_local_judge,
    )
    from voirdire.judging.port import Judge
    from voirdire.judging.scripted import ScriptedJudge
    from voirdire.judging.summary import ClassSummary, JudgingSummary, QuestionSummary
    from voirdire.judging.table import VerdictLayout
    from voirdire.judging.verdicts import Verdicts, judge
    from voirdire.judging.work_folder import kept_items

__all__ = [
    "BehaviorClasses",
    "ClassSummary",
    "Distilled",
    "Judge",
    "JudgeCard",
    "JudgingProgress",
    "JudgingSummary",
    "LeftOut",
    "LocalJudge",
    "QuestionFigures",
    "QuestionSummary",
    "ScriptedJudge",
    "TrainingData",
    "VerdictBatch",
    "VerdictLayout",
    "Verdicts",
    "distill_files",
    "distill_judge",
    "judge",
    "judge_file",
    "judge_items",
    "kept_items",
    "load_local_judge",
]

_HOMES = {
    "BehaviorClasses": "batch",
    "ClassSummary": "summary",
    "Distilled": "distilling",
    "Judge": "port",
    "JudgeCard": "local",
    "JudgingProgress": "file_judging",
    "JudgingSummary": "summary",
    "LeftOut": "labelled_items",
    "LocalJudge": "local",
    "QuestionFigures": "local",
    "QuestionSummary": "summary",
    "ScriptedJudge": "scripted",
    "TrainingData": "local",
    "VerdictBatch": "batch",
    "VerdictLayout": "table",
    "Verdicts": "verdicts",
    "distill_files": "distilling",
    "distill_judge": "local",
    "judge": "verdicts",
    "judge_file": "file_judging",
    "judge_items": "answering",
    "kept_items": "work_folder",
    "load_local_judge": "local",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
