"""Read any result, or its JSON, into its record, and choose what of it is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.reporting.as_json import examination_from_json
from voirdire.reporting.json_reading import read_record
from voirdire.reporting.plots.words import shorten_label
from voirdire.stats import AltTestResult, PowerResult
from voirdire.studies import Examination, GoldExamination, GoldResult

if TYPE_CHECKING:
    from voirdire.reporting.plots.words import Words
    from voirdire.stats import ControlResult
    from voirdire.studies import QuestionFindings

__all__ = [
    "Choice",
    "Sheet",
    "choose",
    "find_controls",
    "make_sheet",
    "read_outcome",
    "read_result",
    "require",
]

_USUAL_EPSILON = 0.2
_STABLE = 0.9
"""A judge that passes in a smaller share of resamples has passed closely."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is drawn of several, as of `plot`; None is the first, or all."""

    epsilon: float | None = None
    alignment: str | None = None
    question: str | None = None
    judge: str | Sequence[str] | None = None
    behavior: str | None = None

    @property
    def judges(self) -> Sequence[str] | None:
        """The judges by name."""
        return [self.judge] if isinstance(self.judge, str) else self.judge

    def has_judge(self, name: str) -> bool:
        """Tell whether a judge is to be drawn."""
        return self.judges is None or name in self.judges


def require(parts: Any, message: str) -> None:
    """Raise InputError where a figure has nothing to show."""
    if not parts:
        raise InputError(message)


def read_result(result: Any) -> Any:
    """Read the JSON of a result into its record; anything else stays as it is."""
    if not isinstance(result, Mapping):
        return result
    if any(isinstance(result.get(name), list) for name in ("examinations", "questions")):
        return examination_from_json({"examinations": [], **result})
    if "judge" in result and "winning_rate" in result:
        return examination_from_json({"examinations": [result]})
    read = partial(read_record, source="result", made_by="Draw what voirdire wrote")
    if "wanted_power" in result:
        return read(PowerResult, result)
    rows = result.get("results") or ()
    first = rows[0] if isinstance(rows, list) else None
    if isinstance(first, Mapping) and "classification" in first:
        return GoldExamination(results=tuple(read(GoldResult, row) for row in rows))
    return result


# Examinations ---------------------------------------------------------------------------------


def read_outcome(row: AltTestResult) -> str:
    """Read how a test ended: "close" for a judge that passes in too few resamples."""
    stability = math.nan if row.uncertainty is None else row.uncertainty.stability
    return "close" if row.outcome == "passed" and stability <= _STABLE else row.outcome


def find_controls(rows: Sequence[AltTestResult]) -> Sequence[ControlResult]:
    """Return the controls beside the first judge that has any; other judges have the same."""
    return next((row.controls for row in rows if row.controls), ())


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One question under one alignment.

    Attributes
    ----------
    question, alignment : str
        Which; empty where the result has no examinations.
    rows : list of AltTestResult
        The examinations of every judge and ε that is to be drawn.
    epsilon : float
        The margin of figures that show one; nan without examinations.
    findings : QuestionFindings or None
        The findings on the question beside the test.
    choice : Choice
        What was asked for.
    """

    question: str
    alignment: str
    rows: list[AltTestResult] = field(repr=False)
    epsilon: float
    findings: QuestionFindings | None = field(repr=False)
    choice: Choice

    @property
    def epsilons(self) -> list[float]:
        """Every margin, smallest first."""
        return sorted({row.epsilon for row in self.rows})

    def at_epsilon(self) -> list[AltTestResult]:
        """Return the judges at the one margin, the best first."""
        return sorted((row for row in self.rows if row.epsilon == self.epsilon), key=_rank)

    def heading(self, say: Words, *, with_epsilon: bool = True) -> str:
        """Name what was examined."""
        names = {
            "question": shorten_label(self.question),
            "alignment": shorten_label(self.alignment, width=20),
        }
        text = say("of_question", **names)
        if with_epsilon and math.isfinite(self.epsilon):
            margin = say("at_epsilon", epsilon=say.digits(self.epsilon))
            return say("with_detail", title=text, detail=margin)
        return text

    def judges(self) -> list[str]:
        """Return the judges' names, the best first."""
        return list(dict.fromkeys(row.judge for row in (*self.at_epsilon(), *self.rows)))


def make_sheet(result: Any, choice: Choice, *, needs_examinations: str = "") -> Sheet:
    """Choose what is drawn of an `Examination`, or of one or more results of `alt_test`.

    Without a choice it is the first question and its first alignment, and of several ε .2 where
    it is among them, else the first. `needs_examinations` names a figure that cannot do without.
    """
    rows, findings = _list_contents(result)
    if needs_examinations:
        wanted = f"`kind` {needs_examinations!r} needs at least one examination"
        require(rows, f"{wanted}, got a result without.")
    named: list[Any] = [*rows, *findings]
    question = choose([each.question for each in named], "question", choice.question)
    rows = [row for row in rows if row.question == question]
    alignment = choose([row.alignment for row in rows], "alignment", choice.alignment)
    rows = [row for row in rows if row.alignment == alignment]
    own = next((each for each in findings if each.question == question), None)
    judges = [row.judge for row in rows] or list(own.judges if own else ())
    for name in choice.judges or ():
        choose(judges, "judge", name)
    rows = [row for row in rows if choice.has_judge(row.judge)]
    return Sheet(
        question=question,
        alignment=alignment,
        rows=rows,
        epsilon=_choose_margin(rows, choice.epsilon),
        findings=own,
        choice=choice,
    )


def _list_contents(
    result: Any,
) -> tuple[Sequence[AltTestResult], Sequence[QuestionFindings]]:
    """List the examinations of a result, and its findings on questions."""
    if isinstance(result, Examination):
        return result.results, result.questions
    parts = result.values() if isinstance(result, Mapping) else result
    parts = parts if isinstance(result, Mapping | list | tuple) else [result]
    rows = [row for part in parts for row in (part if isinstance(part, list | tuple) else [part])]
    rows = [each for row in rows for each in _read_row(row, result)]
    require(rows, f"`result` must hold at least one examination, got {shorten(result)}.")
    return rows, ()


def _read_row(row: Any, result: Any) -> Sequence[AltTestResult]:
    if isinstance(row, Mapping):
        return examination_from_json({"examinations": [row]}).results
    require(
        isinstance(row, AltTestResult),
        "`result` must be what `alt_test` or `examine` returns, or the parsed JSON of `voirdire "
        f"examine --json`, got {shorten(result)}.",
    )
    return [row]


def choose(several: Sequence[str], name: str, wanted: str | None) -> str:
    """Return the wanted one of several, or the first.

    Raises
    ------
    InputError
        If it is not among them.
    """
    options = list(dict.fromkeys(several))
    if wanted is None:
        return options[0] if options else ""
    listed = ", ".join(repr(shorten(each, width=40)) for each in options[:10]) or "none"
    more = f" and {len(options) - 10} more" if len(options) > 10 else ""
    rule = f"`{name}` must be one of {listed}{more}"
    require(wanted in options, f"{rule}, got {shorten(wanted)!r}.")
    return wanted


def _choose_margin(rows: Sequence[AltTestResult], epsilon: float | None) -> float:
    margins = list(dict.fromkeys(row.epsilon for row in rows))
    if epsilon is None or not margins:
        return _USUAL_EPSILON if _USUAL_EPSILON in margins else next(iter(margins), math.nan)
    near = [each for each in margins if math.isclose(each, epsilon, abs_tol=1e-9)]
    listed = ", ".join(f"{each:g}" for each in sorted(margins)[:20])
    require(near, f"`epsilon` must be one of {listed}, got {shorten(epsilon)}.")
    return near[0]


def _rank(row: AltTestResult) -> float:
    return math.inf if math.isnan(row.advantage_probability) else -row.advantage_probability
