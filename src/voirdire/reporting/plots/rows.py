"""What is drawn, as plain rows: any result becomes the dicts that `examine --json` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.reporting.plots.words import label

if TYPE_CHECKING:
    from voirdire.reporting.plots.words import Words

__all__ = [
    "Contents",
    "Sheet",
    "choose",
    "contents_of",
    "controls_of",
    "field_of",
    "number",
    "sheet_of",
]

_USUAL_EPSILON = 0.2
_STABLE = 0.9
"""A judge that passes in a smaller share of resamples has passed, but it was close."""

_RESULT_FIELDS = (
    "question",
    "judge",
    "alignment",
    "epsilon",
    "epsilon_mode",
    "winning_rate",
    "outcome",
    "advantage_probability",
    "human_advantage",
)
_ANNOTATOR_FIELDS = ("annotator", "advantage_judge", "advantage_human", "rejected")
_CONTROL_FIELDS = ("control", "label", "winning_rate", "advantage_probability")


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One question under one alignment.

    Attributes
    ----------
    question, alignment : str
        Which; empty where the result has no examinations.
    rows : list of dict
        The examinations of every judge and ε.
    epsilon : float
        The margin of figures that show one; nan without examinations.
    findings : dict or None
        What was found on the question besides: `questions[]` of the JSON.
    """

    question: str
    alignment: str
    rows: list[dict[str, Any]] = field(repr=False)
    epsilon: float
    findings: dict[str, Any] | None = field(repr=False)

    @property
    def epsilons(self) -> list[float]:
        """Every margin, smallest first."""
        return sorted({row["epsilon"] for row in self.rows})

    def at_epsilon(self) -> list[dict[str, Any]]:
        """Return the judges at the one margin, the best first."""
        found = [row for row in self.rows if row["epsilon"] == self.epsilon]
        return sorted(found, key=_rank)

    def heading(self, say: Words, *, with_epsilon: bool = True) -> str:
        """Name what was examined."""
        names = {"question": label(self.question), "alignment": label(self.alignment, width=20)}
        text = say("of_question", **names)
        if with_epsilon and math.isfinite(self.epsilon):
            margin = say("at_epsilon", epsilon=say.digits(self.epsilon))
            return say("with_detail", title=text, detail=margin)
        return text

    def part(self, name: str, *, kind: str) -> dict[str, Any]:
        """Return `questions[].agreement` or `questions[].diagnosis`, or say why there is none."""
        found = None if self.findings is None else self.findings.get(name)
        if not found:
            msg = f"`kind` {kind!r} needs the question's {name}, got "
            msg += (
                "a result without it. Draw what `voirdire.examine` returns, or what `voirdire "
                "examine --json` prints."
                if self.findings is None
                else "none for this question: its labels, or their number, do not allow it."
            )
            raise InputError(msg)
        return dict(found)

    def judges_in(self, part: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what a part found on each judge that is to be drawn, the best judge first."""
        only = (self.findings or {}).get("only_judges")
        best_first = {name: place for place, name in enumerate(self.judges())}
        found = [each for each in part["judges"] if only is None or each["judge"] in only]
        return sorted(found, key=lambda each: best_first.get(each["judge"], len(best_first)))

    def judges(self) -> list[str]:
        """Return the judges' names, the best first."""
        best_first = [row["judge"] for row in self.at_epsilon()]
        return list(dict.fromkeys([*best_first, *(row["judge"] for row in self.rows)]))


def number(value: Any) -> float:
    """Read a figure; None is nan."""
    return math.nan if value is None else float(value)


def controls_of(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the controls beside the first judge that has any; other judges have the same."""
    return next((list(row["controls"]) for row in rows if row["controls"]), [])


class Contents:
    """Whatever came, sorted by question, so that a figure reads no more than its own question.

    Parameters
    ----------
    examinations : sequence
        Results or their dicts.
    findings : sequence, optional
        `questions[]` of the JSON, or what becomes that.
    """

    def __init__(self, examinations: Sequence[Any], findings: Sequence[Any] = ()) -> None:
        self._raw: dict[str, list[Any]] = {}
        for row in examinations:
            self._raw.setdefault(field_of(row, "question"), []).append(row)
        self._findings: dict[str, Any] = {}
        for found in findings:
            self._findings.setdefault(field_of(found, "question"), found)
        self._read: dict[tuple[str, str], list[dict[str, Any]]] = {}

    @property
    def questions(self) -> list[str]:
        """Their names, those with examinations first."""
        return list(dict.fromkeys([*self._raw, *self._findings]))

    def alignments(self, question: str) -> list[str]:
        """Return under which alignments a question was examined."""
        return list(
            dict.fromkeys(field_of(row, "alignment") for row in self._raw.get(question, ()))
        )

    def rows(self, question: str, alignment: str) -> list[dict[str, Any]]:
        """Return the examinations of a question under an alignment; read once."""
        at = (question, alignment)
        if at not in self._read:
            rows = self._raw.get(question, ())
            self._read[at] = [
                _examination(r) for r in rows if field_of(r, "alignment") == alignment
            ]
        return self._read[at]

    def findings(self, question: str) -> dict[str, Any] | None:
        """Return what was found on a question besides."""
        found = self._findings.get(question)
        return None if found is None else _plain(found)


def sheet_of(
    result: Any,
    *,
    question: str | None = None,
    alignment: str | None = None,
    epsilon: float | None = None,
    judge: str | Sequence[str] | None = None,
) -> Sheet:
    """Choose what is drawn, of any result or of `Contents`.

    Without a choice it is the first question and its first alignment, and of several ε .2 where
    it is among them, else the first.
    """
    contents = result if isinstance(result, Contents) else contents_of(result)
    question = choose(contents.questions, "question", question)
    alignment = choose(contents.alignments(question), "alignment", alignment)
    rows, found = contents.rows(question, alignment), contents.findings(question)
    if judge is not None:
        rows, found = _of_judges([judge] if isinstance(judge, str) else judge, rows, found)
    return Sheet(
        question=question,
        alignment=alignment,
        rows=rows,
        epsilon=_margin(rows, epsilon),
        findings=found,
    )


def contents_of(result: Any) -> Contents:
    """Sort whatever came: a result, several, an `Examination`, or the JSON of one.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if isinstance(result, Mapping):
        parts = (result.get("examinations"), result.get("questions"))
        if any(isinstance(part, list) for part in parts):
            return Contents(parts[0] or [], parts[1] or [])
        if "judge" in result and "winning_rate" in result:
            return Contents([result])
        return Contents(_flat(list(result.values()), result))
    if hasattr(result, "results"):
        return Contents(result.results, getattr(result, "questions", ()))
    if isinstance(result, list | tuple):
        return Contents(_flat(result, result))
    return Contents(_flat([result], result))


def _flat(parts: Sequence[Any], given: Any) -> list[Any]:
    rows: list[Any] = []
    for part in parts:
        several = part if isinstance(part, list | tuple) else [part]
        for row in several:
            if field_of(row, "judge") is None or field_of(row, "annotators") is None:
                msg = (
                    "`result` must be what `alt_test` or `examine` returns, or the parsed JSON "
                    f"of `voirdire examine --json`, got {shorten(given)}."
                )
                raise InputError(msg)
            rows.append(row)
    if not rows:
        msg = f"`result` must hold at least one examination, got {shorten(given)}."
        raise InputError(msg)
    return rows


def _examination(row: Any) -> dict[str, Any]:
    """Read the figures that plots need: `as_dict` would compute every exact p-value."""
    figures = {name: field_of(row, name) for name in _RESULT_FIELDS}
    figures["epsilon"] = float(figures["epsilon"])
    uncertainty = field_of(row, "uncertainty")
    stability = number(field_of(uncertainty, "stability"))
    if figures["outcome"] == "passed" and stability <= _STABLE:
        figures["outcome"] = "close"
    return figures | {
        "annotators": [_part(person, _ANNOTATOR_FIELDS) for person in field_of(row, "annotators")],
        "controls": [
            _part(control, _CONTROL_FIELDS) for control in field_of(row, "controls") or ()
        ],
        "uncertainty": None if uncertainty is None else _plain(uncertainty),
    }


def _part(thing: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: field_of(thing, name) for name in names}


def field_of(thing: Any, name: str) -> Any:
    """Read a field of a record, or of the JSON of one; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _plain(thing: Any) -> dict[str, Any]:
    if isinstance(thing, Mapping):
        return dict(thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        return dict(as_plain(thing))
    msg = f"`result` must hold plain records, got {shorten(thing)}."
    raise InputError(msg)


def choose(known: list[str], name: str, wanted: str | None) -> str:
    """Return the wanted one of several, or the first.

    Raises
    ------
    InputError
        If it is not among them.
    """
    if wanted is None:
        return known[0] if known else ""
    if wanted not in known:
        raise InputError(_not_among(name, known, wanted))
    return wanted


def _not_among(name: str, known: Sequence[Any], wanted: Any) -> str:
    listed = ", ".join(repr(shorten(each, width=40)) for each in known[:10]) or "none"
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""
    return f"`{name}` must be one of {listed}{more}, got {shorten(wanted)!r}."


def _of_judges(
    wanted: Sequence[str], rows: list[dict[str, Any]], findings: dict[str, Any] | None
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    known = list(dict.fromkeys(row["judge"] for row in rows))
    if not known and findings is not None:
        known = list(findings.get("judges") or ())
    for name in wanted:
        if name not in known:
            raise InputError(_not_among("judge", known, name))
    if findings is not None:
        findings = findings | {"only_judges": list(wanted)}
    return [row for row in rows if row["judge"] in wanted], findings


def _margin(rows: list[dict[str, Any]], epsilon: float | None) -> float:
    known = list(dict.fromkeys(row["epsilon"] for row in rows))
    if not known:
        return math.nan
    if epsilon is None:
        return _USUAL_EPSILON if _USUAL_EPSILON in known else float(known[0])
    found = next((each for each in known if math.isclose(each, epsilon, abs_tol=1e-9)), None)
    if found is None:
        listed = ", ".join(f"{each:g}" for each in sorted(known)[:20])
        msg = f"`epsilon` must be one of {listed}, got {shorten(epsilon)}."
        raise InputError(msg)
    return float(found)


def _rank(row: Mapping[str, Any]) -> float:
    advantage = number(row["advantage_probability"])
    return math.inf if math.isnan(advantage) else -advantage
