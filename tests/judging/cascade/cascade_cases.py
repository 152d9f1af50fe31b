"""Judges whose answers are functions of the response, so that every verdict is known beforehand."""

import random

from asked_models import Asked
from voirdire.judging import CascadeJudge, LlmJudge, ScriptedJudge
from voirdire.records import Item

QUESTIONS = ("sorry", "rude")


def first_says(response):
    """Give the two numbers that stand in a response; the word nan is no answer."""
    return [float(word) for word in response.split()[:2]]


def then_says(response):
    """Give two probabilities that have nothing to do with those numbers."""
    chance = random.Random(response)
    return {name: round(chance.random(), 6) for name in QUESTIONS}


def made_items(n_items, *, seed=0, share_sure=0.6):
    """Make items of which about so many leave the first judge sure, some twice."""
    chance = random.Random(seed)
    items = []
    for number in range(n_items):
        sure = chance.random() < share_sure
        pair = [chance.choice((0.01, 0.98)) if sure else chance.random() for _ in QUESTIONS]
        response = f"{pair[0]:.3f} {pair[1]:.3f} {number % max(n_items - 3, 1)}"
        behavior = chance.choice((None, "refuse", "chat"))
        items.append(Item(id=f"i{number}", response=response, behavior=behavior))
    return items


def is_between(response, low=0.05, high=0.95):
    """Tell in plain Python whether the first judge is unsure of a response."""
    return any(value != value or low < value < high for value in first_says(response))


class Cascades:
    """Cascades of the two judges, and what the second one was asked."""

    def __init__(self):
        self.asked = Asked(lambda shown: self.says(shown["response"]))
        self.says = then_says

    def first(self, **settings):
        """Give the first judge."""
        settings = {"source": "classifier", "name": "quick"} | settings
        return ScriptedJudge(
            questions=QUESTIONS, answer=lambda item: first_says(item.response), **settings
        )

    def then(self, **settings):
        """Give the language model."""
        return LlmJudge(model=self.asked.model, **{"concurrency": 8} | settings)

    def cascade(self, unsure=(0.05, 0.95), *, first=None, then=None, **settings):
        """Give the cascade."""
        return CascadeJudge(
            first=self.first() if first is None else first,
            then=self.then() if then is None else then,
            unsure=unsure,
            **settings,
        )

    @property
    def n_asked(self):
        """How many calls there were."""
        return sum(self.asked.seen.values())
