"""What an examination of a reward was asked for, and what its parts give."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire.judging import JudgingProgress
    from voirdire.records import Dropped
    from voirdire.rewards.model import RewardModel
    from voirdire.studies.reward.result import RewardNote

__all__ = ["ExaminationRequest", "Part"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ExaminationRequest:
    """The arguments of `examine_reward` that its parts share.

    Attributes
    ----------
    reward : RewardModel
        What is examined.
    judge : object or None
        Who judges, or whose verdicts count.
    behavior : str or None
        Of what has none.
    orders : mapping
        Per behavior which labels are better than which.
    store : str, path or None
        Where a language model's replies are kept.
    judging : callable or None
        Told how far judging is.
    step_size, n_bins : int
        At least 1.
    n_degenerate : int
        Prompts on which degenerate responses are judged.
    resampling : mapping
        The keywords of `PromptResamples`.
    """

    reward: RewardModel
    judge: Any = None
    behavior: str | None = None
    orders: Mapping[str, str | Mapping[str, Sequence[str]]] = field(default_factory=dict)
    store: str | Path | None = None
    judging: Callable[[JudgingProgress], None] | None = None
    step_size: int = 512
    n_bins: int = 40
    n_degenerate: int = 50
    resampling: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asking(self) -> dict[str, Any]:
        """The keywords that say how responses are read and judged."""
        return {
            "judge": self.judge,
            "behavior": self.behavior,
            "store": self.store,
            "judging": self.judging,
        }

    @staticmethod
    def shown(source: Any) -> str:
        """Name a source in settings: its path, or that it was in memory."""
        return str(source) if isinstance(source, str | Path) else "in memory"


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """What one part of an examination gives.

    Attributes
    ----------
    figures : mapping
        Fields of a `RewardExamination`.
    notes : tuple of RewardNote
        What the reader should know.
    dropped : tuple of Dropped
        What was set aside.
    sources : mapping
        What settings say of where it came from.
    """

    figures: Mapping[str, Any]
    notes: tuple[RewardNote, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    sources: Mapping[str, Any] = field(default_factory=dict)
