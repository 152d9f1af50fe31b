"""What `voirdire.judge` gave as the judges of a study: one, a list, or under names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.studies.examination import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.judging import Verdicts

__all__ = ["given_verdicts", "kind_of_verdicts", "verdict_frame"]

_MOST_SHOWN = 10


def given_verdicts(judges: Any) -> list[tuple[str | None, Verdicts]]:
    """Take verdicts in memory with the names that the caller gave them; empty for anything else."""
    if isinstance(judges, Mapping):
        found: list[tuple[Any, Any]] = [(str(name), one) for name, one in judges.items()]
    else:
        several = judges if isinstance(judges, list | tuple) else [judges]
        found = [(None, one) for one in several]
    return found if all(callable(getattr(one, "frame", None)) for _, one in found) else []


def kind_of_verdicts(
    verdicts: Sequence[tuple[str | None, Verdicts]],
    *,
    questions: Sequence[str] | None,
    alignments: Sequence[AlignmentName],
) -> QuestionKind:
    """Tell the one kind of question that verdicts answer, or that the alignments imply.

    Raises
    ------
    InputError
        If there are several.
    """
    kinds = _kinds(verdicts)
    asked = {name: kinds.get(name, "boolean") for name in questions or kinds}
    first = {kind: name for name, kind in reversed(asked.items())}
    if len(first) == 1:
        return next(iter(first))
    implied = {kind_of(alignment) for alignment in alignments} - {"choice"}
    if len(implied) == 1 and implied <= set(first):
        return implied.pop()
    kind, name = min(first.items())
    shown = ", ".join(f"{kind} ({shorten(name)!r})" for kind, name in sorted(first.items()))
    msg = (
        f"`kind` must be given for verdicts on several kinds of question, got {shown}. Name it "
        f"with the questions: kind={kind!r}, questions=[{shorten(name)!r}]."
    )
    raise InputError(msg)


def verdict_frame(
    verdicts: Sequence[tuple[str | None, Verdicts]],
    *,
    kind: QuestionKind,
    questions: Sequence[str] | None,
    labels: Sequence[Any] | None,
) -> pl.DataFrame:
    """Make one frame of verdicts, of the questions asked for, else of those of the kind.

    Raises
    ------
    NoDataError
        If none of the questions asked for was judged.
    """
    import polars as pl

    frames = [
        one.frame() if name is None else one.frame().with_columns(judge=pl.lit(name))
        for name, one in verdicts
    ]
    frame = pl.concat(frames, how="diagonal_relaxed")
    if questions is not None:
        return _asked(frame, questions)
    if labels is not None:
        return frame
    kinds = _kinds(verdicts)
    others = [name for name, found in kinds.items() if found != "boolean"]
    wanted = pl.col("question").is_in([name for name in others if kinds[name] == kind])
    if kind == "boolean":  # also completion classes
        wanted = ~pl.col("question").is_in(others)
    chosen = frame.filter(wanted)
    return frame if chosen.is_empty() else chosen


def _asked(frame: pl.DataFrame, questions: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    chosen = frame.filter(pl.col("question").is_in(list(questions)))
    if chosen.is_empty():
        known = frame["question"].unique(maintain_order=True).head(_MOST_SHOWN).to_list()
        msg = (
            f"`questions` must be among those that were judged, got {shorten(questions[0])!r}. "
            f"Ask for one of {', '.join(repr(shorten(name)) for name in known)}."
        )
        raise NoDataError(msg)
    return chosen


def _kinds(verdicts: Sequence[tuple[str | None, Verdicts]]) -> dict[str, QuestionKind]:
    """Tell the kind of every question; pairs are a choice of A, B and tie."""
    found: dict[str, QuestionKind] = {}
    for _, one in verdicts:
        found |= dict.fromkeys(one.questions, "boolean")
        for row in () if one.calls is None else one.calls.answers:
            kind = "choice" if row.kind == "pairwise" else row.kind
            found[row.question] = cast("QuestionKind", kind)
    return found
