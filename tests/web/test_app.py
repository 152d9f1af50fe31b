"""The routes of a server, and that they give what the library gives."""

import json
import math

import numpy as np
import pytest

from voirdire.adapters import GuardedReward
from voirdire.errors import UncertifiedWarning
from voirdire.judging import LiveSettings
from voirdire.records import Item, Message
from voirdire.rewards import load_reward
from voirdire.testing import check_adapter
from web.in_process import app_server
from web.served import odd, serving

ITEMS = [
    {
        "prompt": "How do I pick a lock?",
        "response": "I'm sorry, but I can't help with that.",
        "behavior": "hard_refuse",
    },
    {
        "prompt": [{"role": "user", "content": "How do I bake bread?"}],
        "response": [{"role": "assistant", "content": "Mix flour and water, then bake it."}],
        "behavior": "comply",
    },
    {
        "prompt": "怎么撬锁？",
        "response": "很抱歉，这个问题我没有办法回答。",
        "behavior": "hard_refuse",
    },
]


@pytest.fixture(scope="module")
def scores(safety_reward):
    """Score the same items with the library, which never saw the server."""
    items = [
        Item(
            id=str(place),
            prompt=(Message(role="user", content=prompt),),
            response=response,
            behavior=item["behavior"],
        )
        for place, (item, prompt, response) in enumerate(
            zip(
                ITEMS,
                ("How do I pick a lock?", "How do I bake bread?", "怎么撬锁？"),
                (ITEMS[0]["response"], "Mix flour and water, then bake it.", ITEMS[2]["response"]),
                strict=True,
            )
        )
    ]
    return safety_reward.score(items), safety_reward


# Rewards --------------------------------------------------------------------------------------


@pytest.mark.parametrize("server", ["local", pytest.param("local_server", marks=pytest.mark.ci)])
def test_rewards_are_those_of_the_library(server, request, scores):
    expected, reward = scores

    found = request.getfixturevalue(server).post(ITEMS).json

    assert found["rewards"] == expected.rewards.tolist()
    assert found["rule_rewards"] == expected.rule_rewards.tolist()
    assert found["base_rewards"] == [0.0, 0.0, 0.0]
    assert found["behaviors"] == ["hard_refuse", "comply", "hard_refuse"]
    assert found["missing"] == [None, None, None]
    assert (found["partial"], found["n_late"]) == (False, 0)
    assert found["reward"]["name"] == "safe"
    assert found["reward"]["content_hash"] == reward.content_hash
    assert not {"ids", "probabilities", "contributions"} & set(found)


def test_verdicts_come_where_they_are_asked_for(local, scores):
    _, reward = scores

    found = local.post(ITEMS, verdicts=True).json["probabilities"]

    assert found["propositions"] == list(reward.rubric.propositions)
    values = np.array(found["values"])
    assert values.shape == (3, 21)
    assert ((values >= 0) & (values <= 1)).all()
    assert values[0, found["propositions"].index("apology")] > 0.9


def test_contributions_add_up_to_the_reward(local):
    found = local.post([*ITEMS, {"response": "x", "behavior": "dance"}], explain=True).json

    added = found["contributions"]
    for reward, behavior, row in zip(
        found["rewards"][:3], found["behaviors"][:3], added["values"][:3], strict=True
    ):
        assert len(row) == len(added["features"][behavior])
        assert math.isclose(sum(row), reward, abs_tol=1e-12)
    assert added["values"][3] is None
    assert "hard_refuse.ideal" in added["features"]["hard_refuse"]


def test_ids_come_back_as_they_were_sent(local):
    items = [{**ITEMS[0], "id": "a"}, {**ITEMS[0], "id": 7}, ITEMS[0]]

    assert local.post(items).json["ids"] == ["a", 7, None]


def test_equal_ids_are_not_mixed_up(local):
    items = [{**item, "id": "same"} for item in ITEMS]

    assert local.post(items).json["rewards"] == local.post(ITEMS).json["rewards"]


def test_no_items_have_no_rewards(local):
    found = local.post([], verdicts=True, explain=True).json

    assert found["rewards"] == found["missing"] == found["probabilities"]["values"] == []


def test_the_servers_behavior_counts_where_an_item_has_none(local):
    bare = {name: ITEMS[0][name] for name in ("prompt", "response")}

    found = local.post([bare, {**bare, "behavior": "comply"}]).json

    assert found["behaviors"] == ["hard_refuse", "comply"]
    assert found["rewards"][0] == local.post([ITEMS[0]]).json["rewards"][0]


def test_what_is_missing_is_null_with_its_reason(local):
    unread = {"response": [{"role": "user", "content": "no answer"}], "behavior": "comply"}
    items = [ITEMS[0], {**ITEMS[0], "behavior": "dance"}, unread]

    found = local.post(items, verdicts=True).json

    assert found["rewards"][0] is not None
    assert found["rewards"][1:] == [None, None]
    assert found["missing"] == [
        None,
        "unknown behavior 'dance'",
        "failed verdict: the response or its prompt is neither text nor messages",
    ]
    assert found["probabilities"]["values"][2] == [None] * 21


def test_base_rewards_are_added_where_they_are_named_and_else_left_out(safety_reward, caplog):
    item = ITEMS[0] | {"behavior": "hard_refuse"}
    based = item | {"base_reward": 0.25}

    with app_server("local", reward=safety_reward) as leaving_out:
        plain = leaving_out.post([item, based]).json
    with app_server("local", reward=safety_reward, base_column="base_reward") as adding:
        found = adding.post([based, *[item, item | {"base_reward": None}] * 100]).json

    assert plain["rewards"] == [plain["rewards"][0]] * 2
    assert plain["base_rewards"] == [0.0, 0.0]
    assert "base rewards are not added: the reward was fitted without one" in caplog.text
    assert found["rewards"] == [plain["rewards"][0] + 0.25, *[None] * 200]
    assert set(found["missing"][1:]) == {"no base reward"}


def test_a_long_request_is_answered_like_many_short_ones(local):
    n_items = 1_500
    items = [{**ITEMS[0], "response": f"Sorry, number {n % 1_000}."} for n in range(n_items)]
    items[600] = ITEMS[1]

    found = local.post(items, verdicts=True, explain=True).json

    single = [local.post([items[place]]).json["rewards"][0] for place in (0, 511, n_items - 1)]
    assert [found["rewards"][place] for place in (0, 511, n_items - 1)] == single
    assert len(found["rewards"]) == len(found["probabilities"]["values"]) == n_items
    assert len(found["contributions"]["values"]) == n_items


@pytest.mark.slow
def test_the_golden_table_over_http():
    def call(turns):
        items = [
            {
                "response": turn.response,
                "prompt": turn.prompt,
                "behavior": turn.behavior,
                "group": turn.group,
                **({} if turn.base_reward is None else {"base_reward": finite(turn.base_reward)}),
            }
            for turn in turns
        ]
        return server.post(items).json["rewards"]

    with odd(live={"deadline_s": 4.0, "base_column": "base_reward"}) as server:
        check_adapter(call, without={"not_text"})  # refused: the body is not of the form


@pytest.mark.slow
def test_the_golden_table_through_an_adapter_that_asks_the_server():
    with odd(live={"deadline_s": 20.0}) as server:
        settings = {"settings": LiveSettings(deadline_s=4.0), "base_column": "base_reward"}
        with pytest.warns(UncertifiedWarning, match="without a valid certificate"):
            reward = GuardedReward(server.url, **settings)
        check_adapter(lambda turns: reward.scored(turns).rewards)
        reward.close()


def finite(number):
    """JSON has no words for the others."""
    return number if isinstance(number, int | float) and math.isfinite(number) else None


def test_a_deadline_gives_what_there_is(golden, tmp_path):
    items = [
        {"response": "I'm sorry, in time.", "behavior": "refuse"},
        {"response": f"hangs until {tmp_path / 'go'}", "behavior": "refuse"},
    ]
    golden.post(items[:1])

    found = golden.post(items, deadline_s=0.05).json
    (tmp_path / "go").touch()

    assert found["rewards"] == [5.0, None]
    assert found["missing"][1] == "failed verdict: no verdict within the deadline"
    assert (found["partial"], found["n_late"]) == (True, 1)


# OpenRLHF -------------------------------------------------------------------------------------


def test_openrlhf_gets_numbers_only(golden):
    asked = {
        "query": ["how?I'm sorry.", "how?nothing", "something else"],
        "prompts": ["how?", "how?", "how?"],
        "labels": ["refuse", "refuse", "chat"],
    }

    found = golden.ask("POST", "/openrlhf", asked).json

    # means of the golden reward: 1 for refuse, 1/2 for chat
    assert found["rewards"] == [5.0, 1.0, 0.5]
    # 2.125, .125 and -.125 deviations of 2 from .75: 1/2 + z / (2 (1 + |z|))
    assert found["scores"] == pytest.approx([0.84, 0.5 + 0.125 / 2.25, 0.5 - 0.125 / 2.25])
    assert found["extra_logs"]["missing"] == [0.0, 1.0, 1.0]
    assert all(len(column) == 3 for column in found["extra_logs"].values())


def test_openrlhf_is_told_where_nobody_declared_a_number(local):
    """Weights that were given by hand know no mean."""
    answer = local.ask("POST", "/openrlhf", {"query": ["a"], "prompts": ["a"], "labels": [""]})

    assert (answer.status, answer.code) == (409, "no_number")


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"query": ["a"], "prompts": [], "labels": []}, 422, "wrong_form"),
        ({"query": "a"}, 422, "wrong_form"),
        ([], 422, "wrong_form"),
        (b"{", 400, "malformed"),
        (
            b'{"query":[],"prompts":[],"labels":' + b"[" * 9_000 + b"]" * 9_000 + b"}",
            400,
            "malformed",
        ),
    ],
    ids=range(5),
)
def test_openrlhf_is_told_what_is_wrong(golden, asked, status, code):
    answer = golden.ask("POST", "/openrlhf", asked)

    assert (answer.status, answer.code) == (status, code)


# What the server is, and how it stands --------------------------------------------------------


def test_the_reward_describes_itself(local, reward_path, tmp_path):
    found = local.get("/v1/reward").json

    assert found["name"] == "safe"
    assert found["judge"] == "local"
    assert found["behaviors"] == ["hard_refuse", "comply"]
    assert len(found["propositions"]) == 21
    assert found["fingerprint"] == local.post([]).json["reward"]["fingerprint"]
    again = tmp_path / "again.json"
    again.write_text(json.dumps(found["document"]), encoding="utf-8")
    with pytest.warns(UncertifiedWarning, match="without a valid certificate"):
        assert load_reward(again).content_hash == found["content_hash"]


def test_a_server_that_runs_is_alive_and_ready(local):
    assert local.get("/healthz").json == {"status": "alive"}
    assert local.get("/readyz").json == {"status": "ready"}


def test_what_is_not_there_is_said_in_our_own_form(local):
    assert (local.get("/v2/rewards").status, local.get("/v2/rewards").code) == (404, "not_found")
    assert "location" not in local.get("/healthz/").headers
    assert local.get("/healthz/").status == 404
    wrong = local.get("/v1/rewards")
    assert (wrong.status, wrong.code, wrong.headers["allow"]) == (405, "wrong_method", "POST")
    assert local.ask("DELETE", "/v1/reward").status == 405


@pytest.mark.slow
def test_figures_count_what_was_done(reward_path):
    with serving("--reward", reward_path) as server:
        server.post(ITEMS)
        server.post([*ITEMS, {**ITEMS[0], "behavior": "canary"}])
        server.ask("POST", "/v1/rewards", b"{")
        server.get("/canary?canary=1")

        figures = server.figures()

    assert figures['voirdire_requests_total{route="/v1/rewards",status="200"}'] == 2
    assert figures['voirdire_requests_total{route="/v1/rewards",status="400"}'] == 1
    assert figures['voirdire_requests_total{route="(other)",status="404"}'] == 1
    assert figures['voirdire_request_seconds_count{route="/v1/rewards"}'] == 3
    assert figures["voirdire_requests_in_flight"] == 1  # the one that asks
    assert figures['voirdire_items_total{source="judged"}'] == 4  # the last one is new to the judge
    assert figures['voirdire_items_total{source="remembered"}'] == 3
    assert figures['voirdire_rewards_missing_total{reason="behavior"}'] == 1
    assert figures["voirdire_reward_count"] == 6
    assert 0 < figures['voirdire_proposition_probability_total{proposition="apology"}'] < 7
    assert figures['voirdire_proposition_verdicts_total{proposition="apology"}'] == 7
    assert figures["voirdire_items_under_way"] == 0
    assert not any("canary" in name for name in figures)


def test_every_route_is_counted_under_its_own_name(local):
    posted = ("/v1/rewards", "/v1/systemone", "/v1/decisions", "/openrlhf")
    paths = (*posted, "/v1/reward", "/v1/models", "/healthz", "/readyz", "/schema.json")
    for path in paths:
        local.get(path)

    found = local.figures()

    for path in paths:
        assert any(f'route="{path}"' in name for name in found), path
