"""Write the evidence of a verdict in words: agreement, controls, differences, diagnosis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.examination_verdicts import against, with_interval
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    P,
    Percent,
    Said,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.reporting.pages.examination_views import Family, QuestionPart
    from voirdire.stats import (
        ControlResult,
        JudgeDifference,
        PanelCounts,
        SliceResult,
    )
    from voirdire.stats.agreement import AgreementResult
    from voirdire.studies.diagnosis import AnnotatorDiagnosis, JudgeDiagnosis

__all__ = [
    "BEYOND_CHANCE",
    "ControlRow",
    "agreement_sentences",
    "ceiling_rows",
    "comparisons_of",
    "control_sentences",
    "diagnosed_judges",
    "difference_sentences",
    "is_clear",
    "outlier_sentences",
    "panel_sentences",
    "slice_sentences",
    "worst_controls",
]

_WORDS = ((0.8, "strong"), (0.667, "fair"), (0.4, "moderate"), (0.2, "weak"), (-math.inf, "hardly"))
_COLUMNS = (
    "raw_agreement",
    "cohen_kappa",
    "gwet_ac",
    "majority_agreement",
    "majority_kappa",
    "panel_majority_kappa",
)
_MOST_NAMED = 6


def agreement_sentences(part: QuestionPart) -> tuple[Said, ...]:
    """Say how far the annotators agree, in figures and in a plain word."""
    agreement = part.main.fullest.human_agreement
    if agreement is None:
        return (say("agreement.none"),)
    if not is_defined(agreement.alpha):
        return (say("agreement.undefined"),)
    word = next(word for bound, word in _WORDS if agreement.alpha >= bound)
    sentence = say(
        "agreement.alpha",
        alpha=with_interval(
            agreement.alpha, agreement.low, agreement.high, level=agreement.confidence_level
        ),
        word=say(f"agreement.word.{word}"),
    )
    return sentence, say(f"agreement.means.{word}")


def ceiling_rows(
    part: QuestionPart,
) -> tuple[list[str], list[tuple[str | None, list[AgreementResult | None]]]]:
    """Return the coefficients, and a row of them for the annotators (None) and for each judge."""
    agreement = part.found.agreement
    if agreement is None:
        return [], []
    by_judge = {row.judge: _by_name(row.coefficients) for row in agreement.judges}
    order = [judge.judge for judge in part.main.shown if judge.judge in by_judge]
    table: dict[str | None, dict[str, AgreementResult]] = {None: _by_name(agreement.ceiling)}
    table |= {judge: by_judge[judge] for judge in order}
    columns = [name for name in _COLUMNS if any(name in row for row in table.values())]
    return columns, [(who, [row.get(name) for name in columns]) for who, row in table.items()]


def _by_name(coefficients: Sequence[AgreementResult]) -> dict[str, AgreementResult]:
    return {row.coefficient: row for row in coefficients}


_NAMES = ("constant", "random", "majority_vote")


@dataclass(frozen=True, kw_only=True)
class ControlRow:
    """One control at every margin.

    A control takes the test on the items that a judge answered, so that it differs by judge where
    coverage does. A control that knows nothing is shown where it does best, the majority vote
    where it does worst.

    Attributes
    ----------
    control : str
        Which.
    by_margin : dict of float to ControlResult
        The worst case at each margin.
    differs : bool
        Whether the figures differ by judge.
    """

    control: str
    by_margin: dict[float, ControlResult]
    differs: bool

    @cached_property
    def widest(self) -> ControlResult:
        """Its figures at the widest margin."""
        return self.by_margin[max(self.by_margin)]


def worst_controls(family: Family) -> tuple[ControlRow, ...]:
    """Collect the controls of a family, each in its worst case."""
    by_name: dict[str, dict[float, list[ControlResult]]] = {name: {} for name in _NAMES}
    for row in family.rows:
        for control in row.controls:
            by_name[control.control].setdefault(row.epsilon, []).append(control)
    return tuple(
        ControlRow(
            control=name,
            by_margin={
                margin: (min if name == "majority_vote" else max)(each, key=_strength)
                for margin, each in by_margin.items()
            },
            differs=any(len(set(map(_strength, each))) > 1 for each in by_margin.values()),
        )
        for name, by_margin in by_name.items()
        if by_margin
    )


def _strength(control: ControlResult) -> tuple[bool, float, float]:
    rates = (control.winning_rate, control.advantage_probability)
    omega, rho = (value if is_defined(value) else -1.0 for value in rates)
    return control.passed, omega, rho


def control_sentences(family: Family) -> tuple[Said, ...]:
    """Say how judges that know nothing, and the majority vote, do in the test."""
    rows = worst_controls(family)
    if not rows:
        return (say("controls.none"),)
    differ = (say("controls.differ"),) if any(row.differs for row in rows) else ()
    return (*(_sentence(row, family) for row in rows), *differ)


def _sentence(row: ControlRow, family: Family) -> Said:
    widest = row.widest
    passing = [margin for margin, each in sorted(row.by_margin.items()) if each.passed]
    label = Label(widest.label or "")
    rates = (widest.winning_rate, widest.advantage_probability)
    if not passing and not all(map(is_defined, rates)):
        return say(f"control.{row.control}.undefined", label=label)
    key = f"control.{row.control}.{'passes' if passing else 'fails'}"
    if key == "control.majority_vote.fails":  # beside a reference, votes are no measure of a judge
        key = against(key, family.first)
    return say(
        key,
        omega=Decimal(widest.winning_rate),
        rho=Decimal(widest.advantage_probability),
        epsilon=Margin(max(row.by_margin)),
        passing=Listing(tuple(map(Margin, passing)), most=12),
        label=label,
    )


BEYOND_CHANCE = 0.05


def comparisons_of(part: QuestionPart) -> tuple[JudgeDifference, ...]:
    """Return the comparisons under the main alignment, the clearest first."""
    rows = [row for row in part.found.comparisons if row.alignment == part.main.alignment]
    return tuple(sorted(rows, key=_clearness))


def _clearness(row: JudgeDifference) -> tuple[float, float]:
    p_value = row.p_adjusted if is_defined(row.p_adjusted) else math.inf
    return p_value, -abs(row.difference) if is_defined(row.difference) else 0.0


def difference_sentences(part: QuestionPart) -> tuple[Said, ...]:
    """Say how many pairs of judges differ."""
    rows = comparisons_of(part)
    if not rows:
        return ()
    n_clear = sum(map(is_clear, rows))
    key = "differences.counted" if n_clear else "differences.nobody"
    return (say(key, clear=n_clear, pairs=Count(len(rows), "pairs")),)


def is_clear(row: JudgeDifference) -> bool:
    """Whether a difference is beyond chance after Holm's correction."""
    return row.p_adjusted < BEYOND_CHANCE


_ENOUGH_CHANCES = 10


def diagnosed_judges(part: QuestionPart) -> tuple[JudgeDiagnosis, ...]:
    """Return the judges' diagnoses that say something, in the order of ρ."""
    if part.found.diagnosis is None:
        return ()
    by_judge = {
        row.judge: row
        for row in part.found.diagnosis.judges
        if panel_sentences(row.panel) or row.slices
    }
    return tuple(by_judge[row.judge] for row in part.main.judges if row.judge in by_judge)


def outlier_sentences(rows: Sequence[AnnotatorDiagnosis]) -> tuple[Said, ...]:
    """Name the annotators who disagree with the others, and say what to do."""
    if not rows:
        return ()
    untested = sum(not is_defined(row.p_value) for row in rows)
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
    """Compare the judge with a single person on items where the other people agree."""
    return () if panel is None else tuple(_list_panel_sentences(panel))


def _list_panel_sentences(panel: PanelCounts) -> Iterator[Said]:
    if panel.n_unanimous:
        yield say(
            "panel.unanimous",
            against=Count(panel.n_opposed),
            items=Count(panel.n_unanimous, "items"),
            share=Percent(panel.n_opposed / panel.n_unanimous),
        )
    if panel.n_human_chances >= _ENOUGH_CHANCES:
        judge = panel.n_judge_opposed / panel.n_human_chances
        human = panel.n_human_opposed / panel.n_human_chances
        share = (judge + human) / 2
        # two standard errors of a difference of two shares of the unanimous items: chances repeat
        # items, and counting items instead errs on the side of saying nothing
        noise = 2 * math.sqrt(2 * share * (1 - share) / max(panel.n_unanimous, 1))
        word = "more" if judge - human > noise else "alike"
        word = "less" if judge <= human else word
        yield say(f"panel.yardstick.{word}", judge=Percent(judge), human=Percent(human))
    if panel.n_split:
        follows = Count(panel.n_split_with_majority + panel.n_split_with_tied)
        nobody = {"nobody": Count(panel.n_split_with_nobody)} if panel.n_split_with_nobody else {}
        key = "panel.split" if nobody else "panel.split.known"
        yield say(key, items=Count(panel.n_split, "items"), follows=follows, **nobody)


def slice_sentences(rows: Sequence[SliceResult]) -> tuple[Said, ...]:
    """Name the slices on which the judge does worse, beyond chance."""
    if not rows:
        return ()
    worse = [row for row in rows if row.worse]
    if not worse:
        return (say("slices.nowhere", slices=Count(len(rows), "slices")),)
    named = [
        say(
            "slices.one",
            column=Name(str(row.column)),
            value=Name(str(row.value)),
            difference=Decimal(row.difference),
            p=P(row.p_adjusted),
        )
        for row in worse
    ]
    return say("slices.worse", slices=Listing(tuple(named), most=5)), say("slices.todo")
