"""Settings of comparisons: how they are read, and how their completions are judged for a fit.

The command line shows them as options, so nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # the command line reads the types
from dataclasses import dataclass

from voirdire._types import Judged, Threshold
from voirdire._validation import check_choice
from voirdire.io.declared import ItemFormat  # noqa: TC001  # the command line reads the types
from voirdire.judging.settings import ReplySettings

__all__ = ["ComparisonLayout", "ComparisonSettings"]


@dataclass(frozen=True, kw_only=True)
class ComparisonLayout:
    """How comparisons are read, where the file does not show it.

    Attributes
    ----------
    columns : mapping of str to str, or None
        Your name for a column, as OURS=YOURS (id, prompt, response, messages, label, chosen,
        rejected, chosen_base_reward, rejected_base_reward, margin, ranked, behavior, group,
        split); repeatable.
    format : {"jsonl", "csv", "tsv", "json", "parquet", "xlsx"} or None
        Instead of the file's ending: jsonl, csv, tsv, json, parquet.
    behavior : str or None
        The behavior of items that have none.
    base : str or None
        Column of the base reward. Default: base_reward, where there is one.
    """

    columns: Mapping[str, str] | None = None
    format: ItemFormat | None = None
    behavior: str | None = None
    base: str | None = None


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings(ReplySettings, ComparisonLayout):
    """How the comparisons of a fit are read and judged.

    Attributes
    ----------
    from_classes : bool
        Take the completion class that the verdicts give for the label.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged, where it has reasoning or tool turns.
    threshold : float, or mapping of str to float, or None
        A proposition is true from this probability on. Fix it beforehand. Default: what the
        verdicts, the rubric or the judge say.

    Raises
    ------
    InputError
        If `judged` breaks its rule.
    """

    from_classes: bool = False
    judged: Judged = "final_answer"
    threshold: Threshold | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without the file; the plan checks the threshold."""
        check_choice("judged", self.judged, Judged)
