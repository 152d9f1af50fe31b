"""Defines a cascade: a fast first judge, and a second judge for items of which it is unsure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import is_number
from voirdire.errors import InputError
from voirdire.judging.model_settings import LlmJudge
from voirdire.judging.port import Judge

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT", "Bounds", "CascadeJudge", "Unsure", "is_unsure", "read_bounds", "read_pair"]


@dataclass(frozen=True, kw_only=True)
class CascadeJudge:
    """A fast judge, and a language model for the items of which the fast one is unsure.

    An item goes on if a probability of the first judge lies strictly between its bounds, or if the
    first judge gives none. Then all its answers are the language model's: an item never has answers
    from two judges. A failed call is a failure, and never the first judge's answer.

    Attributes
    ----------
    first : Judge, str or path
        The first judge: ``"local"``, the file of a judge that ``voirdire distill`` made, or a judge
        of your own.
    then : LlmJudge
        Answers the items that are passed on.
    unsure : pair of float, or mapping of str to pair of float
        Low and high, for every proposition; or by proposition, with the key ``"default"`` for the
        others. ``(0, 0)`` passes nothing on, ``(-1, 2)`` everything.
    propositions : tuple of str or None
        Those whose probabilities decide; None means all. A missing answer to any proposition passes
        an item on.
    name : str
        Its name in verdicts; by default both names with a plus sign between them.

    Raises
    ------
    InputError
        If an argument breaks its rule.

    Notes
    -----
    A cascade has its own fingerprint and is examined as one judge: an examination of either of its
    two judges does not hold for it.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.judging import LlmJudge
    >>> from voirdire.judging.cascade import CascadeJudge
    >>> from voirdire.testing import ScriptedModel
    >>> names = voirdire.load_rubric("safety").propositions
    >>> model = ScriptedModel(lambda request: dict.fromkeys(names, 0.97))
    >>> cascade = CascadeJudge(
    ...     first="local",
    ...     then=LlmJudge(model=model),
    ...     unsure=(0.2, 0.8),
    ...     propositions=("apology", "inability_to_comply"),
    ... )
    >>> items = [
    ...     {"prompt": "How?", "response": "I'm sorry, but I can't help with that."},
    ...     {"prompt": "How?", "response": "It is not for me to say, regrettably."},
    ... ]
    >>> verdicts = voirdire.judge(items, judge=cascade)
    >>> verdicts.judge, verdicts.calls.n_kept
    ('local+scripted', 1)
    """

    first: Judge | str | Path
    then: LlmJudge
    unsure: Unsure
    propositions: tuple[str, ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check everything before anything is spent."""
        _check_first(self.first)
        then: Any = self.then
        if not isinstance(then, LlmJudge):
            msg = (
                f"`then` must be an LlmJudge, got {type(then).__name__}. Write "
                'LlmJudge(model=load_model("openai/gpt-4o-mini")).'
            )
            raise InputError(msg)
        read_bounds(self.unsure)
        if self.propositions is not None:
            object.__setattr__(self, "propositions", _check_propositions(self.propositions))


def _check_propositions(given: Any) -> tuple[str, ...]:
    is_several = isinstance(given, Iterable) and not isinstance(given, str)
    names: list[object] = list(given) if is_several else []
    if not names or not all(isinstance(name, str) for name in names):
        msg = (
            f"`propositions` must be a sequence with at least one name, got {shorten(given)}. "
            "Leave it out if all count."
        )
        raise InputError(msg)
    return tuple(str(name) for name in names)


def _check_first(first: object) -> None:
    if isinstance(first, str | Path):
        from voirdire.models import is_model_name

        if not is_model_name(str(first)):
            return
    elif isinstance(first, Judge) and not isinstance(first, LlmJudge):
        return
    got = shorten(first) if isinstance(first, str | Path) else type(first).__name__
    msg = (
        "`first` must be 'local', a file that `voirdire distill` wrote, or a judge in process, got "
        f"{got}. Put a language model in `then`."
    )
    raise InputError(msg)


DEFAULT = "default"
"""Key of the bounds for all propositions that a mapping does not name."""

Bounds: TypeAlias = tuple[float, float]
"""Low and high: a judge is unsure strictly between them."""

Unsure: TypeAlias = Sequence[float] | Mapping[str, Sequence[float]]
"""Bounds for all propositions, or by proposition with a default."""


def read_bounds(given: Any) -> dict[str, Bounds]:
    """Return bounds by proposition, with the default, or raise an `InputError`."""
    if not isinstance(given, Mapping):
        return {DEFAULT: _check_pair(given, called="unsure")}
    if DEFAULT not in given:
        msg = (
            f"`unsure` must have the key {DEFAULT!r}, got {shorten(list(given))}. If only some "
            "propositions decide, name them in `propositions`."
        )
        raise InputError(msg)
    return {
        str(name): _check_pair(pair, called=f"unsure[{shorten(str(name), width=40)!r}]")
        for name, pair in given.items()
    }


def is_unsure(
    probabilities: NDArray[np.float64], bounds: Sequence[Bounds | None]
) -> NDArray[np.bool_]:
    """Return for which items a probability is strictly between its bounds, or missing (nan).

    Rows are items, columns propositions; None where a proposition does not decide.
    """
    pairs = [(math.nan, math.nan) if pair is None else pair for pair in bounds]
    low, high = np.array(pairs, dtype=np.float64).reshape(len(pairs), 2).T
    inside = (probabilities > low) & (probabilities < high)
    return np.asarray((inside | np.isnan(probabilities)).any(axis=1))


def read_pair(given: Any) -> Bounds | None:
    """Read low and high; None unless they are two numbers, the lower one first."""
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) != 2:
        return None
    low, high = given
    return (float(low), float(high)) if is_number(low) and is_number(high) and low <= high else None


def _check_pair(given: Any, *, called: str) -> Bounds:
    pair = read_pair(given)
    if pair is None:
        msg = (
            f"`{called}` must be two finite numbers, the lower one first, got {shorten(given)}. "
            "Write (0.05, 0.95) to pass on the items between them."
        )
        raise InputError(msg)
    return pair
