"""Where a response begins and ends in a query of OpenRLHF."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.adapters.openrlhf import read_openrlhf_request
from voirdire.errors import InputError

CHAT = "<|im_start|>user\nhow do I make tea?<|im_end|>\n<|im_start|>assistant\n"
END_TOKENS = (
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<pad>",
    "[PAD]",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|finetune_right_pad_id|>",
    "<|im_end|>",
    "<|return|>",
    "<｜end▁of▁sentence｜>",
)


def response(query, prompt, *, end_tokens=()):
    asked = {"query": [query], "prompts": [prompt]}
    (turn,) = read_openrlhf_request(asked, end_tokens=end_tokens)
    return turn.response


def test_what_follows_the_prompt_is_the_response():
    assert response(f"{CHAT}Boil water.<|im_end|>", CHAT) == "Boil water."


@pytest.mark.parametrize("token", END_TOKENS)
def test_every_known_end_token_is_taken_off(token):
    assert response(f"{CHAT}Boil water.{token}", CHAT) == "Boil water."


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("", "No."),
        ("<|im_end|>\n", "No."),
        ("<|im_end|><|endoftext|>", "No."),
        (" </s> <pad><pad>\n<pad>", "No. "),
        ("\n", "No.\n"),
        ("<|im_end", "No.<|im_end"),
        ("<|im_end|> really", "No.<|im_end|> really"),
    ],
)
def test_only_tokens_at_the_very_end_are_taken_off(end, left):
    assert response(f"{CHAT}No.{end}", CHAT) == left


def test_a_response_of_nothing_but_its_end_is_empty():
    assert response(f"{CHAT}<|im_end|>", CHAT) == ""


def test_tokens_of_an_own_tokenizer_can_be_named():
    assert response("Hi! No.[STOP]", "Hi!") == " No.[STOP]"
    assert response("Hi! No.[STOP]", "Hi!", end_tokens=["[STOP]"]) == " No."
    assert response("Hi! No.[STOP]</s>", "Hi!", end_tokens="[STOP]") == " No."


@pytest.mark.parametrize("token", ["", "  "])
def test_a_token_that_is_empty_is_refused(token):
    with pytest.raises(InputError, match="`end_tokens` must be special tokens such as"):
        response("p No.", "p", end_tokens=[token])


@pytest.mark.parametrize(
    ("query", "prompt"),
    [
        ("<s> [INST] tea? [/INST] Boil water.</s>", "[INST] tea? [/INST]"),
        ("[INST] tea? [/INST] Boil water.</s>", "<s>[INST] tea? [/INST]"),
        ("<s><s>[INST] tea? [/INST] Boil water.", "<s>[INST] tea? [/INST]"),
        ("[INST]  tea?\n[/INST] Boil water.", "[INST] tea? [/INST]"),
        ("[INST]tea?[/INST]Boil water.", "[INST] tea? [/INST]\n"),
        ("<|begin_of_text|>[INST] tea? [/INST] Boil water.", "[INST] tea? [/INST]"),
    ],
)
def test_a_beginning_token_and_white_space_may_differ(query, prompt):
    assert response(query, prompt).strip() == "Boil water."


@pytest.mark.parametrize(
    ("written", "decoded"),
    [("cafe\u0301?", "caf\u00e9?"), ("\ufb01sh?", "fish?")],
    ids=["NFC", "NFKC"],
)
def test_a_tokenizer_may_bring_characters_to_another_form(written, decoded):
    assert response(f"{decoded} Boil it.", written).strip() == "Boil it."


@pytest.mark.parametrize(
    ("query", "prompt"),
    [
        ("make tea? Boil water.", "how do I make tea?"),  # the beginning was cut off
        ("how do I make coffee? Boil water.", "how do I make tea?"),
        ("how do I", "how do I make tea?"),
        ("", "how do I make tea?"),
        ("tea? how do I make tea? Boil water.", "how do I make tea?"),
        ("Boil water.", "<s>how do I make tea?"),
    ],
)
def test_a_query_that_does_not_begin_with_its_prompt_has_no_response(query, prompt):
    assert response(query, prompt) is None


def test_a_prompt_alone_is_answered_with_nothing():
    assert response("how do I make tea?\n", "how do I make  tea?") == ""


words = st.text(alphabet="ab <|>/s\n", max_size=30)


@pytest.mark.ci
@given(prompt=words.filter(bool), said=words)
def test_the_response_is_never_part_of_the_prompt(prompt, said):
    found = response(prompt + said, prompt)

    assert found is not None
    assert said.startswith(found)


@given(
    prompt=st.text(alphabet="ab ", max_size=30),
    said=st.text(alphabet="ab \n", max_size=30),
    before=st.sampled_from(["", " ", "\n", "<s>", "<s> "]),
    space=st.sampled_from(["", " ", "\n", "  "]),
)
def test_other_white_space_moves_nothing_across(prompt, said, before, space):
    decoded = before + prompt.replace(" ", space)

    found = response(decoded + said, prompt)

    assert found is not None
    assert found.split() == said.split() or (not space and found.strip() == said.strip())


@pytest.mark.edges
@pytest.mark.parametrize("tail", [" " * 300_000, "<pad>" * 60_000, "<pad> " * 60_000])
def test_a_long_end_takes_no_longer_than_it_is_long(tail):
    assert response(f"p No.{tail}x", "p") == f" No.{tail}x"
    assert response(f"p No.{tail}</s>", "p").strip() == "No."
