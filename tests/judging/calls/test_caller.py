"""One call at a time: to a value or a failure."""

from dataclasses import replace

import polars as pl
import pytest

from judging.calls.scripted_calls import GOOD, RUBRIC, VALUE, Model, Runs, judged, script
from voirdire.errors import ContentFilterError, ModelCallError, RefusalError
from voirdire.judging import Price
from voirdire.records import Reply, TokenChoice, TokenStep, Usage
from voirdire.rubrics import Question

pytestmark = pytest.mark.usefixtures("virtual_time")


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_no_more_calls_are_in_flight_than_allowed(concurrency):
    model = Model(script(GOOD))

    found = judged(model, range(20), concurrency=concurrency)

    assert model.most_inside == concurrency
    assert found.values == [VALUE] * 20


@pytest.mark.parametrize("max_attempts", [1, 2, 5])
def test_replies_that_stay_unreadable_are_a_failure(max_attempts):
    model = Model(script("many"))

    found = judged(model, max_attempts=max_attempts)
    read = judged(Model(script(*["many"] * max_attempts, GOOD)), max_attempts=max_attempts + 1)

    assert found.reasons[0].startswith("unreadable reply: ")
    assert len(model.requests) == max_attempts
    assert read.values == [VALUE]


@pytest.mark.parametrize(
    "error",
    [
        RefusalError("I would rather not"),
        ContentFilterError("filtered", status=400),
        ModelCallError("not recorded"),
    ],
)
def test_an_error_that_would_come_again_is_a_failure_at_once(error):
    model = Model(script(error, GOOD))

    found = judged(model)
    (hostile,) = judged(Model(script(type(error)("bad\n\x1b[2Jwords " + "x" * 10_000)))).reasons

    assert found.reasons == [f"{error.reason}: {error}"]
    assert len(model.requests) == 1
    assert not {"\x1b", "\n"} & set(hostile)
    assert len(hostile) < 300


@pytest.mark.parametrize("error", [TimeoutError, ZeroDivisionError])
def test_a_bug_in_a_model_is_raised_and_nothing_is_called_again(error):
    def answer(n):
        raise error("a bug in the model")

    model = Model(answer)

    with pytest.raises(error, match="a bug in the model"):
        judged(model, range(3), max_cost=10, price=Price(input=1.0, output=1.0))

    assert model.items == [0]


def test_half_a_surrogate_pair_is_replaced_before_it_is_read_and_stored(tmp_path):
    why = Question(id="why", kind="text", text={"en": "Why?"})
    runs = Runs(tmp_path, rubric=replace(RUBRIC, questions=(*RUBRIC.questions, why)))
    steps = (TokenStep("a\ud800b", -1.0, (TokenChoice("\udfff", -1.0),)),)
    spoilt = Reply(text='{"yes": 0.75, "why": "a\ud800b"}', steps=steps)

    runs(Model(script(spoilt)))
    again, _ = runs(Model(script("never asked")))

    whole = pl.read_parquet(tmp_path / "out.parquet").filter(question="why")
    assert (again.n_calls, whole["label"].to_list()) == (0, ["a\ufffdb"])


@pytest.mark.parametrize("price", [Price(input=1.0, output=2.0), None])
def test_the_summary_counts_what_happened(tmp_path, price):
    usage = Usage(100_000, 20_000, 60_000, 5_000)
    model = Model(script(Reply(text="x", usage=usage), Reply(text=GOOD, usage=usage)))

    calls, _ = Runs(tmp_path, rubric=RUBRIC)(model, price=price)

    assert (calls.n_calls, calls.n_retries, calls.n_reused) == (2, 1, 0)
    assert (calls.prompt_tokens, calls.completion_tokens) == (200_000, 40_000)
    assert calls.cached_tokens == 120_000
    # a million tokens of the prompt cost a dollar, and of the reply two
    assert calls.cost == (None if price is None else pytest.approx(0.2 + 0.08))
