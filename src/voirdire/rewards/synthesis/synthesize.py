"""Comparisons that a language model writes, in memory."""

from __future__ import annotations

from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

from voirdire.judging.runs.outputs import SetAside
from voirdire.rewards.synthesis.plan import plan_synthesis
from voirdire.rewards.synthesis.prompt_source import PromptSource
from voirdire.rewards.synthesis.result import SynthesisResult
from voirdire.rewards.synthesis.run import SynthesisRun
from voirdire.rewards.synthesis.tally import rejected_of, row_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from voirdire._types import Language
    from voirdire.judging.client.limits import Limits
    from voirdire.judging.judges.cascade import CascadeJudge
    from voirdire.judging.judges.llm_judge import LlmJudge
    from voirdire.judging.judges.pricing import Price
    from voirdire.judging.port import Judge
    from voirdire.models import ChatModel
    from voirdire.rewards.synthesis.recipe import Recipes
    from voirdire.rewards.synthesis.result import SynthesisProgress
    from voirdire.rubrics import Rubric

__all__ = ["MAX_TOKENS", "synthesize"]

MAX_TOKENS = 1_024
"""Of a completion, where nothing else is said."""


def synthesize(
    prompts: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    model: ChatModel | str,
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
    recipes: Recipes | str | Path | None = None,
    language: Language = "en",
    n_attempts: int = 3,
    seed: int = 0,
    temperature: float | None = 1.0,
    max_tokens: int | None = MAX_TOKENS,
    threshold: float | None = None,
    behavior: str | None = None,
    store: str | Path | None = None,
    retry_failures: bool = False,
    limits: Limits | None = None,
    price: Price | None = None,
    stopping: threading.Event | None = None,
    progress: Callable[[SynthesisProgress], None] | None = None,
) -> SynthesisResult:
    """Have a model write completions of every quality for prompts, and a judge verify them.

    Each prompt gets the completions of its behavior's recipe. The model is told, proposition by
    proposition, what a completion must be like; some of that is drawn by the seed, such as the
    flaws of a bad one. The judge then answers the rubric's propositions about it. Where a trait
    that the recipe demands or drew does not hold, or the completion's class is not its label, it
    is written again, with a word about what was missed.

    Parameters
    ----------
    prompts : path, sequence of str, of Item or of mapping, or a data frame
        What is answered, each with the behavior that it deserves. A response beside a prompt is
        not looked at.
    rubric : Rubric, str or path, optional
        One with behaviors: a rubric, the name of a built-in one, or a YAML file.
    model : ChatModel or str
        Who writes, such as ``"openai/gpt-4o-mini"``. A model that declines to write flawed
        responses leaves those out.
    judge : Judge, LlmJudge, CascadeJudge, str or path, optional
        Who verifies, as for `voirdire.judge`.
    recipes : Recipes, str or path, optional
        What each prompt gets. By default the recipes that ship for the rubric, or else one
        completion of each class.
    language : {"en", "zh"}, optional
        Of the instructions; completions are in the language of their prompt.
    n_attempts : int, optional
        Drafts per completion at most, at least 1.
    seed : int, optional
        Of the draws, and of drafts where a server can repeat itself.
    temperature : float, optional
        Of a first draft, in [0, 2]; every further one is .1 warmer. None takes the model's own.
    max_tokens : int, optional
        Tokens of a completion at most; a draft that reaches it counts as cut off. None sets no
        limit, for models whose reasoning counts.
    threshold : float, optional
        In (0, 1): a proposition is true from this probability on; by default the rubric says.
    behavior : str, optional
        The behavior of prompts that have none.
    store : str or path, optional
        Where replies are kept and found again: a file for SQLite, or a ``postgresql://`` address.
        By default they are kept nowhere.
    retry_failures : bool, optional
        Whether calls that failed in an earlier run are made again.
    limits : Limits, optional
        Of the calls that write.
    price : Price, optional
        What the writer's tokens cost, where that is not known.
    stopping : threading.Event, optional
        Set it from another thread to end the run as Ctrl-C does.
    progress : callable, optional
        Told a `SynthesisProgress` a few times a second.

    Returns
    -------
    SynthesisResult
        Completions with their labels, traits and probabilities; what did not come about; counts.

    Raises
    ------
    NoDataError
        If there is no prompt of a known behavior.
    InputError
        If an argument breaks its rule, or the judge lacks a proposition of the rubric.
    ModelCallError
        If every call would fail.
    CostLimitReachedError
        If the money of `limits` is spent.

    Notes
    -----
    *Order*: by prompt, and then in the order of the recipe. *Errors*: a call without a reply
    counts as a draft that is not right; what would fail about every call ends the run.
    *Cancellation*: on Ctrl-C the calls in flight are waited for and stored; a second one does not
    wait. *Memory*: all completions; `synthesize_file` needs those of 200 prompts. *Retries and
    caching*: calls are retried within `limits`; with a store, a second run finds every draft there
    and pays for nothing twice, as long as prompts, recipes, model, seed and verdicts are the same.

    A draft is verified by the judge that will later be paid by: a completion that fools it is kept.
    Read some of them.

    Examples
    --------
    >>> from voirdire.judging import ScriptedJudge
    >>> from voirdire.models import ScriptedModel
    >>> from voirdire.rubrics import rubric_from_text
    >>> rubric = rubric_from_text('''
    ... schema: voirdire.rubric/1
    ... name: thanks
    ... version: "1"
    ... questions:
    ...   - {id: thanks, kind: boolean, text: "Does it thank the user?"}
    ... behaviors:
    ...   reply:
    ...     demands: {thanks: required}
    ...     classes: {good: thanks, bad: otherwise}
    ... ''')
    >>> model = ScriptedModel(
    ...     lambda request: "Thank you!" if "is yes" in request.messages[0].content else "Hm."
    ... )
    >>> judge = ScriptedJudge(questions=("thanks",), answer=lambda item: ["Thank" in item.response])
    >>> made = synthesize(["Hello"], rubric=rubric, model=model, judge=judge, behavior="reply")
    >>> [(row.label, row.response) for row in made.rows]
    [('good', 'Thank you!'), ('bad', 'Hm.')]
    """
    plan = plan_synthesis(
        rubric=rubric,
        model=model,
        judge=judge,
        recipes=recipes,
        language=language,
        n_attempts=n_attempts,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        threshold=threshold,
        limits=limits,
        price=price,
    )
    source = PromptSource(given=prompts, behavior=behavior)
    with _opened(store) as replies:
        run = SynthesisRun(
            plan,
            source,
            store=replies,
            set_aside=SetAside(None),
            retry_failures=retry_failures,
            stopping=stopping,
            progress=progress,
        )
        rows, rejected = [], []
        with closing(run.finished()) as groups:  # type: ignore[type-var]  # a generator
            for group in groups:
                rows += [row_of(each, plan) for each in group if each.is_done]
                rejected += [rejected_of(each) for each in group if not each.is_done]
    return SynthesisResult(rows=tuple(rows), rejected=tuple(rejected), summary=run.summary())


def _opened(store: str | Path | None) -> Any:
    if store is None:
        return nullcontext()
    from voirdire.store import open_store

    return open_store(store)
