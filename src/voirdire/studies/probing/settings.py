"""Defines the settings of a study of probes."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003  # the command line reads the annotation
from dataclasses import dataclass

from voirdire._types import Judged, Threshold
from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.errors import InputError
from voirdire.io.declared import ItemLayout
from voirdire.judging.settings import ReplySettings


@dataclass(frozen=True, kw_only=True)
class ProbeSettings(ReplySettings, ItemLayout):
    """Settings of a study of probes: which probes, how many items, and when a bias counts as found.

    Attributes
    ----------
    only : sequence of str
        Families or probes to run; all where none is named.
    without : sequence of str
        Families or probes to leave out.
    n_items : int or None
        Items to draw, at least 2, by default 100; None takes all.
    n_runs : int
        How often the unchanged items are judged, at least 1. The runs after the first measure the
        noise floor.
    author : str or None
        The column of the items that names the model which wrote the response.
    own : str or None
        The judge's own model in that column.
    confidence_level : float
        Of the intervals, in (0, 1).
    false_discovery_rate : float
        At which biases are found, in (0, 1).
    least_effect : float
        The smallest shift of a probability, or share of flips beyond those with a neutral line,
        that counts as a bias, in [0, 1).
    most_flips : float
        The largest share of labels that may flip when the same is asked again, or under a line
        about nothing, in [0, 1): a judge is unstable where the interval lies above it.
    n_swaps : int
        Random swaps for each p-value, at least 99.
    seed : int
        Of the sample of items and of the swaps, at least 0.
    threshold : float, or mapping of str to float, or None
        A proposition is true from this probability on. Default: the rubric's, else the judge's,
        else 0.5.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged, where it has reasoning or tool turns.
    store : str, path, False or None
        Where replies are stored: a file, or postgresql://... Default: voirdire-replies.sqlite in
        this folder.

    Raises
    ------
    InputError
        If a value is outside its range, or `author` or `own` is given without the other; if a
        field of `voirdire.io.ItemLayout` breaks its rule.
    """

    only: Sequence[str] = ()
    without: Sequence[str] = ()
    n_items: int | None = 100
    n_runs: int = 2
    author: str | None = None
    own: str | None = None
    confidence_level: float = 0.95
    false_discovery_rate: float = 0.05
    least_effect: float = 0.02
    most_flips: float = 0.1
    n_swaps: int = 9_999
    seed: int = 0
    threshold: Threshold | None = None
    judged: Judged = "final_answer"

    def __post_init__(self) -> None:
        """Check every value; the plan checks the threshold."""
        super().__post_init__()
        check_choice("judged", self.judged, Judged)
        if self.n_items is not None:
            check_count("n_items", self.n_items, minimum=2)
        check_count("n_runs", self.n_runs, minimum=1)
        check_count("n_swaps", self.n_swaps, minimum=99)
        check_count("seed", self.seed, minimum=0)
        check_fraction("confidence_level", self.confidence_level)
        check_fraction("false_discovery_rate", self.false_discovery_rate)
        for name in ("least_effect", "most_flips"):
            if not 0 <= getattr(self, name) < 1:
                msg = f"`{name}` must be in [0, 1), got {getattr(self, name)!r}."
                raise InputError(msg)
        if (self.author is None) != (self.own is None):
            msg = (
                f"`author` and `own` must be given together, got {self.author!r} and "
                f"{self.own!r}. Name the column, and the judge's own model in it."
            )
            raise InputError(msg)
