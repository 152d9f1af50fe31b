"""Reads a study whose labels are larger than memory: as patterns with their numbers of items.

Each distinct row of the files is read once, as a row of a small file of its own, by the readers of
all labels; so a label means here what it means there. Common rows stand there the more often, so
that rare ones are rare for the checks of a reader.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import NO_ANSWERS
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import files_of
from voirdire.io.label_patterns import LabelFile, count_patterns, find_label_file, take_ranges
from voirdire.io.rows import BROKEN_PARQUET
from voirdire.records import Dropped
from voirdire.studies.label_matrix import (
    LabelMatrix,
    check_independent,
    find_seen_judges,
    make_sets,
    misnumbered,
    share_codes,
    take_question,
)
from voirdire.studies.study import format_count, read_study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.io import LabelTable, Reading
    from voirdire.io.label_patterns import LabelPatterns
    from voirdire.studies.study import Study

MOST_HELD = 10_000_000
"""Labels up to which files are read as a whole."""

_MOST_ROWS = 10_000
"""Rows of the small file of a file, beside one for each of its cells."""

_ROWS_AT_ONCE = 1 << 16
_NEARLY_ALL = 0.9
"""Share of a range of numbers that are items, by a sketch, where items are counted."""
_FAILED = -2


def read_patterns(
    humans: Any,
    judges: Any,
    *,
    reading: Reading,
    alignments: Sequence[Any] = (),
    questions: Sequence[str] | None = None,
    clusters: bool = False,
    large: bool | None = None,
) -> Study | None:
    """Read labels of Parquet files as patterns: where they are many, or where `large` says so.

    None where they are not, or, unless they must be, where they cannot be read so.

    Raises
    ------
    InputError
        As reading labels does; and if they must be read so and cannot be.
    """
    sides = {
        "annotator": _list_files(humans, held="labels"),
        "judge": _list_files(judges, held="verdicts"),
    }
    sources = [x for side in sides.values() for x in side]
    are_parquet = all(isinstance(x, Path) and x.suffix.lower() == ".parquet" for x in sources)
    if large is False or not (large or (are_parquet and _may_be_many(sources))):
        return None
    files: dict[Path, LabelFile | None] = {}
    with nullcontext() if large else suppress(InputError):  # which reading them whole explains
        files = _find_files(sides, reading, questions, clusters=clusters) if are_parquet else {}
    wrong = next((x for x in sources if files.get(x) is None), None)
    if wrong is not None and not large:
        return None
    if wrong is not None:
        msg = (
            "`large` needs Parquet files of labels, with a row for each label or a column for each "
            f"rater, and no `where`, got {shorten(str(wrong))!r}. Leave `large` out, or write such "
            "a file."
        )
        raise InputError(msg)
    known = [file for file in files.values() if file is not None]
    if not large and sum(map(_count_labels, known)) <= MOST_HELD:
        return None
    _check_numbering(*([files[x] for x in side] for side in sides.values()))
    with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
        patterns = count_patterns(known, Path(folder))
        small = {}
        for number, file in enumerate(known):
            small[file.path] = place = Path(folder, *file.path.resolve().parts[1:])
            place.parent.mkdir(parents=True, exist_ok=True)
            _write_cells(patterns, number, file, reading, place)
        try:
            study = read_study(
                *([small[x] for x in side] for side in sides.values()),
                reading=replace(reading, cluster=None),
                alignments=alignments,
                questions=questions,
            )
        except InputError as error:
            raise type(error)(str(error).replace(folder, "")) from None
    return _count_labels_of(study, patterns, known, folder, reading)


def _list_files(given: Any, *, held: str) -> list[Any]:
    """List the files of a side; anything else is returned as it is."""
    sources = given if isinstance(given, list | tuple) else [given]
    return [
        Path(file) if isinstance(file, str | Path) and str(file) != "-" else file
        for source in sources
        for file in (files_of(source, held=held) if isinstance(source, str | Path) else [source])
    ]


def _count_rows(path: Path) -> int:
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


def _count_labels(file: LabelFile) -> int:
    return _count_rows(file.path) * max(len(file.raters), 1)


def _may_be_many(paths: Sequence[Path]) -> bool:
    """Tell whether files have more cells than labels are held; False where one cannot be read."""
    try:
        return (
            sum(_count_rows(path) * len(pl.read_parquet_schema(path)) for path in set(paths))
            > MOST_HELD
        )
    except BROKEN_PARQUET:
        return False


def _check_numbering(people: Sequence[Any], machines: Sequence[Any]) -> None:
    """Refuse items that are counted from 0 on one side, and from 1 on the other."""
    spans = []
    for side in (people, machines):
        frames = [pl.scan_parquet(x.path, glob=False).select(pl.col(x.item)) for x in side]
        number = pl.first().cast(pl.String).cast(pl.Int64, strict=False)
        found = (
            pl.concat([frame.rename(dict.fromkeys([x.item], "item"))
                       for frame, x in zip(frames, side, strict=True)], how="vertical_relaxed")
            .select(
                low=number.min(), high=number.max(), n=number.approx_n_unique(),
                n_words=number.is_null().sum() - pl.first().is_null().sum(),
            )
            .collect(engine="streaming")
            .row(0, named=True)
        )  # fmt: skip
        if found["n_words"] or found["low"] is None:
            return
        n_all = found["high"] - found["low"] + 1
        if found["n"] < _NEARLY_ALL * n_all:  # ids, and no count
            return
        spans.append((found["low"], found["high"]))
    (low, high), (first, last) = spans
    if {low, first} == {0, 1} and last - first == high - low:
        raise misnumbered(f"{low} to {high}", f"{first} to {last}")


def _find_files(
    sides: Mapping[str, Sequence[Path]],
    reading: Reading,
    questions: Sequence[str] | None,
    *,
    clusters: bool,
) -> dict[Path, LabelFile | None]:
    """Find the columns that are read of each file; None where it cannot be counted."""
    files: dict[Path, LabelFile | None] = {}
    question = questions[0] if questions is not None and len(questions) == 1 else None
    for role, paths in sides.items():
        is_judge = role == "judge"
        for path in paths:
            file = find_label_file(
                path,
                role="judge" if is_judge else "annotator",
                reading=replace(reading, raters=None, cluster=None) if is_judge else reading,
                question=question,
                rater_name=path.stem if len(paths) > 1 and not is_judge else None,
            )
            first = files.setdefault(path, file)
            if file is None or first is None:
                files[path] = None
                continue
            if (first.item, bool(first.raters)) != (file.item, bool(file.raters)):
                files[path] = None  # as a file of raters in rows and in columns
                continue
            files[path] = replace(
                first,
                question=first.question or file.question,
                cluster=(first.cluster or file.cluster) if clusters else None,
                columns=tuple(dict.fromkeys([*first.columns, *file.columns])),
                raters=tuple(dict.fromkeys([*first.raters, *file.raters])),
                probability=first.probability or file.probability,
            )
    return files


def _write_cells(
    patterns: LabelPatterns, number: int, file: LabelFile, reading: Reading, place: Path
) -> None:
    """Write each cell of a file as a row whose item is its number; raters of columns as rows."""
    label = next(
        (yours for ours, yours in (reading.columns or {}).items() if ours in ("label", "value")),
        "label",
    )
    groups = []
    columns_of_cells = file.groups[0]
    if file.raters:
        columns_of_cells = [*columns_of_cells[:-1], label, "rater"]
    for group, names in enumerate(file.groups):
        known = patterns.cells.get((number, group))
        if known is None:
            known = pl.DataFrame(schema=dict.fromkeys([*names, "cell"], pl.String))
        *columns, cells = known.get_columns()
        if file.raters:
            who = pl.repeat(names[-1], len(cells), dtype=pl.String, eager=True)
            columns.append(who)
        groups.append([cells, *columns])
    rows = []
    for parts in zip(*groups, strict=True):
        is_mixed = len({x.dtype for x in parts}) > 1 and not all(
            x.dtype.is_numeric() for x in parts
        )
        columns = [x.cast(pl.String).alias("") if is_mixed else x.alias("") for x in parts]
        whole = pl.concat([x.to_frame() for x in columns], how="vertical_relaxed")
        rows.append(whole.to_series())
    numbers = rows[0].cast(pl.Int64).to_numpy()
    n_rows = patterns.n_rows[numbers]
    share = min(_MOST_ROWS / max(int(n_rows.sum()), 1), 1.0)
    times = np.maximum(np.rint(n_rows * share), 1).astype(np.int64)
    at = np.repeat(np.arange(len(numbers)), times)
    again = np.arange(len(at)) - np.repeat(np.cumsum(times) - times, times)
    items = [f"{cell}+{n}" if n else str(cell) for cell, n in zip(numbers[at], again, strict=True)]
    named = {name: x[at] for name, x in zip(columns_of_cells, rows[1:], strict=True)}
    table = pl.DataFrame({file.item: pl.Series(items, dtype=pl.String)} | named)
    table.write_parquet(place)


def _find_cells(table: LabelTable) -> NDArray[np.int64]:
    """Return the cell of each row of the small files; -1 for those that repeat one."""
    numbers = [int(item) if item.isdigit() else -1 for item in table.item.values]
    return np.array([*numbers, -1], np.int64)[table.item.codes]


def _count_labels_of(
    study: Study,
    patterns: LabelPatterns,
    files: Sequence[LabelFile],
    folder: str,
    reading: Reading,
) -> Study:
    """Put the labels of a study in the place of the cells of the patterns."""
    humans, judges = (
        replace(x, source=x.source.recode([name.replace(folder, "") for name in x.source.values]))
        for x in (study.humans, study.judges)
    )
    study = replace(study, humans=humans, judges=judges)
    file_of_cell = np.zeros(len(patterns.n_rows), np.intp)
    for (number, _), cells in patterns.cells.items():
        file_of_cell[cells["cell"].to_numpy()] = number
    set_aside: Counter[Dropped] = Counter()
    for number, n_rows in patterns.n_unnamed.items():
        if n_rows:
            row = Dropped(reason="missing item id", source=str(files[number].path))
            set_aside[row] += n_rows
    for table in (study.humans, study.judges):
        for row in table.dropped:
            cell = int(row.item) if row.item is not None and row.item.isdigit() else -1
            source = row.source.replace(folder, "")
            kind = replace(row, source=source, line=None, item=None, column=None, value=None)
            is_blank = row.value is None or row.value.strip() in ("", *NO_ANSWERS)
            is_listed = table is study.judges or not (files[file_of_cell[cell]].raters and is_blank)
            if cell >= 0 and is_listed:
                set_aside[kind] += int(patterns.n_rows[cell])
    matrices = {}
    for question in study.questions:
        matrices[question], repeated = _align(study, patterns, question, reading)
        set_aside.update(repeated)
    dropped = tuple(
        replace(row, n_rows=n, value=format_count(n, "label")) for row, n in set_aside.items()
    )
    is_exact = int(patterns.n_rows.sum()) <= _MOST_ROWS
    tables = [
        replace(
            table,
            dropped=dropped if table is study.humans else (),
            notes=tuple(
                (x if is_exact else re.sub(r" \([\d,]+\)", "", x)).replace(folder, "")
                for x in table.notes
            ),
        )
        for table in (study.humans, study.judges)
    ]
    return replace(
        study,
        humans=tables[0],
        judges=tables[1],
        notes=[x for x in study.notes if not x.endswith(": one judge.")],
        matrices=matrices,
    )


def _align(
    study: Study, patterns: LabelPatterns, question: str, reading: Reading
) -> tuple[LabelMatrix, Counter[Dropped]]:
    """Align the labels of one question, as `voirdire.studies.label_matrix.align` does."""
    people, machines, annotators = take_question(study.judges, study.humans, question)
    judges, n_people = machines.raters, len(annotators)
    categories, codes = share_codes([people, machines])
    codes[1] = np.where(machines.failure.codes >= 0, _FAILED, codes[1])
    slot_of, code_of = np.full((2, len(patterns.n_rows)), -1)
    for table, names, own, first in (
        (people, annotators, codes[0], 0),
        (machines, judges, codes[1], n_people),
    ):
        cells = _find_cells(table)
        places = [names.index(name) + first if name in names else -1 for name in table.rater.values]
        chosen = cells >= 0
        slot_of[cells[chosen]] = np.array([*places, -1])[table.rater.codes[chosen]]
        code_of[cells[chosen]] = own[chosen]
    n_slots = n_people + len(judges)
    labels, n_repeated = _fill(patterns, slot_of, code_of, n_slots)
    names = [*annotators, *judges]
    repeated = Counter[Dropped]()
    for name, n in zip([*annotators, *judges], n_repeated.tolist(), strict=True):
        if n:
            row = Dropped(reason="duplicate row", source="files", rater=name, question=question)
            repeated[row] = n
    kept = (labels[:, :n_people] >= 0).any(axis=1)
    dropped = _count_unmatched(labels[:, n_people:] != -1, kept, patterns.copies, machines)
    rows = slice(None) if kept.all() else np.flatnonzero(kept)
    labels, copies = labels[rows], patterns.copies[rows]
    clusters = None if patterns.clusters is None else patterns.clusters[rows]
    if clusters is not None and not clusters.all():
        n_lacking = int(copies[clusters == 0].sum())
        msg = (
            f"column `cluster` must be given for every annotated item, got none for {n_lacking:,}."
        )
        raise InputError(msg)
    answers = labels[:, n_people:]
    failed = answers == _FAILED
    humans, answers = labels[:, :n_people], np.where(failed, -1, answers)
    universe = None if reading.labels is None else tuple(dict.fromkeys(reading.labels))
    label_sets = None
    if people.kind == "multilabel":
        counts = np.zeros(len(categories) + 1)
        for column in humans.T:
            counts += np.bincount(column + np.int64(1), copies, len(counts))
        categories, universe, label_sets = make_sets(
            categories, counts[1:].astype(np.int64), universe
        )
    seen, column, cells = {}, people.seen, _find_cells(people)
    for judge in judges:
        is_seen = np.zeros(len(code_of), np.int8)
        if column is not None:
            is_seen[cells[cells >= 0]] = find_seen_judges(column, judge)[cells >= 0]
        if is_seen.any():
            mask, _ = _fill(patterns, np.where(slot_of < n_people, slot_of, -1), is_seen, n_slots)
            seen[judge] = mask[rows, :n_people] == 1
    matrix = LabelMatrix(
        question=question,
        kind=people.kind,
        items=(),
        annotators=tuple(annotators),
        judges=tuple(judges),
        humans=humans,
        answers=answers,
        failed=failed,
        clusters=clusters,
        seen=seen,
        categories=tuple(categories),
        label_sets=label_sets,
        universe=universe,
        declared=reading.labels is not None,
        dropped=dropped,
        copies=copies,
    )
    check_independent(matrix.sample)
    return matrix, repeated


def _count_unmatched(
    given: Any,
    kept: Any,
    copies: NDArray[np.int64],
    machines: LabelTable,
) -> dict[str | None, tuple[Dropped, ...]]:
    """Count the items without annotations by judge; refuse a judge with only such items."""
    dropped: dict[str | None, tuple[Dropped, ...]] = {}
    for judge, has_label in zip(machines.raters, given.T, strict=True):
        if not (has_label & kept).any():
            msg = (
                f"`judges` must share items with `humans`, got none in common for "
                f"{shorten(judge)!r}. Use the same item ids in both."
            )
            raise NoDataError(msg)
        if n_strange := int(copies[has_label & ~kept].sum()):
            about: Any = {"rater": judge, "question": machines.questions[0]}
            reason = f"{n_strange} items without annotations"
            dropped[judge] = (Dropped(reason=reason, source=machines.source.used()[0], **about),)
    return dropped


def _fill(
    patterns: LabelPatterns, slot_of: NDArray[Any], code_of: NDArray[Any], n_slots: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Arrange the codes of cells by pattern and rater; count equal labels that stand twice."""
    kind = np.min_scalar_type(-int(code_of.max(initial=0)) - 2)
    labels = np.full((len(patterns.copies), n_slots), -1, kind, order="F")
    repeated = np.zeros(n_slots, np.int64)
    for start in range(0, len(labels), _ROWS_AT_ONCE):
        here = slice(start, start + _ROWS_AT_ONCE)
        length, copies = patterns.length[here], patterns.copies[here]
        cells = take_ranges(patterns.flat, patterns.begin[here], length)
        row = np.repeat(np.arange(len(length)), length)
        kept = slot_of[cells] >= 0
        cells, row = cells[kept], row[kept]
        place, code = row * n_slots + slot_of[cells], code_of[cells]
        part = np.full(len(length) * n_slots, -1, kind)
        part[place[::-1]] = code[::-1]  # the first one counts
        times = np.bincount(place, minlength=len(part)) - 1
        if (times > 0).any():
            if (part[place] != code).any():
                at = int(np.argmax(part[place] != code))
                n_items = int(copies[row[at]])
                msg = (
                    "`label` must be given once per question, item and rater, got two different "
                    f"ones of one rater on {n_items:,} items. Keep one of them."
                )
                raise InputError(msg)
            by_slot = np.maximum(times, 0).reshape(len(length), n_slots)
            repeated += copies @ by_slot
        labels[start : start + len(length)] = part.reshape(len(length), n_slots)
    return labels, repeated
