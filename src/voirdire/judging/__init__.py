"""Ask a judge about items: verdicts with probabilities, in memory or from file to file.

Nothing heavy is imported here: numpy and polars are imported when the first name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.answering import ajudge, judge, judge_items
    from voirdire.judging.calibration import (
        JudgeCalibration,
        QuestionCalibration,
        load_calibration,
    )
    from voirdire.judging.call_plan import show_prompt
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.judging.distilling import Distilled, distill_files
    from voirdire.judging.engine import LiveState
    from voirdire.judging.estimate import RunEstimate, estimate_run
    from voirdire.judging.file_run import (
        SeveralJudged,
        judge_file,
        judge_file_with_several,
    )
    from voirdire.judging.judges_file import load_judges
    from voirdire.judging.jury import JudgeLike, JuryJudge
    from voirdire.judging.local import (
        JudgeCard,
        LocalJudge,
        QuestionFigures,
        TrainingData,
        distill_judge,
        load_local_judge,
    )
    from voirdire.judging.model_settings import LlmJudge, ModelSettings
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
    "JudgingProgress",
    "JudgingSettings",
    "JudgingSummary",
    "JuryJudge",
    "LiveSettings",
    "LiveState",
    "LlmJudge",
    "LocalJudge",
    "ModelSettings",
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
    "load_judges",
    "load_local_judge",
    "price_of",
    "show_prompt",
]

_HOMES = {
    "AnswerSummary": "voirdire.records.replies",
    "CallProgress": "summary",
    "CallSummary": "voirdire.records.replies",
    "CascadeJudge": "cascade",
    "ClassSummary": "summary",
    "DistillSettings": "settings",
    "Distilled": "distilling",
    "Judge": "port",
    "JudgeCalibration": "calibration",
    "JudgeCard": "local",
    "JudgeLike": "jury",
    "JudgingProgress": "summary",
    "JudgingSettings": "settings",
    "JudgingSummary": "summary",
    "JuryJudge": "jury",
    "LiveSettings": "settings",
    "LiveState": "engine",
    "LlmJudge": "model_settings",
    "LocalJudge": "local",
    "ModelSettings": "model_settings",
    "Price": "pricing",
    "QuestionCalibration": "calibration",
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
    "load_calibration": "calibration",
    "load_judges": "judges_file",
    "load_local_judge": "local",
    "price_of": "pricing",
    "show_prompt": "call_plan",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
