"""Defines the records that `voirdire probe --json` prints."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

# what reads the JSON looks at the types
from voirdire._types import RubricKind  # noqa: TC001
from voirdire.judging import CallSummary  # noqa: TC001
from voirdire.records import Dropped  # noqa: TC001
from voirdire.records.tables import Tabular
from voirdire.stats import Estimate, PairedChange  # noqa: TC001

_CLEAR = 0.05


@dataclass(frozen=True, kw_only=True)
class QuestionFinding:
    """Finding of a probe on one question.

    Attributes
    ----------
    question : str
        Its id.
    kind : str
        Its kind: a boolean question's values are probabilities.
    change : PairedChange
        Shift, flips, their intervals, and the tests of this question.
    """

    question: str
    kind: RubricKind
    change: PairedChange


@dataclass(frozen=True, kw_only=True)
class ProbeFinding:
    """Finding of a probe.

    Attributes
    ----------
    probe : str
        Its id, such as ``"authority/citation"``.
    family : str
        The bias that it looks for.
    summary : str
        Description of the change: "a citation that supports nothing is added".
    n_items : int
        Items that were judged in both versions.
    n_unfit : int
        Items that the change does not fit.
    shift : float
        The largest shift among the questions, with its sign; nan where none has a value. For a
        steering attack in the direction that it wants; for the position of responses toward the
        one that is shown first.
    question : str or None
        Whose shift that is.
    p_value : float
        Of no effect on any question: twice the smaller p-value of shift and of flips.
    adjusted_p_value : float
        `p_value` after Benjamini-Hochberg over the probes.
    is_found : bool
        Whether that is at most the false discovery rate, and a shift, or the flips beyond those
        with a neutral line, are as large as the least effect. A shift must also be larger than that
        between two neutral lines.
    advice : str or None
        Advice, for a bias that was found.
    questions : tuple of QuestionFinding
        One entry per question, without those whose true answer may change.
    """

    probe: str
    family: str
    summary: str
    n_items: int
    n_unfit: int
    shift: float
    question: str | None
    p_value: float
    adjusted_p_value: float
    is_found: bool
    advice: str | None = None
    questions: tuple[QuestionFinding, ...] = field(default=(), repr=False)

    @property
    def main_question(self) -> QuestionFinding | None:
        """The question with the largest shift; that with most flips where these say more."""
        shifted = next((row for row in self.questions if row.question == self.question), None)
        if shifted is not None and not self.is_by_flips:
            return shifted
        return max(self.questions, key=_flips_beyond_noise, default=None)

    @property
    def is_by_flips(self) -> bool:
        """Whether a bias was found by the flips of labels, and no question shows a shift."""
        shifted = next((row for row in self.questions if row.question == self.question), None)
        if not self.is_found or shifted is None:
            return False
        change = shifted.change
        return not change.p_value <= change.excess_p_value and change.p_value > _CLEAR


def _flips_beyond_noise(row: QuestionFinding) -> float:
    noise = row.change.noise_rate.estimate
    excess = row.change.flip_rate.estimate - (0.0 if math.isnan(noise) else noise)
    return -1.0 if math.isnan(excess) else excess


@dataclass(frozen=True, kw_only=True)
class Stability:
    """Differences between repeated runs of a judge, over all questions: the noise floor.

    Attributes
    ----------
    n_runs : int
        How often each item was asked about.
    n_items : int
        Items with at least two answers.
    flip_rate : Estimate
        Share of items whose label in the second run is not that of the first.
    mean_difference : float
        Mean distance between the values of two runs; nan where answers have no order.
    alpha : float
        Krippendorff's nominal α of the runs as raters; nan where it is undefined.
    """

    n_runs: int
    n_items: int
    flip_rate: Estimate
    mean_difference: float
    alpha: float


@dataclass(frozen=True, kw_only=True)
class SelfPreference:
    """Whether a judge passes its own model's failures more often than those of others.

    Attributes
    ----------
    question : str
        Its id.
    n_own, n_others : int
        Responses by the judge's own model and by others that fail the question: the annotators'
        majority says no.
    own_rate, others_rate : Estimate
        Shares of these that the judge passes: false positives.
    ratio : Estimate
        The first over the second, with Katz' interval, half a response added to each cell where
        one is empty; 1 is no preference.
    p_value : float
        Fisher's exact test, two-sided.
    adjusted_p_value : float
        The same, after Benjamini-Hochberg over the questions.
    is_found : bool
        Whether that is at most the false discovery rate, and the ratio above 1.
    """

    question: str
    n_own: int
    n_others: int
    own_rate: Estimate
    others_rate: Estimate
    ratio: Estimate
    p_value: float
    adjusted_p_value: float = float("nan")
    is_found: bool = False


@dataclass(frozen=True, kw_only=True)
class ProbeReport(Tabular, rows="probes"):
    """Findings of all probes of a judge.

    Attributes
    ----------
    judge : str
        Its name.
    rubric : str
        Name and version of the rubric.
    fingerprint : str
        Of the judge with this rubric.
    n_items : int
        Unchanged items that were judged.
    confidence_level : float
        Of all intervals.
    false_discovery_rate : float
        At which biases are found.
    least_effect : float
        The smallest shift, or share of flips beyond the noise, that counts as a bias.
    most_flips : float
        The largest share of labels that may flip where nothing of substance changes.
    seed : int
        Of the sample of items and of the tests.
    probes : tuple of ProbeFinding
        In the order in which they were asked for.
    stability : Stability or None
        Between repeated runs, all questions together; None where nothing was asked twice.
    neutral : Stability or None
        The same between two versions with different neutral lines: the floor of flips of a probe. A
        judge may give identical answers to repeated prompts, and still be affected by any added
        line.
    self_preference : tuple of SelfPreference
        Per question, where authors and annotators are known.
    n_judged : int
        Versions of items that were judged, repeats included.
    calls : tuple of CallSummary
        Summaries of the calls; empty for a judge that makes none.
    dropped : tuple of Dropped
        Rows that are not items, each with its reason.
    notes : tuple of str
        Notes for the reader.
    """

    judge: str
    rubric: str
    fingerprint: str
    n_items: int
    confidence_level: float
    false_discovery_rate: float
    least_effect: float
    most_flips: float
    seed: int
    probes: tuple[ProbeFinding, ...]
    stability: Stability | None = None
    neutral: Stability | None = None
    self_preference: tuple[SelfPreference, ...] = ()
    n_judged: int = 0
    calls: tuple[CallSummary, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[ProbeFinding, ...]:
        """The biases that were found, the largest first."""
        rows = [row for row in self.probes if row.is_found]
        return tuple(sorted(rows, key=lambda row: -abs(row.shift)))

    @property
    def unstable(self) -> tuple[str, ...]:
        """Where more labels flip than may, by the lower end of the interval.

        ``"stability"`` when the same is asked again, ``"neutral"`` under a line about nothing.
        """
        floors = {"stability": self.stability, "neutral": self.neutral}
        return tuple(
            name
            for name, floor in floors.items()
            if floor is not None and floor.flip_rate.low > self.most_flips
        )

    @property
    def is_biased(self) -> bool:
        """Whether any bias was found, including self-preference."""
        return bool(self.found) or any(row.is_found for row in self.self_preference)
