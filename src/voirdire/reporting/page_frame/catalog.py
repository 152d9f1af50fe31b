"""The phrases that a page speaks: the frame's and its own, in one language, glued."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import Language

__all__ = ["Catalog", "phrases_of"]

_GLUED = re.compile(r"(?<=[\wεωρκα]) ([=<≥]) (?=[{\d.])| ([±→]) ")
"""Where a line must not break: around the sign in ``ε = {epsilon}``, ``±`` and ``→``."""


@dataclass(frozen=True)
class Catalog:
    """The same phrases in each language.

    A phrase is markup of ours with the names of its figures in braces. Keys are words with dots.
    """

    en: Mapping[str, str]
    zh: Mapping[str, str]


def phrases_of(*catalogs: Catalog, language: Language) -> dict[str, str]:
    """Lay catalogs over each other, with spaces that do not break where a line must not.

    Parameters
    ----------
    *catalogs : Catalog
        With different keys.
    language : {"en", "zh"}
        Which.

    Returns
    -------
    dict of str to str
        All phrases by key.
    """
    return {
        key: _GLUED.sub(_glue, text)
        for catalog in catalogs
        for key, text in {"en": catalog.en, "zh": catalog.zh}[language].items()
    }


def _glue(sign: re.Match[str]) -> str:
    return f"\N{NO-BREAK SPACE}{sign[1] or sign[2]}\N{NO-BREAK SPACE}"
