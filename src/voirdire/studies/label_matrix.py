"""Aligns labels of people and judges as arrays over the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import list_names, shorten
from voirdire._types import TRUE_WORDS
from voirdire.errors import InputError, NoDataError
from voirdire.io.cells import label_text
from voirdire.io.labels import check_spellings, list_words
from voirdire.io.values import format_name, plain_value
from voirdire.records import Dropped
from voirdire.stats import LabelSets, majority_shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.io import LabelTable
    from voirdire.io.values import CodedColumn
    from voirdire.stats.agreement import PanelLevel
    from voirdire.stats.alignment import VectorizedScore

_MOST_SAMPLED = 100_000

_BY_CHANCE = 0.001
"""Largest probability that a judge agrees by chance with one annotator on all disputed items."""


@dataclass(frozen=True, kw_only=True)
class LabelMatrix:
    """One question's labels, aligned on items, for `voirdire.stats`.

    Attributes
    ----------
    question, kind : str
        Name and kind of the question.
    items, annotators, judges : tuple of str
        Names of rows and columns.
    humans : ndarray, shape (n_items, n_annotators)
        Codes with -1 for missing, or numbers with nan for missing.
    answers : ndarray, shape (n_items, n_judges)
        The judges' labels in the same form.
    failed : ndarray of bool, shape (n_items, n_judges)
        Where a judge was asked and gave no usable answer.
    gold : ndarray, shape (n_items,), or None
        Gold labels in the same form.
    clusters : ndarray of int, shape (n_items,), or None
        The independent unit of each item.
    seen : dict of str to ndarray of bool, shape (n_items, n_annotators)
        Labels whose annotator had seen an answer of this judge.
    categories : tuple
        The label of each code; empty where labels are numbers.
    label_sets : LabelSets or None
        For multi-label questions the sets behind the codes.
    universe : tuple or None
        The label universe of a multi-label question, or the declared labels.
    declared : bool
        Whether the universe was declared.
    dropped : dict of str or None to tuple of Dropped
        Labels that were set aside, by judge; under None those that concern all.
    probabilities : ndarray of float, shape (n_items, n_judges), or None
        Judges' probabilities of true, nan where there is none; None where no judge has any.
    copies : ndarray of int, shape (n_items,), or None
        How many items have the labels of each row, where items are counted; they then have no
        names.
    """

    question: str
    kind: QuestionKind
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    judges: tuple[str, ...]
    humans: NDArray[Any]
    answers: NDArray[Any]
    failed: NDArray[np.bool_]
    gold: NDArray[Any] | None = None
    clusters: NDArray[np.intp] | None = None
    seen: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    categories: tuple[Any, ...] = ()
    label_sets: LabelSets | None = None
    universe: tuple[Any, ...] | None = None
    declared: bool = False
    dropped: dict[str | None, tuple[Dropped, ...]] = field(default_factory=dict)
    probabilities: NDArray[np.float64] | None = None
    copies: NDArray[np.int64] | None = None

    def of_judges(self, names: Sequence[str]) -> LabelMatrix:
        """Return the matrix of some judges."""
        places = [place for place, judge in enumerate(self.judges) if judge in names]
        return replace(
            self,
            judges=tuple(self.judges[place] for place in places),
            answers=self.answers[:, places],
            failed=self.failed[:, places],
        )

    @property
    def n_items(self) -> int:
        """Items that annotators labelled."""
        return len(self.humans) if self.copies is None else int(self.copies.sum())

    @cached_property
    def sample(self) -> LabelMatrix:
        """The matrix with a row for each item, or for 100,000 of those that are counted."""
        if self.copies is None:
            return self
        places = np.arange(min(self.n_items, _MOST_SAMPLED))
        if self.n_items > _MOST_SAMPLED:
            places = np.random.default_rng(0).integers(0, self.n_items, _MOST_SAMPLED)
        rows = np.searchsorted(np.cumsum(self.copies), places, side="right")
        names = ("humans", "answers", "failed", "gold", "clusters")
        taken: dict[str, Any] = {
            name: x[rows] for name in names if (x := getattr(self, name)) is not None
        }
        seen = {judge: mask[rows] for judge, mask in self.seen.items()}
        return replace(self, **taken, seen=seen, copies=None)

    @cached_property
    def majority(self) -> NDArray[np.intp]:
        """Codes of the label that most annotators of an item gave; -1 where there is none."""
        shares = majority_shares(self.humans, n_labels=max(len(self.categories), 2))
        return np.where((shares == 1).any(axis=1), shares.argmax(axis=1), -1)

    @cached_property
    def human_codes(self) -> list[int]:
        """The codes that annotators use, in order."""
        return np.unique(self.humans[self.humans >= 0]).tolist()  # type: ignore[no-any-return]

    @cached_property
    def is_contested(self) -> NDArray[np.bool_]:
        """Where an annotator's label is not that of the majority of the item."""
        differs = (self.humans >= 0) & (self.humans != self.majority[:, np.newaxis])
        return np.asarray(differs.any(axis=1))

    @property
    def is_numeric(self) -> bool:
        """Whether labels are numbers instead of codes."""
        return self.humans.dtype.kind == "f"

    @property
    def level(self) -> PanelLevel:
        """The metric of the labels."""
        if self.label_sets is not None:
            return "sets"
        return "interval" if self.is_numeric else "nominal"

    def label_of(self, code: Any) -> str:
        """Return the text of a code's label, or of a number."""
        return label_text(self.categories[int(code)]) if self.categories else f"{float(code):g}"

    def as_numbers(self) -> LabelMatrix:
        """Return the matrix with numbers instead of codes."""
        values = np.asarray([*map(float, self.categories), np.nan])  # code -1 is the last value
        return replace(
            self,
            humans=values[self.humans],
            answers=values[self.answers],
            gold=None if self.gold is None else values[self.gold],
            categories=(),
            label_sets=None,
        )

    def arrays(self, alignment: AlignmentName | VectorizedScore) -> dict[str, Any]:
        """Return what `voirdire.stats` is told about the labels, besides themselves."""
        is_vote = self.kind == "pairwise" and alignment == "accuracy"
        is_counted = self.declared and self.label_sets is None and self.categories
        n_declared = max(len(self.universe or ()), len(self.categories))
        return {
            "alignment": ties_half if is_vote else alignment,
            "values": self.categories or None,
            "n_codes": n_declared if is_counted else None,
            **{
                name: getattr(self, name)
                for name in ("label_sets", "failed", "gold", "clusters", "copies")
            },
        }


def ties_half(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Score A, B and tie: half a point where exactly one of two is a tie."""
    one_tie = (first == "tie") != (second == "tie")
    return np.where(one_tie, 0.5, (first == second).astype(np.float64))


ties_half.__name__ = "accuracy"  # so results name the alignment of this kind


def align(
    judges: LabelTable,
    humans: LabelTable,
    *,
    question: str,
    labels: Sequence[Any] | None = None,
    gold: LabelTable | None = None,
    clusters: Mapping[Any, Any] | bool = False,
) -> LabelMatrix:
    """Align the labels of one question on the items that annotators labelled.

    Parameters
    ----------
    judges, humans : LabelTable
        Of one kind.
    question : str
        Which question.
    labels : sequence, optional
        The declared label universe.
    gold : LabelTable, optional
        One label per item.
    clusters : mapping or bool, optional
        The independent unit of each item, or whether the tables' clusters are the units.

    Returns
    -------
    LabelMatrix

    Raises
    ------
    InputError
        If clusters are asked for and an item has none, or two; if labels are spelled in two ways;
        if a judge sits on the panel, or says on all of its items what one annotator says.
    NoDataError
        If there are no annotations, or a judge has no item in common with them.
    """
    people, machines, annotators = take_question(judges, humans, question)
    check_numbering(people, machines)
    # sorted by name, so that the order of rows in a file changes no figure
    items = {item: row for row, item in enumerate(sorted(people.item.used()))}
    sides = [Side(people, annotators, items), Side(machines, machines.raters, items)]
    if gold is not None:
        truth = gold.of_questions([question])
        if len(truth.raters) > 1:
            shown = " and ".join(repr(shorten(name)) for name in truth.raters[:2])
            msg = f"`gold` must hold one label per item, got labels by {shown}. Name one column."
            raise InputError(msg)
        sides.append(Side(truth, truth.raters or ["gold"], items))
    categories, codes = share_codes([side.table for side in sides])
    matrices = [side.fill(own, -1) for side, own in zip(sides, codes, strict=True)]
    dropped = _count_unmatched(sides[1], "judges", question)
    dropped[None] = () if gold is None else _unusable_gold(sides[2], question)
    universe = None if labels is None else tuple(dict.fromkeys(labels))
    label_sets = None
    if people.kind == "multilabel":
        counts = np.bincount(matrices[0][matrices[0] >= 0], minlength=len(categories))
        categories, universe, label_sets = make_sets(categories, counts, universe)
    matrix = LabelMatrix(
        question=question,
        kind=people.kind,
        items=tuple(items),
        annotators=tuple(sides[0].raters),
        judges=tuple(sides[1].raters),
        humans=matrices[0],
        answers=matrices[1],
        failed=sides[1].fill(machines.failure.codes >= 0, nothing=False),
        gold=None if gold is None else matrices[2][:, 0],
        clusters=_clusters(sides[:2], list(items), given=clusters) if clusters else None,
        seen=_find_seen_labels(*sides[:2]),
        categories=tuple(categories),
        label_sets=label_sets,
        universe=universe,
        declared=labels is not None,
        dropped=dropped,
        probabilities=None
        if machines.stated is None or np.isnan(machines.stated).all()
        else sides[1].fill(machines.stated, np.nan),
    )
    check_independent(matrix)
    return matrix


def take_question(
    judges: LabelTable, humans: LabelTable, question: str
) -> tuple[LabelTable, LabelTable, list[str]]:
    """Return the labels of people and of judges on a question, and who was asked it, sorted."""
    people, machines = humans.of_questions([question]), judges.of_questions([question])
    if not len(people):
        msg = f"no annotation of the question {question!r} is left to examine."
        raise NoDataError(msg)
    if not machines.raters:
        msg = f"`judges` must hold at least one label for the question {shorten(question)!r}"
        names = [repr(shorten(name)) for name in judges.questions]
        hint = f" They hold {list_names(names)}: name one with `question`." if names else ""
        raise NoDataError(f"{msg}, got none.{hint}")
    # all annotators, also those without a usable label
    asked = {row.rater for row in humans.dropped if row.question == question and row.rater}
    asked |= {*(humans.rater.values if len(humans.questions) == 1 else people.raters)}
    return people, machines, sorted(asked)


def check_numbering(people: LabelTable, machines: LabelTable) -> None:
    """Refuse items that are counted from 0 on one side, and from 1 on the other."""
    used = people.item.used(), machines.item.used()
    n_items = len(used[0])
    if len(used[1]) != n_items or ("0" in used[0]) == ("0" in used[1]):
        return
    sides = [set(names) for names in used]
    counts = [{str(first + place) for place in range(n_items)} for first in (0, 1)]
    if sides in (counts, counts[::-1]):
        spans = [f"0 to {n_items - 1}", f"1 to {n_items}"][:: 1 if sides == counts else -1]
        raise misnumbered(*spans)


def misnumbered(people: str, machines: str) -> InputError:
    """Make the error about items that are counted from two numbers."""
    msg = f"`judges` must number the items as `humans` do, got {machines} beside {people}."
    return InputError(f"{msg} Count them from the same number in both.")


class Side:
    """Labels of people, judges or gold, with their places among the annotated items."""

    def __init__(self, table: LabelTable, raters: list[str], items: Mapping[str, int]) -> None:
        self.table = table
        self.raters = raters
        self.first_annotated = next(iter(items))
        self.rows = _positions(table.item, items)  # -1 for items without annotations
        self.columns = _positions(table.rater, {name: n for n, name in enumerate(raters)})
        self._shape = len(items), len(raters)

    def fill(self, values: NDArray[Any], nothing: float) -> NDArray[Any]:
        """Arrange a value per label by item and rater."""
        matrix = np.full(self._shape, nothing, values.dtype, order="F")
        there = self.rows >= 0
        matrix[self.rows[there], self.columns[there]] = values[there]
        return matrix


def _positions(column: CodedColumn, place: Mapping[str, int]) -> NDArray[np.intp]:
    return np.array([*map(place.get, column.values, repeat(-1)), -1], np.intp)[column.codes]


def check_words(parts: Sequence[LabelTable]) -> None:
    """Refuse labels that judges and annotators spell in two ways."""
    if parts[0].kind in ("choice", "multilabel"):
        check_spellings(
            dict.fromkeys(word for part in parts for word in list_words(part.label)),
            what="labels of annotators and judges",
            way_out="Correct one of them, or accept them as one with `normalize_labels`.",
        )


def share_codes(parts: Sequence[LabelTable]) -> tuple[list[Any], list[NDArray[np.int32]]]:
    """Give the labels of all parts the same codes."""
    check_words(parts)
    code_of: dict[Any, int] = {}
    codes = []
    for part in parts:
        counts = np.bincount(part.label.codes + 1, minlength=len(part.label.values) + 1)[1:]
        place = [
            code_of.setdefault(label, len(code_of)) if count else -1
            for label, count in zip(part.label.values, counts.tolist(), strict=True)
        ]
        codes.append(np.array([*place, -1], np.int32)[part.label.codes])
    return list(code_of), codes


def _count_unmatched(side: Side, name: str, question: str) -> dict[str | None, tuple[Dropped, ...]]:
    """Count the items without annotations by rater; refuse a rater with only such items."""
    items, source = side.table.item, side.table.source
    dropped: dict[str | None, tuple[Dropped, ...]] = {}
    matched, strange_ones = (
        np.bincount(side.columns[kept], minlength=len(side.raters))
        for kept in (side.rows >= 0, side.rows < 0)
    )
    for column in np.flatnonzero((matched == 0) | (strange_ones > 0)).tolist():
        rater, rows = side.raters[column], np.flatnonzero(side.columns == column)
        strange = rows[side.rows[rows] < 0]
        if len(strange) == len(rows):
            first = items.value(rows[0]) if len(rows) else "none"
            msg = (
                f"`{name}` must share items with `humans`, got none in common for "
                f"{shorten(rater)!r}: its first item is {shorten(first)!r}, and "
                f"theirs {shorten(side.first_annotated)!r}. Use the same item ids in both."
            )
            raise NoDataError(msg)
        if len(strange):
            reason = f"{len(strange)} items without annotations"
            place = source.value(strange[0])
            row = Dropped(reason=reason, source=place, rater=rater, question=question)
            dropped[rater] = (row,)
    return dropped


def _unusable_gold(truth: Side, question: str) -> tuple[Dropped, ...]:
    """Count gold rows about items without annotations, and those without a label."""
    dropped = [row for rows in _count_unmatched(truth, "gold", question).values() for row in rows]
    n_missing = np.count_nonzero((truth.rows >= 0) & (truth.table.label.codes < 0))
    if n_missing:
        reason = f"{n_missing} gold labels are missing or cannot be read"
        dropped.append(Dropped(reason=reason, source="gold", question=question))
    return tuple(replace(row, source="gold", rater="gold") for row in dropped)


def _find_seen_labels(people: Side, judges: Side) -> dict[str, NDArray[np.bool_]]:
    """Find, by judge, the labels whose annotator had seen its answer; true means of any judge."""
    column = people.table.seen
    if column is None:
        return {}
    masks = {}
    for judge in judges.raters:
        mask = people.fill(find_seen_judges(column, judge), nothing=False)
        if mask.any():
            masks[judge] = mask
    return masks


def find_seen_judges(column: CodedColumn, judge: str) -> NDArray[np.bool_]:
    """Return which labels were given by someone who had seen a judge's answer."""
    is_seen = [name == judge or name.strip().casefold() in TRUE_WORDS for name in column.values]
    return np.array([*is_seen, False])[column.codes]


def check_independent(matrix: LabelMatrix) -> None:
    """Refuse a judge that is also an annotator, which would be closest to the annotators.

    Labels whose annotator had seen the judge's answer are not used for it.
    """
    humans, seen, annotators = matrix.humans, matrix.seen, matrix.annotators
    names = [name for name in matrix.judges if name in annotators]
    if names:
        msg = (
            f"a judge must not be one of its annotators, got {shorten(names[0])!r} on both sides. "
            "Name the annotators with `raters`, the judges with `judge_columns`, or rename one."
        )
        raise InputError(msg)
    for judge, its in zip(matrix.judges, matrix.answers.T, strict=True):
        unseen = np.where(seen[judge], -1, humans) if judge in seen else humans
        labelled = unseen >= 0
        differs = labelled & (unseen != its[:, np.newaxis])
        never_differ = labelled.any(axis=0) & ~differs.any(axis=0)
        for place in np.flatnonzero(never_differ).tolist():
            annotator, labels, is_given = annotators[place], unseen[:, place], labelled[:, place]
            others = unseen[is_given]
            is_same = others == labels[is_given][:, np.newaxis]
            contested = ~(is_same | (others < 0)).all(axis=1)
            n_contested = np.count_nonzero(contested)
            n_asked = np.count_nonzero(others[contested] >= 0) - n_contested
            n_same = np.count_nonzero(is_same[contested]) - n_contested
            share = (n_same + 1) / (n_asked + 2)  # of the others with the same label there
            if share**n_contested * len(annotators) <= _BY_CHANCE:
                msg = (
                    f"a judge must not be one of its annotators, got {shorten(judge)!r}, whose "
                    f"labels are those of {shorten(annotator)!r} on all of that annotator's items. "
                    "Leave one of the two out."
                )
                raise InputError(msg)


def make_sets(
    categories: list[frozenset[str]], counts: NDArray[np.int64], declared: tuple[Any, ...] | None
) -> tuple[list[frozenset[str]], tuple[Any, ...], LabelSets]:
    """Make the sets of the codes, given so often by annotators, and add two candidate constants.

    These are the empty set, and the set of labels in most answers.
    """
    counter: Counter[str] = Counter()
    for labels, count in zip(categories, counts.tolist(), strict=True):
        counter.update(dict.fromkeys(labels, count))
    most = frozenset(label for label, count in counter.items() if count > counts.sum() / 2)
    categories = list(dict.fromkeys([*categories, frozenset(), most]))
    used_labels = frozenset().union(*categories)
    universe = declared or tuple(sorted(used_labels))
    if strange := used_labels.difference(universe):
        msg = (
            f"`labels` must hold every label of the tables, got none {shorten(min(strange))!r}. "
            "Declare the same labels where they are read."
        )
        raise InputError(msg)
    place = {label: n for n, label in enumerate(universe)}
    positions = [[place[label] for label in labels] for labels in categories]
    return categories, universe, LabelSets.from_positions(positions, n_labels=len(universe))


def _clusters(
    sides: Sequence[Side], items: Sequence[str], *, given: Mapping[Any, Any] | bool
) -> NDArray[np.intp]:
    """Find the cluster of every item, from the caller or the tables."""
    if isinstance(given, Mapping):
        unit_of = {
            format_name(item): format_name(plain_value(unit)) for item, unit in given.items()
        }
    else:
        unit_of = units_by_item(sides, items)
    units = [unit_of.get(item) for item in items]
    if None in units:
        msg = (
            f"column `cluster` must be given for every annotated item, got none for "
            f"{units.count(None)}, the first {shorten(items[units.index(None)])!r}."
        )
        raise InputError(msg)
    return np.unique(np.array(units), return_inverse=True)[1]


def units_by_item(sides: Iterable[Side], items: Sequence[str]) -> dict[Any, Any]:
    """Collect the clusters of items in the tables."""
    unit_of: dict[Any, Any] = {}
    for side in sides:
        column = side.table.cluster
        if column is None:
            continue
        pairs = np.stack([side.rows, column.codes], axis=1)
        for row, code in np.unique(pairs[(pairs >= 0).all(axis=1)], axis=0).tolist():
            item, unit = items[row], column.values[code]
            if unit_of.setdefault(item, unit) != unit:
                msg = (
                    "column `cluster` must be one value per item, got "
                    f"{sorted([unit_of[item], unit])!r} for {shorten(item)!r}."
                )
                raise InputError(msg)
    return unit_of
