"""Asks a language model what the criteria of a file mean: faults, twins, and what is at odds."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.errors import InputError
from voirdire.io.criteria import read_criteria
from voirdire.io.declared import ItemReading
from voirdire.io.files import RowError
from voirdire.io.items import stream_items
from voirdire.judging.answering import open_if_paid
from voirdire.judging.binding import plan_judging
from voirdire.judging.call_plan import hash_item
from voirdire.judging.local.judge import BUNDLED
from voirdire.judging.run import judge_batches
from voirdire.judging.summary import RunRecord
from voirdire.models.port import RULES
from voirdire.records import Criterion
from voirdire.records.items import IS_MET
from voirdire.rubrics import load_rubric
from voirdire.studies.probing.variants import reduce_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from voirdire._types import Language
    from voirdire.io.declared import ItemLayout
    from voirdire.judging import CallSummary, JudgingProgress
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.settings import StoredReplies
    from voirdire.records import Item

PROMPTS = ("prompt", "messages", "question", "instruction", "conversation", "query")
"""Names of what the responses answer."""

_YES = 0.5
_MOST = 25
"""Criteria of one list; longer ones are parted."""

_LEAD: dict[Language, str] = {
    "en": "The response is a numbered list of criteria. Each is met by an answer to the "
    "conversation of which it is true. Is this true of the list:",
    "zh": "这条回复是一份带编号的标准清单；标准所说的对该对话的某个回答属实，即为满足。"
    "对于这份清单，这句话是否属实：",
}
_OF_ONE = {
    "fault": {
        "en": "Criterion {k} describes a fault: an answer that meets it is the worse for it.",
        "zh": "第{k}条描述的是缺点：满足它的回答因此更差。",
    },
    "two_claims": {
        "en": "Criterion {k} makes two separate claims or more: an answer can meet one of them "
        "and not another.",
        "zh": "第{k}条包含两个或更多各自独立的要求：回答可以满足其中一个而不满足另一个。",
    },
}
_OF_TWO = {
    "near_duplicate": {
        "en": "Criteria {j} and {k} ask for the same thing, in the same or in other words.",
        "zh": "第{j}条与第{k}条要求的是同一件事，措辞相同或不同。",
    },
    "contradiction": {
        "en": "Criteria {j} and {k} exclude each other: no answer can meet both.",
        "zh": "第{j}条与第{k}条互相排斥：没有回答能同时满足两条。",
    },
}
_OF_LATER = {
    "near_duplicate": {
        "en": "Criterion {k} asks for the same thing as a criterion before it, in the same or in "
        "other words.",
        "zh": "第{k}条与它前面的某一条要求的是同一件事，措辞相同或不同。",
    },
    "contradiction": {
        "en": "Criterion {k} excludes a criterion before it: no answer can meet both.",
        "zh": "第{k}条与它前面的某一条互相排斥：没有回答能同时满足两条。",
    },
}


@dataclass(frozen=True, kw_only=True)
class ModelReading:
    """What a model says of criteria.

    Attributes
    ----------
    judge : str or None
        Its name; None where none was asked.
    chances : mapping of str to (mapping of str to float)
        For ``"fault"`` and ``"two_claims"`` by text the mean probability.
    pairs : mapping of (str, str) to list
        ``"near_duplicate"`` or ``"contradiction"``, and of how many lists, of a text and an
        earlier one.
    n_lists, n_unread : int
        Lists of criteria, and those about which something has no answer.
    calls : tuple of CallSummary
        Of both rounds.
    """

    judge: str | None = None
    chances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Sequence[Any]] = field(default_factory=dict)
    n_lists: int = 0
    n_unread: int = 0
    calls: tuple[CallSummary, ...] = ()


def read_by_model(
    source: str | Path,
    layout: ItemLayout,
    *,
    judge: JudgeLike,
    settings: Mapping[str, Any],
    replies: StoredReplies,
    progress: Callable[[JudgingProgress], None] | None,
) -> ModelReading:
    """Ask about each list of criteria in one call, then about the pairs that it may hold."""
    rubric = load_rubric("criteria")
    rubric = replace(rubric, questions=(replace(rubric.questions[0], text=_LEAD),))
    named = getattr(judge, "name", judge)
    if named in (BUNDLED, RULES):
        msg = f"`judge` must be a language model, which reads criteria, got {named!r}. Name one."
        raise InputError(msg)
    plan = plan_judging(judge, rubric, settings=settings)
    bound: Any = plan.judge  # of a rubric about criteria it is a language model's
    language: Language = bound.judge.language
    make_item = partial(_list_criteria, language=language)
    reading: Any = vars(layout) | {"criteria": True, "make_item": make_item, "columns": {}}
    found = _Answers(language)

    def stream() -> Iterator[Item]:
        seen: set[bytes] = set()
        for batch in stream_items(source, reading=ItemReading(**reading)):
            for item in batch.items:
                if (key := hash_item(item)) not in seen:  # else another response to the prompt
                    seen.add(key)
                    yield item

    with open_if_paid(replies, plan) as opened:
        calls: list[CallSummary] = []
        for items, add in ((stream(), found.add_list), (found.doubtful, found.add_pairs)):
            if calls and not found.doubtful:
                break
            record = RunRecord(plan, progress)
            for item, answers in _ask(items, plan, replies=opened, record=record):
                add(item, answers)
            if (summary := record.summarize_calls()) is not None:
                calls.append(summary)
                plan = reduce_cost(plan, summary.cost or 0.0)
    return ModelReading(
        judge=plan.judge.name,
        chances={kind: {text: sum(row) / len(row) for text, row in rows.items()}
                 for kind, rows in found.chances.items()},
        pairs=found.pairs,
        n_lists=found.n_lists,
        n_unread=len(found.unread),
        calls=tuple(calls),
    )  # fmt: skip


class _Answers:
    """What a model answered, about lists and then about pairs."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self.chances: dict[str, dict[str, list[float]]] = {kind: {} for kind in _OF_ONE}
        self.pairs: dict[tuple[str, str], list[Any]] = {}
        self.doubtful: list[Item] = []
        """With the pairs that may repeat or exclude each other."""
        self.unread: set[str] = set()
        self.n_lists = 0

    def add_list(self, item: Item, answers: Sequence[float]) -> None:
        """Add what was answered about a list."""
        self.n_lists += 1
        texts = list(dict.fromkeys(each.tags[1] for each in item.criteria))
        asked: list[Criterion] = []
        for each, p in zip(item.criteria, answers, strict=True):
            kind, text = each.tags
            if math.isnan(p):
                self.unread.add(item.id)
            elif kind in _OF_ONE:
                self.chances[kind].setdefault(text, []).append(p)
            elif p >= _YES:
                k = texts.index(text)
                sentence = _OF_TWO[kind][self._language]
                asked += [
                    Criterion(text=sentence.format(j=j, k=k + 1), tags=(kind, text, earlier))
                    for j, earlier in enumerate(texts[:k], start=1)
                ]
        if asked:
            self.doubtful.append(msgspec.structs.replace(item, criteria=tuple(asked)))

    def add_pairs(self, item: Item, answers: Sequence[float]) -> None:
        """Add what was answered about pairs of a list."""
        for each, p in zip(item.criteria, answers, strict=True):
            kind, text, earlier = each.tags
            if math.isnan(p):
                self.unread.add(item.id)
            elif p >= _YES:
                self.pairs.setdefault((text, earlier), [kind, 0])[1] += 1


def _list_criteria(row: dict[str, Any], *, language: Language) -> list[dict[str, Any]]:
    """Make of the criteria of a row items, whose response is a numbered list of them."""
    try:
        _, criteria = read_criteria(row, may_repeat=True) or ("", ())
    except RowError:  # the check itself says so
        return []
    texts = list(dict.fromkeys(each.text for each in criteria))
    prompt = next((row[name] for name in PROMPTS if row.get(name)), None)
    items = []
    for start in range(0, len(texts), _MOST):
        part = texts[start : start + _MOST]
        asked = [
            {"criterion": sentence[language].format(k=k), "tags": [kind, text]}
            for k, text in enumerate(part, start=1)
            for kind, sentence in (_OF_ONE | (_OF_LATER if k > 1 else {})).items()
        ]
        listed = "\n".join(f"{k}. {text}" for k, text in enumerate(part, start=1))
        items.append({"prompt": prompt, "response": listed, "criteria": asked})
    return items


def _ask(
    items: Iterable[Item], plan: Any, *, replies: StoredReplies, record: RunRecord
) -> Iterator[tuple[Item, list[float]]]:
    """Give each item with the probabilities of its criteria; nan where there is no answer."""
    waiting: deque[Item] = deque()

    def stream() -> Iterator[Item]:
        for item in items:
            waiting.append(item)
            yield item

    for judged in judge_batches(stream(), plan, record, replies=replies):
        answers = iter(judged.probability(IS_MET).tolist())
        n_left = len(judged.items)
        while n_left:
            item = waiting.popleft()
            n_left -= len(item.criteria)
            yield item, [next(answers) for _ in item.criteria]
