"""A power simulation as one JSON object."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from voirdire.records.plain import without_nan

if TYPE_CHECKING:
    from voirdire.stats.power_analysis import PowerResult

__all__ = ["power_to_json"]


def power_to_json(result: PowerResult) -> str:
    """Write a result as indented JSON; an undefined figure is null.

    Parameters
    ----------
    result : PowerResult
        What was found.

    Returns
    -------
    str
        One object with the attributes of `PowerResult`.
    """
    content = without_nan(asdict(result))
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
