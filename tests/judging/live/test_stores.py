"""Where replies are kept: one file for several judges at once, a server, and its password."""

import asyncio
import traceback

import numpy as np
import pytest

from judging.live.live_cases import Live, Script, asked, items_of, judge_of, living, until
from judging.llm.conftest import postgres_place  # noqa: F401  # a fixture
from servers.postgres import postgres_url  # noqa: F401  # a fixture
from voirdire.errors import InputError


@pytest.mark.ci
def test_one_stored_item_does_not_wait_for_thousands(tmp_path):
    judge, store = judge_of(Script()), tmp_path / "replies.sqlite"
    items = items_of(3_000)
    asyncio.run(asked(judge, items, store=store))

    async def together():
        async with living(judge, store=store) as live:
            all_of_them = asyncio.create_task(live.ask(items[1:]))
            await until(lambda: live.state.n_waiting > 0)
            one = await live.ask(items[:1])
            is_before = not all_of_them.done()
            return one, is_before, await all_of_them

    one, is_before, many = asyncio.run(together())

    assert (one.n_stored, many.n_stored) == (1, 2_999)
    assert is_before


@pytest.mark.slow
def test_a_server_keeps_replies_as_a_file_does(postgres_place):  # noqa: F811
    script = Script()
    judge = judge_of(script, mode="single")

    first = asyncio.run(asked(judge, items_of(30), store=postgres_place))
    again = asyncio.run(asked(judge, items_of(30), store=postgres_place))

    assert script.n_calls == 90
    assert again.n_stored == 30
    assert np.array_equal(again.probabilities, first.probabilities)


@pytest.mark.slow
def test_a_store_that_is_not_there_is_told_at_the_start_and_without_its_password():
    place = "postgresql://ada:very-secret@127.0.0.1:1/replies"
    live = Live(judge_of(Script()), store=place)

    with pytest.raises(InputError) as caught:
        asyncio.run(live.start())

    assert "very-secret" not in str(caught.value)
    assert "very-secret" not in "".join(traceback.format_exception(caught.value))
