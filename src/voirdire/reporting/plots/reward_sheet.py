"""What the figures of a reward are drawn from: its examination, or the JSON of one, as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.plots.rows import number

__all__ = ["SIGNALS", "RewardSheet", "is_reward", "reward_sheet"]

SIGNALS = ("base", "total", "rules")
_PARTS = ("error_rates", "histograms", "drives", "scales")


@dataclass(frozen=True, kw_only=True)
class RewardSheet:
    """The rows of one examination, and the behavior that figures of one behavior show.

    Attributes
    ----------
    name : str
        Of the reward.
    behavior : str
        Which one, of several.
    error_rates, histograms, drives, scales : list of dict
        As in the JSON.
    level : float
        Of the intervals.
    """

    name: str
    behavior: str
    error_rates: list[dict[str, Any]]
    histograms: list[dict[str, Any]]
    drives: list[dict[str, Any]]
    scales: list[dict[str, Any]]
    level: float

    @property
    def signals(self) -> list[str]:
        """The rewards that differ: without a base reward only the rules."""
        rates = (row for row in self.error_rates if row["behavior"] is None)
        found = {row["signal"] for row in rates if number(row["rate"]["value"]) >= 0}
        found |= {row["signal"] for row in self.histograms if sum(row["counts"])}
        if "base" in found:
            return [signal for signal in SIGNALS if signal in found]
        return ["rules"]


def is_reward(result: Any) -> bool:
    """Whether something is the examination of a reward, or the JSON of one."""
    if isinstance(result, Mapping):
        return "error_rates" in result and "drives" in result
    return is_dataclass(result) and not isinstance(result, type) and hasattr(result, "error_rates")


def reward_sheet(result: Any, *, behavior: str | None = None) -> RewardSheet:
    """Read an examination of a reward.

    Parameters
    ----------
    result : RewardExamination or mapping
        What `examine_reward` returns, or the parsed JSON of ``voirdire examine-reward --json``.
    behavior : str, optional
        Of several; by default the first.

    Returns
    -------
    RewardSheet
        Its rows.

    Raises
    ------
    InputError
        If it is no examination of a reward, or has not that behavior.
    """
    plain = _plain(result)
    parts = {name: [dict(row) for row in plain.get(name) or ()] for name in _PARTS}
    for name in ("error_rates", "histograms"):
        if {row.get("signal") for row in parts[name]} == {"total"}:  # there is no base reward
            parts[name] = [row | {"signal": "rules"} for row in parts[name]]
    level = number((plain.get("settings") or {}).get("confidence_level"))
    return RewardSheet(
        name=str((plain.get("reward") or {}).get("name", "")),
        behavior=_chosen(parts, behavior),
        level=level,
        **parts,
    )


def _plain(result: Any) -> dict[str, Any]:
    if is_reward(result):
        return dict(result) if isinstance(result, Mapping) else asdict(result)
    msg = (
        "`result` must be what `examine_reward` returns, or the parsed JSON of `voirdire "
        f"examine-reward --json`, got {shorten(result)}."
    )
    raise InputError(msg)


def _chosen(parts: Mapping[str, list[dict[str, Any]]], wanted: str | None) -> str:
    known = list(
        dict.fromkeys(
            str(row["behavior"])
            for name in ("scales", "drives", "histograms", "error_rates")
            for row in parts[name]
            if row["behavior"] is not None
        )
    )
    if wanted is None:
        return known[0] if known else ""
    if wanted not in known:
        listed = ", ".join(repr(shorten(name, width=40)) for name in known[:10]) or "none"
        msg = f"`behavior` must be one of {listed}, got {shorten(wanted)!r}."
        raise InputError(msg)
    return wanted
