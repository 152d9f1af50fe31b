"""Read what is drawn from any result: a record, several records, or their JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.words import shorten_label

if TYPE_CHECKING:
    from voirdire.reporting.plots.words import Words

__all__ = [
    "Choice",
    "Sheet",
    "choose",
    "find_controls",
    "make_sheet",
    "read_field",
    "read_list",
    "read_number",
    "read_outcome",
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
    coefficient: str | None = None
    behavior: str | None = None

    @property
    def judges(self) -> Sequence[str] | None:
        """The judges by name."""
        return [self.judge] if isinstance(self.judge, str) else self.judge


# Fields of records and of JSON ----------------------------------------------------------------


def read_field(thing: Any, name: str) -> Any:
    """Read a field of a record, or of the JSON of one; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def read_list(thing: Any, name: str) -> list[Any]:
    """Read a field that holds several; empty where there is none."""
    found = read_field(thing, name)
    return list(found) if isinstance(found, list | tuple) else []


def read_number(thing: Any, name: str) -> float:
    """Read a figure; nan where it is None, or there is none."""
    value = read_field(thing, name)
    return math.nan if value is None else float(value)


def read_outcome(row: Any) -> str:
    """Read how a test ended: "close" for a judge that passes in too few resamples."""
    outcome, uncertainty = read_field(row, "outcome"), read_field(row, "uncertainty")
    is_close = outcome == "passed" and read_number(uncertainty, "stability") <= _STABLE
    return "close" if is_close else outcome


def find_controls(rows: Sequence[Any]) -> list[Any]:
    """Return the controls beside the first judge that has any; other judges have the same."""
    return next((controls for row in rows if (controls := read_list(row, "controls"))), [])


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
        return sorted({read_number(row, "epsilon") for row in self.rows})

    def at_epsilon(self) -> list[Any]:
        """Return the judges at the one margin, the best first."""
        found = [row for row in self.rows if read_number(row, "epsilon") == self.epsilon]
        return sorted(found, key=_rank)

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

    def part(self, name: str, *, kind: str) -> Any:
        """Return `questions[].agreement` or `questions[].diagnosis`, or say why there is none."""
        found = read_field(self.findings, name)
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
        found = [
            row for row in read_list(part, "judges") if self.is_chosen(read_field(row, "judge"))
        ]
        return sorted(
            found, key=lambda row: best_first.get(read_field(row, "judge"), len(best_first))
        )

    def judges(self) -> list[str]:
        """Return the judges' names, the best first."""
        rows = [*self.at_epsilon(), *self.rows]
        return list(dict.fromkeys(read_field(row, "judge") for row in rows))


def make_sheet(result: Any, choice: Choice, *, needs_examinations: str = "") -> Sheet:
    """Choose what is drawn of a result, several, an `Examination`, or the JSON of one.

    Without a choice it is the first question and its first alignment, and of several ε .2 where
    it is among them, else the first. `needs_examinations` names a figure that cannot do without.
    """
    rows, findings = _list_contents(result)
    if needs_examinations and not rows:
        msg = f"`kind` {needs_examinations!r} needs at least one examination, got a result without."
        raise InputError(msg)
    questions = [read_field(each, "question") for each in (*rows, *findings)]
    question = choose(questions, "question", choice.question)
    rows = [row for row in rows if read_field(row, "question") == question]
    alignments = [read_field(row, "alignment") for row in rows]
    alignment = choose(alignments, "alignment", choice.alignment)
    rows = [row for row in rows if read_field(row, "alignment") == alignment]
    findings_of_question = next(
        (each for each in findings if read_field(each, "question") == question), None
    )
    if choice.judges is not None:
        judges = [read_field(row, "judge") for row in rows] or read_list(
            findings_of_question, "judges"
        )
        for name in choice.judges:
            choose(judges, "judge", name)
        rows = [row for row in rows if read_field(row, "judge") in choice.judges]
    return Sheet(
        question=question,
        alignment=alignment,
        rows=rows,
        epsilon=_choose_margin(rows, choice.epsilon),
        findings=findings_of_question,
        choice=choice,
    )


def _list_contents(result: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """List the examinations of a result, and its findings on questions."""
    parts = [read_field(result, name) for name in ("examinations", "questions")]
    if any(isinstance(part, list) for part in parts):
        return parts[0] or [], parts[1] or []
    if isinstance(result, Mapping):
        is_one = "judge" in result and "winning_rate" in result
        return ([result] if is_one else _flatten(list(result.values()), result)), []
    if hasattr(result, "results"):
        return result.results, read_list(result, "questions")
    return _flatten(result if isinstance(result, list | tuple) else [result], result), []


def _flatten(parts: Sequence[Any], given: Any) -> list[Any]:
    rows: list[Any] = []
    for part in parts:
        rows += part if isinstance(part, list | tuple) else [part]
    if any(
        read_field(row, "judge") is None or read_field(row, "annotators") is None for row in rows
    ):
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
    options = list(dict.fromkeys(several))
    if wanted is None:
        return options[0] if options else ""
    if wanted not in options:
        listed = ", ".join(repr(shorten(each, width=40)) for each in options[:10]) or "none"
        more = f" and {len(options) - 10} more" if len(options) > 10 else ""
        msg = f"`{name}` must be one of {listed}{more}, got {shorten(wanted)!r}."
        raise InputError(msg)
    return wanted


def _choose_margin(rows: Sequence[Any], epsilon: float | None) -> float:
    margins = list(dict.fromkeys(read_number(row, "epsilon") for row in rows))
    if epsilon is None:
        return _USUAL_EPSILON if _USUAL_EPSILON in margins else next(iter(margins), math.nan)
    found = next((each for each in margins if math.isclose(each, epsilon, abs_tol=1e-9)), None)
    if found is None and margins:
        listed = ", ".join(f"{each:g}" for each in sorted(margins)[:20])
        msg = f"`epsilon` must be one of {listed}, got {shorten(epsilon)}."
        raise InputError(msg)
    return math.nan if found is None else found


def _rank(row: Any) -> float:
    advantage = read_number(row, "advantage_probability")
    return math.inf if math.isnan(advantage) else -advantage
