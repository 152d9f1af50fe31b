"""What tests of your own need: models that say what you want, or what was recorded.

They stand in for a language model wherever `voirdire` takes one, without a key and a network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.testing.recorded import RecordedModel
    from voirdire.testing.scripted import ScriptedModel

__all__ = ["RecordedModel", "ScriptedModel"]

_HOMES = {"RecordedModel": "recorded", "ScriptedModel": "scripted"}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
