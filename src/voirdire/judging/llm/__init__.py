"""Language models as judges: how they are asked, and how a run of calls becomes verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.llm.judge import LlmJudge

__all__ = ["LlmJudge"]

_HOMES = {"LlmJudge": "judge"}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
