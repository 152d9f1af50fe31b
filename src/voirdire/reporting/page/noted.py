"""Reasons and cautions in words: what it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.phrases import ENGLISH
from voirdire.reporting.page.speech import (
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    Verbatim,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from voirdire.reporting.page.content import Examination, Note
    from voirdire.reporting.page.grouping import Family

__all__ = ["Warned", "advice", "noted", "warned"]

_MOST_NAMED = 5


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
    figures = _FIGURES.get(note.code)
    if figures is None:
        return verbatim
    try:
        return say(f"note.{note.code}", **figures(note.figures))
    except (KeyError, TypeError, ValueError, AttributeError):  # figures of another version
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
    rows = [row for judge in family.judges for row in judge.rows]
    pairs = [(row, note) for row in rows for note in row.all_cautions]
    grouped: dict[str, list[tuple[Examination, Note]]] = {}
    for row, note in [*pairs, *extra]:
        grouped.setdefault(note.code or note.sentence, []).append((row, note))
    ordered = sorted(grouped, key=lambda code: _ORDER.get(code, len(_ORDER)))
    return [_warned(grouped[code], rows) for code in ordered]


def _warned(found: Sequence[tuple[Examination, Note]], rows: Sequence[Examination]) -> Warned:
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
        whom=_whom([row for row, _ in found], rows),
    )


def _advised(note: Note) -> str:
    """Tell whether the usual advice applies."""
    inexact = note.code == "many_ties" and note.figures.get("has_exact") is False
    return "many_ties.inexact" if inexact else note.code


def _whom(concerned: Iterable[Examination], rows: Sequence[Examination]) -> Said | None:
    """Name the judges that a note concerns, with the margins unless it concerns all of theirs."""
    margins: dict[str, list[float]] = {}
    for row in concerned:
        margins.setdefault(row.judge, []).append(row.epsilon)
    n_rows = {judge: sum(row.judge == judge for row in rows) for judge in margins}
    whole = [judge for judge, found in margins.items() if len(set(found)) == n_rows[judge]]
    if len(whole) == len({row.judge for row in rows}):
        return None
    named: list[Any] = [Name(judge, width=40) for judge in whole]
    named += [
        say(
            "whom.at",
            judge=Name(judge, width=40),
            epsilons=Listing(tuple(Margin(epsilon) for epsilon in sorted(set(found)))),
        )
        for judge, found in margins.items()
        if judge not in whole
    ]
    return say("whom", judges=Listing(tuple(named)))


def _names(figures: dict[str, Any]) -> Listing:
    """List names of which the JSON holds the first few, with how many there are."""
    names = [Name(str(name), width=40) for name in figures["annotators"]][:_MOST_NAMED]
    hidden = max(int(figures.get("n", len(names))) - len(names), 0)
    return Listing(tuple(names), n_hidden=hidden)


_FIGURES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "constant_passes": lambda f: {"label": Label(str(f["label"]))},
    "correction": lambda f: {
        "omega": Decimal(f["winning_rate"]),
        "omega_bh": Decimal(f["winning_rate_bh"]),
    },
    "failures": lambda f: {
        "failures": Count(f["n_failures"], "failed_calls"),
        "omega": Decimal(f["winning_rate"]),
    },
    "few_annotators": lambda f: {"annotators": Count(f["n_annotators"], "annotators")},
    "few_clusters": lambda f: {"clusters": Count(f["n_clusters"], "clusters")},
    "few_items": lambda f: {
        "annotators": _names(f),
        "fewest": Count(f["fewest"], "items"),
        "few": f["few"],
    },
    "many_ties": lambda f: {"annotators": _names(f), "share": Percent(f["share"])},
    "near_margin": lambda f: {"smallest": Margin(f["smallest"]), "epsilon": Margin(f["epsilon"])},
    "no_controls": lambda _: {},
    "no_p_values": lambda _: {},
    "not_judged": lambda f: {
        "unjudged": Count(f["n_unjudged"]),
        "items": Count(f["n_items"], "items"),
    },
    "one_sided": lambda f: {
        "one": int(f["one"]),
        "other": int(f["other"]),
        "needed": int(f["needed"]),
    },
    "random_passes": lambda _: {},
    "skewed_labels": lambda f: {"share": Percent(f["share"]), "label": Label(str(f["label"]))},
    "some_margins": lambda _: {},
    "strange_annotators": lambda f: {"annotators": _names(f)},
    "strange_labels": lambda f: {
        "mine": Label(str(f["label"])),
        "theirs": Label(str(f["human_label"])),
    },
    "undeclared_labels": lambda f: {"labels": Count(f["n_labels"], "labels")},
    "undefined_agreement": lambda f: {"reason": Verbatim(str(f["reason"]))},
    "unstable": lambda f: {"stability": Percent(f["stability"])},
    "untestable": lambda f: {"items": Count(f["min_items"], "items")},
    "untested_annotators": lambda f: {
        "annotators": _names(f),
        "items": Count(f["min_items"], "items"),
    },
    "weak_agreement": lambda f: {"low": Decimal(f["low"])},
    "weak_annotators": lambda f: {"alpha": Decimal(f["alpha"])},
}
_ORDER = {
    code: place
    for place, code in enumerate(
        (
            "strange_annotators",
            "strange_labels",
            "constant_passes",
            "random_passes",
            "skewed_labels",
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
            "undeclared_labels",
            "no_controls",
        )
    )
}
