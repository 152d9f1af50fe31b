"""Tests degradations, other prompts and self-preference."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.agreement import cohen_kappa
from voirdire.stats.cautions import list_names
from voirdire.stats.fdr import adjust_p_values
from voirdire.stats.intervals import (
    UNDEFINED,
    Estimate,
    clopper_pearson,
    estimate_share,
    take_units,
)
from voirdire.studies.probing.answers import Codes
from voirdire.studies.probing.results import DegradationFinding, PromptAgreement, SelfPreference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.io import LabelTable
    from voirdire.records import Verdicts
    from voirdire.rubrics import Question, Rubric
    from voirdire.studies.probing.answers import Answers
    from voirdire.studies.probing.asking import Layout
    from voirdire.studies.probing.settings import ProbeSettings
    from voirdire.studies.study import Labels

__all__ = ["check_beside", "find_degradations", "find_prompt_agreement", "find_self_preference"]

_USUAL_QUALITY = "fully_complies"


def find_degradations(
    layout: Layout, verdicts: Verdicts, runs: Sequence[Answers]
) -> tuple[DegradationFinding, ...]:
    """Count how often a worse version gets the lower value.

    Only originals for which the proposition holds are counted. A second run decides that where
    there is one: selecting by the compared value itself would bias the result (regression to the
    mean).
    """
    if not layout.worse:
        return ()
    questions = _choose_quality_questions(layout.plan.rubric, layout.settings.quality)
    codes = Codes(questions)
    column = {name: k for k, name in enumerate(layout.questions)}
    findings = []
    for change, pairing in layout.worse:
        before = codes.answers(verdicts, pairing.before)
        after = codes.answers(verdicts, pairing.after)
        for k, question in enumerate(questions):
            first, second = before.values[:, k], after.values[:, k]
            kept = ~np.isnan(first) & ~np.isnan(second)
            if question.kind == "pairwise":  # response A is the original
                first, second = second, np.full(len(second), 0.5)
            elif question.kind == "boolean" and len(runs) > 1:
                kept &= runs[1].labels[list(pairing.places), column[question.id]] == 1
            if not kept.any():
                continue
            wins = np.where(first > second, 1.0, np.where(first == second, 0.5, 0.0))[kept]
            units = take_units(layout.units[list(pairing.places)], kept)
            findings.append(
                DegradationFinding(
                    degradation=change.id,
                    summary=change.summary,
                    question=question.id,
                    n_pairs=len(wins),
                    n_lower=int((wins == 1).sum()),
                    n_tied=int((wins == 0.5).sum()),
                    share=_compute_share(wins, units, layout.settings),
                )
            )
    return tuple(findings)


def _compute_share(
    wins: NDArray[np.float64], units: NDArray[np.intp] | None, settings: ProbeSettings
) -> Estimate:
    level = settings.confidence_level
    if not len(wins):
        return UNDEFINED
    if units is not None and len(np.unique(units)) == len(units) and not (wins == 0.5).any():
        low, high = clopper_pearson(float(wins.sum()), len(wins), level)
        return Estimate(estimate=float(wins.mean()), low=low, high=high)
    return estimate_share(wins, units, confidence_level=level)


def _choose_quality_questions(rubric: Rubric, names: Sequence[str]) -> list[Question]:
    questions = {row.id: row for row in rubric.questions}
    for name in names:
        if name not in questions or questions[name].kind not in ("boolean", "scale", "pairwise"):
            msg = (
                "`quality` must name boolean, scale or pairwise questions of the rubric, got "
                f"{shorten(name)!r}."
            )
            raise InputError(msg)
    usual = [row for row in rubric.questions if row.kind in ("scale", "pairwise")]
    usual += [row for row in rubric.questions if row.id == _USUAL_QUALITY]
    return [questions[name] for name in names] or usual


# People's labels ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """Annotators' labels of the items.

    Attributes
    ----------
    table : LabelTable
        Their labels.
    questions : tuple of str
        Those of the rubric that they label, of one kind.
    majority : mapping of str to mapping of str to object
        By question and item the most frequent label; tied items are left out.
    """

    table: LabelTable
    questions: tuple[str, ...]
    majority: dict[str, dict[str, Any]]


def check_beside(layout: Layout, humans: Labels | None) -> People | None:
    """Check all requirements before anything is paid, and read people's labels."""
    settings, rubric = layout.settings, layout.plan.rubric
    _choose_quality_questions(rubric, settings.quality)
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
    return None if humans is None else _collect_people(layout, humans)


def _collect_people(layout: Layout, humans: Labels) -> People:
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
    shared = tuple(name for name in asked if name in majority)
    if not {item for name in shared for item in majority[name]} & set(layout.ids):
        msg = (
            "`humans` must label questions of the rubric on the items that are probed, got labels "
            f"of {list_names(sorted(majority), most=5)} on other items or questions."
        )
        raise InputError(msg)
    return People(table=table, questions=shared, majority=majority)


def _list_authors(layout: Layout) -> dict[str, Any]:
    column = layout.settings.author or ""
    return {item.id: item.metadata.get(column) for item in layout.items}


def _read_labels(verdicts: Verdicts, question: str, ids: Sequence[str]) -> dict[str, Any]:
    answers = verdicts.answers(question)
    return {name: answers[verdicts.places[name]] for name in ids}


def find_prompt_agreement(
    layout: Layout, verdicts_by_request: dict[str, Verdicts], people: People | None
) -> tuple[PromptAgreement, ...]:
    """Compute for each prompt the agreement of its labels, and the outcome of the test."""
    if not layout.prompts:
        return ()
    verdicts_by_prompt = {"usual": verdicts_by_request["items"]} | {
        name: verdicts_by_request[f"prompt/{name}"] for name, _, _ in layout.prompts
    }
    outcomes = {} if people is None else _examine_prompts(verdicts_by_prompt, people)
    rows = []
    for question in layout.plan.rubric.questions:
        if question.kind not in ("boolean", "choice", "pairwise"):
            continue
        usual = _read_labels(verdicts_by_prompt["usual"], question.id, layout.ids)
        truth = usual if people is None else people.majority.get(question.id, {})
        for name, verdicts in verdicts_by_prompt.items():
            labels = _read_labels(verdicts, question.id, layout.ids)
            outcome, rate = outcomes.get((question.id, name), (None, float("nan")))
            rows.append(
                PromptAgreement(
                    prompt=name,
                    question=question.id,
                    kappa=_compute_kappa(
                        [labels[item] for item in layout.ids],
                        [truth.get(item) for item in layout.ids],
                    ),
                    outcome=outcome,
                    winning_rate=rate,
                )
            )
    return tuple(rows)


def _compute_kappa(first: Sequence[Any], second: Sequence[Any]) -> float:
    """Compute Cohen's κ over the items that both label; nan where there is one label only."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    codes_by_label = {
        label: code for code, label in enumerate(dict.fromkeys(x for pair in both for x in pair))
    }
    if len(codes_by_label) < 2:
        return float("nan")
    codes = np.array([[codes_by_label[a], codes_by_label[b]] for a, b in both])
    return cohen_kappa(codes[:, 0], codes[:, 1]).estimate


def _examine_prompts(
    verdicts_by_prompt: dict[str, Verdicts], people: People
) -> dict[tuple[str, str], tuple[str, float]]:
    from voirdire.studies.whole_study import examine

    judges = [replace(verdicts, judge=name) for name, verdicts in verdicts_by_prompt.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # the outcome covers it
        examination = examine(
            judges=judges,
            humans=people.table,
            kind=people.table.kind,
            questions=people.questions,
            around=False,
        )
    return {
        (str(row.question), row.judge): (row.outcome, row.winning_rate)
        for row in examination.results
    }


def find_self_preference(
    layout: Layout, verdicts: Verdicts, people: People | None
) -> tuple[SelfPreference, ...]:
    """Compare false positives on the judge's own model with those on others."""
    settings = layout.settings
    if settings.own is None or people is None:
        return ()
    authors = _list_authors(layout)
    findings = []
    for question in people.questions:
        truth, labels = people.majority[question], _read_labels(verdicts, question, layout.ids)
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
