"""For your own tests: models with scripted replies, and golden rewards.

The models replace a language model wherever `voirdire` takes one, without a key and a network. The
golden table has responses with rewards computed by hand, which every adapter passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.testing.golden import (
        GoldenJudge,
        GoldenKind,
        GoldenRow,
        check_adapter,
        golden_judge,
        golden_reward,
        golden_rows,
        golden_settings,
    )
    from voirdire.testing.scripted import ScriptedModel

__all__ = [
    "GoldenJudge",
    "GoldenKind",
    "GoldenRow",
    "ScriptedModel",
    "check_adapter",
    "golden_judge",
    "golden_reward",
    "golden_rows",
    "golden_settings",
]

_HOMES = {
    "GoldenJudge": "golden",
    "GoldenKind": "golden",
    "GoldenRow": "golden",
    "ScriptedModel": "scripted",
    "check_adapter": "golden",
    "golden_judge": "golden",
    "golden_reward": "golden",
    "golden_rows": "golden",
    "golden_settings": "golden",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
