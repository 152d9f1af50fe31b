"""A cascade: who answers first, who answers then, and what is passed on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.cascade.bounds import Unsure, read_bounds
from voirdire.judging.llm.judge import LlmJudge
from voirdire.judging.port import Judge

__all__ = ["CascadeJudge"]


@dataclass(frozen=True, kw_only=True)
class CascadeJudge:
    """A fast judge, and a language model for the items that the fast one is unsure of.

    An item goes on if a probability of the first judge lies strictly between its bounds, or if
    the first judge gives none. Then all its answers are the language model's: an item never has
    answers of two judges. A call that fails is a failure, and never the first judge's answer.

    Attributes
    ----------
    first : Judge, str or path
        Who answers first: ``"local"``, the file of a judge that ``voirdire distill`` made, or a
        judge of your own.
    then : LlmJudge
        Who answers what is passed on.
    unsure : pair of float, or mapping of str to pair of float
        Low and high, for every proposition; or by proposition, with the key ``"default"`` for the
        others. ``(0, 0)`` passes nothing on, ``(-1, 2)`` everything.
    propositions : tuple of str or None
        Those whose probabilities decide; None is all that are asked. An answer that is missing
        passes an item on, whichever it is.
    name : str
        What verdicts call it; by default the names of both with a plus sign between them.

    Raises
    ------
    InputError
        If an argument breaks its rule.

    Notes
    -----
    It is a judge of its own, with its own fingerprint, and is examined as such: what an
    examination says of either of the two judges does not hold for it.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.judging import LlmJudge
    >>> from voirdire.judging.cascade import CascadeJudge
    >>> from voirdire.models import ScriptedModel
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
        _check_then(self.then)
        read_bounds(self.unsure)
        if self.propositions is not None:
            object.__setattr__(self, "propositions", _names(self.propositions))


def _names(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        names: list[object] = []
    else:
        names = list(given)
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
        f"{got}. A language model stands in `then`."
    )
    raise InputError(msg)


def _check_then(then: object) -> None:
    if not isinstance(then, LlmJudge):
        msg = (
            f"`then` must be an LlmJudge, got {type(then).__name__}. Write "
            'LlmJudge(model=load_model("openai/gpt-4o-mini")).'
        )
        raise InputError(msg)
