"""Large bodies are read as small ones are, and others get their turn meanwhile."""

import asyncio
import json
import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.adapters import GoldenJudge
from web.in_process import asked_app, begun

GOOD = {"response": "0 1 0, [no] {way}, \\", "prompt": "how?", "id": 1}
DEEP = b'{"items": [' + b'{"response": [' * 200
SPACE = b" " * (257 * 1024)  # from 256 KiB on a body is read in pieces, and is cut so often


@pytest.fixture(scope="module")
def outcome():
    """Give what a body is answered, but for what differs from call to call."""
    with asked_app(queue=5) as (app, run):

        def ask(body):
            answer = run(app.ask("POST", "/v1/rewards", body))
            told = answer.json
            for name in ("seconds", "n_remembered"):
                told.pop(name, None)
            return answer.status, re.sub(r"\(byte \d+\)", "", json.dumps(told))

        yield ask


def wide(body):
    """Put much space between items, or before a body that has none to be found."""
    whole = body.replace(b"}, {", b"}," + SPACE + b"{")
    return whole if len(whole) > len(SPACE) else SPACE + body


@pytest.mark.parametrize(
    "body",
    [
        b'{"items": []}',
        b' {"step" : 3 , "items" : [ ] , "verdicts" : true } ',
        json.dumps({"items": [GOOD] * 5, "explain": True}, indent=2).encode(),
        json.dumps({"items": [GOOD | {"id": n} for n in range(5)], "verdicts": True}).encode(),
        json.dumps({"items": [GOOD] * 6}).encode(),
        json.dumps({"items": [GOOD] * 4 + [{"response": 5}]}).encode(),
        json.dumps({"items": [GOOD] * 4 + [{"response": "x", "more": "canary"}]}).encode(),
        json.dumps({"items": [GOOD] * 2 + [{"response": "half \ud83d"}]}).encode(),
        json.dumps({"items": [{"response": "我不能😀é" * 9}] * 2}, ensure_ascii=False).encode(),
        json.dumps({"items": [GOOD] * 3}).encode()[:-9],
        json.dumps({"items": [GOOD] * 3}).encode() + b" x",
        json.dumps({"items": [GOOD] * 3}).encode()[:-2] + b",]}",
        json.dumps({"items": [GOOD, {"response": "x", "base_reward": float("nan")}]}).encode(),
        b'{"items": [{"response": "a", "response": "b"}]}',
        b'{"items": [{"response": "a"}], "items": [{"response": "a"}]}',
        b'{"items": [{"response": "a"}], "step": 1, "step": 2}',
        b'{"items": [{"response": "a"}], "st\\u0065p": 1, "step": 2}',
        b'{"\\u0069tems": [{"response": "a"}, {"response": "b"}]}',
        b'{"items": [{"response": "a"}, {"response": "\xff"}]}',
        b'{"items": [{"response": "a"} {"response": "b"}]}',
        b'{"items": [{"response": "a"}, {"response": "b\x01"}]}',
        b'{"items": [{"response": "a"}, {"response": "b", "base_reward": 01}]}',
        b'{"items": [{"response": "a"}, {"response": "b"}], "step": [1, 2]}',
        b'{"items": [{"response": "a"}, {"response": "b"}], "strange": 1}',
        b'{"items": [{"response": "a"}, {"response": "b"}], [1]: 2}',
        b'{"items": {"response": "a"}}',
        b'{"step": 3}',
        b'\xef\xbb\xbf{"items": []}',
        b"[]",
        b"",
        DEEP + b"1" + b"]}" * 201,
    ],
    ids=range(31),
)
def test_a_large_body_is_read_or_refused_as_a_small_one(outcome, body):
    assert outcome(wide(body)) == outcome(body)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
items = st.fixed_dictionaries(
    {"response": st.text(max_size=20) | values},
    optional={"prompt": st.text(max_size=9), "id": st.integers(), "other": values},
)
requests = st.fixed_dictionaries(
    {"items": st.lists(items, max_size=6)}, optional={"step": values, "verdicts": st.booleans()}
)


@pytest.mark.ci
@given(asked=requests, is_ascii=st.booleans())
def test_any_large_request_is_read_or_refused_as_a_small_one(outcome, asked, is_ascii):
    body = json.dumps(asked, ensure_ascii=is_ascii).encode("utf-8", "replace")

    assert outcome(wide(body)) == outcome(body)


@dataclass(frozen=True, kw_only=True)
class TellingJudge(GoldenJudge):
    """Tells when it is first asked."""

    asked: list = field(default_factory=list)

    def probabilities(self, items):
        self.asked.append(len(items))
        return super().probabilities(items)


def test_while_a_large_body_is_answered_others_get_their_turn():
    """As often as it has pieces: of 8 MiB at least 32 times before the judge is asked."""
    rows = [{"response": "I'm sorry. " * 370, "behavior": "refuse"}] * 2_000

    async def work():
        judge, n_turns = TellingJudge(), 0
        async with begun(judge) as app:
            asking = asyncio.create_task(app.post(rows))
            while not judge.asked:
                n_turns += 1
                await asyncio.sleep(0)
            return n_turns, (await asking).json["rewards"]

    n_turns, rewards = asyncio.run(work())

    assert rewards == [5.0] * 2_000
    assert n_turns >= 40  # its bytes are counted and decoded in pieces too
