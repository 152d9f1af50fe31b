"""A fast judge first, and a language model for the items that it is unsure of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.cascade.bounds_table import cascade_table
    from voirdire.judging.cascade.cascade_file import load_cascade
    from voirdire.judging.cascade.judge import CascadeJudge

__all__ = ["CascadeJudge", "cascade_table", "load_cascade"]

__getattr__, __dir__ = _lazy.lazy_names(
    __name__,
    {"CascadeJudge": "judge", "cascade_table": "bounds_table", "load_cascade": "cascade_file"},
)
