"""Tests whether a judge prefers its own model."""

from __future__ import annotations

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
    from voirdire.studies.probing.variants import Layout
    from voirdire.studies.study import Labels

__all__ = ["find_self_preference", "read_failures"]


def read_failures(layout: Layout, humans: Labels | None) -> dict[str, set[str]]:
    """Read the items that fail each question by the annotators' majority, before anything is paid.

    Tied items are left out.
    """
    settings = layout.settings
    if settings.author is None and humans is None:
        return {}
    if settings.author is None:
        msg = "`humans` must come with `author` and `own`, got neither: they say who failed."
        raise InputError(msg)
    if settings.own not in {item.metadata.get(settings.author) for item in layout.items}:
        msg = (
            f"`own` must be a value of the column {shorten(settings.author)!r}, got "
            f"{shorten(settings.own)!r}, which no item has."
        )
        raise InputError(msg)
    if humans is None:
        msg = "`humans` must be given for self-preference, got None: they say who failed."
        raise InputError(msg)
    from voirdire.io import Reading
    from voirdire.studies.gold import majority_labels
    from voirdire.studies.study import read_side

    kinds = {row.kind for row in layout.plan.rubric.questions}
    kind: Any = kinds.pop() if len(kinds) == 1 else None
    majority = majority_labels(read_side("humans", humans, Reading(kind=kind)))
    asked = [row.id for row in layout.plan.rubric.questions if row.kind == majority.kind]
    rows = majority.frame.select("question", "item", "label").rows()
    if not any(question in asked and item in {*layout.ids} for question, item, _ in rows):
        msg = (
            "`humans` must label questions of the rubric on the items that are probed, got labels "
            f"of {list_names(sorted(majority.questions), most=5)} on other items or questions."
        )
        raise InputError(msg)
    if majority.kind != "boolean":
        return {}
    return {
        name: {item for question, item, label in rows if (question, label) == (name, "false")}
        for name in asked
    }


def find_self_preference(
    layout: Layout, verdicts: Verdicts, failures: dict[str, set[str]]
) -> tuple[SelfPreference, ...]:
    """Compare false positives on the judge's own model with those on others."""
    from scipy.stats import fisher_exact, norm

    settings = layout.settings
    authors = [item.metadata.get(settings.author or "") for item in layout.items]
    findings = []
    for question, failing in failures.items():
        answers = verdicts.answers(question)
        passed: tuple[list[bool], list[bool]] = ([], [])  # of the own model, and of others
        for name, author in zip(layout.ids, authors, strict=True):
            label = answers[verdicts.places[name]]
            if name in failing and label is not None and author is not None:
                passed[author != settings.own].append(bool(label))
        if not all(passed):
            continue
        hits, sizes = [sum(each) for each in passed], [len(each) for each in passed]
        add = 0.5 if 0 in hits else 0.0
        (a, b), (n, m) = (x + add for x in hits), (x + 2 * add for x in sizes)
        ratio = (a / n) / (b / m)
        width = float(norm.ppf(0.5 + settings.confidence_level / 2))
        spread = width * np.sqrt(1 / a - 1 / n + 1 / b - 1 / m)
        own_rate, others_rate = (
            Estimate(estimate=hit / size, low=ends[0], high=ends[1])
            for hit, size in zip(hits, sizes, strict=True)
            for ends in [clopper_pearson(hit, size, settings.confidence_level)]
        )
        table = [hits, [size - hit for hit, size in zip(hits, sizes, strict=True)]]
        findings.append(
            SelfPreference(
                question=question,
                n_own=sizes[0],
                n_others=sizes[1],
                own_rate=own_rate,
                others_rate=others_rate,
                ratio=Estimate(
                    estimate=ratio, low=ratio * np.exp(-spread), high=ratio * np.exp(spread)
                ),
                p_value=float(fisher_exact(np.array(table)).pvalue),
            )
        )
    adjusted = adjust_p_values([row.p_value for row in findings], harmonic=False).tolist()
    rate = settings.false_discovery_rate
    return tuple(
        replace(row, adjusted_p_value=p, is_found=p <= rate and row.ratio.estimate > 1)
        for row, p in zip(findings, adjusted, strict=True)
    )
