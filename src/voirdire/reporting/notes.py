"""What a reader should know besides the figures, each thing said once, with whom it concerns."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.number_formats import decimal
from voirdire.reporting.pages.examination_cautions import CAUTION_ORDER
from voirdire.reporting.pages.examination_sections import (
    agreement_sentences,
    diagnosed_judges,
    difference_sentences,
    outlier_sentences,
    slice_sentences,
)
from voirdire.reporting.pages.speech import Speaker

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from voirdire.records import Dropped
    from voirdire.reporting.pages.examination_views import QuestionPart
    from voirdire.stats import AgreementResult, AltTestResult, ControlResult
    from voirdire.studies import Examination, QuestionFindings

__all__ = ["MOST_NOTES", "cautions", "dropped_note", "facts", "is_lenient", "legend"]

MOST_NOTES = 3
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


def facts(rows: Sequence[AltTestResult], part: QuestionPart) -> Text:
    """Say what stands around the test of a question: annotators, agreement, differences."""
    speaker, diagnosis = Speaker("en", "examination"), part.found.diagnosis
    lines = [_annotators(rows), _ceiling(part.found)]
    lines += [speaker(each).striptags() for each in agreement_sentences(part)]
    if diagnosis is not None:
        lines += [speaker(each).striptags() for each in outlier_sentences(diagnosis.annotators)]
    for judge in diagnosed_judges(part):
        if any(row.worse for row in judge.slices):
            worse = (speaker(each).striptags() for each in slice_sentences(judge.slices))
            lines.append(f"{shorten(judge.judge, width=_NAME_WIDTH)}: {' '.join(worse)}")
    lines += [speaker(each).striptags() for each in difference_sentences(part)]
    return Text("\n".join(f"  {line}" for line in lines if line), style="dim")


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
    return f": {_listed(named, most=8)}"


def _listed(names: Sequence[str], *, most: int = 4) -> str:
    shown = ", ".join(shorten(name, width=_NAME_WIDTH * 2) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _annotators(rows: Sequence[AltTestResult]) -> str:
    """Name the annotators: a column taken for one by mistake is seen here."""
    names = dict.fromkeys(person.annotator for row in rows for person in row.annotators)
    if not names:
        return ""
    return f"annotators ({len(names)}): {_listed(list(names), most=12)}"


def _ceiling(findings: QuestionFindings) -> str:
    """Put every judge's κ with the annotators beside theirs with each other."""
    if findings.agreement is None:
        return ""
    among = _kappa(findings.agreement.ceiling)
    judges = [
        (row.judge, kappa.estimate)
        for row in findings.agreement.judges
        if (kappa := _kappa(row.coefficients)) is not None
    ]
    if among is None or not judges:
        return ""
    weights = f", {among.weights} weights" if among.weights else ""
    judges.sort(key=lambda pair: -pair[1])
    named = [f"{shorten(name, width=_NAME_WIDTH)} {decimal(kappa)}" for name, kappa in judges]
    people = f"annotators among themselves {decimal(among.estimate)}"
    return f"mean Cohen's κ{weights}: {people}; {_listed(named, most=8)}"


def _kappa(coefficients: Sequence[AgreementResult]) -> AgreementResult | None:
    kappas = (row for row in coefficients if row.coefficient == "cohen_kappa")
    return next((row for row in kappas if math.isfinite(row.estimate)), None)


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
