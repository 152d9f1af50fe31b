"""What an engine promises to those who ask it at once, with a deadline, or in vain."""

import asyncio
import contextlib

import pytest

from asked_models import make_items, shown_item
from clocks import put_forward, run_forward
from judging.live.live_cases import until
from voirdire.errors import AccessError, RefusalError
from voirdire.judging import CascadeJudge, LiveSettings, LlmJudge, ScriptedJudge
from voirdire.judging.binding import plan_judging
from voirdire.judging.engine import LATE, make_engine
from voirdire.judging.settings import StoredReplies
from voirdire.store import open_store
from voirdire.testing import ScriptedModel

SAID = {"sorry": 0.75, "rude": 0.25}
LIVE = LiveSettings()
ITEMS = make_items(20)
OUT_OF_ORDER = "the judge is out of order: AccessError"


class Held(ScriptedModel):
    """A model that lists the responses it is asked about, and holds each call by a gate.

    Attributes
    ----------
    fault : callable
        Takes a request and gives an error, or None.
    """

    def __init__(self, fault=lambda request: None, *, is_open=True):
        super().__init__(lambda request: fault(request) or SAID)
        self.gate, self.asked, self.requests, self.adaptations = asyncio.Event(), [], [], []
        if is_open:
            self.gate.set()

    async def reply(self, request):
        self.requests.append(request)
        self.asked.append(shown_item(request)["response"])
        await self.gate.wait()
        return await super().reply(request)


def judge_of(model, **settings):
    return LlmJudge(model=model, **{"probability": "stated"} | settings)


@contextlib.asynccontextmanager
async def begun(judge, rubric, *, store=None, live=None):
    engine = make_engine(plan_judging(judge, rubric), StoredReplies(store), live=live)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close(drain_s=0.0)


def ask(run, judge, rubric, *, items=ITEMS, deadline_s=None, live=None):
    """Ask about items; give the reason of each failure, None for an answer, and how it went."""

    async def work():
        async with begun(judge, rubric, live=live) as engine:
            found = reasons(await engine.ask(items, deadline_s=deadline_s))
            return found, (engine.counts, engine.state.is_broken)

    return run(work())


def reasons(verdicts):
    return [verdict.failures[0][1].reason if verdict.failures else None for verdict in verdicts]


def failed(found):
    return [row for row, why in enumerate(found) if why]


def number(request):
    return int(shown_item(request)["response"].split()[-1])


# Those who ask at once ------------------------------------------------------------------------


def test_an_item_that_another_finishes_while_the_store_is_read_is_not_asked_again(
    rubric, tmp_path, monkeypatch
):
    model = Held(is_open=False)

    async def work(store):
        is_read, may_go_on = asyncio.Event(), asyncio.Event()
        read = store.aget

        async def read_slowly(*keys):
            found = await read(*keys)
            is_read.set()
            await may_go_on.wait()
            return found

        async with begun(judge_of(model), rubric, store=store) as engine:
            first = asyncio.create_task(engine.ask(ITEMS[:1]))
            await until(lambda: model.asked)
            monkeypatch.setattr(store, "aget", read_slowly)
            second = asyncio.create_task(engine.ask(ITEMS[:2]))
            await is_read.wait()
            model.gate.set()
            found = await first
            may_go_on.set()
            return found, await second

    with open_store(tmp_path / "replies.sqlite") as store:
        first, second = asyncio.run(work(store))

    assert model.asked == ["answer 0", "answer 1"]
    assert [verdict.values for verdict in [*first, *second]] == [(0.75, 0.25)] * 3


@pytest.mark.parametrize("live", [None, LIVE], ids=["run", "live"])
@pytest.mark.parametrize("is_sent", [True, False], ids=["sent", "waiting"])
def test_who_is_cancelled_takes_no_call_from_others(run, rubric, live, is_sent):
    model = Held(is_open=False)

    async def work():
        async with begun(judge_of(model, concurrency=1), rubric, live=live) as engine:
            before = [] if is_sent else ITEMS[2:3]  # its call is in flight alone
            others = asyncio.create_task(engine.ask(before))
            leaves = asyncio.create_task(engine.ask(ITEMS[:2]))
            stays = asyncio.create_task(engine.ask(ITEMS[:1]))
            await until(lambda: model.asked)
            leaves.cancel()
            await asyncio.wait([leaves])
            model.gate.set()
            await others
            return await stays

    (verdict,) = run(work())

    assert verdict.values == (0.75, 0.25)
    assert model.asked == [*([] if is_sent else ["answer 2"]), "answer 0"]  # of 1 nobody knows


# With a deadline ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "told", "of_other"),
    [
        (RefusalError("no"), "refusal by the judge", LATE),
        (AccessError("no key", status=401), OUT_OF_ORDER, OUT_OF_ORDER),
        (ZeroDivisionError(), "the judge raised ZeroDivisionError", LATE),
    ],
    ids=repr,
)
def test_an_error_before_the_deadline_is_told_as_it_is(run, rubric, error, told, of_other):
    class Broken(Held):
        async def reply(self, request):
            if number(request) == 0:
                raise error
            return await super().reply(request)

    judge = judge_of(Broken(is_open=False))

    found, _ = ask(run, judge, rubric, items=ITEMS[:2], deadline_s=5.0, live=LIVE)

    assert found[0].startswith(told)
    assert found[1] == of_other
    if not isinstance(error, RefusalError):  # in a run it concerns every item
        with pytest.raises(type(error)):
            ask(run, judge, rubric, items=ITEMS[:2], deadline_s=5.0)


def test_the_second_judge_of_a_cascade_gets_what_is_left_of_the_deadline(rubric):
    model = Held(is_open=False)

    async def work():
        loop = asyncio.get_running_loop()

        def take_40_s(item):
            loop.ahead_s += 40
            return [0.5, 0.5]

        first = ScriptedJudge(name="quick", questions=rubric.propositions, answer=take_40_s)
        judge = CascadeJudge(first=first, then=judge_of(model), unsure=(0.1, 0.9))
        async with begun(judge, rubric, live=LIVE) as engine:
            asking = asyncio.create_task(engine.ask(ITEMS[:1], deadline_s=100.0))
            await until(lambda: model.asked, seconds=300)
            put_forward(30)
            await asyncio.sleep(0.01)
            is_early = asking.done()
            put_forward(40)
            return is_early, await asking

    is_early, (verdict,) = run_forward(work())

    assert not is_early
    assert reasons([verdict]) == [LATE]
    assert verdict.answered_by == "scripted"


# In vain --------------------------------------------------------------------------------------


def refusing(numbers, status):
    """Make a model that has no access to some items."""

    def fault(request):
        return AccessError("no", status=status) if number(request) in numbers else None

    return Held(fault)


@pytest.mark.parametrize(("status", "refused"), [(401, [2, 3, 5, 6]), (403, [0])])
def test_a_key_that_is_refused_now_and_then_fails_its_items_alone(run, rubric, status, refused):
    judge = judge_of(refusing(refused, status), concurrency=1)

    found, _ = ask(run, judge, rubric)

    assert failed(found) == refused


@pytest.mark.parametrize(
    ("status", "refused", "n_calls"), [(401, (2, 3, 4), 5), (403, (0, 1, 2), 3), (404, (0,), 1)]
)
def test_a_key_that_is_refused_three_times_in_a_row_or_at_first_ends_a_run(
    run, rubric, status, refused, n_calls
):
    model = refusing(refused, status)

    with pytest.raises(AccessError):
        ask(run, judge_of(model, concurrency=1), rubric)

    assert len(model.asked) == n_calls
