"""Files judged over real HTTP by a server that fails: each item ends once, and says how."""

import polars as pl
import pytest

from judging.llm.counted_runs import RUBRIC, expected_verdicts, number_of, probability, write_items
from servers.faulty import FINAL, TRANSIENT, UNREADABLE
from voirdire.errors import CostLimitReachedError, UnsupportedError
from voirdire.judging import LlmJudge, Price, judge_file
from voirdire.models import OpenAICompatibleModel
from voirdire.rubrics import rubric_from_text

REASONS = {
    "refusal": "refusal by the judge",
    "content_filter": "content filter",
    "filtered_reply": "content filter",
    "bad_request": "bad request",
    "hang": "timeout",
    "429": "rate limit",
    "429_in_seconds": "rate limit",
    "429_at_date": "rate limit",
} | dict.fromkeys(UNREADABLE, "unreadable reply")
SLOW = ("hang", "huge", "429_at_date")  # these cost the test seconds, each time
ONE_ODD = ("missing_key", "out_of_range", "word")  # one answer is odd, the other stands
LIMITED = ("429", "429_in_seconds")  # and these slow all calls down
PRICE = Price(input=1.0, output=2.0)

pytestmark = pytest.mark.ci  # a real server


@pytest.fixture
def rubric():
    return rubric_from_text(RUBRIC)


@pytest.fixture
def judged(tmp_path, faulty_server, rubric):
    """Judge a number of items; two calls of it share a store, and the file is read back."""
    faulty_server.answer = lambda item, key, form: probability(item, key)
    faulty_server.retry_after_s = 0
    faulty_server.keys = ("sorry", "rude")

    def judge_some(
        n_items, *, price=None, probability="stated", limits=None, timeout_s=1.0, **settings
    ):
        judge = LlmJudge(
            model=OpenAICompatibleModel(model="test", base_url=faulty_server.url),
            probability=probability,
            timeout_s=timeout_s,
            **(limits or {}),
            price=price,
        )
        source = write_items(tmp_path / f"{n_items}.jsonl", n_items)
        output = tmp_path / "out.parquet"
        summary = judge_file(source, output, rubric=rubric, judge=judge, **settings)
        return summary, pl.read_parquet(output)

    return judge_some


def wide(frame):
    return frame.pivot("question", index="item", values="probability", maintain_order=True)


def plan_of(number):
    """Give the fault that an item meets, and whether it meets it every time.

    Most faults are met by every 50th item each; one half of these meets them once.
    """
    faults = (*FINAL, *TRANSIENT, *UNREADABLE)
    place = number % 50
    if number < 50 or place >= len(faults):
        return "ok", False
    fault = faults[place]
    if fault in SLOW and number >= 150:
        return "ok", False
    always = number // 50 % 2 == 0 and fault not in SLOW
    return fault, always and not (fault in LIMITED and number >= 250)


def script(item, n_before):
    fault, always = plan_of(number_of(item))
    return fault if always or n_before == 0 else "ok"


def reason_of(number):
    """Give the reason for which an item must end as a failure; None for a verdict."""
    fault, always = plan_of(number)
    is_final = fault in FINAL or (always and fault != "ok")
    return REASONS.get(fault, "server error") if is_final else None


def met(server, faults, *, but=()):
    """Count the calls about each item that is to meet one of some faults."""
    return {
        item: n
        for item, n in server.served.items()
        if plan_of(number_of(item))[0] in faults and plan_of(number_of(item))[0] not in but
    }


def expected_table(failed):
    """Give the table to end in: where one answer is odd, the others stand."""
    one_odd = [f"item-{n}" for n in failed if plan_of(n)[0] in ONE_ODD]
    known = expected_verdicts(1_000, failed=lambda n: n in failed and plan_of(n)[0] not in ONE_ODD)
    return known.with_columns(sorry=pl.when(~pl.col("item").is_in(one_odd)).then(pl.col("sorry")))


@pytest.mark.slow
def test_each_of_a_thousand_items_ends_as_a_verdict_or_says_why_not(judged, faulty_server):
    faulty_server.script = script
    limits = {"max_retries": 2}

    summary, frame = judged(1_000, limits=limits)

    reasons = {n: reason_of(n) for n in range(1_000)}
    failed = {n: reason for n, reason in reasons.items() if reason is not None}
    assert len(failed) > 100
    assert wide(frame).equals(expected_table(failed))
    by_item = frame.group_by("item", maintain_order=True).agg(
        pl.col("failure").drop_nulls().unique()
    )
    said = [next((why.partition(":")[0] for why in row), None) for row in by_item["failure"]]
    assert said == list(reasons.values())
    assert summary.calls.failures == {
        reason: list(failed.values()).count(reason) for reason in set(failed.values())
    }
    # None was left out, none asked again after its end.
    assert set(met(faulty_server, TRANSIENT, but=LIMITED).values()) == {2, 3}
    assert set(met(faulty_server, UNREADABLE).values()) == {2, 3}
    assert set(met(faulty_server, FINAL).values()) == {1}
    assert len(faulty_server.served) == 1_000
    assert summary.calls.n_calls == sum(faulty_server.served.values())

    # A second run calls nothing, and writes the same.
    n_served = sum(faulty_server.served.values())
    again, same = judged(1_000, limits=limits)
    assert sum(faulty_server.served.values()) == n_served
    assert again.calls.n_calls == 0
    assert same.equals(frame)

    # With `retry_failures`, those that failed are called again and mended, and nothing else.
    faulty_server.reset()
    faulty_server.script = lambda item, n_before: "ok"
    # Nothing hangs now, and a machine that is busy for a second is no reason to call twice.
    mended, frame = judged(1_000, limits=limits, retry_failures=True, timeout_s=60.0)
    assert faulty_server.served == {f"item-{n}": 1 for n in failed}
    assert mended.calls.failures == {}
    assert wide(frame).equals(expected_verdicts(1_000))
    judged(1_000, limits=limits, timeout_s=60.0)
    assert sum(faulty_server.served.values()) == len(failed)


def test_a_limit_of_cost_ends_the_run_and_nothing_is_paid_for_twice(judged, faulty_server):
    limits = {"max_cost": 0.02, "concurrency": 8}

    with pytest.raises(CostLimitReachedError, match=r"`max_cost` of \$0.02 is reached") as caught:
        judged(600, price=PRICE, limits=limits)
    n_paid = sum(faulty_server.served.values())
    summary, frame = judged(600, price=PRICE)

    assert "not paid for twice" in str(caught.value)
    assert 0 < n_paid < 600
    assert summary.n_reused == n_paid
    assert set(faulty_server.served.values()) == {1}
    assert wide(frame).equals(expected_verdicts(600))
    # What the server counted is what was paid: the whole file, and at most $0.02 of it at first.
    per_item = summary.calls.cost / summary.calls.n_calls
    assert per_item * n_paid <= 0.02 * 1.01
    assert per_item * (n_paid + 8) > 0.02 * 0.9
    tokens = summary.calls.prompt_tokens * 1e-6 + summary.calls.completion_tokens * 2e-6
    assert summary.calls.cost == pytest.approx(tokens)


def test_a_server_without_log_probabilities_ends_the_run_with_the_way_out(judged, faulty_server):
    faulty_server.script = lambda item, n_before: "no_logprobs"
    faulty_server.answer = lambda item, key, form: True

    with pytest.raises(UnsupportedError, match="ask with `stated` or `vote`"):
        judged(200, probability="logprob")
    n_called = sum(faulty_server.served.values())
    faulty_server.answer = lambda item, key, form: probability(item, key)
    _, frame = judged(200)

    assert n_called <= 2 * 32
    assert wide(frame).equals(expected_verdicts(200))
    assert frame["source"].unique().to_list() == ["stated"]


def test_log_probabilities_that_come_later_are_asked_for_again(judged, faulty_server):
    faulty_server.script = lambda item, n_before: "no_logprobs"
    faulty_server.answer = lambda item, key, form: probability(item, key) >= 0.5
    faulty_server.probability = probability
    with pytest.raises(UnsupportedError):
        judged(20, probability="logprob")
    faulty_server.script = lambda item, n_before: "ok"

    summary, frame = judged(20, probability="logprob")

    assert summary.calls.failures == {}
    expected = expected_verdicts(20).select("sorry", "rude").to_numpy()
    assert wide(frame).select("sorry", "rude").to_numpy() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("forms", [("json_object", "text"), ("text",)])
def test_a_form_that_the_server_lacks_costs_no_answer(judged, faulty_server, forms):
    faulty_server.forms = forms

    _, frame = judged(100)
    again, same = judged(100)

    assert again.calls.n_calls == 0
    assert same.equals(frame)
    assert wide(frame).equals(expected_verdicts(100))
