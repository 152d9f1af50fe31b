"""Write the evidence of a verdict in words: agreement, controls, differences, diagnosis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.examination_verdicts import against, with_interval
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Interval,
    Label,
    Listing,
    Margin,
    Name,
    P,
    Percent,
    Said,
    Verbatim,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.reporting.pages.examination_views import Family, QuestionPart
    from voirdire.stats import (
        AltTestResult,
        ControlResult,
        JudgeDifference,
        PanelCounts,
        SliceResult,
    )
    from voirdire.stats.agreement import AgreementResult
    from voirdire.studies.diagnosis import AnnotatorDiagnosis, JudgeDiagnosis

__all__ = [
    "BEYOND_CHANCE",
    "FIXED_BAR",
    "ControlRow",
    "agreement_sentences",
    "ceiling_rows",
    "comparisons_of",
    "control_sentences",
    "diagnosed_judges",
    "difference_sentences",
    "fixed_bar_sentences",
    "is_clear",
    "outlier_sentences",
    "panel_sentences",
    "slice_sentences",
    "worst_controls",
]

FIXED_BAR = 0.6
"""The κ from which on agreement is often called good enough, whoever the annotators are."""
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
_ABOUT_AS_CLOSE = 0.1
"""A judge whose κ with people is lower than theirs by more than this is further from them."""


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


def fixed_bar_sentences(part: QuestionPart) -> list[Said]:
    """Say where a fixed bar of κ ≥ .6 would decide differently, and why the bar is a bad one."""
    agreement = part.found.agreement
    people = None if agreement is None else _by_name(agreement.ceiling).get("cohen_kappa")
    if agreement is None or people is None or math.isnan(people.estimate):
        return []
    coefficients = {row.judge: _by_name(row.coefficients) for row in agreement.judges}
    passed, failed = [], []
    for judge in part.main.judges:
        beside = _AtBar.of(judge.deciding, coefficients.get(judge.judge, {}))
        if beside.row.outcome == "passed" and beside.is_below:
            passed.append(beside)
        elif beside.row.outcome == "failed" and beside.kappa >= FIXED_BAR:
            failed.append(beside)
    return [*_write_misled("passed", passed, people), *_write_misled("failed", failed, people)]


class _AtBar(NamedTuple):
    """A judge beside the bar: κ with single annotators, and with the majority of all of them."""

    row: AltTestResult
    kappa: float
    majority: float

    @classmethod
    def of(cls, row: AltTestResult, coefficients: Mapping[str, AgreementResult]) -> _AtBar:
        """Read both values of κ, nan where there is none."""
        names = ("cohen_kappa", "panel_majority_kappa")
        return cls(row, *(coefficients[x].estimate if x in coefficients else math.nan
                          for x in names))  # fmt: skip

    @property
    def is_below(self) -> bool:
        """Whether the judge is below the bar by both values of κ."""
        return self.kappa < FIXED_BAR and not self.majority >= FIXED_BAR


def _write_misled(key: str, misled: Sequence[_AtBar], people: AgreementResult) -> Iterator[Said]:
    if not misled:
        return
    human = people.estimate
    judges = Listing(tuple(_beside_bar(judge) for judge in misled), most=_MOST_NAMED)
    yield say(f"bar.{key}.{_number(misled)}", judges=judges, bar=Decimal(FIXED_BAR, 1))
    if people.weights in ("linear", "quadratic", "jaccard"):
        yield say("bar.weights", weights=say(f"weights.{people.weights}"))
    side = "low" if human < FIXED_BAR else "high"
    yield say(f"bar.{key}.{side}", human=_near_the_bar(human), bar=Decimal(FIXED_BAR, 1))
    close = [judge for judge in misled if human - judge.kappa <= _ABOUT_AS_CLOSE]
    far = [judge for judge in misled if human - judge.kappa > _ABOUT_AS_CLOSE]
    for word, group in (("close", close), ("far", far)):
        if key == "passed" and group:
            names = Listing(tuple(Name(judge.row.judge) for judge in group), most=_MOST_NAMED)
            yield say(f"bar.{word}.{_number(group)}", judges=names)
    yield say("bar.why")


def _beside_bar(judge: _AtBar) -> Said:
    figures = {
        "judge": Name(judge.row.judge),
        "kappa": _near_the_bar(judge.kappa),
        "epsilon": Margin(judge.row.epsilon),
    }
    if math.isnan(judge.majority):
        return say("bar.judge", **figures)
    return say("bar.judge.majority", majority=_near_the_bar(judge.majority), **figures)


def _number(group: Sequence[Any]) -> str:
    return "one" if len(group) == 1 else "many"


def _near_the_bar(kappa: float) -> Decimal:
    """Give a third digit to a figure that two digits would put onto the bar."""
    return Decimal(kappa, 3 if round(kappa, 2) == FIXED_BAR != kappa else 2)


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
_MOST_RIVALS = 8


def comparisons_of(part: QuestionPart) -> tuple[JudgeDifference, ...]:
    """Return the comparisons under the main alignment, the clearest first."""
    rows = [row for row in part.found.comparisons if row.alignment == part.main.alignment]
    return tuple(sorted(rows, key=_clearness))


def _clearness(row: JudgeDifference) -> tuple[float, float]:
    p_value = row.p_adjusted if is_defined(row.p_adjusted) else math.inf
    return p_value, -abs(row.difference) if is_defined(row.difference) else 0.0


def difference_sentences(part: QuestionPart) -> tuple[Said, ...]:
    """Say how many pairs differ, and who cannot be told apart from the best judge."""
    rows = comparisons_of(part)
    if not rows:
        return ()
    clear = [row for row in rows if is_clear(row)]
    if len(rows) == 1:
        return (_one_pair(rows[0]),)
    counts = {"clear": len(clear), "pairs": Count(len(rows), "pairs")}
    return (say("differences.counted" if clear else "differences.nobody", **counts), *_best(part))


def is_clear(row: JudgeDifference) -> bool:
    """Whether a difference is beyond chance after Holm's correction."""
    return row.p_adjusted < BEYOND_CHANCE


def _one_pair(row: JudgeDifference) -> Said:
    if not is_defined(row.difference):
        reason = Verbatim(row.reason) if row.reason else say("reason.unknown")
        names = {"better": Name(row.judge_a), "worse": Name(row.judge_b)}
        return say("differences.one_undefined", reason=reason, **names)
    better, worse = (
        (row.judge_a, row.judge_b) if row.difference >= 0 else (row.judge_b, row.judge_a)
    )
    ends = (row.low, row.high)
    if row.difference < 0:
        ends = (-row.high, -row.low)
    return say(
        "differences.one_clear" if is_clear(row) else "differences.one_unclear",
        better=Name(better),
        worse=Name(worse),
        difference=Decimal(abs(row.difference)),
        interval=Interval(*ends),
        level=Percent(row.confidence_level),
        p=P(row.p_adjusted),
    )


def _best(part: QuestionPart) -> tuple[Said, ...]:
    """Name the judges that cannot be told apart from the one with the highest ρ."""
    best = part.main.judges[0].judge
    rivals = [
        _other(row, best)
        for row in comparisons_of(part)
        if best in (row.judge_a, row.judge_b) and not is_clear(row)
    ]
    order = {judge.judge: place for place, judge in enumerate(part.main.judges)}
    rivals.sort(key=lambda judge: order.get(judge, len(order)))
    names = Listing(tuple(Name(judge) for judge in rivals), most=_MOST_RIVALS)
    if not rivals:
        return (say("differences.alone", best=Name(best)),)
    return (say("differences.rivals", best=Name(best), rivals=names),)


def _other(row: JudgeDifference, judge: str) -> str:
    return row.judge_b if row.judge_a == judge else row.judge_a


_ENOUGH_CHANCES = 10


def diagnosed_judges(part: QuestionPart) -> tuple[JudgeDiagnosis, ...]:
    """Return the judges' diagnoses that say something, in the order of ρ."""
    if part.found.diagnosis is None:
        return ()
    by_judge = {
        row.judge: row
        for row in part.found.diagnosis.judges
        if panel_sentences(row.panel) or row.slices or row.confusion
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
        yield _compare_with_person(panel)
    if panel.n_split:
        follows = Count(panel.n_split_with_majority + panel.n_split_with_tied)
        nobody = {"nobody": Count(panel.n_split_with_nobody)} if panel.n_split_with_nobody else {}
        key = "panel.split" if nobody else "panel.split.known"
        yield say(key, items=Count(panel.n_split, "items"), follows=follows, **nobody)


def _compare_with_person(panel: PanelCounts) -> Said:
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
