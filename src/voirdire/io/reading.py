"""`read_labels`: one door for every format."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from voirdire.io.assembly import assemble
from voirdire.io.delimited import read_delimited
from voirdire.io.json_shapes import read_json, read_jsonl
from voirdire.io.parquet import read_parquet
from voirdire.io.request import Reading, ReadingFields, Request, Role
from voirdire.io.sources import format_of

if TYPE_CHECKING:
    from voirdire.io.raw import RawTable
    from voirdire.io.sources import Source
    from voirdire.io.table import LabelTable

__all__ = ["read_labels"]


def read_labels(
    source: Source,
    *,
    role: Role,
    reading: Reading | None = None,
    question: str | None = None,
    rater_name: str | None = None,
    **settings: Unpack[ReadingFields],
) -> LabelTable:
    r"""Read the labels of annotators or judges from a file.

    A table is *long* where it has a column for the rater (`annotator` or `judge` by role, or
    `rater`) and one for the label (`label`; for judges also `value` or `probability`), and *wide*
    otherwise: a column `item` (or `id`) and one column per rater. A judge's file with `item` and a
    label but no rater holds one judge. Optional columns: `question`, `cluster`, and for judges
    `failure`, `threshold` and `fingerprint`. Nothing about the kind of question is guessed from
    the labels.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file.
    role : {"annotator", "judge"}
        Whose labels these are.
    reading : Reading, optional
        What the question asks for, and how the file says it.
    question : str, optional
        Keep this question only. Names the question of a table that has no `question` column.
    rater_name : str, optional
        Who labelled a file that holds one rater without a name; by default a judge is called
        after the file.
    **settings
        Fields of `Reading`, each of which counts before that of `reading`: `kind`, which must be
        declared, `labels`, `threshold`, `format`, `columns`, `raters`, `separator`, `missing` and
        `cluster`.

    Returns
    -------
    LabelTable
        The labels in long form, and every label that was set aside, with its reason and place.

    Raises
    ------
    NoDataError
        If the file is empty or has no rows.
    InputError
        If the file cannot be read, lacks a column, mixes types in a label column, or gives two
        labels of one rater for one item; if an argument breaks its rule.

    Notes
    -----
    Where no `format` is declared the ending of the name says it (``.csv``, ``.tsv``, ``.jsonl``,
    ``.ndjson``, ``.json``, ``.parquet``), JSONL for a stream; the shape of a JSON file is told by
    its top level, that of JSONL by its first row. A table with columns `label`, `probability` and
    `threshold`, as `voirdire judge` writes it, says which threshold its labels were made with;
    they stand unless another is declared.

    Annotators: no label (null, NaN, blank text, a word of `missing`), "can't tell" (unless it is a
    declared label) and unknown labels are set aside. An empty cell of a wide table is no label
    and is not listed.

    Judges: a row without a usable label is a Failure and stays, with a null label and the reason
    in `failure`, since the judge was asked; also an empty cell of a wide table. Unknown labels are
    listed besides.

    Label Studio's annotations and Argilla's responses are the annotators' labels, predictions and
    suggestions the judges'. The gold rows of the RBR authors (`propositions` beside a
    `completion`) hold the labels of one rater, ``"gold"`` or `rater_name`; propositions have the
    names of the rubric ``safety``, and items those that `stream_items` gives them.

    Examples
    --------
    >>> import io
    >>> from voirdire.io import read_labels
    >>> text = "item,ann,bob\n1,yes,no\n2,yes,can't tell\n3,,maybe\n"
    >>> table = read_labels(
    ...     io.BytesIO(text.encode()), format="csv", role="annotator", kind="boolean"
    ... )
    >>> table.frame.select("item", "rater", "label").rows()
    [('1', 'ann', 'true'), ('2', 'ann', 'true'), ('1', 'bob', 'false')]
    >>> [(drop.line, drop.reason[:13]) for drop in table.dropped]
    [(3, "can't tell"), (4, 'unknown label')]
    """
    read = replace(reading or Reading(), **settings)
    request = Request(
        role=role,
        question=question,
        rater_name=rater_name,
        default_rater=_stem(source),
        **{row.name: getattr(read, row.name) for row in fields(Reading)},
    )
    return assemble(_opened(source, request), request)


def _opened(source: Source, request: Request) -> RawTable:
    declared = request.format
    chosen = declared or format_of(source)
    if chosen in ("csv", "tsv"):
        return read_delimited(source, separator="," if chosen == "csv" else "\t")
    if chosen == "parquet":
        column = request.column_named("question") or "question"
        return read_parquet(
            source, only=None if request.question is None else (column, request.question)
        )
    if chosen in ("jsonl", "rbr-gold") or (chosen == "argilla" and _has_lines(source)):
        return read_jsonl(source, declared=declared, request=request)
    return read_json(source, declared=chosen, request=request)


def _has_lines(source: Source) -> bool:
    return isinstance(source, str | Path) and Path(source).suffix.lower() in (".jsonl", ".ndjson")


def _stem(source: Source) -> str:
    """Name a judge where the file does not."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return "judge"
    return Path(source).stem
