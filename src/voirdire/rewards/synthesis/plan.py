"""Everything that a synthesis depends on besides its prompts, settled before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from voirdire._types import Language
from voirdire._validation import check_choice, check_count
from voirdire.errors import InputError
from voirdire.judging.client.limits import Limits
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.judges.llm_judge import LlmJudge
from voirdire.judging.plan import asks_a_model, plan_judging
from voirdire.rewards.synthesis.recipe_reading import load_recipes
from voirdire.rewards.synthesis.writer_words import WRITER_VERSION, WRITER_WORDS

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.judging.judges.cascade import CascadeJudge
    from voirdire.judging.judges.pricing import Price
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.port import Judge
    from voirdire.models import ChatModel
    from voirdire.rewards.synthesis.recipe import Recipes
    from voirdire.rubrics import Rubric

__all__ = ["SynthesisPlan", "plan_synthesis"]

_HOTTEST = 2.0
_WARMER = 0.1
"""Every further draft is a little warmer, so that it differs where a server knows no seeds."""


@dataclass(frozen=True, kw_only=True)
class SynthesisPlan:
    """Who writes what, and who verifies it.

    Attributes
    ----------
    model : ChatModel
        Who writes.
    judging : JudgingPlan
        Who verifies, by which rubric.
    recipes : Recipes
        What each prompt gets.
    language : {"en", "zh"}
        Of the instructions.
    n_attempts : int
        Drafts per completion at most.
    seed : int
        Of draws and of drafts.
    temperature : float or None
        Of the first draft; None leaves it to the model.
    max_tokens : int or None
        Of a completion at most.
    limits : Limits
        Of the calls that write.
    price : Price or None
        What the writer's tokens cost, declared or looked up.
    """

    model: ChatModel
    judging: JudgingPlan
    recipes: Recipes
    language: Language
    n_attempts: int
    seed: int
    temperature: float | None
    max_tokens: int | None
    limits: Limits
    price: Price | None

    @property
    def rubric(self) -> Rubric:
        """What completions are judged by."""
        return self.judging.rubric

    @cached_property
    def writer_fingerprint(self) -> str:
        """Hash over everything that a draft depends on besides its prompt and task."""
        return hash_of(
            {
                "writes": WRITER_VERSION,
                "words": list(WRITER_WORDS[self.language].texts()),
                "model": dict(self.model.settings),
                "max_tokens": self.max_tokens,
            }
        )

    @property
    def described(self) -> dict[str, Any]:
        """What the store says of the writer, for people."""
        return {"name": self.model.name, "writes": "completions", "language": self.language}

    def temperature_of(self, attempt: int) -> float | None:
        """Give the temperature of an attempt, counted from 1."""
        if self.temperature is None:
            return None
        return round(min(self.temperature + _WARMER * (attempt - 1), _HOTTEST), 3)


def plan_synthesis(
    *,
    rubric: Rubric | str | Path,
    model: ChatModel | str,
    judge: Judge | LlmJudge | CascadeJudge | str | Path,
    recipes: Recipes | str | Path | None,
    language: Language,
    n_attempts: int,
    seed: int,
    temperature: float | None,
    max_tokens: int | None,
    threshold: float | None,
    limits: Limits | None,
    price: Price | None,
) -> SynthesisPlan:
    """Load what is named, and check everything; see `synthesize` for the arguments."""
    check_choice("language", language, Language)
    check_count("n_attempts", n_attempts, minimum=1)
    check_count("seed", seed, minimum=0)
    if max_tokens is not None:
        check_count("max_tokens", max_tokens, minimum=1)
    if temperature is not None and not 0 <= temperature <= _HOTTEST:
        msg = f"`temperature` must be in [0, 2], got {temperature!r}."
        raise InputError(msg)
    judging = _without_order_check(plan_judging(judge, rubric, threshold=threshold))
    bounds = Limits() if limits is None else limits
    writer = _loaded(model, bounds)
    # a judge is a model with limits and a price, and knows how to look that up
    known_price = LlmJudge(model=writer, probability="stated", price=price).known_price
    if known_price is None and bounds.max_cost is not None:
        msg = (
            f"`max_cost` needs the price of {writer.name!r}, which is not known. Declare it with "
            "`--price IN,OUT`, or as `price`."
        )
        raise InputError(msg)
    return SynthesisPlan(
        model=writer,
        judging=judging,
        recipes=load_recipes(recipes, rubric=judging.rubric),
        language=language,
        n_attempts=n_attempts,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        limits=bounds,
        price=known_price,
    )


def _loaded(model: ChatModel | str, limits: Limits) -> ChatModel:
    if not isinstance(model, str):
        return model
    from voirdire.models import load_model

    return load_model(model, timeout_s=limits.timeout_s, connections=limits.concurrency)


def _without_order_check(plan: JudgingPlan) -> JudgingPlan:
    """Ask nothing twice for the record: drafts are judged in many small runs."""
    if not asks_a_model(plan.judge):
        return plan
    asked = replace(plan.judge.judge, order_check=0)
    return replace(plan, judge=replace(plan.judge, judge=asked))
