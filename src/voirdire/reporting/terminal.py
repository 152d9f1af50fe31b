"""An examination as tables for a terminal: the verdict first, then what it rests on."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.text import Text

from voirdire._messages import shorten
from voirdire.reporting.notes import (
    MOST_NOTES,
    cautions,
    dropped_note,
    is_lenient,
    legend,
)
from voirdire.reporting.number_formats import decimal, margin, p_value, percent
from voirdire.reporting.pages.speech import one_line
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from voirdire.stats import AltTestResult, ControlResult
    from voirdire.studies import Examination

__all__ = ["ExaminationTables"]

_STYLES = {"passed": "bold green", "failed": "red", "no_evidence": "yellow"}
_MARKS = {"passed": "✓", "failed": "✗", "no_evidence": "?"}
_WORDS = {"passed": "✓ passed", "failed": "✗ failed", "no_evidence": "? no evidence"}
_NAME_WIDTH = 32
_MOST_ACROSS = 6
"""Questions that a pooled table has a column for; more of them go down the page."""
_OUTCOME_WIDTH, _RATE_WIDTH = 28, 7
_INTERVAL = "interval"
_SMALLEST = "from ε"
_FIGURES = {"ρ": 6, "ρ human": 9, "items": 7, "failed": 8, _INTERVAL: 14, _SMALLEST: 8}
"""Columns beside ω with the room that they take, the more important ones first."""
_number = partial(decimal, leading_zero=True)
_ORDER = (_SMALLEST, "ρ", _INTERVAL, "ρ human", "items", "failed")


class ExaminationTables:
    """An examination laid out for `rich`: print it with `rich.print` or a `Console`.

    One line per judge and question, judges ranked by ρ; then, once each, what weakens the
    figures, what the columns mean and what was dropped. Fits eighty columns by leaving columns
    out.

    Parameters
    ----------
    examination : Examination
        What was found.
    details : bool, optional
        Whether to show each question by itself with its controls and every annotator of
        every judge, and all that weakens the figures.
    """

    def __init__(self, examination: Examination, *, details: bool = False) -> None:
        self._examination = examination
        self._details = details

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield tables and notes that fit the width of the console."""
        examination = self._examination
        tables = [_judge_table([*examination.results], width=options.max_width)]
        if self._details:
            tables = []
            for rows in _families(examination.results):
                tables.append(_judge_table(rows, width=options.max_width, has_controls=True))
                yield tables[-1]
                yield ""
                for row in rows:
                    yield _annotator_table(row)
                    yield ""
            if examination.pooled:
                yield _pooled_table(examination)
                yield ""
        else:
            yield tables[0]
            yield ""
        yield cautions(examination, most=None if self._details else MOST_NOTES)
        heads = {str(column.header) for table in tables for column in table.columns}
        yield legend(heads)
        if examination.dropped:
            yield dropped_note(examination.dropped)


def _families(results: Iterable[AltTestResult]) -> list[list[AltTestResult]]:
    families: dict[tuple[str, str], list[AltTestResult]] = {}
    for row in results:
        families.setdefault((row.question, row.alignment), []).append(row)
    return list(families.values())


def _judge_table(rows: Sequence[AltTestResult], *, width: int, has_controls: bool = False) -> Table:
    epsilons = sorted({row.epsilon for row in rows})
    families = _families(rows)
    named = {
        name: len({getattr(row, name) for row in rows}) > 1 for name in ("question", "alignment")
    }
    names = [name for name, is_column in named.items() if is_column]
    words = [*names, "judge", *(["outcome"] if len(epsilons) == 1 else [])]
    rates = [f"ε {margin(epsilon)}" for epsilon in epsilons]
    if len(epsilons) == 1:
        rates = [f"ω at ε {epsilons[0]:g}"]
    taken = sum(_longest(rows, name) + 2 for name in [*names, "judge"])
    taken += _OUTCOME_WIDTH if len(epsilons) == 1 else _RATE_WIDTH * len(epsilons)
    kept = _kept_figures(rows, width - taken)
    title = _title(rows[0], without=names)
    table = plain_table([*words, *rates, *kept], words=words, title=title)
    for family in families:
        about = [_name(getattr(family[0], x)) for x in names]
        for judge, by_epsilon in _ranked(family):
            figures = _figures(next(iter(by_epsilon.values())))
            cells = _judge_cells(judge, by_epsilon, epsilons)
            table.add_row(*about, *cells, *(figures[head] for head in kept))
        if has_controls:
            table.add_section()
            for control, advantage in _control_cells(family, epsilons):
                table.add_row(
                    *control, *(advantage if head == "ρ" else "" for head in kept), style="dim"
                )
    return table


def _longest(rows: Sequence[AltTestResult], name: str) -> int:
    longest = max(len(shorten(getattr(row, name), width=_NAME_WIDTH)) for row in rows)
    return min(max(longest, len(name)), _NAME_WIDTH)


def _kept_figures(rows: Sequence[AltTestResult], room: int) -> list[str]:
    """Choose the columns that fit, the more important ones first, and put them in order."""
    kept = []
    for head, width in _FIGURES.items():
        resampled = any(row.uncertainty for row in rows)
        useless = head in (_INTERVAL, _SMALLEST) and not resampled
        useless |= head == "failed" and not any(row.worst_case.n_failures for row in rows)
        if not useless and (head == "ρ" or room >= width):
            kept.append(head)
            room -= width
    return sorted(kept, key=list(_ORDER).index)


def _figures(row: AltTestResult) -> dict[str, str]:
    """Write the figures of a judge that do not depend on ε."""
    failures, uncertainty = row.worst_case.n_failures, row.uncertainty
    interval = ""
    if uncertainty is not None and math.isfinite(uncertainty.advantage_low):
        interval = f"{uncertainty.advantage_low:.2f} to {uncertainty.advantage_high:.2f}"
    smallest = row.smallest_epsilon
    return {
        _SMALLEST: "" if smallest is None else f"{smallest:.3f}",
        "ρ": _number(row.advantage_probability),
        _INTERVAL: interval,
        "ρ human": _number(row.human_advantage),
        "items": f"{row.n_items:,}",
        "failed": f"{failures:,}" if failures else "",
    }


def _title(row: AltTestResult, *, without: Sequence[str]) -> str:
    """Say what holds of all rows of a table; `without` names what they differ in."""
    words = [f"{row.epsilon_mode} ε"]
    if "alignment" not in without:
        words.insert(0, row.alignment)
    settings = row.settings
    given = {
        "weights": f"{settings.get('weights')} weights",
        "quality": "annotators weighted by quality",
        "expert": f"against the expert {shorten(settings.get('expert'), width=30)}",
        "gold": "against gold labels",
        "n_clusters": f"{settings.get('n_clusters')} clusters",
    }
    words += [phrase for name, phrase in given.items() if settings.get(name)]
    question = "" if "question" in without else f"{shorten(row.question, width=60)}: "
    return escape(question + ", ".join(words))


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
    cells: list[RenderableType] = [_name(judge)]
    if len(epsilons) == 1:
        cells.append(Text(_WORDS[first.outcome], style=_STYLES[first.outcome]))
        cells.append(_number(_deciding(first)))
    else:
        cells += [_marked(by_epsilon[epsilon]) for epsilon in epsilons]
    return cells


def _deciding(row: AltTestResult) -> float:
    """Take the ω that the outcome goes by: failures are dropped or lost, whichever is worse."""
    if not row.worst_case.n_failures or math.isnan(row.winning_rate):
        return row.winning_rate
    return min(row.winning_rate, row.worst_case.winning_rate)


def _marked(row: AltTestResult) -> Text:
    text = f"{_short(_deciding(row))} {_MARKS[row.outcome]}"
    return Text(text, style=_STYLES[row.outcome])


def _control_cells(
    rows: Sequence[AltTestResult], epsilons: Sequence[float]
) -> list[tuple[list[Any], str]]:
    by_epsilon: dict[float, dict[str, ControlResult]] = {}
    for row in rows:
        by_epsilon.setdefault(row.epsilon, {c.control: c for c in row.controls})
    lines = []
    for control in by_epsilon[epsilons[0]]:
        controls = [by_epsilon[epsilon][control] for epsilon in epsilons]
        name = control.removesuffix("_vote")
        if control == "constant":
            name = f"always {escape(shorten(controls[-1].label or '', width=20))!s}"
        rates = [f"{_short(c.winning_rate)} {'!' if is_lenient(c) else ' '}" for c in controls]
        cells = [f"control: {name}"]
        if len(epsilons) == 1:
            cells += [
                "! passes" if is_lenient(controls[0]) else "",
                _number(controls[0].winning_rate),
            ]
        else:
            cells += rates
        lines.append((cells, _number(controls[-1].advantage_probability)))
    return lines


def _annotator_table(row: AltTestResult) -> Table:
    judge = escape(shorten(row.judge, width=40))
    uncertainty = row.uncertainty
    again = ""
    if uncertainty is not None and math.isfinite(uncertainty.stability):
        again = f"; ω ≥ .5 in {uncertainty.stability:.0%} of resamples"
    figures = ("items", "ρ judge", "ρ human", "ties", "p", "p exact")
    words = ("annotator", "judge wins")
    title = f"{judge} against each annotator, ε = {row.epsilon:g}{again}"
    table = plain_table((words[0], *figures, words[1]), words=words, title=title, style="dim")
    for person in row.annotators:
        table.add_row(
            _name(person.annotator),
            f"{person.n_items:,}",
            _number(person.advantage_judge),
            _number(person.advantage_human),
            percent(person.tie_share),
            p_value(person.p_value, digits=4),
            p_value(person.exact_p_value, digits=4),
            Text("yes", style="green") if person.rejected else Text("no", style="red"),
        )
    return table


def _pooled_table(examination: Examination) -> Table:
    questions = dict.fromkeys(row.question for each in examination.pooled for row in each.questions)
    is_down = len(questions) > _MOST_ACROSS
    words, heads = ["judge", "alignment"], [f"ω {_question(name)}" for name in questions]
    if is_down:
        words, heads = [*words, "question"], ["ω"]
    rows: list[list[str]] = []
    for pooled in examination.pooled:
        judge = _name(pooled.judge)
        about = [judge, pooled.alignment, f"{pooled.epsilon:g}"]
        rates = {row.question: _number(row.winning_rate) for row in pooled.questions}
        if is_down:
            rows += [[*about, _question(name), rate] for name, rate in rates.items()]
        else:
            rows.append([*about, *(rates.get(name, "–") for name in questions)])
    title = "all questions under one false discovery rate"
    return plain_table([*words[:2], "ε", *words[2:], *heads], rows, words=words, title=title)


def _short(value: float) -> str:
    """Write a rate in a narrow column: whole numbers as they are."""
    return decimal(value, digits=0 if value in (0, 1) else 2)


def _question(name: str) -> str:
    return escape(shorten(name, width=20))


def _name(text: str) -> str:
    return escape(one_line(text, width=_NAME_WIDTH, both_ends=True))
