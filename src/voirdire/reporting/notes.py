"""What a reader should know besides the figures, each thing said once, with whom it concerns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from voirdire._messages import shorten
from voirdire.reporting.pages.examination_cautions import CAUTION_ORDER
from voirdire.reporting.pages.speech import Speaker

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from voirdire.records import Dropped
    from voirdire.stats import AltTestResult, ControlResult
    from voirdire.studies import Examination

__all__ = ["MOST_NOTES", "cautions", "dropped_note", "is_lenient", "legend"]

MOST_NOTES = 3
_MOST_NAMED = 8
_NAME_WIDTH = 32


def is_lenient(control: ControlResult) -> bool:
    """Tell whether a control passes that should not."""
    return control.passed and control.control != "majority_vote"


def cautions(examination: Examination, *, most: int | None = None) -> Text:
    """Say once what weakens the figures, with whom it concerns; count what is more than `most`.

    Why there is no evidence is no caution, and always said. A single result gets the figures.
    """
    rows = examination.results
    text = Text()
    if len(rows) == 1:
        style = "yellow" if rows[0].outcome == "no_evidence" else ""
        text.append(f"{shorten(rows[0].because.sentence, width=300)}\n", style=style)
    else:
        silent = ((row, [row.because.code]) for row in rows if row.outcome == "no_evidence")
        for code, concerned in _grouped(silent).items():
            line = f"no evidence: {_words(f'topic.{code}')}{_whom(concerned, rows)}\n"
            text.append(line, style="yellow")
    notes = [*_notes(rows), *(_words(f"topic.{row.code}") for row in examination.cautions)]
    for note in notes[:most]:
        text.append(f"note: {shorten(note, width=400)}\n", style="dim")
    if n_more := len(notes[most:] if most is not None else ()):
        what = "note is" if n_more == 1 else "notes are"
        text.append(f"{n_more} more {what} in --details and on the page (--report)\n", style="dim")
    text.rstrip()
    return text


def _notes(rows: Sequence[AltTestResult]) -> list[str]:
    concerned = _grouped((row, _codes(row)) for row in rows)
    if len({row.epsilon for row in rows}) > 1:
        # near the margin where a judge begins to pass it is always unstable: no news
        concerned.pop("unstable", None)
    whole = {x.code: x.sentence for x in rows[0].cautions} if len(rows) == 1 else {}
    return [
        whole.get(code, f"{_words(f'topic.{code}')}{_whom(concerned[code], rows)}")
        for code in CAUTION_ORDER
        if code in concerned
    ]


def _codes(row: AltTestResult) -> list[str]:
    lenient = (f"{control.control}_passes" for control in row.controls if is_lenient(control))
    return [*lenient, *(x.code for x in row.cautions)]


def _words(key: str) -> str:
    """Say what the page says."""
    return Speaker("en", "examination").attribute(key)


def _grouped(
    pairs: Iterable[tuple[AltTestResult, Iterable[str]]],
) -> dict[str, list[AltTestResult]]:
    groups: dict[str, list[AltTestResult]] = {}
    for row, topics in pairs:
        for topic in dict.fromkeys(topics):
            groups.setdefault(topic, []).append(row)
    return groups


def _whom(concerned: Sequence[AltTestResult], rows: Sequence[AltTestResult]) -> str:
    """Name judges and questions that a note concerns, with the margins unless it is all of them."""
    if len(concerned) == len(rows):
        return ""
    parts = [name for name in ("judge", "question") if len({getattr(r, name) for r in rows}) > 1]
    margins: dict[str, set[float]] = {}
    for row in concerned:
        names = (shorten(getattr(row, part), width=_NAME_WIDTH) for part in parts)
        margins.setdefault(" on ".join(names), set()).add(row.epsilon)
    n_epsilons = len({row.epsilon for row in rows})
    named = [
        name
        if len(epsilons) == n_epsilons
        else f"{name} at ε {', '.join(f'{e:g}' for e in epsilons)}"
        for name, epsilons in ((name, sorted(epsilons)) for name, epsilons in margins.items())
    ]
    shown = ", ".join(shorten(name, width=_NAME_WIDTH * 2) for name in named[:_MOST_NAMED])
    n_more = len(named) - _MOST_NAMED
    return f": {shown} and {n_more} more" if n_more > 0 else f": {shown}"


_LEGEND = {
    "ω": "ω: share of the annotators that the judge may replace, its failed calls counted as lost, "
    "by the t-test; the outcome asks for .5 by the exact test.",
    "ρ": "ρ: how often the judge is at least as close to the other annotators as the one left out.",
    "ρ human": "ρ human: the same for the one left out.",
    "interval": "interval: of ρ, were the items drawn again.",
    "from ε": "from ε: the smallest margin at which ω reaches .5, known only afterwards.",
}


def legend(heads: Collection[str] = tuple(_LEGEND)) -> Text:
    """Say what the columns mean that are shown; ω always is."""
    meanings = (text for head, text in _LEGEND.items() if head == "ω" or head in heads)
    return Text(" ".join(meanings), style="dim")


def dropped_note(rows: Sequence[Dropped]) -> Text:
    """Say what was set aside by reason, how often, with the place of the first."""
    reasons = Counter(shorten(row.reason) for row in rows)
    first = {shorten(row.reason): row for row in reversed(rows)}
    text = Text()
    for reason, count in reasons.most_common(MOST_NOTES):
        place = shorten(_place(first[reason]), width=120)
        times = f" {count:,} times" if count > 1 else ""
        first_of = "first: " if count > 1 else ""
        text.append(f"set aside{times}: {reason} ({first_of}{place})\n", style="yellow")
    hidden = len(reasons) - MOST_NOTES
    if hidden > 0:
        reasons_left = "1 other reason" if hidden == 1 else f"{hidden:,} other reasons"
        text.append(f"and {reasons_left}; --json lists every row\n", style="yellow")
    text.rstrip()
    return text


def _place(row: Dropped) -> str:
    whose = ", ".join(
        f"{name} {value!r}"
        for name, value in (
            ("rater", row.rater),
            ("question", row.question),
            ("item", row.item),
            ("value", row.value),
        )
        if value is not None
    )
    return f"{row.place()}: {whose}" if whose else row.place()
