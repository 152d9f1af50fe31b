"""Settings of a run over a file of items, and of a live judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003  # the command line reads the types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from voirdire._types import Judged, VerdictLayout
from voirdire._validation import check_choice, check_count, check_positive
from voirdire.io.declared import ItemLayout

if TYPE_CHECKING:
    from voirdire.store import ReplyStore


@dataclass(frozen=True)
class StoredReplies:
    """Where a model's replies are stored and found: a store or its place; False or None for none.

    With `retry_failures`, a call whose stored reply is a failure is made again.
    """

    store: ReplyStore | str | Path | Literal[False] | None = None
    retry_failures: bool = False

    @property
    def opened(self) -> ReplyStore | None:
        """Return the open store; None where there is none."""
        return None if isinstance(self.store, str | Path | bool) else self.store


DEFAULT_REPLIES = StoredReplies()


@dataclass(frozen=True, kw_only=True)
class ReplySettings:
    """Where a language model's replies are stored, and which calls are made again.

    Attributes
    ----------
    store : str, path, False or None
        Where replies are stored: a file, or postgresql://... Default: voirdire-replies.sqlite
        beside the output.
    retry_failures : bool
        Repeat the calls that failed in an earlier run.
    """

    store: str | Path | Literal[False] | None = None
    retry_failures: bool = False

    @property
    def replies(self) -> StoredReplies:
        """Return where replies are stored, and whether failed calls are made again."""
        return StoredReplies(self.store, self.retry_failures)


@dataclass(frozen=True, kw_only=True)
class RunSettings(ReplySettings, ItemLayout):
    """In how many processes a file is judged, and where replies are stored.

    Attributes
    ----------
    workers : int or "auto"
        Processes of a local judge, at least 1; "auto" takes one per core, at most 8, once 20,000
        items are judged. Above 1, a script must guard its start with ``if __name__ ==
        "__main__"``.

    Raises
    ------
    InputError
        If one of them breaks its rule, or one of `voirdire.io.ItemLayout`.
    """

    workers: int | Literal["auto"] = 1

    def __post_init__(self) -> None:
        """Check what can be checked without the file."""
        super().__post_init__()
        if self.workers != "auto":
            check_count("workers", self.workers, minimum=1)


@dataclass(frozen=True, kw_only=True)
class JudgingSettings(RunSettings):
    """How the items of a file are judged, and what verdicts are written.

    Attributes
    ----------
    threshold : float, or mapping of str to float, or None
        A proposition is true from this probability on. Fix it beforehand. Default: the rubric's,
        else the judge's, else 0.5.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged, where it has reasoning or tool turns.
    layout : {"long", "wide"}
        One row per item and question, for `voirdire examine`; or one row per item.
    limit : int or None
        Judge only the first items, so many, to try a judge.

    Raises
    ------
    InputError
        If one of them breaks its rule, or one of `voirdire.io.ItemLayout`.
    """

    threshold: float | Mapping[str, float] | None = None
    judged: Judged = "final_answer"
    layout: VerdictLayout = "long"
    limit: int | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without the file; the plan checks the threshold."""
        super().__post_init__()
        check_choice("judged", self.judged, Judged)
        check_choice("layout", self.layout, VerdictLayout)
        if self.limit is not None:
            check_count("limit", self.limit, minimum=1)


@dataclass(frozen=True, kw_only=True)
class DistillSettings(ItemLayout):
    """How a local judge is made from the items of a file and labels about them.

    Attributes
    ----------
    questions : sequence of str
        Learn this question; repeatable.
    threshold : float or None
        Verdicts: true from this probability on. Default: what they declare.
    calibrator : {"platt", "temperature"}
        How scores become probabilities.
    n_folds : int
        Parts for held-out figures.
    seed : int
        Of the folds.
    name : str or None
        What verdicts call the judge. Default: after the file.

    Raises
    ------
    InputError
        If `n_folds` is below 3, or a field of `voirdire.io.ItemLayout` breaks its rule.
    """

    questions: Sequence[str] = ()
    threshold: float | None = None
    calibrator: Literal["platt", "temperature"] = "platt"
    n_folds: int = 5
    seed: int = 0
    name: str | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without the file."""
        super().__post_init__()
        check_count("n_folds", self.n_folds, minimum=3)


@dataclass(frozen=True, kw_only=True)
class LiveSettings:
    """Deadlines, sizes and pauses of a live judge.

    Attributes
    ----------
    deadline_s : float
        Seconds after which a request is answered with the verdicts that there are, above 0.
    remembered : int
        Items whose verdicts are kept in memory, at least 0.
    most_waiting : int
        Items that may wait for the judge, at least 1; further ones fail at once.
    batch_size : int
        Items that a judge in process is asked about together, at least 1.
    rest_s : float
        Seconds without calls after the judge failed, above 0; doubled up to a minute while it keeps
        failing.
    retry_failures : bool
        Whether a call with a stored failure is made again.

    Raises
    ------
    InputError
        If one of them is out of its range.
    """

    deadline_s: float = 60.0
    remembered: int = 100_000
    most_waiting: int = 20_000
    batch_size: int = 256
    rest_s: float = 1.0
    retry_failures: bool = False

    def __post_init__(self) -> None:
        for name in ("deadline_s", "rest_s"):
            check_positive(name, getattr(self, name))
        for name in ("most_waiting", "batch_size"):
            check_count(name, getattr(self, name), minimum=1)
        check_count("remembered", self.remembered, minimum=0)
