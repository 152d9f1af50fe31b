"""What is drawn, read from any result: a record, several, or what `examine --json` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.words import label

if TYPE_CHECKING:
    from voirdire.reporting.plots.words import Words

__all__ = [
    "Choice",
    "Sheet",
    "choose",
    "controls_of",
    "field_of",
    "list_of",
    "number",
    "outcome_of",
    "sheet_of",
]

_USUAL_EPSILON = 0.2
_STABLE = 0.9
"""A judge that passes in a smaller share of resamples has passed, but it was close."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is drawn of several, as of `plot`; None is the first, or all."""

    epsilon: float | None = None
    alignment: str | None = None
    question: str | None = None
    judge: str | Sequence[str] | None = None
    coefficient: str | None = None
    behavior: str | None = None

    @property
    def judges(self) -> Sequence[str] | None:
        """The judges by name."""
        return [self.judge] if isinstance(self.judge, str) else self.judge


# Fields of records and of JSON ----------------------------------------------------------------


def field_of(thing: Any, name: str) -> Any:
    """Read a field of a record, or of the JSON of one; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def list_of(thing: Any, name: str) -> list[Any]:
    """Read a field that holds several; empty where there is none."""
    found = field_of(thing, name)
    return list(found) if isinstance(found, list | tuple) else []


def number(thing: Any, name: str) -> float:
    """Read a figure; nan where it is None, or there is none."""
    value = field_of(thing, name)
    return math.nan if value is None else float(value)


def outcome_of(row: Any) -> str:
    """Read how a test ended: "close" for a judge that passes in too few resamples."""
    outcome, uncertainty = field_of(row, "outcome"), field_of(row, "uncertainty")
    is_close = outcome == "passed" and number(uncertainty, "stability") <= _STABLE
    return "close" if is_close else outcome


def controls_of(rows: Sequence[Any]) -> list[Any]:
    """Return the controls beside the first judge that has any; other judges have the same."""
    return next((found for row in rows if (found := list_of(row, "controls"))), [])


# Examinations ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One question under one alignment.

    Attributes
    ----------
    question, alignment : str
        Which; empty where the result has no examinations.
    rows : list
        The examinations of every judge and ε that is to be drawn.
    epsilon : float
        The margin of figures that show one; nan without examinations.
    findings : record, mapping or None
        What was found on the question besides: `questions[]` of the JSON.
    choice : Choice
        What was asked for.
    """

    question: str
    alignment: str
    rows: list[Any] = field(repr=False)
    epsilon: float
    findings: Any = field(repr=False)
    choice: Choice

    @property
    def epsilons(self) -> list[float]:
        """Every margin, smallest first."""
        return sorted({number(row, "epsilon") for row in self.rows})

    def at_epsilon(self) -> list[Any]:
        """Return the judges at the one margin, the best first."""
        found = [row for row in self.rows if number(row, "epsilon") == self.epsilon]
        return sorted(found, key=_rank)

    def heading(self, say: Words, *, with_epsilon: bool = True) -> str:
        """Name what was examined."""
        names = {"question": label(self.question), "alignment": label(self.alignment, width=20)}
        text = say("of_question", **names)
        if with_epsilon and math.isfinite(self.epsilon):
            margin = say("at_epsilon", epsilon=say.digits(self.epsilon))
            return say("with_detail", title=text, detail=margin)
        return text

    def part(self, name: str, *, kind: str) -> Any:
        """Return `questions[].agreement` or `questions[].diagnosis`, or say why there is none."""
        found = field_of(self.findings, name)
        if not found:
            msg = f"`kind` {kind!r} needs the question's {name}, got "
            msg += (
                "a result without it. Draw what `voirdire.examine` returns, or what `voirdire "
                "examine --json` prints."
                if self.findings is None
                else "none for this question: its labels, or their number, do not allow it."
            )
            raise InputError(msg)
        return found

    def is_chosen(self, judge: str) -> bool:
        """Tell whether a judge is to be drawn."""
        return self.choice.judges is None or judge in self.choice.judges

    def judges_in(self, part: Any) -> list[Any]:
        """Return what a part found on each judge that is to be drawn, the best judge first."""
        best_first = {name: place for place, name in enumerate(self.judges())}
        found = [row for row in list_of(part, "judges") if self.is_chosen(field_of(row, "judge"))]
        return sorted(
            found, key=lambda row: best_first.get(field_of(row, "judge"), len(best_first))
        )

    def judges(self) -> list[str]:
        """Return the judges' names, the best first."""
        rows = [*self.at_epsilon(), *self.rows]
        return list(dict.fromkeys(field_of(row, "judge") for row in rows))


def sheet_of(result: Any, choice: Choice, *, needs_examinations: str = "") -> Sheet:
    """Choose what is drawn of a result, several, an `Examination`, or the JSON of one.

    Without a choice it is the first question and its first alignment, and of several ε .2 where
    it is among them, else the first. `needs_examinations` names a figure that cannot do without.
    """
    rows, findings = _contents(result)
    if needs_examinations and not rows:
        msg = f"`kind` {needs_examinations!r} needs at least one examination, got a result without."
        raise InputError(msg)
    questions = [field_of(each, "question") for each in (*rows, *findings)]
    question = choose(questions, "question", choice.question)
    rows = [row for row in rows if field_of(row, "question") == question]
    known = [field_of(row, "alignment") for row in rows]
    alignment = choose(known, "alignment", choice.alignment)
    rows = [row for row in rows if field_of(row, "alignment") == alignment]
    found = next((each for each in findings if field_of(each, "question") == question), None)
    if choice.judges is not None:
        judges = [field_of(row, "judge") for row in rows] or list_of(found, "judges")
        for name in choice.judges:
            choose(judges, "judge", name)
        rows = [row for row in rows if field_of(row, "judge") in choice.judges]
    return Sheet(
        question=question,
        alignment=alignment,
        rows=rows,
        epsilon=_margin(rows, choice.epsilon),
        findings=found,
        choice=choice,
    )


def _contents(result: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """List the examinations of whatever came, and what was found besides."""
    parts = [field_of(result, name) for name in ("examinations", "questions")]
    if any(isinstance(part, list) for part in parts):
        return parts[0] or [], parts[1] or []
    if isinstance(result, Mapping):
        is_one = "judge" in result and "winning_rate" in result
        return ([result] if is_one else _flat(list(result.values()), result)), []
    if hasattr(result, "results"):
        return result.results, list_of(result, "questions")
    return _flat(result if isinstance(result, list | tuple) else [result], result), []


def _flat(parts: Sequence[Any], given: Any) -> list[Any]:
    rows: list[Any] = []
    for part in parts:
        rows += part if isinstance(part, list | tuple) else [part]
    if any(field_of(row, "judge") is None or field_of(row, "annotators") is None for row in rows):
        msg = (
            "`result` must be what `alt_test` or `examine` returns, or the parsed JSON "
            f"of `voirdire examine --json`, got {shorten(given)}."
        )
        raise InputError(msg)
    if not rows:
        msg = f"`result` must hold at least one examination, got {shorten(given)}."
        raise InputError(msg)
    return rows


def choose(several: Sequence[str], name: str, wanted: str | None) -> str:
    """Return the wanted one of several, or the first.

    Raises
    ------
    InputError
        If it is not among them.
    """
    known = list(dict.fromkeys(several))
    if wanted is None:
        return known[0] if known else ""
    if wanted not in known:
        listed = ", ".join(repr(shorten(each, width=40)) for each in known[:10]) or "none"
        more = f" and {len(known) - 10} more" if len(known) > 10 else ""
        msg = f"`{name}` must be one of {listed}{more}, got {shorten(wanted)!r}."
        raise InputError(msg)
    return wanted


def _margin(rows: Sequence[Any], epsilon: float | None) -> float:
    known = list(dict.fromkeys(number(row, "epsilon") for row in rows))
    if epsilon is None:
        return _USUAL_EPSILON if _USUAL_EPSILON in known else next(iter(known), math.nan)
    found = next((each for each in known if math.isclose(each, epsilon, abs_tol=1e-9)), None)
    if found is None and known:
        listed = ", ".join(f"{each:g}" for each in sorted(known)[:20])
        msg = f"`epsilon` must be one of {listed}, got {shorten(epsilon)}."
        raise InputError(msg)
    return math.nan if found is None else found


def _rank(row: Any) -> float:
    advantage = number(row, "advantage_probability")
    return math.inf if math.isnan(advantage) else -advantage
