"""Ask a judge about items: verdicts with probabilities, in memory or from file to file.

Nothing heavy is imported here: numpy and polars are imported when the first name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.answering import ajudge, judge, judge_items
    from voirdire.judging.call_plan import show_prompt
    from voirdire.judging.distilling import Distilled, distill_files
    from voirdire.judging.engine import LiveState
    from voirdire.judging.estimate import RunEstimate, estimate_run
    from voirdire.judging.file_run import (
        SeveralJudged,
        judge_file,
        judge_file_with_several,
    )
    from voirdire.judging.judges.calibration import (
        JudgeCalibration,
        QuestionCalibration,
        load_calibration,
    )
    from voirdire.judging.judges.cascade import CascadeJudge
    from voirdire.judging.judges.cascade_jury_files import load_cascade, load_jury
    from voirdire.judging.judges.judges_file import JudgeSpec, load_judges, load_llm_judges
    from voirdire.judging.judges.jury import JudgeLike, JuryJudge
    from voirdire.judging.judges.llm_judge import Asking, LlmJudge, load_llm_judge
    from voirdire.judging.limits import Limits
    from voirdire.judging.local import (
        JudgeCard,
        LocalJudge,
        QuestionFigures,
        TrainingData,
        distill_judge,
        load_local_judge,
    )
    from voirdire.judging.port import Judge, ScriptedJudge
    from voirdire.judging.pricing import Price, price_of
    from voirdire.judging.replies import ReplyListing, StoredReply, list_replies
    from voirdire.judging.settings import DistillSettings, JudgingSettings, LiveSettings
    from voirdire.judging.summary import (
        CallProgress,
        ClassSummary,
        JudgingProgress,
        JudgingSummary,
        QuestionSummary,
    )
    from voirdire.records.replies import AnswerSummary, CallSummary

__all__ = [
    "AnswerSummary",
    "Asking",
    "CallProgress",
    "CallSummary",
    "CascadeJudge",
    "ClassSummary",
    "DistillSettings",
    "Distilled",
    "Judge",
    "JudgeCalibration",
    "JudgeCard",
    "JudgeLike",
    "JudgeSpec",
    "JudgingProgress",
    "JudgingSettings",
    "JudgingSummary",
    "JuryJudge",
    "Limits",
    "LiveSettings",
    "LiveState",
    "LlmJudge",
    "LocalJudge",
    "Price",
    "QuestionCalibration",
    "QuestionFigures",
    "QuestionSummary",
    "ReplyListing",
    "RunEstimate",
    "ScriptedJudge",
    "SeveralJudged",
    "StoredReply",
    "TrainingData",
    "ajudge",
    "distill_files",
    "distill_judge",
    "estimate_run",
    "judge",
    "judge_file",
    "judge_file_with_several",
    "judge_items",
    "list_replies",
    "load_calibration",
    "load_cascade",
    "load_judges",
    "load_jury",
    "load_llm_judge",
    "load_llm_judges",
    "load_local_judge",
    "price_of",
    "show_prompt",
]

_HOMES = {
    "AnswerSummary": "voirdire.records.replies",
    "Asking": "judges.llm_judge",
    "CallProgress": "summary",
    "CallSummary": "voirdire.records.replies",
    "CascadeJudge": "judges.cascade",
    "ClassSummary": "summary",
    "DistillSettings": "settings",
    "Distilled": "distilling",
    "Judge": "port",
    "JudgeCalibration": "judges.calibration",
    "JudgeCard": "local",
    "JudgeLike": "judges.jury",
    "JudgeSpec": "judges.judges_file",
    "JudgingProgress": "summary",
    "JudgingSettings": "settings",
    "JudgingSummary": "summary",
    "JuryJudge": "judges.jury",
    "Limits": "limits",
    "LiveSettings": "settings",
    "LiveState": "engine",
    "LlmJudge": "judges.llm_judge",
    "LocalJudge": "local",
    "Price": "pricing",
    "QuestionCalibration": "judges.calibration",
    "QuestionFigures": "local",
    "QuestionSummary": "summary",
    "ReplyListing": "replies",
    "RunEstimate": "estimate",
    "ScriptedJudge": "port",
    "SeveralJudged": "file_run",
    "StoredReply": "replies",
    "TrainingData": "local",
    "ajudge": "answering",
    "distill_files": "distilling",
    "distill_judge": "local",
    "estimate_run": "estimate",
    "judge": "answering",
    "judge_file": "file_run",
    "judge_file_with_several": "file_run",
    "judge_items": "answering",
    "list_replies": "replies",
    "load_calibration": "judges.calibration",
    "load_cascade": "judges.cascade_jury_files",
    "load_judges": "judges.judges_file",
    "load_jury": "judges.cascade_jury_files",
    "load_llm_judge": "judges.llm_judge",
    "load_llm_judges": "judges.judges_file",
    "load_local_judge": "local",
    "price_of": "pricing",
    "show_prompt": "call_plan",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
