"""The speaker of the page, who knows the phrases of a training run too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from voirdire.reporting.page.shown import one_line
from voirdire.reporting.reward_page.speaker import RewardSpeaker
from voirdire.reporting.training_page.phrases import CHINESE, ENGLISH
from voirdire.reporting.training_page.speech import Argument

if TYPE_CHECKING:
    from voirdire._types import Language

__all__ = ["TrainingSpeaker"]

_ARGUMENT_WIDTH = 300
_ARROW = "\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}"
"""Where a line must not break."""


class TrainingSpeaker(RewardSpeaker):
    """Turn what is said of a training run into markup of one language.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    def __init__(self, language: Language = "en") -> None:
        super().__init__(language)
        catalog = {"en": ENGLISH, "zh": CHINESE}[self.language]
        glued = {key: text.replace(" → ", _ARROW) for key, text in catalog.items()}
        self.phrases = self.phrases | glued

    def _spoken(self, value: Any) -> Markup:
        if isinstance(value, Argument):
            return Markup("<bdi>{}</bdi>").format(one_line(value.text, width=_ARGUMENT_WIDTH))
        return super()._spoken(value)
