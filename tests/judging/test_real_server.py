"""From a question to its answer over a real server, every number worked out by hand again.

A forwarder keeps what llama.cpp's server said; what is expected comes from that JSON alone.
"""

import asyncio
import json
import math
import re
from dataclasses import replace

import msgspec
import pytest

from servers.overheard import overhear
from voirdire.attacks import attacked, attacks
from voirdire.errors import BadRequestError, UnsupportedError, VerdictParseError
from voirdire.judging.asking import Ask
from voirdire.judging.prompts import PromptBuilder, RouterPrompt
from voirdire.judging.reading import ReplyReader, RouterReader
from voirdire.models import OpenAICompatibleModel
from voirdire.records import Item, Message
from voirdire.rubrics import Question, load_rubric

NONCE = "0123456789abcdef"
N_TOP = 20
LANGUAGES, MODES, SOURCES = ("en", "zh"), ("joint", "single"), ("logprob", "stated", "vote")


def question(key, kind, english, chinese, **more):
    return Question(id=key, kind=kind, text={"en": english, "zh": chinese}, **more)


QUESTIONS = (
    question("apology", "boolean", "Does it apologise?", "是否道歉？"),
    question("disclaimer", "boolean", "Does it disclaim?", "是否有免责声明？"),
    question(
        "tone",
        "choice",
        "Which tone?",
        "语气如何？",
        labels={label: {} for label in ("kind", "cold", "neither")},
    ),
    question(
        "topics",
        "multilabel",
        "Which topics?",
        "涉及哪些话题？",
        labels={label: {} for label in ("art", "food", "sport")},
    ),
    question("stars", "scale", "How many stars?", "几颗星？", minimum=1, maximum=5),
    question("share", "scale", "Which share of it?", "占多少？", minimum=0, maximum=1.5),
    question("reason", "text", "Why?", "为什么？"),
)
PAIR = (question("better", "pairwise", "Which is better?", "哪个更好？"),)
ITEMS = tuple(
    Item(
        id=str(number),
        prompt=(Message(role="user", content=f"What about {topic}? 你怎么看？"),),
        response=f"{start} {topic} is <b>not</b> my subject. {topic * 3}",
        other=f"Here is all about {topic}: {topic * 5}.",
    )
    for number, (topic, start) in enumerate(
        [("bread", "I'm sorry,"), ("chess", "No:"), ("maps", "抱歉，"), ("rivers", "")]
    )
)


def judge(server, ask, items=ITEMS, *, form="json_schema", n_top=N_TOP, **sampling):
    """Ask about items; give the answers, and what the server said for each."""
    builder, reader = PromptBuilder(ask), ReplyReader(ask)
    top_logprobs = n_top if ask.probability == "logprob" else None
    more = {"form": form, "top_logprobs": top_logprobs, "temperature": 0} | sampling

    async def run():
        async with overhear(server.address) as wire:
            model = OpenAICompatibleModel(model=server.model, base_url=f"{wire.base_url}/v1")
            try:
                answers = []
                for item in items:
                    request = builder.request(item, nonce=NONCE, **more)
                    answers.append(reader.read(await model.reply(request)))
                return answers, [answer["choices"][0] for answer in wire.answers]
            finally:
                await model.close()

    return asyncio.run(run())


def chances_by_hand(choice, key):
    """P(true) and the missing mass at the value of a key, from the server's JSON."""
    text, steps = choice["message"]["content"], choice["logprobs"]["content"]
    colon = re.search(rf'"{key}"\s*:', text).end()
    begins = [0]
    for step in steps:
        begins.append(begins[-1] + len(step["token"]))
    yes, no = weigh(steps, begins.index(colon))
    return yes / (yes + no), 1 - yes - no


def weigh(steps, place):
    """Sum what spells true and what spells false from a step on; white space puts it off."""
    listed = {top["token"]: math.exp(top["logprob"]) for top in steps[place]["top_logprobs"]}
    words = {token: token.strip().lower() for token in listed}
    yes = math.fsum(listed[t] for t, word in words.items() if word and "true".startswith(word))
    no = math.fsum(listed[t] for t, word in words.items() if word and "false".startswith(word))
    if not steps[place]["token"].strip():
        later_yes, later_no = weigh(steps, place + 1)
        taken = math.exp(steps[place]["logprob"])
        return yes + taken * later_yes, no + taken * later_no
    return yes, no


def first_token(choice, key):
    """The token right after a key's colon."""
    at = re.search(rf'"{key}"\s*:', choice["message"]["content"]).end()
    for step in choice["logprobs"]["content"]:
        if at == 0:
            return step["token"]
        at -= len(step["token"])
    return None


def expected_answer(row, ask, choice):
    value = json.loads(choice["message"]["content"])[row.id]
    if row.kind == "boolean" and ask.probability == "logprob":
        return pytest.approx(chances_by_hand(choice, row.id)[0], abs=1e-12)
    if row.kind == "multilabel":
        return tuple(value)
    if row.kind == "pairwise" and ask.swapped:
        return {"A": "B", "B": "A", "tie": "tie"}[value]
    return value if isinstance(value, str) else float(value)


def check(ask, answers, choices):
    """Compare every answer with what the server said."""
    assert len(answers) == len(choices) > 0
    for answer, choice in zip(answers, choices, strict=True):
        assert set(json.loads(choice["message"]["content"])) == {row.id for row in ask.questions}
        assert list(answer.values) == [expected_answer(row, ask, choice) for row in ask.questions]
        if ask.probability != "logprob" or all(row.kind != "boolean" for row in ask.questions):
            assert answer.missing_mass is None
            continue
        for row, missing in zip(ask.questions, answer.missing_mass, strict=True):
            if row.kind == "boolean":
                assert missing == pytest.approx(chances_by_hand(choice, row.id)[1], abs=1e-9)
            else:
                assert math.isnan(missing)


def first_of(values):
    """Give the first of some values to a run of CI, and all to a full one."""
    return [values[0], *(pytest.param(value, marks=pytest.mark.slow) for value in values[1:])]


@pytest.mark.ci
@pytest.mark.parametrize("language", first_of(LANGUAGES))
@pytest.mark.parametrize("source", first_of(SOURCES))
@pytest.mark.parametrize("form", first_of(["json_schema", "json_object"]))
def test_all_kinds_of_questions_in_one_call(llama_server, form, source, language):
    ask = Ask(questions=QUESTIONS, probability=source, language=language)

    answers, choices = judge(llama_server, ask, form=form)

    check(ask, answers, choices)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row.id)
def test_every_kind_of_question_in_a_call_of_its_own(llama_server, row, source, language):
    ask = Ask(questions=(row,), probability=source, mode="single", language=language)

    answers, choices = judge(llama_server, ask, ITEMS[:2])

    check(ask, answers, choices)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("swapped", [False, True])
def test_pairs_in_both_orders(llama_server, swapped, mode, source, language):
    ask = Ask(questions=PAIR, probability=source, mode=mode, language=language, swapped=swapped)

    answers, choices = judge(llama_server, ask, ITEMS[:2])

    check(ask, answers, choices)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_safety_rubric_in_one_call(llama_server, language):
    questions = load_rubric("safety").questions
    ask = Ask(questions=questions, language=language)

    answers, choices = judge(llama_server, ask)

    check(ask, answers, choices)
    for choice in choices:
        for row in questions:
            assert both_are_listed(choice, row.id)
    assert len({value for answer in answers for value in answer.values}) > len(questions)


def both_are_listed(choice, key):
    """Whether true and false are among the likely tokens where a value may begin."""
    text, steps = choice["message"]["content"], choice["logprobs"]["content"]
    colon, at, seen = re.search(rf'"{key}"\s*:', text).end(), 0, set()
    for step in steps:
        if at >= colon:
            seen |= {top["token"].strip() for top in step["top_logprobs"]}
            if step["token"].strip():
                return {"true", "false"} <= seen
        at += len(step["token"])
    return False


@pytest.mark.slow
def test_however_a_value_is_spelled_its_probability_is_that_of_all_spellings(llama_server):
    # White space of its own, words with a space before them, words in two tokens.
    wanted = {" ", " true", " false", "true", "false", "fal"}

    spelled = set()
    for seed in range(80):
        turned = QUESTIONS[1::-1] if seed % 4 > 1 else QUESTIONS[:2]  # other prompts, other likings
        ask = Ask(questions=turned, language=("en", "zh")[seed % 2])
        answers, choices = judge(llama_server, ask, ITEMS[:2], temperature=1.0, seed=seed)

        check(ask, answers, choices)
        spelled.update(first_token(choice, row.id) for choice in choices for row in ask.questions)
        if wanted <= spelled:
            break
    assert wanted <= spelled


@pytest.mark.slow
def test_orders_of_the_questions_move_probabilities_but_not_their_places(llama_server):
    ask = Ask(questions=QUESTIONS[:2])
    turned = replace(ask, questions=ask.questions[::-1])

    straight, said = judge(llama_server, ask)
    backwards, said_backwards = judge(llama_server, turned)

    check(ask, straight, said)
    check(turned, backwards, said_backwards)
    assert [a.values for a in straight] != [a.values[::-1] for a in backwards]


@pytest.mark.slow
def test_a_token_without_company_gives_no_probability(llama_server):
    # With one likely token a place, the other side is unknown: never 0 or 1 in its stead.
    ask = Ask(questions=QUESTIONS[:2])

    with pytest.raises((UnsupportedError, VerdictParseError)):
        judge(llama_server, ask, n_top=1)


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_babble_is_unreadable_and_never_a_score(llama_server, source):
    ask = Ask(questions=QUESTIONS[:2], probability=source)

    with pytest.raises(VerdictParseError) as caught:
        judge(llama_server, ask, form="text")

    assert caught.value.reply.text


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_behavior_is_chosen_for_a_prompt(llama_server, language):
    rubric = load_rubric("safety")
    prompt = RouterPrompt(rubric, language)
    reader = RouterReader(prompt.behaviors)

    async def run():
        model = OpenAICompatibleModel(model=llama_server.model, base_url=llama_server.base_url)
        try:
            request = prompt.request(ITEMS[0], nonce=NONCE, form="json_schema", temperature=0)
            return await model.reply(request)
        finally:
            await model.close()

    reply = asyncio.run(run())

    assert reader.read(reply) == json.loads(reply.text)["behavior"]
    assert json.loads(reply.text)["behavior"] in {row.id for row in rubric.behaviors}


TURNS = ["<|im_start|>", "<|im_end|>"] * 2 + ["<|im_start|>"]
ATTACKS = attacks()
SMALL = [attack for attack in ATTACKS if attack.family != "size"]


@pytest.mark.ci
@pytest.mark.parametrize("language", first_of(LANGUAGES))
@pytest.mark.parametrize("mode", first_of(MODES))
def test_no_attack_becomes_a_part_of_the_chat_template(llama_server, mode, language):
    ask = Ask(questions=QUESTIONS[:1], mode=mode, language=language)
    builder = PromptBuilder(ask)

    seen = {}
    for attack in SMALL:
        request = builder.request(attacked(ITEMS[0], attack), nonce=NONCE, form="json_schema")
        seen[attack.id] = llama_server.control_tokens(msgspec.to_builtins(request.messages))

    assert seen == dict.fromkeys(seen, TURNS)
    assert len(seen) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mode", MODES)
def test_under_attack_a_reply_still_answers_what_was_asked(llama_server, mode, language):
    n_asked = 1 if mode == "single" else 2
    ask = Ask(questions=QUESTIONS[:n_asked], mode=mode, language=language)
    items = [attacked(ITEMS[0], attack) for attack in SMALL]

    answers, choices = judge(llama_server, ask, items)

    assert len(answers) == len(SMALL)
    for answer, choice in zip(answers, choices, strict=True):
        assert list(answer.values) == [expected_answer(row, ask, choice) for row in ask.questions]
        assert all(0 < value < 1 for value in answer.values)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["size/words", "size/brackets"])
def test_a_huge_response_neither_breaks_out_nor_fits(llama_server, name):
    attack = next(attack for attack in ATTACKS if attack.id == name)
    item = attacked(ITEMS[0], attack)
    ask = Ask(questions=QUESTIONS[:1])
    request = PromptBuilder(ask).request(item, nonce=NONCE, form="json_schema")

    assert llama_server.control_tokens(msgspec.to_builtins(request.messages)) == TURNS
    with pytest.raises(BadRequestError, match="context"):
        judge(llama_server, ask, [item])
