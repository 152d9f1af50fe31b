"""Say why an outcome is what it is, what weakens it, whom that concerns, and what to do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire._validation import is_number
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    P,
    Percent,
    Said,
    Verbatim,
    has_sentence,
    names_in_sentence,
    say,
)
from voirdire.stats import Caution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from voirdire.records import Dropped
    from voirdire.reporting.pages.examination_views import Family, QuestionPart
    from voirdire.stats import AltTestResult

__all__ = ["CAUTION_ORDER", "PageCaution", "collect_cautions", "say_advice", "say_note"]

CAUTION_ORDER = (
    *("constant_passes", "random_passes", "strange_labels", "strange_annotators", "failures"),
    *("unstable", "correction", "few_annotators", "untested_annotators", "weak_annotators"),
    *("weak_agreement", "undefined_agreement", "some_margins", "near_margin", "skewed_labels"),
    *("one_sided", "not_judged", "undeclared_labels", "similarity", "few_clusters"),
    *("many_ties", "few_items"),
)
"""Codes of what weakens the figures, what changes a verdict first."""
_MOST = 10**15
_MOST_NAMED = 5
_NEAR = 0.01
_MOST_REASONS = 3

_NOUNS = {
    "fewest": "items",
    "min_items": "items",
    "n_annotators": "annotators",
    "n_clusters": "clusters",
    "n_failures": "failed_calls",
    "n_items": "items",
    "n_labels": "labels",
}
_SHARES = {
    "epsilon": Margin,
    "p_value": P,
    "share": Percent,
    "smallest": Margin,
    "stability": Percent,
}
_TEXTS = {"constant": Label, "human_label": Label, "label": Label, "reason": Verbatim}
_NUMBERS = (
    *("advantage_probability", "alpha", "constant_advantage", "low"),
    *("winning_rate", "winning_rate_bh"),
)


class _OtherVersionError(Exception):
    """A figure is missing or has another form, so that the page shows the stored sentence."""


def _read_figure(figures: dict[str, Any], name: str) -> Any:
    """Read a figure as its name says; every other one is a count."""
    value = figures.get(name, "")
    if name == "annotators":
        return _read_names(figures)
    if name == "n_missed":
        counts = (_read_figure(figures, each).value for each in ("n_annotators", "n_within"))
        return Count(next(counts) - next(counts))
    if name in _NUMBERS and (value is None or value != value):  # nan
        return Decimal(None)
    if is_number(value) and abs(value) <= _MOST:
        if name in _NUMBERS:
            return Decimal(value)
        if name in _TEXTS:
            return _TEXTS[name](str(value))
        if name in _SHARES and 0 <= value <= 1:
            return _SHARES[name](value)
        if name not in _SHARES and isinstance(value, int) and value >= 0:
            return Count(value, _NOUNS.get(name, ""))
    elif name in _TEXTS and isinstance(value, str) and name in figures:
        return _TEXTS[name](value)
    raise _OtherVersionError(name)


def _read_names(figures: dict[str, Any]) -> Listing:
    """List names of which the JSON holds the first few, with how many there are."""
    names = figures.get("annotators")
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _OtherVersionError("annotators")
    shown = tuple(Name(name, width=40) for name in names[:_MOST_NAMED])
    n_all = _read_figure(figures, "n").value if "n" in figures else len(names)
    return Listing(shown, n_hidden=max(n_all - len(shown), 0))


def _find_variant(code: str, figures: dict[str, Any]) -> str:
    """Give the end of a phrase's key where its figures ask for other words."""
    if code == "few_annotators" and figures.get("n_annotators") == 0:
        return ".none"
    if code in ("missed", "not_shown") and figures.get("constant_passes") is True:
        return ".constant"
    if code == "unpassable" and figures.get("n_needed") is None:
        return ".unknown"
    return ".clusters" if code == "unstable" and figures.get("clustered") is True else ""


def say_note(note: Caution) -> Said | Verbatim:
    """Say a reason or a caution with its figures; an unknown one in its own sentence."""
    topic, key = f"topic.{note.code}", f"note.{note.code}"
    if has_sentence(key, "examination"):
        key += _find_variant(note.code, note.figures)
        names = names_in_sentence(key, "examination")
        try:
            return say(key, **{name: _read_figure(note.figures, name) for name in names})
        except _OtherVersionError:
            pass
    otherwise = topic if has_sentence(topic, "examination") else None
    return Verbatim(note.sentence, otherwise=otherwise)


def say_advice(code: str) -> Said:
    """Say what to do about a reason or a caution."""
    key = f"todo.{code}"
    return say(key if has_sentence(key, "examination") else "todo.unknown")


@dataclass(frozen=True, kw_only=True)
class PageCaution:
    """What weakens the figures, what to do, and whom it concerns; None for all."""

    what: Said
    todo: Said
    whom: Said | None = None


def collect_cautions(part: QuestionPart) -> list[PageCaution]:
    """Collect all that weakens the figures of a question under its main alignment, each once."""
    pairs = [(row, note) for row in part.main.rows for note in row.cautions]
    grouped: dict[str, list[tuple[AltTestResult, Caution]]] = {}
    for row, note in [*pairs, *_find_page_cautions(part.main)]:
        grouped.setdefault(note.code or note.sentence, []).append((row, note))
    places = {code: place for place, code in enumerate(CAUTION_ORDER)}
    ordered = sorted(grouped, key=lambda code: places.get(code, len(places)))
    return [
        *(_make_caution(grouped[code], part.main) for code in ordered),
        *_warn_of_dropped(part.dropped),
    ]


def _make_caution(pairs: Sequence[tuple[AltTestResult, Caution]], family: Family) -> PageCaution:
    note = pairs[0][1]
    what, topic = say_note(note), f"topic.{note.code}"
    if len({repr(say_note(each)) for _, each in pairs}) > 1 and has_sentence(topic, "examination"):
        what = say(topic)  # figures differ: the topic for all of them
    is_clustered = _find_variant(note.code, note.figures) == ".clusters"
    return PageCaution(
        what=say("note", what=what),
        todo=say_advice("unstable.clusters" if is_clustered else note.code),
        whom=_whom([row for row, _ in pairs], family),
    )


def _whom(concerned: Iterable[AltTestResult], family: Family) -> Said | None:
    """Name the judges that a note concerns, with the margins unless it concerns all of theirs."""
    n_rows = {judge.judge: len(judge.rows) for judge in family.judges}
    margins: dict[str, set[float]] = {}
    for row in concerned:
        margins.setdefault(row.judge, set()).add(row.epsilon)
    whole = [judge for judge, each in margins.items() if len(each) == n_rows[judge]]
    if len(whole) == len(n_rows):
        return None
    named: list[Any] = [Name(judge, width=40) for judge in whole]
    for judge, each in margins.items():
        if judge not in whole:
            epsilons = Listing(tuple(map(Margin, sorted(each))))
            named.append(say("whom.at", judge=Name(judge, width=40), epsilons=epsilons))
    return say("whom", judges=Listing(tuple(named)))


def _find_page_cautions(family: Family) -> Iterator[tuple[AltTestResult, Caution]]:
    """Find what the JSON has no codes for, from figures that it has."""
    for judge in family.judges:
        outcomes = {row.outcome for row in judge.rows}
        for row in judge.rows:
            if "passed" in outcomes and len(outcomes) > 1:
                yield row, Caution(code="some_margins", sentence="")
            smallest = row.smallest_epsilon
            # a slightly smaller margin would have changed the outcome
            if row.outcome == "passed" and smallest and 0 <= row.epsilon - smallest <= _NEAR:
                figures = {"smallest": smallest, "epsilon": row.epsilon}
                yield row, Caution(code="near_margin", sentence="", figures=figures)
            passing = {control.control for control in row.controls if control.passed}
            if "random" in passing and "constant" not in passing:
                yield row, Caution(code="random_passes", sentence="")


def _warn_of_dropped(dropped: Sequence[Dropped]) -> Iterator[PageCaution]:
    if not dropped:
        return
    reasons = Counter(row.reason for row in dropped)
    shown = [
        say("dropped.reason", n=Count(count), reason=Verbatim(reason))
        if count > 1
        else Verbatim(reason)
        for reason, count in reasons.most_common(_MOST_REASONS)
    ]
    listed = Listing(tuple(shown), n_hidden=len(reasons) - len(shown))
    what = say("note.dropped", reasons=listed)
    yield PageCaution(what=say("note", what=what), todo=say_advice("dropped"))
