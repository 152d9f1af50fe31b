"""What a reader should know besides the figures, each thing said once, with whom it concerns."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from voirdire.records import Dropped
    from voirdire.stats import AgreementResult, AltTestResult, ControlResult, JudgeDifference
    from voirdire.studies import Examination, QuestionFindings

__all__ = ["MOST_NOTES", "cautions", "dropped_note", "facts", "is_lenient", "legend"]

MOST_NOTES = 3
_NAME_WIDTH = 32
_CLEAR = 0.05
_TOPICS = {
    "lenient": "an answer that never looks at the item passes too (a control)",
    "strange_labels": "the judge uses labels that no annotator ever uses: are they written alike?",
    "strange_annotators": "an annotator shares no label with any other: is it one at all?",
    "failures": "failed calls: the outcome counts them as lost",
    "unstable": "the result hangs on which items were labelled; --details prints how far",
    "correction": "the result depends on the correction (Benjamini-Hochberg differs)",
    "few_annotators": "fewer than three annotators were tested: the winning rate says little",
    "untested_annotators": "some annotators have too few items to be tested",
    "weak_annotators": "the annotators agree weakly, which lets weak judges pass",
    "weak_agreement": "the annotators may agree little more than by chance",
    "undefined_agreement": "how far the annotators agree is undefined",
    "skewed_labels": "nearly all labels are one and the same: always giving it is often right",
    "one_sided": "one of the two labels is the majority's on fewer than ten items",
    "not_judged": "not every annotated item was judged",
    "undeclared_labels": "the label universe was not declared: it is the union of all labels used",
    "similarity": "the verdict hangs on how similarity is measured: was it chosen beforehand?",
    "few_clusters": "fewer than 20 clusters: cluster-robust errors are themselves uncertain",
    "many_ties": "ties on more than 60% of the items: with few items the t-test rejects too "
    "often; outcomes rest on the exact test",
    "few_items": "some annotators have fewer than 50 items: a judge that fails may be fit",
}
"""What weakens the figures, what changes a verdict first."""
_OF_ALL = {
    "several_judges": "the best of several judges passes more easily than one: confirm it on "
    "fresh items, or correct over all of them (family judges)",
}
_SILENT = {
    "like_constant": "not shown closer to the annotators than the best constant answer",
    "no_p_values": "no p-value is defined: a standard error needs two clusters",
    "unpassable": "too few items: even the annotators' majority vote is not shown within ε",
    "untestable": "no annotator shares enough items with the judge",
}


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
            said = f"no evidence: {_SILENT[code]}{_whom(concerned, rows)}\n"
            text.append(said, style="yellow")
    notes = [*_notes(rows), *(_OF_ALL[row.code] for row in examination.cautions)]
    for note in notes[:most]:
        text.append(f"note: {shorten(note, width=400)}\n", style="dim")
    if n_more := len(notes[most:] if most is not None else ()):
        what = "note stands" if n_more == 1 else "notes stand"
        text.append(f"{n_more} more {what} in --details and on the page (--report)\n", style="dim")
    text.rstrip()
    return text


def _notes(rows: Sequence[AltTestResult]) -> list[str]:
    found = _grouped((row, _codes(row)) for row in rows)
    if len({row.epsilon for row in rows}) > 1:
        # near the margin where a judge begins to pass it is always unstable: no news
        found.pop("unstable", None)
    whole = {x.code: x.sentence for x in rows[0].cautions} if len(rows) == 1 else {}
    return [
        whole.get(code, f"{said}{_whom(found[code], rows)}")
        for code, said in _TOPICS.items()
        if code in found
    ]


def _codes(row: AltTestResult) -> list[str]:
    return ["lenient"] * any(map(is_lenient, row.controls)) + [x.code for x in row.cautions]


def facts(rows: Sequence[AltTestResult], findings: QuestionFindings | None = None) -> Text:
    """Say what stands around the test of a question: annotators, agreement, differences."""
    text = Text(_annotators(rows) + _agreement(rows[0]), style="dim")
    if findings is not None:
        text.append(_ceiling(findings) + _differences(findings), style="dim")
    text.rstrip()
    return text


def _grouped(
    pairs: Iterable[tuple[AltTestResult, Iterable[str]]],
) -> dict[str, list[AltTestResult]]:
    found: dict[str, list[AltTestResult]] = {}
    for row, topics in pairs:
        for topic in dict.fromkeys(topics):
            found.setdefault(topic, []).append(row)
    return found


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
        name if len(found) == n_epsilons else f"{name} at ε {', '.join(f'{e:g}' for e in found)}"
        for name, found in ((name, sorted(found)) for name, found in margins.items())
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
    return f"  annotators ({len(names)}): {_listed(list(names), most=12)}\n"


def _agreement(row: AltTestResult) -> str:
    """Say how far the annotators agree."""
    agreement = row.human_agreement
    if agreement is None or not math.isfinite(agreement.alpha):
        return ""
    interval = ""
    if math.isfinite(agreement.low):
        level = f"{agreement.confidence_level:.0%}"
        interval = f" ({level} interval {agreement.low:.2f} to {agreement.high:.2f})"
    return f"  annotators agree with Krippendorff's α = {agreement.alpha:.2f}{interval}\n"


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
    named = [
        f"{shorten(name, width=_NAME_WIDTH)} {round(kappa, 2) + 0:.2f}"  # + 0: never -0.00
        for name, kappa in judges
    ]
    people = f"annotators among themselves {among.estimate:.2f}"
    return f"  mean Cohen's κ{weights}: {people}; {_listed(named, most=8)}\n"


def _kappa(coefficients: Sequence[AgreementResult]) -> AgreementResult | None:
    found = (row for row in coefficients if row.coefficient == "cohen_kappa")
    return next((row for row in found if math.isfinite(row.estimate)), None)


def _differences(findings: QuestionFindings) -> str:
    """Name outlier annotators, slices where a judge is worse, and judges who clearly differ."""
    lines = []
    diagnosis = findings.diagnosis
    if diagnosis is not None and diagnosis.outliers:
        lines.append(f"agree less than the other annotators do: {_listed(diagnosis.outliers)}")
    worse = [
        f"{shorten(judge.judge, width=_NAME_WIDTH)} where {shorten(row.column, width=_NAME_WIDTH)} "
        f"is {shorten(row.value, width=_NAME_WIDTH)} ({row.difference:+.2f})"
        for judge in (() if diagnosis is None else diagnosis.judges)
        for row in judge.slices
        if row.worse
    ]
    if worse:
        lines.append(f"worse on a slice than elsewhere: {_listed(worse)}")
    main = findings.comparisons[0].alignment if findings.comparisons else None
    apart = [
        _in_order(pair)
        for pair in sorted(findings.comparisons, key=lambda pair: pair.p_adjusted)
        if pair.alignment == main and pair.p_adjusted <= _CLEAR
    ]
    if main is not None:
        n_pairs = sum(pair.alignment == main for pair in findings.comparisons)
        said = _listed(apart) if apart else "none"
        lines.append(f"of {n_pairs} pairs of judges whose ρ differs beyond chance (Holm): {said}")
    return "".join(f"  {line}\n" for line in lines)


def _in_order(pair: JudgeDifference) -> str:
    better, worse = (pair.judge_a, pair.judge_b)[:: 1 if pair.difference > 0 else -1]
    return f"{shorten(better, width=_NAME_WIDTH)} > {shorten(worse, width=_NAME_WIDTH)}"


_LEGEND = {
    "ω": "ω: share of the annotators that the judge may replace, its failed calls counted as lost; "
    "it passes at .5.",
    "ρ": "ρ: how often the judge is at least as close to the other annotators as the one left out.",
    "ρ human": "ρ human: the same for the one left out.",
    "interval": "interval: of ρ, were the items drawn again.",
    "from ε": "from ε: the smallest margin at which the judge passes, known only afterwards.",
}


def legend(heads: Collection[str] = tuple(_LEGEND)) -> Text:
    """Say what the columns mean that are shown; ω always is."""
    said = (meaning for head, meaning in _LEGEND.items() if head == "ω" or head in heads)
    return Text(" ".join(said), style="dim")


def dropped_note(rows: Sequence[Dropped]) -> Text:
    """Count what was dropped by reason, with the place of the first."""
    reasons = Counter(shorten(row.reason) for row in rows)
    first = {shorten(row.reason): row for row in reversed(rows)}
    text = Text()
    for reason, count in reasons.most_common(MOST_NOTES):
        place = shorten(_place(first[reason]), width=120)
        text.append(f"dropped {count:,}: {reason} (first: {place})\n", style="yellow")
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
