"""Two thousand clients at once: every reward that is given is the right one."""

import asyncio
import resource

import aiohttp
import pytest

from voirdire.records import Item, Message
from voirdire.testing import golden_judge, golden_reward
from web.served import odd

pytestmark = pytest.mark.slow

N_CLIENTS, N_REQUESTS, N_ITEMS = 2_000, 3, 4
OPENINGS = ("I'm sorry", "No, stupid", "Don't be silly", "I regret", "Nothing to say")


def item(number):
    """One of 5,000 items, so that clients ask about the same ones at the same time."""
    number %= 5_000
    return {
        "prompt": f"Where is number{number % 13}?",
        "response": f"{OPENINGS[number % 5]}, number{number % 7}, told you {number} times.",
        "behavior": ("refuse", "chat")[number % 2],
    }


@pytest.fixture(scope="module")
def right():
    """Give the rewards of all items, by the library alone."""
    rows = [item(number) for number in range(5_000)]
    items = [
        Item(
            id=str(number),
            prompt=(Message(role="user", content=row["prompt"]),),
            response=row["response"],
            behavior=row["behavior"],
        )
        for number, row in enumerate(rows)
    ]
    return golden_reward().score(items, judge=golden_judge()).rewards.tolist()


@pytest.fixture
def many_files():
    """Let this process hold as many connections as it needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * N_CLIENTS + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"the system allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, soft), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def client(session, number, right):
    """Ask some times; give the statuses, and what was wrong."""
    statuses, wrong = [], []
    for request in range(N_REQUESTS):
        chosen = [(number * 7 + request * 31 + place * 997) % 5_000 for place in range(N_ITEMS)]
        asked = {"items": [item(one) | {"id": one} for one in chosen]}
        async with session.post("/v1/rewards", json=asked) as answer:
            statuses.append(answer.status)
            found = await answer.json()
            if answer.status == 503:
                assert int(answer.headers["Retry-After"]) >= 1
                assert found["error"]["code"] == "queue_full"
            elif found["rewards"] != [right[one] for one in chosen] or found["ids"] != chosen:
                wrong.append((chosen, found))
    return statuses, wrong


async def all_clients(url, right):
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as session:
        return await asyncio.gather(
            *(client(session, number, right) for number in range(N_CLIENTS))
        )


@pytest.mark.parametrize("queue", [20_000, 400])
def test_two_thousand_clients_get_right_rewards_or_are_told_to_wait(queue, right, many_files):
    with odd(live={"deadline_s": 300}, server={"queue": queue}) as server:
        found = asyncio.run(all_clients(server.url, right))

        figures = server.figures()
        log = server.log

    statuses = [status for several, _ in found for status in several]
    assert [wrong for _, several in found for wrong in several] == []
    assert len(statuses) == N_CLIENTS * N_REQUESTS
    assert set(statuses) <= {200, 503}
    if queue == 20_000:
        assert set(statuses) == {200}
    else:
        assert set(statuses) == {200, 503}
    n_answered = statuses.count(200)
    assert figures['voirdire_requests_total{route="/v1/rewards",status="200"}'] == n_answered
    assert figures["voirdire_reward_count"] == n_answered * N_ITEMS
    assert figures["voirdire_items_under_way"] == 0
    assert figures['voirdire_items_total{source="judged"}'] >= 1
    assert "failed" not in log
