"""A language model asked live says what it says in a run, and what one has paid the other has."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from judging.live.live_cases import (
    KEYS,
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
from voirdire.judging import LlmJudge, Price, judge_file, judge_items
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


def in_a_run(judge, items, rubric=RUBRIC):
    """Give what a run says of items: probabilities, behaviors and who failed."""
    batches = list(judge_items(items, judge, rubric=rubric))
    probabilities = np.concatenate([batch.probabilities for batch in batches])
    behaviors = tuple(each for batch in batches for each in batch.behaviors)
    return probabilities, behaviors


@pytest.mark.edges
@pytest.mark.parametrize(("asking", "n_calls"), list(zip(ASKED, N_CALLS, strict=True)), ids=str)
@pytest.mark.parametrize("stored", [True, False])
def test_verdicts_are_those_of_a_run(asking, n_calls, stored, tmp_path):
    script = Script()
    judge = judge_of(script, **asking)
    items = items_of(30, behavior="comply")
    store = tmp_path / "replies.sqlite" if stored else None

    found = asyncio.run(asked(judge, items, store=store))

    n_live = script.n_calls
    assert n_live == n_calls * 30
    assert found.failures == (None,) * 30
    assert found.behaviors == ("comply",) * 30
    assert np.array_equal(found.probabilities, in_a_run(judge, items)[0])
    assert script.n_calls == 2 * n_live


@pytest.mark.ci
@pytest.mark.parametrize("asking", ASKED, ids=str)
def test_what_is_stored_is_read_and_nothing_is_called(asking, tmp_path):
    script = Script()
    judge = judge_of(script, **asking)
    items = items_of(300)
    store = tmp_path / "replies.sqlite"
    first = asyncio.run(asked(judge, items, store=store))
    script.seen.clear()

    again = asyncio.run(asked(judge, items, n_times=2, store=store, remembered=0))

    assert script.n_calls == 0
    assert again.n_stored == 300
    assert np.array_equal(again.probabilities, first.probabilities)


def write_items(path, items):
    rows = [
        {"id": item.id, "prompt": item.prompt[0].content, "response": item.response}
        for item in items
    ]
    pl.DataFrame(rows).write_ndjson(path)
    return path


@pytest.mark.edges
@pytest.mark.parametrize("asking", [ASKED[0], ASKED[3], ASKED[5]], ids=str)
def test_a_run_uses_what_was_stored_live_and_the_other_way_round(asking, tmp_path):
    script = Script()
    judge = judge_of(script, **asking)
    items = items_of(20)
    source = write_items(tmp_path / "items.jsonl", items)
    store = tmp_path / "replies.sqlite"
    settings = {"rubric": RUBRIC, "judge": judge, "store": store}

    found = asyncio.run(asked(judge, items[:12], store=store))
    n_live = script.n_calls
    summary = judge_file(source, tmp_path / "out.parquet", **settings)
    n_both = script.n_calls
    live = asyncio.run(asked(judge, items, store=store))

    assert n_both == n_live // 12 * 20
    assert summary.n_reused == 12
    assert script.n_calls == n_both
    assert live.n_stored == 20
    wide = pl.read_parquet(tmp_path / "out.parquet").pivot(
        "question", index="item", values="probability", maintain_order=True
    )
    assert np.array_equal(wide.select(KEYS).to_numpy(), live.probabilities)
    assert np.array_equal(found.probabilities, live.probabilities[:12])


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


def test_calls_that_do_not_end_are_cancelled(run):
    script = Script(delay_s=1e6)

    async def work():
        loop = asyncio.get_running_loop()
        live = Live(judge_of(script, timeout_s=1e5))
        await live.start()
        waiting = asyncio.create_task(live.ask(items_of(3), deadline_s=1e6))
        await asyncio.sleep(1)
        began = loop.time()
        await live.close(drain_s=7.0)
        return await waiting, loop.time() - began

    found, took_s = run(work())

    assert found.failures == ("the judge is closed",) * 3
    assert took_s == pytest.approx(7.0, abs=0.5)


def test_a_damaged_stored_reply_is_asked_for_again(tmp_path):
    script = Script()
    judge = judge_of(script)
    store = tmp_path / "replies.sqlite"
    asyncio.run(asked(judge, items_of(1, start=5), store=store))
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE voirdire_calls SET blob = ?", (b"\x99 damaged",))
    script.seen.clear()

    found = asyncio.run(asked(judge, items_of(6), store=store))

    assert found.failures == (None,) * 6
    assert script.n_calls == 6


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


def test_many_requests_at_once_share_the_limits_of_the_judge():
    inside = Counter()

    class Watched(ScriptedModel):
        async def reply(self, request):
            inside["now"] += 1
            inside["most"] = max(inside["most"], inside["now"])
            try:
                return await super().reply(request)
            finally:
                inside["now"] -= 1

    script = Script()
    model = Watched(script.answer, delay_s=0.002)
    judge = LlmJudge(model=model, probability="stated", concurrency=5)

    async def work():
        async with living(judge) as live:
            requests = [live.ask(items_of(3, start=3 * k)) for k in range(40)]
            return await asyncio.gather(*requests)

    several = asyncio.run(work())

    assert inside["most"] == 5
    assert all(found.failures == (None,) * 3 for found in several)
    assert set(script.seen.values()) == {1}
