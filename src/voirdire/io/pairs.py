"""Reads votes between two responses, so that A and B mean the same in every row and file.

A row that names its two sides, such as `model_a` and `model_b`, is exchanged where the first comes
after the second by name: A is then the same model whoever saw which first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from voirdire.io.values import format_name, texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.io.declared import Request
    from voirdire.io.rows import Column, Table

EXCHANGED = "(exchanged)"
"""The column that says whether a row was exchanged."""

_SUBJECTS = (
    *("model", "system", "assistant", "response", "answer", "completion", "output", "reply"),
    *("generation", "candidate", "option", "summary", "translation"),
)
_BOTH = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"))
PAIRS = (
    *(
        (f"{subject}{mark}{first}{more}", f"{subject}{mark}{second}{more}")
        for subject in _SUBJECTS
        for mark in ("_", " ", "")
        for first, second in _BOTH
        for more in ("", "_model", "_name", "_id")
    ),
    *((f"{one}_{subject}", f"{two}_{subject}") for subject in _SUBJECTS for one, two in _BOTH),
    *(("left", "right"), ("first", "second")),
)
"""Columns that name both sides, in small letters."""

_VOTES = ("label", "winner", "preference", "preferred", "vote", "choice")
_SIDES = {pair[at]: side for at, side in enumerate("AB") for pair in (("a", "b"), *PAIRS)}
OTHER_SIDE: Mapping[Any, Any] = {"A": "B", "B": "A"}
_TIES = ("tie", "both", "draw", "neither", "equal", "[[c]]")
_COMPARED = re.compile(r"([ab])(?:(>+)|(<+)|=+|≈|~)(?!\1)[ab]")


def side_of(vote: str) -> str | None:
    """Return A, B or tie for a word that means it, also in brackets and as ``A>B`` or ``A=B``."""
    word = vote.strip().casefold()
    if word.startswith(_TIES):
        return "tie"
    word = re.sub(r"[\s\[\]]", "", word) if word not in _SIDES else word
    if found := _COMPARED.fullmatch(word):
        first = found[1].upper()
        return first if found[2] else OTHER_SIDE[first] if found[3] else "tie"
    return _SIDES.get(word)


def exchange_pairs(table: Table, request: Request) -> Table:
    """Read votes beside the names of both sides as A, B or tie, A being the first by name."""
    columns = table.columns
    label = request.column_named("label") or next((x for x in _VOTES if x in columns), None)
    known = {name.strip().casefold(): name for name in columns}
    pairs = [*PAIRS, *([("a", "b")] if label in columns else [])]  # else they are raters
    pair = next((tuple(known[name] for name in x) for x in pairs if {*x} <= known.keys()), ())
    is_graded = request.kind == "scale" and bool(pair)
    is_vote = request.kind in (None, "pairwise", "choice") and (pair or label == "winner")
    if not (is_vote or is_graded) or label not in (None, *columns):
        return table
    no_votes = {*pair, "item", "id", "question", "annotator", "judge", "rater"}
    votes = [label] if label else [name for name in columns if name not in no_votes]
    votes = [] if is_graded else votes  # ratings are turned once they are read as numbers
    rows = table.load([*pair, *votes])
    names = [texts(rows.columns[name], source=table.source).to_list() for name in pair]
    names = names or [[None] * len(rows.lines)] * 2
    is_graded &= not {*"".join(filter(None, names[0]))} <= {*"0123456789.-"}  # else two raters
    turned = [
        None if None in both else "yes" if both[0] > both[1] else "no"
        for both in zip(*names, strict=True)
    ]
    is_sure = request.kind == "pairwise" and label is not None
    exchanged: dict[str, Column] = {
        name: sides
        for name in votes
        if (sides := _read_votes(rows.columns[name], names, turned, is_sure=is_sure))
    }
    if not (exchanged or is_graded):
        return table
    if exchanged and label is not None:
        exchanged = {"label": exchanged[label], label: exchanged[label]}
    exchanged[EXCHANGED] = turned
    notes, n_turned = [], turned.count("yes")
    if pair:
        ordered = [sorted(both) if None not in both else both for both in zip(*names, strict=True)]
        exchanged |= dict(zip(pair, map(list, zip(*ordered, strict=True)), strict=True))
    if n_turned and not is_graded:
        note = f"{n_turned:,} of {len(turned):,} pairs of {table.source} were exchanged"
        notes = [f"{note}, so that A is the first of `{pair[0]}` and `{pair[1]}` by name"]

    return table.change(exchanged, notes=notes)


def _read_votes(
    column: Column, names: Sequence[list[Any]], turned: Sequence[str | None], *, is_sure: bool
) -> list[str | None] | None:
    """Read votes as A, B or tie; None where they are something else, unless one is sure."""
    votes = [format_name(value) for value in column]
    sides = [
        None if vote is None else "A" if vote == a else "B" if vote == b else side_of(vote)
        for vote, a, b in zip(votes, *names, strict=True)
    ]
    n_votes = sum(vote is not None for vote in votes)
    if not is_sure and not 0 < n_votes == sum(side is not None for side in sides):
        return None
    return [
        OTHER_SIDE.get(side, side) if turn == "yes" else side or vote
        for vote, side, turn in zip(votes, sides, turned, strict=True)
    ]
