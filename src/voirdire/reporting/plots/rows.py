"""What is drawn, as plain rows: any result becomes the dicts that `examine --json` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from voirdire._validation import shorten
from voirdire.errors import InputError

__all__ = ["Sheet", "controls_of", "number", "sheet_of"]

_USUAL_EPSILON = 0.2

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


def sheet_of(
    result: Any,
    *,
    question: str | None = None,
    alignment: str | None = None,
    epsilon: float | None = None,
    judge: str | Sequence[str] | None = None,
) -> Sheet:
    """Choose what is drawn.

    Without a choice it is the first question and its first alignment, and of several ε .2 where
    it is among them, else the first.
    """
    rows, findings = _everything(result)
    rows, question = _chosen(rows, "question", question, also=[f["question"] for f in findings])
    found = next((each for each in findings if each["question"] == question), None)
    rows, alignment = _chosen(rows, "alignment", alignment)
    if judge is not None:
        rows, found = _of_judges([judge] if isinstance(judge, str) else judge, rows, found)
    return Sheet(
        question=question,
        alignment=alignment,
        rows=rows,
        epsilon=_margin(rows, epsilon),
        findings=found,
    )


def _everything(result: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the examinations and the findings of whatever came."""
    if isinstance(result, Mapping):
        if isinstance(result.get("examinations"), list) or isinstance(
            result.get("questions"), list
        ):
            parts = (result.get("examinations") or [], result.get("questions") or [])
            return [_examination(row) for row in parts[0]], [_plain(row) for row in parts[1]]
        if "judge" in result and "winning_rate" in result:
            return [_examination(result)], []
        return _flat(list(result.values()), result), []
    if hasattr(result, "results"):
        findings = [_plain(row) for row in getattr(result, "questions", ())]
        return [_examination(row) for row in result.results], findings
    if isinstance(result, list | tuple):
        return _flat(result, result), []
    return _flat([result], result), []


def _flat(parts: Sequence[Any], given: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for part in parts:
        several = part if isinstance(part, list | tuple) else [part]
        for row in several:
            if _get(row, "judge") is None or _get(row, "annotators") is None:
                msg = (
                    "`result` must be what `alt_test` or `examine` returns, or the parsed JSON "
                    f"of `voirdire examine --json`, got {shorten(given)}."
                )
                raise InputError(msg)
            rows.append(_examination(row))
    if not rows:
        msg = f"`result` must hold at least one examination, got {shorten(given)}."
        raise InputError(msg)
    return rows


def _examination(row: Any) -> dict[str, Any]:
    """Read the figures that plots need: `as_dict` would compute every exact p-value."""
    figures = {name: _get(row, name) for name in _RESULT_FIELDS}
    figures["epsilon"] = float(figures["epsilon"])
    uncertainty = _get(row, "uncertainty")
    return figures | {
        "annotators": [_part(person, _ANNOTATOR_FIELDS) for person in _get(row, "annotators")],
        "controls": [_part(control, _CONTROL_FIELDS) for control in _get(row, "controls") or ()],
        "uncertainty": None if uncertainty is None else _plain(uncertainty),
    }


def _part(thing: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: _get(thing, name) for name in names}


def _get(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _plain(thing: Any) -> dict[str, Any]:
    if isinstance(thing, Mapping):
        return dict(thing)
    if hasattr(thing, "as_dict"):
        return dict(thing.as_dict())
    if is_dataclass(thing) and not isinstance(thing, type):
        return asdict(thing)
    msg = f"`result` must hold plain records, got {shorten(thing)}."
    raise InputError(msg)


def _chosen(
    rows: list[dict[str, Any]], name: str, wanted: str | None, *, also: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], str]:
    known = list(dict.fromkeys([*(row[name] for row in rows), *also]))
    if wanted is None:
        wanted = known[0] if known else ""
    elif wanted not in known:
        raise InputError(_not_among(name, known, wanted))
    return [row for row in rows if row[name] == wanted], wanted


def _not_among(name: str, known: Sequence[Any], wanted: Any) -> str:
    listed = ", ".join(repr(shorten(each, width=40)) for each in known[:10])
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
