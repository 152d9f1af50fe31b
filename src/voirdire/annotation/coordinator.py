"""What the coordinator sees: how far everybody is, and whether one may stop.

An item counts once everybody who is to label it has answered, and it counts as they answered then:
what is taken back later changes the table that is examined, and no bet.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._messages import shorten
from voirdire.annotation.assignment import Task
from voirdire.annotation.study import COORDINATOR, write_label
from voirdire.errors import NoDataError
from voirdire.studies import WatchPlan, measure_labelling, watch_judge

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from voirdire.annotation.study import Study
    from voirdire.studies import LabellingProgress, WatchedJudge

__all__ = ["measure_study", "read_judges", "watch_study"]

Answers = dict[tuple[str, str], dict[str, Any]]
"""By question and judge: a label an item, None where the judge failed."""


def read_judges(study: Study, files: Iterable[str | Path]) -> Answers:
    """Read what judges said of the items of a study.

    Parameters
    ----------
    study : Study
        Its questions are read.
    files : iterable of path
        Verdicts or labels of judges; people never see them.

    Returns
    -------
    dict
        By question and judge: a label an item, None where the judge failed.

    Raises
    ------
    NoDataError
        If a judge has no item of the study.
    """
    answers: Answers = {}
    names = {
        study.name_of(item, key)[1]
        for item in study.items.values()
        for key in study.questions_of(item)
    }
    for file in files:
        for question, table in study.read_tables(file, role="judge"):
            asked_rows = table.of_questions([] if question.kind == "text" else [question.id])
            for row in range(len(asked_rows)):
                own = answers.setdefault((question.id, asked_rows.rater.value(row)), {})
                own[asked_rows.item.value(row)] = asked_rows.label.value(row)
    for (asked, judge), own in answers.items():
        if names.isdisjoint(own):
            msg = (
                f"`judges` must hold items of the study, got none of {shorten(judge)!r} on "
                f"{shorten(asked)!r}: its first is {shorten(next(iter(own)))!r}, and the "
                f"study's {shorten(min(names))!r}. Use the same ids."
            )
            raise NoDataError(msg)
    return answers


def watch_study(study: Study, answers: Answers) -> tuple[WatchedJudge, ...]:
    """Watch judges on the items that are closed.

    Parameters
    ----------
    study : Study
        As it stands.
    answers : dict
        As `read_judges` gives them.

    Returns
    -------
    tuple of WatchedJudge
    """
    return _watch(study, answers, _list_closed(study))


def measure_study(study: Study, answers: Answers | None = None) -> LabellingProgress:
    """Measure how a study goes: people, judges, items that split people.

    Parameters
    ----------
    study : Study
        As it stands.
    answers : dict, optional
        As `read_judges` gives them; nobody is watched without any.

    Returns
    -------
    LabellingProgress
    """
    names = study.names()
    rows: dict[tuple[int, str, str, int], dict[str, Any]] = {}
    notes: dict[tuple[int, str, int], list[str]] = {}
    for row in study.history():
        item = study.items.get(row.item)
        if row.seat not in names or item is None or item.metadata.get("practice"):
            continue
        place = (row.seat, row.item, row.question, row.turn)
        if row.action == "undo":
            rows.pop(place, None)
        elif row.action == "note":
            said = json.loads(row.value or "null")
            notes[row.seat, row.item, row.turn] = [said] if said else []
        elif row.action == "answer" and row.question in study.questions_of(item):
            question, shown = study.name_of(item, row.question)
            value = json.loads(row.value or "null")
            rows[place] = {
                "item": shown,
                "question": question,
                "annotator": names[row.seat],
                "label": None if value is None else write_label(value),
                "at": row.at,
                "is_repeat": row.turn > 0,
            }
    schema = dict.fromkeys(("item", "question", "annotator", "label", "note"), pl.String)
    answered = pl.DataFrame(
        [
            each | {"note": "; ".join(notes.get((seat, item, turn), ())) or None}
            for (seat, item, _, turn), each in rows.items()
        ],
        schema=schema | {"at": pl.Float64, "is_repeat": pl.Boolean},
    )
    known: list[dict[str, Any]] = [
        {k: x for k, x in item.metadata.items() if isinstance(x, str | int | bool)}
        | {"item": study.name_of(item, key)[1], "response": item.response}
        for item in map(study.items.__getitem__, study.order)
        for key in study.questions_of(item)
    ]
    items = pl.DataFrame(known, infer_schema_length=None, strict=False).unique("item")
    closed = _list_closed(study)
    people = [seat for seat in study.seats if seat.number != COORDINATOR]
    return measure_labelling(
        answered,
        n_assigned={
            seat.name: sum(seat.number in given for given in study.people) for seat in people
        },
        n_done={
            seat.name: sum(study.is_done(seat.number, Task(item=item)) for item in study.order)
            for seat in people
        },
        n_items=len(study.order),
        n_closed=len(closed),
        watched=_watch(study, answers or {}, closed),
        items=items,
    )


def _list_closed(study: Study) -> dict[str, dict[int, dict[str, Any]]]:
    """Give the items before the first that never closed, with the answers as each closed."""
    return {item: study.closed[item] for item in study.closed_prefix()}


def _watch(
    study: Study, answers: Answers, closed: dict[str, dict[int, dict[str, Any]]]
) -> tuple[WatchedJudge, ...]:
    names = study.names()
    planned = [number for number in names if number < study.n_planned]
    labels: dict[str, dict[str, dict[str, Any]]] = {}
    for item_id, by_seat in closed.items():
        item = study.items[item_id]
        for key, (asked, _) in study.questions_of(item).items():
            name, shown = study.name_of(item, key)
            labels.setdefault(name, {})[shown] = {
                names[seat]: _as_label(asked.kind, by_seat.get(seat, {}).get(key))
                for seat in planned
            }
    of_question: dict[str, list[tuple[str, str | None]]] = {}
    for item in map(study.items.__getitem__, study.order):
        for key in study.questions_of(item):
            name, shown = study.name_of(item, key)
            of_question.setdefault(name, []).append((shown, study.cluster_of(item)))
    watched = []
    for question in study.questions:
        if question.kind == "text":
            continue
        units = of_question.get(question.id, [])
        has_clusters = any(cluster for _, cluster in units)
        plan = WatchPlan.of(
            question,
            annotators=tuple(names[number] for number in planned),
            n_items=len(units),
            epsilon=study.settings.epsilon,
            epsilon_mode=study.settings.epsilon_mode,
        )
        watched += [
            watch_judge(
                judge,
                plan,
                labels=labels.get(question.id, {}),
                answers=own,
                clusters={x: cluster or x for x, cluster in units} if has_clusters else None,
            )
            for (asked_id, judge), own in answers.items()
            if asked_id == question.id
        ]
    return tuple(watched)


def _as_label(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "multilabel":
        return frozenset(value)
    return float(value) if kind == "scale" else value
