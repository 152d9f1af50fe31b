"""A bound on items: what is taken, what is refused, and what is said about when to come again."""

import asyncio
import threading

from web.in_process import NumberJudge, begun

SAID = {"response": "0 0 1", "behavior": "chat"}


def waiting_items(n_items):
    """Make items that the judge waits for, each of them another one."""
    return [{"response": "wait", "prompt": str(n), "behavior": "chat"} for n in range(n_items)]


class Waiting:
    """An application whose judge waits where it is told to, and what waits for it."""

    def __init__(self, app, may_go):
        self.app, self.may_go = app, may_go
        self.tasks = []

    async def hold(self, n_items):
        """Let so many items wait for the judge."""
        before = await self.under_way()
        task = asyncio.create_task(self.app.post(waiting_items(n_items)))
        self.tasks.append(task)
        while await self.under_way() < before + n_items:  # only figures tell
            assert not task.done()
            await asyncio.sleep(0)

    async def under_way(self):
        return (await self.app.figures())["voirdire_items_under_way",]

    async def let_go(self):
        self.may_go.set()
        return [(await task).status for task in self.tasks]


def run(work, *, queue=10, **settings):
    async def begin():
        may_go = threading.Event()
        judge = NumberJudge(waiting=may_go)
        async with begun(judge, queue=queue, **settings) as app:
            waiting = Waiting(app, may_go)
            try:
                return await work(waiting)
            finally:
                await waiting.let_go()

    return asyncio.run(begin())


def told(answer):
    assert answer.status == 503
    return answer.code, int(answer.headers["retry-after"])


def test_items_are_taken_up_to_the_bound_and_have_places_again():
    async def work(waiting):
        await waiting.hold(7)
        await waiting.hold(3)
        refused = await waiting.app.post([SAID])
        answered = await waiting.let_go()
        return refused, answered, await waiting.app.post([SAID] * 10)

    refused, answered, again = run(work)

    assert told(refused) == ("queue_full", 2)
    assert answered == [200, 200]
    assert again.status == 200


def test_items_that_still_wait_for_the_judge_take_places():
    """Their requests were answered without them; the judge is as busy all the same."""

    async def work(waiting):
        late = await waiting.app.post(waiting_items(8), deadline_s=0.01)
        fits = await waiting.app.post([SAID] * 2, deadline_s=0.01)
        return late, fits, await waiting.app.post([SAID] * 3)

    late, fits, refused = run(work)

    assert late.json["n_late"] == 8
    assert fits.status == 200
    assert told(refused)[0] == "queue_full"


def openrlhf(app):
    return app.ask("POST", "/openrlhf", {"query": ["a0 0 1"], "prompts": ["a"], "labels": ["chat"]})


def test_openrlhf_gets_a_place_once_there_is_one():
    async def work(waiting):
        await waiting.hold(10)
        asking = asyncio.create_task(openrlhf(waiting.app))
        await asyncio.sleep(0.01)
        assert not asking.done()
        await waiting.let_go()
        return await asking

    answer = run(work)

    assert answer.json["extra_logs"]["missing"] == [0.0]


def test_openrlhf_gets_numbers_where_it_waited_too_long():
    """The judge is left behind after two deadlines; until then its items keep their places."""

    async def work(waiting):
        await waiting.hold(10)
        return await openrlhf(waiting.app), await waiting.app.figures()

    answer, figures = run(work, live={"deadline_s": 0.1})

    assert (answer.status, answer.json["rewards"]) == (200, [0.5])  # the mean
    assert figures["voirdire_rewards_missing_total", "no_place"] == 1
