"""The examination of a reward as tables for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable
from voirdire.reporting.notes import dropped_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.studies.reward.result import (
        DegenerateCheck,
        FeatureDrive,
        PolicyCheck,
        RateEstimate,
        RewardExamination,
        RouterCheck,
    )

__all__ = ["RewardExaminationTables"]

_SIGNALS = {"base": "base", "total": "base + rules", "rules": "rules"}
_NAME_WIDTH = 28
_MOST_FEATURES = 8
_MOST_SUBSETS = 40


class RewardExaminationTables:
    """The examination of a reward laid out for `rich`: print it with `rich.print` or a `Console`.

    Error rates first, then what drives the reward, scales, router, policy and benchmark as far as
    they were looked at; then, in words, what the reader should know. Fits eighty columns, and
    fewer by stacking rows.

    Parameters
    ----------
    examination : RewardExamination
        What was found.
    details : bool, optional
        Whether to show every feature; otherwise those that do most.
    """

    def __init__(self, examination: RewardExamination, *, details: bool = False) -> None:
        self._found = examination
        self._details = details

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield tables and notes."""
        del console, options  # every table fits eighty columns, and stacks its rows in fewer
        found = self._found
        yield Text(_title(found), style="bold")
        yield Text(_basis(found), style="dim")
        for table in self._tables():
            yield ""
            yield Text(f"{table.title}", style="bold")  # a title of its own would be as narrow
            table.title = None
            yield NarrowTable(table)
        if found.notes:
            yield ""
        for row in found.notes:
            yield Text(f"Note: {row.sentence}")
        if found.dropped:
            yield ""
            yield dropped_note(found.dropped)

    def _tables(self) -> Iterator[Table]:
        found = self._found
        signals = list(dict.fromkeys(row.signal for row in found.error_rates))
        if found.error_rates:
            yield _errors(found, signals)
        if found.near_ideal or found.refusals:
            yield _hard_cases(found, signals)
        if found.degenerate:
            yield _degenerate(found.degenerate, all_of_them=self._details)
        if found.drives:
            yield from _drives(found.drives, all_of_them=self._details)
        if found.scales:
            yield _scales(found)
        if found.router is not None:
            yield _router(found.router)
        if found.policy is not None:
            yield _policy(found.policy)
        if found.bench:
            yield _bench(found)


def _title(found: RewardExamination) -> str:
    reward = found.reward
    rubric = reward.get("rubric", {})
    return (
        f"reward {shorten(reward.get('name', ''), width=40)} · rubric "
        f"{shorten(rubric.get('name', ''), width=30)} "
        f"{shorten(rubric.get('version', ''), width=12)}"
    )


def _basis(found: RewardExamination) -> str:
    """Say what the figures rest on."""
    if not found.n_items:
        return "examined without comparisons"
    level = found.settings.get("confidence_level", 0.95)
    return (
        f"{found.n_comparisons:,} comparisons of {found.n_items:,} completions of "
        f"{found.n_prompts:,} prompts, {_seen(found)}; {level:.0%} intervals from resampling "
        "prompts"
    )


def _seen(found: RewardExamination) -> str:
    """Say whether the rates are those of prompts that the weights were fitted on."""
    if found.is_held_out:
        return "none of them in the fit"
    n_seen, n_prompts = _fitted_prompts(found)
    if n_seen:
        return f"{n_seen:,} of {n_prompts:,} in the fit: not tested on these"
    return "not known to be new to the fit"


def _fitted_prompts(found: RewardExamination) -> tuple[int, int]:
    """Count the prompts that the weights were fitted on, as far as it is known, and all."""
    figures = (row.figures for row in found.notes if row.code == "seen_prompts")
    return next(((row["n_seen"], row["n_prompts"]) for row in figures), (0, 0))


def _errors(found: RewardExamination, signals: Sequence[str]) -> Table:
    n_seen, n_prompts = _fitted_prompts(found)
    name = "partly not tested" if n_seen < n_prompts else "not tested" if n_seen else "error rate"
    table = _table(f"{name}: share of comparisons ranked the wrong way, a tie counting half")
    table.add_column("behavior", overflow="ellipsis", max_width=_NAME_WIDTH)
    table.add_column("vs", no_wrap=True)
    for signal in signals:
        table.add_column(_head(signal, signals), justify="right", no_wrap=True)
    table.add_column("pairs", justify="right", no_wrap=True)
    rows: dict[tuple[str | None, str], dict[str, RateEstimate]] = {}
    for row in found.error_rates:
        rows.setdefault((row.behavior, row.against), {})[row.signal] = row.rate
    for (behavior, against), rates in rows.items():
        cells = [_rate(rates[signal]) if signal in rates else "–" for signal in signals]
        n = next(iter(rates.values())).n
        table.add_row(_name(behavior or "all"), against, *cells, f"{n:,}")
    return table


def _hard_cases(found: RewardExamination, signals: Sequence[str]) -> Table:
    """Put the hardest comparisons and errors about refusals into one table."""
    table = _table("hard cases: share ranked the wrong way")
    table.add_column("behavior", overflow="ellipsis", max_width=_NAME_WIDTH)
    table.add_column("case", overflow="fold")
    for signal in signals:
        table.add_column(_head(signal, signals), justify="right", no_wrap=True)
    rows: dict[tuple[str, str], dict[str, RateEstimate]] = {}
    for row in found.near_ideal:
        case = f"{shorten(row.best, width=20)} against {shorten(row.next, width=20)}"
        rows.setdefault((row.behavior, case), {})[row.signal] = row.error_rate
    for each in found.refusals:
        case = f"{each.kind.replace('_', ' ')}, by {each.by}"
        rows.setdefault((each.behavior, case), {})[each.signal] = each.rate
    for (behavior, case), rates in rows.items():
        cells = [_rate(rates[signal]) if signal in rates else "–" for signal in signals]
        table.add_row(_name(behavior), escape(case), *cells)
    return table


def _degenerate(rows: Sequence[DegenerateCheck], *, all_of_them: bool) -> Table:
    """Show the nonsense that outranks real responses most often; one row of each behavior."""
    firsts = {row.behavior: row for row in reversed(rows)}.values()
    shown = [row for row in rows if all_of_them or row.share_above_best or row in firsts]
    more = f" ({len(shown)} of {len(rows)} kinds)" if len(shown) < len(rows) else ""
    table = _table(f"nonsense{more}: its rule reward beside the real responses of its prompt")
    table.add_column("behavior", overflow="ellipsis", max_width=_NAME_WIDTH)
    table.add_column("response", no_wrap=True)
    for head in ("mean", "best", "median", "> best", "> median", "prompts"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in shown:
        table.add_row(
            _name(row.behavior),
            row.kind.replace("_", " "),
            *map(_number, (row.mean_reward, row.mean_best, row.mean_median)),
            _percent(row.share_above_best),
            _percent(row.share_above_median),
            f"{row.n_prompts:,}",
        )
    return table


def _drives(rows: Sequence[FeatureDrive], *, all_of_them: bool) -> Iterator[Table]:
    for behavior in dict.fromkeys(row.behavior for row in rows):
        own = sorted(
            (row for row in rows if row.behavior == behavior),
            key=lambda row: -row.share if math.isfinite(row.share) else 0.0,
        )
        shown = own if all_of_them else own[:_MOST_FEATURES]
        title = f"what drives {shorten(behavior, width=30)}"
        if len(shown) < len(own):
            title += f" ({len(shown)} of {len(own)} features)"
        table = _table(f"{title}; ✓ certified, ! against its demand, – does nothing")
        table.add_column("feature", overflow="ellipsis", max_width=_NAME_WIDTH)
        for head in ("weight", "interval", "spread", "share", "error without", ""):
            table.add_column(head, justify="right", no_wrap=True)
        for row in shown:
            table.add_row(
                _name(row.feature.removeprefix(f"{behavior}.")),
                _number(row.weight),
                _ends(row.low, row.high),
                _number(row.spread),
                _percent(row.share),
                _number(row.error_rate_without, digits=3),
                _marks(row),
            )
        yield table


def _marks(row: FeatureDrive) -> Text:
    signs = [
        ("✓", "green", row.is_certified),
        ("!", "red", row.is_contradictory),
        ("–", "dim", row.is_dead),
    ]
    text = Text()
    for sign, style, applies in signs:
        text.append(sign if applies else " ", style=style)
    return text


def _scales(found: RewardExamination) -> Table:
    table = _table("rule rewards of the behaviors side by side")
    table.add_column("behavior", overflow="ellipsis", max_width=_NAME_WIDTH)
    for head in ("mean", "sd", "lowest", "highest", "best", "worst", "base sd", "items"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in found.scales:
        numbers = (
            row.mean,
            row.standard_deviation,
            row.lowest,
            row.highest,
            row.mean_ideal,
            row.mean_worst,
            row.base_standard_deviation,
        )
        table.add_row(_name(row.behavior), *map(_number, numbers), f"{row.n_items:,}")
    return table


def _router(router: RouterCheck) -> Table:
    right, routed = _rate(router.error_rate_right), _rate(router.error_rate_routed)
    table = _table(
        f"router: prompts by their behavior (down) and the one chosen; error rate {right} with the "
        f"right weights, {routed} with those chosen"
    )
    table.add_column("behavior", overflow="ellipsis", max_width=_NAME_WIDTH)
    for name in router.behaviors:
        table.add_column(f"{_name(name, width=16)}\nn · error", justify="right", no_wrap=True)
    for name, counts, costs in zip(router.behaviors, router.confusion, router.cost, strict=True):
        cells = [
            f"{n:,} · {_number(cost, digits=3)}" for n, cost in zip(counts, costs, strict=True)
        ]
        table.add_row(_name(name), *cells)
    return table


def _policy(policy: PolicyCheck) -> Table:
    table = _table("the policy's own responses")
    table.add_column("what")
    table.add_column("figure", justify="right", no_wrap=True)
    share = policy.n_without_variance / policy.n_groups if policy.n_groups else math.nan
    rows = {
        "responses, groups": f"{policy.n_items:,}, {policy.n_groups:,}",
        "groups without variance": f"{policy.n_without_variance:,} ({_percent(share)})",
        "responses without a reward": f"{policy.n_missing:,}",
        "spread within groups: base, rules": f"{_number(policy.base_spread)}, "
        f"{_number(policy.rule_spread)}",
        "rules to base": _number(policy.spread_ratio),
        f"calls per step of {policy.step_size:,}": _count(policy.step_calls),
        "US dollars per step": _number(policy.step_cost, digits=4),
        "seconds per step": _number(policy.step_seconds),
    }
    for what, figure in rows.items():
        table.add_row(what, figure)
    return table


def _bench(found: RewardExamination) -> Table:
    signals = list(dict.fromkeys(row.signal for row in found.bench))
    table = _table("benchmark: share of pairs with the chosen response ranked higher")
    table.add_column("subset", overflow="ellipsis", max_width=_NAME_WIDTH)
    for signal in signals:
        table.add_column(_head(signal, signals), justify="right", no_wrap=True)
    table.add_column("pairs", justify="right", no_wrap=True)
    rows: dict[str | None, dict[str, RateEstimate]] = {}
    for row in found.bench:
        rows.setdefault(row.subset, {})[row.signal] = row.accuracy
    words = {None: "all pairs", "*": "mean over subsets"}
    for subset, rates in list(rows.items())[:_MOST_SUBSETS]:
        cells = [_rate(rates[signal]) if signal in rates else "–" for signal in signals]
        name = words.get(subset) or str(subset)
        table.add_row(_name(name), *cells, f"{next(iter(rates.values())).n:,}")
    return table


def _head(signal: str, signals: Sequence[str]) -> str:
    """Name a signal; alone it is the reward."""
    return "reward" if len(signals) == 1 else _SIGNALS[signal]


def _name(text: str, *, width: int = _NAME_WIDTH) -> str:
    return escape(shorten(text, width=width))


def _rate(rate: RateEstimate) -> str:
    if math.isnan(rate.value):
        return "–"
    if math.isnan(rate.low):
        return f"{rate.value:.3f}"
    return f"{rate.value:.3f} [{_short(rate.low)}, {_short(rate.high)}]"


def _ends(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"[{low:.2f}, {high:.2f}]"


def _short(value: float) -> str:
    text = f"{value:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")


def _number(value: float, *, digits: int = 2) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _count(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f}"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}"


def _table(title: str) -> Table:
    return Table(
        title=title,
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
