"""An examination as tables for a terminal: the verdict first, then what it rests on."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from voirdire.records import Dropped
    from voirdire.stats import AltTestResult, ControlResult
    from voirdire.studies import Examination

__all__ = ["examination_tables"]

_STYLES = {"passed": "bold green", "failed": "red", "no_evidence": "yellow"}
_MARKS = {"passed": "✓", "failed": "✗", "no_evidence": "?"}
_WORDS = {"passed": "✓ passed", "failed": "✗ failed", "no_evidence": "? no evidence"}
_NAME_WIDTH = 32
MAX_DETAILED = 1


def examination_tables(examination: Examination, *, details: bool = False) -> RenderableType:
    """Lay an examination out as tables for `rich`.

    Parameters
    ----------
    examination : Examination
        What was found.
    details : bool, optional
        Whether to print every annotator for every judge and ε; otherwise only where there is a
        single result.

    Returns
    -------
    rich renderable
        One table per question and alignment, judges ranked by ρ, controls below them; then
        warnings and what was dropped, in words.
    """
    parts: list[RenderableType] = []
    for rows in _families(examination.results):
        parts += [_judge_table(rows), _footnotes(rows), Text()]
        if details or len(rows) <= MAX_DETAILED:
            parts += [_annotator_table(row) for row in rows] + [Text()]
    if examination.pooled:
        parts += [_pooled_table(examination), Text()]
    parts.append(_legend(examination.results))
    if examination.dropped:
        parts.append(_dropped(examination.dropped))
    return Group(*parts)


def _families(results: Iterable[AltTestResult]) -> list[list[AltTestResult]]:
    found: dict[tuple[str, str], list[AltTestResult]] = {}
    for row in results:
        found.setdefault((row.question, row.alignment), []).append(row)
    return list(found.values())


def _judge_table(rows: Sequence[AltTestResult]) -> Table:
    epsilons = sorted({row.epsilon for row in rows})
    first = rows[0]
    table = Table(title=_title(first), title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("judge", overflow="fold", max_width=_NAME_WIDTH)
    if len(epsilons) == 1:
        table.add_column("outcome", no_wrap=True)
    for epsilon in epsilons:
        head = f"ω at ε {epsilon:g}" if len(epsilons) == 1 else f"ε {epsilon:g}"
        table.add_column(head, justify="right", no_wrap=True)
    for head in ("ρ", "ρ human", "items", "failed"):
        table.add_column(head, justify="right", no_wrap=True)
    for judge, by_epsilon in _ranked(rows):
        table.add_row(*_judge_cells(judge, by_epsilon, epsilons))
    table.add_section()
    for cells in _control_cells(rows, epsilons):
        table.add_row(*cells, style="dim")
    return table


def _title(row: AltTestResult) -> str:
    return f"{escape(shorten(row.question, width=60))}: {row.alignment}, {row.epsilon_mode} ε"


def _ranked(rows: Sequence[AltTestResult]) -> list[tuple[str, dict[float, AltTestResult]]]:
    judges: dict[str, dict[float, AltTestResult]] = {}
    for row in rows:
        judges.setdefault(row.judge, {})[row.epsilon] = row
    return sorted(judges.items(), key=lambda pair: _rank(next(iter(pair[1].values()))))


def _rank(row: AltTestResult) -> float:
    return -row.advantage_probability if math.isfinite(row.advantage_probability) else math.inf


def _judge_cells(
    judge: str, by_epsilon: dict[float, AltTestResult], epsilons: Sequence[float]
) -> list[RenderableType]:
    first = next(iter(by_epsilon.values()))
    cells: list[RenderableType] = [escape(shorten(judge, width=_NAME_WIDTH * 2))]
    if len(epsilons) == 1:
        cells.append(Text(_WORDS[first.outcome], style=_STYLES[first.outcome]))
        cells.append(_number(first.winning_rate))
    else:
        cells += [_marked(by_epsilon[epsilon]) for epsilon in epsilons]
    failures = first.worst_case.n_failures
    return [
        *cells,
        _number(first.advantage_probability),
        _number(first.human_advantage),
        f"{first.n_items:,}",
        f"{failures:,}" if failures else "",
    ]


def _marked(row: AltTestResult) -> Text:
    text = f"{_number(row.winning_rate)} {_MARKS[row.outcome]}"
    return Text(text, style=_STYLES[row.outcome])


def _control_cells(rows: Sequence[AltTestResult], epsilons: Sequence[float]) -> list[list[Any]]:
    by_epsilon: dict[float, dict[str, ControlResult]] = {}
    for row in rows:
        by_epsilon.setdefault(row.epsilon, {c.control: c for c in row.controls})
    lines = []
    for control in by_epsilon[epsilons[0]]:
        found = [by_epsilon[epsilon][control] for epsilon in epsilons]
        name = control.removesuffix("_vote")
        if control == "constant":
            name = f"always {escape(shorten(found[-1].label or '', width=20))!s}"
        rates = [f"{_number(c.winning_rate)} {'!' if _alarming(c) else ' '}" for c in found]
        cells = [f"control: {name}"]
        if len(epsilons) == 1:
            cells += ["! passes" if _alarming(found[0]) else "", _number(found[0].winning_rate)]
        else:
            cells += rates
        lines.append([*cells, _number(found[-1].advantage_probability), "", "", ""])
    return lines


def _alarming(control: ControlResult) -> bool:
    return control.passed and control.control != "majority_vote"


def _annotator_table(row: AltTestResult) -> Table:
    table = Table(
        title=f"{escape(shorten(row.judge, width=40))} against each annotator, ε = {row.epsilon:g}",
        title_justify="left",
        title_style="dim",
        pad_edge=False,
    )
    table.add_column("annotator", overflow="fold", max_width=_NAME_WIDTH)
    for head in ("items", "ρ judge", "ρ human", "ties", "p", "p exact"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("judge wins")
    for person in row.annotators:
        table.add_row(
            escape(shorten(person.annotator, width=_NAME_WIDTH * 2)),
            f"{person.n_items:,}",
            _number(person.advantage_judge),
            _number(person.advantage_human),
            f"{person.tie_share:.0%}",
            _p_value(person.p_value),
            _p_value(person.exact_p_value),
            Text("yes", style="green") if person.rejected else Text("no", style="red"),
        )
    return table


_TOPICS = {
    "few_annotators": "fewer than three annotators were tested: the winning rate says little",
    "untested_annotators": "some annotators have too few items to be tested",
    "many_ties": "ties on more than 60% of the items: with few items the t-test rejects too "
    "often; compare --method exact",
    "correction": "the result depends on the correction (Benjamini-Hochberg differs)",
    "failures": "failed calls: the outcome counts them as lost",
    "weak_annotators": "the annotators agree weakly, which lets weak judges pass",
    "undeclared_labels": "the label universe was not declared: it is the union of all labels used",
    "strange_labels": "no label of the judge is ever used by an annotator: are they written alike?",
    "not_judged": "not every annotated item was judged",
}


def _footnotes(rows: Sequence[AltTestResult]) -> Text:
    """Say each reason and caution once, with whom it concerns; single results get the figures."""
    text = Text()
    for reason, concerned in _grouped((row, row.outcome_reasons) for row in rows).items():
        text.append(f"  no evidence: {shorten(reason, width=300)}", style="yellow")
        text.append(f"{_whom(concerned, rows)}\n", style="yellow")
    if len(rows) == 1:
        for sentence in rows[0].warnings:
            text.append(f"  note: {shorten(sentence, width=400)}\n", style="dim")
    else:
        codes = ((row, [caution.code for caution in row.cautions]) for row in rows)
        for code, concerned in _grouped(codes).items():
            text.append(f"  note: {_TOPICS[code]}{_whom(concerned, rows)}\n", style="dim")
    text.rstrip()
    return text


def _grouped(
    pairs: Iterable[tuple[AltTestResult, Iterable[str]]],
) -> dict[str, list[AltTestResult]]:
    found: dict[str, list[AltTestResult]] = {}
    for row, topics in pairs:
        for topic in topics:
            found.setdefault(topic, []).append(row)
    return found


def _whom(concerned: Sequence[AltTestResult], rows: Sequence[AltTestResult]) -> str:
    """Name the judges that a note concerns, with the margins unless it concerns all of theirs."""
    if len(concerned) == len(rows):
        return ""
    margins: dict[str, list[float]] = {}
    for row in concerned:
        margins.setdefault(row.judge, []).append(row.epsilon)
    n_epsilons = len({row.epsilon for row in rows})
    if all(len(found) == n_epsilons for found in margins.values()):
        return f": {_listed(list(margins), most=8)}"
    named = [
        f"{shorten(judge, width=_NAME_WIDTH)} at ε {', '.join(f'{e:g}' for e in found)}"
        for judge, found in margins.items()
    ]
    return f": {_listed(named, most=8)}"


def _listed(names: Sequence[str], *, most: int = 4) -> str:
    shown = ", ".join(shorten(name, width=_NAME_WIDTH * 2) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _pooled_table(examination: Examination) -> Table:
    table = Table(
        title="all questions under one false discovery rate",
        title_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for head in ("judge", "alignment"):
        table.add_column(head, overflow="fold", max_width=_NAME_WIDTH)
    table.add_column("ε", justify="right")
    questions = [row.question for row in examination.pooled[0].questions]
    for question in questions:
        table.add_column(f"ω {escape(shorten(question, width=20))}", justify="right")
    for pooled in examination.pooled:
        rates = {row.question: row for row in pooled.questions}
        table.add_row(
            escape(shorten(pooled.judge, width=_NAME_WIDTH)),
            pooled.alignment,
            f"{pooled.epsilon:g}",
            *[_number(rates[question].winning_rate) for question in questions],
        )
    return table


def _legend(results: Sequence[AltTestResult]) -> Text:
    tested = max((row.n_annotators for row in results), default=0)
    agreement = results[0].human_agreement if results else None
    text = Text(style="dim")
    text.append(
        f"ω: share of {tested} annotators that the judge may replace; it passes at .5. "
        "ρ: how often it is at least as close to the others as the one left out.\n"
    )
    if agreement is not None and math.isfinite(agreement.alpha):
        text.append(
            f"Annotators agree with Krippendorff's α = {agreement.alpha:.2f} "
            f"({agreement.confidence_level:.0%} interval {agreement.low:.2f} to "
            f"{agreement.high:.2f}).\n"
        )
    return text


def _dropped(rows: Sequence[Dropped]) -> Text:
    reasons = Counter(shorten(row.reason) for row in rows)
    first = {shorten(row.reason): row for row in reversed(rows)}
    text = Text()
    for reason, count in reasons.most_common(10):
        place = shorten(_place(first[reason]), width=120)
        text.append(f"dropped {count:,}: {reason} (first: {place})\n", style="yellow")
    hidden = len(reasons) - 10
    if hidden > 0:
        text.append(f"and {hidden:,} other reasons; --json lists every row\n", style="yellow")
    text.rstrip()
    return text


def _place(row: Dropped) -> str:
    whose = ", ".join(
        f"{name} {value!r}"
        for name, value in (("rater", row.rater), ("item", row.item), ("value", row.value))
        if value is not None
    )
    return f"{row.place()}: {whose}" if whose else row.place()


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _p_value(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "<.0001" if value < 1e-4 else f"{value:.4f}"
