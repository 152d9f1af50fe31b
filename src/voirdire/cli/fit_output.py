"""What `voirdire fit` prints: weights, error rates, and what was left out."""

from __future__ import annotations

import shlex
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.cli.judging_progress import steps_progress
from voirdire.cli.printing import print_json, print_tables
from voirdire.cli.shell import in_options, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from voirdire.records import Dropped
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.rewards.fitting.judged_comparisons import FitProgress
    from voirdire.rewards.model import RewardModel

__all__ = ["caught_warnings", "fit_progress", "print_fit", "print_given", "say_notes"]

_MOST_SHOWN = 5


def print_given(model: RewardModel, target: Path, *, as_json: bool) -> None:
    """Print what weights a file of weights gave."""
    from voirdire.rewards.against_demands import paid_against_demands, said_of_demands

    if said := said_of_demands(paid_against_demands(model)):
        say(f"note: {said}")
    if as_json:
        weights = {name: dict(row.weights) for name, row in model.behaviors.items()}
        content = {"name": model.name, "content_hash": model.content_hash, "weights": weights}
        print_json({"output": str(target), "reward": content})
        return
    counted = ", ".join(
        f"{name} ({sum(weight != 0 for weight in row.weights.values())} weights)"
        for name, row in model.behaviors.items()
    )
    print(f"{target}: {counted}\n")
    print(_how_to_score(model, target))


@contextmanager
def caught_warnings() -> Iterator[None]:
    """Say warnings of the library as notes, in a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"note: {shorten(text, width=600)}")


def say_notes(notes: Iterable[str], dropped: Sequence[str] = ()) -> None:
    """Say what a reader should know, and name the parts of a run that could not be read."""
    for note in notes:
        say(f"note: {shorten(in_options(note), width=600)}")
    for row in dropped[:_MOST_SHOWN]:
        say(f"left out: {shorten(row, width=160)}")
    if len(dropped) > _MOST_SHOWN:
        say(f"and {len(dropped) - _MOST_SHOWN} more")


@contextmanager
def fit_progress() -> Iterator[Callable[[FitProgress], None] | None]:
    """Give what a fit tells its progress to; nothing where nobody watches."""
    with steps_progress("fitting") as tell:
        if tell is None:
            yield None
        else:
            yield lambda state: tell(state.n_done, state.n_total)


def _say_drops(rows: Sequence[Dropped]) -> None:
    if not rows:
        return
    what = "completion or row" if len(rows) == 1 else "completions and rows"
    say(f"{len(rows):,} {what} set aside")
    alike: dict[str, list[Dropped]] = {}
    for row in rows:
        alike.setdefault(row.reason, []).append(row)
    for same in list(alike.values())[:_MOST_SHOWN]:
        row = same[0]
        about = "" if row.item is None else f" {shorten(row.item)}"
        value = "" if row.value is None else f", got {shorten(row.value)!r}"
        more = f" (and {len(same) - 1:,} more like this)" if len(same) > 1 else ""
        reason = shorten(row.reason, width=200)
        say(f"  {row.place()}:{about} {reason}{value}{more}")
    n_more = sum(map(len, list(alike.values())[_MOST_SHOWN:]))
    if n_more or len(rows) > len(alike):
        others = f"and {n_more:,} for other reasons; " if n_more else ""
        say(f"  {others}--json lists all")


def print_fit(fit: RewardFit, target: Path, *, as_json: bool) -> None:
    """Print weights and error rates; what was left out goes to standard error."""
    _say_drops(fit.dropped)
    say_notes(fit.notes)
    if as_json:
        from voirdire.reporting.reward_json import reward_fit_as_dict

        print_json({"output": str(target), **reward_fit_as_dict(fit)})
        return
    from voirdire.reporting.reward_tables import RewardFitTables

    print_tables(RewardFitTables(fit))
    sys.stdout.write(f"{target}: weights of {_named(fit)}\n\n{_how_to_go_on(fit.model, target)}\n")


def _named(fit: RewardFit) -> str:
    return ", ".join(shorten(row.behavior, width=40) for row in fit.behaviors)


def _how_to_go_on(model: RewardModel, target: Path) -> str:
    """Name the next commands; an examination on the fit's own prompts says too little."""
    examine = f"  voirdire examine-reward OTHER_COMPARISONS {_with_judge(model, target)}"
    return f"{examine} --report reward.html\n{_how_to_score(model, target)}"


def _how_to_score(model: RewardModel, target: Path) -> str:
    return f"  voirdire score ITEMS {_with_judge(model, target)} -o rewards.jsonl"


def _with_judge(model: RewardModel, target: Path) -> str:
    """Name the reward, and the judge or verdicts that it takes where it asks for them."""
    name = model.judge.made_by.get("judge")
    asked = {"local": "", None: " --verdicts VERDICTS"}.get(name, " --judge own")
    return f"--reward {shlex.quote(str(target))}{asked}"
