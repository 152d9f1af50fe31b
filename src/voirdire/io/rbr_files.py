"""Reads files of the authors of rule-based rewards: probabilities and reward-model scores.

Their rows identify a completion by its texts: `prompt_completion` is a list of the conversation and
the completion, each message written as ``|USER|: text``. The other keys are `features`, with
probabilities by proposition, or `rm_score`.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.errors import InputError
from voirdire.io.files import DataFile, json_lines
from voirdire.records import Dropped, Verdicts
from voirdire.records.thresholds import USUAL_THRESHOLD
from voirdire.rubrics import OUR_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Threshold
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["RbrScores", "hash_texts", "is_rbr_file", "read_rbr_verdicts"]

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


def read_rbr_verdicts(
    source: Any, *, rubric: Rubric, threshold: Threshold | None = None
) -> Verdicts:
    """Read the probabilities of a file of `features`; items have `hash_texts` for their ids.

    Parameters
    ----------
    source : path, or a sequence of one
        JSONL.
    rubric : Rubric
        Its propositions are found under their own names, or under the authors'.
    threshold : float or mapping of str to float, optional
        A proposition is true from this probability on.

    Returns
    -------
    Verdicts
        Of a judge that is named after the file, and has no fingerprint.

    Raises
    ------
    InputError
        If a row has no probabilities.
    """
    file = _file_of(source)
    theirs = {ours: name for name, ours in OUR_NAMES.items()}
    names = [(name, theirs.get(name, name)) for name in rubric.propositions]
    places: dict[str, int] = {}
    numbers = array("d")
    for line, key, row in _rows(file):
        given = row.get(_FEATURES)
        if not isinstance(given, dict):
            rule = f"`{_FEATURES}` must map propositions to probabilities."
            raise file.fault(rule, line=line)
        for number in (given.get(name, given.get(other)) for name, other in names):
            if number is not None and not _is_number(number, low=0.0, high=1.0):
                rule = f"a probability must be a number in [0, 1], got {number!r}."
                raise file.fault(rule, line=line)
            numbers.append(math.nan if number is None else number)
        places[key] = len(numbers) // len(names) - 1  # of repeated texts the last row counts
    return Verdicts(
        items=tuple(places),
        behaviors=(None,) * len(places),
        questions=rubric.propositions,
        probabilities=np.array(numbers).reshape(-1, len(names))[list(places.values())],
        judge=file.stem,
        fingerprint="",
        threshold=USUAL_THRESHOLD if threshold is None else threshold,
    )


class RbrScores:
    """The scores of a file of `rm_score`, held whole and found by the texts of an item.

    Raises
    ------
    InputError
        If a score is no finite number.
    """

    def __init__(self, source: Any) -> None:
        self._file = _file_of(source)
        self._scores: dict[str, float] = {}
        for line, key, row in _rows(self._file):
            score: Any = row.get(_SCORE)
            if not _is_number(score):
                rule = f"`{_SCORE}` must be a finite number, got {score!r}."
                raise self._file.fault(rule, line=line)
            self._scores[key] = float(score)

    def of_items(self, items: Sequence[Item]) -> list[float | None]:
        """Give the scores of items, in their order; None for one that the file lacks."""
        return [self._scores.get(hash_texts(item)) for item in items]

    def of_all_items(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Give the scores of all that there are, nan for none; refuse a file that has none."""
        found = np.array(self.of_items(items), dtype=np.float64)
        if not np.isfinite(found).any():
            raise self.is_about_others()
        return found

    def is_about_others(self) -> InputError:
        """Make the error that the file has none of the items."""
        return InputError(
            f"{self._file.name}: must be about the same prompts and completions, got none of those "
            "that were read. Name the file that belongs to them."
        )


def _file_of(source: Any) -> DataFile:
    path = source[0] if isinstance(source, list | tuple) else source
    return DataFile(path, format="jsonl", held="row")


def _rows(file: DataFile) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for line, row, _ in json_lines(file):
        if isinstance(row, Dropped):
            raise file.fault(f"{row.reason}. Correct it.", line=line)
        key = row.get(_KEY) if isinstance(row, dict) else None
        if not (isinstance(key, list) and [type(part) for part in key] == [str, str]):
            rule = f"`{_KEY}` must be a list of two texts, a conversation and a completion."
            raise file.fault(rule, line=line)
        yield line, _hash(*key), row


def hash_texts(item: Item) -> str:
    """Hash the conversation and the response of an item as the authors write them."""
    prompt = "\n".join(f"|{one.role.upper()}|: {one.content}" for one in item.prompt)
    return _hash(prompt, f"|ASSISTANT|: {item.response}")


def _hash(prompt: str, completion: str) -> str:
    text = f"{len(prompt)} {prompt}{completion}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _is_number(value: Any, *, low: float = -math.inf, high: float = math.inf) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and low <= value <= high
