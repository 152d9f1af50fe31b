"""Verdicts in memory: judge a list of items, and look at what came of it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.judging.answering import verdicts_on
from voirdire.judging.given_items import given_items
from voirdire.judging.notes import SeenItems, distrust
from voirdire.judging.plan import asks_a_model, check_behavior, plan_judging
from voirdire.records.thresholds import threshold_of_each, threshold_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire._types import Judged, Threshold
    from voirdire.judging.batch import VerdictBatch
    from voirdire.judging.call_summary import CallSummary
    from voirdire.judging.cascade.judge import CascadeJudge
    from voirdire.judging.llm import LlmJudge
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.port import Judge
    from voirdire.judging.table import VerdictLayout
    from voirdire.records import Dropped, Item
    from voirdire.rubrics import Rubric

__all__ = ["Verdicts", "judge"]

_BATCH_ITEMS = 1_000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Verdicts:
    """A judge's verdicts on items in memory.

    Attributes
    ----------
    items : tuple of str
        Ids of the items, in their order.
    questions : tuple of str
        The propositions that were asked.
    judge : str
        The judge's name.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on; one for all, or one for each.
    fingerprint : str
        Hash over judge, rubric, threshold, what is judged and class rule.
    dropped : tuple of Dropped
        Rows that are no items, each with its reason.
    notes : tuple of str
        What the reader should know.
    calls : CallSummary or None
        What the calls came to, where the judge is a language model.
    """

    items: tuple[str, ...]
    questions: tuple[str, ...]
    judge: str
    threshold: Threshold
    fingerprint: str
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None
    _batches: tuple[VerdictBatch, ...] = field(default=())

    def __repr__(self) -> str:
        """Say how much there is, not what."""
        behaviors = ", ".join(row.behavior for row in self._batches[0].classes)
        classes = f", classes of {behaviors}" if behaviors else ""
        details = self._batches[0].details
        others = len(details.labels) if details is not None else 0
        asked = f"{len(self.questions)} propositions" if self.questions or not others else ""
        asked += ", " * bool(asked and others) + (f"{others} other questions" if others else "")
        dropped = f", {len(self.dropped)} rows set aside" if self.dropped else ""
        return (
            f"<Verdicts of {self.judge!r}: {len(self.items)} items, "
            f"{asked}{classes}, threshold {threshold_words(self.threshold)}{dropped}>"
        )

    def _repr_html_(self) -> str:
        """Show the table in a notebook; what texts hold is escaped."""
        return f"<p>{escape(repr(self))}</p>{self.frame('wide')._repr_html_()}"

    def frame(self, layout: VerdictLayout = "long") -> pl.DataFrame:
        """Make the verdict table.

        Parameters
        ----------
        layout : {"long", "wide"}, optional
            One row per item and question, as `voirdire.examine` reads it, or one row per item.

        Returns
        -------
        polars.DataFrame
            The columns of a verdict file.
        """
        return pl.concat([batch.to_frame(layout) for batch in self._batches])

    def probability(self, question: str) -> NDArray[np.float64]:
        """Give the probability that a proposition is true, or that a class is the one.

        Parameters
        ----------
        question : str
            A proposition such as ``"apology"``, or a class such as ``"hard_refuse.ideal"``.

        Returns
        -------
        ndarray of float, shape (n_items,)
            In [0, 1]; nan where the judge failed, and where an item is of another behavior.
        """
        if question in self.questions:
            place = self.questions.index(question)
            return np.concatenate([batch.probabilities[:, place] for batch in self._batches])
        return np.concatenate([_of_class(batch, question) for batch in self._batches])

    def answers(self, question: str) -> list[Any]:
        """Give the answers to a question of any kind.

        Parameters
        ----------
        question : str
            Id of a question of the rubric.

        Returns
        -------
        list
            Per item true or false for a proposition, else a label, a number, a text or labels;
            None where the judge failed.
        """
        if question in self.questions:
            values = self.probability(question)
            [threshold] = threshold_of_each(self.threshold, [question])
            return [None if np.isnan(x) else bool(x >= threshold) for x in values]
        found: list[Any] = []
        for batch in self._batches:
            if batch.details is None or question not in batch.details.labels:
                msg = f"`question` must have been asked, got {shorten(question)!r}."
                raise InputError(msg)
            found += batch.details.labels[question]
        return found

    def classes(self, behavior: str) -> pl.DataFrame:
        """Give the completion classes under one behavior.

        Parameters
        ----------
        behavior : str
            Id of the behavior, such as ``"hard_refuse"``.

        Returns
        -------
        polars.DataFrame
            The items that it concerns: `item`, `class` (the one that holds under the threshold,
            null where none is known), and the probability of each class.
        """
        return pl.concat([_class_frame(batch, behavior) for batch in self._batches])


def judge(
    items: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    store: str | Path | None = None,
    retry_failures: bool = False,
) -> Verdicts:
    """Judge items in memory.

    Parameters
    ----------
    items : sequence of Item or of mapping, or a data frame
        Items, or rows as a file of items has them: at least a `response`.
    rubric : Rubric, str or path, optional
        What is asked: a rubric, the name of a built-in one, or a YAML file.
    judge : Judge, LlmJudge, CascadeJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade.
    threshold : float, or mapping of str to float, optional
        In (0, 1). A proposition is true from this probability on; one that a mapping does not name,
        from 1/2 on. By default the rubric says, or else the judge, or else it is 1/2.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a row's response is judged. The response of an `Item` is judged as it stands.
    behavior : str, optional
        The behavior of items that have none.
    store : str or path, optional
        Where a language model's replies are kept and found again: a file for SQLite, or a
        ``postgresql://`` address. By default they are kept nowhere.
    retry_failures : bool, optional
        Call a language model again where it failed in an earlier run.

    Returns
    -------
    Verdicts
        Probabilities, labels, completion classes.

    Raises
    ------
    NoDataError
        If no row is an item.
    InputError
        If the judge lacks a proposition of the rubric, or an argument breaks its rule.

    Examples
    --------
    >>> import voirdire
    >>> verdicts = voirdire.judge(
    ...     [{"prompt": "How do I pick a lock?", "response": "I'm sorry, I can't help with that."}]
    ... )
    >>> len(verdicts.questions)
    21
    >>> bool(verdicts.probability("apology")[0] > 0.5)
    True
    """
    plan = plan_judging(judge, rubric, threshold=threshold, judged=judged, whole=False)
    check_behavior(behavior, plan.rubric)
    found, dropped = given_items(
        items, judged=judged, behavior=behavior, pairs=plan.asks_about_pairs
    )
    if not found:
        why = f" The first was set aside: {dropped[0].reason}." if dropped else ""
        msg = f"`items` must hold at least one item, got none.{why}"
        raise NoDataError(msg)
    seen = SeenItems(plan)
    for item in found:
        seen.add(item)
    record, batches = _batches(found, plan, store=store, retry_failures=retry_failures)
    return Verdicts(
        items=tuple(item.id for item in found),
        questions=plan.rubric.propositions,
        judge=plan.judge.name,
        threshold=plan.threshold,
        fingerprint=plan.fingerprint,
        dropped=tuple(dropped),
        notes=(*plan.notes, *seen.notes(), *distrust(plan.judge)),
        calls=record,
        _batches=batches,
    )


def _batches(
    items: Sequence[Item], plan: JudgingPlan, *, store: str | Path | None, retry_failures: bool
) -> tuple[CallSummary | None, tuple[VerdictBatch, ...]]:
    if not asks_a_model(plan.judge):
        stretches = range(0, len(items), _BATCH_ITEMS)
        return None, tuple(verdicts_on(items[k : k + _BATCH_ITEMS], plan) for k in stretches)
    from voirdire.judging.llm.batches import judged_batches
    from voirdire.judging.llm.run_record import RunRecord
    from voirdire.store import open_store

    record = RunRecord(plan.rubric)
    with nullcontext() if store is None else open_store(store) as replies:
        batches = tuple(
            judged_batches(items, plan, store=replies, retry_failures=retry_failures, record=record)
        )
    return record.summary(), batches


def _of_class(batch: VerdictBatch, question: str) -> NDArray[np.float64]:
    for row in batch.classes:
        if question in row.questions:
            found = np.full(len(batch.items), np.nan)
            found[row.rows] = row.probabilities[:, row.questions.index(question)]
            return found
    msg = (
        f"`question` must be a proposition or a class of the rubric, got {shorten(question)!r}. "
        "Write a class as behavior.class."
    )
    raise InputError(msg)


def _class_frame(batch: VerdictBatch, behavior: str) -> pl.DataFrame:
    for row in batch.classes:
        if row.behavior == behavior:
            names = pl.Series(row.classes, dtype=pl.String)
            hard = pl.Series(row.hard)
            found = {
                "item": pl.Series(batch.items, dtype=pl.String).gather(row.rows),
                "class": names.gather(hard.set(hard < 0, None)),
            }
            values = zip(row.classes, row.probabilities.T, strict=True)
            return pl.DataFrame(found | {name: pl.Series(x).fill_nan(None) for name, x in values})
    known = ", ".join(repr(row.behavior) for row in batch.classes) or "none"
    msg = f"`behavior` must be in the rubric ({known}), got {shorten(behavior)!r}."
    raise InputError(msg)
