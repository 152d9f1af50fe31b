"""What paid and who answered: the reward, its rubric, its judge, as the run wrote them down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page_frame.speech import Count, Decimal, Listing, Name, Percent, Said, say
from voirdire.reporting.plots.training_moves import move_of
from voirdire.reporting.training_page.certificates import certified_counts

if TYPE_CHECKING:
    from voirdire._types import Threshold
    from voirdire.rewards.training.run import Reference, TrainingRun

__all__ = ["described"]

_LONG = 90
_JUDGED = ("final_answer", "with_reasoning", "whole_turn")


def described(run: TrainingRun) -> tuple[tuple[str, Any], ...]:
    """List what is known of the reward and of the training.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of (str, object)
        The key of a word, and what is said.
    """
    rows = [
        ("training.what.reward", _name(run.reward_name)),
        ("training.what.hash", _name(run.reward_hash)),
        ("training.what.rubric", _name(run.rubric)),
        ("training.what.judge", _name(run.judge)),
        ("training.what.answered", _answered(run)),
        ("training.what.fingerprint", _name(run.fingerprint)),
        ("training.what.threshold", _threshold(run.threshold)),
        ("training.what.judged", _judged(run.judged)),
        ("training.what.certificates", _certificates(run)),
        ("training.what.behaviors", _names(run.behaviors)),
        ("training.what.centered", say("training.what.centered.yes") if run.is_centered else None),
        ("training.what.framework", _name(run.framework)),
        ("training.what.created", _name(run.created)),
        ("training.what.writers", Count(run.n_writers) if run.n_writers > 1 else None),
        ("training.what.reference", _reference(run.reference_run, run)),
        ("training.what.versions", _versions(run)),
    ]
    return tuple((key, said) for key, said in rows if said is not None)


def _name(text: str) -> Name | None:
    return Name(text, _LONG) if text else None


def _threshold(threshold: Threshold) -> Decimal | Name:
    if isinstance(threshold, Mapping):
        return Name(f"{min(threshold.values()):g} – {max(threshold.values()):g}")
    return Decimal(threshold)


def _names(texts: tuple[str, ...]) -> Listing | None:
    return Listing(tuple(Name(text) for text in texts)) if texts else None


def _judged(word: str) -> Said | Name | None:
    return say(f"training.judged.{word}") if word in _JUDGED else _name(word)


def _answered(run: TrainingRun) -> Listing | None:
    """Say how many completions came to which judge of a cascade, and whether that moved."""
    names = dict.fromkeys(name for step in run.steps for name in step.answered_by)
    return Listing(tuple(_share(run, name) for name in names)) if names else None


def _share(run: TrainingRun, name: str) -> Said:
    shares = [step.answered_by.get(name, 0.0) for step in run.steps]
    told = sum(step.n * share for step, share in zip(run.steps, shares, strict=True))
    move = move_of("share", shares)
    ends = {"start": Percent(move.start), "end": Percent(move.end)} if len(shares) > 1 else {}
    key = "training.what.answered.moved" if ends else "training.what.answered.share"
    return say(key, name=Name(name), share=Percent(told / run.n_completions), **ends)


def _certificates(run: TrainingRun) -> Said:
    if run.certificates is None:
        return say("training.what.certificates.unknown")
    certified, n = certified_counts(run)
    propositions = Count(n, "paying")
    return say("training.what.certificates.count", n=certified, propositions=propositions)


def _reference(reference: Reference | None, run: TrainingRun) -> Said:
    if reference is None:
        return say("training.what.reference.none")
    key = "same" if reference.reward_hash == run.reward_hash else "other"
    return say(
        f"training.what.reference.{key}",
        name=Name(reference.name),
        reward=Name(reference.reward_name),
        steps=Count(len(reference.steps), "steps"),
    )


def _versions(run: TrainingRun) -> Listing | None:
    return _names(tuple(f"{name} {version}" for name, version in run.versions.items()))
