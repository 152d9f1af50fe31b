"""What ends a whole run, and what does not."""

import pytest

from judging.calls.scripted_calls import GOOD, VALUE, Model, Runs, judged, script
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ModelTimeoutError,
    RefusalError,
    ServerError,
    UnsupportedError,
)

pytestmark = pytest.mark.usefixtures("virtual_time")


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def test_no_access_ends_the_run_and_fails_no_item(runs):
    model = Model(script(AccessError("no such model", status=404)))

    with pytest.raises(AccessError, match="no such model"):
        runs(model, range(20), concurrency=1)

    assert len(model.requests) == 1
    assert runs.rows() == []


def test_a_server_that_knows_no_form_ends_the_run():
    error = UnsupportedError("no json_schema", feature="json_schema")

    with pytest.raises(UnsupportedError, match="no json_schema"):
        judged(Model(script(error), forms=("json_schema",)))


def test_a_server_that_refuses_the_first_ten_calls_ends_the_run(runs):
    model = Model(script(BadRequestError("unknown parameter", status=400)))

    with pytest.raises(BadRequestError, match=r"refused the first 10 calls.*unknown parameter"):
        runs(model, range(20), concurrency=1)

    # all of them are stored, so that --retry-failures means all of them
    assert len(model.requests) == len(runs.rows()) == 10


def test_refused_calls_after_a_reply_are_failures_however_many():
    model = Model(script(GOOD, BadRequestError("too long")))

    found = judged(model, range(40), concurrency=1)

    assert found.reasons == [None] + ["bad request: too long"] * 39


def test_a_server_that_is_down_for_long_ends_the_run(runs):
    model = Model(script(GOOD, ServerError("connection refused")))
    limits = {"concurrency": 1, "max_retries": 1, "max_failures_in_a_row": 5}

    with pytest.raises(ServerError, match=r"5 calls failed one after another.*refused"):
        runs(model, range(20), **limits)

    assert len(model.requests) == 1 + 2 * 5
    assert len(runs.rows()) == 6


NOBODY = ServerError("no connection, 127.0.0.1:1.")


def unreached(answer, **about):
    """Make a model that is at an address."""
    model = Model(answer, **about)
    model.settings = {"base_url": "http://127.0.0.1:1/v1"}
    return model


@pytest.mark.parametrize(
    ("n_calls", "concurrency", "n_tried"),
    [(1, 32, 3), (1, 1, 3), (2, 32, 6), (3, 32, 9), (20, 1, 3), (20, 3, 9)],
)
def test_a_server_that_is_not_there_ends_the_run_at_once(runs, n_calls, concurrency, n_tried):
    model = unreached(script(NOBODY), delay_s=0)

    with pytest.raises(ServerError, match="No call of this run got a reply") as caught:
        runs(model, range(n_calls), concurrency=concurrency)

    assert "http://127.0.0.1:1/v1. The last of them: no connection, 127.0.0.1:1. See" in str(
        caught.value
    )
    assert n_tried <= len(model.requests) <= 3 * n_calls
    assert model.times[-1] < 2.0
    assert runs.rows() == []


def test_retries_that_are_not_wanted_are_not_made_of_a_server_that_is_not_there():
    model = unreached(script(NOBODY))

    with pytest.raises(ServerError, match="No call of this run got a reply"):
        judged(model, max_retries=0)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "first", [GOOD, BadRequestError("too long"), RefusalError("no"), ServerError("x", status=500)]
)
def test_whoever_has_answered_once_is_borne_with(first):
    model = unreached(script(first, NOBODY))

    found = judged(model, range(4), concurrency=1, max_retries=4)

    reason = "server error: no connection, 127.0.0.1:1. (tried 5 times)"
    assert found.reasons[1:] == [reason] * 3


def test_a_server_that_is_late_to_start_loses_nothing():
    model = unreached(script(*[NOBODY] * 8, GOOD), delay_s=0)

    assert judged(model, range(4), max_retries=2).values == [VALUE] * 4


def test_deadlines_that_pass_say_nothing_of_a_server():
    model = unreached(script(ModelTimeoutError("late"), NOBODY, NOBODY, NOBODY))

    with pytest.raises(ServerError, match="No call of this run got a reply"):
        judged(model)
    assert len(model.requests) == 4


def test_a_model_in_this_process_is_never_unreachable():
    found = judged(Model(script(ServerError("out of memory"))))

    assert found.reasons == ["server error: out of memory (tried 7 times)"]


def test_a_reply_in_between_begins_the_count_anew():
    model = Model(lambda n: GOOD if n % 3 == 0 else ServerError("broke"))

    found = judged(model, range(30), concurrency=1, max_retries=0, max_failures_in_a_row=3)

    assert sum(reason is not None for reason in found.reasons) == 20
