"""Tests whether a judge prefers its own model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.stats.cautions import list_names
from voirdire.stats.fdr import adjust_p_values
from voirdire.stats.intervals import Estimate, clopper_pearson
from voirdire.studies.probing.results import SelfPreference

if TYPE_CHECKING:
    from voirdire.records import Verdicts
    from voirdire.studies.probing.asking import Layout
    from voirdire.studies.probing.settings import ProbeSettings
    from voirdire.studies.study import Labels

__all__ = ["find_self_preference", "read_annotations"]


def read_annotations(layout: Layout, humans: Labels | None) -> dict[str, dict[str, Any]]:
    """Read by question and item the annotators' most frequent label, before anything is paid.

    Tied items are left out.
    """
    settings = layout.settings
    if settings.author is None and humans is not None:
        msg = "`humans` must come with `author` and `own`, got neither: they say who failed."
        raise InputError(msg)
    if settings.author is not None:
        if settings.own not in _list_authors(layout).values():
            msg = (
                f"`own` must be a value of the column {shorten(settings.author)!r}, got "
                f"{shorten(settings.own)!r}, which no item has."
            )
            raise InputError(msg)
        if humans is None:
            msg = "`humans` must be given for self-preference, got None: they say who failed."
            raise InputError(msg)
    return {} if humans is None else _find_majority(layout, humans)


def _find_majority(layout: Layout, humans: Labels) -> dict[str, dict[str, Any]]:
    from voirdire.io import Reading
    from voirdire.studies.study import read_side

    kinds = {row.kind for row in layout.plan.rubric.questions}
    kind: Any = kinds.pop() if len(kinds) == 1 else None
    table = read_side("humans", humans, Reading(kind=kind))
    truth = {"true": True, "false": False} if table.kind == "boolean" else {}
    votes: dict[tuple[str, str], Counter[Any]] = {}
    for question, item, label in table.frame.select("question", "item", "label").iter_rows():
        if label is not None:
            votes.setdefault((question, item), Counter())[truth.get(label, label)] += 1
    majority: dict[str, dict[str, Any]] = {}
    for (question, item), counts in votes.items():
        first, *others = counts.most_common(2)
        if not others or others[0][1] < first[1]:
            majority.setdefault(question, {})[item] = first[0]
    asked = [row.id for row in layout.plan.rubric.questions if row.kind == table.kind]
    shared = [name for name in asked if name in majority]
    if not {item for name in shared for item in majority[name]} & set(layout.ids):
        msg = (
            "`humans` must label questions of the rubric on the items that are probed, got labels "
            f"of {list_names(sorted(majority), most=5)} on other items or questions."
        )
        raise InputError(msg)
    return {name: majority[name] for name in shared}


def _list_authors(layout: Layout) -> dict[str, Any]:
    column = layout.settings.author or ""
    return {item.id: item.metadata.get(column) for item in layout.items}


def find_self_preference(
    layout: Layout, verdicts: Verdicts, majority: dict[str, dict[str, Any]]
) -> tuple[SelfPreference, ...]:
    """Compare false positives on the judge's own model with those on others."""
    settings = layout.settings
    if settings.own is None:
        return ()
    authors = _list_authors(layout)
    findings = []
    for question, truth in majority.items():
        answers = verdicts.answers(question)
        labels = {name: answers[verdicts.places[name]] for name in layout.ids}
        failed = [x for x in layout.ids if truth.get(x) is False and labels[x] is not None]
        own = [bool(labels[x]) for x in failed if authors[x] == settings.own]
        others = [bool(labels[x]) for x in failed if authors[x] not in (None, settings.own)]
        if own and others:
            findings.append(_measure_preference(question, own, others, settings))
    adjusted = adjust_p_values([row.p_value for row in findings], harmonic=False).tolist()
    rate = settings.false_discovery_rate
    return tuple(
        replace(row, adjusted_p_value=p, is_found=p <= rate and row.ratio.estimate > 1)
        for row, p in zip(findings, adjusted, strict=True)
    )


def _measure_preference(
    question: str, own: list[bool], others: list[bool], settings: ProbeSettings
) -> SelfPreference:
    from scipy.stats import fisher_exact, norm

    hits, misses = (sum(own), sum(others)), (len(own) - sum(own), len(others) - sum(others))
    level = settings.confidence_level
    add = 0.5 if 0 in hits else 0.0
    a, b = hits[0] + add, hits[1] + add
    n, m = len(own) + 2 * add, len(others) + 2 * add
    ratio = (a / n) / (b / m)
    spread = float(norm.ppf(0.5 + level / 2)) * np.sqrt(1 / a - 1 / n + 1 / b - 1 / m)
    rates = [
        Estimate(estimate=k / size, low=ends[0], high=ends[1])
        for k, size in ((hits[0], len(own)), (hits[1], len(others)))
        for ends in [clopper_pearson(k, size, level)]
    ]
    return SelfPreference(
        question=question,
        n_own=len(own),
        n_others=len(others),
        own_rate=rates[0],
        others_rate=rates[1],
        ratio=Estimate(estimate=ratio, low=ratio * np.exp(-spread), high=ratio * np.exp(spread)),
        p_value=float(fisher_exact(np.array([hits, misses])).pvalue),
    )
