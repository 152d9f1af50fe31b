"""The line above a figure: which question, which alignment, which margin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voirdire.reporting.plots.names import label

if TYPE_CHECKING:
    from voirdire.reporting.plots.rows import Sheet
    from voirdire.reporting.plots.words import Words

__all__ = ["heading_of"]


def heading_of(sheet: Sheet, say: Words, *, with_epsilon: bool = True) -> str:
    """Name what was examined."""
    text = say(
        "of_question",
        question=label(sheet.question, width=36),
        alignment=label(sheet.alignment, width=20),
    )
    if with_epsilon and math.isfinite(sheet.epsilon):
        return f"{text}, {say('at_epsilon', epsilon=say.digits(sheet.epsilon))}"
    return text
