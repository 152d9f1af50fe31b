"""What the calls of a run came to, in lines for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voirdire.judging import AnswerSummary, CallSummary

__all__ = ["call_lines", "caution_lines", "example_lines", "shown_store"]

_MASS_WORTH_SAYING = 0.01
_SHIFT_WORTH_SAYING = 0.1


def call_lines(calls: CallSummary) -> list[str]:
    """Say how many calls there were, what they cost, and what to beware of."""
    return ["", *map(_answers, calls.answers), *_kept(calls), _counts(calls), *caution_lines(calls)]


def caution_lines(calls: CallSummary) -> list[str]:
    """Say what to beware of: failures, looser forms, missing mass, shifts."""
    lines: list[str] = []
    if calls.failures:
        listed = ", ".join(f"{reason} ({n:,})" for reason, n in calls.failures.items())
        lines.append(f"failed: {listed}. Call them again with --retry-failures.")
        lines += example_lines(calls)
        lines.append("  all that came back: voirdire replies STORE --failed")
    lines += [f"note: the form of replies went from {step}" for step in calls.steps_down]
    lines += _mass(calls)
    lines += _shift(calls)
    return lines


def example_lines(calls: CallSummary) -> list[str]:
    """Give all that one failure of each kind says."""
    return [f"  for example: {calls.examples.get(kind, kind)}" for kind in calls.failures]


def shown_store(store: str) -> str:
    """Give a store's address without a password, as its own errors do."""
    from voirdire.store.opening import read_address

    return read_address(store).shown if "://" in store else store


def _counts(calls: CallSummary) -> str:
    said = [f"{calls.n_calls:,} calls"]
    said += [f"{calls.n_retries:,} of them repeats"] if calls.n_retries else []
    said += [f"{calls.n_reused:,} items from the store"] if calls.n_reused else []
    if calls.prompt_tokens or calls.completion_tokens:
        cached = f" ({calls.cached_tokens:,} cached)" if calls.cached_tokens else ""
        said.append(f"{calls.prompt_tokens:,} tokens in{cached}, {calls.completion_tokens:,} out")
    if calls.n_calls:
        said.append("price unknown" if calls.cost is None else f"${calls.cost:,.4f}")
    return "calls: " + ", ".join(said)


def _kept(calls: CallSummary) -> list[str]:
    if calls.n_kept is None:
        return []
    items = "1 item" if calls.n_kept == 1 else f"{calls.n_kept:,} items"
    return [f"cascade: {items} answered by the first judge, the others by the language model"]


def _answers(row: AnswerSummary) -> str:
    shares = ", ".join(f"{label} {share:.1%}" for label, share in row.shares.items())
    mean = "" if math.isnan(row.mean) else f"mean {row.mean:.3g}"
    failed = f" ({row.n_failed:,} failed)" if row.n_failed else ""
    return f"{row.question}: {shares or mean or f'{row.n_answered:,} answered'}{failed}"


def _mass(calls: CallSummary) -> list[str]:
    high = {name: mass for name, mass in calls.missing_mass.items() if mass >= _MASS_WORTH_SAYING}
    if not high:
        return []
    name = max(high, key=high.__getitem__)
    said = (
        f"note: on {len(high)} propositions more than 1% of the probability is on tokens that "
        f"are neither true nor false, at most {high[name]:.1%} ({name})"
    )
    return [said]


def _shift(calls: CallSummary) -> list[str]:
    if not calls.order_shift:
        return []
    mean = sum(calls.order_shift.values()) / len(calls.order_shift)
    name = max(calls.order_shift, key=calls.order_shift.__getitem__)
    largest = calls.order_shift[name]
    advice = " Ask in several: --orders 3." if largest >= _SHIFT_WORTH_SAYING else ""
    if any(row.kind == "pairwise" for row in calls.answers):
        told = f"{mean:.0%} of {calls.n_order_checked:,} pairs were judged otherwise"
        return [f"order: with their responses swapped, {told}; those are ties"]
    said = (
        f"order: in another order of the questions answers moved by {mean:.3f} on average, at "
        f"most {largest:.3f} ({name}), on {calls.n_order_checked:,} items.{advice}"
    )
    return [said]
