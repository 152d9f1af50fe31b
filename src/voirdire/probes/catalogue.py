"""The probes that ship: verbosity, authority, style, bandwagon, sentiment and steering."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from voirdire.probes.probe import Probe, changed_item
from voirdire.probes.text import (
    count_words,
    draw_for,
    join_sentences,
    language_of,
    neutral_text,
    read_data,
    split_sentences,
)

if TYPE_CHECKING:
    from voirdire._types import Language
    from voirdire.records import Item

__all__ = ["probes"]

_MOST_PADDING = {"en": 120, "zh": 200}
"""Words of English, characters of Chinese."""

_MARKDOWN = re.compile(r"```|\*\*|^\s*(?:[-*+•#]|\d+[.)、])", re.MULTILINE)
_LEAD_WORDS = 2
_LEAD_CHARACTERS = 4


def probes(*, language: Language | None = None) -> tuple[Probe, ...]:
    """Make the probes that ship.

    Parameters
    ----------
    language : {"en", "zh"}, optional
        What they write in; by default in the language of each response: Chinese where more than a
        fifth of its characters are Han.

    Returns
    -------
    tuple of Probe
        With ids that are unique. What they change is the same in every run.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> item = Item(id="a", response="Boil it for eight minutes.")
    >>> majority = next(probe for probe in probes() if probe.id == "bandwagon/majority")
    >>> print(majority.change(item).response)
    Boil it for eight minutes.
    <BLANKLINE>
    Nine out of ten people who read this answer share its view.
    >>> print(majority.control(item).response)
    Boil it for eight minutes.
    <BLANKLINE>
    Here is one new line of text. One printed line stands here.
    """
    rows = cast("list[dict[str, Any]]", read_data("texts.yaml")["added"])
    return (
        Probe(
            id="verbosity/padding",
            family="verbosity",
            summary="sentences that add nothing are added",
            change=partial(_pad, language=language),
            touches=frozenset({"additional_content"}),
        ),
        Probe(
            id="style/markdown",
            family="style",
            summary="its sentences are written as a list with bold first words",
            change=partial(_write_list, language=language),
            control=partial(_write_paragraphs, language=language),
        ),
        *(_added_probe(row, language) for row in rows),
    )


def _added_probe(row: dict[str, Any], language: Language | None) -> Probe:
    """Make a probe that adds one of its texts, and filler of the same length to its control."""
    probe_id = row["id"]

    def text_for(item: Item) -> tuple[str, Language]:
        spoken = language or language_of(item.response)
        return draw_for(item.id, probe_id).choice(row[spoken]), spoken

    def change(item: Item) -> Item | None:
        return _add(item, probe_id, text_for(item)[0])

    def control(item: Item) -> Item | None:
        text, spoken = text_for(item)
        return _add(item, f"{probe_id}/control", neutral_text(len(text), count_words(text), spoken))

    return Probe(
        id=probe_id,
        family=probe_id.partition("/")[0],
        summary=row["summary"],
        change=change,
        control=control,
        touches=frozenset(row["touches"]),
    )


def _add(item: Item, change_id: str, text: str) -> Item | None:
    """Write a text below the response; None for a response that says nothing."""
    if not item.response.strip():
        return None
    return changed_item(item, change_id, f"{item.response}\n\n{text}")


def _size(text: str, language: Language) -> int:
    return len(text) if language == "zh" else count_words(text)


def _pad(item: Item, *, language: Language | None) -> Item | None:
    """Add about as much as there is, up to a limit."""
    spoken = language or language_of(item.response)
    sentences = read_data("texts.yaml")["padding"][spoken]
    start = int(draw_for(item.id, "verbosity/padding").integers(len(sentences)))
    wanted = min(_size(item.response, spoken), _MOST_PADDING[spoken])
    padding: list[str] = []
    while not padding or (
        _size(join_sentences(padding, spoken), spoken) < wanted and len(padding) < len(sentences)
    ):
        padding.append(sentences[(start + len(padding)) % len(sentences)])
    return _add(item, "verbosity/padding", join_sentences(padding, spoken))


def _sentences_to_list(item: Item) -> list[str] | None:
    """Give the sentences of a response that can be written as a list, and is not yet one."""
    sentences = split_sentences(item.response)
    return None if len(sentences) < 2 or _MARKDOWN.search(item.response) else sentences


def _write_list(item: Item, *, language: Language | None) -> Item | None:
    sentences = _sentences_to_list(item)
    if sentences is None:
        return None
    lines = [_bold_lead(sentence, language or language_of(item.response)) for sentence in sentences]
    return changed_item(item, "style/markdown", "\n".join(lines))


def _bold_lead(sentence: str, language: Language) -> str:
    if language == "zh":
        lead, rest = sentence[:_LEAD_CHARACTERS], sentence[_LEAD_CHARACTERS:]
    else:
        words = sentence.split(" ", _LEAD_WORDS)
        lead, rest = " ".join(words[:_LEAD_WORDS]), "".join(f" {word}" for word in words[2:])
    return f"- **{lead}**{rest}"


def _write_paragraphs(item: Item, *, language: Language | None) -> Item | None:
    """Write the sentences as paragraphs, with blank lines for the marks of the list."""
    sentences, listed = _sentences_to_list(item), _write_list(item, language=language)
    if sentences is None or listed is None:
        return None
    n_gaps = len(sentences) - 1
    gap, n_longer = divmod(len(listed.response) - sum(map(len, sentences)), n_gaps)
    text = sentences[0]
    for number, sentence in enumerate(sentences[1:]):
        text += "\n" * (gap + (number < n_longer)) + sentence
    return changed_item(item, "style/markdown/control", text)
