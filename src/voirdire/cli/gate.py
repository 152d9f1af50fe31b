"""`--gate`, with or without the name of a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.studies import Examination

__all__ = ["EVERY_JUDGE", "GatedCommand", "check_gates", "closed_gates"]

EVERY_JUDGE = "*"
"""What `--gate` without a name stands for."""


class GatedCommand(TyperCommand):
    """A command whose `--gate` may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a bare `--gate` its value before the options are parsed."""
        filled = list(args)
        for place, word in enumerate(args):
            follower = args[place + 1] if place + 1 < len(args) else "-"
            if word == "--gate" and follower.startswith("-"):
                filled[place] = f"--gate={EVERY_JUDGE}"
        return super().parse_args(ctx, filled)


def check_gates(gates: Sequence[str], judges: Sequence[str]) -> None:
    """Refuse a gate for a judge who is not examined, before anything is computed."""
    for gate in gates:
        if gate not in (EVERY_JUDGE, *judges):
            known = ", ".join(repr(shorten(name)) for name in judges[:10])
            msg = f"`--gate` must name one of the judges {known}, got {shorten(gate)!r}."
            raise InputError(msg)


def closed_gates(
    examination: Examination, gates: Sequence[str], judges: Sequence[str] = ()
) -> list[str]:
    """Say which results of the chosen judges have another outcome than `passed`, or are missing.

    A judge without labels for a question that others were examined on has not passed it.
    """
    chosen = dict.fromkeys([*judges, *(row.judge for row in examination.results)])
    if EVERY_JUDGE not in gates:
        chosen = dict.fromkeys(gates)
    outcomes = {
        (row.judge, row.question, row.alignment, row.epsilon): row.outcome
        for row in examination.results
    }
    asked = dict.fromkeys(place[1:] for place in outcomes)
    found = [
        (judge, place, outcomes.get((judge, *place), "not examined"))
        for judge in (chosen if gates else ())
        for place in asked
    ]
    return [
        f"{shorten(judge)}: {outcome} ({shorten(question)}, {alignment}, ε {epsilon:g})"
        for judge, (question, alignment, epsilon), outcome in found
        if outcome != "passed"
    ]
