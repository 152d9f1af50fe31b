"""Calls, a model and a store of a few lines each, for tests in time that passes by itself."""

import asyncio
import random

from voirdire.errors import VerdictParseError
from voirdire.judging import Limits
from voirdire.judging.calls import Call, Caller, decode_attempt
from voirdire.models import Capabilities, ChatRequest
from voirdire.records import Message, Reply


def now():
    return asyncio.get_running_loop().time()


class Model:
    """Replies by an async function of the call's number, the newest first in `requests`."""

    def __init__(self, answer, *, forms=("json_schema", "json_object", "text"), delay_s=1.0):
        self.answer = answer
        self.capabilities = Capabilities(forms=forms)
        self.delay_s = delay_s
        self.name = "model"
        self.settings = {}
        self.requests = []
        self.times = []
        self.n_inside = 0
        self.most_inside = 0

    async def reply(self, request):
        n = len(self.requests)
        self.requests.append(request)
        self.times.append(now())
        self.n_inside += 1
        self.most_inside = max(self.most_inside, self.n_inside)
        try:
            await asyncio.sleep(self.delay_s)
            said = self.answer(n)
            if asyncio.iscoroutine(said):
                said = await said
        finally:
            self.n_inside -= 1
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        return Reply(text=said, form=request.form)

    async def close(self):
        pass


def read_number(reply):
    try:
        return float(reply.text)
    except ValueError:
        raise VerdictParseError(f"no number: {reply.text!r}", reply=reply) from None


def call_about(number, *, read=read_number, text="How many?"):
    """Make a call; its requests carry the number."""

    def request(form):
        message = Message(role="user", content=f"item-{number} {text}")
        return ChatRequest(messages=(message,), form=form)

    return Call(item=number.to_bytes(32, "big"), name="joint", request=request, read=read)


class Shelf:
    """A store in memory: a call that is there already stays as it is."""

    def __init__(self, *, delay_s=0.0):
        self.delay_s = delay_s
        self.kept = {}

    async def put(self, call):
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        self.kept.setdefault((call.item, call.name, call.attempt), call.blob)

    def of(self, call):
        found = sorted(
            (k[2], blob) for k, blob in self.kept.items() if k[:2] == (call.item, call.name)
        )
        assert [attempt for attempt, _ in found] == list(range(len(found)))
        return [blob for _, blob in found]

    def attempts(self, call):
        return [decode_attempt(blob) for blob in self.of(call)]


def caller_of(model, *, shelf=None, price=None, seed=0, **limits):
    commit = None if shelf is None else shelf.put
    return Caller(
        model, limits=Limits(**limits), commit=commit, price=price, rng=random.Random(seed)
    )


def script(*said):
    """Say one thing after another, the last of them for ever."""
    return lambda n: said[min(n, len(said) - 1)]


async def ends(caller, call, **options):
    return await caller.answer(call, **options), now()
