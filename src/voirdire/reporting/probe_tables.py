"""What probes of a judge found, in sentences and tables for a terminal."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.stats import Estimate
    from voirdire.studies import (
        Mitigation,
        ProbeFinding,
        ProbeReport,
        PromptAgreement,
        QuestionFinding,
        SelfPreference,
    )

__all__ = ["ProbeTables", "shown_question"]

_MOST_SHOWN = 6
_NAME_WIDTH = 40


class ProbeTables:
    """What probes found, laid out for `rich`: print it with `rich.print` or a `Console`.

    Parameters
    ----------
    report : ProbeReport
        What was found.
    """

    def __init__(self, report: ProbeReport) -> None:
        self._report = report

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield what was found in words, and tables of everything that was asked."""
        report = self._report
        yield Text(_heading(report), style="bold")
        yield Text(_noise_floor(report))
        yield from _biases(report)
        if report.probes:
            yield NarrowTable(_probe_table(report))
        yield from _degradations(report)
        yield from _prompts(report.prompts)
        yield from _self_preference(report.self_preference)
        if report.mitigation is not None:
            yield from _mitigation(report.mitigation)
        yield Text(
            f"{report.confidence_level:.0%} intervals in brackets. Adjusted p: of no effect on any "
            f"question, after Benjamini-Hochberg over {_counted(len(report.probes), 'probe')}.",
            style="dim",
        )
        yield from _calls(report)
        for note in dict.fromkeys(report.notes):
            yield Text(f"note: {shorten(note, width=160)}")


def shown_question(found: ProbeFinding) -> QuestionFinding | None:
    """Give the question that a finding is told by: the one with the largest shift.

    Where a bias was found by flips alone, that is the one with the most flips beyond those between
    two askings.
    """
    shifted = next((row for row in found.questions if row.question == found.question), None)
    if shifted is not None and not _by_flips_alone(found, shifted):
        return shifted
    return max(found.questions, key=_excess, default=None)


def _by_flips_alone(found: ProbeFinding, shifted: QuestionFinding) -> bool:
    """Tell whether the flips of a bias speak louder than its shift."""
    change = shifted.change
    return found.is_found and not change.p_value <= change.excess_p_value and change.p_value > 0.05


def _excess(row: QuestionFinding) -> float:
    noise = row.change.noise_rate.estimate
    excess = row.change.flip_rate.estimate - (0.0 if math.isnan(noise) else noise)
    return -1.0 if math.isnan(excess) else excess


# In words -------------------------------------------------------------------------------------


def _heading(report: ProbeReport) -> str:
    n_found, n_probes = len(report.found), len(report.probes)
    judge, rate = shorten(report.judge), _share(report.false_discovery_rate)
    found = f"{n_found or 'None'} of {_counted(n_probes, 'probe')} found a bias in {judge}"
    said = f"{found}, at a false discovery rate of {rate}" if n_probes else f"{judge} was asked"
    said = f"{said} ({_counted(report.n_items, 'item')}, rubric {shorten(report.rubric)})."
    fond = [shorten(row.question) for row in report.self_preference if row.is_found]
    return f"{said} It prefers its own model's responses: {', '.join(fond)}." if fond else said


def _noise_floor(report: ProbeReport) -> str:
    if not report.stability:
        return "Nothing was asked twice: flips have no noise floor. Ask again with --runs 2."
    floor = report.stability[0]
    said = f"Noise floor: between two askings {_share(floor.flip_rate.estimate)} of labels flip"
    if not math.isnan(floor.mean_difference):
        said += f" and values move by {_bare(floor.mean_difference, 3)} on average"
    said += f"; α of {_counted(floor.n_runs, 'run')} is {_bare(floor.alpha)}."
    if report.neutral is not None and not math.isnan(report.neutral.flip_rate.estimate):
        said += f" Under a line about nothing {_share(report.neutral.flip_rate.estimate)} flip."
    return said


def _biases(report: ProbeReport) -> Iterator[Text]:
    if not report.found:
        least = _bare(report.least_effect)
        if report.probes:
            yield Text(f"Few items show only large biases; effects under {least} do not count.")
        return
    yield Text()
    for row in report.found[:_MOST_SHOWN]:
        yield Text(f"• {shorten(row.probe)}: {_sentence(row)}")
    if len(report.found) > _MOST_SHOWN:
        yield Text(f"  and {len(report.found) - _MOST_SHOWN} more, in the table")
    advice: dict[str, list[str]] = {}
    for row in report.found:
        if row.advice is not None:
            advice.setdefault(row.advice, []).append(shorten(row.family))
    yield Text()
    for text, families in advice.items():
        yield Text(f"Against {', '.join(dict.fromkeys(families))}: {text}")


def _sentence(row: ProbeFinding) -> str:
    """Say what is done, on which question, how much it moves, and what a reward would pay."""
    shown = shown_question(row)
    parts = []
    if shown is not None:
        is_moved = shown.question == row.question and not _by_flips_alone(row, shown)
        whose = "" if is_moved else f" ({shorten(shown.question, width=_NAME_WIDTH)})"
        parts = [_shift(row, shown) if is_moved else "", _flips(shown) + whose]
    parts.append(_pay(row.reward_shift))
    return f"when {shorten(row.summary, width=160)}, {'; '.join(filter(None, parts))}."


def _pay(shift: Estimate | None) -> str:
    if shift is None or math.isnan(shift.estimate):
        return ""
    if not (shift.low > 0 or shift.high < 0):
        return "no effect on a reward is shown"
    verb, size = "pay" if shift.estimate > 0 else "take off", _bare(abs(shift.estimate))
    return f"a reward trained on it would {verb} {size} standard deviations for it"


def _shift(row: ProbeFinding, shown: QuestionFinding) -> str:
    shift = shown.change.shift
    question = shorten(shown.question, width=_NAME_WIDTH)
    question = f"P({question})" if shown.kind == "boolean" else question
    rises = shift.estimate > 0
    size = _with_interval(shift) if rises else _with_interval(_turned(shift))
    match row.family:
        case "steering":
            return f"{question} moves by {size} {'as' if rises else 'against what'} the text wants"
        case "position":
            return f"{question} moves by {size} {'toward' if rises else 'away from'} that response"
    if shown.kind == "pairwise":  # A is the response that is changed
        whither = "toward" if rises else "away from"
        return f"{question} moves by {size} {whither} the changed response"
    return f"{question} {'rises' if rises else 'falls'} by {size}"


def _flips(shown: QuestionFinding) -> str:
    change = shown.change
    rate, noise, n = change.flip_rate.estimate, change.noise_rate.estimate, change.n_items
    if math.isnan(rate):
        return ""
    n_flips = round(rate * n)
    said = f"{n_flips:,} of {_counted(n, 'label')} {'flips' if n_flips == 1 else 'flip'}"
    return said if math.isnan(noise) else f"{said}, {round(noise * n):,} under a line about nothing"


# Tables ---------------------------------------------------------------------------------------


def _probe_table(report: ProbeReport) -> Table:
    pays = any(row.reward_shift is not None for row in report.probes)
    table = _table(
        ["probe", "question"],
        ["items", "shift", "flips", *(["reward"] if pays else []), "adjusted p", "found"],
    )
    rate = report.false_discovery_rate
    for row in report.probes:
        shown = shown_question(row)
        table.add_row(
            shorten(row.probe, width=_NAME_WIDTH),
            "–" if shown is None else shorten(shown.question, width=_NAME_WIDTH),
            f"{row.n_items:,}",
            "–" if shown is None else _signed(shown.change.shift),
            "–" if shown is None else _share(shown.change.flip_rate.estimate),
            *([_signed(row.reward_shift)] if pays else []),
            _p_value(row.adjusted_p_value),
            "yes" if row.is_found else "small" if row.adjusted_p_value <= rate else "",
            style="bold" if row.is_found else None,
        )
    return table


def _degradations(report: ProbeReport) -> Iterator[RenderableType]:
    if not report.degradations:
        return
    table = _table(["worse version", "question"], ["pairs", "ranked lower", "tied"])
    for row in report.degradations:
        table.add_row(
            shorten(row.summary, width=60),
            shorten(row.question, width=_NAME_WIDTH),
            f"{row.n_pairs:,}",
            _range(row.share),
            f"{row.n_tied:,}",
        )
    yield NarrowTable(table)


def _prompts(rows: Sequence[PromptAgreement]) -> Iterator[RenderableType]:
    """Yield one row per prompt over all questions, and how far prompts are apart."""
    if not rows:
        return
    tested = any(row.outcome is not None for row in rows)
    table = _table(["prompt"], ["median κ", "lowest κ", *(["passes"] if tested else [])])
    for prompt in dict.fromkeys(row.prompt for row in rows):
        these = [row for row in rows if row.prompt == prompt]
        known = [row.kappa for row in these if not math.isnan(row.kappa)]
        outcomes = Counter(row.outcome for row in these if row.outcome is not None)
        table.add_row(
            shorten(prompt, width=_NAME_WIDTH),
            _bare(median(known)) if known else "–",
            _bare(min(known)) if known else "–",
            *([f"{outcomes['passed']} of {outcomes.total()}"] if tested else []),
        )
    yield NarrowTable(table)
    whose = "the annotators’ majority" if tested else "the usual prompt"
    yield Text(f"κ with {whose}. {_spread(rows)}".rstrip(), style="dim")


def _spread(rows: Sequence[PromptAgreement]) -> str:
    """Say for which question prompts are farthest apart, and how many outcomes hang on them."""
    spreads, n_apart, n_tested = {}, 0, 0
    for question in dict.fromkeys(row.question for row in rows):
        these = [row for row in rows if row.question == question]
        known = [row.kappa for row in these if not math.isnan(row.kappa)]
        outcomes = {row.outcome for row in these if row.outcome is not None}
        n_tested += bool(outcomes)
        n_apart += len(outcomes) > 1
        if len(known) > 1:
            spreads[question] = max(known) - min(known)
    if not spreads:
        return ""
    farthest = max(spreads, key=spreads.__getitem__)
    size = _bare(spreads[farthest])
    said = f"It differs most from prompt to prompt for {shorten(farthest)}: by {size}."
    if not n_tested:
        return said
    return f"{said} The outcome depends on it for {n_apart} of {_counted(n_tested, 'question')}."


def _self_preference(rows: Sequence[SelfPreference]) -> Iterator[RenderableType]:
    if not rows:
        return
    table = _table(
        ["self-preference: failures passed"],
        ["own", "others'", "ratio (1 is none)", "adjusted p", "found"],
    )
    ordered = sorted(rows, key=lambda row: row.p_value)
    for row in ordered[:_MOST_SHOWN]:
        table.add_row(
            shorten(row.question, width=_NAME_WIDTH),
            f"{_share(row.own_rate.estimate)} of {row.n_own:,}",
            f"{_share(row.others_rate.estimate)} of {row.n_others:,}",
            _range(row.ratio),
            _p_value(row.adjusted_p_value),
            "yes" if row.is_found else "",
        )
    yield NarrowTable(table)
    if len(ordered) > _MOST_SHOWN:
        yield Text(f"and {len(ordered) - _MOST_SHOWN} questions with a larger p", style="dim")


def _mitigation(found: Mitigation) -> Iterator[RenderableType]:
    n_left = sum(row.still_found for row in found.probes)
    yield Text(
        f"Asked again ({shorten(found.what, width=160)}; {shorten(found.judge)}): "
        f"{n_left} of {_counted(len(found.probes), 'bias', 'biases')} left."
    )
    table = _table(["probe", "question"], ["before", "after", "p of no change", "still found"])
    for row in found.probes:
        table.add_row(
            shorten(row.probe, width=_NAME_WIDTH),
            shorten(row.question, width=_NAME_WIDTH),
            _signed(row.before),
            _signed(row.after),
            _p_value(row.p_value),
            "yes" if row.still_found else "no",
        )
    yield NarrowTable(table)


def _calls(report: ProbeReport) -> Iterator[Text]:
    """Yield what was asked, what it cost, and what failed."""
    said = f"{_counted(report.n_judged, 'version')} of items judged"
    if report.calls:
        costs = [row.cost for row in report.calls]
        cost = "price unknown" if None in costs else f"${sum(x or 0 for x in costs):,.4f}"
        said += f", {_counted(sum(row.n_calls for row in report.calls), 'call')}, {cost}"
    yield Text(said)
    failures: Counter[str] = Counter()
    for row in report.calls:
        failures.update(row.failures)
    if failures:
        listed = ", ".join(f"{shorten(name)} ({n:,})" for name, n in failures.items())
        yield Text(f"failed: {listed}. What came back: voirdire replies STORE --failed")


# Figures --------------------------------------------------------------------------------------


def _table(texts: Sequence[str], figures: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in texts:
        table.add_column(head, overflow="ellipsis")  # what is wrapped before figures give way
    for head in figures:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _bare(value: float, digits: int = 2) -> str:
    """Write a number without a leading zero, and a dash for what is undefined."""
    if math.isnan(value):
        return "–"
    rounded = round(value, digits) + 0.0  # no minus before a zero
    text = f"{rounded:.{digits}f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(rounded) < 1 else text


def _turned(value: Estimate) -> Estimate:
    return type(value)(estimate=-value.estimate, low=-value.high, high=-value.low)


def _with_interval(value: Estimate) -> str:
    size = _bare(value.estimate)
    if math.isnan(value.low):
        return size
    return f"{size} [{_bare(value.low)}, {_bare(value.high)}]"


def _signed(value: Estimate | None) -> str:
    if value is None or math.isnan(value.estimate):
        return "–"
    return f"{'+' if value.estimate >= 0.005 else ''}{_with_interval(value)}"


def _range(value: Estimate) -> str:
    return "–" if math.isnan(value.estimate) else _with_interval(value)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}%".replace(".0%", "%")


def _p_value(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "<.001" if value < 0.001 else _bare(value, 3)


def _counted(number: int, what: str, several: str = "") -> str:
    return f"{number:,} {what if number == 1 else several or what + 's'}"
