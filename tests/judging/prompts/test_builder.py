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
    nonce_of,
    parted,
    requests_about,
    shown,
)
from rubric_strategies import rubrics
from voirdire.errors import InputError
from voirdire.records import Item, Message

ITEM = Item(
    id="a",
    prompt=(Message(role="user", content="How do I do it?"),),
    response="I'm sorry, I can't.",
)
PAIR = Item(id="p", prompt=ITEM.prompt, response="first", other="second")


@pytest.mark.edges
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("mode", "questions"),
    [
        ("joint", MIXED),
        ("joint", SAFETY.questions),
        ("joint", PAIRWISE),
        ("single", PAIRWISE),
        *(("single", (row,)) for row in MIXED),
    ],
)
def test_what_is_shown_is_what_is_sent(mode, questions, form):
    for language, source in itertools.product(LANGUAGES, SOURCES):
        settings = {"mode": mode, "language": language, "probability": source}

        request = requests_about([PAIR], *questions, form=form, **settings)[0]
        system, user, schema = shown(*questions, item=PAIR, form=form, **settings)

        assert [message.role for message in request.messages] == ["system", "user"]
        assert request.messages[0].content == system
        assert request.messages[1].content.replace(nonce_of(request), NONCE) == user
        assert (json.loads(request.schema) if request.schema else None) == schema
        assert (schema is None) == (form == "text")


def test_an_item_is_json_between_two_lines():
    conversation = (
        Message(role="system", content="Be brief."),
        Message(role="user", content='Say "hi"\n</s>'),
    )

    _, user, _ = shown(*MIXED, item=Item(id="a", prompt=conversation, response="hi"))
    _, empty, _ = shown(*MIXED, item=Item(id="a", response=""))

    assert (
        f"\n-----BEGIN ITEM {NONCE}-----\n"
        '{"conversation": [\n'
        '{"role": "system", "content": "Be brief."},\n'
        '{"role": "user", "content": "Say \\"hi\\"\\n\\u003c/s\\u003e"}\n'
        "],\n"
        '"response": "hi"}\n'
        f"-----END ITEM {NONCE}-----\n"
    ) in user
    assert parted(empty, NONCE)[1] == {"conversation": [], "response": ""}


def test_nonces_are_sixty_four_bits_and_never_the_same():
    items = [Item(id=f"i{n}", response=str(n)) for n in range(500)]

    nonces = [nonce_of(request) for request in requests_about(items, *MIXED)]

    assert len(set(nonces)) == len(nonces) == 500
    assert all(re.fullmatch("[0-9a-f]{16}", nonce) for nonce in nonces)


def test_the_calls_about_one_item_begin_alike_as_far_as_they_can():
    # Servers keep the beginning of a prompt: joint, across items; single, across questions.
    items = [ITEM, msgspec.structs.replace(ITEM, response="another")]

    joint = requests_about(items, *MIXED)
    single = requests_about(items[:1], *MIXED, mode="single")

    assert joint[0].messages[0] == joint[1].messages[0]
    assert len({request.messages[0].content for request in single}) == 1
    parts = [parted(row.messages[1].content, nonce_of(single[0])) for row in single]
    assert len({opening for opening, _, _ in parts}) == 1
    for row, (_, _, closing) in zip(MIXED, parts, strict=True):
        assert row.text["en"] in closing
        assert row.text["en"] in joint[0].messages[0].content
        assert row.text["en"] not in joint[0].messages[1].content


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_is_shown_with_its_examples_labels_and_levels(language):
    content, _, _ = shown(*MIXED, language=language)

    yes, no = ("Yes: ", "No: ") if language == "en" else ("是：", "否：")
    lines = content.split("\n")
    for row in MIXED:
        assert row.text[language] in lines
        assert f'"{row.id}"' in content
        for mark, examples in ((yes, row.yes_examples), (no, row.no_examples)):
            for example in examples.get(language, ()):
                assert f"{mark}{json.dumps(example, ensure_ascii=False)}" in lines
    english = ['- "warm": Kind.', "- 1: Not.", "- 5: Very."]
    chinese = ['- "warm"：友好。', "- 1：不好。", "- 5：很好。"]
    assert [line for line in lines if line.startswith(('- "warm', "- 1", "- 5"))] == (
        english if language == "en" else chinese
    )


@pytest.mark.parametrize(("language", "other"), [("en", "zh"), ("zh", "en")])
def test_what_is_missing_in_a_language_is_said_in_the_other(language, other):
    text, examples = ({other: row[other]} for row in (MIXED[0].text, MIXED[0].yes_examples))

    content, _, _ = shown(
        replace(MIXED[0], text=text, yes_examples=examples, no_examples={}), language=language
    )

    assert text[other] in content
    assert json.dumps(examples[other][0], ensure_ascii=False) in content


def test_neither_behavior_nor_id_nor_metadata_is_shown():
    item = msgspec.structs.replace(
        ITEM, id="secret-id", behavior="secret-b", metadata={"label": "secret-m"}, group="secret-g"
    )

    assert not any("secret" in part for part in shown(*MIXED, item=item)[:2])


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ((), "must ask something, got 'asked' without questions"),
        ((MIXED[0], *PAIRWISE), "must ask pairwise questions alone"),
        (PAIRWISE, "must have a second response .* got item 'a' with one"),
    ],
)
def test_what_cannot_be_asked_is_refused(questions, message):
    with pytest.raises(InputError, match=message):
        requests_about([ITEM], *questions)


@pytest.mark.ci
@given(rubrics(), st.sampled_from(LANGUAGES), st.sampled_from(SOURCES), st.data())
def test_any_rubric_can_be_asked(rubric, language, source, data):
    row = data.draw(st.sampled_from(rubric.questions))

    _, user, _ = shown(row, item=PAIR, mode="single", language=language, probability=source)

    _, _, closing = parted(user, NONCE)
    assert json.dumps(row.id) in closing
    if row.kind != "pairwise":
        written = {json.loads(text) for text in re.findall(r'"(?:[^"\\\n]|\\.)*"', closing)}
        assert set(row.labels) <= written
