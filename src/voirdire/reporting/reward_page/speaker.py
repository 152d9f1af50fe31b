"""The speaker of the page, who knows the phrases of a reward too."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from voirdire.reporting.page.speaker import Speaker
from voirdire.reporting.reward_page.numerals import duration, money, share
from voirdire.reporting.reward_page.phrases import CHINESE, ENGLISH
from voirdire.reporting.reward_page.speech import Dollars, Seconds, Share, ShareEnds

if TYPE_CHECKING:
    from voirdire._types import Language
    from voirdire.reporting.reward_page.content import Rate

__all__ = ["RewardSpeaker"]

_GLUED = re.compile(r" ([±]) ")
"""Where a line must not break."""


class RewardSpeaker(Speaker):
    """Turn what is said of a reward into markup of one language.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    def __init__(self, language: Language = "en") -> None:
        super().__init__(language)
        catalog = {"en": ENGLISH, "zh": CHINESE}[self.language]
        glued = {
            key: _GLUED.sub("\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)
            for key, text in catalog.items()
        }
        self.phrases = self.phrases | glued

    def ends(self, low: float | None, high: float | None) -> str:
        """Write the interval of a share; nothing where there is none."""
        if not all(end is not None and math.isfinite(end) for end in (low, high)):
            return ""
        ends = {"low": share(low, sign=False), "high": share(high)}
        return self.phrases["interval"].format(**ends)

    def shares(self, rate: Rate) -> str:
        """Write the interval of a rate for a table."""
        return self.ends(rate.low, rate.high)

    def _spoken(self, value: Any) -> Markup:
        if isinstance(value, Share):
            return Markup.escape(share(value.value))
        if isinstance(value, ShareEnds):
            return Markup.escape(self.ends(value.low, value.high) or "–")
        if isinstance(value, Dollars):
            return Markup.escape(money(value.value, self.phrases))
        if isinstance(value, Seconds):
            return Markup.escape(duration(value.value, self.phrases))
        return super()._spoken(value)
