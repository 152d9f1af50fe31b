"""Settings of comparisons, of runs that score a file or a training run, and of a synthesis."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # the command line reads the types
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from voirdire._types import Judged, Language, Threshold
from voirdire._validation import check_choice, check_count
from voirdire.io.declared import ItemColumn, ItemLayout
from voirdire.judging.settings import ReplySettings, RunSettings

ComparisonColumn: TypeAlias = Literal[
    "label",
    "base_reward",
    "split",
    "margin",
    "chosen_base_reward",
    "rejected_base_reward",
]
"""Our names for the columns of comparisons that items do not have."""


@dataclass(frozen=True, kw_only=True)
class ComparisonLayout(ItemLayout):
    """How comparisons are read, where the file does not show it.

    Attributes
    ----------
    columns : mapping of str to str, or None
        Your name for a column, as OURS=YOURS (id, prompt, response, messages, system, context,
        label, chosen, rejected, preferred, chosen_base_reward, rejected_base_reward, margin,
        ranked, behavior, group, split); repeatable.
    base : str or None
        Column of the base reward. Default: base_reward, where there is one.
    contradictions : {"keep", "drop"}
        Whether a comparison counts where another one says the opposite, as in a crowd.

    Raises
    ------
    InputError
        If one of them breaks its rule, or one of `voirdire.io.ItemLayout`.
    """

    columns: Mapping[str, str] | None = None
    base: str | None = None
    contradictions: Literal["keep", "drop"] = "keep"

    known_columns: ClassVar[tuple[str, ...]] = (*get_args(ItemColumn), *get_args(ComparisonColumn))

    def __post_init__(self) -> None:
        """Check what can be checked without the file."""
        super().__post_init__()
        check_choice("contradictions", self.contradictions, Literal["keep", "drop"])


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
        super().__post_init__()
        check_choice("judged", self.judged, Judged)


@dataclass(frozen=True, kw_only=True)
class ScoringSettings(RunSettings):
    """How the items of a file are scored.

    Attributes
    ----------
    base : str or None
        Column of the base reward, which is added. Default: base_reward, where the reward was
        fitted beside one.
    explain : bool
        Add a column per feature: what it adds to the reward.
    center : bool
        Take off the mean that each behavior's rule rewards had in the fit, so that behaviors
        compare.
    other_judge : bool
        Allow another judge than the weights were fitted on; certificates do not hold for it.

    Raises
    ------
    InputError
        If a field of `voirdire.io.ItemLayout` or `workers` breaks its rule.
    """

    base: str | None = None
    explain: bool = False
    center: bool = False
    other_judge: bool = False


@dataclass(frozen=True, kw_only=True)
class SynthesisSettings(ReplySettings, ItemLayout):
    """How completions are written, verified and kept.

    Attributes
    ----------
    language : {"en", "zh"}
        Of the instructions.
    seed : int
        Of what is drawn; another one writes everything anew.
    temperature : float or None
        Of first drafts, in [0, 2]; each further one is .1 warmer.
    max_tokens : int or None
        Tokens of a completion at most.
    n_attempts : int
        Drafts per completion at most.
    threshold : float or None
        A proposition is true from this probability on. Default: what the rubric says, else the
        judge, else 0.5.

    Raises
    ------
    InputError
        If one of them breaks its rule, or one of `voirdire.io.ItemLayout`.
    """

    language: Language = "en"
    seed: int = 0
    temperature: float | None = 1.0
    max_tokens: int | None = 1_024
    n_attempts: int = 3
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a model."""
        super().__post_init__()
        check_choice("language", self.language, Language)
        check_count("n_attempts", self.n_attempts, minimum=1)
        if self.max_tokens is not None:
            check_count("max_tokens", self.max_tokens, minimum=1)
