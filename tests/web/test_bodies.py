"""Bodies as they come in pieces: bounds on one of them, and on all of them together."""

import asyncio
import json

import pytest

from web.in_process import asked_app, begun, pieces

WHOLE = json.dumps({"items": [{"response": "0 1 0", "behavior": "refuse"}]}).encode()
MOST = 100


@pytest.fixture(scope="module")
def small():
    """Take bodies of a hundred bytes, for a short while."""
    with asked_app(max_body=MOST, body_s=0.02) as found:
        yield found


def post(app, *given, length=None, then="end", path="/v1/rewards"):
    return app.send("POST", path, pieces(*given, then=then), headers={"content-length": length})


def test_pieces_are_put_together(small):
    app, run = small

    answer = run(post(app, WHOLE[:9], b"", WHOLE[9:]))

    assert (answer.status, len(answer.json["rewards"])) == (200, 1)


def test_a_body_of_exactly_the_bound_is_read(small):
    app, run = small
    full = WHOLE + b" " * (MOST - len(WHOLE))

    assert run(post(app, full[:60], full[60:])).status == 200


@pytest.mark.parametrize(
    ("given", "length", "then", "code"),
    [
        ((b" " * 60, b" " * 41), None, "end", "too_large"),
        ((b" " * 60, b" " * 41), "101", "end", "too_large"),
        ((b" " * 50,), None, "silence", "too_slow"),
        ((b" " * 50,), "60", "silence", "too_slow"),
    ],
)
def test_what_is_refused_is_no_longer_held(small, given, length, then, code):
    app, run = small

    for _ in range(9):  # all that the bodies of all requests may hold, twice over
        answer = run(post(app, *given, length=length, then=then))

        assert answer.code == code
    assert run(post(app, WHOLE)).status == 200


def test_a_client_that_leaves_holds_nothing(small):
    app, run = small

    answers = [run(post(app, b"x" * 50, then="gone")) for _ in range(9)]

    assert answers == [None] * 9
    assert run(post(app, WHOLE)).status == 200


@pytest.mark.parametrize("length", ["100", None])
def test_all_bodies_together_are_bounded(length):
    """Each of them is small enough, or says nothing of its length; there are too many."""

    async def work():
        async with begun(max_body=MOST) as app:
            others = [
                asyncio.create_task(post(app, b"x", length=length, then="silence"))
                for _ in range(4)
            ]
            await asyncio.sleep(0.01)
            refused = await post(app, WHOLE)
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            return refused, await post(app, WHOLE)

    refused, taken = asyncio.run(work())

    assert (refused.code, refused.headers["retry-after"]) == ("queue_full", "2")
    assert taken.status == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (str(len(WHOLE)), 200),
        ("101", 413),
        ("-1", 200),
        ("1e3", 200),
        ("", 200),
        ("9" * 5_000, 200),
    ],
)
def test_an_announced_length_counts_where_it_is_a_plain_number(small, header, status):
    app, run = small

    assert run(post(app, WHOLE, length=header)).status == status
