"""Calls over real HTTP to a server that fails in every way: each ends exactly once."""

from random import Random

import pytest

from judging.calls.scripted_calls import RUBRIC, items_of
from servers.faulty import FINAL, TRANSIENT, UNREADABLE, mixed_faults
from voirdire.errors import ServerError
from voirdire.judging import LlmJudge, judge_items
from voirdire.models import OpenAICompatibleModel

NO_ANSWER = ("reset", "cut_off", "no_json", "html", "no_choices", "no_utf8")
"""Faults of a server that may be none: nothing says that a chat model is there."""

REASONS = {
    "refusal": "refusal by the judge",
    "content_filter": "content filter",
    "filtered_reply": "content filter",
    "bad_request": "bad request",
} | dict.fromkeys(UNREADABLE, "unreadable reply")

pytestmark = pytest.mark.usefixtures("at_once")


def probability(item):
    """Give every item a probability of its own."""
    return round(Random(item).random(), 6)


@pytest.fixture
def server(faulty_server):
    faulty_server.answer = lambda item, key, form: probability(item)
    faulty_server.keys = ("yes",)
    faulty_server.retry_after_s = 0
    return faulty_server


def asked(server, n_items, **limits):
    """Judge items; give the probability or the reason of each."""
    model = OpenAICompatibleModel(model="judge", base_url=server.url)
    limits = {"timeout_s": 600.0, "keep_going": True, "probability": "stated"} | limits
    judge = LlmJudge(model=model, **limits)
    found = {}
    for batch in judge_items(items_of(range(n_items)), judge, rubric=RUBRIC):
        for row, item in enumerate(batch.items):
            failure = batch.failures.get((row, 0))
            found[item.replace("i", "item-")] = (
                batch.probabilities[row, 0] if failure is None else failure.reason
            )
    assert len(found) == n_items
    return found


def check_end(server, item, end, *, max_attempts=3):
    """Compare the end of an item with what the server did to it."""
    met = [fault for name, fault in server.log if name == item]
    n_unreadable = sum(fault in UNREADABLE for fault in met)
    assert "ok" not in met[:-1]
    assert not set(FINAL) & set(met[:-1])
    if met[-1] == "ok":
        assert end == probability(item)
        assert n_unreadable < max_attempts
    else:
        assert end.startswith(f"{REASONS[met[-1]]}: ")
        assert met[-1] in FINAL or n_unreadable == max_attempts


QUICK = [fault for fault in (*TRANSIENT, *UNREADABLE, *FINAL) if fault not in ("hang", "huge")]


@pytest.mark.ci
@pytest.mark.parametrize("n_items", [300, pytest.param(4_000, marks=pytest.mark.slow)])
def test_each_of_many_items_ends_once_as_a_value_or_a_failure(server, n_items):
    mixed = mixed_faults(1, faults=QUICK, share=0.35)
    server.script = lambda item, n: mixed(item, n) if n < 6 else "ok"

    found = asked(server, n_items)

    for item, end in list(found.items())[:: max(1, n_items // 200)]:
        check_end(server, item, end)
    assert {fault for _, fault in server.log} == {"ok", *QUICK}


@pytest.mark.edges
@pytest.mark.parametrize("fault", [fault for fault in TRANSIENT if fault != "hang"])
def test_a_fault_that_passes_is_tried_again(server, fault):
    server.script = lambda item, n: fault if item == "item-1" and n == 0 else "ok"

    found = asked(server, 3, concurrency=1)

    assert found == {f"item-{n}": probability(f"item-{n}") for n in range(3)}
    assert server.served == {"item-0": 1, "item-1": 2, "item-2": 1}


def test_one_reply_without_log_probabilities_fails_its_item_alone(server):
    server.answer = lambda item, key, form: True
    server.script = lambda item, n: "no_logprobs" if item == "item-1" else "ok"

    found = asked(server, 3, concurrency=1, probability="logprob")

    assert found.pop("item-1").startswith("unreadable reply: ")
    assert set(found.values()) == {0.75}


@pytest.mark.edges
@pytest.mark.parametrize("fault", NO_ANSWER)
@pytest.mark.parametrize("n_items", [1, 50])
def test_where_nobody_ever_answers_the_run_ends(server, fault, n_items):
    server.script = lambda item, n: fault

    with pytest.raises(ServerError, match="No call of this run got a reply") as caught:
        asked(server, n_items)

    assert server.url in str(caught.value)
    assert server.served.total() == 3  # the first call goes alone
