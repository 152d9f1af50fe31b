"""A cascade with the questions of one rubric: what a plan of judging holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.cascade.bounds import DEFAULT, Bounds, is_unsure, read_bounds
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.llm.bound_judge import BoundJudge
from voirdire.judging.local.bundled import BUNDLED
from voirdire.judging.notes import distrust

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource
    from voirdire.judging.cascade.judge import CascadeJudge
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.port import Judge
    from voirdire.rubrics import Rubric

__all__ = ["BoundCascade", "bind_cascade"]


@dataclass(frozen=True, kw_only=True)
class BoundCascade(BoundJudge):
    """A language model with a rubric that is asked only what a first judge is unsure of.

    What it says of calls and replies is the language model's: stored replies serve both.

    Attributes
    ----------
    cascade : CascadeJudge
        What it was made from.
    first : JudgingPlan
        The first judge, with the same rubric.
    """

    cascade: CascadeJudge
    first: JudgingPlan

    @property
    def name(self) -> str:
        """What verdicts call it."""
        return self.cascade.name or f"{self.first.judge.name}+{self.judge.name}"

    @property
    def source(self) -> ProbabilitySource:
        """``"cascade"``: each item has the source of the judge that answered it."""
        return "cascade"

    @property
    def then(self) -> BoundJudge:
        """The language model alone."""
        return BoundJudge(judge=self.judge, rubric=self.rubric)

    @property
    def answerers(self) -> tuple[str, str]:
        """What the first judge and the language model are called where one of them answered."""
        first, then = self.first.judge.name, self.judge.name
        return (first, then) if first != then else (f"{first} (first)", f"{then} (then)")

    @property
    def sources(self) -> dict[str, ProbabilitySource]:
        """Where the probabilities of each of the answerers come from."""
        first, then = self.answerers
        return {first: self.first.judge.source, then: self.judge.probability}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of its verdicts should know of the first judge."""
        return (*self.first.notes, *distrust(self.first.judge))

    @property
    def asked(self) -> dict[str, Any]:
        """Everything that its answers depend on besides questions and item, for the record."""
        first = {"name": self.first.judge.name, "fingerprint": self.first.judge.fingerprint}
        return {**super().asked, "first": first, "unsure": self._told}

    @cached_property
    def bounds(self) -> tuple[Bounds | None, ...]:
        """By proposition between which probabilities the first judge is unsure."""
        known = read_bounds(self.cascade.unsure)
        named = self.cascade.propositions
        return tuple(
            known.get(name, known[DEFAULT]) if named is None or name in named else None
            for name in self.questions
        )

    @cached_property
    def fingerprint(self) -> str:
        """Hash over both judges and the bounds."""
        return hash_of(
            {
                "first": self.first.judge.fingerprint,
                "then": self.then.fingerprint,
                "unsure": self._told,
            }
        )

    @property
    def _told(self) -> dict[str, list[float]]:
        pairs = zip(self.questions, self.bounds, strict=True)
        return {name: list(pair) for name, pair in pairs if pair is not None}

    def goes_on(self, answers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell by the first judge's answers which items go on: (n_items,)."""
        return is_unsure(answers, self.bounds)


def _checked(first: Judge | str | Path) -> Judge | str | Path:
    """Refuse a file that is not there in words about `first`."""
    if isinstance(first, str | Path) and str(first) != BUNDLED and not Path(first).is_file():
        msg = (
            f"`first` must be {BUNDLED!r} or a file that `voirdire distill` wrote, got "
            f"{shorten(str(first), width=200)!r}, which is no file. Correct the path; in a "
            "cascade's file it is taken from the folder of that file."
        )
        raise InputError(msg)
    return first


def bind_cascade(cascade: CascadeJudge, rubric: Rubric) -> BoundCascade:
    """Give a cascade the questions of a rubric, and check that they suit each other."""
    from voirdire.judging.plan import plan_judging

    others = [row.id for row in rubric.questions if row.kind != "boolean"]
    if others:
        msg = (
            f"`rubric` must ask boolean questions only for a cascade, got {shorten(rubric.name)!r} "
            f"with {shorten(others[0])!r}. Ask the language model alone, or leave the question out."
        )
        raise InputError(msg)
    first = plan_judging(_checked(cascade.first), rubric)
    if isinstance(first.judge, BoundJudge):
        msg = (
            f"`first` must be a judge in process, got {shorten(first.judge.name)!r}, which asks a "
            "language model. That one stands in `then`."
        )
        raise InputError(msg)
    bound = BoundCascade(judge=cascade.then, rubric=rubric, cascade=cascade, first=first)
    named = {*(cascade.propositions or ()), *read_bounds(cascade.unsure)} - {DEFAULT}
    unknown = sorted(named - set(rubric.propositions))
    if unknown:
        msg = (
            f"`unsure` and `propositions` must name propositions of rubric "
            f"{shorten(rubric.name)!r}, got {shorten(unknown[0])!r}. Correct the name."
        )
        raise InputError(msg)
    return bound
