"""Rewards as tables: their fits and examinations for a terminal, and error rates for a paper."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable, plain_table
from voirdire.reporting.notes import dropped_note
from voirdire.reporting.number_formats import counted, decimal, percent, share
from voirdire.rewards.against_demands import (
    describe_paid_against_demands,
    find_paid_against_demands,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from voirdire.rewards.fitting.behavior_fitting import BehaviorFit
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.rewards.fitting.weight_problem import Estimate
    from voirdire.studies.reward.result import FeatureDrive, RateEstimate, RewardExamination

__all__ = ["RewardExaminationTables", "RewardFitTables", "paper_table"]

_SIGNALS = {"base": "base", "total": "base + rules", "rules": "rules"}
_SUBSETS = {None: "all pairs", "*": "mean over subsets"}
_NAME_WIDTH = 28
_FEATURE_WIDTH = 36
_MOST_FEATURES = 8
_MOST_SUBSETS = 40
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#])")
_ORIGINS = {
    "fitted": "",
    "fixed": "given",
    "ignored": "ignored",
    "undetermined": "no comparison tells",
    "veto": "veto",
}

Cases = dict[tuple[str, ...], "dict[str, RateEstimate]"]
"""By the first cells of a row the rates of each signal."""


class RewardExaminationTables:
    """The examination of a reward laid out for `rich`: print it with `rich.print` or a `Console`.

    Error rates first, then what drives the reward, scales, policy and benchmark as far as they
    were looked at; then, in words, what the reader should know. Fits eighty columns, and fewer by
    stacking rows.

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
        yield Text(_describe_basis(found), style="dim")
        for title, table in _examination_tables(found, all_of_them=self._details):
            yield ""
            yield Text(title, style="bold")  # a title of the table's own would be as narrow
            yield NarrowTable(table)
        if found.notes:
            yield ""
        for row in found.notes:
            yield Text(f"Note: {row.sentence}")
        if found.dropped:
            yield ""
            yield dropped_note(found.dropped)


def _examination_tables(
    found: RewardExamination, *, all_of_them: bool
) -> Iterator[tuple[str, Table]]:
    signals = list(dict.fromkeys(row.signal for row in found.error_rates))
    if found.error_rates:
        yield _error_title(found), _case_table(("behavior", "vs"), _error_cases(found), signals)
    if hard := _hard_cases(found):
        title = "hard cases: share ranked the wrong way"
        yield title, _case_table(("behavior", "case"), hard, signals, has_counts=False)
    if found.degenerate:
        yield _degenerate(found, all_of_them=all_of_them)
    for behavior in dict.fromkeys(row.behavior for row in found.drives):
        yield _drives(found, behavior, all_of_them=all_of_them)
    if found.scales:
        yield "rule rewards of the behaviors side by side", _scales(found)
    if found.policy is not None:
        yield "the policy's own responses", _policy(found)
    if found.bench:
        signals = list(dict.fromkeys(row.signal for row in found.bench))
        cases = dict(list(_bench_cases(found).items())[:_MOST_SUBSETS])
        title = "benchmark: share of pairs with the chosen response ranked higher"
        yield title, _case_table(("subset",), cases, signals)


def _title(found: RewardExamination) -> str:
    reward = found.reward
    rubric = reward.get("rubric", {})
    return (
        f"reward {shorten(reward.get('name', ''), width=40)} · rubric "
        f"{shorten(rubric.get('name', ''), width=30)} "
        f"{shorten(rubric.get('version', ''), width=12)}"
    )


def _describe_basis(found: RewardExamination) -> str:
    """Say what the figures rest on, and whether the weights were fitted on these prompts."""
    if not found.n_items:
        return "examined without comparisons"
    level = found.settings.get("confidence_level", 0.95)
    n_seen, n_prompts = _count_fitted(found)
    seen = "not known to be new to the fit"
    if found.is_held_out:
        seen = "none of them in the fit"
    elif n_seen:
        compared = "" if n_prompts == found.n_prompts else " with comparisons"
        seen = f"{n_seen:,} of {n_prompts:,}{compared} in the fit: not tested on these"
    sizes = [
        counted(found.n_comparisons, "comparison"),
        counted(found.n_items, "completion"),
        counted(found.n_prompts, "prompt"),
    ]
    return f"{' of '.join(sizes)}, {seen}; {level:.0%} intervals from resampling prompts"


def _count_fitted(found: RewardExamination) -> tuple[int, int]:
    """Count the prompts that the weights were fitted on, as far as it is known, and all."""
    figures = (row.figures for row in found.notes if row.code == "seen_prompts")
    return next(((row["n_seen"], row["n_prompts"]) for row in figures), (0, 0))


def _error_title(found: RewardExamination) -> str:
    n_seen, n_prompts = _count_fitted(found)
    name = "partly not tested" if n_seen < n_prompts else "not tested" if n_seen else "error rate"
    return f"{name}: share of comparisons ranked the wrong way, a tie counting half"


def _gather(rows: Iterable[tuple[tuple[str, ...], str, RateEstimate]]) -> Cases:
    """Put the signals of a case side by side."""
    found: Cases = {}
    for case, signal, rate in rows:
        found.setdefault(case, {})[signal] = rate
    return found


def _error_cases(found: RewardExamination) -> Cases:
    return _gather(
        ((row.behavior or "all", row.against), row.signal, row.rate) for row in found.error_rates
    )


def _hard_cases(found: RewardExamination) -> Cases:
    near = [
        ((row.behavior, f"{row.best} against {row.next}"), row.signal, row.error_rate)
        for row in found.near_ideal
    ]
    refusals = [
        ((row.behavior, f"{row.kind.replace('_', ' ')}, by {row.by}"), row.signal, row.rate)
        for row in found.refusals
    ]
    return _gather([*near, *refusals])


def _bench_cases(found: RewardExamination) -> Cases:
    return _gather(
        ((_SUBSETS.get(row.subset) or str(row.subset),), row.signal, row.accuracy)
        for row in found.bench
    )


def _case_table(
    heads: Sequence[str], cases: Cases, signals: Sequence[str], *, has_counts: bool = True
) -> Table:
    names = ["reward"] if len(signals) == 1 else [_SIGNALS[signal] for signal in signals]
    table = plain_table((*heads, *names, *(["pairs"] * has_counts)), words=heads)
    for (name, *others), rates in cases.items():
        cells = [_rate(rates[signal]) if signal in rates else "–" for signal in signals]
        cells += [f"{next(iter(rates.values())).n:,}"] * has_counts
        table.add_row(_name(name), *(_name(x, width=52) for x in others), *cells)
    return table


def _degenerate(found: RewardExamination, *, all_of_them: bool) -> tuple[str, Table]:
    """Show the nonsense that outranks real responses most often; one row of each behavior."""
    rows = found.degenerate
    firsts = {row.behavior: row for row in reversed(rows)}.values()
    shown = [row for row in rows if all_of_them or row.share_above_best or row in firsts]
    more = f" ({len(shown)} of {len(rows)} kinds)" if len(shown) < len(rows) else ""
    words, heads = ("behavior", "response"), ("mean", "best", "median", "> best", "> median")
    table = plain_table((*words, *heads, "prompts"), words=words)
    for row in shown:
        table.add_row(
            _name(row.behavior),
            row.kind.replace("_", " "),
            *map(decimal, (row.mean_reward, row.mean_best, row.mean_median)),
            percent(row.share_above_best),
            percent(row.share_above_median),
            f"{row.n_prompts:,}",
        )
    return f"nonsense{more}: its rule reward beside the real responses of its prompt", table


def _drives(found: RewardExamination, behavior: str, *, all_of_them: bool) -> tuple[str, Table]:
    own = sorted(
        (row for row in found.drives if row.behavior == behavior),
        key=lambda row: -row.share if math.isfinite(row.share) else 0.0,
    )
    shown = own if all_of_them else own[:_MOST_FEATURES]
    some = f" ({len(shown)} of {len(own)} features)" if len(shown) < len(own) else ""
    title = f"what drives {shorten(behavior, width=30)}{some}"
    heads = ("feature", "weight", "interval", "spread", "share", "error without", "")
    table = plain_table(heads, words=heads[:1])
    for row in shown:
        table.add_row(
            _name(row.feature.removeprefix(f"{behavior}.")),
            decimal(row.weight),
            "" if math.isnan(row.low) else f"[{decimal(row.low)}, {decimal(row.high)}]",
            decimal(row.spread),
            percent(row.share),
            decimal(row.error_rate_without, digits=3),
            _marks(row),
        )
    return f"{title}; ✓ certified, ! against demand or order, – does nothing", table


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
    heads = ("mean", "sd", "lowest", "highest", "best", "worst", "base sd", "items")
    table = plain_table(("behavior", *heads), words=("behavior",))
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
        table.add_row(_name(row.behavior), *map(decimal, numbers), f"{row.n_items:,}")
    return table


def _policy(found: RewardExamination) -> Table:
    policy = found.policy
    if policy is None:
        return plain_table((), words=())
    lost = policy.n_without_variance / policy.n_groups if policy.n_groups else math.nan
    spreads = f"{decimal(policy.base_spread)}, {decimal(policy.rule_spread)}"
    calls = "–" if math.isnan(policy.step_calls) else f"{policy.step_calls:,.0f}"
    rows = {
        "responses, groups": f"{policy.n_items:,}, {policy.n_groups:,}",
        "groups without variance": f"{policy.n_without_variance:,} ({percent(lost)})",
        "responses without a reward": f"{policy.n_missing:,}",
        "spread within groups: base, rules": spreads,
        "rules to base": decimal(policy.spread_ratio),
        f"calls per step of {policy.step_size:,}": calls,
        "US dollars per step": decimal(policy.step_cost, digits=4),
        "seconds per step": decimal(policy.step_seconds),
    }
    return plain_table(("what", "figure"), rows.items(), words=("what",))


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
    >>> from voirdire.studies import ErrorRate, RateEstimate, RewardExamination
    >>> rate = RateEstimate(value=0.25, low=0.1, high=0.4, n=8, n_prompts=4)
    >>> row = ErrorRate(behavior=None, signal="total", against="all", rate=rate, tie_share=0.0)
    >>> found = RewardExamination(
    ...     reward={"name": "mine"}, n_items=9, n_prompts=4, n_comparisons=8, is_held_out=True,
    ...     error_rates=(row,),
    ... )
    >>> print(paper_table(found).splitlines()[2])
    | all | all comparisons | 8 | .250 [.100, .400] |
    """
    cases = _paper_cases(examination)
    signals = [signal for signal in _SIGNALS if any(signal in rates for rates in cases.values())]
    names = [_SIGNALS[signal].capitalize() for signal in signals]
    heads = ["Behavior", "Case", "n", *(["Reward"] if len(signals) == 1 else names)]
    table = [heads, ["---", "---", *("--:" for _ in heads[2:])]]
    for case, rates in cases.items():  # names are escaped; figures are ours
        n = f"{next(iter(rates.values())).n:,}"
        table.append([*map(_escape, case), n, *(_paper_rate(rates.get(x)) for x in signals)])
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([*lines, "", _escape(_caption(examination)), ""])


def _paper_cases(found: RewardExamination) -> Cases:
    """Gather the cases of each behavior, then the benchmark; a reward without a base is rules."""
    words = {"all": "all comparisons", "best": "against the best"}
    errors = {
        (behavior, words[against]): rates
        for (behavior, against), rates in _error_cases(found).items()
    }
    compared = errors | _hard_cases(found)
    bench = {
        ("benchmark", f"accuracy: {subset}"): rates
        for (subset,), rates in _bench_cases(found).items()
    }
    rows: Cases = {}
    for part in (compared, bench):
        has_base = any("base" in rates for rates in part.values())
        for case, rates in part.items():
            shown = {signal if has_base else "rules": rate for signal, rate in rates.items()}
            rows.setdefault(case, {}).update(shown)
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in rows))}
    return dict(sorted(rows.items(), key=lambda row: places[row[0][0]]))


def _caption(found: RewardExamination) -> str:
    level = found.settings.get("confidence_level", 0.95)
    held = "held-out prompts" if found.is_held_out else "prompts that may be those of the fit"
    if n_seen := _count_fitted(found)[0]:
        held = f"prompts, not tested on {n_seen:,} of them, which are of the fit"
    return (
        f"Reward {shorten(found.reward.get('name', ''))}: share of comparisons ranked the wrong "
        f"way (a tie counts half) on {found.n_prompts:,} {held}, {found.n_items:,} completions; "
        f"accuracy where it says so. Brackets: {level:.0%} intervals from resampling prompts."
    )


def _paper_rate(rate: RateEstimate | None) -> str:
    if rate is None:
        return "–"
    value, low, high = (decimal(x, digits=3) for x in (rate.value, rate.low, rate.high))
    return value if math.isnan(rate.low) else f"{value} [{low}, {high}]"


def _escape(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", shorten(text, width=400))


class RewardFitTables:
    """A fit laid out for `rich`: print it with `rich.print` or a `Console`.

    Per behavior the weights with their intervals, propositions first; then, in words, how often
    the reward ranks comparisons the wrong way, and what the reader should know; last, what is to
    be known of several behaviors, and which weights pay against demands. Fits eighty columns,
    and fewer by stacking rows.

    Parameters
    ----------
    fit : RewardFit
        What was found.
    """

    def __init__(self, fit: RewardFit) -> None:
        self._fit = fit

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield a table and some sentences for each behavior."""
        level = self._fit.model.settings["confidence_level"]
        several = _notes_on_several(self._fit)
        for row in self._fit.behaviors:
            yield Text(_fit_title(row), style="bold")
            yield NarrowTable(_weights(row, level=level))
            yield ""
            for sentence in _sentences(row, level=level):
                yield Text(sentence)
            if row.cycles.n_pairs:
                yield Text(f"cycles: {row.cycles.in_words()}", style="yellow")
            for note in [note for note in row.notes if note not in several]:
                yield Text(f"note: {note}", style="yellow")
            yield ""
        if several:
            said = "\n".join(f"note: {names}: {note}" for note, names in several.items())
            yield Text(f"{said}\n", style="yellow")
        if said := describe_paid_against_demands(find_paid_against_demands(self._fit.model)):
            yield Text(f"{said}\n", style="yellow")


def _notes_on_several(fit: RewardFit) -> dict[str, str]:
    """Find the notes that several behaviors have, with the names of these."""
    found: dict[str, list[str]] = {}
    for row in fit.behaviors:
        for note in row.notes:
            found.setdefault(note, []).append(shorten(row.behavior, width=30))
    return {note: ", ".join(names) for note, names in found.items() if len(names) > 1}


def _weights(row: BehaviorFit, *, level: float) -> Table:
    has_intervals = any(math.isfinite(one.weight.low) for one in row.weights)
    heads = ("feature", "weight", *([f"{level:.0%} interval"] * has_intervals), "")
    table = plain_table(heads, words=("feature", ""))
    first_class = _first_class(row)
    for place, one in enumerate(row.weights):
        cells = [shorten(one.feature, width=_FEATURE_WIDTH), _fit_number(one.weight.value)]
        cells += [_interval(one.weight)] if has_intervals else []
        style = "" if one.origin == "fitted" else "dim"
        table.add_row(*map(Text, (*cells, _ORIGINS[one.origin])), style=style)
        if place + 1 == first_class:
            table.add_section()
    return table


def _first_class(row: BehaviorFit) -> int:
    """Find where the classes begin: they are named after the behavior."""
    names = [one.feature.startswith(f"{row.behavior}.") for one in row.weights]
    return names.index(True) if True in names else len(names)


def _fit_title(row: BehaviorFit) -> str:
    pairs, items = counted(row.n_pairs, "comparison"), counted(row.n_items, "completion")
    prompts = counted(row.n_prompts, "prompt")
    return f"{shorten(row.behavior, width=30)}: {pairs} of {items}, {prompts}"


def _sentences(row: BehaviorFit, *, level: float) -> Iterator[str]:
    if math.isfinite(row.error_rate.value):
        rate = _fit_rate(row.error_rate, level=level, of=" of held-out comparisons")
        yield f"ranked the wrong way: {rate}"
    if math.isfinite(row.error_rate_base.value):
        yield f"by the base reward alone: {_fit_rate(row.error_rate_base, level=level)}"
    if row.n_test_prompts:
        test, seen = counted(row.n_test_prompts, "prompt"), counted(row.n_prompts, "prompt")
        yield f"held out: {test} marked test; never held out: {seen} of the fit"
    elif row.n_prompts > 1:
        yield f"held out: each of the {row.n_prompts:,} prompts once, from the fit that ranked it"
    else:
        yield "never held out: the only prompt"
    fitted = share(row.error_rate_fitted)
    yield f"not tested: the comparisons of the fit, of which {fitted} are ranked the wrong way"
    chosen = " by cross-validation" if row.l2_path else ""
    # The bound is met up to rounding: 1e-12 says no more than 1e-9.
    gap = max(row.objective - row.bound, 1e-9)
    yield (
        f"λ {row.l2:g}{chosen}; objective {row.objective:.6g}, at most {gap:.0e} above the least"
    )


def _fit_rate(estimate: Estimate, *, level: float, of: str = "") -> str:
    if not math.isfinite(estimate.low):
        return share(estimate.value) + of
    ends = f"{share(estimate.low)} to {share(estimate.high)}"
    return f"{share(estimate.value)}{of} ({level:.0%}: {ends})"


def _interval(estimate: Estimate) -> str:
    if not math.isfinite(estimate.low):
        return ""
    return f"{_fit_number(estimate.low)} to {_fit_number(estimate.high)}"


def _fit_number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1_000 else f"{value:.3f}"


def _name(text: str, *, width: int = _NAME_WIDTH) -> str:
    return escape(shorten(text, width=width))


def _rate(rate: RateEstimate) -> str:
    value = decimal(rate.value, digits=3)
    return value if math.isnan(rate.low) else f"{value} [{decimal(rate.low)}, {decimal(rate.high)}]"
