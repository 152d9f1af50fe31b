"""Bodies as they come in pieces: bounds on one of them, and on all of them together."""

import asyncio

import pytest

from voirdire.web.bodies import (
    BodyBudget,
    ClientGoneError,
    announced_bytes,
    discard_body,
    read_body,
)
from voirdire.web.refusals import RefusedError


def pieces(*given, then="end"):
    """Give pieces as a server does; then the end, silence, or that the client has left."""
    pending = [{"type": "http.request", "body": piece, "more_body": True} for piece in given]
    if then == "end":
        pending[-1]["more_body"] = False
    if then == "gone":
        pending.append({"type": "http.disconnect"})

    async def receive():
        if pending:
            return pending.pop(0)
        await asyncio.sleep(3_600)
        raise AssertionError

    return receive


def scope(length=None):
    return {"headers": [] if length is None else [(b"content-length", length)]}


def read(receive, *, length=None, most=100, budget=None, seconds=5):
    budget = BodyBudget(1_000) if budget is None else budget
    reading = read_body(scope(length), receive, most=most, seconds=seconds, budget=budget)
    return asyncio.run(reading)


def test_pieces_are_put_together_and_held():
    budget = BodyBudget(1_000)

    assert read(pieces(b"ab", b"", b"c"), budget=budget) == b"abc"

    assert budget.n_bytes == 3
    budget.release(3)
    assert budget.n_bytes == 0


def test_a_body_of_exactly_the_bound_is_read():
    assert read(pieces(b"x" * 60, b"x" * 40)) == b"x" * 100


@pytest.mark.parametrize(
    ("receive", "length", "code"),
    [
        (lambda: pieces(b"x" * 60, b"x" * 41), None, "too_large"),
        (lambda: pieces(b"x" * 60, b"x" * 41), b"101", "too_large"),
        (lambda: pieces(b"x", then="silence"), None, "too_slow"),
        (lambda: pieces(b"x", then="silence"), b"50", "too_slow"),
    ],
)
def test_what_is_refused_is_no_longer_held(receive, length, code):
    budget = BodyBudget(1_000)

    with pytest.raises(RefusedError) as caught:
        read(receive(), length=length, budget=budget, seconds=0.05)

    assert caught.value.code == code
    assert caught.value.closes
    assert budget.n_bytes == 0


def test_a_client_that_leaves_holds_nothing():
    budget = BodyBudget(1_000)

    with pytest.raises(ClientGoneError):
        read(pieces(b"x" * 50, then="gone"), budget=budget)

    assert budget.n_bytes == 0


def test_all_bodies_together_are_bounded():
    """Each of them is small enough; there are too many."""
    budget = BodyBudget(150)
    read(pieces(b"x" * 100), budget=budget)

    with pytest.raises(RefusedError) as caught:
        read(pieces(b"x" * 50, b"x"), budget=budget)

    assert (caught.value.code, caught.value.retry_after_s) == ("queue_full", 2)
    assert budget.n_bytes == 100
    assert read(pieces(b"x" * 50), budget=budget) == b"x" * 50


@pytest.mark.parametrize(
    ("receive", "is_all"),
    [
        (lambda: pieces(b"x" * 50, b"x" * 50), True),
        (lambda: pieces(b"x" * 60, b"x" * 60, b"x"), False),
        (lambda: pieces(b"x", then="silence"), False),
    ],
)
def test_what_nobody_wants_is_read_up_to_a_bound(receive, is_all):
    assert asyncio.run(discard_body(receive(), most=100, seconds=0.05)) is is_all


@pytest.mark.parametrize(
    ("header", "length"),
    [(b"0", 0), (b"12", 12), (b"-1", None), (b"1e3", None), (b"", None), (b"9" * 5_000, None)],
)
def test_an_announced_length_is_a_plain_number(header, length):
    assert announced_bytes(scope(header)) == length
