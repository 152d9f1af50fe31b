"""NeMo Gym and slime ask the server in their own forms."""

import asyncio

import pytest

from voirdire.testing import golden_reward
from web.in_process import begun

ROW = {
    "responses_create_params": {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "How?"}]}],
        "instructions": "Be kind.",
    },
    "response": {
        "id": "resp_1", "object": "response", "model": "m", "created_at": 0.0,
        "output": [
            {"type": "reasoning", "id": "r", "summary": []},
            {"type": "message", "id": "m", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "0.5 0.25 1", "annotations": []}]},
        ],
    },
    "verifier_metadata": {"behavior": "refuse", "task": 7},
    "_ng_failure_class": "stale",
}  # fmt: skip


def asked(path, *bodies, **settings):
    async def ask():
        async with begun(missing_reward=-3.0, **settings) as app:
            return [await app.ask("POST", path, body) for body in bodies]

    return asyncio.run(ask())


def rewarded(response, behavior="refuse"):
    async def ask():
        async with begun() as app:
            return await app.post([{"response": response, "behavior": behavior}])

    return asyncio.run(ask()).json["rewards"][0]


def test_nemo_gym_gets_its_row_back_with_the_reward():
    [answer] = asked("/verify", ROW)

    assert answer.status == 200
    assert answer.json["reward"] == rewarded("0.5 0.25 1")
    assert answer.json["reward_components"]["rule_reward"] == answer.json["reward"]
    propositions = golden_reward().rubric.propositions
    parts = answer.json["reward_components"]
    assert [parts[name] for name in propositions] == [0.5, 0.25, 1]
    kept = {name: value for name, value in ROW.items() if name != "_ng_failure_class"}
    assert {name: answer.json[name] for name in kept} == kept
    assert "_ng_failure_class" not in answer.json


def test_a_failure_goes_beside_the_results_of_nemo_gym():
    silent = ROW | {"response": {"output": []}}
    lost = ROW | {"verifier_metadata": {}}

    for answer in asked("/verify", silent, lost):
        assert answer.json["_ng_failure_class"] == "judge_failed"
        assert (answer.json["reward"], answer.json["reward_components"]) == (0.0, {})
        assert answer.json["failure_reason"]


def test_slime_gets_a_number_and_no_text_of_its_own_in_an_error():
    fine, lost, wrong = asked(
        "/slime",
        {"prompt": "How?", "response": "0.5 0.25 1", "label": "refuse"},
        {"prompt": [{"role": "user", "content": "How?"}], "response": "x", "label": None},
        {"prompt": "How?", "label": "secret"},
    )

    assert fine.json == rewarded("0.5 0.25 1")
    assert lost.json == -3.0
    assert (wrong.status, "secret" in wrong.body.decode()) == (422, False)


@pytest.mark.parametrize(
    "body",
    [{}, {"response": {"output": 3}}, ROW | {"response": {"output": ["x"]}},
     ROW | {"responses_create_params": {"input": [{"role": "user"}]}}],
)  # fmt: skip
def test_another_form_is_refused(body):
    [answer] = asked("/verify", body)

    assert (answer.status, answer.json["error"]["code"]) == (422, "wrong_form")


def test_nemo_gym_may_begin_a_session():
    [answer] = asked("/seed_session", {"anything": 1})

    assert (answer.status, answer.json) == (200, {})
