"""What a row of comparisons says beside its completions: labels, base rewards, splits, margins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.files import RowError, got
from voirdire.io.items import BEHAVIOR_WORDS, ItemColumn, name_of
from voirdire.io.shapes import ID_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ComparisonColumn", "OwnColumns"]

ComparisonColumn: TypeAlias = Literal[
    "label",
    "base_reward",
    "split",
    "margin",
    "ranked",
    "chosen_base_reward",
    "rejected_base_reward",
]
"""Our names for the columns of comparisons that items do not have."""

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "label": ("label", "completion_label", "completion_type"),
    "base_reward": ("base_reward", "rm_score"),
}
_NUMBERS = ("base_reward", "chosen_base_reward", "rejected_base_reward", "margin")
_RESPONSE_TYPE = "response_type"
_SPLITS = ("train", "test")


class OwnColumns:
    """Where labels, base rewards and the like stand, as declared or by their usual names.

    Parameters
    ----------
    columns : mapping of str to str or None
        Our names to the file's, those of items among them.
    source : str
        What messages call the file.
    is_text : bool
        Whether every cell is text, as in CSV, so that numbers are written as text.
    """

    def __init__(
        self, columns: Mapping[str, str] | None, *, source: str, is_text: bool = False
    ) -> None:
        _check_columns(columns)
        ours = get_args(ComparisonColumn)
        given = dict(columns or {})
        self.of_items = {key: value for key, value in given.items() if key not in ours}
        self._declared = {key: value for key, value in given.items() if key in ours}
        self._unseen = set(self._declared.values())
        self.source = source
        self.is_text = is_text

    @property
    def numbers(self) -> tuple[str, ...]:
        """The keys that hold numbers."""
        return tuple(key for concept in _NUMBERS for key in self._keys(concept))

    @property
    def ranked(self) -> str:
        """The key of a ranked list."""
        return self._keys("ranked")[0]

    def see(self, row: Mapping[str, Any]) -> None:
        """Take note of the keys of a row."""
        if self._unseen:
            self._unseen -= row.keys()

    def check_seen(self, header: Sequence[str]) -> None:
        """Refuse a declared column that no row had."""
        if self._unseen:
            shown = ", ".join(repr(shorten(name)) for name in header[:20]) or "none"
            msg = (
                f"{self.source}: column `{shorten(min(self._unseen))}` must exist, got columns "
                f"{shown}. Correct `columns`."
            )
            raise InputError(msg)

    def label(self, row: Mapping[str, Any]) -> str | None:
        """Give the completion label, if there is one."""
        key, value = self._find(row, "label")
        name = None if value is None else name_of(value, column=key)
        return None if name is None else name.strip()

    def base_reward(self, row: Mapping[str, Any], *, side: str | None = None) -> float:
        """Give the base reward of a completion, or of one side of a pair; nan for none."""
        concept = "base_reward" if side is None else f"{side}_base_reward"
        return self._number(row, concept, what="base reward")

    def margin(self, row: Mapping[str, Any]) -> float:
        """Give the margin of a pair; nan for none."""
        margin = self._number(row, "margin", what="margin")
        if margin <= 0:
            key, _ = self._find(row, "margin")
            raise RowError(f"margin must be a number above 0, got {margin:g}", column=key)
        return margin

    def split(self, row: Mapping[str, Any]) -> str | None:
        """Give the split: train, test or none."""
        key, value = self._find(row, "split")
        if value is None:
            return None
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in _SPLITS:
            raise RowError(f"split must be train or test, got {got(value)}", column=key)
        return str(word)

    def behavior(self, row: Mapping[str, Any], found: str | None) -> str | None:
        """Give the behavior in our words, also where the row calls it a response type."""
        said = row.get(_RESPONSE_TYPE)
        if found is None and isinstance(said, str):
            return BEHAVIOR_WORDS.get(said)
        return None if found is None else BEHAVIOR_WORDS.get(found, found)

    def row_name(self, row: Mapping[str, Any]) -> str | None:
        """Give the id that a row has of its own."""
        declared = self.of_items.get("id")
        keys = ID_COLUMNS if declared is None else (declared,)
        key = next((key for key in keys if row.get(key) is not None), None)
        return None if key is None else name_of(row[key], column=key)

    def group(self, row: Mapping[str, Any]) -> str | None:
        """Give the group that a row names itself."""
        key = self.of_items.get("group", "group")
        value = row.get(key)
        return None if value is None else name_of(value, column=key)

    def _keys(self, concept: str) -> tuple[str, ...]:
        declared = self._declared.get(concept)
        return _SYNONYMS.get(concept, (concept,)) if declared is None else (declared,)

    def _find(self, row: Mapping[str, Any], concept: str) -> tuple[str, Any]:
        """Find the first key that holds something; blank text is nothing."""
        for key in self._keys(concept):
            value = row.get(key)
            if value is not None and not (isinstance(value, str) and not value.strip()):
                return key, value
        return concept, None

    def _number(self, row: Mapping[str, Any], concept: str, *, what: str) -> float:
        key, value = self._find(row, concept)
        if value is None:
            return math.nan
        try:
            is_number = not isinstance(value, bool) and (self.is_text or not isinstance(value, str))
            number = float(value) if is_number else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise RowError(f"{what} must be a finite number, got {got(value)}", column=key)
        return number


def _check_columns(columns: Any) -> None:
    if columns is None:
        return
    known = (*get_args(ItemColumn), *get_args(ComparisonColumn))
    is_mapping = isinstance(columns, Mapping)
    wrong = next(
        (k for k in columns if k not in known or not isinstance(columns[k], str)), None
    ) if is_mapping else columns  # fmt: skip
    if not is_mapping or wrong is not None:
        shown = ", ".join(repr(name) for name in known)
        msg = (
            f"`columns` must map our names to the file's, got {shorten(wrong)!r}. Use one of "
            f"{shown}."
        )
        raise InputError(msg)
