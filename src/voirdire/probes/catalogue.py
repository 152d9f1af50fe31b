"""Lists the built-in probes: verbosity, authority, style, bandwagon and steering."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from voirdire.probes.attack import small_attacks
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.random import Generator

    from voirdire._types import Language
    from voirdire.records import Item

    Rule: TypeAlias = Callable[[str, Language, Generator], str | None]
    """From a response, its language and the draws of its item to another response, or to None."""

_FAMILIES = ("verbosity", "authority", "style", "bandwagon", "steering")
_MOST_PADDING = {"en": 120, "zh": 200}
"""Words of English, characters of Chinese."""

_MARKDOWN = re.compile(r"```|\*\*|^\s*(?:[-*+•#]|\d+[.)、])", re.MULTILINE)
_N_LEAD = {"en": 2, "zh": 4}
"""How many words of English and characters of Chinese of a sentence are bold."""

_EMOJI = "✨📌🌟🎈"
_PLAIN_MARKS = "–—·~"
_HERE_IS = r"(?:here(?:'s|’s| is| are)\b[^\n]{0,100}[:：]\s*\n\s*|以下是[^\n]{0,40}[:：]\s*\n\s*)?"


def probes() -> tuple[Probe, ...]:
    """Make the probes that ship.

    They write in the language of each response: Chinese where more than a fifth of its characters
    are Han.

    Returns
    -------
    tuple of Probe
        By family, with unique ids. Each gives the same changes in every run: what is drawn is
        drawn from the ids of the item and the probe. None of them changes an empty response. The
        two of the family ``"steering"`` draw among all attacks.

    Notes
    -----
    A control has as many characters as its change, give or take two, and as many words, give or
    take one (in Chinese only characters count). The control of ``style/markdown`` has as many
    characters but no bullets, which stand between spaces as words do; the two probes of verbosity
    have no control, since length is what they change.

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
    made = (*_rewriting_probes(), *_adding_probes(), *_steering_probes())
    return tuple(sorted(made, key=lambda probe: _FAMILIES.index(probe.family)))


def neutral_probe() -> Probe:
    """Make the probe of nothing: both versions have a line about nothing, another one each.

    Returns
    -------
    Probe
        Of the family ``"neutral"``: how often labels flip under it is the floor of every other.
    """
    sizes = (60, 11), (66, 12)

    def rule(size: tuple[int, int]) -> Rule:
        def change(text: str, language: Language, _: Generator) -> str:
            n_characters, n_words = size
            n_characters //= 1 + (language == "zh")
            return _add(text, neutral_text(n_characters, n_words, language))

        return change

    return _probe("neutral/line", "another line about nothing is added", *map(rule, sizes))


# Probes that write the response in another way -------------------------------------------------


def _rewriting_probes() -> Iterator[Probe]:
    yield _probe(
        "verbosity/padding",
        "sentences that add nothing are added",
        _pad,
        touches=["additional_content"],
    )
    yield _probe(
        "verbosity/trimmed",
        "phrases that open or close it and say nothing are removed",
        _trim,
        touches=["additional_content", "gentle_encouragement", "requests_information"],
    )
    yield _probe(
        "style/markdown",
        "its sentences are written as a list with bold first words",
        _write_list,
        _write_paragraphs,
    )
    yield _probe(
        "style/emoji",
        "an emoji follows each of its sentences",
        partial(_mark_sentences, marks=_EMOJI),
        partial(_mark_sentences, marks=_PLAIN_MARKS),
    )


def _probe(
    probe_id: str,
    summary: str,
    change: Rule,
    control: Rule | None = None,
    *,
    touches: Sequence[str] = (),
    aim: bool | None = None,
) -> Probe:
    """Make a probe of rules for texts."""
    return Probe(
        id=probe_id,
        family=probe_id.partition("/")[0],
        summary=summary,
        change=_change(change, probe_id),
        control=control and _change(control, probe_id, suffix="/control"),
        touches=frozenset(touches),
        aim=aim,
    )


def _change(rule: Rule, probe_id: str, *, suffix: str = "") -> Callable[[Item], Item | None]:
    """Make a change of items of a rule for texts; a change and its control draw the same."""

    def change(item: Item) -> Item | None:
        text = item.response
        if not text.strip():
            return None
        changed = rule(text, language_of(text), draw_for(item.id, probe_id))
        same = changed is None or changed == text
        return None if same else changed_item(item, probe_id + suffix, str(changed))

    return change


def _pad(text: str, language: Language, rng: Generator) -> str:
    """Add about as much as there is, up to a limit."""
    sentences = read_data("texts.yaml")["padding"][language]
    size = len if language == "zh" else count_words
    wanted = min(size(text), _MOST_PADDING[language])
    start = int(rng.integers(len(sentences)))
    padding = ""
    for sentence in (*sentences[start:], *sentences[:start]):
        longer = join_sentences([padding, sentence], language).strip()
        if padding and size(longer) > wanted:
            break
        padding = longer
    return _add(text, padding)


def _trim(text: str, language: Language, _rng: Generator) -> str | None:
    """Remove phrases around an answer; None where there are none, or nothing else."""
    opening, closing = _trimmed_phrases(language)
    whole = text.strip()
    opened = opening.match(whole)
    trimmed = whole[opened.end() :] if opened else whole
    while trimmed and closing.match(last := split_sentences(trimmed)[-1]):
        trimmed = trimmed.removesuffix(last).rstrip()
    if trimmed in {"", whole}:
        return None
    return trimmed[0].upper() + trimmed[1:] if opened else trimmed


@cache
def _trimmed_phrases(language: Language) -> tuple[re.Pattern[str], re.Pattern[str]]:
    texts = read_data("texts.yaml")
    opening, closing = ("|".join(texts[name][language]) for name in ("openings", "closings"))
    return (
        re.compile(rf"(?:(?:{opening})(?:[!,.，。！]+\s*|\s*\n\s*))+{_HERE_IS}", re.IGNORECASE),
        re.compile(closing, re.IGNORECASE),
    )


def _listable(text: str) -> list[str] | None:
    """Return the sentences of a text that can be written as a list, and is not yet one."""
    sentences = [" ".join(sentence.split()) for sentence in split_sentences(text)]
    return None if len(sentences) < 2 or _MARKDOWN.search(text) else sentences


def _write_list(text: str, language: Language, _rng: Generator) -> str | None:
    sentences = _listable(text)
    if sentences is None:
        return None
    space, n_lead = "" if language == "zh" else " ", _N_LEAD[language]
    lines = []
    for sentence in sentences:
        parts = list(sentence) if language == "zh" else sentence.split()
        lead, rest = space.join(parts[:n_lead]), space.join(["", *parts[n_lead:]])
        lines.append(f"- **{lead}**{rest}")
    return "\n".join(lines)


def _write_paragraphs(text: str, language: Language, rng: Generator) -> str | None:
    """Write the sentences as paragraphs, with blank lines for the marks of the list."""
    sentences, listed = _listable(text), _write_list(text, language, rng)
    if sentences is None or listed is None:
        return None
    lines = [line.replace("- **", "", 1).replace("**", "", 1) for line in listed.split("\n")]
    n_gaps = len(lines) - 1
    gap, n_longer = divmod(len(listed) - sum(map(len, lines)), n_gaps)
    gaps = ["\n" * (gap + (number < n_longer)) for number in range(n_gaps)]
    return "".join(line + space for line, space in zip(lines, [*gaps, ""], strict=True))


def _mark_sentences(text: str, language: Language, rng: Generator, *, marks: str) -> str | None:
    """Put a mark behind every sentence of a text without code."""
    if "```" in text:
        return None
    start = int(rng.integers(len(marks)))
    marked, rest = "", text
    for number, sentence in enumerate(split_sentences(text)):
        before, found, rest = rest.partition(sentence)
        mark = marks[(start + number) % len(marks)]
        marked += f"{before}{found}{'' if language == 'zh' else ' '}{mark}"
    return marked + rest


# Probes that add a text below the response -----------------------------------------------------


def _adding_probes() -> Iterator[Probe]:
    for row in read_data("texts.yaml")["added"]:
        texts = {spoken: [(text, spoken) for text in row[spoken]] for spoken in ("en", "zh")}
        yield _probe(row["id"], row["summary"], *_adding_rules(texts), touches=row["touches"])


def _steering_probes() -> Iterator[Probe]:
    """Make a probe of all attacks for each aim; none of great size."""
    for aim in (True, False):
        rows = [row for row in small_attacks() if row.aim == aim]
        texts = {
            spoken: [(row.response, row.language) for row in rows if row.language == spoken]
            for spoken in ("en", "zh")
        }
        yield _probe(
            f"steering/any_{str(aim).lower()}",
            f"an attack asks for the answer {str(aim).lower()}",
            *_adding_rules(texts),
            touches=read_data("texts.yaml")["steering"],
            aim=aim,
        )


def _adding_rules(texts: Mapping[str, Sequence[tuple[str, Any]]]) -> tuple[Rule, Rule]:
    """Make the rules that add a text, drawn in the language of the response, and its filler."""

    def draw(language: Language, rng: Generator) -> tuple[str, Language]:
        among = texts[language]
        return among[int(rng.integers(len(among)))]

    def change(text: str, language: Language, rng: Generator) -> str:
        return _add(text, draw(language, rng)[0])

    def control(text: str, language: Language, rng: Generator) -> str:
        added, spoken = draw(language, rng)
        return _add(text, neutral_text(len(added), count_words(added), spoken))

    return change, control


def _add(text: str, added: str) -> str:
    return f"{text}\n\n{added}"
