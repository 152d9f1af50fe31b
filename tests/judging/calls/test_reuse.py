"""What is stored is not called again: answers, failures, and replies that were unreadable once."""

import itertools
from zlib import crc32

import msgspec
import pytest

from judging.calls.scripted_calls import GOOD, VALUE, Model, Runs, by_item, script
from voirdire.errors import ServerError
from voirdire.testing import ScriptedModel

pytestmark = pytest.mark.usefixtures("virtual_time")


def written(kind, *fields):
    """Write by hand what every version must read: a byte for the kind, a checksum, the fields."""
    content = msgspec.msgpack.encode(fields)
    return kind + crc32(content).to_bytes(4, "big") + content


# Text, form, finish_reason, model, usage, steps of a reply; reason, message, form, status, tries
# of a failure.
STEPS = [["{", -0.5, [["{", -0.5], ["[", -2.0]]]]
WRITTEN = {
    "good": written(b"\x03", GOOD, "text", "stop", "m", [3, 2, 1, 0], STEPS),
    "bad": written(b"\x03", "many", "json_schema", None, None, None, None),
    "failed": written(b"\x04", "timeout", "no reply", "json_object", 408, 7),
}


@pytest.fixture
def runs(tmp_path):
    """Give runs whose store knows one item already."""
    made = Runs(tmp_path)
    made(Model(script(GOOD)))
    return made


@pytest.mark.edges
@pytest.mark.parametrize(
    "stored", ["good", "bad good", "bad bad bad good", "failed good", "bad good bad"]
)
@pytest.mark.parametrize("retry_failures", [False, True])
def test_a_reply_that_can_be_read_is_the_answer(runs, stored, retry_failures):
    runs.put([WRITTEN[name] for name in stored.split()])

    calls, frame = runs(Model(script("never asked")), retry_failures=retry_failures)

    assert (calls.n_calls, calls.n_reused) == (0, 1)
    assert frame["probability"].to_list() == [VALUE]


def test_a_stored_failure_stays_one_unless_it_is_tried_again(runs):
    runs.put([WRITTEN["failed"]])

    calls, frame = runs(Model(script(GOOD)))
    again, mended = runs(Model(script(GOOD)), retry_failures=True)

    assert (calls.n_calls, again.n_calls) == (0, 1)
    assert frame["failure"].to_list() == ["timeout: no reply"]
    assert mended["probability"].to_list() == [VALUE]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("stored", "max_attempts", "retry_failures", "n_calls"),
    [
        ("", 3, False, 3),
        ("bad", 3, False, 2),
        ("bad bad", 3, False, 1),
        ("bad bad bad", 3, False, 0),
        ("bad bad bad", 3, True, 3),
        ("bad bad bad", 4, False, 1),
        ("bad", 1, False, 0),
        ("bad failed", 3, False, 0),
        ("bad bad failed", 3, True, 3),
        ("failed bad", 3, False, 2),
        ("bad bad failed bad", 3, False, 2),
        ("failed bad bad bad", 3, False, 0),
    ],
)
def test_an_interrupted_call_goes_on_with_the_attempts_that_are_left(
    runs, stored, max_attempts, retry_failures, n_calls
):
    before = [WRITTEN[name] for name in stored.split()]
    runs.put(before)
    model = Model(script("many"))

    calls, frame = runs(model, max_attempts=max_attempts, retry_failures=retry_failures)

    assert calls.n_calls == len(model.requests) == n_calls
    assert frame["failure"].is_null().to_list() == [False]
    assert [row[3] for row in runs.rows()] == list(range(len(before) + n_calls))
    assert [row[4] for row in runs.rows()][: len(before)] == before


def test_a_call_that_ended_is_the_same_when_it_is_read_again(tmp_path):
    """Whatever the server does, a second run finds the end of the first and calls nothing."""
    stories = list(itertools.product([GOOD, "many", ServerError("broke")], repeat=4))
    answer = by_item(lambda number, n: stories[number][min(n, 3)])
    runs = Runs(tmp_path)
    limits = {"max_attempts": 2, "max_retries": 1, "keep_going": True}

    first, frame = runs(ScriptedModel(answer), range(len(stories)), **limits)
    second, again = runs(ScriptedModel(answer), range(len(stories)), **limits)

    assert first.n_calls > len(stories)
    assert second.n_calls == 0
    assert again.equals(frame)
    assert frame["failure"].null_count() not in (0, len(stories))


@pytest.mark.ci
def test_any_byte_that_changes_is_noticed_named_and_the_call_made_again(runs, caplog):
    whole = runs.rows()[0][4]
    blobs = [
        whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        for place in range(len(whole))
    ]

    for blob in [*blobs, b"", b"\x01\xc1", b"{}", b"\x03abc"]:
        runs.put([blob])
        caplog.clear()

        calls, frame = runs(Model(script(GOOD)))

        assert calls.n_calls == 1
        assert frame["probability"].to_list() == [VALUE]
        assert "a stored reply is damaged" in caplog.text
        assert runs.rows()[0][4] == blob  # set aside, and not deleted
    assert runs(Model(script("never asked")))[0].n_calls == 0
