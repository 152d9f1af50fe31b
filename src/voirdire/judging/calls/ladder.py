"""The forms of reply that a server knows, from the strictest down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import ReplyForm

__all__ = ["Ladder", "StepDown"]


@dataclass(frozen=True, kw_only=True)
class StepDown:
    """A form of reply that a server turned out not to know.

    Attributes
    ----------
    from_form, to_form : {"json_schema", "json_object", "text"}
        How replies were asked for before, and since.
    reason : str
        What the server said, shortened.
    """

    from_form: ReplyForm
    to_form: ReplyForm
    reason: str


class Ladder:
    """How replies are asked for now; it only ever goes down, and for the whole run."""

    def __init__(self, forms: Sequence[ReplyForm]) -> None:
        self._forms = tuple(forms)
        self.form: ReplyForm = self._forms[0]
        self.steps_down: list[StepDown] = []

    def step_down(self, form: ReplyForm, *, reason: str) -> bool:
        """Leave `form`; False where there is nothing below it.

        Several calls in flight may be refused for the same form: the first of them steps down,
        the others find it done.
        """
        below = self._forms[self._forms.index(form) + 1 :]
        if not below:
            return False
        if form == self.form:
            self.form = below[0]
            step = StepDown(from_form=form, to_form=self.form, reason=shorten(reason, width=200))
            self.steps_down.append(step)
        return True
