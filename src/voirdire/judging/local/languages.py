"""Detects whether a text is in English, in Chinese, or in another language."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Literal

_MOST_CHARACTERS = 1_500
_FEWEST_WORDS = 6

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
    english, other = _read_frequent_words()
    n_english = sum(word in english for word in words)
    n_other = sum(word in other for word in words)
    return "other" if n_other > n_english and n_other >= len(words) / 10 else "en"


@cache
def _read_frequent_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the frequent words of English, and those of the other languages together."""
    path = files("voirdire") / "data" / "local_judge" / "frequent_words.json"
    words = json.loads(path.read_text(encoding="utf-8"))
    return frozenset(words.pop("en")), frozenset().union(*words.values())
