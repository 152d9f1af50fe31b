"""Plans the calls of an item: one for all questions, or one per question or sample."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.documents import hash_content
from voirdire.errors import InputError
from voirdire.judging.asking import Ask
from voirdire.judging.calls import Call
from voirdire.judging.prompts import (
    DecisionBuilder,
    PromptBuilder,
    name_parts,
    new_nonce,
    quote_untrusted,
    read_words,
)
from voirdire.judging.reading import DecisionReader, ReplyReader
from voirdire.models.decisions import MOST_QUESTIONS
from voirdire.records import Item, Message
from voirdire.records.items import as_bytes
from voirdire.rubrics import load_rubric
from voirdire.rubrics.rubric import question_document
from voirdire.rubrics.rules import apply_rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voirdire._types import Language, Mode, ModelSource, ReplyForm
    from voirdire.judging.asking import Answer, Answers
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.models import ChatRequest
    from voirdire.records import Criterion, Failure
    from voirdire.rubrics import Question, Rubric

_MOST_CRITERIA = 50
"""Of one call."""


@dataclass(frozen=True, kw_only=True)
class CallSpec:
    """One of the calls that every item needs.

    Attributes
    ----------
    name : str
        Name of the call in the store.
    ask : Ask
        Its questions.
    builder : PromptBuilder or DecisionBuilder
        Makes its requests.
    reader : ReplyReader or DecisionReader
        Reads its replies.
    places : tuple of int
        Place in the rubric of each of its questions.
    top_logprobs, seed : int or None
        As in a `ChatRequest`.
    temperature : float or None
        As in a `ChatRequest`.
    """

    name: str
    ask: Ask
    builder: PromptBuilder | DecisionBuilder
    reader: ReplyReader | DecisionReader
    places: tuple[int, ...]
    top_logprobs: int | None
    temperature: float | None
    seed: int | None

    def call(self, item: Item, *, key: bytes, nonce: str | None = None) -> Call[Answers]:
        """Make the call about one item; without a nonce every attempt draws one."""
        request = partial(self.request, item, nonce=nonce)
        return Call(item=key, name=self.name, request=request, read=self.reader.read)

    def request(self, item: Item, form: ReplyForm, *, nonce: str | None = None) -> ChatRequest:
        """Make a request."""
        return self.builder.request(
            item,
            nonce=new_nonce() if nonce is None else nonce,
            form=form,
            top_logprobs=self.top_logprobs,
            temperature=self.temperature,
            seed=self.seed,
        )


@dataclass(frozen=True, kw_only=True)
class CallPlan:
    """The calls about every item.

    Attributes
    ----------
    questions : tuple of Question
        What they ask, all of them together, and what rules answer.
    specs : tuple of CallSpec
        The calls that verdicts are made from.
    shares_fence : bool
        Whether the calls about one item have one nonce, so that their prompts begin alike and the
        item is paid for once where a server keeps the beginning of a prompt.
    """

    questions: tuple[Question, ...]
    specs: tuple[CallSpec, ...]
    shares_fence: bool = False

    @property
    def asks_reasons(self) -> bool:
        """Whether a reason stands before each answer."""
        return any(spec.ask.reasons for spec in self.specs)

    def apply_rules(self, item: Item) -> dict[int, Answer | Failure]:
        """Answer the questions that have a rule, by their places."""
        rules = ((place, row.rule) for place, row in enumerate(self.questions))
        return {place: apply_rule(rule, item) for place, rule in rules if rule is not None}


def plan_criteria(judge: LlmJudge, rubric: Rubric, criteria: Sequence[Criterion]) -> CallPlan:
    """Plan the calls about the criteria of an item: at most 50 in one, in their order.

    The name of a call is a hash of their texts: points, tags and order change no call.
    """
    if not criteria:
        msg = f"items must bring criteria for rubric {rubric.name!r}, got one without any."
        raise InputError(f"{msg} Give it `criteria`.")
    [question] = rubric.questions
    questions = tuple(
        replace(
            question,
            id=each.key,
            rule=each.rule,
            text={
                name: f"{text} {quote_untrusted(each.text)}" for name, text in question.text.items()
            },
        )
        for each in criteria
    )
    most = 1 if judge.mode == "single" else _MOST_CRITERIA
    specs: list[CallSpec] = []
    asked = [place for place, row in enumerate(questions) if row.rule is None]
    for start in range(0, len(asked), most):
        places = tuple(asked[start : start + most])
        digest = hash_content(sorted(questions[place].id for place in places))[7:23]
        about = {"pairwise": False, "reasons": rubric.reasons}
        for spec in _plan_parts(judge, questions, {"criteria": places}, **about):
            name = spec.name.replace("criteria", f"criteria/{digest}", 1)
            specs.append(replace(spec, name=name))
    return CallPlan(questions=questions, specs=tuple(specs))


def plan_calls(judge: LlmJudge, rubric: Rubric) -> CallPlan:
    """Plan the calls that a judge needs for a rubric.

    Raises
    ------
    InputError
        If there is no question, or pairwise ones beside others.
    """
    is_pairwise = _asks_pairwise(rubric)
    questions = [limit_examples(row, judge.shown_examples) for row in rubric.questions]
    is_decision = judge.probability == "decision"
    places = [place for place, row in enumerate(questions) if row.rule is None]
    parts = {"joint": tuple(places)} if places else {}
    if is_decision and places:
        parts = _split_questions(questions, places)
    if judge.mode == "single":
        parts = {_name_single_call(rubric.questions[place]): (place,) for place in places}
    about = {"pairwise": is_pairwise, "reasons": rubric.reasons}
    specs = _plan_parts(judge, questions, parts, **about)
    return CallPlan(
        questions=rubric.questions, specs=tuple(specs), shares_fence=judge.mode == "single"
    )


def _plan_parts(
    judge: LlmJudge,
    questions: Sequence[Question],
    parts: Mapping[str, tuple[int, ...]],
    *,
    pairwise: bool,
    reasons: bool,
) -> list[CallSpec]:
    """Plan a call for each part of the questions, each sample and each order of a pair."""
    is_decision = judge.probability == "decision"
    samples = range(judge.n_samples) if judge.probability == "vote" else (None,)
    specs = []
    for (part, places), sample, swapped in product(
        parts.items(), samples, (False, True) if pairwise and judge.both_orders else (False,)
    ):
        ask = Ask(
            questions=tuple(questions[place] for place in places),
            probability=judge.probability,
            mode=judge.mode,
            language=judge.language,
            swapped=swapped,
            reasons=reasons,
        )
        words = (part, "" if sample is None else f"sample{sample}", "swapped" if swapped else "")
        specs.append(
            CallSpec(
                name="/".join(filter(None, words)),
                ask=ask,
                builder=DecisionBuilder(ask) if is_decision else PromptBuilder(ask),
                reader=make_reader(ask),
                places=places,
                top_logprobs=judge.asked_logprobs,
                temperature=judge.asked_temperature,
                seed=None if sample is None else judge.seed + sample,
            )
        )
    return specs


def _asks_pairwise(rubric: Rubric) -> bool:
    """Return whether a rubric asks pairwise questions; raise where it cannot be asked."""
    kinds = {row.kind for row in rubric.questions}
    if not kinds:
        msg = f"`rubric` must ask something, got {shorten(rubric.name)!r} without questions."
        raise InputError(msg)
    if "pairwise" in kinds and len(kinds) > 1:
        msg = (
            f"`rubric` must ask pairwise questions alone, got {shorten(rubric.name)!r} with other "
            "kinds beside them. Put them into a rubric of their own."
        )
        raise InputError(msg)
    return "pairwise" in kinds


def _split_questions(
    questions: Sequence[Question], places: Sequence[int]
) -> dict[str, tuple[int, ...]]:
    """Part the places of questions where a decision model takes no more of them in one call."""
    groups: list[list[int]] = [[]]
    n_asked = 0
    for place in places:
        n_parts = len(name_parts(questions[place]))
        n_asked += n_parts
        if n_asked > MOST_QUESTIONS and groups[-1]:
            groups.append([])
            n_asked = n_parts
        groups[-1].append(place)
    if len(groups) == 1:
        return {"joint": tuple(groups[0])}
    return {f"joint/{group[0]}-{group[-1]}": tuple(group) for group in groups}


def _name_single_call(question: Question) -> str:
    """Name a call after its question, so that editing one question repeats only its own calls."""
    return f"single/{question.id}/{hash_content(question_document(question))[7:23]}"


def find_asked_places(name: str, rubric: Rubric) -> tuple[int, ...] | None:
    """Return the places of the questions that a call of this name asked, in their order."""
    if found := re.match(r"joint(?:/(\d+)-(\d+))?", name):
        places = [place for place, row in enumerate(rubric.questions) if row.rule is None]
        first, last = (0, len(rubric.questions)) if found[1] is None else map(int, found.groups())
        return tuple(place for place in places if first <= place <= last)
    for place, row in enumerate(rubric.questions):
        if f"{name}/".startswith(f"{_name_single_call(row)}/"):
            return (place,)
    return None


def hash_item(item: Item) -> bytes:
    """SHA-256 of the conversation and responses that a prompt shows."""
    shown = [[row.role, row.content, *row.images] for row in item.prompt]
    told: list[Any] = [shown, item.response, item.other]
    if item.criteria:  # their points, tags and order say nothing to a judge
        told += [item.reference, [x.content for x in sorted(item.criteria, key=attrgetter("text"))]]
    return hashlib.sha256(as_bytes(told)).digest()


def make_reader(ask: Ask) -> ReplyReader | DecisionReader:
    """Make what reads the replies to an ask."""
    return DecisionReader(ask) if ask.probability == "decision" else ReplyReader(ask)


def limit_examples(question: Question, n_examples: int | None) -> Question:
    """Keep `n_examples` examples of each answer; of no the last ones, which are near misses."""
    if n_examples is None:
        return question
    yes, no = question.yes_examples.items(), question.no_examples.items()
    return replace(
        question,
        yes_examples={language: texts[:n_examples] for language, texts in yes},
        no_examples={language: texts[max(len(texts) - n_examples, 0) :] for language, texts in no},
    )


_NONCE = "0" * 16


def show_prompt(
    rubric: Rubric | str | Path = "safety",
    *,
    item: Item | None = None,
    mode: Mode = "joint",
    probability: ModelSource = "logprob",
    language: Language = "en",
    n_examples: int | None = None,
    form: ReplyForm = "json_schema",
) -> str:
    """Show the prompt that a language model is sent.

    Parameters
    ----------
    rubric : Rubric, str or path, optional
        What is asked.
    item : Item, optional
        What it is asked about; a placeholder by default.
    mode : {"joint", "single"}, optional
        All questions in one call, or one in each: then the first of them is shown.
    probability : {"logprob", "stated", "vote"}, optional
        Where the probability of a proposition comes from.
    language : {"en", "zh"}, optional
        Of instructions and questions.
    n_examples : int, optional
        Examples of each answer per question; by default as in `LlmJudge`.
    form : {"json_schema", "json_object", "text"}, optional
        How the model is held to the form of its reply.

    Returns
    -------
    str
        The messages, each under its role, then the JSON Schema of the reply where one is sent. The
        random code of the fence is shown as zeros.

    Examples
    --------
    >>> from voirdire.judging import show_prompt
    >>> "apology" in show_prompt("safety")
    True
    """
    asked = load_rubric(rubric)
    _asks_pairwise(asked)
    questions = tuple(row for row in asked.questions if row.rule is None) or asked.questions
    questions = questions if mode == "joint" else questions[:1]
    n_shown = 0 if n_examples is None and mode == "joint" else n_examples
    questions = tuple(limit_examples(row, n_shown) for row in questions)
    about: dict[str, Any] = {"mode": mode, "language": language, "reasons": asked.reasons}
    ask = Ask(questions=questions, probability=probability, **about)
    words = read_words(language)
    shown = item or Item(
        id="sample",
        prompt=(Message(role="user", content=words["sample_prompt"]),),
        response=words["sample_response"],
        other=words["sample_other"],
    )
    request = PromptBuilder(ask).request(shown, nonce=_NONCE, form=form)
    parts = [f"=== {message.role} ===\n{message.content}\n" for message in request.messages]
    if request.schema:
        schema = msgspec.json.format(request.schema, indent=2).decode()
        parts.append(f"=== JSON Schema of the reply ===\n{schema}\n")
    return "\n".join(parts)
