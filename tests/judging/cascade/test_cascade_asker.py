"""A cascade behind a live judge: who answers, what is late, and how it ends."""

import asyncio

import numpy as np
import pytest

from asked_models import shown_item
from judging.cascade.cascade_cases import first_says, is_between, made_items, then_says
from voirdire.errors import AccessError, RefusalError
from voirdire.judging import Limits, LiveSettings, LlmJudge, ScriptedJudge
from voirdire.judging.live.answers import CLOSED, LATE, Asked
from voirdire.judging.live.cascade_asker import CascadeAsker
from voirdire.judging.live.live_judge import LiveJudge
from voirdire.judging.plan import plan_judging
from voirdire.models import ScriptedModel
from voirdire.records import Item

SURE, UNSURE = Item(id="sure", response="0.01 0.99 s"), Item(id="unsure", response="0.5 0.99 u")


def slow_model(delay_s):
    """Make a model that takes its time."""
    return ScriptedModel(
        lambda request: then_says(shown_item(request)["response"]), delay_s=delay_s
    )


def run(plan, ask, **settings):
    """Start a live judge, have it asked, close it, and give what came of it and its state."""
    store = settings.pop("store", None)

    async def whole():
        live = LiveJudge(plan, store=store, settings=LiveSettings(**settings))
        await live.start()
        try:
            return await ask(live), live.state
        finally:
            await live.close(drain_s=10)

    return asyncio.run(asyncio.wait_for(whole(), timeout=60))


def test_each_item_gets_the_answers_of_one_judge(cascades, rubric):
    items = made_items(2_500)
    plan = plan_judging(cascades.cascade(), rubric)

    async def ask(live):
        parts = [live.ask(items[start : start + 250]) for start in range(0, 2_500, 250)]
        return await asyncio.gather(*parts)

    parts, state = run(plan, ask)

    found = np.concatenate([part.probabilities for part in parts])
    expected = [
        list(then_says(item.response).values())
        if is_between(item.response)
        else first_says(item.response)
        for item in items
    ]
    assert found == pytest.approx(np.array(expected), abs=1e-9)
    assert set(cascades.asked.seen) == {i.response for i in items if is_between(i.response)}
    assert max(cascades.asked.seen.values()) == 1
    assert state.n_calls == cascades.n_asked
    assert (state.n_waiting, state.n_failures, state.is_broken) == (0, 0, False)


def test_each_answer_says_which_judge_it_is_of_remembered_or_not(cascades, rubric):
    items = made_items(60)
    plan = plan_judging(cascades.cascade(), rubric)

    async def ask(live):
        return await live.ask(items), await live.ask(items)

    (first, again), _ = run(plan, ask)

    expected = tuple("scripted" if is_between(item.response) else "quick" for item in items)
    assert first.answered_by == again.answered_by == expected
    assert (first.n_remembered, again.n_remembered) == (0, 60)


def test_a_judge_alone_says_nothing_of_who_answered(cascades, rubric):
    plan = plan_judging(cascades.first(), rubric)

    verdicts, _ = run(plan, lambda live: live.ask([SURE]))

    assert verdicts.answered_by is None


def test_it_says_the_same_as_a_run_of_a_file(cascades, rubric, tmp_path):
    items = made_items(300)
    plan = plan_judging(cascades.cascade(), rubric)
    alone = plan.judge.probabilities(items)
    cascades.asked.seen.clear()
    store = tmp_path / "replies.sqlite"

    first, _ = run(plan, lambda live: live.ask(items), store=store)
    n_asked = cascades.n_asked
    again, state = run(plan, lambda live: live.ask(items), store=store)

    assert np.array_equal(first.probabilities, alone)
    assert np.array_equal(again.probabilities, alone)
    assert cascades.n_asked == n_asked > 0
    assert state.n_calls == 0
    assert again.n_stored == sum(is_between(item.response) for item in items)


@pytest.mark.ci
def test_where_the_second_judge_is_late_only_its_items_are(cascades, rubric):
    plan = plan_judging(cascades.cascade(then=LlmJudge(model=slow_model(2.0))), rubric)

    verdicts, _ = run(plan, lambda live: live.ask([SURE, UNSURE], deadline_s=0.5))

    assert verdicts.failures == (None, LATE)
    assert verdicts.probabilities[0].tolist() == [0.01, 0.99]
    assert np.isnan(verdicts.probabilities[1]).all()
    assert verdicts.n_late == 1
    assert verdicts.answered_by == ("quick", "scripted")  # it was asked, and may have to be paid


def test_what_comes_late_is_there_the_next_time(cascades, rubric):
    plan = plan_judging(cascades.cascade(then=LlmJudge(model=slow_model(0.4))), rubric)

    async def ask(live):
        first = await live.ask([UNSURE], deadline_s=0.05)
        return first, await live.ask([UNSURE], deadline_s=20)

    (first, second), state = run(plan, ask)

    assert first.failures == (LATE,)
    assert second.failures == (None,)
    assert second.probabilities[0] == pytest.approx(list(then_says(UNSURE.response).values()))
    assert state.n_calls == 1


def test_a_call_that_fails_is_a_failure(cascades, rubric):
    cascades.says = lambda response: RefusalError("no")
    plan = plan_judging(cascades.cascade(), rubric)

    verdicts, state = run(plan, lambda live: live.ask([SURE, UNSURE]))

    assert verdicts.failures[0] is None
    assert verdicts.failures[1].startswith("refusal")
    assert np.isnan(verdicts.probabilities[1]).all()
    assert state.n_failures == 1
    assert verdicts.answered_by == ("quick", "scripted")


def test_what_the_first_judge_cannot_answer_goes_on(cascades, rubric):
    def answer(item):
        if item.id == "odd":
            raise ValueError(item.id)
        return first_says(item.response)

    first = ScriptedJudge(questions=("sorry", "rude"), answer=answer)
    odd, none = Item(id="odd", response="0 0 odd"), Item(id="none", response="nan 0 none")
    plan = plan_judging(cascades.cascade(first=first), rubric)

    verdicts, _ = run(plan, lambda live: live.ask([SURE, odd, none]))

    assert verdicts.failures == (None, None, None)
    assert set(cascades.asked.seen) == {"0 0 odd", "nan 0 none"}


def test_a_model_that_is_out_of_order_leaves_the_first_judge_at_work(cascades, rubric):
    limits = Limits(max_attempts=1)
    plan = plan_judging(cascades.cascade(then=cascades.then(limits=limits)), rubric)
    cascades.says = lambda response: {"unknown": 1.0}  # raises: what it must answer is missing

    async def ask(live):
        await live.ask([UNSURE])
        return await live.ask([SURE])

    verdicts, _ = run(plan, ask)

    assert verdicts.failures == (None,)


def test_while_a_trial_is_under_way_the_first_judge_and_the_store_answer(
    cascades, rubric, tmp_path
):
    stored, unstored, sure = UNSURE, Item(id="new", response="0.5 0.5 n"), SURE
    plan = plan_judging(cascades.cascade(), rubric)
    store = tmp_path / "replies.sqlite"
    run(plan, lambda live: live.ask([stored]), store=store)
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
        cascade = cascades.cascade(then=LlmJudge(model=Waiting(answer), order_check=0))
        settings = LiveSettings(rest_s=0.01, remembered=0)
        live = LiveJudge(plan_judging(cascade, rubric), store=store, settings=settings)
        await live.start()
        try:
            await live.ask([Item(id="first", response="0.5 0.5 f")])
            is_broken = False
            async with asyncio.timeout(60):
                while live.state.is_broken:  # noqa: ASYNC110  # it has no event to wait for
                    await asyncio.sleep(0.002)
                trial = asyncio.create_task(live.ask([asked]))
                await is_called.wait()
                meanwhile = await live.ask([stored, unstored, sure])
            may_end.set()
            return meanwhile, await trial, await live.ask([unstored])
        finally:
            await live.close(drain_s=10)

    meanwhile, trial, after = asyncio.run(whole())

    assert meanwhile.failures == (None, "the judge is out of order: AccessError", None)
    assert meanwhile.answered_by == ("scripted", "scripted", "quick")
    assert meanwhile.n_stored == 1
    assert trial.failures == after.failures == (None,)


def test_the_end_answers_everybody(cascades, rubric):
    async def whole():
        is_called = asyncio.Event()

        class Endless(ScriptedModel):
            async def reply(self, request):
                is_called.set()
                await asyncio.sleep(3_600)

        model = Endless(str)
        live = LiveJudge(plan_judging(cascades.cascade(then=LlmJudge(model=model)), rubric))
        await live.start()
        asking = asyncio.ensure_future(live.ask([SURE, UNSURE]))
        await is_called.wait()
        await live.close(drain_s=0.1)
        return await asking

    verdicts = asyncio.run(asyncio.wait_for(whole(), timeout=50))

    assert verdicts.failures == (None, CLOSED)
    assert verdicts.answered_by == ("quick", "scripted")


def test_a_closed_one_refuses_and_waits_for_nothing(cascades, rubric):
    plan = plan_judging(cascades.cascade(), rubric)

    async def whole():
        asker = CascadeAsker(plan.judge, store=None, settings=LiveSettings())
        await asker.start()
        await asker.close(drain_s=1)
        loop = asyncio.get_running_loop()
        asked = [Asked(item.content_hash(), item, loop.create_future()) for item in (SURE, UNSURE)]
        asker.submit(asked)
        return [await asyncio.wait_for(each.future, timeout=5) for each in asked], asker.state

    answers, state = asyncio.run(whole())

    assert [answer.failure for answer in answers] == [CLOSED, CLOSED]
    assert cascades.n_asked == 0
    assert state.n_waiting == 0
