"""Figures: what is counted under which name, and means by hand."""

import asyncio

import pytest

from voirdire.judging import LlmJudge, Price
from voirdire.records import Reply, Usage
from voirdire.rewards import LiveReward, reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.testing import ScriptedModel
from voirdire.web import ServerSettings, create_app
from web.in_process import AskedApp, begun


def item(*probabilities):
    """Make an item of which the judge thinks so."""
    return {"response": " ".join(map(str, probabilities)), "behavior": "chat"}


def figures_after(*requests):
    async def ask():
        async with begun() as app:
            for items in requests:
                assert (await app.post(items)).status == 200
            return await app.figures()

    return asyncio.run(ask())


def test_items_are_counted_by_where_their_verdicts_came_from():
    known = item(0, 0, 1)  # good: .5 + 2
    unknown = {**item(0, 0, 0), "behavior": None}

    found = figures_after([known], [known, item(0, 1, 0), item(0, "nan", 0), unknown])

    sources = ("remembered", "stored", "judged", "none")
    assert [found["voirdire_items_total", s] for s in sources] == [1, 0, 3, 1]
    assert found["voirdire_reward_count",] == 3
    assert found["voirdire_reward_sum",] == 2.5 + 2.5 - 1.0
    assert found["voirdire_rewards_missing_total", "behavior"] == 1
    assert found["voirdire_rewards_missing_total", "failed_verdict"] == 1


def test_sums_of_probabilities_leave_out_what_is_missing():
    found = figures_after([item(0.2, "nan", 0.5), item(0.6, "nan", 0.5)], [])

    total, n = "voirdire_proposition_probability_total", "voirdire_proposition_verdicts_total"
    assert found[total, "sorry"] == pytest.approx(0.8)  # .2 + .6
    assert (found[n, "sorry"], found[n, "rude"], found[total, "rude"]) == (2, 0, 0)


def test_a_judge_that_costs_nothing_has_no_figure_of_its_cost():
    assert ("voirdire_judge_cost_dollars_total",) not in figures_after([item(0, 0, 0)])


def test_calls_failures_and_cost_of_a_language_model_are_counted():
    def answered(request):
        said = "nonsense" if "poor" in request.messages[-1].content else '{"sorry": 0.5}'
        return Reply(text=said, usage=Usage(1_000_000, 0))

    judge = LlmJudge(
        model=ScriptedModel(answered),
        probability="stated",
        price=Price(input=0.25, output=0.0),
        max_attempts=1,
    )
    reward = reward_of_weights({"b": {"sorry": 1.0}}, rubric=rubric_from_text(RUBRIC), name="r")

    async def ask():
        live = LiveReward(reward, judge=judge, other_judge=True)
        app = create_app(live, settings=ServerSettings(behavior="b"))
        async with app.router.lifespan_context(app):
            asked = AskedApp(app)
            await asked.post([{"response": "good"}, {"response": "poor"}])
            return await asked.figures()

    found = asyncio.run(ask())

    assert found["voirdire_judge_calls_total",] == 2
    assert found["voirdire_judge_failures_total",] == 1
    assert found["voirdire_judge_cost_dollars_total",] == 0.5
    assert found["voirdire_judge_broken",] == 0
    assert found["voirdire_items_waiting",] == found["voirdire_items_under_way",] == 0


RUBRIC = """
schema: voirdire.rubric/1
name: one
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
behaviors:
  b:
    demands: {sorry: required}
    classes: {good: all(required), poor: otherwise}
"""


def test_two_servers_in_a_process_count_apart():
    async def ask():
        async with begun() as one, begun() as other:
            await one.ask("GET", "/healthz")
            return await one.figures(), await other.figures()

    one, other = asyncio.run(ask())

    assert one["voirdire_requests_total", "/healthz", "200"] == 1
    assert ("voirdire_requests_total", "/healthz", "200") not in other
