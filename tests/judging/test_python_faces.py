"""The faces of judging in Python: names of models, stores by default, async, progress."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

import voirdire
from judging.conftest import TINY
from judging.live.live_cases import RUBRIC, Gated, Script, items_of, judge_of, until
from servers.faulty import faulty_server  # noqa: F401  # a fixture
from voirdire.errors import DoubtfulLabelsWarning, InputError
from voirdire.judging import LlmJudge, judge_items
from voirdire.rubrics import rubric_from_text

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

    first = voirdire.judge(items_of(4), rubric=RUBRIC, judge=judge)
    again = judged(judge=judge)
    apart = judged(judge=judge, store=False)

    assert judge.name == "openai/test"
    assert apart.probabilities.tolist() == [[0.25, 0.5]] * 6
    assert Path(STORE).is_file()
    assert (first.calls.n_calls, again.calls.n_calls, apart.calls.n_calls) == (4, 2, 6)
    assert (again.calls.n_reused, apart.calls.n_reused) == (4, 0)


def test_a_scripted_model_is_stored_only_where_that_is_wanted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = Script()
    judge = judge_of(script)

    judged(judge=judge)
    assert not Path(STORE).exists()
    judged(judge=judge, store="mine.sqlite")
    judged(judge=judge, store="mine.sqlite")

    assert script.n_calls == 12


@pytest.mark.parametrize("judge", ["local", "model"])
def test_judging_in_a_running_loop_gives_the_same(judge):
    rubric = "safety" if judge == "local" else RUBRIC
    judge = judge if judge == "local" else judge_of(Script())
    settings = {"judge": judge, "rubric": rubric}

    async def twice():
        judgings = [voirdire.ajudge(items_of(20), **settings) for _ in range(2)]
        return await asyncio.gather(*judgings)

    first, second = asyncio.run(twice())
    plain = voirdire.judge(items_of(20), **settings)

    for found in (first, second):
        assert np.array_equal(found.probabilities, plain.probabilities, equal_nan=True)
        assert found.fingerprint == plain.fingerprint
        assert (found.calls is None) == (judge == "local")
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
    again = voirdire.judge(items_of(50), judge=judge_of(Script()), rubric=RUBRIC, store=store)

    assert script.n_calls == 4
    assert again.calls.n_calls == 46
    assert not np.isnan(again.probabilities).any()


def test_progress_is_told():
    told = []

    judged(judge=judge_of(Script()), progress=told.append)
    assert told[-1].calls.n_calls == 6
    told.clear()
    voirdire.judge(items_of(6), progress=told.append)
    assert [row.n_items for row in told] == [6]


def test_a_function_makes_items_of_rows_of_any_other_form():
    found = voirdire.judge(
        [{"q": "How do I pick a lock?", "texts": ["I'm sorry, I can't.", "Take a pin."]}],
        make_item=lambda row: [{"prompt": row["q"], "response": text} for text in row["texts"]],
    )

    assert found.items == ("items:1:0", "items:1:1")
    assert (found.probability("apology") > 0.5).tolist() == [True, False]
