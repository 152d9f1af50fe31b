"""Settings of a synthesis, besides its model, judge, rubric and recipes."""

from __future__ import annotations

from dataclasses import dataclass

from voirdire._types import Language
from voirdire._validation import check_choice, check_count
from voirdire.io.declared import ItemLayout
from voirdire.judging.settings import ReplySettings

__all__ = ["SynthesisSettings"]


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
