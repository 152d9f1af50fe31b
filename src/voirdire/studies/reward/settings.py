"""Settings of the examination of a reward."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # the command line reads the types
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003  # the command line reads the types

from voirdire._validation import check_count, check_fraction
from voirdire.rewards.settings import ComparisonLayout


@dataclass(frozen=True, kw_only=True)
class RewardExaminationSettings(ComparisonLayout):
    """How a reward is examined: what counts as better, how many resamples.

    Attributes
    ----------
    from_classes : bool or None
        Take the completion class that the verdicts give for the label: that says how well the
        reward follows its judge, not whether the judge is right. In Python by default where
        nothing says which completions are better.
    orders : mapping of str to str
        Which labels are better, such as "ideal > less_good > bad"; with BEHAVIOR= before it for
        one behavior; repeatable. Default: as in the fit.
    store : str, path or None
        Where a language model's replies are stored: a file, or postgresql://... Default:
        voirdire-replies.sqlite beside the reward.
    n_resamples : int
        Resamples of prompts; 0: no intervals.
    confidence_level : float
        Of all intervals, in (0, 1).
    seed : int
        Of the resamples, and of the prompts for nonsense.
    n_nonsense : int
        Prompts of COMPARISONS for which text is searched that the reward pays as much as real
        responses, 240 guesses each over words, pairs of words and parts of sentences; 0: none. A
        language model is asked only about what was found, and about up to 15 texts for each.

    Raises
    ------
    InputError
        If a value is outside its range.
    """

    from_classes: bool | None = None
    orders: Mapping[str, str] = field(default_factory=dict)
    store: str | Path | None = None
    n_resamples: int = 1_000
    confidence_level: float = 0.95
    seed: int = 0
    n_nonsense: int = 16

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        check_count("n_nonsense", self.n_nonsense, minimum=0)
        check_count("n_resamples", self.n_resamples, minimum=0)
        check_fraction("confidence_level", self.confidence_level)
        check_count("seed", self.seed, minimum=0)
