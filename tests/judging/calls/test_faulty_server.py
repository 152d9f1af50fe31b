"""Thousands of calls over real HTTP to a server that fails in every way: each ends exactly once."""

import asyncio
import random
import time

import pytest

from clocks import put_forward, run_forward
from servers.faulty import FINAL, TRANSIENT, UNREADABLE, mixed_faults
from voirdire.errors import AccessError, ServerError, UnsupportedError
from voirdire.judging import Limits
from voirdire.judging.asking import Ask
from voirdire.judging.calls import Call, Caller, decode_attempt
from voirdire.judging.prompts import PromptBuilder, new_nonce
from voirdire.judging.reading import ReplyReader
from voirdire.models import OpenAICompatibleModel
from voirdire.records import Item, Reply
from voirdire.rubrics import load_rubric
from voirdire.store import GroupCommit, open_store

NO_ANSWER = ("hang", "reset", "cut_off", "no_json", "html", "no_choices")
"""Faults of a server that may be none: nothing says that a chat model is there."""

QUESTIONS = load_rubric("safety").questions[:3]

REASONS = {
    "refusal": "refusal by the judge",
    "content_filter": "content filter",
    "filtered_reply": "content filter",
    "bad_request": "bad request",
}


class AtOnce(random.Random):
    """Waits for nothing after an error."""

    def random(self):
        return 0.0


def probability(item, key):
    """Give every item and question a probability of its own."""
    return round(random.Random(f"{item}/{key}").random(), 6)


def item_of(number):
    return Item(id=f"item-{number}", response=f"I am item-{number}, judge me.")


def calls_about(numbers, *, probability="stated"):
    ask = Ask(questions=QUESTIONS, probability=probability)
    builder, reader = PromptBuilder(ask), ReplyReader(ask)
    top_logprobs = 2 if probability == "logprob" else None

    def call(number):
        item = item_of(number)
        return Call(
            item=item.content_hash(),
            name="joint",
            request=lambda form: builder.request(
                item, nonce=new_nonce(), form=form, top_logprobs=top_logprobs
            ),
            read=reader.read,
        )

    return [call(number) for number in numbers]


@pytest.fixture
def store():
    with open_store(":memory:") as opened:
        yield opened


class Run:
    """Calls by a fixed number of workers, as a judge makes them."""

    def __init__(self, server, store, **limits):
        server.answer = lambda item, key, form: probability(item, key)
        self.server = server
        self.store = store
        self.judge_id = store.judge_id("fingerprint", description={})
        self.limits = Limits(**{"concurrency": 32, "timeout_s": 600.0, **limits})
        self.outcomes = {}
        self.caller = None

    def stored(self, call):
        found = self.store.get(self.judge_id, [call.item])
        return [kept.blob for kept in found.get(call.item, ())]

    def attempts(self, call):
        return [decode_attempt(blob) for blob in self.stored(call)]

    def __call__(self, calls, *, cancel_after=None):
        run_forward(self._run(calls, cancel_after=cancel_after))
        return self.outcomes

    async def _give_up_what_hangs(self):
        """Let the deadline pass whenever the server hangs about all that is in flight."""
        n_given_up = 0
        while True:
            n_hanging = [fault for _, fault in self.server.log].count("hang")
            if self.caller.state.n_in_flight == n_hanging - n_given_up > 0:
                n_given_up = n_hanging
                put_forward(self.limits.timeout_s + 1)
            await asyncio.sleep(0.005)

    async def _run(self, calls, *, cancel_after):
        model = OpenAICompatibleModel(model="judge", base_url=self.server.url)
        commit = GroupCommit(self.store, self.judge_id)
        self.caller = Caller(model, limits=self.limits, commit=commit.put, rng=AtOnce())
        pending = iter(enumerate(calls))
        passing = asyncio.create_task(self._give_up_what_hangs())
        try:
            workers = [
                asyncio.create_task(self._work(pending)) for _ in range(self.limits.concurrency)
            ]
            if cancel_after is not None:
                # the counter grows in the server's thread
                while sum(self.server.replied.values()) < cancel_after:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
                for worker in workers:
                    worker.cancel()
            ends = await asyncio.gather(*workers, return_exceptions=cancel_after is not None)
            assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ends)
        finally:
            passing.cancel()
            await commit.close()
            await model.close()

    async def _work(self, pending):
        for number, call in pending:
            stored = self.stored(call)
            outcome = self.caller.reuse(call, stored)
            if outcome is None:
                outcome = await self.caller.answer(call, stored=stored)
            assert number not in self.outcomes
            self.outcomes[number] = outcome


def expected_end(faults, *, max_attempts):
    """Read off what an item met how it must end: its tries, attempts stored, and reason."""
    n_unreadable = 0
    for n_tries, fault in enumerate(faults, start=1):
        if fault == "ok":
            return n_tries, n_unreadable + 1, None
        if fault in FINAL:
            return n_tries, n_unreadable + 1, REASONS[fault]
        if fault in UNREADABLE:
            n_unreadable += 1
        if n_unreadable == max_attempts:
            return n_tries, n_unreadable, "unreadable reply"
    return None


def check_ends(run, calls, *, max_attempts=3):
    """Compare every item's outcome and stored attempts with what the server did to it."""
    server = run.server
    met = {}
    for item, fault in server.log:
        met.setdefault(item, []).append(fault)
    assert sorted(run.outcomes) == list(range(len(calls)))
    for number, call in enumerate(calls):
        name = f"item-{number}"
        n_tries, n_kept, reason = expected_end(met[name], max_attempts=max_attempts)
        outcome = run.outcomes[number]
        assert server.served[name] == n_tries
        assert outcome.attempts == n_kept == len(run.stored(call))
        if reason is None:
            assert outcome.failure is None
            assert outcome.value.values == tuple(probability(name, q.id) for q in QUESTIONS)
            assert server.replied[name] == 1
        else:
            assert outcome.value is None
            assert outcome.failure.reason.startswith(f"{reason}: ")
            assert server.replied[name] == 0


def mixed_run(server, store, *, seed, n_items, faults, **limits):
    """Judge items of which a third of all tries meet a fault, and check the end of each."""
    mixed = mixed_faults(seed, faults=faults, share=0.35)
    server.script = lambda item, n: mixed(item, n) if n < 6 else "ok"
    server.retry_after_s = 0
    calls = calls_about(range(n_items))
    run = Run(server, store, **limits)

    run(calls)

    check_ends(run, calls)
    assert {fault for _, fault in server.log} == {"ok", *faults}
    assert store.count(run.judge_id) == sum(outcome.attempts for outcome in run.outcomes.values())


SLOW_OR_LARGE = ("hang", "huge")
QUICK = [fault for fault in (*TRANSIENT, *UNREADABLE, *FINAL) if fault not in SLOW_OR_LARGE]


def test_each_of_many_items_ends_once_as_a_value_or_a_failure(faulty_server, store):
    mixed_run(faulty_server, store, seed=0, n_items=400, faults=QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_each_of_thousands_of_items_ends_once_as_a_value_or_a_failure(faulty_server, store, seed):
    mixed_run(faulty_server, store, seed=seed, n_items=4_000, faults=QUICK)


@pytest.mark.slow
def test_hanging_and_huge_replies_among_others_lose_nothing(faulty_server, store):
    faults = [*SLOW_OR_LARGE, "500", "truncated"]

    mixed_run(faulty_server, store, seed=3, n_items=60, faults=faults)


@pytest.mark.parametrize("fault", [fault for fault in TRANSIENT if fault not in NO_ANSWER])
def test_a_server_that_never_gets_better_fails_each_call(faulty_server, store, fault):
    faulty_server.script = lambda item, n: fault
    faulty_server.retry_after_s = 0
    run = Run(faulty_server, store, max_retries=1)
    calls = calls_about(range(3))

    outcomes = run(calls)

    reason = "rate limit" if fault.startswith("429") else "server error"
    for number, call in enumerate(calls):
        assert outcomes[number].failure.reason.startswith(f"{reason}: ")
        assert faulty_server.served[f"item-{number}"] == 2
        assert [attempt.reason for attempt in run.attempts(call)] == [reason]


@pytest.mark.parametrize("fault", [fault for fault in NO_ANSWER if fault != "hang"])
@pytest.mark.parametrize(("n_calls", "most_tries"), [(1, 3), (2, 6), (50, 32 * 3)])
def test_where_nobody_ever_answers_the_run_ends_and_stores_nothing(
    faulty_server, store, fault, n_calls, most_tries
):
    faulty_server.script = lambda item, n: fault
    run = Run(faulty_server, store)
    calls = calls_about(range(n_calls))

    with pytest.raises(ServerError, match="No call of this run got a reply") as caught:
        run(calls)

    assert faulty_server.url in str(caught.value)
    assert 3 * min(n_calls, 3) <= sum(faulty_server.served.values()) <= most_tries
    assert not any(run.stored(call) for call in calls)


@pytest.mark.parametrize("fault", [fault for fault in NO_ANSWER if fault != "hang"])
def test_a_server_that_has_answered_once_keeps_all_its_tries(faulty_server, store, fault):
    faulty_server.script = lambda item, n: "ok" if item == "item-0" else fault
    run = Run(faulty_server, store, concurrency=1)

    outcomes = run(calls_about(range(4)))

    assert outcomes[0].failure is None
    for number in range(1, 4):
        assert outcomes[number].failure.reason.startswith("server error: ")
        assert faulty_server.served[f"item-{number}"] == 7


def test_a_server_that_is_starting_loses_no_call(faulty_server, store):
    faulty_server.script = lambda item, n: "ok" if item == "item-0" or n >= 3 else "reset"
    faulty_server.delay_s = 0.01
    run = Run(faulty_server, store, max_retries=3)

    outcomes = run(calls_about(range(3)))

    assert all(outcome.failure is None for outcome in outcomes.values())


def test_a_server_that_hangs_is_given_up_within_the_deadline(faulty_server, store):
    faulty_server.script = lambda item, n: "hang" if n == 0 or item == "item-3" else "ok"
    run = Run(faulty_server, store, timeout_s=40.0, max_retries=1)

    outcomes = run(calls_about(range(6)))

    assert {n for n, outcome in outcomes.items() if outcome.failure is not None} == {3}
    assert outcomes[3].failure.reason == "timeout: no reply within 40 s (tried 2 times)"
    assert set(faulty_server.served.values()) == {2}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["429_in_seconds", "429_at_date", "503_in_seconds"])
def test_nobody_asks_before_the_server_wants_to_be_asked(faulty_server, store, fault):
    refused, early = [], []

    def script(item, n):
        # a date has whole seconds, so that up to one of the two may be cut off
        if refused and time.monotonic() < refused[0] + (0.95 if fault == "429_at_date" else 1.95):
            early.append(item)
        if not refused:
            refused.append(time.monotonic())
            return fault
        return "ok"

    faulty_server.script, faulty_server.retry_after_s = script, 2
    run = Run(faulty_server, store, concurrency=1)

    outcomes = run(calls_about(range(5)))

    assert all(outcome.value is not None for outcome in outcomes.values())
    assert early == []


def test_a_server_that_knows_one_form_only_is_asked_in_that_form(faulty_server, store):
    faulty_server.forms = ("json_object",)
    faulty_server.keys = tuple(question.id for question in QUESTIONS)
    run = Run(faulty_server, store, concurrency=4)
    calls = calls_about(range(20))

    outcomes = run(calls)

    assert {outcome.form for outcome in outcomes.values()} == {"json_object"}
    check_ends(run, calls)
    (step,) = run.caller.state.steps_down
    assert (step.from_form, step.to_form) == ("json_schema", "json_object")
    assert run.attempts(calls[0])[0].form == "json_object"


def test_without_log_probabilities_the_run_ends_and_says_what_to_do(faulty_server, store):
    run = Run(faulty_server, store, concurrency=1)
    faulty_server.answer = lambda item, key, form: True
    faulty_server.script = lambda item, n: "no_logprobs"
    calls = calls_about(range(3), probability="logprob")

    with pytest.raises(UnsupportedError, match="ask with `stated` or `vote`"):
        run(calls)

    # the reply was paid for, so it is kept
    assert isinstance(run.attempts(calls[0])[0], Reply)
    assert sum(faulty_server.served.values()) == 1


def test_log_probabilities_arrive_as_the_server_wrote_them(faulty_server, store):
    run = Run(faulty_server, store)
    faulty_server.answer = lambda item, key, form: probability(item, key) >= 0.5
    faulty_server.probability = probability
    calls = calls_about(range(50), probability="logprob")

    outcomes = run(calls)

    for number, outcome in outcomes.items():
        expected = [probability(f"item-{number}", question.id) for question in QUESTIONS]
        assert outcome.value.values == pytest.approx(expected)


def test_a_wrong_key_ends_the_run_after_one_round(faulty_server, store):
    faulty_server.script = lambda item, n: "no_access"
    run = Run(faulty_server, store, concurrency=4)

    with pytest.raises(AccessError):
        run(calls_about(range(100)))
    assert sum(faulty_server.served.values()) <= 4


@pytest.mark.parametrize("cancel_after", [1, 40, 150])
def test_a_run_that_is_cancelled_and_resumed_pays_for_calls_in_flight_only(
    faulty_server, store, cancel_after
):
    run = Run(faulty_server, store, concurrency=16)
    calls = calls_about(range(300))
    run(calls, cancel_after=cancel_after)
    n_kept = store.count(run.judge_id)
    run.outcomes = {}

    outcomes = run(calls)

    assert len(outcomes) == 300
    assert sum(outcome.is_reused for outcome in outcomes.values()) == n_kept
    assert store.count(run.judge_id) == 300
    assert set(faulty_server.replied.values()) <= {1, 2}
    assert sum(faulty_server.replied.values()) <= 300 + 16
