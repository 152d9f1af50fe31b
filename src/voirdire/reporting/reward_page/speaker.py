"""The speaker of the page, who knows the phrases of a reward."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from markupsafe import Markup

from voirdire.reporting.page_frame.catalog import Catalog
from voirdire.reporting.page_frame.numerals import share
from voirdire.reporting.page_frame.speaker import Speaker
from voirdire.reporting.reward_page.numerals import duration, money
from voirdire.reporting.reward_page.phrases import CHINESE, ENGLISH
from voirdire.reporting.reward_page.speech import Dollars, Seconds, ShareEnds

if TYPE_CHECKING:
    from voirdire.reporting.reward_page.content import Rate

__all__ = ["RewardSpeaker"]


class RewardSpeaker(Speaker):
    """Turn what is said of a reward into markup of one language.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    catalogs: ClassVar[tuple[Catalog, ...]] = (*Speaker.catalogs, Catalog(ENGLISH, CHINESE))

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
        if isinstance(value, ShareEnds):
            return Markup.escape(self.ends(value.low, value.high) or "–")
        if isinstance(value, Dollars):
            return Markup.escape(money(value.value, self.phrases))
        if isinstance(value, Seconds):
            return Markup.escape(duration(value.value, self.phrases))
        return super()._spoken(value)
