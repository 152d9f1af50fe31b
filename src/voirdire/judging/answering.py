"""Ask a judge about items, batch by batch, and work out the completion classes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._validation import check_count, shorten
from voirdire.errors import InputError, NoDataError
from voirdire.judging.call_summary import JudgingProgress
from voirdire.judging.given_items import given_items
from voirdire.judging.notes import SeenItems, distrust
from voirdire.judging.plan import asks_a_model, check_behavior, is_cascade, plan_judging
from voirdire.records import Failure
from voirdire.records.thresholds import threshold_of_each
from voirdire.records.verdicts import BehaviorClasses, Verdicts
from voirdire.rubrics import class_probabilities, hard_classes

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire._types import Judged, Threshold
    from voirdire.judging.cascade.judge import CascadeJudge
    from voirdire.judging.client.client import ClientState
    from voirdire.judging.llm import LlmJudge
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.port import Judge
    from voirdire.records import Item
    from voirdire.records.verdict_tables import VerdictLayout
    from voirdire.records.verdicts import CallDetails
    from voirdire.rubrics import Behavior, Rubric

_BATCH_ITEMS = 1_000

__all__ = [
    "answers_of",
    "judge",
    "judge_by_plan",
    "judge_items",
    "table_columns",
    "verdict_batch",
    "verdicts_on",
]


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
    return replace(
        judge_by_plan(found, plan, store=store, retry_failures=retry_failures),
        dropped=tuple(dropped),
        notes=(*plan.notes, *seen.notes(), *distrust(plan.judge)),
    )


def judge_items(
    items: Iterable[Item],
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
    *,
    rubric: Rubric | str | Path = "safety",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    batch_size: int = 1_000,
) -> Iterator[Verdicts]:
    """Judge items as they come.

    Parameters
    ----------
    items : iterable of Item
        Read one batch at a time. A behavior that the rubric does not have is an error.
    judge : Judge, LlmJudge, CascadeJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade.
    rubric : Rubric, str or path, optional
        What is asked: a rubric, the name of a built-in one, or a YAML file.
    threshold : float, or mapping of str to float, optional
        In (0, 1). A proposition is true from this probability on; one that a mapping does not name,
        from 1/2 on. By default the rubric says, or else the judge, or else it is 1/2.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of the responses the items hold; part of the fingerprint.
    behavior : str, optional
        The behavior of items that have none.
    batch_size : int, optional
        Items per batch, at least 1. Memory is O(`batch_size`).

    Yields
    ------
    Verdicts
        Probabilities, labels and completion classes of the next items, in their order.

    Raises
    ------
    InputError
        If the judge lacks a proposition of the rubric, or an argument breaks its rule.

    Examples
    --------
    >>> from voirdire.judging import judge_items
    >>> from voirdire.records import Item
    >>> (batch,) = judge_items([Item(id="a", response="I'm sorry, but I can't help with that.")])
    >>> batch.items, len(batch.questions)
    (('a',), 21)
    """
    plan = plan_judging(judge, rubric, threshold=threshold, judged=judged, whole=False)
    check_behavior(behavior, plan.rubric)
    size = check_count("batch_size", batch_size, minimum=1)
    pending = iter(items)
    if behavior is not None:
        pending = (_of_behavior(item, behavior) for item in pending)
    if asks_a_model(plan.judge):
        from voirdire.judging.llm.batches import judged_batches

        yield from judged_batches(pending, plan)
        return
    while batch := list(islice(pending, size)):
        yield verdicts_on(batch, plan)


def verdicts_on(items: Sequence[Item], plan: JudgingPlan) -> Verdicts:
    """Judge these items at once."""
    probabilities = answers_of(items, plan)
    failures = {
        (int(row), int(column)): Failure(reason="no probability")
        for row, column in np.argwhere(np.isnan(probabilities))
    }
    return verdict_batch(items, plan, probabilities=probabilities, failures=failures)


def verdict_batch(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    probabilities: NDArray[np.float64],
    failures: Mapping[tuple[int, int], Failure],
    details: CallDetails | None = None,
) -> Verdicts:
    """Work out the completion classes, and put everything together."""
    rubric = plan.rubric
    behaviors = tuple(item.behavior for item in items)
    if rubric.behaviors:
        _check_behaviors(items, rubric)
    return Verdicts(
        items=tuple(item.id for item in items),
        behaviors=behaviors,
        questions=rubric.propositions,
        probabilities=probabilities,
        failures=failures,
        threshold=plan.threshold,
        completion_classes=tuple(
            _classes(rubric, row, behaviors, probabilities, threshold=plan.threshold)
            for row in rubric.behaviors
        ),
        judge=plan.judge.name,
        source=plan.judge.source,
        fingerprint=plan.fingerprint,
        details=details,
    )


def table_columns(plan: JudgingPlan, layout: VerdictLayout) -> tuple[str, ...]:
    """Name the columns of the table of a plan's verdicts, or say why there can be no such table."""
    details = None
    if asks_a_model(plan.judge):
        from voirdire.judging.llm.answer_arrays import answer_arrays

        details = answer_arrays([], plan.rubric).details
    nothing = np.empty((0, len(plan.rubric.propositions)))
    empty = verdict_batch([], plan, probabilities=nothing, failures={}, details=details)
    whole = replace(empty, answered_by=() if is_cascade(plan.judge) else None)
    return tuple(whole.frame(layout).columns)


def _of_behavior(item: Item, behavior: str) -> Item:
    return msgspec.structs.replace(item, behavior=behavior) if item.behavior is None else item


def answers_of(items: Sequence[Item], plan: JudgingPlan) -> NDArray[np.float64]:
    """Ask the judge, take the columns of the rubric, and trust no judge to keep to [0, 1]."""
    given = np.asarray(plan.judge.probabilities(items), dtype=np.float64)
    expected = (len(items), len(plan.judge.questions))
    if given.shape != expected:
        msg = f"`judge` must give probabilities of shape {expected}, got {given.shape}."
        raise InputError(msg)
    found = given[:, list(plan.columns)]
    if not (np.isnan(found) | ((found >= 0) & (found <= 1))).all():
        msg = f"`judge` must give probabilities in [0, 1], got {np.nanmin(found)!r} to "
        raise InputError(f"{msg}{np.nanmax(found)!r} from {shorten(plan.judge.name)!r}.")
    return found


def _check_behaviors(items: Sequence[Item], rubric: Rubric) -> None:
    known = {row.id for row in rubric.behaviors} | {None}
    for item in items:
        if item.behavior not in known:
            rubric.behavior(str(item.behavior))  # says what is known


def _classes(
    rubric: Rubric,
    behavior: Behavior,
    behaviors: Sequence[str | None],
    probabilities: NDArray[np.float64],
    *,
    threshold: Threshold,
) -> BehaviorClasses:
    names = tuple(row.name for row in behavior.classes)
    concerned = [own is None or own == behavior.id for own in behaviors]
    rows = np.flatnonzero(np.array(concerned, dtype=bool))
    if rows.size == 0:
        found, hard = np.empty((0, len(names))), np.empty(0, dtype=np.int64)
    else:
        chosen = probabilities[rows]
        found = class_probabilities(
            rubric, behavior.id, probabilities=chosen, propositions=rubric.propositions
        ).values
        hard = _hard(rubric, behavior, chosen, threshold=threshold)
    return BehaviorClasses(
        behavior=behavior.id, classes=names, rows=rows, probabilities=found, hard=hard
    )


def _hard(
    rubric: Rubric, behavior: Behavior, chosen: NDArray[np.float64], *, threshold: Threshold
) -> NDArray[np.int64]:
    """Threshold, then evaluate; a missing answer stays missing."""
    labels: NDArray[np.generic] = chosen >= threshold_of_each(threshold, rubric.propositions)
    missing = np.isnan(chosen)
    if missing.any():
        labels = np.where(missing, np.nan, labels)
    return hard_classes(rubric, behavior.id, labels=labels, propositions=rubric.propositions)


def judge_by_plan(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    store: str | Path | None = None,
    retry_failures: bool = False,
    progress: Callable[[JudgingProgress], None] | None = None,
    stopping: threading.Event | None = None,
) -> Verdicts:
    """Judge items in memory, at least one."""
    if not asks_a_model(plan.judge):
        pieces = []
        for start in range(0, len(items), _BATCH_ITEMS):
            pieces.append(verdicts_on(items[start : start + _BATCH_ITEMS], plan))
            if progress is not None:
                n_done = min(start + _BATCH_ITEMS, len(items))
                progress(JudgingProgress(n_items=n_done, n_reused=0, n_dropped=0))
        return Verdicts.concatenate(pieces)
    from voirdire.judging.llm.batches import judged_batches
    from voirdire.judging.llm.model_run import call_progress
    from voirdire.judging.llm.run_record import RunRecord
    from voirdire.store import open_store

    record = RunRecord(plan.rubric)

    def tick(n_answered: float, state: ClientState) -> None:
        if progress is not None:
            calls = call_progress(n_answered, state)
            progress(
                JudgingProgress(
                    n_items=record.n_items, n_reused=record.n_reused, n_dropped=0, calls=calls
                )
            )

    with nullcontext() if store is None else open_store(store) as replies:
        pieces = list(
            judged_batches(
                items,
                plan,
                store=replies,
                retry_failures=retry_failures,
                tick=tick,
                stopping=stopping,
                record=record,
            )
        )
    return replace(Verdicts.concatenate(pieces), calls=record.summary())
