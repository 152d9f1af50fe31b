"""Defines a jury: several judges whose answers about the same items are combined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from voirdire._messages import shorten
from voirdire._validation import check_choice, is_number
from voirdire.errors import InputError
from voirdire.judging.cascade import CascadeJudge
from voirdire.judging.model_settings import LlmJudge
from voirdire.judging.port import Judge

Combine: TypeAlias = Literal["mean", "majority"]
"""How a jury combines the answers of its judges."""

JuryMember: TypeAlias = Judge | LlmJudge | CascadeJudge | str | Path
"""A judge that may be in a jury: any but another jury."""

JudgeLike: TypeAlias = "JuryMember | JuryJudge"
"""Any judge: an object, ``"local"``, the name of a model, or the file of a judge."""


@dataclass(frozen=True, kw_only=True)
class JuryJudge:
    """A judge that combines the answers of several judges.

    The probability of a proposition is the mean of those that the judges give, or the share of the
    judges who say that it is true; other questions go by majority, scales by the median. Judges may
    have different weights. An answer needs judges with more than half of the weight: where fewer
    answer, it is a failure.

    Attributes
    ----------
    judges : tuple of Judge, LlmJudge, CascadeJudge, str or path
        At least two, with different names: as for `voirdire.judge`, but no jury.
    combine : {"mean", "majority"}
        How probabilities are combined.
    weights : tuple of float or None
        One for each judge, above 0; None gives all the same weight.
    name : str
        Its name in verdicts; by default the names of the judges with ``&`` between them.

    Raises
    ------
    InputError
        If an argument breaks its rule.

    Notes
    -----
    A jury has its own fingerprint and is examined as one judge: its judges may make the same
    errors, which only an examination of the jury shows.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.judging import JuryJudge, ScriptedJudge
    >>> rubric = voirdire.load_rubric("safety")
    >>> def judge_of(name, p):
    ...     names = rubric.propositions
    ...     return ScriptedJudge(name=name, questions=names, answer=lambda item: [p] * len(names))
    >>> jury = JuryJudge(judges=(judge_of("sure", 0.9), judge_of("unsure", 0.4)))
    >>> verdicts = voirdire.judge([{"response": "I can't help with that."}], judge=jury)
    >>> verdicts.judge, round(float(verdicts.probability("apology")[0]), 2)
    ('sure & unsure', 0.65)
    """

    judges: Sequence[JuryMember]
    combine: Combine = "mean"
    weights: Sequence[float] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check everything before anything is spent."""
        judges: Any = self.judges
        if isinstance(judges, str) or not isinstance(judges, Sequence) or len(judges) < 2:
            msg = f"`judges` must be a sequence of at least 2 judges, got {shorten(judges)}."
            raise InputError(msg)
        object.__setattr__(self, "judges", tuple(judges))
        if any(isinstance(judge, JuryJudge) for judge in judges):
            msg = "`judges` must be without juries, got one. Name its judges instead."
            raise InputError(msg)
        check_choice("combine", self.combine, Combine)
        weights: Any = self.weights
        if weights is None:
            return
        are_several = isinstance(weights, Sequence) and len(weights) == len(judges)
        if not are_several or not all(is_number(weight) and weight > 0 for weight in weights):
            rule = f"`weights` must be {len(judges)} numbers above 0, one for each judge"
            msg = f"{rule}, got {shorten(weights)}."
            raise InputError(msg)
        object.__setattr__(self, "weights", tuple(map(float, weights)))

    @property
    def shares(self) -> tuple[float, ...]:
        """Weights of the judges, which sum to 1."""
        weights = self.weights or (1.0,) * len(self.judges)
        return tuple(weight / math.fsum(weights) for weight in weights)
