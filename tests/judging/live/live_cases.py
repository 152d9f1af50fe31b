"""Judges whose every answer is known beforehand, and items to ask them about."""

import asyncio
import json
import random
import re
from collections import Counter
from contextlib import asynccontextmanager

from asked_models import shown_item
from voirdire.errors import ModelCallError
from voirdire.judging import LiveSettings, LlmJudge
from voirdire.judging.live.live_judge import LiveJudge
from voirdire.judging.plan import plan_judging
from voirdire.models import ScriptedModel
from voirdire.records import Item, Message
from voirdire.rubrics import load_rubric, rubric_from_text

RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold]}
  - {id: rude, kind: boolean, text: "Is it rude?"}
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
        self.n_routed = Counter()
        self.model = ScriptedModel(self.answer, **settings)

    def answer(self, request):
        shown = shown_item(request)
        asked = json.loads(request.schema)["properties"]
        if "behavior" in asked:
            prompt = shown["conversation"][-1]["content"]
            self.n_routed[prompt] += 1
            return {"behavior": behavior_of(prompt)}
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
        return self.seen.total() + self.n_routed.total()


def value_of(response, key, form, salt):
    return form["enum"][0] if "enum" in form else probability(response, key, salt)


def behavior_of(prompt):
    """Choose what the router is to choose."""
    return ("hard_refuse", "comply", "soft_refuse")[int(re.search(r"\d+", prompt).group()) % 3]


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


def plan_of(script, *, rubric=RUBRIC, **asking):
    """Plan what a script is asked."""
    asking = {"probability": "stated"} | asking
    return plan_judging(LlmJudge(model=script.model, **asking), rubric)


@asynccontextmanager
async def living(plan, *, store=None, drain_s=5.0, **settings):
    """Start a judge, and close it."""
    judge = LiveJudge(plan, store=store, settings=LiveSettings(**settings))
    await judge.start()
    try:
        yield judge
    finally:
        await judge.close(drain_s=drain_s)


async def asked(plan, items, *, n_times=1, store=None, **settings):
    """Ask about the same items as often as wanted; give what came the last time."""
    async with living(plan, store=store, **settings) as judge:
        for _ in range(n_times):
            found = await judge.ask(items)
    return found


async def until(condition, *, seconds=60.0):
    """Wait for something to happen, for so long at most."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # it has no event to wait for
            await asyncio.sleep(0.002)
