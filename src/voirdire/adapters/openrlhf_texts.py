"""The response in a query of OpenRLHF: a prompt and a response in one text, with special tokens."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BEGIN_TOKENS", "END_TOKENS", "all_end_tokens", "response_of_query"]

BEGIN_TOKENS = ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<｜begin▁of▁sentence｜>")
"""What a tokenizer may put before a prompt, or leave out."""

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
"""What stands after a response: the end of the turn, of the text, and padding."""


def all_end_tokens(more: Iterable[str]) -> tuple[str, ...]:
    """Add a tokenizer's own tokens to the known ones; an `InputError` where one is empty."""
    given = [more] if isinstance(more, str) else list(more)
    for token in given:
        if not str(token).strip():
            msg = f"`end_tokens` must be special tokens such as '<|im_end|>', got {shorten(token)}."
            raise InputError(msg)
    return (*END_TOKENS, *(str(token).strip() for token in given))


def response_of_query(query: str, prompt: str, *, end_tokens: tuple[str, ...]) -> str | None:
    """Cut the prompt off the beginning, and special tokens off the end.

    Parameters
    ----------
    query : str
        The prompt and the response, decoded with special tokens.
    prompt : str
        As it was before it was made into tokens: a beginning token, white space and the form of
        its characters may differ.
    end_tokens : tuple of str
        See `all_end_tokens`.

    Returns
    -------
    str or None
        None where the query does not begin with the prompt: where the response begins is then
        unknown, and a guess could have the prompt judged in its place.
    """
    response = _after_prompt(query, prompt)
    return None if response is None else _without_end(response, end_tokens)


def _after_prompt(query: str, prompt: str) -> str | None:
    if prompt and query.startswith(prompt):
        return query[len(prompt) :]
    rest, bare = _without_beginning(query), _without_beginning(prompt)
    # what tokenizers make of characters, beside leaving them as they are
    for form in (bare, unicodedata.normalize("NFC", bare), unicodedata.normalize("NFKC", bare)):
        end = _end_of(form, rest)
        if end is not None:
            return rest[end:]
    return None


def _without_beginning(text: str) -> str:
    while text.startswith(BEGIN_TOKENS):
        text = text[next(len(token) for token in BEGIN_TOKENS if text.startswith(token)) :]
    return text


def _end_of(prompt: str, query: str) -> int | None:
    """Find where the prompt ends, whatever the white space in and after it."""
    wanted = "".join(prompt.split())
    done = 0
    for found in re.finditer(r"\S+", query):
        if done == len(wanted):
            return found.start()
        part = found.group()[: len(wanted) - done]
        if not wanted.startswith(part, done):
            return None
        done += len(part)
        if done == len(wanted) and len(part) < len(found.group()):
            return found.start() + len(part)
    return len(query) if done == len(wanted) else None


def _without_end(text: str, end_tokens: tuple[str, ...]) -> str:
    kept = end = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        token = next((token for token in end_tokens if text.endswith(token, 0, end)), None)
        if token is None:
            return text[:kept]
        kept = end = end - len(token)
