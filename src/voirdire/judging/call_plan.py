"""Plans the calls of an item: one for all questions, or one per question, order or sample."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.asking import Answers, Ask
from voirdire.judging.client.call import Call
from voirdire.judging.fingerprint import hash_content
from voirdire.judging.prompts import PromptBuilder, new_nonce
from voirdire.judging.reading import ReplyReader
from voirdire.records import Failure
from voirdire.records.items import as_bytes
from voirdire.rubrics.rubric import question_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.judges.llm_judge import LlmJudge
    from voirdire.models import ChatRequest
    from voirdire.records import Item
    from voirdire.rubrics import Question, Rubric

__all__ = [
    "CallPlan",
    "CallSpec",
    "draw_orders",
    "explain_calls",
    "find_asked_places",
    "hash_item",
    "limit_examples",
    "name_single_call",
    "plan_calls",
]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CallSpec:
    """One of the calls that every item needs.

    Attributes
    ----------
    name : str
        Name of the call in the store.
    ask : Ask
        Its questions.
    builder : PromptBuilder
        Makes its requests.
    reader : ReplyReader
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
    builder: PromptBuilder
    reader: ReplyReader
    places: tuple[int, ...]
    top_logprobs: int | None
    temperature: float | None
    seed: int | None

    def call(self, item: Item, *, key: bytes, nonce: str | None = None) -> Call[Answers]:
        """Make the call about one item; without a nonce every attempt draws one."""
        request = partial(self.request, item, nonce=nonce)
        return Call(
            item=key,
            name=self.name,
            request=request,
            read=self.reader.read,
            accepts=self._accepts if self.can_ask_again else None,
        )

    @property
    def can_ask_again(self) -> bool:
        """Whether questions without an answer are asked again alone."""
        return len(self.places) > 1 and self.ask.probability != "vote"

    def asks_again(self, lacking: Sequence[int]) -> bool:
        """Return whether few enough answers are lacking to ask for those alone."""
        return self.can_ask_again and 0 < len(lacking) <= max(1, len(self.places) // 4)

    def again(self, lacking: Sequence[int]) -> CallSpec:
        """Make the spec of a call with only the questions at these places."""
        questions = tuple(self.ask.questions[k] for k in lacking)
        ask = replace(self.ask, questions=questions)
        places = tuple(self.places[k] for k in lacking)
        return replace(
            self,
            name=f"{self.name}/again/{'-'.join(map(str, places))}",
            ask=ask,
            builder=PromptBuilder(ask),
            reader=ReplyReader(ask),
            places=places,
        )

    def _accepts(self, answers: Answers) -> bool:
        return self.asks_again(
            [k for k, value in enumerate(answers.values) if isinstance(value, Failure)]
        )

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
    specs : tuple of CallSpec
        The calls that verdicts are made from.
    check : CallSpec or None
        The same questions in another order, asked about the first items of a run as well.
    n_check : int
        Number of those items.
    shares_fence : bool
        Whether the calls about one item have one nonce, so that their prompts begin alike and the
        item is paid for once where a server keeps the beginning of a prompt.
    """

    specs: tuple[CallSpec, ...]
    check: CallSpec | None = None
    n_check: int = 0
    shares_fence: bool = False


def plan_calls(judge: LlmJudge, rubric: Rubric) -> CallPlan:
    """Plan the calls that a judge needs for a rubric."""
    questions = tuple(limit_examples(row, judge.shown_examples) for row in rubric.questions)
    kinds = {row.kind for row in questions}
    if not questions:
        msg = f"`rubric` must ask something, got {shorten(rubric.name)!r} without questions."
        raise InputError(msg)
    if "pairwise" in kinds and len(kinds) > 1:
        msg = (
            f"`rubric` must ask pairwise questions alone, got {shorten(rubric.name)!r} with other "
            "kinds beside them. Put them into a rubric of their own."
        )
        raise InputError(msg)
    sides = (False, True) if kinds == {"pairwise"} and judge.both_orders else (False,)
    parts: list[tuple[str, list[tuple[int, ...]]]]
    if judge.mode == "single":
        parts = [(name_single_call(row), [(place,)]) for place, row in enumerate(rubric.questions)]
    else:
        n_orders = max(judge.n_orders, 2)  # one more, for the order check
        parts = [("joint", draw_orders(len(questions), n_orders=n_orders, seed=judge.seed))]
    specs = tuple(
        _spec(judge, questions, orders, order=order, sample=sample, swapped=swapped, part=part)
        for part, orders in parts
        for order, sample in _pair_orders_with_samples(
            judge, n_orders=min(judge.n_orders, len(orders))
        )
        for swapped in sides
    )
    if not _is_checked(judge, questions):
        return CallPlan(specs=specs, shares_fence=judge.mode == "single")
    part, orders = parts[0]
    check = _spec(judge, questions, orders, order=1, sample=None, swapped=False, part=part)
    return CallPlan(specs=specs, check=check, n_check=judge.order_check)


def explain_calls(judge: LlmJudge, plan: CallPlan, *, n_items: int) -> tuple[str, ...]:
    """Explain why a run needs more calls than it has items."""
    n_questions = len({spec.places for spec in plan.specs}) if judge.mode == "single" else 1
    n_sides = len({spec.ask.swapped for spec in plan.specs})
    n_repeats = len(plan.specs) // (n_questions * n_sides)
    repeats = "samples" if judge.probability == "vote" else "orders of the questions"
    factors = [
        f"{number:,} {what}"
        for number, what in (
            (n_questions, "questions, each in a call of its own"),
            (n_repeats, repeats),
            (n_sides, "orders of the two responses"),
        )
        if number > 1
    ]
    calls = [f"{len(plan.specs):,} calls an item: {' × '.join(factors)}"] if factors else []
    if plan.check is not None and (n_checked := min(plan.n_check, n_items)):
        which = "item is" if n_checked == 1 else f"{n_checked:,} items are"
        calls.append(
            f"the first {which} asked a second time in another order of the questions, to see "
            "whether the order matters (`order_check: 0` in a file of judges asks once)"
        )
    return tuple(calls)


def name_single_call(question: Question) -> str:
    """Name a call after its question, so that editing one question repeats only its own calls."""
    return f"single/{question.id}/{hash_content(question_document(question))[7:23]}"


def draw_orders(n_questions: int, *, n_orders: int, seed: int) -> list[tuple[int, ...]]:
    """Draw different orders of questions, the rubric's own first; fewer where there are no more.

    All items have the same orders, so that servers can cache the beginning of a prompt. A longer
    list begins with the orders of a shorter one.
    """
    orders = [tuple(range(n_questions))]
    draws = np.random.default_rng([seed, n_questions])
    while len(orders) < min(n_orders, math.factorial(min(n_questions, 20))):
        drawn = tuple(int(place) for place in draws.permutation(n_questions))
        if drawn not in orders:
            orders.append(drawn)
    return orders


def find_asked_places(name: str, rubric: Rubric, *, seed: int) -> tuple[int, ...] | None:
    """Return the places of the questions that a call of this name asked, in their order."""
    first, *words = name.split("/")
    rows = rubric.questions
    if first != "joint":
        for place, row in enumerate(rows):
            if f"{name}/".startswith(f"{name_single_call(row)}/"):
                return (place,)
        return None
    if "again" in words:
        again = words[words.index("again") + 1].split("-")
        places = tuple(int(word) for word in again if word.isdecimal())
        return places if places and max(places) < len(rows) else None
    order = next((int(word[5:]) for word in words if word[:5] == "order"), 0)
    orders = draw_orders(len(rows), n_orders=order + 1, seed=seed)
    return orders[order] if order < len(orders) else None


def hash_item(item: Item) -> bytes:
    """SHA-256 of the conversation and responses that a prompt shows."""
    shown = [[row.role, row.content, *row.images] for row in item.prompt]
    return hashlib.sha256(as_bytes([shown, item.response, item.other])).digest()


def limit_examples(question: Question, n_examples: int | None) -> Question:
    """Keep `n_examples` examples of each answer; of no the last ones, which are near misses."""
    if n_examples is None:
        return question
    return replace(
        question,
        yes_examples={
            language: texts[:n_examples] for language, texts in question.yes_examples.items()
        },
        no_examples={
            language: texts[max(len(texts) - n_examples, 0) :]
            for language, texts in question.no_examples.items()
        },
    )


def _pair_orders_with_samples(judge: LlmJudge, *, n_orders: int) -> list[tuple[int, int | None]]:
    """Return pairs of an order and a sample; samples use the orders in turn."""
    if judge.probability == "vote":
        return [(sample % n_orders, sample) for sample in range(judge.n_samples)]
    return [(order, None) for order in range(n_orders)]


def _is_checked(judge: LlmJudge, questions: tuple[Question, ...]) -> bool:
    n_boolean = sum(row.kind == "boolean" for row in questions)
    joint = judge.mode == "joint" and judge.probability == "logprob" and judge.n_orders == 1
    return joint and n_boolean > 0 and len(questions) > 1 and judge.order_check > 0


def _spec(
    judge: LlmJudge,
    questions: tuple[Question, ...],
    orders: Sequence[tuple[int, ...]],
    *,
    order: int,
    sample: int | None,
    swapped: bool,
    part: str,
) -> CallSpec:
    places = orders[order]
    ask = Ask(
        questions=tuple(questions[place] for place in places),
        probability=judge.probability,
        mode=judge.mode,
        language=judge.language,
        swapped=swapped,
    )
    words = [part, f"order{order}" if order else "", "" if sample is None else f"sample{sample}"]
    words.append("swapped" if swapped else "")
    return CallSpec(
        name="/".join(word for word in words if word),
        ask=ask,
        builder=PromptBuilder(ask),
        reader=ReplyReader(ask),
        places=places,
        top_logprobs=judge.asked_logprobs,
        temperature=judge.asked_temperature,
        seed=None if sample is None else judge.seed + sample,
    )
