"""Changes that make a response worse for sure."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from voirdire.probes.probe import Degradation, changed_item
from voirdire.probes.text import draw_for, join_sentences, language_of, split_sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from voirdire.records import Item

__all__ = ["degradations"]

_FEWEST_WORDS = 8
_FEWEST_SENTENCES = 3
_ENDS = ".!?。！？,，;；:："


def degradations() -> tuple[Degradation, ...]:
    """Make the degradations that ship.

    Returns
    -------
    tuple of Degradation
        With ids that are unique. What they change is the same in every run.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> item = Item(id="a", response="Put the egg into simmering water for eight minutes.")
    >>> [cut] = [row for row in degradations() if row.id == "truncated_30"]
    >>> cut.change(item).response
    'Put the egg'
    """
    kinds: tuple[tuple[str, str, Callable[[str, Generator], str | None]], ...] = (
        ("truncated_60", "it is cut after 60% of its text", partial(_truncate, share=0.6)),
        ("truncated_30", "it is cut after 30% of its text", partial(_truncate, share=0.3)),
        ("shuffled", "its sentences are shuffled", _shuffle_sentences),
    )
    return tuple(
        Degradation(id=name, summary=summary, change=_change(name, degrade))
        for name, summary, degrade in kinds
    )


def _change(
    name: str, degrade: Callable[[str, Generator], str | None]
) -> Callable[[Item], Item | None]:
    """Make a change of items from one of responses."""

    def change(item: Item) -> Item | None:
        text = degrade(item.response, draw_for(item.id, name))
        return None if text is None or text == item.response else changed_item(item, name, text)

    return change


def _truncate(text: str, _rng: Generator, *, share: float) -> str | None:
    """Cut inside a sentence: between two words, in Chinese between two characters."""
    is_chinese = language_of(text) == "zh"
    size = len(text.strip()) if is_chinese else len(text.split())
    if size < _FEWEST_WORDS:
        return None
    cut = text.strip()[: int(share * len(text.strip()))]
    if not is_chinese:
        cut = cut.rpartition(" ")[0] or cut
    return cut.rstrip().rstrip(_ENDS).rstrip()


def _shuffle_sentences(text: str, rng: Generator) -> str | None:
    sentences = split_sentences(text)
    if len(sentences) < _FEWEST_SENTENCES:
        return None
    order = rng.permutation(len(sentences))
    while any(after == before + 1 for before, after in pairwise(order)):
        order = rng.permutation(len(sentences))
    return join_sentences([sentences[place] for place in order], language_of(text))
