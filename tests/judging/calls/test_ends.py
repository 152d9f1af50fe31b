"""What ends a whole run, and what does not."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import polars as pl
import pytest

from judging.calls.scripted_calls import GOOD, RUBRIC, VALUE, Model, Runs, judged, script
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    InputError,
    ModelTimeoutError,
    NoAnswersError,
    RateLimitError,
    RefusalError,
    ServerError,
    UnsupportedError,
)
from voirdire.records import Reply
from voirdire.rubrics import Question

pytestmark = pytest.mark.usefixtures("virtual_time")


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


@pytest.mark.parametrize(
    "error",
    [AccessError("no model", status=404), UnsupportedError("no schema", feature="json_schema")],
)
def test_what_concerns_every_call_ends_the_run_and_fails_no_item(runs, error):
    model = Model(script(error), forms=("json_schema",))

    with pytest.raises(type(error), match=str(error)):
        runs(model, range(20), concurrency=1)

    assert len(model.requests) == 1
    assert runs.rows() == []


def test_a_full_store_ends_the_run_with_the_calls_in_flight(runs):
    runs(Model(script(GOOD)))
    full = "(SELECT count(*) FROM voirdire_calls) >= 20 BEGIN SELECT RAISE(ABORT, 'full'); END"
    with closing(sqlite3.connect(runs.store)) as database:
        database.execute(f"CREATE TRIGGER full BEFORE INSERT ON voirdire_calls WHEN {full}")
    model = Model(script(GOOD))

    with pytest.raises(InputError, match="the store cannot be used"):
        runs(model, range(1, 100), concurrency=4)

    assert len(model.requests) - (len(runs.rows()) - 1) <= 4


NOBODY = ServerError("no connection, 127.0.0.1:1.")


def unreached(answer, **about):
    """Make a model that is at an address."""
    model = Model(answer, **about)
    model.settings = {"base_url": "http://127.0.0.1:1/v1"}
    return model


@pytest.mark.edges
@pytest.mark.parametrize(
    ("n_calls", "errors", "settings"),
    [
        (3, [NOBODY] * 3, {"concurrency": 1}),  # the first call goes alone
        (3, [NOBODY] * 3, {"concurrency": 32}),
        (1, [NOBODY], {"max_retries": 0}),
        (3, [ModelTimeoutError("late"), *[NOBODY] * 3], {}),  # which says nothing of the server
    ],
)
def test_a_server_that_is_not_there_ends_the_run_at_once(runs, n_calls, errors, settings):
    model = unreached(script(*errors), delay_s=0)

    with pytest.raises(ServerError, match="No call of this run got a reply") as caught:
        runs(model, range(n_calls), **settings)

    said = "http://127.0.0.1:1/v1. The last error: no connection, 127.0.0.1:1. Check"
    assert said in str(caught.value)
    assert len(model.requests) == len(errors)
    assert runs.rows() == []


@pytest.mark.parametrize(
    "first", [GOOD, BadRequestError("too long"), RefusalError("no"), ServerError("x", status=500)]
)
def test_whoever_has_answered_once_is_borne_with(first):
    model = unreached(script(first, NOBODY))

    found = judged(model, range(4), concurrency=1, max_retries=4)

    reason = "server error: no connection, 127.0.0.1:1. (tried 5 times)"
    assert found.reasons[1:] == [reason] * 3


def test_a_server_that_is_late_to_start_loses_nothing():
    model = unreached(script(NOBODY, NOBODY, GOOD), delay_s=0)

    assert judged(model, range(4), max_retries=2).values == [VALUE] * 4


def test_a_model_in_this_process_is_never_unreachable():
    found = judged(Model(script(ServerError("out of memory"))))

    assert found.reasons == ["server error: out of memory (tried 7 times)"]


# Replies that were paid for in vain --------------------------------------------------------------

PROSE = "Well, the response seems fine to me."
REFUSALS = ["I'm sorry, but I can't judge that.", "I cannot help with this.", "抱歉，我无法评判。"]


@pytest.mark.parametrize("n_answered", [0, 100])
def test_a_server_that_asks_for_patience_again_and_again_ends_the_run(runs, n_answered):
    limited = RateLimitError("quota of the day used up", status=429, retry_after_s=37.0)
    model = Model(lambda n: GOOD if n < n_answered else limited)

    with pytest.raises(ServerError, match=r"more than 10 minutes.*quota of the day"):
        runs(model, range(1_000))

    assert model.times[-1] < 720 + n_answered
    assert len(model.requests) <= n_answered + 100
    assert len(runs.rows()) == n_answered  # no item failed for it


def test_a_reply_between_two_waits_begins_the_time_anew():
    limited = RateLimitError("slow down", status=429, retry_after_s=500.0)
    model = Model(lambda n: limited if n % 2 else GOOD)

    found = judged(model, range(5), concurrency=1)

    assert found.values == [VALUE] * 5
    assert model.times[-1] > 1_500


@pytest.mark.ci
@pytest.mark.parametrize("concurrency", [1, 32])
@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        (PROSE, NoAnswersError, r"None of the first 50 tries.*--keep-going"),
        (BadRequestError("unknown parameter", status=400), NoAnswersError, "unknown parameter"),
        (ServerError("bad gateway", status=502), ServerError, "None of the first 50 tries"),
        (ModelTimeoutError("no reply within 120 s"), ServerError, "None of the first 50 tries"),
        *((refusal, NoAnswersError, "None of the first 50") for refusal in REFUSALS),
        (ContentFilterError("held back"), NoAnswersError, "None of the first 50"),
    ],
)
def test_a_model_that_never_answers_ends_the_run(runs, said, error, message, concurrency):
    model = Model(script(said), delay_s=0)

    with pytest.raises(error, match=message):
        runs(model, range(400), concurrency=concurrency)

    assert 50 <= len(model.requests) <= 50 + concurrency
    # what was paid for is stored, so that --retry-failures means all of them
    if error is NoAnswersError:
        assert len(runs.rows()) == len(model.requests)


@pytest.mark.parametrize("said", [PROSE, ServerError("bad gateway", status=502)])
def test_whoever_wants_goes_on(said):
    model = Model(script(said), delay_s=0)

    found = judged(model, range(60), max_attempts=3, max_retries=2, keep_going=True)

    assert len(model.requests) == 180
    assert None not in found.reasons


@pytest.mark.ci
def test_a_refusal_in_words_is_paid_for_once_and_any_number_may_come_after_an_answer(runs):
    runs(Model(script(GOOD)), range(5))  # an answer of an earlier run counts
    model = Model(script(*REFUSALS * 100))

    _, rows = runs(model, range(205), concurrency=1)
    runs(model, range(205), concurrency=1)

    assert len(model.requests) == 200
    assert rows["failure"][5:].str.starts_with("refusal by the judge").all()


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (PROSE, NoAnswersError),
        (BadRequestError("no", status=404), NoAnswersError),
        (ServerError("refused"), ServerError),
    ],
)
def test_a_hundred_calls_in_a_row_without_an_answer_end_the_run_and_one_between_does_not(
    said, error
):
    limits = {"concurrency": 1, "max_attempts": 1, "max_retries": 0}
    model = Model(script(*[GOOD] * 60, said))

    with pytest.raises(error, match="100 calls in a row gave no answer"):
        judged(model, range(500), **limits)
    found = judged(Model(lambda n: said if n % 90 else GOOD), range(300), **limits)

    assert len(model.requests) == 160
    assert found.reasons.count(None) == 4


def test_what_was_cut_off_is_asked_for_again_with_more_room():
    cut = Reply(text='{"yes": 0.', finish_reason="length")
    model = Model(script(cut, cut, GOOD))

    found = judged(model, range(1))

    first, second, third = (request.max_tokens for request in model.requests)
    assert (second, third) == (2 * first, 4 * first)
    assert found.reasons == [None]


TONE = Question(id="tone", kind="choice", text={"en": "?"}, labels={"warm": {}, "cold": {}})
TWO = replace(RUBRIC, questions=(*RUBRIC.questions, TONE))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"yes": 0.75}', "answer 'tone'"),
        ('{"yes": 0.75, "tone": "hot"}', "answer 'tone' with one of 'warm', 'cold'"),
    ],
)
def test_an_odd_answer_fails_its_question_and_no_other(tmp_path, reply, reason):
    runs = Runs(tmp_path, rubric=TWO)
    model = Model(script(reply))

    calls, rows = runs(model, range(60), concurrency=1)
    again, same = runs(Model(script("never asked")), range(60))
    tones = pl.read_parquet(tmp_path / "out.parquet").filter(question="tone")
    whole = Model(script('{"yes": 0.75, "tone": "warm"}'))
    mending, _ = runs(whole, range(60), retry_failures=True)
    mended = pl.read_parquet(tmp_path / "out.parquet").filter(question="tone")

    assert (calls.n_calls, again.n_calls, mending.n_calls) == (60 * 3, 0, 60)
    assert rows["probability"].to_list() == same["probability"].to_list() == [VALUE] * 60
    assert rows["failure"].null_count() == 60
    assert tones["failure"].str.contains(reason, literal=True).all()
    assert tones["label"].null_count() == 60
    assert mended["label"].to_list() == ["warm"] * 60
