"""Reasons and cautions in words: what it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.note_figures import (
    NOTE_FIGURES,
    NotOfThisVersionError,
    variant,
)
from voirdire.reporting.page.phrases import ENGLISH
from voirdire.reporting.page_frame.speech import Listing, Margin, Name, Said, Verbatim, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.reporting.page.content import Examination, Note
    from voirdire.reporting.page.grouping import Family

__all__ = ["Warned", "advice", "noted", "warned"]


@dataclass(frozen=True, kw_only=True)
class Warned:
    """One warning with everybody whom it concerns.

    Attributes
    ----------
    code : str
        Its code; empty for a sentence of an older version.
    what, todo : Said
        What it is, and what to do about it.
    whom : Said or None
        Judges and margins; None where it concerns all.
    """

    code: str
    what: Said
    todo: Said
    whom: Said | None


def noted(note: Note) -> Said | Verbatim:
    """Say a reason or a caution with its figures; an unknown one in its own sentence."""
    topic = f"topic.{note.code}"
    verbatim = Verbatim(note.sentence, otherwise=topic if topic in ENGLISH else None)
    figures = NOTE_FIGURES.get(note.code)
    if figures is None:
        return verbatim
    try:
        key = f"note.{note.code}"
        return say(key + variant(note.code, note.figures), **figures(note.figures))
    except NotOfThisVersionError:
        return verbatim


def advice(code: str) -> Said:
    """Say what to do about a reason or a caution."""
    return say(f"todo.{code}" if f"todo.{code}" in ENGLISH else "todo.unknown")


def warned(family: Family, *, extra: Sequence[tuple[Examination, Note]] = ()) -> list[Warned]:
    """Collect the cautions of a family, each once, with whom it concerns.

    Parameters
    ----------
    family : Family
        One question under one alignment.
    extra : sequence of (Examination, Note), optional
        Cautions that the page finds by itself.

    Returns
    -------
    list of Warned
        In the order of `_ORDER`, unknown ones last.
    """
    pairs = [
        (row, note) for judge in family.judges for row in judge.rows for note in row.all_cautions
    ]
    grouped: dict[str, list[tuple[Examination, Note]]] = {}
    for row, note in [*pairs, *extra]:
        grouped.setdefault(note.code or note.sentence, []).append((row, note))
    ordered = sorted(grouped, key=lambda code: _ORDER.get(code, len(_ORDER)))
    n_rows = {judge.judge: len(judge.rows) for judge in family.judges}
    return [_warned(grouped[code], n_rows) for code in ordered]


def _warned(found: Sequence[tuple[Examination, Note]], n_rows: dict[str, int]) -> Warned:
    code = found[0][1].code
    what = noted(found[0][1])
    n_versions = len({repr(noted(note)) for _, note in found})
    topic = f"topic.{code}"
    if n_versions > 1 and topic in ENGLISH:  # figures differ: the topic for all of them
        what = say(topic)
    return Warned(
        code=code,
        what=say("note", what=what),
        todo=advice(_advised(found[0][1])),
        whom=_whom([row for row, _ in found], n_rows),
    )


def _advised(note: Note) -> str:
    """Tell whether the usual advice applies."""
    return "unstable.clusters" if variant(note.code, note.figures) == ".clusters" else note.code


def _whom(concerned: Iterable[Examination], n_rows: dict[str, int]) -> Said | None:
    """Name the judges that a note concerns, with the margins unless it concerns all of theirs."""
    margins: dict[str, set[float]] = {}
    for row in concerned:
        margins.setdefault(row.judge, set()).add(row.epsilon)
    whole = {judge: None for judge, found in margins.items() if len(found) == n_rows[judge]}
    if len(whole) == len(n_rows):
        return None
    named: list[Any] = [Name(judge, width=40) for judge in whole]
    named += [
        say(
            "whom.at",
            judge=Name(judge, width=40),
            epsilons=Listing(tuple(Margin(epsilon) for epsilon in sorted(found))),
        )
        for judge, found in margins.items()
        if judge not in whole
    ]
    return say("whom", judges=Listing(tuple(named)))


_ORDER = {
    code: place
    for place, code in enumerate(
        (
            "strange_annotators",
            "strange_labels",
            "constant_passes",
            "random_passes",
            "skewed_labels",
            "one_sided",
            "weak_agreement",
            "undefined_agreement",
            "weak_annotators",
            "few_annotators",
            "untested_annotators",
            "few_items",
            "few_clusters",
            "failures",
            "not_judged",
            "some_margins",
            "near_margin",
            "unstable",
            "correction",
            "many_ties",
            "similarity",
            "undeclared_labels",
        )
    )
}
