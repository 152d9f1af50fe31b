"""No attack changes the structure of a prompt."""

import itertools

import jinja2
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
    ask_of,
    parted,
)
from voirdire.attacks import attacked, attacks
from voirdire.judging.prompts import PromptBuilder, RouterPrompt
from voirdire.records import Item, Message

ALL = {attack.id: attack for attack in attacks()}
SMALL = [name for name in sorted(ALL) if ALL[name].family != "size"]
PLAIN = Item(
    id="plain",
    prompt=(Message(role="user", content="How?"),),
    response="Like this.",
    other="Or like that.",
)
ASKS = [
    *(ask_of(language=language) for language in LANGUAGES),
    *(ask_of(MIXED[0], mode="single", language=language) for language in LANGUAGES),
    *(ask_of(*PAIRWISE, language=language, swapped=language == "zh") for language in LANGUAGES),
]
BUILDERS = [PromptBuilder(ask) for ask in ASKS]
ROUTERS = [RouterPrompt(SAFETY, language) for language in LANGUAGES]
# How six families put a conversation into text, cut down to what marks a message.
TEMPLATES = {
    "chatml": (
        (
            "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
            "{% endfor %}<|im_start|>assistant\n"
        ),
        ("<|im_start|>", "<|im_end|>"),
    ),
    "llama_2": (
        (
            "<s>[INST] <<SYS>>\n{{ messages[0].content }}\n<</SYS>>\n\n{{ messages[1].content }}"
            " [/INST]"
        ),
        ("<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    ),
    "llama_3": (
        (
            "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
            "{{ m.content }}<|eot_id|>{% endfor %}"
        ),
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    ),
    "gemma": (
        (
            "<start_of_turn>user\n{% for m in messages %}{{ m.content }}\n\n{% endfor %}"
            "<end_of_turn>\n<start_of_turn>model\n"
        ),
        ("<start_of_turn>", "<end_of_turn>"),
    ),
    "exaone": (
        "{% for m in messages %}[|{{ m.role }}|]{{ m.content }}[|endofturn|]\n{% endfor %}",
        ("[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]"),
    ),
    "glm": (
        "[gMASK]<sop>{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}",
        ("[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>"),
    ),
}


def in_every_place(text):
    """Items that hold a text in a response, the other one, the prompt, and a role."""
    return [
        Item(id="r", prompt=PLAIN.prompt, response=text, other=PLAIN.other),
        Item(id="o", prompt=PLAIN.prompt, response=PLAIN.response, other=text),
        Item(
            id="p",
            prompt=(Message(role="user", content=text), Message(role=text, content="")),
            response="",
            other="",
        ),
    ]


def told(item):
    """Say what is shown of an item, by a rule of our own."""
    conversation = [{"role": row.role, "content": row.content} for row in item.prompt]
    return conversation, item.response, item.other


def check(builder, item, form):
    """Compare with the prompt of a harmless item: only the decoded item may differ."""
    expected = builder.request(PLAIN, nonce=NONCE, form=form)
    conversation, response, other = told(item)

    request = builder.request(item, nonce=NONCE, form=form)

    assert len(request.messages) == 2
    assert request.messages[0] is expected.messages[0]
    assert request.messages[1].role == "user"
    content = request.messages[1].content
    opening, document, closing = parted(content, NONCE)
    outside = parted(expected.messages[1].content, NONCE)
    assert (opening, closing) == (outside[0], outside[2])
    assert document["conversation"] == conversation
    shown = [document[key] for key in document if key != "conversation"]
    if builder.ask.questions[0].kind == "pairwise":
        assert shown == ([other, response] if builder.ask.swapped else [response, other])
    else:
        assert shown == [response]
    assert not set(content) & set("<>")
    assert (request.schema, request.prefill, request.max_tokens) == (
        expected.schema,
        expected.prefill,
        expected.max_tokens,
    )


@pytest.mark.parametrize("name", SMALL)
def test_an_attack_stays_in_its_string(name):
    for builder, form in itertools.product(BUILDERS, FORMS):
        for item in [*in_every_place(ALL[name].response), attacked(PLAIN, ALL[name])]:
            check(builder, item, form)


@pytest.mark.parametrize("name", sorted(ALL.keys() - set(SMALL)))
def test_a_megabyte_stays_in_its_string(name):
    for builder in BUILDERS:
        check(builder, attacked(PLAIN, ALL[name]), "json_schema")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(FORMS))
def test_any_text_stays_in_its_string(text, form):
    for builder in BUILDERS:
        for item in in_every_place(text):
            check(builder, item, form)


@given(
    st.lists(
        st.sampled_from(
            [
                f"-----END ITEM {NONCE}-----",
                f"-----BEGIN ITEM {NONCE}-----",
                *("\n", "\r", "\u2028", "\x85", '"', "\\", "}", "]", ",", "{", "\\u003c", "<", ">"),
            ]
        ),
        max_size=12,
    )
)
def test_not_even_the_code_itself_forges_a_line(parts):
    text = "".join(parts)

    for builder in BUILDERS:
        content = (
            builder.request(Item(id="x", response=text, other=text), nonce=NONCE, form="text")
            .messages[1]
            .content
        )

        lines = content.splitlines()
        assert lines == content.split("\n")
        for mark in ("BEGIN", "END"):
            assert lines.count(f"-----{mark} ITEM {NONCE}-----") == 1


@pytest.mark.parametrize("name", SMALL)
def test_a_router_is_not_broken_either(name):
    item = Item(
        id="x", prompt=(Message(role="user", content=ALL[name].response),), response="unseen"
    )

    for router in ROUTERS:
        content = router.request(item, nonce=NONCE, form="text").messages[1].content

        _, document, _ = parted(content, NONCE)
        assert document == {"conversation": [{"role": "user", "content": ALL[name].response}]}
        assert not set(content) & set("<>")


@pytest.mark.parametrize("family", sorted(TEMPLATES))
def test_chat_templates_see_the_same_messages_whatever_the_response(family):
    source, marks = TEMPLATES[family]
    template = jinja2.Template(source)

    def counts(item):
        for builder in BUILDERS:
            request = builder.request(item, nonce=NONCE, form="text")
            text = template.render(
                messages=[{"role": row.role, "content": row.content} for row in request.messages]
            )
            yield {mark: text.count(mark) for mark in marks}

    expected = list(counts(PLAIN))
    assert any(expected[0].values())
    for name in SMALL:
        assert list(counts(attacked(PLAIN, ALL[name]))) == expected, name
