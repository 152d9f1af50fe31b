"""What judge and annotators are held against: the other annotators, an expert, or gold labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire.reporting.page_frame.speech import Name, Said, say

if TYPE_CHECKING:
    from voirdire.reporting.page.content import Examination

__all__ = ["Reference", "against", "asks_superiority", "reference_of", "the_others"]

Reference: TypeAlias = Literal["leave_one_out", "expert", "gold"]


def reference_of(row: Examination) -> Reference:
    """Tell what the labels are compared with."""
    if row.settings.get("gold"):
        return "gold"
    return "leave_one_out" if row.settings.get("expert") is None else "expert"


def the_others(row: Examination) -> Said:
    """Name it."""
    reference = reference_of(row)
    if reference == "gold":
        return say("others.gold")
    if reference == "expert":
        expert = row.settings["expert"]
        return say("others.expert", name=Name(expert if isinstance(expert, str) else repr(expert)))
    return say("others.annotators")


def against(key: str, row: Examination) -> str:
    """Give the key of a phrase, or of its variant where nobody is left out."""
    return key if reference_of(row) == "leave_one_out" else f"{key}.reference"


def asks_superiority(row: Examination) -> bool:
    """Whether to pass is to be better than annotators, not about as good."""
    return row.epsilon == 0 and reference_of(row) == "gold"
