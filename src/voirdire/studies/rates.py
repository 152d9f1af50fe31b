"""Corrects the rates of verdicts on many items by people's labels of a few."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire.errors import DegenerateDataWarning, InputError, NoDataError
from voirdire.io import Reading
from voirdire.io.labels import match_pairs
from voirdire.io.values import format_name
from voirdire.records import Dropped
from voirdire.records.tables import Tabular
from voirdire.stats import (
    ChainedRate,
    RateDifference,
    RateResult,
    chain_rates,
    compare_rates,
    estimate_rate,
    majority_shares,
)
from voirdire.stats.cautions import list_names
from voirdire.studies.label_matrix import Side, check_numbering, check_words, units_by_item
from voirdire.studies.study import format_count, format_set_aside, read_side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voirdire._types import LabelledItems, RateMethod
    from voirdire.io import LabelTable
    from voirdire.studies.study import Labels


@dataclass(frozen=True, kw_only=True)
class QuestionRate:
    """Rate of one question, by one judge.

    Attributes
    ----------
    question, judge : str
        Which.
    result : RateResult
        The rate over all items.
    groups : dict of str to RateResult
        The rates of the groups that `by` names; empty without it.
    difference : RateDifference or None
        Of two groups, the second less the first in the order of `groups`.
    n_annotators : int
        Annotators whose labels are the truth.
    """

    question: str
    judge: str
    result: RateResult
    groups: dict[str, RateResult] = field(default_factory=dict)
    difference: RateDifference | None = None
    n_annotators: int = 1


@dataclass(frozen=True, kw_only=True)
class RateReport(Tabular, rows="rates"):
    """Rates of all questions and judges.

    Attributes
    ----------
    results : tuple of QuestionRate
        One per question and judge.
    chains : dict of str to ChainedRate
        Of each judge: how often all questions hold in a row; empty where it was not asked for.
    dropped : tuple of Dropped
        Every label that was set aside, with its reason.
    understood : str
        One line about the labels that were read.
    """

    results: tuple[QuestionRate, ...] = field(metadata={"key": "rates"})
    chains: dict[str, ChainedRate] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    understood: str = ""


def rate(
    *,
    judges: Labels,
    humans: Labels,
    label: str | None = None,
    questions: Sequence[str] | None = None,
    labelled: LabelledItems = "random",
    method: RateMethod = "auto",
    probabilities: bool = False,
    by: str | None = None,
    metadata: pl.DataFrame | None = None,
    chain: bool = False,
    clustered: bool = False,
    reading: Reading | None = None,
    confidence_level: float = 0.95,
) -> RateReport:
    """Estimate a rate from many verdicts and few labels of people.

    Parameters
    ----------
    judges, humans : LabelTable, data frame, path, mapping, or list of these
        Verdicts on all items, and labels of some of them by one or several annotators, as
        `voirdire.examine` takes them. Where several annotators labelled an item, their most
        frequent label is the truth; one that ties counts half.
    label : str, optional
        Which label of a choice is counted; true for booleans.
    questions : sequence of str, optional
        Which questions; by default all that people answered.
    labelled : {"random", "verdict", "class"}, optional
        How the labelled items were drawn, see `voirdire.stats.estimate_rate`.
    method : {"auto", "human", "efficient", "ppi", "rogan_gladen"}, optional
        See `voirdire.stats.estimate_rate`.
    probabilities : bool, optional
        Whether to use the probabilities that judges state in place of their labels.
    by : str, optional
        A column of `metadata` that splits the items into groups, such as the model that wrote
        them; two groups are compared.
    metadata : polars.DataFrame, optional
        What is known about the items, as `voirdire.io.read_metadata` gives it.
    chain : bool, optional
        Whether the questions are steps in a row, in their order, each answered about what came
        through the steps before: the rate at the end is the product, see
        `voirdire.stats.chain_rates`.
    clustered : bool, optional
        Whether the tables' clusters are the independent units.
    reading : Reading, optional
        How labels are read.
    confidence_level : float, optional
        Of the intervals, in (0, 1).

    Returns
    -------
    RateReport

    Raises
    ------
    InputError
        If a setting or a label breaks a rule, or a question is neither boolean nor a choice with
        `label`.
    NoDataError
        If no judge answered a question that people labelled.

    Warns
    -----
    DegenerateDataWarning
        If a rate is undefined.

    Examples
    --------
    A judge says yes to 300 of 1,000 items, where it holds for 400; a person labelled every seventh:

    >>> judge = {item: item % 10 < 3 for item in range(1_000)}
    >>> person = {item: item % 10 < 4 for item in range(0, 1_000, 7)}
    >>> [each] = rate(judges={"mine": judge}, humans={"ann": person}).results
    >>> round(each.result.rate.estimate, 2), each.result.naive.estimate
    (0.4, 0.3)
    """
    reading = reading or Reading()
    names = tuple(questions or ())
    people = read_side("humans", humans, replace(reading, threshold=None), names)
    as_judges = replace(reading, kind=people.kind, raters=None, cluster=None)
    machines = read_side("judges", judges, as_judges, names)
    people, machines = match_pairs([people, machines])
    yes = _find_counted_label(people, machines, label)
    shared = [name for name in names or people.questions if name in machines.questions]
    if not shared:
        msg = f"no judge answered a question that people labelled ({shorten(people.questions)})."
        raise NoDataError(msg)
    if chain and len(shared) < 2:
        msg = f"`chain` needs two questions that people and judges answered, got {shared[0]!r}."
        raise InputError(msg)
    group_of = _groups(by, metadata)
    results, dropped = [], [*people.dropped, *machines.dropped]
    settings: dict[str, Any] = {"labelled": labelled, "confidence_level": confidence_level}
    for question in shared:
        labels = people.of_questions([question])
        verdicts = machines.of_questions([question])
        for judge in verdicts.raters:
            own = verdicts.of_raters([judge])
            dropped += _drop_unjudged(own, labels, judge, question)
            aligned = _Aligned(own, labels, yes, probabilities=probabilities, clustered=clustered)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DegenerateDataWarning)
                groups, difference = aligned.compare_groups(group_of, settings)
                row = QuestionRate(
                    question=question,
                    judge=judge,
                    result=aligned.estimate(method=method, **settings),
                    groups=groups,
                    difference=difference,
                    n_annotators=len(labels.raters),
                )
            results.append(row)
    reasons = [row.result.reason for row in results if row.result.reason is not None]
    if reasons:
        msg = f"{len(reasons)} of {len(results)} rates are undefined: {reasons[0]}."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    chains = {}
    for judge in dict.fromkeys(row.judge for row in results) if chain else ():
        steps = {row.question: row.result.rate for row in results if row.judge == judge}
        if len(steps) == len(shared) and all(step.estimate > 0 for step in steps.values()):
            chains[judge] = chain_rates(steps)
    largest = max(results, key=lambda row: row.result.n_items).result
    annotators = format_count(len(people.raters), "annotator")
    parts = [
        format_count(len({row.judge for row in results}), "judge"),
        format_count(len({row.question for row in results}), "question"),
        format_count(largest.n_items, "item"),
        f"{largest.n_labelled:,} of them labelled by {annotators}",
        format_set_aside(len({*dropped})),
    ]
    return RateReport(
        results=tuple(results),
        chains=chains,
        dropped=tuple(dict.fromkeys(dropped)),
        understood=", ".join(parts),
    )


def _find_counted_label(people: LabelTable, machines: LabelTable, label: str | None) -> Any:
    if people.kind == "boolean":
        if label is not None:
            msg = f"`label` must be left out for booleans, whose true is counted, got {label!r}."
            raise InputError(msg)
        return True
    labels, written = people.label.used(), machines.label.used()
    if people.kind not in ("choice", "pairwise") or label not in labels:
        msg = (
            f"`label` must be one of the labels of a choice ({list_names(labels, most=10)}), got "
            f"{label!r} for a {people.kind} question."
        )
        raise InputError(msg)
    check_words([people, machines])
    if label not in written and not {*written} <= {*labels}:
        msg = (
            f"`judges` must write labels as `humans` do, got {list_names(written, most=10)} and no "
            f"{label!r}. Correct them."
        )
        raise InputError(msg)
    return label


def _groups(by: str | None, metadata: pl.DataFrame | None) -> dict[str, str]:
    if by is None:
        return {}
    if metadata is None or by not in metadata.columns:
        columns = [] if metadata is None else metadata.columns
        msg = f"`by` must be a column of `metadata` ({', '.join(columns)}), got {by!r}."
        raise InputError(msg)
    return {
        str(item): format_name(group) or ""
        for item, group in metadata.select("item", by).iter_rows()
        if group is not None
    }


def _drop_unjudged(
    own: LabelTable, theirs: LabelTable, judge: str, question: str
) -> Iterator[Dropped]:
    """Count labelled items without a verdict; refuse a judge without any that is labelled."""
    check_numbering(theirs, own)
    told, judged = theirs.item.used(), own.item.used()
    n_lost = len({*told} - {*judged})
    if n_lost == len(told):
        msg = (
            f"`humans` must share items with `judges`, got none in common for "
            f"{shorten(judge)!r}: its first item is {shorten(judged[0])!r}, and "
            f"theirs {shorten(told[0])!r}. Use the same item ids in both."
        )
        raise NoDataError(msg)
    if n_lost:
        reason = f"{n_lost} labelled items without a verdict"
        yield Dropped(reason=reason, source="humans", rater=judge, question=question)


class _Aligned:
    """One judge's verdicts on a question, and the truth about some of its items."""

    def __init__(
        self, own: LabelTable, theirs: LabelTable, yes: Any, *, probabilities: bool, clustered: bool
    ) -> None:
        self.items = [own.item.values[code] for code in own.item.codes.tolist()]
        rows = {item: row for row, item in enumerate(self.items)}
        sides = [Side(side, side.raters or [""], rows) for side in (theirs, own)]
        votes, verdicts = (
            np.array([*(value == yes for value in side.label.values), -1])[side.label.codes]
            for side in (theirs, own)
        )
        self.labels = majority_shares(sides[0].fill(votes, -1))[:, 1]
        self.verdicts: Any = np.where(verdicts < 0, np.nan, verdicts)
        if probabilities:
            self.verdicts = own.stated
        if self.verdicts is None:
            msg = "`probabilities` must be false for judges that state none, got true."
            raise InputError(msg)
        self.clusters: NDArray[np.intp] | None = None
        if clustered:
            cluster_of = units_by_item(sides, self.items)
            if not cluster_of:
                msg = "`clustered` must be false for labels without a column `cluster`, got true."
                raise InputError(msg)
            # an item without a cluster is its own
            units = [("cluster", cluster_of[x]) if x in cluster_of else x for x in self.items]
            code_of = {unit: code for code, unit in enumerate(dict.fromkeys(units))}
            self.clusters = np.array([code_of[unit] for unit in units])

    def estimate(self, kept: Any = slice(None), function: Any = estimate_rate, **more: Any) -> Any:
        """Estimate something of some of the items, by default the rate of all."""
        units = None if self.clusters is None else self.clusters[kept]
        return function(self.verdicts[kept], self.labels[kept], clusters=units, **more)

    def compare_groups(
        self, group_of: dict[str, str], settings: dict[str, Any]
    ) -> tuple[dict[str, RateResult], RateDifference | None]:
        """Estimate the rate of every group, and the difference of two."""
        names = np.array([group_of.get(item) for item in self.items], dtype=object)
        groups = sorted({name for name in names if name is not None})
        rates = {group: self.estimate(names == group, **settings) for group in groups}
        if len(groups) != 2:
            return rates, None
        kept = np.isin(names, groups)
        is_second = names[kept] == groups[1]
        return rates, self.estimate(kept, compare_rates, is_second=is_second, **settings)
