"""Decision models as judges, in both dialects, over HTTP: what is asked, and what is believed."""

import json
import math

import numpy as np
import polars as pl
import pytest

import voirdire
from servers.deciding import running_decider
from voirdire.errors import InputError
from voirdire.judging import LlmJudge, list_replies
from voirdire.models import load_model
from voirdire.rubrics import rubric_from_text
from voirdire.studies import probe_judge

HEAD = 'schema: voirdire.rubric/1\nname: tiny\nversion: "1"\nquestions:\n'
KINDS = """
  - id: sorry
    kind: boolean
    text: Does it say sorry?
    yes_examples: ["I am sorry."]
    no_examples: ["Here you are."]
  - {id: tone, kind: choice, text: "Which tone?", labels: {kind: friendly, rude: }}
  - id: help
    kind: scale
    text: How helpful?
    minimum: 1
    maximum: 3
    levels: {1: "no", 2: some, 3: much}
  - {id: topics, kind: multilabel, text: "About what?", labels: [law, food, war]}
"""
ITEMS = [{"id": f"i{n}", "prompt": f"ask {n}", "response": f"say {n}"} for n in range(4)]


def rubric(text):
    return rubric_from_text(HEAD + text.lstrip("\n"), source="tiny.yaml")


SIMPLE = rubric(
    "  - {id: sorry, kind: boolean, text: Sorry}\n  - {id: rude, kind: boolean, text: Rude}\n"
)
TONE = rubric("  - {id: tone, kind: choice, text: Tone, labels: {kind: , rude: }}\n")
PAIRS = rubric("  - {id: better, kind: pairwise, text: Which is better}\n")


@pytest.fixture
def decider():
    with running_decider() as server:
        yield server


@pytest.fixture(params=["systemone", "decisions"])
def ask(request, decider, tmp_path):
    """Judge items with a decision model of this server."""

    def judge(items=ITEMS, asked=SIMPLE, **settings):
        about = {"store": False, "base_url": decider.url} | settings
        return voirdire.judge(items, rubric=asked, judge=f"{request.param}/m", **about)

    judge.api = request.param
    return judge


pytestmark = pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")


def number_of(state):
    return int(state["response"].split()[1])


# What is asked, and read ------------------------------------------------------------------------


def test_one_call_asks_every_kind_of_question(decider, ask):
    shares = {"kind": 0.7, "rude": 0.3, "0": 0.2, "1": 0.3, "2": 0.5}
    topics = {"topics.1": 0.9, "topics.2": 0.5, "topics.3": 0.1}
    decider.chance = lambda state, name, option: (
        shares[option] if option else topics.get(name, number_of(state) / 10)
    )

    found = ask(asked=rubric(KINDS))

    assert len(decider.bodies) == len(ITEMS)
    assert found.source == "decision"
    assert found.probability("sorry").tolist() == [0.0, 0.1, 0.2, 0.3]
    assert found.answers("tone") == ["kind"] * 4
    assert found.answers("help") == pytest.approx([2.3] * 4)
    assert found.answers("topics") == [("law", "food")] * 4
    spread = math.sqrt(0.2 * 1.3**2 + 0.3 * 0.3**2 + 0.5 * 0.7**2)
    rows = found.frame().filter(pl.col("question") == "help")
    assert rows["spread"].to_list() == pytest.approx([spread] * 4)
    assert found.calls.prompt_tokens == 90 * 4
    assert found.calls.cached_tokens == (60 * 4 if ask.api == "decisions" else 0)


def test_requests_are_those_of_the_dialects(decider, ask):
    decider.chance = lambda state, name, option: {"kind": 1.0, "0": 1.0}.get(option, 0.0)

    ask(ITEMS[:1], rubric(KINDS))

    (body,) = decider.bodies
    state = {"conversation": [{"role": "user", "content": "ask 0"}], "response": "say 0"}
    if ask.api == "systemone":
        assert decider.paths == ["/v1/systemone"]
        assert body == {
            "model": "m",
            "state": state,
            "questions": {
                "sorry": {
                    "type": "noul",
                    "instructions": "Does it say sorry?",
                    "criteria": {"true": "“I am sorry.”", "false": "“Here you are.”"},
                },
                "tone": {
                    "type": "choice",
                    "instructions": "Which tone?",
                    "criteria": {"kind": "friendly", "rude": None},
                },
                "help": {
                    "type": "score",
                    "instructions": "How helpful?",
                    "criteria": ["no", "some", "much"],
                },
                **{
                    f"topics.{n}": {"type": "noul", "instructions": f"About what?\n{label}"}
                    for n, label in enumerate(("law", "food", "war"), start=1)
                },
            },
        }
        return
    assert decider.paths == ["/v1/decisions"]
    assert json.loads(body.pop("input")) == state
    levels = [
        {"label": str(n), "description": text} for n, text in enumerate(("no", "some", "much"), 1)
    ]
    assert body == {
        "model": "m",
        "questions": [
            {
                "type": "predicate",
                "name": "sorry",
                "instructions": "Does it say sorry?\ntrue: “I am sorry.”\nfalse: “Here you are.”",
            },
            {
                "type": "choice",
                "name": "tone",
                "instructions": "Which tone?",
                "choices": [{"value": "kind", "description": "friendly"}, {"value": "rude"}],
            },
            {"type": "score", "name": "help", "instructions": "How helpful?", "levels": levels},
            *(
                {
                    "type": "predicate",
                    "name": f"topics.{n}",
                    "instructions": f"About what?\n{label}",
                }
                for n, label in enumerate(("law", "food", "war"), start=1)
            ),
        ],
    }


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/{api}"])
def test_an_address_may_end_with_its_version_or_endpoint(decider, ask, end):
    ask(ITEMS[:1], base_url=decider.url + end.format(api=ask.api))

    assert decider.paths == [f"/v1/{ask.api}"]


def test_a_pair_is_shown_both_ways_round(decider, ask):
    def chance(state, name, option):
        better = state["response_a"] == "good"
        return 0.8 if option == ("A" if better else "B") else 0.1

    decider.chance = chance
    pairs = [
        {"id": "1", "prompt": "p", "response_a": "good", "response_b": "bad"},
        {"id": "2", "prompt": "p", "response_a": "bad", "response_b": "good"},
    ]

    assert ask(pairs, PAIRS).answers("better") == ["A", "B"]
    assert len(decider.bodies) == 4
    decider.chance = lambda state, name, option: 0.8 if option == "A" else 0.1  # whichever is first
    assert ask(pairs, PAIRS).answers("better") == ["tie", "tie"]


def test_more_questions_than_a_call_takes_are_parted(decider, ask, tmp_path):
    n_questions = 401
    many = rubric(
        "".join(f"  - {{id: q{n}, kind: boolean, text: Is it {n}}}\n" for n in range(n_questions))
    )
    decider.chance = lambda state, name, option: int(name[1:]) / n_questions
    store = tmp_path / "replies.sqlite"

    found = ask(ITEMS[:2], many, store=store)

    sizes = sorted(len(body["questions"]) for body in decider.bodies)
    assert sizes == [1, 1, 400, 400]
    assert found.probabilities.tolist() == [[n / n_questions for n in range(n_questions)]] * 2
    again = ask(ITEMS[:2], many, store=store)
    assert again.probabilities.tolist() == found.probabilities.tolist()
    assert len(decider.bodies) == 4
    assert {row.outcome for row in list_replies(store, rubric=many).replies} == {"reply"}


def test_single_mode_asks_each_question_in_its_own_call(decider, ask):
    found = ask(mode="single")

    assert [len(body["questions"]) for body in decider.bodies] == [1] * 2 * len(ITEMS)
    assert found.probabilities.tolist() == [[0.75, 0.75]] * len(ITEMS)


@pytest.mark.parametrize(
    "question",
    [
        "{id: why, kind: text, text: Why}",
        "{id: n, kind: scale, text: N, minimum: 0, maximum: 99}",
    ],
)
def test_what_it_cannot_answer_is_refused_before_anything_is_sent(decider, ask, question):
    with pytest.raises(InputError, match="a decision model must be asked for truth, labels or"):
        ask(asked=rubric(f"  - {question}\n"))

    assert decider.bodies == []


def test_a_lone_half_of_a_character_is_replaced(decider, ask):
    assert ask([{"response": "say \ud83d 0"}]).probability("sorry").tolist() == [0.75]


# What is not believed ---------------------------------------------------------------------------


def test_a_declined_question_fails_alone_after_one_call(decider, ask, tmp_path):
    decider.refuses = lambda state, name: name == "rude" and number_of(state) == 2
    store = tmp_path / "replies.sqlite"

    found = ask(store=store)

    assert found.probability("sorry").tolist() == [0.75] * 4
    assert [math.isnan(p) for p in found.probability("rude")] == [False, False, True, False]
    assert "decline" in found.missing["i2"]
    assert len(decider.bodies) == len(ITEMS)
    assert ask(store=store).missing == found.missing
    assert len(decider.bodies) == len(ITEMS)


def _set(value):
    def change(body, n_before):
        answers = body["answers"]
        key = "rude" if isinstance(answers, dict) else 1
        field = "noul" if isinstance(answers, dict) else "probability"
        answers[key][field] = value
        return body

    return change


def _drop(body, n_before):
    body["answers"].pop("rude" if isinstance(body["answers"], dict) else 1)
    return body


def _add(body, n_before):
    if isinstance(body["answers"], dict):
        body["answers"]["more"] = {"type": "noul", "noul": 0.5}
    else:
        body["answers"].append({"type": "predicate", "probability": 0.5})
    return body


def _retype(body, n_before):
    key = "rude" if isinstance(body["answers"], dict) else 1
    body["answers"][key] = {"type": "choice", "choice": "true", "probabilities": {"true": 1.0}}
    return body


def _exchange(body, n_before):
    if isinstance(body["answers"], dict):
        return _drop(body, n_before)
    body["answers"].reverse()
    return body


@pytest.mark.parametrize(
    "change",
    [_set(1.5), _set(-0.1), _set(math.nan), _set(None), _set("0.9"), _set(True), _drop, _add,
     _retype, _exchange, lambda body, n: body | {"answers": "none"},
     lambda body, n: body | {"answers": []}],
    ids=["above", "below", "nan", "null", "text", "truth", "missing", "more", "type", "order",
         "no answers", "empty"],
)  # fmt: skip
def test_an_answer_of_another_form_is_no_value(decider, ask, change):
    decider.change = change

    found = ask()

    assert all(math.isnan(p) for p in found.probability("rude"))
    assert set(found.missing) == {row["id"] for row in ITEMS}
    assert len(decider.bodies) == 3 * len(ITEMS)  # it was asked for again


@pytest.mark.parametrize("shares", [(0.7, 0.7), (0.1, 0.1), (1.2, -0.2)])
def test_probabilities_that_are_none_are_no_choice(decider, ask, shares):
    chances = dict(zip(("kind", "rude"), shares, strict=True))
    decider.chance = lambda state, name, option: chances[option]

    found = ask(asked=TONE)

    assert found.answers("tone") == [None] * 4


def test_what_is_answered_twice_fails_alone(decider, ask):
    before, again = '"name": "rude",', '"probability": 0.1, "name": "rude",'
    if ask.api == "systemone":
        before, again = '"rude": {', '"rude": {"noul": 0.1}, "rude": {'
    decider.change = lambda body, n: json.dumps(body).replace(before, again).encode()

    found = ask()

    assert found.probability("sorry").tolist() == [0.75] * 4
    assert all(math.isnan(p) for p in found.probability("rude"))


def test_a_choice_against_its_own_probabilities_is_none(decider, ask):
    decider.chance = lambda state, name, option: {"kind": 0.7, "rude": 0.3}[option]

    def change(body, n_before):
        answers = body["answers"]
        (answers["tone"] if isinstance(answers, dict) else answers[0])["choice"] = "rude"
        return body

    decider.change = change
    found = ask(asked=TONE)

    assert found.answers("tone") == [None] * 4


def test_a_wrapped_answer_and_zeros_of_usage_are_read(decider, ask):
    decider.change = lambda body, n: {
        "result": body | {"usage": {"input_tokens": 0, "output_tokens": 0}}
    }

    found = ask()

    assert found.probability("sorry").tolist() == [0.75] * 4
    assert found.calls.prompt_tokens == 0


def test_errors_are_told_waited_out_and_never_a_value(decider, ask):
    busy = (429, {"error": {"message": "slow down"}})
    decider.change = lambda body, n: busy if n == 0 else body
    found = ask()
    assert found.probability("sorry").tolist() == [0.75] * 4
    assert found.calls.n_retries == len(ITEMS)

    told = {"detail": [{"loc": ["body", "questions"], "msg": "criteria must have two levels"}]}
    decider.change = lambda body, n: (422, told)
    found = ask([{"id": "new", "response": "say 9"}])
    assert "criteria must have two levels" in found.missing["new"]


def test_a_low_label_mass_is_a_caution(decider, ask):
    def change(body, n_before):
        answers = body["answers"]
        for answer in answers.values() if isinstance(answers, dict) else answers:
            answer["label_mass"] = 0.4
        return body

    decider.change = change

    found = ask()

    assert any("60.0%" in note for note in found.calls.steps_down)
    assert found.frame()["missing_mass"].to_list() == pytest.approx([0.6] * 8)


# With what is built on judges -------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("lead", [0.0, 0.3])
def test_the_order_of_options_is_probed_and_repeats_are_the_noise(decider, ask, lead):
    """A model that repeats itself, and one that leans to the option that stands first."""
    rubric_of_both = rubric(
        "  - {id: sorry, kind: boolean, text: Sorry}\n"
        "  - {id: tone, kind: choice, text: Tone, labels: {kind: , dry: , rude: }}\n"
    )

    def chance(state, name, option):
        number = number_of(state)
        shares = dict(zip(("kind", "dry", "rude"), np.roll([0.4, 0.35, 0.25], number), strict=True))
        return number / 60 if option is None else shares[option]

    def lean(body, n_before):
        for answer in body["answers"].values() if ask.api == "systemone" else body["answers"]:
            shares = answer.get("probabilities", [])
            if isinstance(shares, dict):
                first = next(iter(shares))
                shares |= {key: (1 - lead) * p + lead * (key == first) for key, p in shares.items()}
            for place, row in enumerate(shares if isinstance(shares, list) else ()):
                row["probability"] = (1 - lead) * row["probability"] + lead * (place == 0)
            answer.pop("choice", None)
        return body

    decider.chance, decider.change = chance, lean
    rows = [{"id": f"i{n}", "response": f"say {n}"} for n in range(60)]
    model = load_model(f"{ask.api}/m", base_url=decider.url)

    report = probe_judge(
        rows, LlmJudge(model=model), rubric=rubric_of_both, only=["order"], store=False
    )

    names = [f"order/{what}_{n}" for what in ("questions", "options") for n in (1, 2, 3)]
    assert [row.probe for row in report.probes] == [
        name for name in names if name not in ("order/questions_2", "order/questions_3")
    ]
    assert {row.probe.partition("_")[0] for row in report.found} == (
        {"order/options"} if lead else set()
    )
    assert report.stability.flip_rate.estimate == 0


def test_a_judges_file_says_what_the_server_speaks(decider, ask, tmp_path):
    (tmp_path / "judges.yaml").write_text(
        "schema: voirdire.judges/1\njudges:\n"
        f"  - {{name: d, model: m, api: {ask.api}, base_url: '{decider.url}'}}\n"
    )

    found = voirdire.judge(ITEMS, rubric=SIMPLE, judge=tmp_path / "judges.yaml", store=False)

    assert decider.paths[0] == f"/v1/{ask.api}"
    assert (found.judge, found.source) == ("d", "decision")


PICTURE = "data:image/png;base64,iVBORw0KGgo="
SHOWN = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": PICTURE}}]


@pytest.mark.parametrize("sees", [True, False])
def test_images_are_sent_where_the_judge_declares_that_it_sees_them(decider, ask, tmp_path, sees):
    (tmp_path / "judges.yaml").write_text(
        "schema: voirdire.judges/1\njudges:\n"
        f"  - {{name: d, model: m, api: {ask.api}, base_url: '{decider.url}'"
        f"{', capabilities: {images: true}' if sees else ''}}}\n"
    )
    item = {"id": "i", "prompt": [{"role": "user", "content": SHOWN}], "response": "say 1"}

    about = {"rubric": SIMPLE, "judge": tmp_path / "judges.yaml", "store": False}
    found = voirdire.judge([item, ITEMS[0]], **about)

    if not sees:
        [dropped] = found.dropped
        assert "judges read text only" in dropped.reason
        assert (found.items, len(decider.bodies)) == (("i0",), 1)
        return

    assert found.probability("sorry").tolist() == [0.75, 0.75]
    body = next(body for body in decider.bodies if PICTURE in json.dumps(body))
    state = {
        "conversation": [{"role": "user", "content": "Look:\n[image]"}],
        "response": "say 1",
    }
    if ask.api == "systemone":
        assert (body["state"], body["images"]) == (state, [PICTURE])
    else:
        [message] = body["input"]
        text, image = message["content"]
        assert (message["role"], json.loads(text["text"])) == ("user", state)
        assert image == {"type": "input_image", "image_url": PICTURE}


@pytest.mark.parametrize(
    "settings", [{"probability": "stated"}, {"temperature": 0.5, "max_tokens": 5}]
)
def test_what_a_decision_model_has_not_is_refused(ask, settings):
    with pytest.raises(InputError, match=r"`(probability|max_tokens)` must"):
        ask(**settings)


def test_a_chat_model_gives_no_decisions():
    with pytest.raises(InputError, match="a language model does not give its own probabilities"):
        LlmJudge(model="llama", base_url="http://localhost:1/v1", probability="decision")


def test_without_a_key_the_variable_of_the_vendor_is_named(monkeypatch):
    for name in ("TYPESAFE_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for model, address, variable in (
        ("systemone/jev-1", None, "TYPESAFE_API_KEY"),
        ("decisions/gpt-6-luna", None, "OPENAI_API_KEY"),
        ("systemone/x", "https://openrouter.ai/api/alpha/decisions", "OPENROUTER_API_KEY"),
    ):
        with pytest.raises(InputError, match=variable):
            load_model(model, base_url=address)
