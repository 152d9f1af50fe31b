"""Make a local judge from files: items, and verdicts or annotations about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.errors import InputError, NoDataError
from voirdire.io.verdict_files import columns_of_file, layout_of_file
from voirdire.judging.plan import refuse_kinds
from voirdire.judging.settings import DistillSettings
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.io import LabelTable, Role
    from voirdire.judging.local import LocalJudge
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["Distilled", "LeftOut", "distill_files"]

_MOST_SHOWN = 3
_MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A question that cannot be learnt, with the reason.

    Attributes
    ----------
    question : str
        Its id.
    reason : str
        What is missing.
    """

    question: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Distilled:
    """A judge that was made from labels, with counts of the labels.

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
        Who gave the labels.
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

    def as_dict(self) -> dict[str, Any]:
        """Return the judge, its card and the counts as plain values, for JSON."""
        return {
            "judge": self.judge.name,
            "fingerprint": self.judge.fingerprint,
            "questions": self.judge.questions,
            "n_items": self.n_items,
            "n_unlabelled": self.n_unlabelled,
            "n_strangers": self.n_strangers,
            "raters": self.raters,
            "left_out": self.left_out,
            "n_tied": len(self.tied),
            "n_dropped": len(self.dropped),
            "card": self.judge.card.to_dict(),
        }


def distill_files(
    items: str | Path,
    labels: Sequence[str | Path],
    *,
    rubric: Rubric | str | Path | None = None,
    settings: DistillSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    **fields: Any,
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
    settings : DistillSettings, optional
        How the items are laid out, and how the judge is made.
    progress : callable, optional
        Called with steps done and steps in all.
    **fields
        Fields of `DistillSettings`, each of which counts before that of `settings`:

        - `questions`: learn these questions of the labels instead, or only these of the rubric.
        - `columns`, `format` and other fields of `voirdire.io.ItemLayout`: how the items are
          written.
        - `threshold`: in [0, 1]. The probability from which on a verdict is true, where it is not
          to be the one that was declared when it was made.
        - `calibrator`: ``"platt"`` or ``"temperature"``: how scores become
          probabilities.
        - `n_folds`: in how many parts held-out figures are found, at least 3.
        - `seed`: of the folds.
        - `name`: what verdicts of the judge call it; by default ``"distilled"``.

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
    on both sides of a fold. A question needs, for yes and for no, items of at least `n_folds` such
    groups: otherwise some fold has nothing of one kind to be tried on.
    """
    from voirdire.io import join_tables, read_items
    from voirdire.judging.local import distill_judge
    from voirdire.judging.local.grouping import group_items
    from voirdire.rubrics import load_rubric

    chosen = change_fields(settings or DistillSettings(), fields)
    asked = None if rubric is None else load_rubric(rubric)
    given = join_tables(
        [_read_labels(Path(source), threshold=chosen.threshold) for source in labels]
    )
    counted = _count_votes(given)
    votes = counted.filter(~pl.col("is_tied"))
    known = votes["question"].unique(maintain_order=True).to_list()
    wanted = _questions(asked, chosen.questions, known)
    table = read_items(items, reading=chosen.reading())
    answers = _join(table.items, votes, wanted)
    groups = group_items(table.items)
    reasons = [_find_obstacle(column, groups, n_folds=chosen.n_folds) for column in answers.T]
    left_out = tuple(
        LeftOut(question=question, reason=reason)
        for question, reason in zip(wanted, reasons, strict=True)
        if reason is not None
    )
    kept = [place for place, reason in enumerate(reasons) if reason is None]
    if not kept:
        told = "; ".join(f"{row.question}: {row.reason}" for row in left_out[:_MOST_SHOWN])
        msg = f"`labels` must have yes and no for at least one question, got none ({told})."
        raise NoDataError(msg)
    rows = np.flatnonzero(~np.isnan(answers[:, kept]).all(axis=1))
    learnt = [wanted[place] for place in kept]
    texts: dict[str, Any] = {}  # the judge stores the wording, to notice a changed one
    if asked is not None:
        texts = {each: dict(asked.question(each).text) for each in learnt}
    judge = distill_judge(
        [table.items[row] for row in rows],
        answers[rows][:, kept],
        questions=learnt,
        groups=groups[rows].tolist(),
        calibrator=chosen.calibrator,
        n_folds=chosen.n_folds,
        seed=chosen.seed,
        name=chosen.name or "distilled",
        rubric_name=None if asked is None else asked.name,
        question_texts=texts,
        progress=progress,
    )
    return Distilled(
        judge=judge,
        n_items=len(rows),
        n_unlabelled=len(table.items) - len(rows),
        n_strangers=len(set(votes["item"]) - {item.id for item in table.items}),
        raters=tuple(given.frame["rater"].unique(maintain_order=True).to_list()),
        left_out=left_out,
        tied=tuple(
            Dropped(
                reason="tie: as many raters say yes as no",
                source=row["source"],
                item=row["item"],
                question=row["question"],
                value=f"{row['n']} raters",
            )
            for row in counted.filter("is_tied").iter_rows(named=True)
            if row["question"] in wanted
        ),
        dropped=(*table.dropped, *given.dropped),
    )


def _read_labels(source: Path, *, threshold: float | None) -> LabelTable:
    """Read verdicts or annotations."""
    from voirdire.io import read_labels

    if layout_of_file(source) == "wide":
        msg = (
            f"{source}: verdicts must be in the long layout to learn from, got the wide one. Judge "
            "with `--layout long`."
        )
        raise InputError(msg)
    columns = columns_of_file(source)
    is_judge = "judge" in columns and "annotator" not in columns
    role: Role = "judge" if is_judge else "annotator"
    return read_labels(source, role=role, kind="boolean", threshold=threshold)


def _count_votes(given: LabelTable) -> pl.DataFrame:
    """Return a row per question and item, with the majority of its raters."""
    n_yes, n = pl.col("n_yes").cast(pl.Int64), pl.col("n").cast(pl.Int64)
    return (
        given.frame.lazy()
        .filter(pl.col("label").is_not_null())
        .group_by("question", "item", maintain_order=True)
        .agg(n_yes=(pl.col("label") == "true").sum(), n=pl.len(), source=pl.first("source"))
        .with_columns(is_tied=2 * n_yes == n, label=2 * n_yes > n)
        .collect()
    )


def _join(
    items: Sequence[Item], votes: pl.DataFrame, questions: Sequence[str]
) -> NDArray[np.float64]:
    """Return 1 for yes, 0 for no, nan for no label: (n_items, n_questions)."""
    places = {item.id: place for place, item in enumerate(items)}
    labelled = set(votes["item"])
    if not labelled & places.keys():
        ours = ", ".join(repr(shorten(item.id)) for item in items[:_MOST_SHOWN])
        theirs = ", ".join(repr(shorten(name)) for name in sorted(labelled)[:_MOST_SHOWN]) or "none"
        msg = (
            f"`labels` must be about the items, got no id in common: items are called {ours}, "
            f"labels are about {theirs}. Name the items' column with "
            'columns={"id": ...}.'
        )
        raise InputError(msg)
    columns = {question: place for place, question in enumerate(questions)}
    found = np.full((len(places), len(questions)), np.nan)
    for question, item, label in votes.select("question", "item", "label").iter_rows():
        if question in columns and item in places:
            found[places[item], columns[question]] = label
    return found


def _find_obstacle(
    column: NDArray[np.float64], groups: NDArray[np.intp], *, n_folds: int
) -> str | None:
    """Return why a question cannot be learnt; None where it can."""
    known = ~np.isnan(column)
    if not known.any():
        return "no labels"
    found = {
        word: len(set(groups[column == value].tolist()))
        for word, value in (("yes", 1.0), ("no", 0.0))
    }
    word = min(found, key=lambda each: found[each])
    if found[word] == 0:
        other = "no" if word == "yes" else "yes"
        return f"all {int(known.sum())} labels are {other}"
    if found[word] < n_folds:
        counted = "1 group" if found[word] == 1 else f"{found[word]} groups"
        return f"{word} for only {counted} of items; {n_folds} folds need {n_folds}"
    return None


def _questions(
    rubric: Rubric | None, questions: Sequence[str], known: Sequence[str]
) -> tuple[str, ...]:
    """Choose the questions to learn; refuse one without labels."""
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
