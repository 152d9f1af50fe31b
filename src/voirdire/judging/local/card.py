"""Describes a local judge: its sources, its figures, and where not to trust it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

CARD_SCHEMA = "voirdire.judge-card/1"

FEW = 10
"""Least positives, and negatives, to learn a base rate or to trust a figure."""


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
class QuestionFigures:
    """Figures of one question on one set of items, each answered by a fit without its group.

    Attributes
    ----------
    question : str
        Which question.
    data : str
        Which set of items.
    n_items, n_positives : int
        Items with a label, and those where it is true.
    sensitivity, specificity : float
        Shares of the true and of the false items that were recognised at the threshold; nan without
        any.
    mcc : float
        Matthews correlation in [-1, 1]; nan where all labels are the same, 0 where all answers are.
    auc, auc_low, auc_high : float
        Area under the ROC curve with its 95% interval; nan where all labels are the same.
    brier, accuracy : float
        Mean squared error of the calibrated probabilities; share of right answers.
    baseline_brier, baseline_accuracy : float
        The same of a judge that always gives the share of true labels, and the more frequent label.
    trusted : bool
        Whether this is evidence that the judge is useful.
    reason : str
        Why not; empty where it is trusted.
    threshold : float
        The probability from which on the judge says yes, chosen on all items; the figures are of
        thresholds that were chosen without the group of the item.
    """

    question: str
    data: str
    n_items: int
    n_positives: int
    sensitivity: float
    specificity: float
    mcc: float
    auc: float
    auc_low: float
    auc_high: float
    brier: float
    accuracy: float
    baseline_brier: float
    baseline_accuracy: float
    trusted: bool
    reason: str
    threshold: float = 0.5

    @property
    def enough(self) -> bool:
        """Whether there are enough items of both answers for a conclusion."""
        return FEW <= self.n_positives <= self.n_items - FEW


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
        doubts = [] if rows[0].trusted else [rows[0].reason]
        for row in rows[1:]:
            if row.data in silent:
                continue
            if row.enough and not row.trusted:
                doubts.append(f"{row.reason} on {row.data}")
            elif not row.enough and row.sensitivity == 0:
                doubts.append(f"none of the {row.n_positives} positives found on {row.data}")
        return tuple(doubts)

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
            "figures": [
                {name: None if value != value else value for name, value in vars(row).items()}
                for row in self.figures
            ],
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
            given = {each.name: values[each.name] for each in fields(cls)}
            for name in ("questions", "languages"):
                given[name] = tuple(given[name])
            given["data"] = tuple(TrainingData(**row) for row in given["data"])
            given["figures"] = tuple(
                QuestionFigures(**dict(row, **{n: math.nan for n, x in row.items() if x is None}))
                for row in given["figures"]
            )
            return cls(**given)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = (
                f"a judge's card must have the schema {CARD_SCHEMA!r} and be complete, got "
                f"{shorten(error)}."
            )
            raise InputError(msg) from error

    def to_markdown(self) -> str:
        """Write the card as a page: what not to trust first, then the figures."""
        lines = [f"# Card of the local judge {self.name}", ""]
        if self.untrusted:
            lines += ["**Do not trust this judge on:**", ""]
            lines += [f"- `{name}`: {'; '.join(self.doubts(name))}" for name in self.untrusted]
        else:
            lines += ["For every question there is evidence below that the judge is useful."]
        lines += [""]
        if len(self.data) > 1:
            first = self.data[0].name
            few = [
                f"`{row.question}` ({row.n_positives})"
                for question in self.questions
                for row in self.figures
                if (row.question, row.data) == (question, first) and not row.enough
            ]
            told = f"{first} has fewer than ten positives of {', '.join(few)}: other sets decide."
            lines += [told, ""] if few else []
        lines += ["## Made from", ""]
        for row in self.data:
            parts = [f"{row.n_items} items", row.description]
            parts += ["informs only" if row.informs_only else "", row.licence]
            lines += [f"- {row.name}: {'; '.join(filter(None, parts))}"]
        for data in dict.fromkeys(row.data for row in self.figures):
            lines += ["", f"## On {data}", "", _HEAD]
            lines += [_lay_out(row) for row in self.figures if row.data == data]
        return "\n".join([*lines, ""])


_HEAD = (
    "| question | positives | AUC (95%) | threshold | sensitivity | specificity | MCC "
    "| Brier, of always the share | accuracy, of always the same | trust |\n"
    "| --- | ---: | --- | ---: | ---: | ---: | ---: | --- | --- | --- |"
)


def _lay_out(row: QuestionFigures) -> str:
    def write(name: str) -> str:
        value = getattr(row, name)
        return "–" if math.isnan(value) else f"{value:.2f}"

    cells = [
        f"`{row.question}`",
        f"{row.n_positives} of {row.n_items}",
        f"{write('auc')} ({write('auc_low')} to {write('auc_high')})",
        *map(write, ("threshold", "sensitivity", "specificity", "mcc")),
        f"{row.brier:.3f}, {row.baseline_brier:.3f}",
        f"{row.accuracy:.2f}, {row.baseline_accuracy:.2f}",
        "yes" if row.trusted else f"no: {row.reason}",
    ]
    return f"| {' | '.join(cells)} |"
