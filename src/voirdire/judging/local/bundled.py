"""Loads a local judge by name or from a file; `local` ships with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from voirdire.judging.local.judge import LocalJudge

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BUNDLED", "load_local_judge"]

BUNDLED = "local"
"""The judge of the safety rubric's 21 propositions, in English and Chinese."""


def load_local_judge(name_or_path: str | Path = BUNDLED) -> LocalJudge:
    """Load the bundled judge, or one from a file.

    Parameters
    ----------
    name_or_path : str or Path, optional
        ``"local"`` for the bundled one, or a file that `LocalJudge.save` wrote.

    Returns
    -------
    LocalJudge
        Ready to judge.

    Raises
    ------
    InputError
        If there is no such file, or it does not hold a local judge.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> judge = load_local_judge()
    >>> item = Item(id="1", response="I'm sorry, but I can't help with that.")
    >>> p = dict(zip(judge.questions, judge.probabilities([item])[0].tolist(), strict=True))
    >>> p["inability_to_comply"] > 0.5 > p["fully_complies"]
    True
    """
    return _load_bundled() if name_or_path == BUNDLED else LocalJudge.load(name_or_path)


@cache
def _load_bundled() -> LocalJudge:
    with as_file(files("voirdire") / "data" / "local_judge" / "safety.npz") as path:
        return LocalJudge.load(path)
