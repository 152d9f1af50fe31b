"""What the engine promises, in a run and in a call with a deadline alike."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest

import voirdire
from judging.calls.scripted_calls import reply_of
from judging.live.live_cases import RUBRIC, Live, Script, items_of, probability
from voirdire.errors import (
    AccessError,
    ModelTimeoutError,
    RateLimitError,
    RefusalError,
    ServerError,
)
from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge, ScriptedJudge
from voirdire.records import Failure
from voirdire.testing import ScriptedModel

KEYS = RUBRIC.propositions


def in_a_run(judge, items, *, store=None):
    """Judge items as a run of judging does."""
    found = voirdire.judge(items, judge=judge, rubric=RUBRIC, store=store or False)
    return SimpleNamespace(
        probabilities=found.probabilities,
        failures=[found.missing.get(item.id) for item in items],
    )


def with_a_deadline(judge, items, *, store=None):
    """Ask about items as a trainer or a server does."""

    async def asked():
        live = Live(judge, rubric=RUBRIC, store=store, deadline_s=30.0)
        await live.start()
        try:
            return await live.ask(items)
        finally:
            await live.close(drain_s=5.0)

    found = asyncio.run(asked())
    return SimpleNamespace(probabilities=found.probabilities, failures=list(found.failures))


@pytest.fixture(params=[in_a_run, with_a_deadline])
def ask(request):
    return request.param


def judge_of(script, **settings):
    settings = {"probability": "stated"} | settings
    return LlmJudge(model=script.model, **settings)


def expected(items):
    return np.array(
        [[probability(item.response, key, "None/sorry") for key in KEYS] for item in items]
    )


def test_every_item_gets_its_own_answer(ask):
    items = items_of(70)

    found = ask(judge_of(Script()), items)

    assert found.probabilities == pytest.approx(expected(items))
    assert found.failures == [None] * 70


def test_what_is_stored_is_not_called_again(ask, tmp_path):
    script, items = Script(), items_of(30)

    first = ask(judge_of(script), items, store=tmp_path / "replies.sqlite")
    again = ask(judge_of(script), items, store=tmp_path / "replies.sqlite")

    assert script.n_calls == 30
    assert np.array_equal(first.probabilities, again.probabilities)


def test_what_a_run_stored_serves_a_deadline_and_the_other_way_round(tmp_path):
    script, items = Script(), items_of(20)

    in_a_run(judge_of(script), items[:12], store=tmp_path / "replies.sqlite")
    with_a_deadline(judge_of(script), items, store=tmp_path / "replies.sqlite")
    found = in_a_run(judge_of(script), items, store=tmp_path / "replies.sqlite")

    assert script.n_calls == 20
    assert found.probabilities == pytest.approx(expected(items))


def test_equal_items_are_one_call(ask):
    script = Script()
    (item,) = items_of(1)
    equal = [
        voirdire.Item(id=f"e{n}", prompt=item.prompt, response=item.response) for n in range(200)
    ]

    found = ask(judge_of(script), equal)

    assert script.n_calls == 1
    assert np.unique(found.probabilities, axis=0).shape == (1, 2)


def test_a_call_that_fails_is_a_failure_and_never_a_value(ask):
    script = Script(lambda response: RefusalError("no") if "item-3," in response else None)
    items = items_of(6)

    found = ask(judge_of(script), items)

    assert [row for row, why in enumerate(found.failures) if why] == [3]
    assert found.failures[3].startswith("refusal by the judge")
    assert np.isnan(found.probabilities).all(axis=1).nonzero()[0].tolist() == [3]


def test_a_reply_that_cannot_be_read_is_asked_for_again_and_then_a_failure(ask):
    script = Script(lambda response: "prose" if "item-1," in response else None)

    found = ask(judge_of(script), items_of(3))

    assert script.n_calls == 1 + 3 + 1
    assert found.failures[1].startswith("unreadable reply")
    assert not np.isnan(found.probabilities[[0, 2]]).any()


def test_one_odd_answer_has_the_call_made_again(ask):
    asked = []

    def answer(request):
        asked.append(request)
        return {"sorry": 7 if len(asked) == 1 else 0.25, "tone": "warm", "rude": 0.5}

    found = ask(LlmJudge(model=ScriptedModel(answer), probability="stated"), items_of(1))

    assert len(asked) == 2
    assert found.probabilities.tolist() == [[0.25, 0.5]]


def test_an_error_that_passes_is_tried_again(ask):
    seen = []

    def fault(response):
        seen.append(response)
        if seen.count(response) == 1:
            return (RateLimitError("busy", retry_after_s=0.0), ServerError("down", status=503))[
                len(seen) % 2
            ]
        return None

    items = items_of(4)

    found = ask(judge_of(Script(fault)), items)

    assert found.failures == [None] * 4
    assert len(seen) == 8


def test_the_first_question_of_single_goes_before_the_others(ask):
    script = Script()

    ask(judge_of(script, mode="single", concurrency=8), items_of(1))

    keys = [key for (_, key), n in script.seen.items() for _ in range(n)]
    assert sorted(keys) == [("rude",), ("sorry",), ("tone",)]
    assert next(iter(script.seen))[1] == ("sorry",)


class Waiting:
    """A model that says how many calls are open when the first and the others are sent."""

    name, settings, capabilities = "waiting", {}, voirdire.models.Capabilities()

    def __init__(self):
        self.open, self.seen = 0, []

    async def reply(self, request):
        (key,) = json.loads(request.schema)["properties"]
        self.open += 1
        await asyncio.sleep(0.05)
        self.seen.append((key, self.open))
        self.open -= 1
        said = '"warm"' if key == "tone" else "0.5"
        return reply_of(f'{{"{key}": {said}}}', request)

    async def close(self):
        pass


def test_the_others_of_single_wait_for_the_first(ask):
    model = Waiting()

    ask(LlmJudge(model=model, mode="single", probability="stated"), items_of(1))

    assert model.seen[0] == ("sorry", 1)
    assert {key for key, _ in model.seen[1:]} == {"tone", "rude"}


def test_what_concerns_every_call_ends_a_run_and_lets_a_judge_in_service_rest():
    script = Script(lambda response: AccessError("the key is not valid", status=401))
    items = items_of(100)

    with pytest.raises(AccessError, match="not valid"):
        in_a_run(judge_of(script, concurrency=4), items)
    n_run = script.n_calls
    found = with_a_deadline(judge_of(script, concurrency=4), items)

    assert n_run <= 4
    assert set(found.failures) == {"the judge is out of order: AccessError"}
    assert script.n_calls - n_run <= 8


def test_a_deadline_of_a_call_is_a_failure_of_its_item(ask):
    script = Script(
        lambda response: ModelTimeoutError("no reply within 1 s") if "item-2," in response else None
    )

    found = ask(judge_of(script, max_retries=0), items_of(4))

    assert [row for row, why in enumerate(found.failures) if why] == [2]
    assert found.failures[2].startswith("timeout")


def test_samples_vote_alike(ask):
    script, items = Script(), items_of(5)
    script.model = ScriptedModel(
        lambda request: {"sorry": request.seed % 2 == 0, "tone": "warm", "rude": False}
    )

    found = ask(judge_of(script, probability="vote", n_samples=5), items)

    assert found.probabilities.tolist() == [[0.6, 0.0]] * 5  # seeds 0 to 4: three are even


ONLY = voirdire.rubrics.rubric_from_text(
    """
schema: voirdire.rubric/1
name: only
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  comply: {demands: {sorry: required}, classes: {good: all(required), poor: otherwise}}
"""
)


@pytest.mark.parametrize("made_of", ["cascade", "jury"])
def test_judges_made_of_judges_say_the_same(made_of, tmp_path, monkeypatch):
    items = items_of(20)
    half = ScriptedJudge(
        name="half",
        questions=KEYS,
        answer=lambda item: [0.5, 0.0] if item.response < "I am item-3" else [0.0, 0.0],
    )
    model = judge_of(Script())
    judge = (
        CascadeJudge(first=half, then=model, unsure=(0.1, 0.9))
        if made_of == "cascade"
        else JuryJudge(judges=(half, model), weights=(1, 3))
    )
    monkeypatch.setattr(f"{__name__}.RUBRIC", ONLY)

    run = in_a_run(judge, items, store=tmp_path / "replies.sqlite")
    served = with_a_deadline(judge, items)

    assert np.array_equal(run.probabilities, served.probabilities)
    assert len(np.unique(run.probabilities[:, 0])) > 5
    assert run.failures == served.failures == [None] * 20
    assert not any(isinstance(why, Failure) for why in run.failures)
