"""Parts of what was found on a question, or why a figure cannot be drawn without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError

if TYPE_CHECKING:
    from voirdire.reporting.plots.rows import Sheet

__all__ = ["judges_of", "part_of"]


def part_of(sheet: Sheet, part: str, *, kind: str) -> dict[str, Any]:
    """Return `questions[].agreement` or `questions[].diagnosis`.

    Raises
    ------
    InputError
        If the result has no such part.
    """
    found = None if sheet.findings is None else sheet.findings.get(part)
    if not found:
        msg = f"`kind` {kind!r} needs the question's {part}, got "
        msg += (
            "a result without it. Draw what `voirdire.examine` returns, or what `voirdire examine "
            "--json` prints."
            if sheet.findings is None
            else "none for this question: its labels, or their number, do not allow it."
        )
        raise InputError(msg)
    return dict(found)


def judges_of(part: dict[str, Any], sheet: Sheet) -> list[dict[str, Any]]:
    """Return what was found on each judge that is to be drawn, the best judge first."""
    only = (sheet.findings or {}).get("only_judges")
    best_first = {name: place for place, name in enumerate(sheet.judges())}
    found = [each for each in part["judges"] if only is None or each["judge"] in only]
    return sorted(found, key=lambda each: best_first.get(each["judge"], len(best_first)))
