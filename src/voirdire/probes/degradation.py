"""Makes a response worse for sure."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from voirdire.probes.probe import Degradation, changed_item
from voirdire.probes.text import draw_for, join_sentences, language_of, split_sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from voirdire.records import Item

    Rule: TypeAlias = Callable[[str, Generator], str | None]

__all__ = ["degradations"]

_FEWEST_WORDS = 8
"""Words of English, characters of Chinese, from which a text is cut or shuffled."""
_FEWEST_SENTENCES = 3
_SENTENCE_ENDS = ".!?。！？"
_PAUSES = ",;:-–—，；：、"

# The first branch takes the numbers of a list, so that no other branch does.
_NUMBER = re.compile(
    r"^[ \t]*\d+[.)、]|(?P<number>\d+(?:[.,:/]\d+)*"
    r"|[一二三四五六七八九十百千万两]+(?=[个只次天年月周日分秒点小岁斤克米度块元升毫片遍倍人]))",
    re.MULTILINE,
)
# Not behind a colon, a bracket, a quotation mark or a mark of a list or of bold type.
_ENTITY = re.compile(
    r"《[^》\n]+》"
    r"|(?<![\w:;\"“‘(\[*>#-])(?<![:;*>#-][ ])[A-Z][\w'’-]*[^\W_](?:[ ][A-Z][\w'’-]*[^\W_])*(?!\w)",
    re.ASCII,
)
_FIRST_WORD = re.compile(r"\W*(?:\d+[.)]\W*)?\w*")
_PRONOUN = re.compile(r"I['’]")
_DIGITS = "123456789"
_NUMERALS = "一二三四五六七八九"


def degradations() -> tuple[Degradation, ...]:
    """Make the degradations that ship.

    Returns
    -------
    tuple of Degradation
        With unique ids. Each gives the same changes in every run: what is drawn is drawn from the
        ids of the item and the degradation.

    Notes
    -----
    Names are found by their capitals, in the middle of an English sentence, and in Chinese by
    their brackets, as titles have them. Where a response has none, and no number, nothing is
    dropped or corrupted; where it is too short to cut or to shuffle, it is left alone.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> item = Item(id="a", response="Put the egg into simmering water for 8 minutes.")
    >>> for row in degradations()[:-1]:
    ...     worse = row.change(item)
    ...     if worse is not None:
    ...         print(f"{row.id}: {worse.response}")
    truncated_60: Put the egg into simmering
    truncated_30: Put the egg
    shuffled_words: egg simmering 8 into the for water Put minutes.
    without_numbers: Put the egg into simmering water for minutes.
    corrupted: Put the egg into simmering water for 2 minutes.
    """
    kinds: tuple[tuple[str, str, Rule], ...] = (
        ("truncated_60", "it is cut after 60% of its text", partial(_truncate, share=0.6)),
        ("truncated_30", "it is cut after 30% of its text", partial(_truncate, share=0.3)),
        ("shuffled", "its sentences are shuffled", _shuffle_sentences),
        ("shuffled_words", "its words are shuffled", _shuffle_words),
        ("without_numbers", "its numbers and names are dropped", _drop_facts),
        ("corrupted", "its numbers are changed and its names swapped", _corrupt_facts),
        ("repeated", "one of its sentences stands in place of all", _repeat_sentence),
        ("empty", "it is empty", lambda _text, _rng: ""),
    )
    return tuple(
        Degradation(id=name, summary=summary, change=_change(name, rule))
        for name, summary, rule in kinds
    )


def _change(name: str, rule: Rule) -> Callable[[Item], Item | None]:
    """Make a change of items of a rule for texts."""

    def change(item: Item) -> Item | None:
        text = rule(item.response, draw_for(item.id, name)) if item.response.strip() else None
        same = text is None or text.split() == item.response.split()
        return None if same else changed_item(item, name, str(text))

    return change


# Order and length ------------------------------------------------------------------------------


def _truncate(text: str, _rng: Generator, *, share: float) -> str | None:
    """Cut inside a sentence: between two words, in Chinese between two characters."""
    whole, is_chinese = text.strip(), language_of(text) == "zh"
    if len(_parts(whole)) < _FEWEST_WORDS:
        return None
    cut = whole[: int(share * len(whole))].rstrip()
    if not is_chinese or cut.endswith(tuple(_SENTENCE_ENDS)):
        cut = cut[:-2] if is_chinese else cut.rsplit(None, 1)[0]
    return cut.rstrip(_SENTENCE_ENDS + _PAUSES + " \n")


def _parts(text: str) -> list[str]:
    """Split into words, in Chinese into characters."""
    return list(text) if language_of(text) == "zh" else text.split()


def _shuffle_words(text: str, rng: Generator) -> str | None:
    parts = _parts(text.strip())
    if len(parts) < _FEWEST_WORDS:
        return None
    order = rng.permutation(len(parts))
    return join_sentences([parts[place] for place in order], language_of(text))


def _shuffle_sentences(text: str, rng: Generator) -> str | None:
    """Shuffle until no sentence follows the one that it followed."""
    sentences = split_sentences(text)
    if len(sentences) < _FEWEST_SENTENCES:
        return None
    order = rng.permutation(len(sentences))
    while any(after == before + 1 for before, after in pairwise(order)):
        order = rng.permutation(len(sentences))
    return join_sentences([sentences[place] for place in order], language_of(text))


def _repeat_sentence(text: str, rng: Generator) -> str | None:
    sentences = split_sentences(text)
    if len(sentences) < 2:
        return None
    drawn = sentences[int(rng.integers(len(sentences)))]
    return join_sentences([drawn] * len(sentences), language_of(text))


# Numbers and names -----------------------------------------------------------------------------


def _drop_facts(text: str, _rng: Generator) -> str | None:
    facts = [*_numbers(text), *_names(text)]
    if not facts:
        return None
    dropped = _replace_spans(text, dict.fromkeys(facts, ""))
    return re.sub(r"[ ]+(?=[.,;:!?)]|[ ]|$)", "", dropped, flags=re.MULTILINE)


def _corrupt_facts(text: str, rng: Generator) -> str | None:
    """Write every digit but zero as another, and every name as another one of the text."""
    steps = int(rng.integers(1, len(_DIGITS)))
    turned = (row[steps:] + row[:steps] for row in (_DIGITS, _NUMERALS))
    other = str.maketrans(f"{_DIGITS}{_NUMERALS}十百千万两", f"{''.join(turned)}百千万十八")
    changes = {span: text[slice(*span)].translate(other) for span in _numbers(text)}
    spans = _names(text)
    names = sorted({text[slice(*span)] for span in spans})
    order = [names[place] for place in rng.permutation(len(names))]
    following = dict(zip(order, [*order[1:], *order[:1]], strict=True))
    changes |= {span: following[text[slice(*span)]] for span in spans}
    return _replace_spans(text, changes)


def _numbers(text: str) -> list[tuple[int, int]]:
    """Find numbers, but not those of a list."""
    return [match.span() for match in _NUMBER.finditer(text) if match["number"]]


def _names(text: str) -> list[tuple[int, int]]:
    """Find what has capitals inside a sentence, and titles in brackets."""
    spans, start = [], 0
    for sentence in split_sentences(text):
        start = text.index(sentence, start)
        first = _FIRST_WORD.match(sentence)
        for match in _ENTITY.finditer(sentence):
            begins = first is not None and match.start() < first.end()
            if match[0].startswith("《") or not (begins or _PRONOUN.match(match[0])):
                spans.append((start + match.start(), start + match.end()))
        start += len(sentence)
    return spans


def _replace_spans(text: str, changes: dict[tuple[int, int], str]) -> str:
    """Replace spans that do not overlap; of two that do, the one that begins first."""
    pieces, done = [], 0
    for (start, end), new in sorted(changes.items()):
        if start >= done:
            pieces += [text[done:start], new]
            done = end
    return "".join([*pieces, text[done:]])
