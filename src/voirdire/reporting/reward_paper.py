"""The error rates of a reward as a Markdown table to paste into a paper."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias

from voirdire._validation import shorten

if TYPE_CHECKING:
    from voirdire.studies.reward.result import RateEstimate, RewardExamination

__all__ = ["paper_table"]

_SIGNALS = {"base": "Base", "total": "Base + rules", "rules": "Rules"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#])")

Row: TypeAlias = "tuple[str, str, dict[str, RateEstimate]]"
"""Behavior, what is counted, and the rates by signal."""


def paper_table(examination: RewardExamination) -> str:
    """Write error rates, hard cases and the benchmark as one Markdown table.

    Parameters
    ----------
    examination : RewardExamination
        What was found.

    Returns
    -------
    str
        The table with a caption that says what the figures are, ready to paste.

    Examples
    --------
    >>> from voirdire.studies.reward.result import ErrorRate, RateEstimate, RewardExamination
    >>> rate = RateEstimate(value=0.25, low=0.1, high=0.4, n=8, n_prompts=4)
    >>> row = ErrorRate(behavior=None, signal="total", against="all", rate=rate, tie_share=0.0)
    >>> found = RewardExamination(
    ...     reward={"name": "mine"}, n_items=9, n_prompts=4, n_comparisons=8, is_held_out=True,
    ...     error_rates=(row,),
    ... )
    >>> print(paper_table(found).splitlines()[2])
    | all | all comparisons | 8 | .250 [.100, .400] |
    """
    rows = _rows(examination)
    signals = [signal for signal in _SIGNALS if any(signal in rates for *_, rates in rows)]
    heads = ["Behavior", "Case", "n"]
    heads += ["Reward"] if len(signals) == 1 else [_SIGNALS[signal] for signal in signals]
    table = [heads, ["---", "---", *("--:" for _ in heads[2:])]]
    for behavior, case, rates in rows:  # names are escaped; figures are ours
        cells = [_rate(rates.get(signal)) for signal in signals]
        table.append([_escape(behavior), _escape(case), f"{_n(rates):,}", *cells])
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([*lines, "", _escape(_caption(examination)), ""])


def _rows(found: RewardExamination) -> list[Row]:
    cases = {"all": "all comparisons", "best": "against the best"}
    words = {None: "all pairs", "*": "mean over subsets"}
    compared = [
        (row.behavior or "all", cases[row.against], row.signal, row.rate)
        for row in found.error_rates
    ]
    compared += [
        (row.behavior, f"{row.best} against {row.next}", row.signal, row.error_rate)
        for row in found.near_ideal
    ]
    compared += [
        (row.behavior, f"{row.kind.replace('_', ' ')}, by {row.by}", row.signal, row.rate)
        for row in found.refusals
    ]
    bench = [
        ("benchmark", f"accuracy: {words.get(row.subset) or row.subset}", row.signal, row.accuracy)
        for row in found.bench
    ]
    rows: dict[tuple[str, str], dict[str, RateEstimate]] = {}
    for part in (compared, bench):
        has_base = any(signal == "base" for *_, signal, _ in part)
        for behavior, case, signal, rate in part:
            shown = signal if has_base else "rules"
            rows.setdefault((behavior, case), {})[shown] = rate
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in rows))}
    together = sorted(rows.items(), key=lambda row: places[row[0][0]])
    return [(behavior, case, rates) for (behavior, case), rates in together]


def _caption(found: RewardExamination) -> str:
    level = found.settings.get("confidence_level", 0.95)
    held = "held-out prompts" if found.is_held_out else "prompts that may be those of the fit"
    for row in found.notes:
        if row.code == "seen_prompts":
            held = f"prompts, not tested on {row.figures['n_seen']:,} of them, which are of the fit"
    return (
        f"Reward {shorten(found.reward.get('name', ''))}: share of comparisons ranked the wrong "
        f"way (a tie counts half) on {found.n_prompts:,} {held}, {found.n_items:,} completions; "
        f"accuracy where it says so. Brackets: {level:.0%} intervals from resampling prompts."
    )


def _n(rates: dict[str, RateEstimate]) -> int:
    return next(iter(rates.values())).n


def _rate(rate: RateEstimate | None) -> str:
    if rate is None or math.isnan(rate.value):
        return "–"
    if math.isnan(rate.low):
        return _share(rate.value)
    return f"{_share(rate.value)} [{_share(rate.low)}, {_share(rate.high)}]"


def _share(value: float) -> str:
    """Three digits without the leading zero."""
    text = f"{value:.3f}"
    return text.removeprefix("0") if text.startswith("0.") else text


def _escape(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", shorten(text, width=400))
