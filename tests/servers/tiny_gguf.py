"""A language model of half a megabyte, written by the test that serves it.

It has learnt nothing: its weights come from a seed. But it has likings, so that under a JSON
grammar its replies are short and within bounds, and noise makes what it says, and how likely it
finds ``true``, depend on the whole prompt.

A liking is a column of the output matrix over a dimension of the embeddings that no layer writes
to. Dimension 0 holds the same number for every token: its column is a bias. Dimension 1 holds it
for tokens that end with a colon, dimension 2 for those that end with a quote: their columns say
what is liked after one.
"""

from __future__ import annotations

import zlib

import gguf
import numpy as np

__all__ = ["CONTROL_TOKENS", "write_tiny_gguf"]

WIDTH, N_HEADS, N_LAYERS, FEED_FORWARD = 64, 1, 2, 128
CONTEXT = 1 << 17
NOISE, CONSTANT, ATTENTION = 0.25, 4.0, 2.0
N_KEPT = 3  # dimensions that no layer writes to

CONTROL_TOKENS = ("<s>", "</s>", "<|im_start|>", "<|im_end|>")
"""Tokens that a text must never turn into; those of the chat template among them."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

DECISION_TEMPLATE = (
    "{{ instructions }}\n{% for option in options %}"
    "{{ option.label }} {{ option.key }} {{ option.description }}\n{% endfor %}"
    "{{ state | tojson }}\n"
)

# Liked always, after a colon, after a quote. Digits, signs and exponents stay far behind whole
# numbers between 0 and 1, because a grammar does not bound a number.
_LIKINGS = {
    "true": (0.3, 2.7, 0.0),
    "false": (0.3, 2.7, 0.0),
    " true": (0.0, 2.3, 0.0),
    " false": (0.0, 2.3, 0.0),
    "True": (0.0, 1.2, 0.0),
    "False": (0.0, 1.2, 0.0),
    "tr": (0.0, 1.9, 0.0),
    "ue": (0.5, 0.0, 0.0),  # codespell:ignore ue
    "fal": (0.0, 1.9, 0.0),
    "se": (0.5, 0.0, 0.0),
    "yes": (0.3, 0.8, 1.0),
    "no": (0.3, 0.8, 1.0),
    '"': (1.7, 0.0, -1.8),
    "]": (1.4, 0.0, 0.0),
    '":': (1.6, 0.0, -1.5),
    ',"': (0.5, 0.0, 0.0),
    '{"': (1.0, 0.0, 0.0),
    "}": (0.5, 0.0, 0.0),
    "{": (0.3, 0.0, 0.0),
    "[": (0.3, 0.0, 0.0),
    ":": (0.3, 0.0, 0.0),
    ",": (0.0, 0.0, 0.0),
    " ": (-1.0, 3.4, 0.0),
}
_NUMBERS = ("0.05", "0.1", "0.2", "0.25", "0.4", "0.5", "0.6", "0.75", "0.9", "0.95")
_NUMBER, _WORD = (0.0, 0.8, 0.0), (0.3, 0.0, 1.5)
_CHARACTER, _UNLIKELY = (-1.0, 0.0, 0.0), (-3.0, 0.0, 0.0)
_RARE_CHARACTERS = frozenset("0123456789-+.eE\\")


def write_tiny_gguf(path, *, words=(), seed=17, decides=False):
    """Write a model whose tokens are bytes, ASCII characters, a few pieces of JSON, and `words`.

    One that decides is asked typed questions, and reads the answer from how likely it finds the
    letters of the options.
    """
    tokens, kinds, likings = _vocabulary(words)
    writer = gguf.GGUFWriter(str(path), "llama")
    _write_facts(writer, n_tokens=len(tokens))
    _write_tokens(writer, tokens, kinds)
    templates = [{"name": "default", "template": CHAT_TEMPLATE}]
    if decides:
        writer.add_string("llama.decision.type", "lev")
        templates.append({"name": "systemone", "template": DECISION_TEMPLATE})
    writer.add_chat_template(templates)
    for name, weights in _weights(tokens, likings, seed):
        writer.add_tensor(name, np.ascontiguousarray(weights, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _vocabulary(words):
    """Texts, kinds and likings of the tokens, every byte among them so that any text has tokens."""
    kind = gguf.TokenType
    rows = [("<unk>", kind.UNKNOWN, _UNLIKELY)]
    rows += [(token, kind.CONTROL, _UNLIKELY) for token in CONTROL_TOKENS]
    rows += [(f"<0x{byte:02X}>", kind.BYTE, _UNLIKELY) for byte in range(256)]
    likings = {chr(code): _CHARACTER for code in range(32, 127)}
    likings |= dict.fromkeys(_RARE_CHARACTERS, _UNLIKELY)
    likings |= dict.fromkeys(words, _WORD) | dict.fromkeys(_NUMBERS, _NUMBER) | _LIKINGS
    # SentencePiece writes a space as this character.
    rows += [(text.replace(" ", "\u2581"), kind.NORMAL, liking) for text, liking in likings.items()]
    texts, kinds, likings = zip(*rows, strict=True)
    return texts, kinds, np.array(likings)


def _write_facts(writer, *, n_tokens):
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(N_LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(N_HEADS)
    writer.add_head_count_kv(N_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // N_HEADS)
    writer.add_vocab_size(n_tokens)


def _write_tokens(writer, tokens, kinds):
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    # Longer tokens first, as a trained tokenizer would merge them.
    writer.add_token_scores([float(len(token)) for token in tokens])
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(tokens.index("<s>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)


def _noise_of_tokens(tokens, seed):
    """Two rows of noise per token, whatever the other tokens are: more words change no weight."""
    keys = [zlib.crc32(token.encode()) for token in tokens]
    rows = [np.random.default_rng([seed, key]).normal(size=(2, WIDTH)) for key in keys]
    return np.stack(rows, axis=1)


def _weights(tokens, likings, seed):
    """Yield the tensors by name; matrices are rows of outputs, as the format wants them."""
    rng = np.random.default_rng(seed)

    def noise(*shape, scale):
        return rng.normal(scale=scale, size=shape)

    embedding, output = _noise_of_tokens(tokens, seed)
    embedding[:, 0] = CONSTANT
    for dimension, ending in ((1, ":"), (2, '"')):
        embedding[:, dimension] = [CONSTANT * token.endswith(ending) for token in tokens]
    output *= NOISE
    output[:, :N_KEPT] = likings
    yield "token_embd.weight", embedding
    yield "output.weight", output
    yield "output_norm.weight", np.ones(WIDTH)
    for layer in range(N_LAYERS):
        block = f"blk.{layer}"
        yield f"{block}.attn_norm.weight", np.ones(WIDTH)
        yield f"{block}.ffn_norm.weight", np.ones(WIDTH)
        # Queries and keys that are large look at few tokens, instead of at the average of all.
        for part, scale in (("attn_q", ATTENTION), ("attn_k", ATTENTION), ("attn_v", 1.0)):
            yield f"{block}.{part}.weight", noise(WIDTH, WIDTH, scale=scale * WIDTH**-0.5)
        for part in ("ffn_gate", "ffn_up"):
            yield f"{block}.{part}.weight", noise(FEED_FORWARD, WIDTH, scale=WIDTH**-0.5)
        for part, n_inputs in (("attn_output", WIDTH), ("ffn_down", FEED_FORWARD)):
            weights = noise(WIDTH, n_inputs, scale=n_inputs**-0.5)
            weights[:N_KEPT] = 0.0
            yield f"{block}.{part}.weight", weights
