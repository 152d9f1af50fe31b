"""What the engine promises, in a run and in a call with a deadline alike."""

import asyncio
import json
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

import voirdire
from judging.calls.scripted_calls import reply_of
from judging.live.live_cases import RUBRIC, Script, items_of, judge_of, living, probability
from voirdire.errors import ModelTimeoutError, RateLimitError, RefusalError, ServerError
from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge, ScriptedJudge
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
        async with living(judge, rubric=RUBRIC, store=store, deadline_s=30.0) as live:
            return await live.ask(items)

    found = asyncio.run(asked())
    return SimpleNamespace(probabilities=found.probabilities, failures=list(found.failures))


@pytest.fixture(params=[in_a_run, with_a_deadline])
def ask(request):
    return request.param


def expected(items):
    return np.array(
        [[probability(item.response, key, "None/sorry") for key in KEYS] for item in items]
    )


def test_every_item_gets_its_own_answer(ask):
    items = items_of(70)

    found = ask(judge_of(Script()), items)

    assert found.probabilities == pytest.approx(expected(items))
    assert found.failures == [None] * 70


def test_what_a_run_stored_serves_a_deadline_and_the_other_way_round(tmp_path):
    script, items = Script(), items_of(20)

    in_a_run(judge_of(script), items[:12], store=tmp_path / "replies.sqlite")
    with_a_deadline(judge_of(script), items, store=tmp_path / "replies.sqlite")
    found = in_a_run(judge_of(script), items, store=tmp_path / "replies.sqlite")

    assert script.n_calls == 20
    assert found.probabilities == pytest.approx(expected(items))


def test_equal_items_are_one_call(ask):
    script = Script()
    equal = [msgspec.structs.replace(item, id=f"e{n}") for n in range(200) for item in items_of(1)]

    found = ask(judge_of(script), equal)

    assert script.n_calls == 1
    assert np.unique(found.probabilities, axis=0).shape == (1, 2)


@pytest.mark.parametrize(
    ("said", "reason", "n_tries"),
    [
        (RefusalError("no"), "refusal by the judge", 1),
        (ModelTimeoutError("no reply within 1 s"), "timeout", 1),
        ("prose", "unreadable reply", 3),
    ],
)
def test_a_call_that_fails_is_a_failure_and_never_a_value(ask, said, reason, n_tries):
    script = Script(lambda response: said if "item-3," in response else None)

    found = ask(judge_of(script, max_retries=0), items_of(6))

    assert script.n_calls == 5 + n_tries
    assert [row for row, why in enumerate(found.failures) if why] == [3]
    assert found.failures[3].startswith(reason)
    assert np.isnan(found.probabilities).all(axis=1).nonzero()[0].tolist() == [3]


def test_an_error_that_passes_is_tried_again(ask):
    errors = [RateLimitError("busy", retry_after_s=0.0), ServerError("down", status=503)] * 2
    seen = []

    def fault(response):
        seen.append(response)
        return errors.pop() if seen.count(response) == 1 else None

    found = ask(judge_of(Script(fault)), items_of(4))

    assert found.failures == [None] * 4
    assert len(seen) == 8


class Waiting:
    """A model that says how many calls are open when the first and the others are sent."""

    name, settings, capabilities = "waiting", {}, voirdire.models.Capabilities()

    def __init__(self):
        self.n_open, self.seen = 0, []

    async def reply(self, request):
        (key,) = json.loads(request.schema)["properties"]
        self.n_open += 1
        await asyncio.sleep(0.05)
        self.seen.append((key, self.n_open))
        self.n_open -= 1
        said = '"warm"' if key == "tone" else "0.5"
        return reply_of(f'{{"{key}": {said}}}', request)

    async def close(self):
        pass


def test_the_others_of_single_wait_for_the_first(ask):
    model = Waiting()

    ask(LlmJudge(model=model, mode="single", probability="stated"), items_of(1))

    assert model.seen[0] == ("sorry", 1)
    assert {key for key, _ in model.seen[1:]} == {"tone", "rude"}


def test_samples_vote_alike(ask):
    model = ScriptedModel(
        lambda request: {"sorry": request.seed % 2 == 0, "tone": "warm", "rude": False}
    )

    found = ask(LlmJudge(model=model, probability="vote", n_samples=5), items_of(5))

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
