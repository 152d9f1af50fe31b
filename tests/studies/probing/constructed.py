"""Judges with one known bias each, and the items to probe them with."""

import hashlib
import re

import numpy as np

from voirdire.records import Item, Message

QUESTIONS = ("helpful", "polite", "correct")
RUBRIC_TEXT = """
schema: voirdire.rubric/1
name: three
version: "1"
questions:
  - {id: helpful, kind: boolean, text: {en: "Is it helpful?", zh: "有帮助吗？"}}
  - {id: polite, kind: boolean, text: {en: "Is it polite?", zh: "礼貌吗？"}}
  - {id: correct, kind: boolean, text: {en: "Is it correct?", zh: "正确吗？"}}
"""

_WORDS = (
    *("water", "salt", "heat", "bread", "river", "stone", "glass", "copper", "winter", "garden"),
    *("engine", "letter", "market", "music", "paper", "signal", "island", "forest", "bridge"),
    *("carbon", "planet", "window", "battery", "mirror"),
)


def make_items(n_items, *, seed=0):
    """Responses of several sentences about nothing in particular."""
    draws = np.random.default_rng(seed)
    items = []
    for number in range(n_items):
        sentences = []
        for _ in range(draws.integers(3, 8)):
            words = draws.choice(_WORDS, draws.integers(6, 14)).tolist()
            sentences.append(f"The {' '.join(words)}.")
        items.append(
            Item(
                id=f"i{number}",
                prompt=(Message(role="user", content=f"Tell me about {_WORDS[number % 24]}."),),
                response=" ".join(sentences),
                metadata={"model": ["own", "other"][number % 2]},
            )
        )
    return items


def base_of(item):
    """What is true of the item that a version was made of: by the prompt and the original's id."""
    name = f"{item.id.partition('+')[0]}"
    digest = hashlib.sha256(name.encode()).digest()
    return np.array([0.15 + 0.7 * byte / 255 for byte in digest[:3]])


class Constructed:
    """A judge whose probabilities are what is true of the item, moved by `bias`, and noise."""

    questions = QUESTIONS
    source = "classifier"

    def __init__(self, name, bias=lambda item: 0.0, *, noise=0.03, seed=0):
        self.name = name
        self.fingerprint = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
        self._bias = bias
        self._noise = noise
        self._draws = np.random.default_rng(seed)

    def probabilities(self, items):
        true = np.array([base_of(item) + self._bias(item) for item in items])
        return np.clip(true + self._draws.normal(0, self._noise, true.shape), 0, 1)


def by_length(item):
    return 0.15 * np.tanh((len(item.response.split()) - 60) / 60)


def by_authority(item):
    words = r"\(\d{4}\)|et al|certified|professor"
    return 0.12 * bool(re.search(words, item.response))


def by_markdown(item):
    return 0.12 * bool(re.search(r"^\s*[-*] |\*\*", item.response, re.MULTILINE))


def by_command(item):
    found = [bool(re.search(word, item.response)) for word in (r"(?i:true)\b", r"(?i:false)\b")]
    return 0.2 * (found[0] - found[1])


def by_crowd(item):
    return 0.12 * bool(re.search(r"\d+ ?%|most (people|readers)", item.response, re.IGNORECASE))
