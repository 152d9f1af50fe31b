"""What the wording of a criterion shows without a model: what it avoids, claims, contradicts.

The rules are plain, for English and Chinese. They know words, not meaning: two criteria that say
the same in other words are not found.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import yaml  # type: ignore[import-untyped]

__all__ = [
    "Claim",
    "Relation",
    "claims_two",
    "compare_claims",
    "contradicts",
    "describes_fault",
    "read_claim",
    "says_what_is_avoided",
    "strip_dress",
]

Relation: TypeAlias = Literal["duplicate", "near_duplicate", "contradiction"]
"""How two criteria of one item belong together."""

_MOST = 2_000
_LABEL = re.compile(r"^\W*+(?:\w[\w ]{0,40}[:：]\W*+)?")  # such as "Pitfall: "
_SUBJECT = (
    r"(?:(?:the |an? )?(?:response|answer|reply|model|assistant|text|output|it) |"
    r"(?:[该該此本]?(?:回[答应應复復]|答复|答案|模型|助手|文本)中?))?"
    r"(?:(?:should|must|shall|will|to) |(?:应该|应当|必须|[应應須需请請]))?"
)
_AVOIDS = re.compile(
    _SUBJECT + r"(?:(?:avoids?|refrains?|abstains?|never|be free of|leaves? out"
    r"|(?:do|does|should|must|shall|will|can|could|may)(?: ?not|n['’]t)|not(?! only)"
    r"|(?:is |be )?free (?:of|from)|(?:stays?|steers?|keeps?) (?:away|clear)"
    r"|(?:contains|includes|makes|has|gives|uses|offers) no"
    r"|no(?! (?:more|fewer|less|longer|later|earlier)\b)(?= ))\b"
    r"|(?:避免|避开|回避|杜绝|避谈|从不|从未|并?(?:没有|沒有|未)(?![来來经經知能必])|切?勿|无(?:任何|需)"
    r"|不(?![仅但同过断足久少多]|得不|超过|低于|高于|[\u4e00-\u9fff]{1,2}的)))",
    re.IGNORECASE,
)
_NUMBER_OF = (
    r"\s*(?P<n{0}>[\d,]+|[a-z]+|[一二两三四五六七八九十百千]+)"
    r"[ -]?(?P<of{0}>[a-z]+|[\u4e00-\u9fff])"
)
_BOUND = re.compile(
    r"(?P<high>at most|(?:no|not) more than|up to|(?:a )?maximum of|under|below|within"
    r"|(?:shorter|fewer|less|lower) than|(?:not|n't) exceed(?:ing)?"
    r"|最多|至多|不超过|不多于|少于|小于|低于|不到|不足)"
    + _NUMBER_OF.format("")
    + r"|(?P<low>at least|(?:no|not) (?:fewer|less) than|(?:a )?minimum of|over|above|exceeds?"
    r"|(?:longer|more|greater|higher) than|至少|不少于|多于|超过|大于|高于|不低于)"
    + _NUMBER_OF.format(2)
)
_LEAD = re.compile(r"^\W*+(?:(?:it|also|then|to|[a-z]+ly|furthermore|moreover),? )*+")
_ROUTE = re.compile(r"(?:\bfrom (\w+) to (\w+)|从(\w{1,2})\w*?[去到至](\w{1,2}))")
_TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


@cache
def _words() -> dict[str, Any]:
    """Read the lists of words."""
    text = (files("voirdire") / "data" / "wording.yaml").read_text(encoding="utf-8")
    words: dict[str, Any] = yaml.safe_load(text)
    opposites = [pair.split("/") for pair in words["opposites"].split()]
    return words | {
        "stops": {_stem(x) for x in words["stops"].split()},
        "verbs": {_stem(x) for x in words["verbs"].split()},
        "nouns": {_stem(x) for x in words["nouns"].split()},
        "opposites": {_stem(x): (f"~{k}", side) for k, pair in enumerate(opposites)
                      for side, x in enumerate(pair) if not _CHINESE.search(x)},
        "opposed": [(x, f"~{k}", side) for k, pair in enumerate(opposites)
                    for side, x in enumerate(pair) if _CHINESE.search(x)],
        "numbers": {x: n for n, row in enumerate(words["numbers"].split()) for x in row.split("/")},
        "negators": re.compile(words["negators"]),
        "removed": re.compile(words["removed"]),
        "second": re.compile(words["second"], re.IGNORECASE),
        "fault": re.compile(words["fault"], re.IGNORECASE),
    }  # fmt: skip


def _clean(text: str) -> str:
    """Take off marks, width and a label such as "Essential Criteria:"."""
    written = unicodedata.normalize("NFKC", text[:_MOST]).replace("\u2019", "'").strip()
    return _LABEL.sub("", written, count=1)


def strip_dress(text: str) -> str:
    """Leave letters and digits alone, in one case: what is left of equal texts is equal."""
    written = unicodedata.normalize("NFKC", text).casefold()
    written = re.sub(r"^\W*+\d{1,3}[.)、]\s*(?=\D)", "", written)  # the number of a list
    return "".join(x for x in written if x.isalnum())


def says_what_is_avoided(text: str) -> bool:
    """Whether a text is true of a response that leaves something out."""
    return _AVOIDS.match(_clean(text)) is not None


def describes_fault(text: str) -> bool:
    """Whether a text is true of a response that does something wrong."""
    found = _words()["fault"].match(_clean(text))
    return found is not None


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
    claim, own = read_claim(text), read_claim(written)
    return len(claim.words & own.words) > len(claim.words) / 2


# Claims ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """What a criterion claims, as far as its words say.

    Attributes
    ----------
    dress : str
        Its letters and digits.
    words : frozenset of str
        Stems of the words that matter; characters of Chinese.
    is_denied : bool
        Whether it says that this is not so.
    bounds : tuple of (str, str, int)
        Such as ``("word", "high", 150)``.
    """

    dress: str
    words: frozenset[str]
    is_denied: bool
    bounds: tuple[tuple[str, str, int], ...]


def read_claim(text: str) -> Claim:
    """Read what a criterion claims."""
    known = _words()
    written = f" {_clean(text).casefold()} "
    bounds: list[tuple[str, str, int]] = []

    def take_bound(found: re.Match[str]) -> str:
        side = "high" if found["high"] else "low"
        number, of = found["n"] or found["n2"], found["of"] or found["of2"]
        digits = number.replace(",", "")
        n = int(digits[:9]) if digits.isdecimal() else known["numbers"].get(number)
        if n is None:
            return found.group()
        bounds.append((_stem(of), side, n))
        return " "

    written = _BOUND.sub(take_bound, written)
    routes = [
        f"{end}:{x}" for found in _ROUTE.finditer(written)
        for end, x in zip(("from", "to", "from", "to"), found.groups(), strict=True) if x
    ]  # fmt: skip
    written, n_denied = known["negators"].subn(" ", written.replace("'s ", " "))
    words: Counter[str] = Counter(routes)
    for word, name, side in known["opposed"]:
        n = written.count(word)
        if n:
            written, n_denied = written.replace(word, " "), n_denied + side * n
            words[name] += n
    written = known["removed"].sub(" ", written)
    for token in _TOKEN.findall(written):
        stem = token if _CHINESE.match(token) else _stem(token)
        if stem in known["opposites"]:
            stem, side = known["opposites"][stem]
            n_denied += side
        if stem not in known["stops"]:
            words[stem] += 1
    marked = frozenset(f"{x}{k or ''}" for x, n in words.items() for k in range(n))
    return Claim(strip_dress(text), marked, n_denied % 2 == 1, tuple(sorted(bounds)))


def compare_claims(one: Claim, other: Claim) -> Relation | None:
    """Say how two criteria of an item belong together, where their words show it."""
    if one.dress == other.dress:
        return "duplicate"
    rest = one.words ^ other.words
    for of, side, n in one.bounds:
        for of_other, side_other, m in other.bounds:
            is_apart = side != side_other and ((n < m) == (side == "high") and n != m)
            if (
                of == of_other
                and is_apart
                and len(rest) <= 1
                and not one.is_denied | other.is_denied
            ):
                return "contradiction"
    if one.bounds != other.bounds or not ((one.words and other.words) or one.bounds):
        return None
    if not rest and one.is_denied is not other.is_denied:
        return "contradiction"
    n_shared = len(one.words & other.words)
    is_within = one.words <= other.words or other.words <= one.words
    is_near = is_within and len(rest) <= n_shared / 4 and not any(x[0].isdigit() for x in rest)
    return "near_duplicate" if is_near and one.is_denied is other.is_denied else None


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
