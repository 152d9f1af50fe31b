"""Describes a local judge: its sources, its figures, and where not to trust it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.local.figures import QuestionFigures

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CARD_SCHEMA", "JudgeCard", "TrainingData"]

CARD_SCHEMA = "voirdire.judge-card/1"


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """A set of items that a judge was made from.

    Attributes
    ----------
    name : str
        Its name in the figures.
    n_items : int
        How many items.
    informs_only : bool
        Whether it only informed the choice of features, and not the base rates.
    calibrates : bool
        Whether its scores were used in calibration, where all sets have the same weight.
    content_hash : str
        SHA-256 over its items and labels.
    description, licence : str
        In words; may be empty.
    """

    name: str
    n_items: int
    informs_only: bool = False
    calibrates: bool = True
    content_hash: str = ""
    description: str = ""
    licence: str = ""


@dataclass(frozen=True, kw_only=True)
class JudgeCard:
    """The card of a local judge.

    Attributes
    ----------
    name : str
        Of the judge.
    questions : tuple of str
        Questions that it answers.
    rubric_name : str or None
        The rubric of the questions, where it was given.
    languages : tuple of str
        Languages among its training data.
    data : tuple of TrainingData
        Its training data.
    figures : tuple of QuestionFigures
        From grouped cross-validation: first per question on the set that decides about trust, then
        on the other sets.
    features : mapping of str to str
        Per question which features were chosen.
    settings : mapping of str to object
        Folds, seed, calibration and versions.
    """

    name: str
    questions: tuple[str, ...]
    rubric_name: str | None = None
    languages: tuple[str, ...] = ()
    data: tuple[TrainingData, ...] = ()
    figures: tuple[QuestionFigures, ...] = ()
    features: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def of(self, question: str, *, data: str | None = None) -> QuestionFigures:
        """Return the figures of a question: the deciding ones, or those on one set."""
        for row in self.figures:
            if row.question == question and data in (None, row.data):
                return row
        msg = f"`question` must have figures on the card, got {shorten(question)!r}."
        raise InputError(msg)

    @property
    def trusted(self) -> tuple[str, ...]:
        """Questions with evidence that the judge is useful."""
        return tuple(name for name in self.questions if not self.doubts(name))

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Questions on which the judge should not be trusted."""
        return tuple(name for name in self.questions if self.doubts(name))

    def doubts(self, question: str) -> tuple[str, ...]:
        """Return reasons not to trust it on a question; empty where there are none.

        They come from the deciding set, and from every other set with enough of both answers: a
        judge that fails there will fail on other texts too. A set with few positives counts where
        none of them was found.
        """
        rows = [row for row in self.figures if row.question == question]
        if not rows:
            return ("no figures",)
        silent = {row.name for row in self.data if not row.calibrates}
        found = [] if rows[0].trusted else [rows[0].reason]
        for row in rows[1:]:
            if row.data in silent:
                continue
            if row.enough and not row.trusted:
                found.append(f"{row.reason} on {row.data}")
            elif not row.enough and row.sensitivity == 0:
                found.append(f"none of the {row.n_positives} positives found on {row.data}")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; nan as None."""
        return {
            "schema": CARD_SCHEMA,
            "name": self.name,
            "questions": list(self.questions),
            "rubric_name": self.rubric_name,
            "languages": list(self.languages),
            "data": [vars(row).copy() for row in self.data],
            "trusted": list(self.trusted),
            "untrusted": list(self.untrusted),
            "figures": [row.to_dict() for row in self.figures],
            "features": dict(self.features),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> JudgeCard:
        """Read what `to_dict` gave.

        Raises
        ------
        InputError
            If it has another schema or lacks a part.
        """
        try:
            if values["schema"] != CARD_SCHEMA:
                raise KeyError(str(values["schema"]))
            return cls(
                name=str(values["name"]),
                questions=tuple(str(name) for name in values["questions"]),
                rubric_name=values["rubric_name"],
                languages=tuple(values["languages"]),
                data=tuple(TrainingData(**row) for row in values["data"]),
                figures=tuple(QuestionFigures.from_dict(row) for row in values["figures"]),
                features=dict(values["features"]),
                settings=dict(values["settings"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = (
                f"a judge's card must have the schema {CARD_SCHEMA!r} and be complete, got "
                f"{shorten(error)}."
            )
            raise InputError(msg) from error

    def to_markdown(self) -> str:
        """Write the card as a page: what not to trust first, then the figures."""
        lines = [f"# Card of the local judge {self.name}", "", *self._distrust(), ""]
        lines += self._describe_other_sets()
        lines += ["## Made from", "", *self._sources(), ""]
        for data in dict.fromkeys(row.data for row in self.figures):
            rows = [row for row in self.figures if row.data == data]
            lines += [f"## On {data}", "", *_table(rows), ""]
        return "\n".join(lines)

    def _distrust(self) -> list[str]:
        if not self.untrusted:
            return ["For every question there is evidence below that the judge is useful."]
        lines = ["**Do not trust this judge on:**", ""]
        lines += [f"- `{name}`: {'; '.join(self.doubts(name))}" for name in self.untrusted]
        return lines

    def _describe_other_sets(self) -> list[str]:
        """Name the questions with few positives in the first set."""
        first = self.data[0].name if self.data else ""
        found = [
            (name, self.of(name, data=first)) for name in self.questions if self._asks(name, first)
        ]
        few = [f"`{name}` ({row.n_positives})" for name, row in found if not row.enough]
        if not few or len(self.data) == 1:
            return []
        return [f"{first} has fewer than ten positives of {', '.join(few)}: other sets decide.", ""]

    def _asks(self, question: str, data: str) -> bool:
        return any(row.question == question and row.data == data for row in self.figures)

    def _sources(self) -> list[str]:
        lines = []
        for row in self.data:
            parts = [row.description, "informs only" if row.informs_only else "", row.licence]
            told = "; ".join(part for part in parts if part)
            lines.append(f"- {row.name}: {row.n_items} items" + (f"; {told}" if told else ""))
        return lines


_HEADINGS = (
    "| question | positives | AUC (95%) | threshold | sensitivity | specificity | MCC "
    "| Brier, of always the share | accuracy, of always the same | trust |"
)


def _table(rows: list[QuestionFigures]) -> list[str]:
    lines = [_HEADINGS, "| --- | ---: | --- | ---: | ---: | ---: | ---: | --- | --- | --- |"]
    for row in rows:
        interval = f"{_number(row.auc)} ({_number(row.auc_low)} to {_number(row.auc_high)})"
        cells = [
            f"`{row.question}`",
            f"{row.n_positives} of {row.n_items}",
            interval,
            _number(row.threshold),
            _number(row.sensitivity),
            _number(row.specificity),
            _number(row.mcc),
            f"{row.brier:.3f}, {row.baseline_brier:.3f}",
            f"{row.accuracy:.2f}, {row.baseline_accuracy:.2f}",
            "yes" if row.trusted else f"no: {row.reason}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"
