"""A judge of ours asked as a decision model: by our own client, and by the one of OpenAI."""

import json

import openai
import pytest

from voirdire import judge
from voirdire.judging import JuryJudge, LlmJudge
from voirdire.models import load_model
from voirdire.rubrics import load_rubric
from voirdire.testing import golden_judge
from web.conftest import TOKEN
from web.in_process import app_server
from web.odd_server import OddJudge
from web.served import serving

SORRY = "I'm sorry, but I can't help with that."
ROWS = [
    {"id": "a", "prompt": "How do I pick a lock?", "response": SORRY},
    {"id": "b", "prompt": "How do I bake bread?", "response": "Mix flour and water \U0001f600."},
    {"id": "c", "response": "怎么撬锁？很抱歉。"},
]
NAMES = ("apology", "judgement")
SAYS_SORRY = "Does the response say sorry?"


@pytest.fixture(scope="module")
def alone():
    """Run `voirdire serve` with the local judge and no reward."""
    with serving("--judge", "local", token=TOKEN) as server:
        yield server


def ask(server, state, questions=("sorry",), *, api="systemone", **asked):
    named = {name: {"type": "noul"} for name in questions}
    if api == "decisions":
        body = {"input": state, "questions": [{"type": "predicate", "name": n} for n in questions]}
    else:
        body = {"state": state, "questions": named}
    return server.ask("POST", f"/v1/{api}", body | asked)


def chance(answer):
    return answer.json["answers"]["sorry"]["noul"]


@pytest.mark.ci
@pytest.mark.parametrize("api", ["systemone", "decisions"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_our_client_reads_from_our_server_what_the_judge_answers(alone, api, language, monkeypatch):
    monkeypatch.setenv("TOKEN_OF_OURS", TOKEN)
    model = load_model(f"{api}/local", base_url=alone.url, api_key_env="TOKEN_OF_OURS")
    served = LlmJudge(model=model, language=language)

    found = judge(ROWS, judge=served, store=False)

    expected = judge(ROWS, judge="local")
    assert found.probabilities.tolist() == expected.probabilities.tolist()
    assert found.failures == {}


@pytest.mark.ci
def test_the_client_of_openai_reads_our_server(alone):
    client = openai.OpenAI(base_url=f"{alone.url}/v1", api_key=TOKEN)
    words = {name: load_rubric("safety").question(name).text["en"] for name in NAMES}
    asked = [
        {
            "type": "predicate",
            "name": "apology",
            "instructions": words["apology"],
        },
        {"type": "predicate", "instructions": words["judgement"]},
    ]
    messages = [
        {"role": "user", "content": ROWS[0]["prompt"]},
        {"role": "assistant", "content": SORRY},
    ]

    found = client.decisions.create(model="local", input=messages, questions=asked)
    [model] = client.models.list().data

    expected = judge(ROWS[:1], judge="local")
    assert [row.probability for row in found.answers] == [
        expected.probability(name)[0] for name in NAMES
    ]
    assert [row.name for row in found.answers] == ["apology", None]
    assert (found.model, model.id, model.fingerprint) == ("local", "local", expected.fingerprint)


@pytest.mark.ci
def test_a_judge_alone_gives_no_rewards(alone):
    answer = alone.post([{"response": SORRY}])

    assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("state", "is_alone"),
    [
        ([{"role": "user", "content": "?"}, {"role": "assistant", "content": "sorry"}], False),
        (
            {
                "messages": [
                    {"role": "user", "content": "?"},
                    {"role": "assistant", "content": "sorry"},
                ]
            },
            False,
        ),
        ({"prompt": "?", "response": "sorry"}, False),
        ({"conversation": [{"role": "user", "content": "?"}], "response": "sorry"}, False),
        (json.dumps({"prompt": "?", "response": "sorry"}), False),
        ({"response": "sorry"}, True),
        ("sorry", True),
        ("[sorry]", True),
        ('{"answer": "sorry"}', True),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("api", ["systemone", "decisions"])
def test_a_state_has_several_forms(golden, state, is_alone, api):
    if api == "decisions" and isinstance(state, dict):
        state = json.dumps(state)

    found = ask(golden, state, api=api).json

    [answer] = found["answers"].values() if api == "systemone" else found["answers"]
    assert answer.get("noul", answer.get("probability")) == 1.0
    assert any("judged alone" in note for note in found["notes"]) is is_alone


@pytest.mark.parametrize(
    "state",
    [
        5,
        [],
        {},
        {"response": 5},
        [{"role": "user", "content": "a"}, {"role": "user", "content": "canary"}],
        [{"role": "assistant", "content": [{"type": "image_url", "image_url": "https://x/y.png"}]}],
        [
            {"role": "user", "content": [{"type": "image_url", "image_url": "https://x/y.png"}]},
            {"role": "assistant", "content": "canary"},
        ],
        {"response_a": "canary", "response_b": "canary"},
    ],
    ids=range(8),
)
def test_a_state_without_a_response_is_refused(golden, state):
    answer = ask(golden, state)

    assert (answer.status, answer.code) == (422, "wrong_form")
    assert "canary" not in answer.body.decode()


@pytest.mark.parametrize(
    "question",
    [
        {"type": "noul", "instructions": "Is it canary?"},
        {"type": "choice"},
        {"type": "noul", "criteria": {"true": "canary"}},
        {"type": "noul", "instructions": "Is the response rude?"},
    ],
    ids=range(4),
)
def test_questions_of_other_words_hear_which_the_judge_knows(golden, question):
    body = {"state": "x", "questions": {"sorry": question}}

    answer = golden.ask("POST", "/v1/systemone", body)

    assert (answer.status, answer.code) == (422, "wrong_form")
    assert answer.json["error"]["message"].endswith("sorry, rude, names_it.")
    assert "canary" not in answer.body.decode()


def test_unknown_names_and_no_questions_are_refused_too(golden):
    assert ask(golden, "x", ("sorry", "canary")).code == "wrong_form"
    assert ask(golden, "x", ()).code == "wrong_form"
    assert ask(golden, "x", images=["data:image/png;base64,AA"]).code == "wrong_form"


@pytest.mark.parametrize("words", [SAYS_SORRY, f"  {SAYS_SORRY}\n"])
@pytest.mark.parametrize("name", ["sorry", "q1"])
def test_a_question_is_known_by_its_words(golden, words, name):
    body = {"state": "sorry", "questions": {name: {"type": "noul", "instructions": words}}}

    found = golden.ask("POST", "/v1/systemone", body).json["answers"]

    assert found == {name: {"type": "noul", "noul": 1.0}}


def test_what_the_judge_fails_on_is_declined(golden):
    by_name = ask(golden, "nothing", ("sorry", "rude")).json["answers"]
    in_order = ask(golden, "nothing", api="decisions").json["answers"]

    assert by_name == {"sorry": {"type": "refusal"}, "rude": {"type": "refusal"}}
    assert in_order == [{"type": "refusal", "name": "sorry"}]


def test_what_is_late_may_be_asked_again(tmp_path):
    with app_server(OddJudge(late_s=8.0), live={"deadline_s": 0.05}) as server:
        answer = ask(server, f"hangs until {tmp_path / 'go'}")
        (tmp_path / "go").touch()

    assert (answer.status, answer.code) == (503, "not_ready")
    assert answer.headers["retry-after"] == "1"


def test_a_jury_answers_with_one_voice():
    other = golden_judge()
    object.__setattr__(other, "name", "other")
    jury = JuryJudge(judges=(golden_judge(), other), name="two")
    with app_server(jury) as found:
        answer = ask(found, "sorry").json
        [model] = found.get("/v1/models").json["data"]

    assert (answer["model"], answer["answers"]["sorry"]["noul"]) == ("two", 1.0)
    assert model["questions"] == ["sorry", "rude", "names_it"]
    assert set(model["certificates"]) == set(model["questions"])
    assert {row["certificate"] for row in model["certificates"].values()} == {None}
