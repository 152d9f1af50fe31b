"""A language model asked live says what it says in a run, and what one has paid the other has."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

import voirdire
from judging.live.live_cases import (
    RUBRIC,
    SAFETY,
    Gated,
    Live,
    Script,
    asked,
    items_of,
    judge_of,
    living,
    until,
)
from voirdire.errors import InputError, RefusalError
from voirdire.judging import LlmJudge, Price
from voirdire.records import Item, Reply, Usage
from voirdire.testing import ScriptedModel

ASKED = [
    {"probability": "stated"},
    {"probability": "logprob"},
    {"probability": "vote", "n_samples": 3},
    {"probability": "vote", "n_samples": 4},
    {"probability": "stated", "mode": "single"},
    {"probability": "logprob", "mode": "single"},
    {"probability": "vote", "mode": "single", "n_samples": 3},
]
N_CALLS = [1, 1, 3, 4, 3, 3, 9]


@pytest.mark.ci
@pytest.mark.parametrize(("asking", "n_calls"), list(zip(ASKED, N_CALLS, strict=True)), ids=str)
def test_verdicts_are_those_of_a_run_and_what_is_stored_is_read(asking, n_calls, tmp_path):
    script = Script()
    judge = judge_of(script, **asking)
    items = items_of(300, behavior="comply")
    store = tmp_path / "replies.sqlite"
    first = asyncio.run(asked(judge, items, store=store))
    n_live = script.n_calls
    run = voirdire.judge(items, judge=judge, rubric=RUBRIC, store=False)
    script.seen.clear()

    again = asyncio.run(asked(judge, items, n_times=2, store=store, remembered=0))

    assert script.n_calls == 0
    assert n_live == n_calls * 300
    assert again.n_stored == 300
    assert np.array_equal(first.probabilities, run.probabilities)
    assert np.array_equal(again.probabilities, first.probabilities)


@pytest.mark.parametrize("mode", ["joint", "single"])
def test_calls_that_are_under_way_are_waited_for_and_not_made_again(mode, run):
    script = Script(delay_s=10.0)
    judge = LlmJudge(model=script.model, probability="stated", mode=mode)
    (item,) = items_of(1)
    others = [
        Item(id="own behavior", prompt=item.prompt, response=item.response, behavior="comply"),
    ]

    async def work():
        async with living(judge, rubric=SAFETY) as live:
            first = asyncio.create_task(live.ask([item]))
            await asyncio.sleep(5)  # its calls are sent
            return await live.ask(others), await first

    later, first = run(work())

    assert (first.behaviors, later.behaviors) == ((None,), ("comply",))
    assert set(script.seen.values()) == {1}
    assert np.array_equal(later.probabilities[0], first.probabilities[0])


def test_a_call_that_fails_is_a_failure_without_the_words_of_anybody(tmp_path):
    script = Script(lambda response: RefusalError(f"I will not judge {response}"))
    script.fault = lambda response: {
        "I am item-0, judge me.": RefusalError(f"I will not judge {response}"),
        "I am item-1, judge me.": f"You said {response}",
        "I am item-2, judge me.": KeyError(response),
        "I am item-3, judge me.": f'{{"sorry": 0.5, "tone": "warm", "rude": "{response}"}}',
    }.get(response)
    judge = judge_of(script)
    items = items_of(5)
    store = tmp_path / "replies.sqlite"

    first = asyncio.run(asked(judge, items, store=store))
    again = asyncio.run(asked(judge, items, store=store))

    assert first.failures == (
        "refusal by the judge",
        "unreadable reply",
        "the judge raised KeyError",
        "unreadable reply",
        None,
    )
    assert again.failures == first.failures
    # what is stored as failed is not called again
    assert script.seen.total() == 1 + 3 + 2 + 3 + 1
    missing = np.isnan(first.probabilities)
    assert np.array_equal(missing.all(axis=1), [True, True, True, False, False])
    assert missing[3].tolist() == [False, True]  # one odd answer fails its question alone


def test_failures_that_are_stored_are_called_again_where_that_is_wanted(tmp_path):
    script = Script(lambda response: RefusalError("no"))
    judge = judge_of(script)
    store = tmp_path / "replies.sqlite"
    asyncio.run(asked(judge, items_of(2), store=store))
    script.fault = lambda response: None

    still = asyncio.run(asked(judge, items_of(2), store=store))
    mended = asyncio.run(asked(judge, items_of(2), store=store, retry_failures=True))

    assert still.failures == ("refusal by the judge",) * 2
    assert mended.failures == (None, None)
    assert set(script.seen.values()) == {2}


def test_one_question_without_an_answer_leaves_the_others_theirs():
    script = Script()
    refused = RefusalError("no")
    model = ScriptedModel(
        lambda request: refused if b"rude" in request.schema else script.answer(request)
    )
    judge = LlmJudge(model=model, probability="stated", mode="single")

    found = asyncio.run(asked(judge, items_of(1)))

    assert np.isnan(found.probabilities[0]).tolist() == [False, True]
    assert found.failures == ("refusal by the judge",)


def test_first_come_first_served(run):
    script = Script(delay_s=1.0)
    judge = judge_of(script, concurrency=1)

    async def work():
        async with living(judge) as live:
            await asyncio.gather(live.ask(items_of(1)), live.ask(items_of(9, start=1)))

    run(work())

    assert [response for response, _ in script.seen] == [item.response for item in items_of(10)]


def test_what_is_late_and_asked_for_again_is_begun(run):
    script = Script(delay_s=3.0)
    judge = judge_of(script, concurrency=1, timeout_s=10.0)

    async def work():
        async with living(judge) as live:
            late = await live.ask(items_of(20), deadline_s=1.0)
            await asyncio.sleep(1)
            return late, await live.ask(items_of(20), deadline_s=1_000.0)

    late, again = run(work())

    assert late.n_late == 20
    assert again.failures == (None,) * 20
    assert set(script.seen.values()) == {1}


def test_calls_in_flight_at_the_end_are_waited_for_and_stored(tmp_path):
    script = Script()
    model = script.model = Gated(script.answer)
    judge = judge_of(script, concurrency=4)
    store = tmp_path / "replies.sqlite"

    async def work():
        live = Live(judge, store=store)
        await live.start()
        waiting = asyncio.create_task(live.ask(items_of(20)))
        await until(lambda: model.n_inside == 4)
        closing = asyncio.create_task(live.close(drain_s=60.0))
        await asyncio.sleep(0)  # it has begun
        assert not closing.done()
        model.gate.set()
        await closing
        return await waiting

    found = asyncio.run(work())
    again = asyncio.run(asked(judge, items_of(20), store=store))

    assert found.failures.count(None) == 4
    assert set(found.failures) == {None, "the judge is closed"}
    assert again.n_stored == 4
    assert set(script.seen.values()) == {1}


def test_costs_add_up_and_are_unknown_without_a_price():
    def answer(request):
        text = '{"sorry": 0.5, "tone": "warm", "rude": 0.5}'
        return Reply(text=text, usage=Usage(1_000_000, 1_000_000))

    model = ScriptedModel(answer)
    priced = LlmJudge(model=model, probability="stated", price=Price(input=1.0, output=2.0))
    unpriced = LlmJudge(model=model, probability="stated")

    async def state(judge):
        async with living(judge) as live:
            await live.ask(items_of(4))
            return live.state

    assert asyncio.run(state(priced)).cost == pytest.approx(12.0)
    assert asyncio.run(state(priced)).n_calls == 4
    assert asyncio.run(state(unpriced)).cost is None


def test_mistakes_of_setup_are_told_before_anything_is_asked(tmp_path):
    unpriced = judge_of(Script(), max_cost=1.0)
    pair = replace(RUBRIC.questions[1], id="better", kind="pairwise", labels={})
    mixed = replace(RUBRIC, questions=(*RUBRIC.questions, pair))
    folder = tmp_path / "nowhere" / "replies.sqlite"

    with pytest.raises(InputError, match="`max_cost` needs the price of"):
        Live(unpriced)
    with pytest.raises(InputError, match="`rubric` must ask pairwise questions alone"):
        Live(judge_of(Script()), rubric=mixed)
    with pytest.raises(InputError, match="the store cannot be used"):
        asyncio.run(Live(judge_of(Script()), store=folder).start())


def test_a_judge_whose_store_could_not_be_opened_may_be_started_again(tmp_path):
    judge_store = tmp_path / "later" / "replies.sqlite"
    judge = judge_of(Script())

    async def work():
        live = Live(judge, store=judge_store)
        with pytest.raises(InputError):
            await live.start()
        judge_store.parent.mkdir()
        await live.start()
        found = await live.ask(items_of(2))
        await live.close()
        return found

    assert asyncio.run(work()).failures == (None, None)
