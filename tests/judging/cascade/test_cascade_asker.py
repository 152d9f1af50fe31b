"""A cascade behind a live reward: who answers, what is late, and how it ends."""

import asyncio

import numpy as np
import pytest

from asked_models import shown_item
from clocks import put_forward, run_forward
from judging.cascade.cascade_cases import first_says, is_between, made_items, then_says
from voirdire.errors import AccessError
from voirdire.judging import LiveSettings, LlmJudge, ScriptedJudge
from voirdire.records import Item
from voirdire.rewards import LiveReward, reward_of_weights
from voirdire.testing import ScriptedModel

LATE, CLOSED = "no verdict within the deadline", "the judge is closed"

SURE, UNSURE = Item(id="sure", response="0.01 0.99 s"), Item(id="unsure", response="0.5 0.99 u")


def slow_model(delay_s):
    """Make a model that takes its time."""
    return ScriptedModel(
        lambda request: then_says(shown_item(request)["response"]), delay_s=delay_s
    )


def live_reward(cascade, rubric, *, store=None, **settings):
    reward = reward_of_weights({"refuse": {"good": 1.0}}, rubric=rubric)
    return LiveReward(reward, judge=cascade, store=store, settings=LiveSettings(**settings))


def run(cascade, rubric, ask, **settings):
    """Start a live reward, have it asked, close it, and give what came of it and its state."""

    async def whole():
        live = live_reward(cascade, rubric, **settings)
        await live.start()
        try:
            return await ask(live), live.state
        finally:
            await live.close(drain_s=10)

    return run_forward(asyncio.wait_for(whole(), timeout=6_000))


def failures(found):
    """Give by item why there is no verdict; None where there is one."""
    return tuple(found.judged.missing.get(item) for item in found.judged.items)


def test_each_answer_says_which_judge_it_is_of_remembered_or_not(cascades, rubric):
    items = made_items(60)
    judge = cascades.cascade()

    async def ask(live):
        return await live.rewards(items), await live.rewards(items)

    (first, again), _ = run(judge, rubric, ask)

    expected = tuple("scripted" if is_between(item.response) else "quick" for item in items)
    assert first.answered_by == again.answered_by == expected
    assert (first.n_remembered, again.n_remembered) == (0, 60)


def test_a_judge_alone_says_nothing_of_who_answered(cascades, rubric):
    judge = cascades.first()

    verdicts, _ = run(judge, rubric, lambda live: live.rewards([SURE]))

    assert verdicts.answered_by is None


@pytest.mark.ci
def test_where_the_second_judge_is_late_only_its_items_are(cascades, rubric):
    is_called = asyncio.Event()

    class Slow(ScriptedModel):
        async def reply(self, request):
            is_called.set()
            return await super().reply(request)

    model = Slow(lambda request: then_says(shown_item(request)["response"]), delay_s=500.0)

    async def ask(live):
        asking = asyncio.create_task(live.rewards([SURE, UNSURE], deadline_s=50.0))
        await is_called.wait()
        put_forward(51)
        late = await asking
        put_forward(500)
        return late

    verdicts, _ = run(cascades.cascade(then=LlmJudge(model=model)), rubric, ask)

    assert failures(verdicts) == (None, LATE)
    assert verdicts.judged.probabilities[0].tolist() == [0.01, 0.99]
    assert np.isnan(verdicts.judged.probabilities[1]).all()
    assert verdicts.n_late == 1
    assert verdicts.answered_by == ("quick", "scripted")  # it was asked, and may have to be paid


def test_what_comes_late_is_there_the_next_time(cascades, rubric):
    judge = cascades.cascade(then=LlmJudge(model=slow_model(0.4)))

    async def ask(live):
        first = await live.rewards([UNSURE], deadline_s=0.05)
        return first, await live.rewards([UNSURE], deadline_s=20)

    (first, second), state = run(judge, rubric, ask)

    assert failures(first) == (LATE,)
    assert failures(second) == (None,)
    assert second.judged.probabilities[0] == pytest.approx(
        list(then_says(UNSURE.response).values())
    )
    assert state.n_calls == 1


def test_what_the_first_judge_cannot_answer_goes_on(cascades, rubric):
    def answer(item):
        if item.id == "odd":
            raise ValueError(item.id)
        return first_says(item.response)

    first = ScriptedJudge(questions=("sorry", "rude"), answer=answer)
    odd, none = Item(id="odd", response="0 0 odd"), Item(id="none", response="nan 0 none")
    judge = cascades.cascade(first=first)

    verdicts, _ = run(judge, rubric, lambda live: live.rewards([SURE, odd, none]))

    assert failures(verdicts) == (None, None, None)
    assert set(cascades.asked.seen) == {"0 0 odd", "nan 0 none"}


def test_while_a_trial_is_under_way_the_first_judge_and_the_store_answer(
    cascades, rubric, tmp_path
):
    stored, unstored, sure = UNSURE, Item(id="new", response="0.5 0.5 n"), SURE
    judge = cascades.cascade()
    store = tmp_path / "replies.sqlite"
    run(judge, rubric, lambda live: live.rewards([stored]), store=store)
    asked = Item(id="trial", response="0.5 0.5 t")

    async def whole():
        is_called, may_end = asyncio.Event(), asyncio.Event()

        class Waiting(ScriptedModel):
            async def reply(self, request):
                if shown_item(request)["response"] == asked.response:
                    is_called.set()
                    await may_end.wait()
                return await super().reply(request)

        def answer(request):
            if is_broken:
                return AccessError("no")
            return then_says(shown_item(request)["response"])

        is_broken = True
        cascade = cascades.cascade(then=LlmJudge(model=Waiting(answer)))
        live = live_reward(cascade, rubric, store=store, rest_s=0.01, remembered=0)
        await live.start()
        try:
            await live.rewards([Item(id="first", response="0.5 0.5 f")])
            is_broken = False
            async with asyncio.timeout(60):
                while live.state.is_broken:  # noqa: ASYNC110  # it has no event to wait for
                    await asyncio.sleep(0.002)
                trial = asyncio.create_task(live.rewards([asked]))
                await is_called.wait()
                meanwhile = await live.rewards([stored, unstored, sure])
            may_end.set()
            return meanwhile, await trial, await live.rewards([unstored])
        finally:
            await live.close(drain_s=10)

    meanwhile, trial, after = asyncio.run(whole())

    assert failures(meanwhile) == (None, "the judge is out of order: AccessError", None)
    assert meanwhile.answered_by == ("scripted", "scripted", "quick")
    assert meanwhile.n_stored == 1
    assert failures(trial) == failures(after) == (None,)


def test_the_end_answers_everybody(cascades, rubric):
    async def whole():
        is_called = asyncio.Event()

        class Endless(ScriptedModel):
            async def reply(self, request):
                is_called.set()
                await asyncio.sleep(3_600)

        live = live_reward(cascades.cascade(then=LlmJudge(model=Endless(str))), rubric)
        await live.start()
        asking = asyncio.ensure_future(live.rewards([SURE, UNSURE]))
        await is_called.wait()
        await live.close(drain_s=0.1)
        return await asking

    verdicts = asyncio.run(asyncio.wait_for(whole(), timeout=50))

    assert failures(verdicts) == (None, CLOSED)
    assert verdicts.answered_by == ("quick", "scripted")
