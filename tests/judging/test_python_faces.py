"""The faces of judging in Python: names of models, stores by default, async, progress."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

import voirdire
from judging.conftest import TINY
from judging.live.live_cases import RUBRIC, Gated, Script, items_of, until
from servers.faulty import faulty_server  # noqa: F401  # a fixture
from voirdire.errors import AccessError, DoubtfulLabelsWarning, InputError
from voirdire.judging import LlmJudge, judge_items
from voirdire.rubrics import rubric_from_text
from voirdire.testing import ScriptedModel

STORE = "voirdire-replies.sqlite"


@pytest.fixture
def server(faulty_server, tmp_path, monkeypatch):  # noqa: F811
    """A server that answers, and a folder of its own to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    said = {"sorry": 0.25, "tone": "warm", "rude": 0.5}
    faulty_server.answer = lambda item, key, form: said[key]
    return faulty_server


def judged(**settings):
    return voirdire.judge(items_of(6), rubric=RUBRIC, **settings)


def test_a_model_is_named_with_its_address(server):
    judge = LlmJudge(model="openai/test", base_url=server.url, probability="stated")

    found = judged(judge=judge)

    assert judge.name == "openai/test"
    assert found.probabilities.tolist() == [[0.25, 0.5]] * 6


def test_half_a_surrogate_pair_in_a_row_loses_no_other():
    rows = [{"prompt": "Q", "response": "Half \ud83d here."}, {"response": "I'm sorry."}]

    found = voirdire.judge(rows)

    assert found.probabilities.shape == (2, 21)
    assert not found.failures


def test_what_to_beware_of_is_said_after_the_last_batch(server):
    server.answer = lambda item, key, form: 0.5
    server.script = lambda item, n: "content_filter" if item == "item-3" else "ok"
    judge = LlmJudge(model="openai/test", base_url=server.url, probability="stated")

    with pytest.warns(DoubtfulLabelsWarning, match=r"the same answer, 0\.5"):
        list(judge_items(items_of(30), judge, rubric=rubric_from_text(TINY)))


def test_replies_of_a_server_are_stored_by_default(server):
    judge = LlmJudge(model="openai/test", base_url=server.url, probability="stated")

    first = judged(judge=judge)
    again = judged(judge=judge)
    apart = judged(judge=judge, store=False)

    assert Path(STORE).is_file()
    assert (first.calls.n_calls, again.calls.n_calls, apart.calls.n_calls) == (6, 0, 6)
    assert (again.calls.n_reused, apart.calls.n_reused) == (6, 0)


def test_what_was_paid_before_is_not_paid_again(server):
    judge = LlmJudge(model="openai/test", base_url=server.url, probability="stated")

    first = voirdire.judge(items_of(4), rubric=RUBRIC, judge=judge)
    rest = judged(judge=judge)

    assert (first.calls.n_calls, rest.calls.n_calls, rest.calls.n_reused) == (4, 2, 4)


def test_a_judge_that_is_named_takes_a_base_url(server):
    with pytest.raises(AccessError) as caught:
        judged(judge="openai/test", base_url=server.url.replace("/v1", "/v2"))
    assert "openai/test" in str(caught.value) or "404" in str(caught.value)


@pytest.mark.parametrize("judge", ["local", ScriptedModel])
def test_a_base_url_beside_anything_else_is_refused(judge):
    judge = judge if isinstance(judge, str) else LlmJudge(model=judge(lambda request: {}))

    with pytest.raises(InputError, match="`base_url` must come with the name of a model"):
        judged(judge=judge, base_url="http://127.0.0.1:1/v1")
    with pytest.raises(InputError, match="`base_url` must come with the name of a model"):
        LlmJudge(model=ScriptedModel(lambda request: {}), base_url="http://127.0.0.1:1/v1")


def test_what_is_no_model_is_refused_with_a_way_out():
    with pytest.raises(InputError, match=r"got 3\. Give a name, such as 'openai/gpt-4o-mini'"):
        LlmJudge(model=3)


def test_a_scripted_model_is_stored_only_where_that_is_wanted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = Script()
    judge = LlmJudge(model=script.model, probability="stated")

    judged(judge=judge)
    assert not Path(STORE).exists()
    judged(judge=judge, store="mine.sqlite")
    judged(judge=judge, store="mine.sqlite")

    assert script.n_calls == 12


@pytest.mark.parametrize("judge", ["local", "model"])
def test_judging_in_a_running_loop_gives_the_same(judge):
    rubric = "safety" if judge == "local" else RUBRIC
    judge = judge if judge == "local" else LlmJudge(model=Script().model, probability="stated")
    settings = {"judge": judge, "rubric": rubric}

    async def twice():
        return await asyncio.gather(
            voirdire.ajudge(items_of(20), **settings), voirdire.ajudge(items_of(20), **settings)
        )

    first, second = asyncio.run(twice())
    plain = voirdire.judge(items_of(20), **settings)

    assert np.array_equal(first.probabilities, plain.probabilities, equal_nan=True)
    assert np.array_equal(second.probabilities, plain.probabilities, equal_nan=True)
    assert first.fingerprint == plain.fingerprint
    assert (first.calls is None) == (judge == "local")


def test_what_is_wrong_is_raised_in_a_running_loop_too():
    script = Script(lambda response: AccessError("no key", status=401))

    with pytest.raises(AccessError, match="no key"):
        asyncio.run(voirdire.ajudge(items_of(3), judge=LlmJudge(model=script.model), rubric=RUBRIC))
    with pytest.raises(InputError, match="`items`"):
        asyncio.run(voirdire.ajudge("text"))


class OpenForTheFirst(Gated):
    """A gated model whose first call, which goes alone, passes."""

    async def reply(self, request):
        if not self.n_inside:
            self.gate.set()
        try:
            return await super().reply(request)
        finally:
            if self.n_inside == 1:
                self.gate.clear()


def test_a_cancelled_judging_keeps_what_was_in_flight(tmp_path):
    script = Script()
    store = tmp_path / "replies.sqlite"

    async def cancelled():
        model = OpenForTheFirst(script.answer)
        judge = LlmJudge(model=model, probability="stated", concurrency=3)
        judging = asyncio.create_task(
            voirdire.ajudge(items_of(50), judge=judge, rubric=RUBRIC, store=store)
        )
        await until(lambda: model.n_inside == 4)
        judging.cancel()
        await asyncio.sleep(0)
        model.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await judging

    asyncio.run(cancelled())
    n_paid = script.n_calls
    again = Script()
    judge = LlmJudge(model=again.model, probability="stated")
    judged_again = voirdire.judge(items_of(50), judge=judge, rubric=RUBRIC, store=store)

    assert n_paid == 4
    assert again.n_calls == 46
    assert not np.isnan(judged_again.probabilities).any()


def test_progress_is_told():
    told = []

    judged(judge=LlmJudge(model=Script().model, probability="stated"), progress=told.append)
    assert told[-1].calls.n_calls == 6
    told.clear()
    voirdire.judge(items_of(6), progress=told.append)
    assert [row.n_items for row in told] == [6]
