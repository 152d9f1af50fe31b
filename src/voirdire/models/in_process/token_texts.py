"""The text that a token adds to what stands before it."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TokenTexts"]

_REPLACEMENT = "\ufffd"

_BYTE = re.compile("<0x([0-9A-F]{2})>")
"""How tokenizers of the SentencePiece family name the token of a byte."""

_AS_THEMSELVES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(0x100) if byte not in _AS_THEMSELVES]
_BYTE_OF = {chr(byte): byte for byte in _AS_THEMSELVES}
_BYTE_OF |= {chr(0x100 + place): byte for place, byte in enumerate(_OTHERS)}
"""How byte-level tokenizers name bytes: visible ones as themselves, others from U+0100 on."""


class TokenTexts:
    """Texts of a tokenizer's tokens.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        Decodes token ids.

    Notes
    -----
    A token decoded alone may lose its leading space, so it is decoded after another text, whose
    own part is taken off. A token that ends within a character adds nothing yet; the token that
    completes the character adds all of it. So texts joined in order are the text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._anchor: list[int] = tokenizer.encode("a", add_special_tokens=False)
        self._n_anchor = len(self._decoded([]))
        self._known: dict[int, str] = {}
        self._bytes: dict[int, bytes | None] = {}

    def alone(self, token: int) -> str:
        """Give a token's text where no character is under way.

        Parameters
        ----------
        token : int
            Its id.

        Returns
        -------
        str
            Bytes that are no text of their own are replacement characters.
        """
        text = self._known.get(token)
        if text is None:
            text = self._known[token] = self._decoded([token])[self._n_anchor :]
        return text

    def after(self, pending: list[int], token: int) -> str | None:
        """Give what a token adds after tokens of an unfinished character.

        Parameters
        ----------
        pending : list of int
            Tokens since the last whole character; usually none.
        token : int
            The next one.

        Returns
        -------
        str or None
            None while the character is unfinished.
        """
        if not pending and not self.alone(token).endswith(_REPLACEMENT):
            return self.alone(token)
        text = self._decoded([*pending, token])[self._n_anchor :]
        return None if text.endswith(_REPLACEMENT) else text

    def data(self, token: int) -> bytes | None:
        """Give the bytes of a token.

        Parameters
        ----------
        token : int
            Its id.

        Returns
        -------
        bytes or None
            UTF-8, or a part of it; None where the tokenizer does not tell.
        """
        if token not in self._bytes:
            text = self.alone(token)
            whole = _REPLACEMENT not in text
            self._bytes[token] = text.encode("utf-8", "replace") if whole else self._named(token)
        return self._bytes[token]

    def _named(self, token: int) -> bytes | None:
        """Read bytes that are no text of their own from the token's name."""
        name = str(self._tokenizer.convert_ids_to_tokens(token))
        found = _BYTE.fullmatch(name)
        if found:
            return bytes.fromhex(found[1])
        values = [_BYTE_OF.get(character) for character in name]
        known = [value for value in values if value is not None]
        return bytes(known) if len(known) == len(values) else None

    def _decoded(self, tokens: list[int]) -> str:
        return str(
            self._tokenizer.decode(
                [*self._anchor, *tokens],
                skip_special_tokens=False,
                clean_up_tokenization_spaces=False,
            )
        )
