"""The text that a token adds to a reply, for both families of tokenizers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks import require_framework

require_framework("torch", "transformers", "tokenizers")

import transformers  # noqa: E402
from tokenizers import Tokenizer, decoders, models, normalizers  # noqa: E402

from models.in_process.tiny_models import TEMPLATE, Speaker, tiny_tokenizer  # noqa: E402

pytestmark = pytest.mark.ci


def sentencepiece_tokenizer():
    """Make a tokenizer of Llama's first family: marked spaces, and bytes for what is unknown."""
    words = ["▁true", "true", "▁", "a", "e", "r", "t", "u"]
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]
    vocabulary = {name: i for i, name in enumerate(names)}
    merges = [("t", "r"), ("u", "e"), ("tr", "ue"), ("▁", "true")]
    vocabulary |= {name: len(names) + i for i, name in enumerate(("tr", "ue"))}
    tokenizer = Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")
    fast.chat_template = TEMPLATE
    return fast


@pytest.fixture(scope="module")
def speakers():
    return {
        "byte-level": Speaker(tiny_tokenizer()),
        "SentencePiece": Speaker(sentencepiece_tokenizer()),
    }


@pytest.mark.parametrize("name", ["byte-level", "SentencePiece"])
@given(text=st.text(st.sampled_from('true ":,道歉é😀\n'), min_size=1))
def test_texts_of_tokens_join_to_the_whole(speakers, name, text):
    speaker = speakers[name]

    reply = speaker.say(speaker.ids(text), top_logprobs=0)

    # A SentencePiece tokenizer puts a space before a text, which is no part of it.
    whole = text if name == "byte-level" else f" {text}"
    assert "".join(step.token for step in reply.steps) == reply.text == whole


def test_a_leading_space_is_kept(speakers):
    speaker = speakers["SentencePiece"]
    token = speaker.tokenizer.convert_tokens_to_ids("▁true")

    (step,) = speaker.say([token], top_logprobs=1).steps

    assert (step.token, step.top[0].token) == (" true", " true")
    assert speaker.tokenizer.decode([token]) == "true"


@pytest.mark.parametrize("name", ["byte-level", "SentencePiece"])
def test_a_character_is_the_text_of_the_token_that_completes_it(speakers, name):
    speaker = speakers[name]
    tokens = speaker.ids("歉")[-3:]

    steps = speaker.say(tokens, top_logprobs=1).steps

    assert [step.token for step in steps] == ["", "", "歉"]
    assert [step.top[0].token for step in steps] == ["\ufffd"] * 3


@pytest.mark.parametrize("name", ["byte-level", "SentencePiece"])
def test_a_character_in_parts_is_known_to_the_grammar(speakers, name):
    speaker = speakers[name]
    schema = b'{"type":"object","properties":{"x":{"enum":["\\u6b49","a"]}}}'

    said = [
        speaker.say(
            speaker.ids(character)[-3:], form="json_schema", schema=schema, prefill='{"x":"'
        )
        for character in ("歉", "謙")
    ]

    assert said[0].text == '{"x":"歉'
    assert "謙" not in said[1].text
