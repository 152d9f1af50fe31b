"""Judges whose every answer is known beforehand, and items to ask them about."""

import asyncio
import json
import random
from collections import Counter
from contextlib import asynccontextmanager
from types import SimpleNamespace

from asked_models import shown_item
from voirdire.errors import ModelCallError
from voirdire.judging import LiveSettings, LlmJudge
from voirdire.records import Item, Message
from voirdire.rewards import LiveReward, reward_of_weights
from voirdire.rubrics import load_rubric, rubric_from_text
from voirdire.testing import ScriptedModel

LATE = "no verdict within the deadline"
CLOSED = "the judge is closed"
TOO_MANY = "too many items wait for the judge"

RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold]}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  comply: {demands: {sorry: required}, classes: {good: all(required), poor: otherwise}}
  decline: {demands: {rude: undesired}, classes: {good: not rude, poor: otherwise}}
"""
)
KEYS = ("sorry", "rude")
SAFETY = load_rubric("safety")


def probability(response, key, salt=""):
    """Give every response and question a probability of its own."""
    return round(random.Random(f"{response}/{key}/{salt}").random(), 6)


class Script:
    """A model that answers from the response alone, counts, waits and fails as it is told.

    Attributes
    ----------
    seen : Counter
        Calls, by response and the keys that were asked.
    fault : callable
        Takes the response and gives an error to raise, a text to say, or None.
    """

    def __init__(self, fault=lambda response: None, **settings):
        self.fault = fault
        self.seen = Counter()
        self.model = ScriptedModel(self.answer, **settings)

    def answer(self, request):
        shown = shown_item(request)
        asked = json.loads(request.schema)["properties"]
        response = shown.get("response", shown.get("response_a"))
        self.seen[response, tuple(asked)] += 1
        fault = self.fault(response)
        if isinstance(fault, BaseException) and not isinstance(fault, ModelCallError):
            raise fault
        if fault is not None:
            return fault
        salt = f"{request.seed}/{next(iter(asked))}"  # another sample or order, another answer
        return {key: value_of(response, key, form, salt) for key, form in asked.items()}

    @property
    def n_calls(self):
        return self.seen.total()


def value_of(response, key, form, salt):
    return form["enum"][0] if "enum" in form else probability(response, key, salt)


class Gated(ScriptedModel):
    """A model whose calls wait until the gate is opened.

    Attributes
    ----------
    gate : asyncio.Event
        Opened by `set`.
    n_inside : int
        How many calls were begun.
    """

    def __init__(self, answer, **settings):
        super().__init__(answer, **settings)
        self.gate = asyncio.Event()
        self.n_inside = 0

    async def reply(self, request):
        self.n_inside += 1
        await self.gate.wait()
        return await super().reply(request)


def items_of(n_items, *, start=0, behavior=None, n_prompts=5):
    return [
        Item(
            id=f"i{number}",
            prompt=(Message(role="user", content=f"question {number % n_prompts}"),),
            response=f"I am item-{number}, judge me.",
            behavior=behavior,
        )
        for number in range(start, start + n_items)
    ]


def judge_of(script, **asking):
    """Make a judge of a script."""
    return LlmJudge(model=script.model, **{"probability": "stated"} | asking)


class Live:
    """A live reward of which only the verdicts count here."""

    def __init__(self, judge, *, rubric=RUBRIC, store=None, **settings):
        weights = {rubric.behaviors[0].id: {rubric.propositions[0]: 1.0}}
        self._reward = LiveReward(
            reward_of_weights(weights, rubric=rubric),
            judge=judge,
            store=store,
            settings=LiveSettings(**settings),
        )
        self.start, self.close = self._reward.start, self._reward.close

    @property
    def state(self):
        return self._reward.state

    async def ask(self, items, *, deadline_s=None):
        found = await self._reward.rewards(items, deadline_s=deadline_s)
        return SimpleNamespace(
            probabilities=found.judged.probabilities,
            behaviors=found.judged.behaviors,
            failures=tuple([found.judged.missing.get(item.id) for item in items]),
            n_remembered=found.n_remembered,
            n_stored=found.n_stored,
            n_late=found.n_late,
        )


@asynccontextmanager
async def living(judge, *, drain_s=5.0, **settings):
    """Start a judge, and close it."""
    live = Live(judge, **settings)
    await live.start()
    try:
        yield live
    finally:
        await live.close(drain_s=drain_s)


async def asked(judge, items, *, n_times=1, **settings):
    """Ask about the same items as often as wanted; give what came the last time."""
    async with living(judge, **settings) as live:
        for _ in range(n_times):
            found = await live.ask(items)
    return found


async def until(condition, *, seconds=60.0):
    """Wait for something to happen, for so long at most."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # it has no event to wait for
            await asyncio.sleep(0.002)
