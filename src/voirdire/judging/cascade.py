"""Defines a cascade: a fast first judge, and a second judge for items of which it is unsure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from voirdire._messages import shorten
from voirdire._validation import is_number
from voirdire.errors import InputError
from voirdire.judging.model_settings import LlmJudge
from voirdire.judging.port import Judge
from voirdire.models import is_model_name


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
    propositions : sequence of str or None
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
    propositions: Sequence[str] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check everything before anything is spent."""
        first: Any = self.first
        then: Any = self.then
        names: Any = self.propositions
        is_path = isinstance(first, str | Path)
        is_model = is_path and (is_model_name(str(first)) or str(first).endswith((".yaml", ".yml")))
        if is_model or not (is_path or isinstance(first, Judge)):
            got = shorten(first) if is_path else type(first).__name__
            msg = "`first` must be 'local', a file that `voirdire distill` wrote, or a judge in"
            raise InputError(f"{msg} process, got {got}. Put a language model in `then`.")
        if not isinstance(then, LlmJudge):
            msg = f"`then` must be an LlmJudge, got {type(then).__name__}."
            raise InputError(f'{msg} Write LlmJudge(model="openai/gpt-4o-mini").')
        read_bounds(self.unsure)
        if names is not None and (isinstance(names, str) or not isinstance(names, Sequence)):
            msg = f"`propositions` must be a sequence of names, got {shorten(names)}."
            raise InputError(f"{msg} Leave it out if all count.")


DEFAULT = "default"
"""Key of the bounds for all propositions that a mapping does not name."""

Unsure: TypeAlias = Sequence[float] | Mapping[str, Sequence[float]]
"""Low and high, strictly between which a judge is unsure: for all propositions, or by proposition
with a default."""


def read_bounds(unsure: Any) -> dict[str, tuple[float, float]]:
    """Return bounds by proposition, with the default, or raise an `InputError`."""
    pairs = unsure if isinstance(unsure, Mapping) else {DEFAULT: unsure}
    if DEFAULT not in pairs:
        msg = f"`unsure` must have the key {DEFAULT!r}, got {shorten(list(pairs))}."
        raise InputError(f"{msg} If only some propositions decide, name them in `propositions`.")
    for name, pair in pairs.items():
        is_pair = isinstance(pair, Sequence) and len(pair) == 2 and all(map(is_number, pair))
        if not is_pair or pair[0] > pair[1]:
            key = "" if pairs is not unsure else f"[{shorten(str(name), width=40)!r}]"
            msg = f"`unsure{key}` must be two finite numbers, the lower one first, got"
            raise InputError(f"{msg} {shorten(pair)}. (0.05, 0.95) passes on what is between them.")
    return {str(name): (float(low), float(high)) for name, (low, high) in pairs.items()}
