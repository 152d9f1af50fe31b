"""Where replies are kept: one file for several judges at once, a server, and its password."""

import asyncio
import traceback

import numpy as np
import pytest

from judging.live.live_cases import Script, asked, items_of, living, plan_of
from judging.llm.conftest import postgres_place  # noqa: F401  # a fixture
from servers.postgres import postgres_url  # noqa: F401  # a fixture
from voirdire.errors import InputError
from voirdire.judging.live.live_judge import LiveJudge


def test_two_judges_on_one_store_find_what_the_other_paid_for(tmp_path):
    script = Script()
    plan = plan_of(script)
    store = tmp_path / "replies.sqlite"

    async def work():
        async with living(plan, store=store) as first, living(plan, store=store) as second:
            await first.ask(items_of(20))
            return await second.ask(items_of(40))

    found = asyncio.run(work())

    assert found.n_stored == 20
    assert script.n_calls == 40


def test_another_judge_or_rubric_finds_nothing_of_it(tmp_path):
    script, other = Script(), Script(version="2")
    store = tmp_path / "replies.sqlite"

    asyncio.run(asked(plan_of(script), items_of(3), store=store))
    found = asyncio.run(asked(plan_of(other), items_of(3), store=store))

    assert found.n_stored == 0
    assert other.n_calls == 3


@pytest.mark.slow
def test_a_server_keeps_replies_as_a_file_does(postgres_place):  # noqa: F811
    script = Script()
    plan = plan_of(script, mode="single")

    first = asyncio.run(asked(plan, items_of(30), store=postgres_place))
    again = asyncio.run(asked(plan, items_of(30), store=postgres_place))

    assert script.n_calls == 90
    assert again.n_stored == 30
    assert np.array_equal(again.probabilities, first.probabilities)


@pytest.mark.slow
def test_a_store_that_is_not_there_is_told_at_the_start_and_without_its_password():
    place = "postgresql://ada:very-secret@127.0.0.1:1/replies"
    judge = LiveJudge(plan_of(Script()), store=place)

    with pytest.raises(InputError) as caught:
        asyncio.run(judge.start())

    assert "very-secret" not in str(caught.value)
    assert "very-secret" not in "".join(traceback.format_exception(caught.value))
