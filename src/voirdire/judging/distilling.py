"""Make a local judge from files: items, and verdicts or annotations about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import check_count, shorten
from voirdire.errors import InputError
from voirdire.judging.label_votes import read_votes
from voirdire.judging.labelled_items import LeftOut, labelled_items
from voirdire.judging.plan import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire.judging.label_votes import Votes
    from voirdire.judging.local import LocalJudge
    from voirdire.records import Dropped
    from voirdire.rubrics import Rubric
    from voirdire.stats import CalibrationMethod

__all__ = ["Distilled", "distill_files"]

_MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class Distilled:
    """A judge that was made from labels, and what it was made from.

    Attributes
    ----------
    judge : LocalJudge
        With its card.
    n_items : int
        Items with a label for at least one question.
    n_unlabelled : int
        Items without any label.
    n_strangers : int
        Items that have labels and are not in the file of items.
    raters : tuple of str
        Whose labels these are.
    left_out : tuple of LeftOut
        Questions that cannot be learnt, each with the reason.
    tied : tuple of Dropped
        Items and questions on which as many raters say yes as no.
    dropped : tuple of Dropped
        Rows and labels that could not be read.
    """

    judge: LocalJudge
    n_items: int
    n_unlabelled: int
    n_strangers: int
    raters: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    tied: tuple[Dropped, ...] = field(default=(), repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)


def distill_files(
    items: str | Path,
    labels: Sequence[str | Path],
    *,
    rubric: Rubric | str | Path | None = None,
    questions: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    threshold: float | None = None,
    calibrator: CalibrationMethod = "platt",
    n_folds: int = 5,
    seed: int = 0,
    name: str = "distilled",
    progress: Callable[[int, int], None] | None = None,
) -> Distilled:
    """Make a local judge from a file of items and files of labels about them.

    Parameters
    ----------
    items : str or path
        Prompts with responses, as `voirdire.io.stream_items` reads them.
    labels : sequence of str or path
        Verdicts in the long layout, or annotations, as `voirdire.io.read_labels` reads them.
        Joined with the items by id. Of several raters the majority counts; ties are left out.
    rubric : Rubric, str or path, optional
        Its propositions are learnt, as far as there are labels.
    questions : sequence of str, optional
        Learn these questions of the labels instead, or only these of the rubric.
    columns : mapping of str to str, optional
        Our names to those of the file of items.
    format : str, optional
        How the items are written, where the ending of the name does not say.
    threshold : float, optional
        In [0, 1]. The probability from which on a verdict is true, where it is not to be the one
        that was declared when it was made.
    calibrator : {"platt", "temperature", "isotonic"}, optional
        How scores become probabilities.
    n_folds : int, optional
        In how many parts held-out figures are found, at least 3.
    seed : int, optional
        Of the folds.
    name : str, optional
        What verdicts of the judge call it.
    progress : callable, optional
        Called with steps done and steps in all.

    Returns
    -------
    Distilled
        The judge, with a card of held-out figures, and what was left out.

    Raises
    ------
    NoDataError
        If no question has enough labels of either kind.
    InputError
        If items and labels have no id in common, or a file cannot be read.

    Notes
    -----
    A verdict counts as yes or no, under the threshold that it was made with: the judge learns what
    `voirdire examine` compares, and its card says how often it agrees with that.

    Items of one `group` or `cluster`, and items whose prompts are the same or nearly so, are never
    on both sides of a fold.
    """
    from voirdire.io import read_items
    from voirdire.judging.local import distill_judge

    folds = check_count("n_folds", n_folds, minimum=3)
    asked = _rubric(rubric)
    votes = read_votes([Path(source) for source in labels], threshold=threshold)
    wanted = _questions(asked, questions, votes)
    table = read_items(items, format=format, columns=columns)  # type: ignore[arg-type]
    data = labelled_items(table.items, votes, questions=wanted, n_folds=folds)
    judge = distill_judge(
        data.items,
        data.labels,
        questions=data.questions,
        groups=data.groups.tolist(),
        calibrator=calibrator,
        n_folds=folds,
        seed=seed,
        name=name,
        rubric_name=None if asked is None else asked.name,
        question_texts=_texts(asked, data.questions),
        progress=progress,
    )
    return Distilled(
        judge=judge,
        n_items=len(data.items),
        n_unlabelled=data.n_unlabelled,
        n_strangers=data.n_strangers,
        raters=votes.raters,
        left_out=data.left_out,
        tied=tuple(row for row in votes.tied if row.question in wanted),
        dropped=(*table.dropped, *votes.dropped),
    )


def _rubric(rubric: Rubric | str | Path | None) -> Rubric | None:
    if not isinstance(rubric, str | Path):
        return rubric
    from voirdire.rubrics import load_rubric

    return load_rubric(rubric)


def _texts(rubric: Rubric | None, questions: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Give the wording of the questions, which a judge keeps to notice another one."""
    if rubric is None:
        return {}
    found: dict[str, Mapping[str, str]] = {}
    for name in questions:
        found[name] = {str(language): text for language, text in rubric.question(name).text.items()}
    return found


def _questions(rubric: Rubric | None, questions: Sequence[str], votes: Votes) -> tuple[str, ...]:
    """Choose the questions to learn, and refuse one that nobody answered."""
    known = votes.frame["question"].unique(maintain_order=True).to_list()
    if rubric is None and not questions:
        msg = "`rubric` must be named, or at least one of the `questions`, got neither."
        raise InputError(msg)
    asked = () if rubric is None else rubric.propositions
    if rubric is not None and not asked:
        refuse_kinds(rubric)
    for question in questions:
        if question not in (asked or known):
            listed = ", ".join(repr(shorten(name)) for name in (asked or known)[:_MOST_NAMED])
            msg = f"`question` must be one of {listed or 'no question'}, got {shorten(question)!r}."
            raise InputError(msg)
    chosen = tuple(dict.fromkeys(questions)) or asked
    if not set(chosen) & set(known):
        listed = ", ".join(repr(shorten(name)) for name in known[:_MOST_NAMED]) or "none"
        msg = f"`labels` must be about the questions asked for, got labels about {listed}."
        raise InputError(msg)
    return chosen
