"""Read run folders of version 0.1.0: lines of steps with their sums, and lines of completions."""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire.documents import open_regular
from voirdire.errors import InputError
from voirdire.rewards.training.completion_rows import (
    HEAD,
    name_class_column,
    name_proposition_column,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from voirdire.rewards.training.completion_rows import RowLayout

__all__ = ["read_old_frames"]

_MOST_BYTES = 1 << 26
_MOST_ROWS, _MOST_DROPPED = 4_096, 100
_DAMAGED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError,
    pl.exceptions.PolarsError,
)  # fmt: skip


def read_old_frames(folder: Path, layout: RowLayout, dropped: list[str]) -> Iterator[pl.DataFrame]:
    """Yield the rows of such a run, some thousands at a time, and note what cannot be read.

    Version 0.1.0 wrote sums of class probabilities per call, so each row has the mean of its call.
    """
    for path in sorted(folder.glob("steps-*.jsonl")):
        lines = list(_read_lines(path, dropped))
        try:
            head, calls = lines[0], [line for line in lines[1:] if _is_call(line)]
            session = _name_session(head)
        except _DAMAGED:
            _note_dropped(dropped, f"{path.name}: names no session, and is left out")
            continue
        ends = list(accumulate(int(call["n"]) for call in calls))
        completions = path.with_name(path.name.replace("steps-", "completions-", 1))
        if ends and not completions.exists():
            msg = (
                f"{path}: is of a run of version 0.1.0 without completions, which are needed for "
                "its figures. Read it with voirdire 0.1."
            )
            raise InputError(msg)
        rows: list[dict[str, Any]] = []
        for line in _read_lines(completions, dropped) if ends else ():
            try:
                place = bisect_right(ends, int(line["id"].rpartition("-")[2]))
                if place < len(calls):  # else the call was not counted
                    rows.append(_make_row(line, calls[place], layout, session=session))
            except _DAMAGED:
                _note_dropped(dropped, f"{completions.name}: a line is no completion, and left out")
            if len(rows) >= _MOST_ROWS:
                yield pl.DataFrame(rows, schema=layout.schema)
                rows = []
        yield pl.DataFrame(rows, schema=layout.schema)


def _name_session(head: dict[str, Any]) -> str:
    """Name a session as this version does."""
    rank, world = head["rank"], int(head["world"])
    writer = f"p{int(head['pid'])}" if rank is None else f"r{int(rank)}of{world}"
    return f"{writer}-{int(head['time'] * 1_000)}-{head['session'].rpartition('-')[2]}"


def _is_call(line: dict[str, Any]) -> bool:
    return isinstance(line.get("n"), int) and isinstance(line.get("sums"), dict)


def _make_row(
    line: dict[str, Any], call: dict[str, Any], layout: RowLayout, *, session: str
) -> dict[str, Any]:
    prompt, response = line["prompt"], line["response"]
    row = {name: line.get(name) for name in HEAD}
    row |= {"item": line["id"], "time": float(call["time"]), "session": session, "messages": None}
    row |= {"threshold": str(line["threshold"]), "nonsense": None}
    if not isinstance(row["answered_by"], str):  # then it is a proposition's
        row["answered_by"] = None
    if not all(text is None or isinstance(text, str) for text in (prompt, response)):
        both = json.dumps({"prompt": prompt, "response": response})
        row |= {"prompt": None, "response": None, "messages": both}
    for name in layout.propositions:
        row[name_proposition_column(name)] = line.get(f"proposition:{name}", line.get(name))
    behavior = line["behavior"]
    n, totals = call["sums"]["classes"].get(behavior, (0, ()))
    n_rows = call.setdefault("seen", {})
    n_rows[behavior] = n_rows.get(behavior, 0) + 1
    if n_rows[behavior] <= n:
        names = map(name_class_column, layout.classes[behavior])
        row |= {name: total / n for name, total in zip(names, totals, strict=True)}
    return row


def _read_lines(path: Path, dropped: list[str]) -> Iterator[dict[str, Any]]:
    try:
        with open_regular(path) as file:
            lines = iter(lambda: file.readline(_MOST_BYTES), b"")
            for number, line in enumerate(lines, start=1):
                try:
                    document = json.loads(line) if line.endswith(b"\n") else None
                except (ValueError, RecursionError):
                    document = None
                if isinstance(document, dict):
                    yield document
                else:
                    _note_dropped(
                        dropped, f"{path.name}:{number}: the line is damaged, and left out"
                    )
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}). Make it readable."
        raise InputError(msg) from error


def _note_dropped(dropped: list[str], reason: str) -> None:
    if len(dropped) < _MOST_DROPPED:
        dropped.append(reason)
