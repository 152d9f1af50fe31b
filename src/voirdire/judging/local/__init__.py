"""The local judge: calibrated text classifiers that need no key, no network and no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.local.card import JudgeCard, QuestionFigures, TrainingData
    from voirdire.judging.local.distilling import distill_judge
    from voirdire.judging.local.judge import LocalJudge, load_local_judge

__all__ = [
    "JudgeCard",
    "LocalJudge",
    "QuestionFigures",
    "TrainingData",
    "distill_judge",
    "load_local_judge",
]

_HOMES = {
    "JudgeCard": "card",
    "LocalJudge": "judge",
    "QuestionFigures": "card",
    "TrainingData": "card",
    "distill_judge": "distilling",
    "load_local_judge": "judge",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
