"""The rubrics that ship with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["built_in_rubrics", "built_in_text"]

_SUFFIX = ".yaml"


def built_in_rubrics() -> tuple[str, ...]:
    """Name the rubrics that ship with voirdire.

    Returns
    -------
    tuple of str
        Names that `load_rubric` takes, in alphabetical order.

    Examples
    --------
    >>> "safety" in built_in_rubrics()
    True
    """
    return tuple(sorted(_files()))


def built_in_text(name: str) -> str:
    """Read the YAML of a built-in rubric, comments and all."""
    return _files()[name].read_text(encoding="utf-8")


@cache
def _files() -> dict[str, Traversable]:
    folder = files("voirdire") / "data" / "rubrics"
    return {
        file.name.removesuffix(_SUFFIX): file
        for file in folder.iterdir()
        if file.name.endswith(_SUFFIX)
    }
