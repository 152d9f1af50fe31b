"""Whether verdicts are by the judge that a reward was fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.thresholds import threshold_words

if TYPE_CHECKING:
    from voirdire._types import Threshold
    from voirdire.rewards.model import RewardModel

__all__ = ["check_judge"]


def check_judge(
    model: RewardModel,
    *,
    name: str,
    fingerprint: str,
    threshold: Threshold,
    argument: str,
    other_judge: bool,
) -> tuple[str, ...]:
    """Refuse verdicts of another judge, or note them where they are wanted.

    Parameters
    ----------
    model : RewardModel
        Without a fingerprint of its judge it takes any.
    name, fingerprint, threshold : str, str, float or mapping
        Of the verdicts.
    argument : {"verdicts", "judge"}
        What the message is about.
    other_judge : bool
        Whether another judge is taken.

    Returns
    -------
    tuple of str
        Notes.

    Raises
    ------
    InputError
        If it is another judge, and none is taken.
    """
    own = model.judge
    if not own.fingerprint or own.fingerprint == fingerprint:
        return ()
    what = _difference(model, name=name, fingerprint=fingerprint, threshold=threshold)
    if not other_judge:
        msg = (
            f"`{argument}` must be of the judge that reward {shorten(model.name)!r} was fitted on, "
            f"got {what}. Judge with that one, fit again, or say that another one is meant with "
            "`other_judge=True`."
        )
        raise InputError(msg)
    void = " The certificates of the reward say nothing of it." if model.certificates else ""
    return (
        f"scored with verdicts of another judge than the weights were fitted on: {what}.{void}",
    )


def _difference(model: RewardModel, *, name: str, fingerprint: str, threshold: Threshold) -> str:
    own = model.judge
    if not fingerprint:
        return "verdicts without a fingerprint, which may be anybody's"
    if name != own.name:
        return f"judge {shorten(name)!r} instead of {shorten(own.name)!r}"
    if threshold != own.threshold:
        given, wanted = threshold_words(threshold), threshold_words(own.threshold)
        return f"the threshold {given} instead of {wanted}"
    return (
        f"another version or other settings of {shorten(name)!r}, another rubric, or other parts "
        f"of responses judged ({shorten(fingerprint, width=19)} instead of "
        f"{shorten(own.fingerprint, width=19)})"
    )
