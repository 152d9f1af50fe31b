"""No attack changes the structure of a prompt."""

import msgspec
import pytest

from judging.prompts.prompt_asks import (
    FORMS,
    LANGUAGES,
    MIXED,
    PAIRWISE,
    nonce_of,
    parted,
    requests_about,
)
from voirdire.probes import attacked, attacks
from voirdire.records import Item, Message

PLAIN = Item(
    id="plain",
    prompt=(Message(role="user", content="How?"),),
    response="Like this.",
    other="Or like that.",
)
ASKS = [
    (questions, {"mode": mode, "language": language})
    for language in LANGUAGES
    for mode, questions in (("joint", MIXED), ("single", MIXED[:1]), ("joint", PAIRWISE))
]


def in_every_place(text):
    """Items that hold a text in a response, the other one, the prompt, and a role."""
    return [
        Item(id="r", prompt=PLAIN.prompt, response=text, other=PLAIN.other),
        Item(id="o", prompt=PLAIN.prompt, response=PLAIN.response, other=text),
        Item(id="p", prompt=(Message(role="user", content=text),), response="", other=""),
        Item(id="role", prompt=(Message(role=text, content=""),), response="", other=""),
    ]


def check(items, questions, **settings):
    """Compare with the prompt of a harmless item: only the decoded item may differ."""
    is_pair = questions[0].kind == "pairwise"
    expected, *_ = requests_about([PLAIN], *questions, **settings)
    outside = parted(expected.messages[1].content, nonce_of(expected))
    distinct = {(row.prompt, row.response, row.other): row for row in items}.values()

    requests = requests_about(distinct, *questions, **settings)

    pairs = [
        (item, swapped) for item in distinct for swapped in ((False, True) if is_pair else (False,))
    ]
    for (item, swapped), request in zip(pairs, requests, strict=True):
        system, user = request.messages
        opening, document, closing = parted(user.content, nonce_of(request))
        assert (system, user.role) == (expected.messages[0], "user"), item.id
        assert (opening, closing) == (outside[0], outside[2]), item.id
        conversation = [{"role": row.role, "content": row.content} for row in item.prompt]
        assert document.pop("conversation") == conversation, item.id
        both = [item.other, item.response] if swapped else [item.response, item.other]
        assert list(document.values()) == (both if is_pair else [item.response]), item.id
        assert not set(user.content) & set("<>"), item.id
        assert (request.schema, request.max_tokens) == (expected.schema, expected.max_tokens)


@pytest.mark.edges
@pytest.mark.parametrize(("questions", "settings"), ASKS)
def test_an_attack_stays_in_its_string(questions, settings):
    small = [attack for attack in attacks() if attack.family != "size"]
    megabytes = [attack for attack in attacks() if attack.family == "size"]
    items = [
        msgspec.structs.replace(item, id=f"{attack.id}/{item.id}")
        for attack in small
        for item in [*in_every_place(attack.response), attacked(PLAIN, attack)]
    ]

    for form in FORMS:
        check(items, questions, form=form, **settings)
    check([attacked(PLAIN, attack) for attack in megabytes], questions, **settings)
