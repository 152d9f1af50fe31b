"""Reads files of the authors of rule-based rewards: probabilities and reward-model scores.

Their rows identify a completion by its texts: `prompt_completion` is a list of the conversation and
the completion, each message written as ``|USER|: text``. The other keys are `features`, with
probabilities by proposition, or `rm_score`.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.errors import InputError
from voirdire.io.files import DataFile, json_lines
from voirdire.records import Dropped, Verdicts
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rubrics import OUR_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["is_rbr_file", "read_rbr_scores", "read_rbr_verdicts"]

_KEY = "prompt_completion"
_FEATURES, _SCORE = "features", "rm_score"


def is_rbr_file(source: Any) -> bool:
    """Return by its first row whether a file has the authors' form."""
    if isinstance(source, list | tuple) and len(source) == 1:
        source = source[0]
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return False
    try:
        with Path(source).open("rb") as file:
            row = msgspec.json.decode(file.readline(1 << 24))
    except (OSError, msgspec.DecodeError, UnicodeError):
        return False
    return isinstance(row, dict) and _KEY in row


def read_rbr_verdicts(source: Any, items: Sequence[Item], *, rubric: Rubric) -> Verdicts:
    """Find the probabilities of items in a file of `features`.

    Parameters
    ----------
    source : path, or a sequence of one
        JSONL.
    items : sequence of Item
        Completions with their prompts; one that the file does not have lacks its verdicts.
    rubric : Rubric
        Its propositions are found under their own names, or under the authors'.

    Returns
    -------
    Verdicts
        On the items, in their order; the judge is named after the file, and has no fingerprint.

    Raises
    ------
    InputError
        If a row has no probabilities, or none of the items is in the file.
    """
    file = _file_of(source)
    theirs = {ours: name for name, ours in OUR_NAMES.items()}
    names = [(name, theirs.get(name, name)) for name in rubric.propositions]
    values = np.full((len(items), len(names)), np.nan)
    places = _places_of(items)
    for line, key, row in _rows(file):
        given = row.get(_FEATURES)
        if not isinstance(given, dict):
            raise file.fault(f"`{_FEATURES}` must map propositions to probabilities.", line=line)
        numbers = [given.get(name, given.get(other)) for name, other in names]
        for number in numbers:
            if number is not None and not _is_number(number, low=0.0, high=1.0):
                rule = f"a probability must be a number in [0, 1], got {number!r}."
                raise file.fault(rule, line=line)
        for place in places.get(key, ()):
            values[place] = [np.nan if number is None else number for number in numbers]
    _check_found(file, np.isfinite(values).any(axis=1))
    ids = tuple(item.id for item in items)
    found = Verdicts(
        items=ids,
        behaviors=(None,) * len(ids),
        questions=rubric.propositions,
        probabilities=values,
        judge=file.stem,
        fingerprint="",
    )
    return found.with_reasons(dict.fromkeys(ids, NO_VERDICT))


def read_rbr_scores(source: Any, items: Sequence[Item]) -> NDArray[np.float64]:
    """Find the scores of items in a file of `rm_score`; nan for one that the file does not have.

    Raises
    ------
    InputError
        If a score is no finite number, or none of the items is in the file.
    """
    file = _file_of(source)
    found = np.full(len(items), np.nan)
    places = _places_of(items)
    for line, key, row in _rows(file):
        score = row.get(_SCORE)
        if not _is_number(score):
            raise file.fault(f"`{_SCORE}` must be a finite number, got {score!r}.", line=line)
        found[list(places.get(key, ()))] = score
    _check_found(file, np.isfinite(found))
    return found


def _file_of(source: Any) -> DataFile:
    path = source[0] if isinstance(source, list | tuple) else source
    return DataFile(path, format="jsonl", held="row")


def _rows(file: DataFile) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    for line, row, _ in json_lines(file):
        if isinstance(row, Dropped):
            raise file.fault(f"{row.reason}. Correct it.", line=line)
        key = row.get(_KEY) if isinstance(row, dict) else None
        if not (isinstance(key, list) and [type(part) for part in key] == [str, str]):
            rule = f"`{_KEY}` must be a list of two texts, a conversation and a completion."
            raise file.fault(rule, line=line)
        yield line, _hash(*key), row


def _places_of(items: Sequence[Item]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for place, item in enumerate(items):
        said = "\n".join(f"|{one.role.upper()}|: {one.content}" for one in item.prompt)
        found.setdefault(_hash(said, f"|ASSISTANT|: {item.response}"), []).append(place)
    return found


def _hash(prompt: str, completion: str) -> bytes:
    said = f"{len(prompt)} {prompt}{completion}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=16).digest()


def _is_number(value: Any, *, low: float = -math.inf, high: float = math.inf) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and low <= value <= high


def _check_found(file: DataFile, found: NDArray[np.bool_]) -> None:
    if not found.any():
        msg = (
            f"{file.name}: must be about the same prompts and completions, got none of the "
            f"{found.size} that were read. Name the file that belongs to them."
        )
        raise InputError(msg)
