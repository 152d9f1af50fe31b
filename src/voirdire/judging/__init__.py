"""Ask a judge about items: verdicts with probabilities, in memory or from file to file.

Nothing heavy is imported here: numpy and polars arrive with the first name that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.answering import judge, judge_items
    from voirdire.judging.call_summary import (
        AnswerSummary,
        CallProgress,
        CallSummary,
        JudgingProgress,
    )
    from voirdire.judging.calls.limits import Limits
    from voirdire.judging.cascade import CascadeJudge, cascade_table, load_cascade
    from voirdire.judging.distilling import Distilled, distill_files
    from voirdire.judging.file_judging import judge_file
    from voirdire.judging.labelled_items import LeftOut
    from voirdire.judging.live.answers import LiveState
    from voirdire.judging.live.settings import LiveSettings
    from voirdire.judging.llm import LlmJudge
    from voirdire.judging.llm.asking import Asking, load_llm_judge
    from voirdire.judging.llm.estimate import RunEstimate, estimate_run
    from voirdire.judging.llm.judges_file import JudgeSpec, load_judges
    from voirdire.judging.llm.pricing import Price, price_of
    from voirdire.judging.llm.several import SeveralJudged, judge_file_with_several, load_llm_judges
    from voirdire.judging.llm.shown_prompt import show_prompt
    from voirdire.judging.local import (
        JudgeCard,
        LocalJudge,
        QuestionFigures,
        TrainingData,
        distill_judge,
        load_local_judge,
    )
    from voirdire.judging.port import Judge
    from voirdire.judging.replies import (
        ItemReplies,
        ReplyListing,
        SentPrompt,
        StoredAttempt,
        StoredItem,
        StoredJudge,
        list_replies,
        read_replies,
    )
    from voirdire.judging.scripted import ScriptedJudge
    from voirdire.judging.summary import ClassSummary, JudgingSummary, QuestionSummary
    from voirdire.judging.work_folder import kept_items

__all__ = [
    "AnswerSummary",
    "Asking",
    "CallProgress",
    "CallSummary",
    "CascadeJudge",
    "ClassSummary",
    "Distilled",
    "ItemReplies",
    "Judge",
    "JudgeCard",
    "JudgeSpec",
    "JudgingProgress",
    "JudgingSummary",
    "LeftOut",
    "Limits",
    "LiveSettings",
    "LiveState",
    "LlmJudge",
    "LocalJudge",
    "Price",
    "QuestionFigures",
    "QuestionSummary",
    "ReplyListing",
    "RunEstimate",
    "ScriptedJudge",
    "SentPrompt",
    "SeveralJudged",
    "StoredAttempt",
    "StoredItem",
    "StoredJudge",
    "TrainingData",
    "cascade_table",
    "distill_files",
    "distill_judge",
    "estimate_run",
    "judge",
    "judge_file",
    "judge_file_with_several",
    "judge_items",
    "kept_items",
    "list_replies",
    "load_cascade",
    "load_judges",
    "load_llm_judge",
    "load_llm_judges",
    "load_local_judge",
    "price_of",
    "read_replies",
    "show_prompt",
]

_HOMES = {
    "AnswerSummary": "call_summary",
    "Asking": "llm.asking",
    "CallProgress": "call_summary",
    "CallSummary": "call_summary",
    "CascadeJudge": "cascade",
    "ClassSummary": "summary",
    "Distilled": "distilling",
    "ItemReplies": "replies",
    "Judge": "port",
    "JudgeCard": "local",
    "JudgeSpec": "llm.judges_file",
    "JudgingProgress": "call_summary",
    "JudgingSummary": "summary",
    "LeftOut": "labelled_items",
    "Limits": "calls.limits",
    "LiveSettings": "live.settings",
    "LiveState": "live.answers",
    "LlmJudge": "llm",
    "LocalJudge": "local",
    "Price": "llm.pricing",
    "QuestionFigures": "local",
    "QuestionSummary": "summary",
    "ReplyListing": "replies",
    "RunEstimate": "llm.estimate",
    "ScriptedJudge": "scripted",
    "SentPrompt": "replies",
    "SeveralJudged": "llm.several",
    "StoredAttempt": "replies",
    "StoredItem": "replies",
    "StoredJudge": "replies",
    "TrainingData": "local",
    "cascade_table": "cascade",
    "distill_files": "distilling",
    "distill_judge": "local",
    "estimate_run": "llm.estimate",
    "judge": "answering",
    "judge_file": "file_judging",
    "judge_file_with_several": "llm.several",
    "judge_items": "answering",
    "kept_items": "work_folder",
    "list_replies": "replies",
    "load_cascade": "cascade",
    "load_judges": "llm.judges_file",
    "load_llm_judge": "llm.asking",
    "load_llm_judges": "llm.several",
    "load_local_judge": "local",
    "price_of": "llm.pricing",
    "read_replies": "replies",
    "show_prompt": "llm.shown_prompt",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
