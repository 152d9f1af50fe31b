"""A prompt as people read it."""

import json

import pytest

from judging.prompts.prompt_asks import LANGUAGES, NONCE, PAIRWISE, ask_of
from voirdire.judging.prompts import PromptBuilder, show_prompt
from voirdire.records import Item


def test_what_is_shown_is_what_is_sent():
    item = Item(id="a", response="the response")
    request = PromptBuilder(ask_of()).request(item, nonce=NONCE, form="json_schema")

    shown = show_prompt(ask_of(), item).replace("0" * 16, NONCE)

    system, user = (message.content for message in request.messages)
    head = f"=== system ===\n{system}\n\n=== user ===\n{user}\n\n"
    assert shown.startswith(f"{head}=== JSON Schema of the reply ===\n")
    assert json.loads(shown.partition("reply ===\n")[2]) == json.loads(request.schema)


def test_no_schema_is_shown_where_none_is_sent():
    assert "JSON Schema" not in show_prompt(ask_of(), form="text")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("questions", [(), PAIRWISE])
def test_a_stand_in_takes_the_place_of_an_item(language, questions):
    shown = show_prompt(ask_of(*questions, language=language))

    assert ("what the user wrote" if language == "en" else "用户写的内容") in shown
