import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks import require_framework

require_framework("transformers", "tokenizers")

import transformers  # noqa: E402
from tokenizers import Tokenizer, decoders, models, normalizers  # noqa: E402

from models.in_process.tiny_models import tiny_tokenizer  # noqa: E402
from voirdire.models.in_process.token_texts import TokenTexts  # noqa: E402


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
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


TOKENIZERS = {"byte-level": tiny_tokenizer(), "SentencePiece": sentencepiece_tokenizer()}


@pytest.fixture(params=list(TOKENIZERS))
def tokenizer(request):
    return TOKENIZERS[request.param]


@pytest.mark.ci
@pytest.mark.parametrize("name", list(TOKENIZERS))
@given(text=st.text(st.sampled_from('true "{}:,道歉é😀\n')))
def test_texts_and_bytes_of_tokens_join_to_the_whole(name, text):
    tokenizer = TOKENIZERS[name]
    texts = TokenTexts(tokenizer)
    ids = tokenizer.encode(text, add_special_tokens=False)

    pending, parts = [], []
    for token in ids:
        added = texts.after(pending, token)
        pending = [*pending, token] if added is None else []
        parts.append(added or "")

    # A SentencePiece tokenizer puts a space before a text, which is no part of it.
    whole = text if name == "byte-level" or not text else f" {text}"
    assert "".join(parts) == whole
    assert b"".join(texts.data(token) for token in ids) == whole.encode()
    assert pending == []


@pytest.mark.ci
def test_a_leading_space_is_kept():
    tokenizer = TOKENIZERS["SentencePiece"]
    texts = TokenTexts(tokenizer)

    assert texts.alone(tokenizer.convert_tokens_to_ids("▁true")) == " true"
    assert tokenizer.decode([tokenizer.convert_tokens_to_ids("▁true")]) == "true"


@pytest.mark.ci
def test_a_byte_of_a_character_is_a_replacement_character_with_its_own_byte(tokenizer):
    texts = TokenTexts(tokenizer)
    token = tokenizer.encode("歉", add_special_tokens=False)[-1]

    assert texts.alone(token) == "\ufffd"
    assert texts.data(token) == "歉".encode()[-1:]
    assert texts.after([], token) is None
