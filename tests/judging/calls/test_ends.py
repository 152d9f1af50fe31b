"""What ends a whole run, and what does not."""

import polars as pl
import pytest

from judging.calls.scripted_calls import GOOD, VALUE, Model, Runs, judged, script
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    ModelTimeoutError,
    NoAnswersError,
    RateLimitError,
    RefusalError,
    ServerError,
    UnsupportedError,
)
from voirdire.records import Reply
from voirdire.rubrics import rubric_from_text

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


def test_a_server_that_refuses_the_first_calls_ends_the_run(runs):
    model = Model(script(BadRequestError("unknown parameter", status=400)))

    with pytest.raises(NoAnswersError, match=r"None of the first 50 tries.*unknown parameter"):
        runs(model, range(90), concurrency=1)

    # all of them are stored, so that --retry-failures means all of them
    assert 50 <= len(model.requests) == len(runs.rows()) <= 51


def test_refused_calls_after_a_reply_are_failures_until_there_are_a_hundred_in_a_row():
    model = Model(script(GOOD, BadRequestError("too long")))

    found = judged(model, range(100), concurrency=1)

    assert found.reasons == [None] + ["bad request: too long"] * 99
    with pytest.raises(NoAnswersError, match="100 calls in a row"):
        judged(Model(script(GOOD, BadRequestError("no", status=404))), range(150), concurrency=1)


def test_a_server_that_is_down_for_long_ends_the_run(runs, ends_after):
    model = Model(script(GOOD, ServerError("connection refused")))
    limits = {"concurrency": 1, "max_retries": 1}
    ends_after(5)

    with pytest.raises(ServerError, match=r"5 calls in a row gave no answer.*refused"):
        runs(model, range(20), **limits)

    assert len(model.requests) == 1 + 2 * 5
    assert len(runs.rows()) == 6


NOBODY = ServerError("no connection, 127.0.0.1:1.")


def unreached(answer, **about):
    """Make a model that is at an address."""
    model = Model(answer, **about)
    model.settings = {"base_url": "http://127.0.0.1:1/v1"}
    return model


@pytest.mark.edges
@pytest.mark.parametrize(("n_calls", "concurrency"), [(1, 32), (1, 1), (3, 32), (20, 3)])
def test_a_server_that_is_not_there_ends_the_run_at_once(runs, n_calls, concurrency):
    model = unreached(script(NOBODY), delay_s=0)

    with pytest.raises(ServerError, match="No call of this run got a reply") as caught:
        runs(model, range(n_calls), concurrency=concurrency)

    assert "http://127.0.0.1:1/v1. The last error: no connection, 127.0.0.1:1. Check" in str(
        caught.value
    )
    assert len(model.requests) == 3  # the first call goes alone
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
    model = unreached(script(NOBODY, NOBODY, GOOD), delay_s=0)

    assert judged(model, range(4), max_retries=2).values == [VALUE] * 4


def test_deadlines_that_pass_say_nothing_of_a_server():
    model = unreached(script(ModelTimeoutError("late"), NOBODY, NOBODY, NOBODY))

    with pytest.raises(ServerError, match="No call of this run got a reply"):
        judged(model)
    assert len(model.requests) == 4


def test_a_model_in_this_process_is_never_unreachable():
    found = judged(Model(script(ServerError("out of memory"))))

    assert found.reasons == ["server error: out of memory (tried 7 times)"]


def test_a_reply_in_between_begins_the_count_anew(ends_after):
    ends_after(3)
    model = Model(lambda n: GOOD if n % 3 == 0 else ServerError("broke"))

    found = judged(model, range(30), concurrency=1, max_retries=0)

    assert sum(reason is not None for reason in found.reasons) == 20


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
def test_a_model_that_writes_prose_throughout_ends_the_run(runs, concurrency):
    model = Model(script(PROSE))

    with pytest.raises(NoAnswersError, match=r"None of the first 50 tries.*--keep-going"):
        runs(model, range(3_000), concurrency=concurrency)

    assert 50 <= len(model.requests) < 50 + concurrency
    assert len(runs.rows()) == len(model.requests)


def test_whoever_wants_pays_on():
    model = Model(script(PROSE))

    found = judged(model, range(60), concurrency=1, keep_going=True)

    assert len(model.requests) == 180
    assert all(reason.startswith("unreadable reply") for reason in found.reasons)


@pytest.mark.ci
@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_in_words_is_paid_for_once(runs, text):
    model = Model(script(GOOD, text))

    _, rows = runs(model, range(200), concurrency=1)

    assert len(model.requests) == 200
    assert rows["failure"][1:].str.starts_with("refusal by the judge").all()
    # sorted data may hold any number of them, and a second run pays for none again
    runs(model, range(200), concurrency=1)
    assert len(model.requests) == 200


@pytest.mark.parametrize("text", [*REFUSALS, ContentFilterError("held back"), RefusalError("no")])
def test_refusals_alone_end_the_run(text):
    model = Model(script(text))

    with pytest.raises(NoAnswersError, match="None of the first 50"):
        judged(model, range(200), concurrency=1)

    assert len(model.requests) == 50


def test_a_hundred_unreadable_replies_in_a_row_end_the_run_after_an_answer_too():
    model = Model(script(*[GOOD] * 60, PROSE))

    with pytest.raises(NoAnswersError, match="100 calls in a row gave no answer"):
        judged(model, range(500), concurrency=1)

    assert len(model.requests) == 160


def test_an_answer_now_and_then_is_enough():
    model = Model(lambda n: GOOD if n % 90 == 0 else PROSE)

    found = judged(model, range(300), concurrency=1, max_attempts=1)

    assert len(model.requests) == 300
    assert found.reasons.count(None) == 4


def test_answers_of_an_earlier_run_count(runs):
    runs(Model(script(GOOD)), range(5), concurrency=1)
    model = Model(script(*REFUSALS * 30))

    _, rows = runs(model, range(80), concurrency=1)

    assert len(model.requests) == 75
    assert rows["failure"].null_count() == 5


def test_what_was_cut_off_is_asked_for_again_with_more_room():
    cut = Reply(text='{"yes": 0.', finish_reason="length")
    model = Model(script(cut, cut, GOOD))

    found = judged(model, range(1))

    first, second, third = (request.max_tokens for request in model.requests)
    assert (second, third) == (2 * first, 4 * first)
    assert found.reasons == [None]


TWO = rubric_from_text(
    """
schema: voirdire.rubric/1
name: two
version: "1"
questions:
  - {id: yes, kind: boolean, text: "Is it so?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold]}
"""
)


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

    verdicts = pl.read_parquet(tmp_path / "out.parquet")
    others = verdicts.filter(question="tone")
    assert (calls.n_calls, again.n_calls) == (60 * 3, 0)
    assert rows["probability"].to_list() == same["probability"].to_list() == [VALUE] * 60
    assert rows["failure"].null_count() == 60
    assert others["failure"].str.contains(reason, literal=True).all()
    assert others["label"].null_count() == 60


def test_what_was_odd_may_be_asked_again(tmp_path):
    runs = Runs(tmp_path, rubric=TWO)
    runs(Model(script('{"yes": 0.75}')), range(2))
    whole = '{"yes": 0.75, "tone": "warm"}'

    calls, rows = runs(Model(script(whole)), range(2), retry_failures=True)

    assert calls.n_calls == 2
    assert rows["probability"].to_list() == [0.75, 0.75]
    assert pl.read_parquet(tmp_path / "out.parquet")["failure"].null_count() == 4


@pytest.mark.parametrize(
    "error", [ServerError("bad gateway", status=502), ModelTimeoutError("no reply within 120 s")]
)
def test_a_server_that_never_replies_ends_the_run(error):
    model = Model(script(error), delay_s=0)

    with pytest.raises(ServerError, match="None of the first 50 tries gave an answer"):
        judged(model, range(400), concurrency=32)

    assert 50 <= len(model.requests) < 50 + 32


def test_a_server_that_replies_late_is_waited_for():
    model = Model(script(*[ServerError("loading", status=503)] * 8, GOOD), delay_s=0)

    found = judged(model, range(20), concurrency=32, max_retries=10)

    assert found.reasons == [None] * 20


def test_whoever_keeps_going_waits_for_a_server_that_never_replies():
    model = Model(script(ServerError("bad gateway", status=502)), delay_s=0)

    found = judged(model, range(30), max_retries=4, keep_going=True)

    assert len(model.requests) == 150
    assert all("bad gateway" in reason for reason in found.reasons)
