"""Labels of people and judges as arrays over the same items: the one way from tables to tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._types import TRUE_WORDS
from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records import Dropped
from voirdire.stats import LabelSets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import QuestionKind
    from voirdire.io import LabelTable, Reading, Role
    from voirdire.io.declared import LabelSource
    from voirdire.judging import Verdicts

__all__ = ["LabelMatrix", "Labels", "align", "read_tables", "take_labels"]

Labels: TypeAlias = "LabelSource | LabelTable | Verdicts | Sequence[LabelSource | Verdicts]"
"""What a user gives as judges, annotators or gold labels."""


_MOST_SHOWN = 10
_BY_CHANCE = 0.001
"""How probable it may be that a judge always sides with one annotator where annotators differ."""


@dataclass(frozen=True, kw_only=True)
class LabelMatrix:
    """One question's labels, aligned on items, ready for `voirdire.stats`.

    Attributes
    ----------
    kind : str
        The kind of question.
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
    dropped : tuple of Dropped
        What was set aside.
    n_unjudged : dict of str to int
        Annotated items that a judge was not asked about, by judge.
    probabilities : ndarray of float, shape (n_items, n_judges), or None
        What judges stated for true, nan where nothing; None where no judge stated any.
    """

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
    dropped: tuple[Dropped, ...] = ()
    n_unjudged: dict[str, int] = field(default_factory=dict)
    probabilities: NDArray[np.float64] | None = None

    def rows(self, kept: NDArray[np.bool_]) -> LabelMatrix:
        """Return the matrix of some items only."""
        return replace(
            self,
            items=tuple(item for item, keep in zip(self.items, kept.tolist(), strict=True) if keep),
            humans=self.humans[kept],
            answers=self.answers[kept],
            failed=self.failed[kept],
            gold=None if self.gold is None else self.gold[kept],
            clusters=None if self.clusters is None else self.clusters[kept],
            seen={judge: mask[kept] for judge, mask in self.seen.items()},
            probabilities=None if self.probabilities is None else self.probabilities[kept],
        )


def take_labels(
    given: Labels,
    *,
    role: Role,
    reading: Reading,
    questions: Sequence[str] = (),
    rater_name: str | None = None,
) -> LabelTable:
    """Read labels as a user has them: a table of ours, a frame, files, or dicts.

    A path of judges may be that of a folder; each of several questions is read by itself, since
    others may be of another kind.
    """
    from voirdire.io import LabelTable, join_tables

    if isinstance(given, LabelTable):
        return given
    named: list[tuple[str | None, Any]] = [(rater_name, given)]
    if isinstance(given, list | tuple) and given:
        named = [(rater_name, each) for each in given]
    elif isinstance(given, Mapping) and given and all(map(_is_frame, given.values())):
        named = [(str(name), frame) for name, frame in given.items()]
    tables = [
        table
        for name, each in named
        for table in read_tables(
            [each], role=role, reading=lambda _: reading, questions=questions, rater_name=name
        )
    ]
    return join_tables(tables)


def read_tables(
    sources: Sequence[Any],
    *,
    role: Role,
    reading: Callable[[Any], Reading],
    questions: Sequence[str],
    rater_name: str | None = None,
) -> list[LabelTable]:
    """Read every question of every source by itself."""
    from voirdire.io import read_labels

    tables = [
        read_labels(
            source, role=role, reading=reading(source), question=question, rater_name=rater_name
        )
        for source in _files(sources, role)
        for question in (questions or (None,))
    ]
    if len(questions) > 1 and len(tables) > 1:
        first, second = (table.frame.drop("question") for table in tables[:2])
        if first.equals(second):
            msg = (
                "`questions` must name one question for labels without a column `question`, got "
                f"{len(questions)}."
            )
            raise InputError(msg)
    return tables


def _files(several: Sequence[Any], role: Role) -> list[Any]:
    """List the sources; a folder of judges stands for its files."""
    from voirdire.io.files import files_of

    strange = [each for each in several if not _is_readable(each)]
    if strange:
        name = "humans" if role == "annotator" else "judges"
        msg = (
            f"`{name}` must be a label table, a data frame, a path, or a mapping "
            f"{{rater: {{item: label}}}}, got {type(strange[0]).__name__}."
        )
        raise InputError(msg)
    if role == "annotator":
        return list(several)
    return [
        file
        for each in several
        for file in (files_of(each) if isinstance(each, str | Path) else [each])
    ]


def _is_frame(given: Any) -> bool:
    return hasattr(type(given), "columns")


def _is_readable(given: Any) -> bool:
    return isinstance(given, Mapping | Path | str) or _is_frame(given) or hasattr(given, "read")


def align(
    judges: LabelTable,
    humans: LabelTable,
    *,
    question: str,
    numeric: bool = False,
    labels: Sequence[Any] | None = None,
    gold: LabelTable | None = None,
    clustered: bool = False,
) -> LabelMatrix:
    """Align the labels of one question on the items that annotators labelled.

    Parameters
    ----------
    judges, humans : LabelTable
        Of one kind.
    question : str
        Which question.
    numeric : bool
        Whether labels become numbers instead of codes.
    labels : sequence, optional
        The declared label universe.
    gold : LabelTable, optional
        One label per item.
    clustered : bool, optional
        Whether the tables' clusters are the independent units.

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
    people, machines = humans.of_questions([question]), judges.of_questions([question])
    if not len(people):
        msg = f"no annotation of the question {question!r} is left to examine."
        raise NoDataError(msg)
    truth = None if gold is None else gold.of_questions([question])
    # in order of their names, so that the order of rows in a file changes no figure
    items = sorted(people.item.used())
    annotators = _annotators(humans, people, question)
    names = machines.raters
    if not names:
        _refuse_no_judges(judges, question)
    parts = [people, machines] if truth is None else [people, machines, truth]
    _check_spelled_alike(parts)
    categories, moved = _shared_labels(parts)
    grid = _Grid(items)
    matrices = [
        grid.fill(part, codes, columns)
        for part, codes, columns in zip(
            parts, moved, (annotators, names, *([_gold_name(truth)] if truth else [])), strict=True
        )
    ]
    failed = grid.failures(machines, names)
    _check_common(machines, names, grid)
    seen = _seen(people, annotators, names, grid)
    _check_independent(annotators, names, matrices[0], matrices[1], seen)
    if people.kind == "multilabel":
        given = matrices[0][matrices[0] >= 0]
        counts = np.bincount(given, minlength=len(categories))
        categories = _with_typical_sets(categories, counts.tolist())
    universe = None if labels is None else tuple(dict.fromkeys(labels))
    label_sets = None
    if people.kind == "multilabel" and not numeric:
        universe, label_sets = _sets(categories, universe)
    shown = [_numbers(matrix, categories) if numeric else matrix for matrix in matrices]
    return LabelMatrix(
        kind=people.kind,
        items=tuple(items),
        annotators=tuple(annotators),
        judges=tuple(names),
        humans=shown[0],
        answers=shown[1],
        failed=failed,
        gold=shown[2][:, 0] if truth is not None else None,
        clusters=_clusters(people, machines, grid) if clustered else None,
        seen=seen,
        categories=() if numeric else tuple(categories),
        label_sets=label_sets,
        universe=universe,
        declared=labels is not None,
        dropped=_unannotated(machines, grid, question)
        + (() if truth is None else _unusable_gold(truth, grid, question)),
        n_unjudged=_unjudged(machines, names, grid),
        probabilities=grid.probabilities(machines, names),
    )


def _annotators(humans: LabelTable, people: LabelTable, question: str) -> list[str]:
    """Name who was asked, also those who gave no label that can be used."""
    asked = {row.rater for row in humans.dropped if row.question == question}
    if len(humans.questions) == 1:
        asked |= set(humans.rater.values)
    return sorted({*people.raters, *(name for name in asked if name is not None)})


class _Grid:
    """The annotated items, and where rows of tables lie among them."""

    def __init__(self, items: Sequence[str]) -> None:
        self.items = items
        self._row = {item: row for row, item in enumerate(items)}
        self._rows: dict[int, NDArray[np.intp]] = {}

    def rows(self, table: LabelTable) -> NDArray[np.intp]:
        """Find the row of each label; -1 for items that nobody annotated."""
        if id(table) not in self._rows:
            place = [self._row.get(item, -1) for item in table.item.values]
            self._rows[id(table)] = np.array([*place, -1], np.intp)[table.item.codes]
        return self._rows[id(table)]

    def fill(
        self, table: LabelTable, codes: NDArray[np.int32], columns: Sequence[str]
    ) -> NDArray[np.int32]:
        """Lay labels out by item and rater, -1 where there is none."""
        matrix = np.full((len(self.items), len(columns)), -1, np.int32, order="F")
        rows, places = self.rows(table), _places(table, columns)
        there = rows >= 0
        matrix[rows[there], places[there]] = codes[there]
        return matrix

    def failures(self, table: LabelTable, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Tell where a judge failed."""
        failed = np.zeros((len(self.items), len(columns)), np.bool_)
        rows, places = self.rows(table), _places(table, columns)
        lost = (rows >= 0) & (table.failure.codes >= 0)
        failed[rows[lost], places[lost]] = True
        return failed

    def probabilities(
        self, table: LabelTable, columns: Sequence[str]
    ) -> NDArray[np.float64] | None:
        """Lay out what judges stated, where any did."""
        if table.stated is None or np.isnan(table.stated).all():
            return None
        matrix = np.full((len(self.items), len(columns)), np.nan)
        rows, places = self.rows(table), _places(table, columns)
        there = rows >= 0
        matrix[rows[there], places[there]] = table.stated[there]
        return matrix


def _places(table: LabelTable, columns: Sequence[str]) -> NDArray[np.intp]:
    place = {name: column for column, name in enumerate(columns)}
    return np.array([place.get(name, -1) for name in table.rater.values], np.intp)[
        table.rater.codes
    ]


def _shared_labels(parts: Sequence[LabelTable]) -> tuple[list[Any], list[NDArray[np.int32]]]:
    """Code the labels of every part alike."""
    known: dict[Any, int] = {}
    moved = []
    for part in parts:
        used = np.zeros(len(part.label.values) + 1, np.bool_)
        used[part.label.codes] = True
        place = [
            known.setdefault(label, len(known)) if there else -1
            for label, there in zip(part.label.values, used.tolist(), strict=False)
        ]
        moved.append(np.array([*place, -1], np.int32)[part.label.codes])
    return list(known), moved


def _check_spelled_alike(parts: Sequence[LabelTable]) -> None:
    from voirdire.io.labels import check_spellings, label_words

    if parts[0].kind in ("choice", "multilabel"):
        check_spellings(
            dict.fromkeys(word for part in parts for word in label_words(part.label)),
            what="labels of annotators and judges",
            way_out="Correct one of them, or accept them as one with `normalize_labels`.",
        )


def _refuse_no_judges(judges: LabelTable, question: str) -> None:
    msg = f"`judges` must hold at least one label for the question {shorten(question)!r}, got none."
    others = judges.questions[:_MOST_SHOWN]
    if others:
        shown = ", ".join(repr(shorten(name)) for name in others)
        msg += f" They hold {shown}: name one with `question`."
    raise NoDataError(msg)


def _check_common(machines: LabelTable, names: Sequence[str], grid: _Grid) -> None:
    met = set(machines.rater.codes[grid.rows(machines) >= 0].tolist())
    for name in names:
        if machines.rater.values.index(name) not in met:
            msg = (
                f"`judges` must share items with `humans`, got none in common for "
                f"{shorten(name)!r}. Check that both use the same item ids."
            )
            raise NoDataError(msg)


def _check_independent(
    annotators: Sequence[str],
    judges: Sequence[str],
    humans: NDArray[np.int32],
    answers: NDArray[np.int32],
    seen: Mapping[str, NDArray[np.bool_]],
) -> None:
    """Refuse a judge that sits on the panel: it would pass by itself.

    Labels whose annotator had seen the judge's answer never examine it, whatever they say.
    """
    both = [name for name in judges if name in annotators]
    if both:
        msg = (
            f"a judge must not be one of its annotators, got {shorten(both[0])!r} on both sides. "
            "Name the annotators with `raters`, the judges with `judge_columns`, or rename one."
        )
        raise InputError(msg)
    for judge, its in zip(judges, answers.T, strict=True):
        unseen = np.where(seen[judge], -1, humans) if judge in seen else humans
        for annotator, theirs in zip(annotators, unseen.T, strict=True):
            known = theirs >= 0
            if not known.any() or not (its[known] == theirs[known]).all():
                continue
            others = unseen[known]
            is_same = others == theirs[known][:, np.newaxis]
            contested = ~(is_same | (others < 0)).all(axis=1)
            n_asked = np.count_nonzero(others[contested] >= 0) - np.count_nonzero(contested)
            n_same = np.count_nonzero(is_same[contested]) - np.count_nonzero(contested)
            share = (n_same + 1) / (n_asked + 2)  # of the others who say the same there
            if share ** np.count_nonzero(contested) * humans.shape[1] > _BY_CHANCE:
                continue
            msg = (
                f"a judge must not be one of its annotators, got {shorten(judge)!r}, whose labels "
                f"are those of {shorten(annotator)!r} on all of that annotator's items. Leave one "
                "of the two out."
            )
            raise InputError(msg)


def _gold_name(truth: LabelTable) -> list[str]:
    names = truth.raters
    if len(names) > 1:
        shown = " and ".join(repr(shorten(name)) for name in names[:2])
        msg = f"`gold` must hold one label per item, got labels by {shown}. Name one column."
        raise InputError(msg)
    return names or ["gold"]


def _numbers(matrix: NDArray[np.int32], categories: Sequence[Any]) -> NDArray[np.float64]:
    values = np.asarray([*map(float, categories), np.nan], dtype=np.float64)
    return values[matrix]  # code -1 is the last value


def _with_typical_sets(
    categories: Sequence[frozenset[str]], counts: Sequence[int]
) -> list[frozenset[str]]:
    """Add the empty set and the labels that most answers hold: constants worth trying."""
    held: dict[str, int] = {}
    for labels, count in zip(categories, counts, strict=True):
        for label in labels:
            held[label] = held.get(label, 0) + count
    half = sum(counts) / 2
    majority = frozenset(label for label, count in held.items() if count > half)
    return list(dict.fromkeys([*categories, frozenset(), majority]))


def _sets(
    categories: Sequence[frozenset[str]], declared: tuple[Any, ...] | None
) -> tuple[tuple[str, ...], LabelSets]:
    universe = declared or tuple(sorted(frozenset().union(*categories)))
    position = {label: place for place, label in enumerate(universe)}
    strange = frozenset().union(*categories) - position.keys()
    if strange:
        msg = (
            f"`labels` must hold every label of the tables, got none {shorten(min(strange))!r}. "
            "Declare the same labels where they are read."
        )
        raise InputError(msg)
    positions = [[position[label] for label in category] for category in categories]
    return universe, LabelSets.from_positions(positions, n_labels=len(universe))


def _clusters(people: LabelTable, machines: LabelTable, grid: _Grid) -> NDArray[np.intp]:
    found: dict[int, str] = {}
    for table in (people, machines):
        if table.cluster is None:
            continue
        pairs = np.stack([grid.rows(table), table.cluster.codes], axis=1)
        for row, code in np.unique(pairs[(pairs >= 0).all(axis=1)], axis=0).tolist():
            name = table.cluster.values[code]
            first = found.setdefault(row, name)
            if first != name:
                msg = (
                    f"column `cluster` must be one value per item, got {sorted([first, name])!r} "
                    f"for {shorten(grid.items[row])!r}."
                )
                raise InputError(msg)
    lost = [item for row, item in enumerate(grid.items) if row not in found]
    if lost:
        msg = (
            f"column `cluster` must be given for every annotated item, got none for {len(lost)}, "
            f"the first {shorten(lost[0])!r}."
        )
        raise InputError(msg)
    units = np.array([found[row] for row in range(len(grid.items))])
    return np.unique(units, return_inverse=True)[1]


def _seen(
    people: LabelTable, annotators: Sequence[str], judges: Sequence[str], grid: _Grid
) -> dict[str, NDArray[np.bool_]]:
    """Find, by judge, the labels whose annotator had seen its answer; true means any judge's."""
    if people.seen is None:
        return {}
    rows, places = grid.rows(people), _places(people, annotators)
    found = {}
    for judge in judges:
        shown = [
            value == judge or value.strip().casefold() in TRUE_WORDS for value in people.seen.values
        ]
        mask = np.zeros((len(grid.items), len(annotators)), np.bool_)
        hit = np.array([*shown, False])[people.seen.codes]
        mask[rows[hit], places[hit]] = True
        if mask.any():
            found[judge] = mask
    return found


def _unjudged(machines: LabelTable, names: Sequence[str], grid: _Grid) -> dict[str, int]:
    asked = machines.rater.codes[grid.rows(machines) >= 0]
    counts = np.bincount(asked, minlength=len(machines.rater.values)).tolist()
    missing = {name: len(grid.items) - counts[machines.rater.values.index(name)] for name in names}
    return {name: count for name, count in missing.items() if count}


def _unannotated(machines: LabelTable, grid: _Grid, question: str) -> tuple[Dropped, ...]:
    lost = grid.rows(machines) < 0
    found = []
    for name in machines.raters:
        mine = lost & (machines.rater.codes == machines.rater.values.index(name))
        n_lost = int(np.count_nonzero(mine))
        if n_lost:
            source = machines.source.values[machines.source.codes[int(np.argmax(mine))]]
            reason = f"{n_lost} items that nobody annotated"
            found.append(Dropped(reason=reason, source=source, rater=name, question=question))
    return tuple(found)


def _unusable_gold(truth: LabelTable, grid: _Grid, question: str) -> tuple[Dropped, ...]:
    """Count gold rows about items that nobody annotated, and those without a label."""
    there = grid.rows(truth) >= 0
    if not there.any():
        msg = "`gold` must share items with `humans`, got none in common."
        raise NoDataError(msg)
    n_missing = int(np.count_nonzero(there & (truth.label.codes < 0)))
    found = (
        (int(np.count_nonzero(~there)), "items that nobody annotated"),
        (n_missing, "gold labels are missing or cannot be read"),
    )
    return tuple(
        Dropped(reason=f"{count} {what}", source="gold", rater="gold", question=question)
        for count, what in found
        if count
    )
