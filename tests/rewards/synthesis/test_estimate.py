"""What a synthesis would call and cost, against what it then calls."""

import pytest

from rewards.synthesis.obedient import N_COMPLETIONS, PROMPTS, RECIPES, SAFETY, judge, writer
from voirdire.errors import NoDataError
from voirdire.judging import LlmJudge, Price
from voirdire.rewards import estimate_synthesis, synthesize
from voirdire.testing import ScriptedModel

PRICE = Price(input=2.0, output=10.0)


def given(**more):
    return {"judge": judge(), "rubric": SAFETY, "recipes": RECIPES, "price": PRICE} | more


def test_calls_tokens_and_price_are_those_of_the_run_that_follows():
    model = writer()

    found = estimate_synthesis(PROMPTS, model=model, **given())
    assert model.calls == []
    synthesize(PROMPTS, model=model, **given())

    texts = [message.content for call in model.calls for message in call.messages]
    # English has four to five characters in a token
    assert found.prompt_tokens == pytest.approx(sum(map(len, texts)) / 4.5, rel=0.15)
    assert (found.n_prompts, found.n_completions, found.n_calls) == (
        3,
        N_COMPLETIONS,
        len(model.calls),
    )
    assert found.n_calls_most == 3 * N_COMPLETIONS
    assert found.completion_tokens == 150 * N_COMPLETIONS
    dollars = (2 * found.prompt_tokens + 10 * found.completion_tokens) / 1e6
    assert found.cost == pytest.approx(dollars)
    assert found.cost_most == pytest.approx(3 * dollars)
    assert (found.n_judge_calls, found.judge_cost) == (0, 0.0)


def test_the_tokens_of_all_prompts_are_those_of_each():
    whole = estimate_synthesis(PROMPTS, model=writer(), **given())
    alone = [estimate_synthesis([row], model=writer(), **given()) for row in PROMPTS]

    assert whole.prompt_tokens == sum(row.prompt_tokens for row in alone)


def test_what_is_stored_is_not_counted_again(tmp_path):
    place = tmp_path / "replies.sqlite"
    synthesize(PROMPTS[:2], model=writer(), store=place, **given())

    found = estimate_synthesis(PROMPTS, model=writer(), store=place, **given())

    assert (found.n_stored, found.n_calls) == (8, 4)


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    estimate_synthesis(PROMPTS, model=writer(), output=tmp_path / "made.jsonl", **given())

    assert list(tmp_path.iterdir()) == []


def test_a_language_model_as_judge_is_counted_too():
    asked = LlmJudge(model=ScriptedModel(lambda request: {}), price=Price(input=1.0, output=1.0))

    found = estimate_synthesis(PROMPTS, model=writer(), **given(judge=asked))

    assert found.n_judge_calls == N_COMPLETIONS
    assert found.judge_cost > 0
    assert found.judge_cost_most == pytest.approx(3 * found.judge_cost)


def test_the_cost_of_verifying_is_that_of_the_run_that_follows():
    calls = []

    def answer(request):
        calls.append(request)
        return dict.fromkeys(SAFETY.propositions, 0.0)

    asked = LlmJudge(model=ScriptedModel(answer), price=Price(input=1.0, output=0.0))
    model = writer(lambda request: f"{request.seed}: " + "These are plain English words. " * 24)

    found = estimate_synthesis(PROMPTS, model=model, **given(judge=asked))
    assert calls == []
    made = synthesize(PROMPTS, model=model, n_attempts=1, **given(judge=asked))

    texts = [message.content for call in calls for message in call.messages]
    assert found.n_judge_calls == len(calls) == made.summary.judge_calls.n_calls
    # English has four to five characters in a token
    assert found.judge_cost * 1e6 == pytest.approx(sum(map(len, texts)) / 4.5, rel=0.15)


def test_a_price_that_nobody_knows_is_none():
    found = estimate_synthesis(PROMPTS, model=writer(), **given(price=None))

    assert (found.cost, found.cost_most, found.price_source) == (None, None, "")


def test_prompts_without_a_behavior_are_counted_and_none_at_all_is_an_error():
    found = estimate_synthesis([*PROMPTS, {"prompt": "Hi"}], model=writer(), **given())

    assert found.n_dropped == 1
    with pytest.raises(NoDataError, match="no behavior"):
        estimate_synthesis(["Hi"], model=writer(), **given())


def test_an_estimate_is_the_same_every_time():
    found = {estimate_synthesis(PROMPTS, model=writer(), **given()).prompt_tokens for _ in range(5)}

    assert len(found) == 1
