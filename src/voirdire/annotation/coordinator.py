"""What the coordinator sees: how far everybody is, and whether one may stop.

An item counts once everybody who is to label it has answered, and it counts as they answered then:
what is taken back later changes the table that is examined, and no bet.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from contextlib import suppress
from itertools import chain
from multiprocessing import get_context
from threading import Lock
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._messages import shorten
from voirdire.annotation.study import Study
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import write_csv
from voirdire.reporting import html_page
from voirdire.store import AnnotationStore
from voirdire.studies import WatchPlan, measure_labelling, stop_record, watch_judge

if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from voirdire._types import Language
    from voirdire.studies import LabellingProgress, WatchedJudge

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
    InputError
        If a judge has two labels of an item, or no item of the study.
    """
    answers: Answers = {}
    names = {
        study.name_of(item, key)[1] for item in study.items.values() for key in study.asked[item.id]
    }
    for file in files:
        for question, table in study.read_tables(file, role="judge"):
            for row in range(len(table)):
                judge, item, label = (x.value(row) for x in (table.rater, table.item, table.label))
                if answers.setdefault((question.id, judge), {}).setdefault(item, label) != label:
                    msg = f"{file}: {shorten(judge)!r} must label an item once, got two labels of"
                    raise InputError(f"{msg} {shorten(item)!r} in these files. Name one of them.")
    for (asked, judge), own in answers.items():
        if names.isdisjoint(own):
            msg = (
                f"`judges` must hold items of the study, got none of {shorten(judge)!r} on "
                f"{shorten(asked)!r}: its first is {shorten(next(iter(own)))!r}, and the "
                f"study's {shorten(min(names))!r}. Use the same ids."
            )
            raise NoDataError(msg)
    return answers


def watch_study(study: Study, answers: Answers, *, codes: bool = False) -> tuple[WatchedJudge, ...]:
    """Watch judges on the items that are closed.

    Parameters
    ----------
    study : Study
        As it stands.
    answers : dict
        As `read_judges` gives them.
    codes : bool, optional
        Call people by codes.

    Returns
    -------
    tuple of WatchedJudge
    """
    names = study.names(codes=codes)
    planned = tuple(names[number] for number in range(study.n_planned))
    closed = set(study.closed_prefix())
    watched = []
    for question in study.questions:
        judged = {judge: own for (asked, judge), own in answers.items() if asked == question.id}
        if question.kind == "text" or not judged:
            continue
        labels: dict[str, dict[str, Any]] = {}
        clusters: dict[str, str | None] = {}
        for item in map(study.items.__getitem__, study.order):
            for key, (asked, _) in study.asked[item.id].items():
                if asked.id == question.id:
                    _, shown = study.name_of(item, key)
                    clusters[shown] = study.cluster_of(item)
                    if item.id in closed:
                        labels[shown] = dict(zip(planned, study.closed[item.id][key], strict=True))
        plan = WatchPlan.of(
            question,
            annotators=planned,
            n_items=len(clusters),
            epsilon=study.settings.epsilon,
            epsilon_mode=study.settings.epsilon_mode,
        )
        units = (
            {x: cluster or x for x, cluster in clusters.items()} if any(clusters.values()) else {}
        )
        watched += [
            watch_judge(judge, plan, labels=labels, answers=own, clusters=units)
            for judge, own in judged.items()
        ]
    return tuple(watched)


def measure_study(study: Study, answers: Answers | None = None) -> LabellingProgress:
    """Measure how a study goes: people, judges, items that split people.

    Parameters
    ----------
    study : Study
        As it stands; answers may come meanwhile.
    answers : dict, optional
        As `read_judges` gives them; nobody is watched without any.

    Returns
    -------
    LabellingProgress
    """
    names = study.names()
    table = study.answers(names).with_columns(is_repeat=pl.col("turn") > 0)
    known: list[dict[str, Any]] = [
        {k: x for k, x in item.metadata.items() if isinstance(x, str | int | bool)}
        | {"item": study.name_of(item, key)[1], "response": item.response}
        for item in map(study.items.__getitem__, study.order)
        for key in study.asked[item.id]
    ]
    n_asked = [len(study.asked[item]) for item in study.order]
    done = table.filter(~pl.col("is_repeat")).group_by("annotator", "place").len()
    done = done.join(pl.DataFrame({"n": n_asked}).with_row_index("place"), on="place")
    n_done = Counter(done.filter(pl.col("len") >= pl.col("n"))["annotator"].to_list())
    n_assigned = Counter(chain.from_iterable(study.people))
    return measure_labelling(
        table,
        n_assigned={name: n_assigned[number] for number, name in names.items()},
        n_done=n_done,
        n_items=len(study.order),
        n_closed=len(study.closed_prefix()),
        watched=watch_study(study, answers or {}),
        items=pl.DataFrame(known, infer_schema_length=None, strict=False).unique("item"),
    )


class CoordinatorPages:
    """What the coordinator's browser gets, made in another process: it delays nobody's answer."""

    def __init__(self, store: AnnotationStore, study: Study, answers: Answers) -> None:
        self._source = store.url, study.key, answers
        self._pipe: Connection | None = None
        self._asking = Lock()

    def make(self, name: str, *, language: Language = "en", codes: bool = False) -> str:
        """Make the page "study", or the file "labels.csv" or "stop.json"."""
        with self._asking:
            if self._pipe is None:
                context = get_context("spawn")
                self._pipe, other = context.Pipe()
                context.Process(
                    target=_make_pages, args=(other, *self._source), daemon=True
                ).start()
                other.close()
            try:
                self._pipe.send((name, language, codes))
                return str(self._pipe.recv())
            except (EOFError, OSError):  # it failed: its traceback is in the log
                self._pipe = None
                raise


def _make_pages(pipe: Connection, url: Any, key: str, answers: Answers) -> None:
    """Make pages until the server has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    with suppress(AttributeError):  # elsewhere than on Windows
        os.nice(10)
    with AnnotationStore(url, makes=False) as store, suppress(EOFError, OSError):
        study = Study(store, key)
        while True:
            name, language, codes = pipe.recv()
            study.refresh(store.answers(key, after=len(study.uuids)))
            if name == "labels.csv":
                made = write_csv(study.labels(codes=codes))
            elif name == "stop.json":
                made = json.dumps(stop_record(watch_study(study, answers, codes=codes)))
            else:
                progress = measure_study(study, answers)
                made = html_page(progress, language=language, is_served=True)
            pipe.send(made)
