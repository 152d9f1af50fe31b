"""Writes the notes about judged items that a reader of verdicts should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire._validation import shorten

if TYPE_CHECKING:
    from voirdire.judging.bound import JudgingPlan
    from voirdire.records import Item

__all__ = ["SeenItems"]


@dataclass
class SeenItems:
    """Counts the items that notes are written about.

    Attributes
    ----------
    plan : JudgingPlan
        The plan of judging.
    n, n_without_prompt, n_without_behavior, n_with_other, n_blank, n_of_other_language : int
        Items so far, and those without a prompt, without a behavior, with a second response, with
        nothing in their response, and with a response in none of the languages of a local judge.
    """

    plan: JudgingPlan
    n: int = 0
    n_without_prompt: int = 0
    n_without_behavior: int = 0
    n_with_other: int = 0
    n_blank: int = 0
    n_of_other_language: int = 0

    def __post_init__(self) -> None:
        languages = getattr(getattr(self.plan.judge, "card", None), "languages", ())
        self._languages = () if "other" in languages else languages

    def add(self, item: Item) -> None:
        """Count one more item."""
        self.n += 1
        self.n_without_prompt += not item.prompt
        self.n_without_behavior += item.behavior is None
        self.n_with_other += item.other is not None
        self.n_blank += not item.response.strip()
        if self._languages:
            from voirdire.judging.local.languages import detect_language

            self.n_of_other_language += detect_language(item.response) not in self._languages

    def notes(self) -> tuple[str, ...]:
        """Write the notes."""
        found = []
        if self.n_without_prompt:
            found.append(
                f"{self.n_without_prompt:,} of {self.n:,} items have no prompt and were judged "
                "without it: is it in a column of another name?"
            )
        if self.n_without_behavior and self.plan.rubric.behaviors:
            whole = self.n_without_behavior == self.n
            which = "the items" if whole else f"{self.n_without_behavior:,} of {self.n:,} items"
            found.append(
                f"{which} have no behavior: their questions are judged, but they get no completion "
                "classes. `voirdire judge --behavior ID` sets one for all of them"
            )
        if self.n_with_other and not self.plan.asks_about_pairs:
            found.append(
                f"{self.n_with_other:,} items have a second response, but no question of the "
                "rubric is about it"
            )
        if self.n_blank:
            found.append(
                f"{self.n_blank:,} of {self.n:,} items have an empty response, and verdicts on an "
                "empty response mean little"
            )
        if self.n_of_other_language:
            names = [_LANGUAGES[name] for name in self._languages]
            known = f"not in {names[0]}" if len(names) == 1 else f"in neither {' nor '.join(names)}"
            found.append(
                f"{self.n_of_other_language:,} of {self.n:,} responses are {known}: "
                f"{shorten(self.plan.judge.name)!r} was trained on no other language"
            )
        return tuple(found)


_LANGUAGES = {"en": "English", "zh": "Chinese"}
