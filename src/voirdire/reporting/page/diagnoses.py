"""Who stands apart, where a judge opposes people who agree, and on which slices it does worse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voirdire.reporting.page_frame.speech import (
    Count,
    Decimal,
    Listing,
    Name,
    P,
    Percent,
    Said,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.page.content import (
        AnnotatorDiagnosis,
        JudgeDiagnosis,
        PanelCounts,
        Slice,
    )
    from voirdire.reporting.page.grouping import QuestionPart

__all__ = ["diagnosed_judges", "outlier_sentences", "panel_sentences", "slice_sentences"]

_ENOUGH_CHANCES = 10


def diagnosed_judges(part: QuestionPart) -> tuple[JudgeDiagnosis, ...]:
    """Return the judges' diagnoses in the order of ρ."""
    if part.found.diagnosis is None:
        return ()
    by_judge = {row.judge: row for row in part.found.diagnosis.judges}
    return tuple(by_judge[row.judge] for row in part.main.judges if row.judge in by_judge)


def outlier_sentences(rows: Sequence[AnnotatorDiagnosis]) -> tuple[Said, ...]:
    """Name the annotators who stand apart, and say what to do."""
    if not rows:
        return ()
    untested = sum(row.p_value is None for row in rows)
    if untested == len(rows):
        return (say("outlier.untested"),)
    rest: tuple[Said, ...] = ()
    if untested:
        all_of_them = Count(len(rows), "annotators")
        rest = (say("outlier.some", n=Count(untested), annotators=all_of_them),)
    apart = [row for row in rows if row.outlier]
    if not apart:
        return (say("outlier.nobody.tested" if untested else "outlier.nobody"), *rest)
    named = [
        say(
            "outlier.one",
            annotator=Name(row.annotator),
            agreement=Decimal(row.agreement),
            others=Decimal(row.agreement_of_others),
            p=P(row.p_value),
        )
        for row in apart
    ]
    return *named, say("outlier.todo"), *rest


def panel_sentences(panel: PanelCounts | None) -> tuple[Said, ...]:
    """Hold what the judge does where people agree against what a person does there."""
    if panel is None or not panel.n_unanimous + panel.n_split:
        return ()
    found = []
    if panel.n_unanimous:
        found.append(
            say(
                "panel.unanimous",
                against=Count(panel.n_against),
                items=Count(panel.n_unanimous, "items"),
                share=Percent(panel.n_against / panel.n_unanimous),
            )
        )
    if panel.n_human_chances >= _ENOUGH_CHANCES:
        found.append(_yardstick(panel))
    if panel.n_split:
        follows = panel.n_split_with_majority + panel.n_split_with_tied
        figures = {"items": Count(panel.n_split, "items"), "follows": Count(follows)}
        nobody = Count(panel.n_split_with_nobody)
        found.append(
            say("panel.split", nobody=nobody, **figures)
            if nobody.value
            else say("panel.split.known", **figures)
        )
    return tuple(found)


def _yardstick(panel: PanelCounts) -> Said:
    judge = panel.n_judge_opposed / panel.n_human_chances
    human = panel.n_human_opposed / panel.n_human_chances
    word = "more" if judge - human > _noise(judge, human, panel) else "alike"
    word = "less" if judge <= human else word
    return say(f"panel.yardstick.{word}", judge=Percent(judge), human=Percent(human))


def _noise(judge: float, human: float, panel: PanelCounts) -> float:
    """Give two standard errors of a difference of two shares of the unanimous items.

    Chances repeat items; counting items instead errs on the side of saying nothing.
    """
    share = (judge + human) / 2
    return 2 * math.sqrt(2 * share * (1 - share) / max(panel.n_unanimous, 1))


def slice_sentences(rows: Sequence[Slice]) -> tuple[Said, ...]:
    """Name the slices on which the judge does worse, beyond chance."""
    if not rows:
        return ()
    worse = [row for row in rows if row.worse]
    if not worse:
        return (say("slices.nowhere", slices=Count(len(rows), "slices")),)
    named = [
        say(
            "slices.one",
            column=Name(row.column),
            value=Name(row.value),
            difference=Decimal(row.difference),
            p=P(row.p_adjusted),
        )
        for row in worse
    ]
    return say("slices.worse", slices=Listing(tuple(named), most=5)), say("slices.todo")
