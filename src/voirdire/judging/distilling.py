"""Make a local judge from files: items, and verdicts or annotations about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._messages import list_names, shorten
from voirdire._validation import change_fields
from voirdire.errors import InputError, NoDataError
from voirdire.io import join_tables, read_items, read_labels
from voirdire.io.verdict_files import columns_of_file, read_parts
from voirdire.judging.binding import refuse_kinds
from voirdire.judging.local.distilling import distill_judge, group_items
from voirdire.judging.settings import DistillSettings
from voirdire.records import Dropped
from voirdire.records.verdicts import is_verdict_table, refuse_other_responses
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.io import Role
    from voirdire.judging.local import LocalJudge
    from voirdire.rubrics import Rubric

_TIE = "tie: as many raters say yes as no"


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
    left_out : mapping of str to str
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
    left_out: Mapping[str, str] = field(default_factory=dict)
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
            "left_out": [{"question": name, "reason": why} for name, why in self.left_out.items()],
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
    chosen = change_fields(settings or DistillSettings(), fields)
    asked = None if rubric is None else load_rubric(rubric)
    tables, hashes = [], dict[str, str | None]()
    for path in map(Path, labels):
        columns = columns_of_file(path)
        if is_verdict_table(columns) and "response_hash" in columns:
            for part in read_parts([path]):
                hashes |= part.select("item", "response_hash").unique().iter_rows()
        if is_verdict_table(columns) == "wide":
            msg = (
                f"{path}: verdicts must be in the long layout to learn from, got the wide one. "
                "Judge with `--layout long`."
            )
            raise InputError(msg)
        is_judge = "judge" in columns and "annotator" not in columns
        role: Role = "judge" if is_judge else "annotator"
        tables.append(read_labels(path, role=role, kind="boolean", threshold=chosen.threshold))
    given = join_tables(tables)
    n_yes = pl.col("n_yes").cast(pl.Int64)
    counted = (
        given.frame.lazy()
        .filter(pl.col("label").is_not_null())
        .group_by("question", "item", maintain_order=True)
        .agg(n_yes=(pl.col("label") == "true").sum(), n=pl.len(), source=pl.first("source"))
        .with_columns(is_tied=2 * n_yes == pl.col("n"), label=2 * n_yes > pl.col("n"))
        .collect()
    )
    votes = counted.filter(~pl.col("is_tied"))
    named = votes["question"].unique(maintain_order=True).to_list()
    questions = _choose_questions(asked, chosen.questions, named)
    table = read_items(items, reading=chosen.reading())
    places = {item.id: place for place, item in enumerate(table.items)}
    labelled = set(votes["item"])
    if not labelled & places.keys():
        msg = (
            "`labels` must be about the items, got no id in common: items are called "
            f"{_quote(list(places), most=3)}, labels are about {_quote(sorted(labelled), most=3)}. "
            'Name the items\' column with columns={"id": ...}.'
        )
        raise InputError(msg)
    known = [hashes.get(item.id) for item in table.items]
    refuse_other_responses(table.items, known, what="labels")
    answers = np.full((len(places), len(questions)), np.nan)
    for question, item, label in votes.select("question", "item", "label").iter_rows():
        if question in questions and item in places:
            answers[places[item], questions.index(question)] = label
    groups = group_items(table.items)
    reasons = [_find_obstacle(column, groups, n_folds=chosen.n_folds) for column in answers.T]
    left_out = {name: why for name, why in zip(questions, reasons, strict=True) if why}
    learnt = [name for name in questions if name not in left_out]
    if not learnt:
        told = list_names([f"{name}: {why}" for name, why in left_out.items()], most=3)
        msg = f"`labels` must have yes and no for at least one question, got none ({told})."
        raise NoDataError(msg)
    answers = answers[:, [not why for why in reasons]]
    texts: dict[str, Any] = {}  # the judge stores the wording, to notice a changed one
    if asked is not None:
        texts = {name: dict(asked.question(name).text) for name in learnt}
    rows = np.flatnonzero(~np.isnan(answers).all(axis=1)).tolist()
    judge = distill_judge(
        [table.items[row] for row in rows],
        answers[rows],
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
    tied = counted.filter(
        pl.col("is_tied"), pl.col("question").cast(pl.String).is_in(questions)
    ).select("source", "item", "question", value=pl.format("{} raters", "n"))
    return Distilled(
        judge=judge,
        n_items=len(rows),
        n_unlabelled=len(table.items) - len(rows),
        n_strangers=len(labelled - places.keys()),
        raters=tuple(given.frame["rater"].unique(maintain_order=True).to_list()),
        left_out=left_out,
        tied=tuple(Dropped(reason=_TIE, **row) for row in tied.iter_rows(named=True)),
        dropped=(*table.dropped, *given.dropped),
    )


def _choose_questions(
    rubric: Rubric | None, wanted: Sequence[str], labelled: Sequence[str]
) -> tuple[str, ...]:
    """Choose the questions to learn; refuse one without labels."""
    if rubric is None and not wanted:
        msg = "`rubric` must be named, or at least one of the `questions`, got neither."
        raise InputError(msg)
    asked = () if rubric is None else rubric.propositions
    if rubric is not None and not asked:
        refuse_kinds(rubric)
    known = asked or labelled
    for question in wanted:
        if question not in known:
            msg = f"`question` must be one of {_quote(known)}, got {shorten(question)!r}."
            raise InputError(msg)
    chosen = tuple(dict.fromkeys(wanted)) or asked
    if not set(chosen) & set(labelled):
        listed = _quote(labelled)
        msg = f"`labels` must be about the questions asked for, got labels about {listed}."
        raise InputError(msg)
    return chosen


def _quote(names: Sequence[str], *, most: int = 20) -> str:
    return list_names([repr(shorten(name)) for name in names], most=most)


def _find_obstacle(
    column: NDArray[np.float64], groups: NDArray[np.intp], *, n_folds: int
) -> str | None:
    """Return why a question cannot be learnt; None where it can."""
    n_labels = int((~np.isnan(column)).sum())
    n_yes, n_no = (len(np.unique(groups[column == value])) for value in (1.0, 0.0))
    if not n_labels:
        return "no labels"
    if not n_yes or not n_no:
        return f"all {n_labels} labels are {'yes' if n_yes else 'no'}"
    if min(n_yes, n_no) < n_folds:
        rarer, n_groups = ("yes", n_yes) if n_yes <= n_no else ("no", n_no)
        counted = "1 group" if n_groups == 1 else f"{n_groups} groups"
        return f"{rarer} for only {counted} of items; {n_folds} folds need {n_folds}"
    return None
