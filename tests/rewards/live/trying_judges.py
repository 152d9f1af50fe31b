"""Judges that misbehave, for rewards that must not."""

import threading
import time
from dataclasses import dataclass, field

import numpy as np

QUESTIONS = ("sorry", "rude", "names_it")
SECRET = "the response said OPEN SESAME"
"""What stands in exceptions of these judges, and may stand in no log."""


@dataclass(kw_only=True)
class TryingJudge:
    """Gives 1, 0, 0 for every item; what inherits from it does worse."""

    name: str = "trying"
    questions: tuple[str, ...] = QUESTIONS
    fingerprint: str = "sha256:trying"
    source: str = "classifier"

    def probabilities(self, items):
        return np.tile([1.0, 0.0, 0.0], (len(items), 1))


@dataclass(kw_only=True)
class SomeFail(TryingJudge):
    """Fails on every item whose response ends with 0, 3 or 7: three of ten."""

    def probabilities(self, items):
        given = super().probabilities(items)
        given[[item.response[-1:] in "037" for item in items]] = np.nan
        return given


@dataclass(kw_only=True)
class SomeRaise(TryingJudge):
    """Raises where such an item is among those it is asked about."""

    def probabilities(self, items):
        if any(item.response[-1:] in "037" for item in items):
            raise ValueError(SECRET)
        return super().probabilities(items)


@dataclass(kw_only=True)
class Raises(TryingJudge):
    """Raises always."""

    def probabilities(self, items):
        raise RuntimeError(SECRET + items[0].response)


@dataclass(kw_only=True)
class Leaves(TryingJudge):
    """Tries to end the process, as an exception that is no `Exception`."""

    def probabilities(self, items):
        raise SystemExit(SECRET)


@dataclass(kw_only=True)
class Gives(TryingJudge):
    """Gives whatever it was told to."""

    given: object = None

    def probabilities(self, items):
        return self.given


@dataclass(kw_only=True)
class GivesNumber(TryingJudge):
    """Gives one number everywhere."""

    number: float = 2.0

    def probabilities(self, items):
        return np.full((len(items), 3), self.number)


@dataclass(kw_only=True)
class Hangs(TryingJudge):
    """Sleeps until it is let go."""

    let_go: threading.Event = field(default_factory=threading.Event)
    is_asked: threading.Event = field(default_factory=threading.Event)
    has_answered: threading.Event = field(default_factory=threading.Event)

    def probabilities(self, items):
        self.is_asked.set()
        self.let_go.wait(60)
        self.has_answered.set()
        return super().probabilities(items)


@dataclass(kw_only=True)
class Counts(TryingJudge):
    """Keeps the responses that it was asked about."""

    asked: list = field(default_factory=list)
    pause_s: float = 0.0

    def probabilities(self, items):
        self.asked += [item.response for item in items]
        time.sleep(self.pause_s)
        return super().probabilities(items)
