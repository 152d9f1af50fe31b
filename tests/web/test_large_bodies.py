"""Large bodies are read as small ones are, and others get their turn meanwhile."""

import asyncio
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.adapters.golden import golden_judge, golden_reward
from voirdire.rewards.live import LiveReward
from voirdire.web import ServerSettings, large_bodies
from voirdire.web.large_bodies import LARGE, CutBody, UncutError, read_large_request
from voirdire.web.reading import read_rewards_request
from voirdire.web.refusals import RefusedError
from voirdire.web.routes import RewardRoutes
from voirdire.web.service import RewardService

GOOD = {"response": "I'm sorry, [no] {way}, \\", "prompt": "how?", "id": 1}
DEEP = b'{"items": [' + b'{"response": [' * 200


@pytest.fixture(scope="module", autouse=True)
def _small_pieces():
    """Cut after every few characters, so that short bodies have many pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_bodies, "LARGE", 30)
        patch.setattr(large_bodies, "_STEP", 7)
        yield


def outcome(read, body):
    try:
        return msgspec.json.encode(read(body, most_items=5))
    except RefusedError as refusal:
        return refusal.code, refusal.message
    except UnicodeEncodeError:
        return "half a pair"


def in_pieces(body, *, most_items):
    return asyncio.run(read_large_request(body, most_items=most_items))


@pytest.mark.parametrize(
    "body",
    [
        b'{"items": []}',
        b' {"step" : 3 , "items" : [ ] , "verdicts" : true } ',
        json.dumps({"items": [GOOD] * 5, "explain": True}, indent=2).encode(),
        json.dumps({"items": [GOOD] * 6}).encode(),
        json.dumps({"items": [GOOD] * 4 + [{"response": 5}]}).encode(),
        json.dumps({"items": [GOOD] * 4 + [{"response": "x", "more": "canary"}]}).encode(),
        json.dumps({"items": [GOOD] * 2 + [{"response": "half \ud83d"}]}).encode(),
        json.dumps({"items": [{"response": "我不能😀é" * 9}]}, ensure_ascii=False).encode(),
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
        b'{"items": [{"response": "a", "base_reward": 01}]}',
        b'{"items": {"response": "a"}}',
        b'{"step": 3}',
        b'\xef\xbb\xbf{"items": []}',
        b"[]",
        b"",
        DEEP + b"1" + b"]}" * 201,
    ],
    ids=range(27),
)
def test_a_body_in_pieces_is_read_or_refused_as_the_whole(body):
    assert outcome(in_pieces, body) == outcome(read_rewards_request, body)


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


@given(requests, st.sampled_from([None, 1]), st.booleans())
def test_any_request_is_read_or_refused_as_the_whole(asked, indent, is_ascii):
    text = json.dumps(asked, indent=indent, ensure_ascii=is_ascii)
    body = text.encode("utf-8", "replace")

    assert outcome(in_pieces, body) == outcome(read_rewards_request, body)


@given(st.lists(items, max_size=6), st.sampled_from(["", " ", "\n\t"]))
def test_pieces_are_the_items_in_their_order_and_the_frame_is_the_rest(several, space):
    rows = [json.dumps(row) for row in several]
    between = f"{space},{space}"
    before, after = f'{{"step":{space}1,"items"{space}:[{space}', f'{space}],"verdicts":true}}'
    cut = CutBody(before + between.join(rows) + after)

    pieces = list(cut.pieces())

    found = [row for piece in pieces for row in json.loads(f"[{piece}]")]
    assert json.dumps(found) == json.dumps(several)
    assert json.loads(cut.frame) == {"step": 1, "items": [], "verdicts": True}


@pytest.mark.parametrize(
    "text",
    [
        '{"step": 1}',
        '{"items": [], "strange": 1}',  # a million of them would be read without a pause
        '{"items": [], "step": 1, "step": 2}',
        '{"items": [], "step": [1, 2]}',
        '{"items": [], [1]: 2}',
    ],
)
def test_what_is_refused_anyway_is_not_cut(text):
    with pytest.raises(UncutError):
        list(CutBody(text).pieces())


def test_while_a_large_body_is_answered_others_get_their_turn(monkeypatch):
    """As often as it has pieces: of 2 MiB at least eight times before the rewards are begun."""
    monkeypatch.setattr(large_bodies, "LARGE", LARGE)
    monkeypatch.setattr(large_bodies, "_STEP", 1024 * 1024)
    rows = [{"response": "I'm sorry. " * 100, "behavior": "refuse"}] * 2_000
    turns = []

    async def work():
        service = RewardService(LiveReward(golden_reward(), judge=golden_judge()), ServerSettings())
        await service.start()
        rewarded = service.rewarded
        is_begun = asyncio.Event()

        async def begun(*args, **more):
            is_begun.set()
            return await rewarded(*args, **more)

        monkeypatch.setattr(service, "rewarded", begun)

        async def other():
            while not is_begun.is_set():
                turns.append(1)
                await asyncio.sleep(0)

        request = Request(json.dumps({"items": rows}).encode())
        answer, _ = await asyncio.gather(RewardRoutes(service).rewards(request), other())
        await service.close()
        return json.loads(answer.body)

    found = asyncio.run(work())

    assert found["rewards"] == [5.0] * 2_000
    assert len(turns) >= 8


class Request:
    """As much of a request as the route reads."""

    def __init__(self, body):
        self.scope = {"headers": []}
        self._body = body

    async def receive(self):
        return {"type": "http.request", "body": self._body, "more_body": False}
