"""Detects whether a text is in English, in Chinese, or in another language."""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["detect_language"]

_MOST_CHARACTERS = 1_500
_FEWEST_WORDS = 6

_ENGLISH = """
the and of to you your that this is are was it its for with not can cannot have has be been will
would should from what which when how if but they there their we our my i'm don't
"""

_OTHERS = """
el los las una uno del que por para con está esto pero más como su sus muy
le les des une est vous nous dans pour pas avec sur qui mais ce cette je ne au
der das und nicht ich ein eine den dem mit auf für von zu es auch wir
il lo gli che di della è sono per non anche questo più
o os um uma não você isso mais seu sua ao da dos
het een van niet dat voor zijn met maar ook je
och att det är inte jag på av til ikke og jeg
nie się że jest na do jak dla być
bir ve için değil çok olarak ne
yang dan untuk dengan tidak ini itu dari
và là của không có cho một những được
"""
"""Frequent words, a line each: Spanish, French, German, Italian, Portuguese, Dutch, Scandinavian
languages, Polish, Turkish, Indonesian, Vietnamese."""

_KNOWN = {"en": frozenset(_ENGLISH.split()), "other": frozenset(_OTHERS.split())}

_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_OTHER_SCRIPTS = re.compile(r"[\u0370-\u1dbf\u1f00-\u1fff\uac00-\ud7af\u1100-\u11ff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")


def detect_language(text: str) -> Literal["en", "zh", "other"]:
    """Return ``"en"``, ``"zh"`` or ``"other"``; a very short text counts as English."""
    text = text[:_MOST_CHARACTERS]
    if not text.isascii():
        han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
        others, latin = len(_OTHER_SCRIPTS.findall(text)), len(_LATIN.findall(text))
        if others + kana > (han + kana + others + latin) / 5:
            return "other"
        if han > latin / 4:
            return "zh"
    words = _WORDS.findall(text.lower())
    if len(words) < _FEWEST_WORDS:
        return "en"
    n_english = sum(word in _KNOWN["en"] for word in words)
    n_other = sum(word in _KNOWN["other"] for word in words)
    return "other" if n_other > n_english and n_other >= len(words) / 10 else "en"
