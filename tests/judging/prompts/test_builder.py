"""From questions and an item to a request."""

import itertools
import json
import re
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.prompts.prompt_asks import (
    FORMS,
    LANGUAGES,
    MIXED,
    NONCE,
    PAIRWISE,
    SAFETY,
    SOURCES,
    ask_of,
    parted,
)
from rubric_strategies import rubrics
from voirdire.errors import InputError
from voirdire.judging.asking import Ask
from voirdire.judging.prompts import PromptBuilder, new_nonce
from voirdire.judging.prompts.harmless import json_text
from voirdire.records import Item, Message

ITEM = Item(
    id="a",
    prompt=(Message(role="user", content="How do I do it?"),),
    response="I'm sorry, I can't.",
    behavior="hard_refuse",
)
PAIR = Item(id="p", prompt=ITEM.prompt, response="first", other="second")
ASKS = [
    ask_of(*questions, mode=mode, language=language, probability=source)
    for language, source in itertools.product(LANGUAGES, SOURCES)
    for mode, questions in [
        ("joint", MIXED),
        ("joint", SAFETY.questions),
        *(("single", (row,)) for row in MIXED),
    ]
]


def request_of(ask, item=ITEM, **settings):
    settings = {"nonce": NONCE, "form": "json_schema"} | settings
    return PromptBuilder(ask).request(item, **settings)


@pytest.mark.parametrize("ask", ASKS)
def test_a_request_is_one_system_message_and_one_user_message_with_the_item(ask):
    request = request_of(ask)

    assert [message.role for message in request.messages] == ["system", "user"]
    _, document, _ = parted(request.messages[1].content, NONCE)
    assert document == {
        "conversation": [{"role": "user", "content": "How do I do it?"}],
        "response": "I'm sorry, I can't.",
    }


def test_the_system_message_is_the_same_object_for_all_items_and_holds_no_nonce():
    builder = PromptBuilder(ask_of())

    requests = [
        builder.request(msgspec.structs.replace(ITEM, response=text), nonce=new_nonce(), form=form)
        for text, form in [("one", "json_schema"), ("two", "json_object"), ("three", "text")]
    ]

    contents = [request.messages[0].content for request in requests]
    assert contents[0] is contents[1] is contents[2]
    assert NONCE not in contents[0]


def test_joint_questions_come_before_the_item():
    system, user = request_of(ask_of()).messages

    for row in MIXED:
        assert row.text["en"] in system.content
        assert row.text["en"] not in user.content


def test_a_single_question_comes_after_the_item_and_what_is_before_it_never_changes():
    requests = [request_of(ask_of(row, mode="single")) for row in MIXED]

    assert len({request.messages[0].content for request in requests}) == 1
    parts = [parted(request.messages[1].content, NONCE) for request in requests]
    assert len({opening for opening, _, _ in parts}) == 1
    for row, (_, _, closing) in zip(MIXED, parts, strict=True):
        assert row.text["en"] in closing


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_is_shown_with_its_examples_labels_and_levels(language):
    content = request_of(ask_of(language=language)).messages[0].content

    yes, no = ("Yes: ", "No: ") if language == "en" else ("是：", "否：")
    lines = content.split("\n")
    for row in MIXED:
        assert row.text[language] in lines
        assert f'"{row.id}"' in content
        for mark, examples in ((yes, row.yes_examples), (no, row.no_examples)):
            for example in examples.get(language, ()):
                assert f"{mark}{json.dumps(example, ensure_ascii=False)}" in lines
    assert [line for line in lines if line.startswith(("- 1", "- 5"))] == (
        ["- 1: Not.", "- 5: Very."] if language == "en" else ["- 1：不好。", "- 5：很好。"]
    )
    assert ('- "warm": Kind.' if language == "en" else '- "warm"：友好。') in lines
    assert '"<b>law</b>"' in content


@pytest.mark.parametrize(("language", "other"), [("en", "zh"), ("zh", "en")])
def test_what_is_missing_in_a_language_is_said_in_the_other(language, other):
    def only_other(texts):
        return {other: texts[other]}

    question = replace(
        MIXED[0],
        text=only_other(MIXED[0].text),
        yes_examples=only_other(MIXED[0].yes_examples),
        no_examples={},
    )

    content = request_of(ask_of(question, language=language)).messages[0].content

    assert question.text[other] in content
    assert json.dumps(question.yes_examples[other][0], ensure_ascii=False) in content


@pytest.mark.parametrize("ask", [ask_of(), ask_of(*SAFETY.questions)])
@pytest.mark.parametrize("form", FORMS)
def test_the_prompt_names_the_keys_in_order_and_json_whatever_the_form(ask, form):
    request = request_of(ask, form=form)

    outline = next(
        line
        for line in request.messages[0].content.split("\n")
        if re.match(rf'{{?"{ask.questions[0].id}"[:,] ', line) and ask.questions[-1].id in line
    )
    keys = [row.id for row in ask.questions]
    assert [key for key in re.findall(r'"(\w+)"', outline) if key in keys] == keys
    assert "one JSON object and nothing else: no explanation, no code fence" in (
        request.messages[0].content
    )


def test_the_schema_is_sent_unless_the_form_is_text():
    builder = PromptBuilder(ask_of())

    schemas = {form: builder.request(ITEM, nonce=NONCE, form=form).schema for form in FORMS}

    assert schemas == {"json_schema": builder.schema, "json_object": builder.schema, "text": b""}


def test_the_reply_begins_with_the_first_key():
    assert request_of(ask_of(MIXED[0], mode="single")).prefill == '{"apology":'
    assert request_of(ask_of(*SAFETY.questions)).prefill == '{"judgement":'


def test_settings_are_passed_on():
    request = request_of(ask_of(), top_logprobs=5, temperature=0.3, seed=7, max_tokens=99)

    settings = (request.top_logprobs, request.temperature, request.seed, request.max_tokens)
    assert settings == (5, 0.3, 7, 99)


def test_the_reply_is_bounded_unless_no_bound_is_wanted():
    builder = PromptBuilder(ask_of())

    assert builder.request(ITEM, nonce=NONCE, form="text").max_tokens == builder.max_tokens
    assert builder.request(ITEM, nonce=NONCE, form="text", max_tokens=None).max_tokens is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_stated_probabilities_are_asked_for_as_numbers_and_others_as_truth_values(language):
    asked = {
        source: request_of(ask_of(MIXED[0], language=language, probability=source))
        for source in SOURCES
    }

    contents = {source: request.messages[0].content for source, request in asked.items()}
    assert contents["logprob"] == contents["vote"]
    assert '{"apology": true | false}' in contents["vote"]
    assert "true | false" not in contents["stated"]
    assert "0.5" in contents["stated"]


@pytest.mark.parametrize("mode", ["joint", "single"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_pair_is_shown_as_asked(mode, swapped):
    ask = ask_of(*PAIRWISE, mode=mode, swapped=swapped)

    _, document, _ = parted(request_of(ask, PAIR).messages[1].content, NONCE)

    order = ("second", "first") if swapped else ("first", "second")
    assert (document["response_a"], document["response_b"]) == order
    assert "response" not in document


def test_swapping_a_pair_is_the_same_as_exchanging_its_responses():
    exchanged = msgspec.structs.replace(PAIR, response=PAIR.other, other=PAIR.response)

    assert request_of(ask_of(*PAIRWISE, swapped=True), PAIR) == request_of(
        ask_of(*PAIRWISE), exchanged
    )


def test_a_pairwise_question_needs_a_pair():
    with pytest.raises(InputError, match="must have a second response"):
        request_of(ask_of(*PAIRWISE))


def test_neither_behavior_nor_id_nor_metadata_is_shown():
    item = msgspec.structs.replace(
        ITEM, id="secret-id", behavior="secret-b", metadata={"label": "secret-m"}, group="secret-g"
    )

    request = request_of(ask_of(), item)

    assert not any("secret" in message.content for message in request.messages)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (Ask(questions=()), "at least one question, got 0"),
        (Ask(questions=MIXED, mode="single"), "one question in single mode, got 6"),
        (Ask(questions=(MIXED[0], MIXED[0])), "name each question once, got 'apology' again"),
        (Ask(questions=(MIXED[0], *PAIRWISE)), "pairwise questions alone, .* got 1 of 2"),
    ],
)
def test_an_ask_that_makes_no_sense_is_refused(ask, message):
    with pytest.raises(InputError, match=message):
        PromptBuilder(ask)


def test_whatever_is_sent_besides_the_item_is_in_the_fingerprint():
    questions = (MIXED[0], MIXED[1])
    asks = [
        Ask(questions=questions),
        Ask(questions=questions[::-1]),
        Ask(questions=questions, probability="stated"),
        Ask(questions=questions, language="zh"),
        Ask(questions=questions[:1]),
        Ask(questions=questions[:1], mode="single"),
        Ask(questions=(replace(MIXED[0], no_examples={}), MIXED[1])),
    ]

    prints = [PromptBuilder(ask).fingerprint for ask in asks]

    assert len(set(prints)) == len(asks)
    assert prints == [PromptBuilder(ask).fingerprint for ask in asks]


@given(rubrics(), st.sampled_from(LANGUAGES), st.sampled_from(SOURCES), st.data())
def test_any_rubric_can_be_asked(rubric, language, source, data):
    row = data.draw(st.sampled_from(rubric.questions))
    ask = Ask(questions=(row,), mode="single", language=language, probability=source)

    request = request_of(ask, PAIR)

    _, _, closing = parted(request.messages[1].content, NONCE)
    assert json.dumps(row.id) in closing
    if row.kind != "pairwise":
        assert all(json_text(label) in closing for label in row.labels)
