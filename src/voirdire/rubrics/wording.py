"""What the wording of a criterion shows without a model: what it avoids and claims.

The rules are plain, for English and Chinese. They know words, not meaning.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any

import yaml  # type: ignore[import-untyped]

_MOST = 2_000
_SUBJECT = (
    r"(?:(?:the |an? )?(?:response|answer|reply|model|assistant|text|output|it) |"
    r"(?:[该該此本]?(?:回[答应應复復]|答复|答案|模型|助手|文本)中?))?"
    r"(?:(?:should|must|shall|will|to) |(?:应该|应当|必须|[应應須需请請]))?"
)
_AVOIDS = re.compile(
    _SUBJECT + r"(?:(?:avoids?|refrains?|abstains?|be free of"
    r"|(?:is |be )?free (?:of|from)|(?:stays?|steers?|keeps?) (?:away|clear))\b"
    r"|避免|避开|回避|杜绝|避谈)",
    re.IGNORECASE,
)
_DENIES = re.compile(
    _SUBJECT + r"(?:(?:never|leaves? out"
    r"|(?:do|does|did|should|must|shall|will|can|could|may)(?: ?not|n['’]t)|not(?! only)"
    r"|(?:contains|includes|makes|has|gives|uses|offers) no"
    r"|no(?! (?:more|fewer|less|longer|later|earlier)\b)(?= ))\b"
    r"|从不|从未|并?(?:没有|沒有|未)(?![来來經经知能必])|切?勿|无(?:任何|需)"
    r"|不(?![仅但同过断足久少多]|得不|超过|低于|高于|[\u4e00-\u9fff]{1,2}的))",
    re.IGNORECASE,
)
_LEAD = re.compile(r"^\W*+(?:(?:it|also|then|to|[a-z]+ly|furthermore|moreover),? )*+")
_TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")
_SAYING = re.compile(
    r"\d+(?:[.,:]\d+)*|[-\u2212](?=\d)|[<>=\u2264\u2265\u2260%\u2030#+*/^&@~|$\u20ac\u00a3\u00a5\u00b0]"
    r"|[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]+"
)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CIRCLED = re.compile(r"^\s*[\u2460-\u249b\u2776-\u2793\u3251-\u325f]\s*")  # numbers in circles


@cache
def _words() -> dict[str, Any]:
    """Read the lists of words."""
    text = (files("voirdire") / "data" / "wording.yaml").read_text(encoding="utf-8")
    words: dict[str, Any] = yaml.safe_load(text)
    stems = {name: {*map(_stem, words[name].split())} for name in ("stops", "verbs", "nouns")}
    patterns = ("negators", "second", "dress")
    return words | stems | {name: re.compile(words[name], re.IGNORECASE) for name in patterns}


def _clean(text: str) -> str:
    """Take off marks, width, and what stands before: "1.", "Essential:"."""
    written = unicodedata.normalize("NFKC", _CIRCLED.sub("", text[:_MOST])).strip()
    before = None
    while written != before:
        written, before = _words()["dress"].sub("", written, count=1), written
    return written.replace("\u2019", "'")


def strip_dress(text: str) -> str:
    """Leave words, numbers and signs that say something: what is left of equal texts is equal."""
    return " ".join(_SAYING.findall(_clean(text).casefold())) + text[_MOST:]


def avoids(text: str) -> bool:
    """Whether a text says by its verb that something is avoided."""
    return _AVOIDS.match(_clean(text)) is not None


def says_what_is_avoided(text: str) -> bool:
    """Whether a text is true of a response that avoids something, or does not do it."""
    return avoids(text) or _DENIES.match(_clean(text)) is not None


def claims_two(text: str) -> bool:
    """Whether a text claims two things, so that one may hold without the other.

    It does where a verb follows "and", "also", a semicolon or the like; "flour and butter" is one.
    """
    written = _clean(text)
    for found in _words()["second"].finditer(written):
        before, rest = written[: found.start()], written[found.end() :]
        if found.group().strip()[-1] in "并並且还還" or _CHINESE.match(rest):
            if len(_CHINESE.findall(before)) > 1 and len(_CHINESE.findall(rest)) > 1:
                return True
            continue
        first, _, more = _LEAD.sub("", rest.lower()).partition(" ")
        is_gerund = first.endswith("ing") and "and" not in found.group().lower().split()
        has_object = re.match(r"(?:an?|the|its|their|at (?:least|most)|no|how|why|whether)\b", more)
        stem = _stem(first)
        is_verb = stem in _words()["verbs"] and (has_object or stem not in _words()["nouns"])
        is_third = first.endswith("s") and first[-2:] not in ("ss", "us", "is") and has_object
        if before.strip() and (is_verb or is_gerund or is_third):
            return True
    return False


_SAYS_NO = re.compile(
    r"^(?:no|false)\b[,.:;]|(?:\bnot|n't)(?: \w+)? (?:meet|satisfy|satisfied|fulfil|met\b|true\b)"
    r"|\b(?:answer|verdict) is (?:no|false)\b"
    r"|^否|(?:不|未|没有?)(?:能)?(?:满足|符合|达到|属实|成立)",
    re.IGNORECASE,
)
_SAYS_YES = re.compile(
    r"^(?:yes|true)\b[,.:;]|\b(?:meets|satisfies|fulfil?ls)\b|\bis (?:met|satisfied|true)\b"
    r"|\b(?:answer|verdict) is (?:yes|true)\b"
    r"|^是[，,。：]|(?<![不未没有能])(?:满足|符合|属实|成立)",
    re.IGNORECASE,
)


def contradicts(reason: str, text: str, *, answer: bool) -> bool:
    """Whether a reason says the opposite of the answer to a question or criterion.

    It does where it says so ("meets", "is not met"), or where it denies once, in the same words,
    what the text claims without denying.
    """
    written = reason.replace("\u2019", "'").strip()
    says_no, says_yes = _SAYS_NO.search(written), _SAYS_YES.search(written)
    if says_no or says_yes:
        return not (says_no and says_yes) and bool(says_yes) is not answer
    negators = _words()["negators"]
    n_denied = len(negators.findall(f" {written.casefold()} "))
    if not answer or n_denied != 1 or negators.search(f" {text.casefold()} "):
        return False
    claim, own = _find_stems(text), _find_stems(written)
    return len(claim & own) > len(claim) / 2


def _find_stems(text: str) -> set[str]:
    """Find the stems of the words that matter; characters of Chinese."""
    tokens = _TOKEN.findall(_clean(text).casefold())
    stems = {token if _CHINESE.match(token) else _stem(token) for token in tokens}
    stops: set[str] = _words()["stops"]
    return stems - stops


_ENDS = (
    {"iest": "y", "est": ""},
    {"ies": "y", "ied": "y", "ing": "", "ed": "", "es": "e", "s": ""},
    {"ly": ""},
)


@cache
def _stem(word: str) -> str:
    """Take off what English puts behind a word; rough, and alike for forms of one word."""
    if not (word.isascii() and word.isalpha()):
        return word
    for ends in _ENDS:
        for end, other in ends.items():
            if word.endswith(end) and len(word) > len(end) + 2 and not word.endswith("ss"):
                word = word.removesuffix(end) + other
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word
