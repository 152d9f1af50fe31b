"""What judging prints: a summary, calls with their cost, an estimate, and how to go on."""

from __future__ import annotations

import math
import shlex
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.cli.printing import counted, plain_table, print_json, print_tables
from voirdire.cli.shell import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from voirdire.judging import (
        CallSummary,
        JudgingSummary,
        RunEstimate,
        SeveralJudged,
    )
    from voirdire.models import ModelCheck
    from voirdire.records import Dropped

__all__ = [
    "call_lines",
    "print_card",
    "print_check",
    "print_estimate",
    "print_several",
    "print_summary",
    "said_cost",
    "say_drops",
    "say_how_to_go_on",
    "say_if_all_failed",
    "shown_store",
]

_MOST_DROPS = 5
_MASS_WORTH_SAYING = 0.01
_SHIFT_WORTH_SAYING = 0.1


def print_summary(summary: JudgingSummary, *, as_json: bool) -> None:
    """Print what a run came to; on standard error where the verdicts went to standard output."""
    _say_drops(summary)
    if as_json:
        print_json(summary.as_dict())
        return
    printed = summary.output == "-"
    print_tables(
        _heading(summary),
        *((_question_table(summary),) if summary.questions else ()),
        *(("", _class_table(summary)) if any(row.n_items for row in summary.classes) else ()),
        *(() if summary.calls is None else call_lines(summary.calls)),
        *_cautions(summary),
        *(() if printed else _whereabouts(summary)),
        stream=sys.stderr if printed else sys.stdout,
    )


def print_card(judge: str, *, as_json: bool) -> None:
    """Print what is known of a local judge, as Markdown or JSON."""
    from voirdire.judging import load_local_judge

    card = load_local_judge(judge).card
    if as_json:
        print_json(card.to_dict())
    else:
        print(card.to_markdown())


def print_check(found: ModelCheck, *, as_json: bool) -> None:
    """Print what a model's server can do, one line for each thing that was tried."""
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(found))
        return
    said = {True: "yes", False: "no", None: "not known"}
    print_tables(f"{shorten(found.model)}:")
    for row in found.steps:
        why = "" if row.error is None else f" ({shorten(row.error, width=160)})"
        print_tables(f"  {row.feature}: {said[row.works]}{why}")


def print_several(judged: SeveralJudged, *, as_json: bool) -> None:
    """Print what several judges came to, one line each, and how to examine them."""
    for name, error in judged.failed.items():
        say(f"{shorten(name)} did not come to its end: {error}")
    if as_json:
        failed = {name: str(error) for name, error in judged.failed.items()}
        print_json({"judged": [row.as_dict() for row in judged], "failed": failed})
        return
    if not judged:
        return
    _say_drops(judged[0])
    useful = [row for row in judged if not _all_failed(row)] or judged
    files = [row.output for row in useful]
    if len(files) == len(judged):
        files = [str(Path(files[0]).parent)]
    outputs = " ".join(f"--judges {shlex.quote(name)}" for name in files)
    called = [(row, row.calls) for row in judged if row.calls is not None]
    rows = [
        (
            *(shorten(row.judge), f"{row.n_items:,}", f"{calls.n_calls:,}"),
            *(f"{sum(calls.failures.values()):,}", _dollars(calls.cost), row.output),
        )
        for row, calls in called
    ]
    cautions = [  # what a run of each judge alone would say
        f"{shorten(row.judge)}: {line}"
        for row, calls in called
        for line in (*_caution_lines(calls), *(f"note: {note}" for note in row.notes))
    ]
    headings = ("judge", "items", "calls", "failed", "US dollars", "verdicts")
    print_tables(
        plain_table(headings, rows, words=("judge", "verdicts")),
        *(("", *cautions) if cautions else ()),
        "",
        "May one of them stand in for people? With labels by people:",
        f"  voirdire examine --humans labels.csv {outputs} --kind boolean --report report.html",
    )


def say_if_all_failed(judged: Sequence[JudgingSummary]) -> bool:
    """Say of whom no item has an answer, and why; whether there was such a judge."""
    found = [(row, row.calls) for row in judged if row.calls is not None and _all_failed(row)]
    for row, calls in found:
        listed = ", ".join(f"{kind} ({n:,})" for kind, n in calls.failures.items())
        say(f"voirdire: no item has a usable answer by {shorten(row.judge)!r}: {listed}.")
        say("\n".join(_example_lines(calls)))
    return bool(found)


def _all_failed(row: JudgingSummary) -> bool:
    answered = any(not math.isnan(question.share_true) for question in row.questions)
    others = () if row.calls is None else row.calls.answers
    return not answered and not any(other.n_answered for other in others)


def print_estimate(estimates: Sequence[RunEstimate], *, as_json: bool) -> None:
    """Print what runs would call and cost."""
    if as_json:
        print_json({"estimates": estimates})
        return
    rows, more = [], []
    for row in estimates:
        name = shorten(row.judge)
        numbers = (row.n_items, row.n_calls, row.n_stored, row.prompt_tokens, row.completion_tokens)
        rows.append((name, *(f"{number:,}" for number in numbers), _dollars(row.cost)))
        if row.n_kept is not None:
            n_asked = f"{row.n_items - row.n_kept:,} of {row.n_items:,} items"
            more.append(f"{name}: {n_asked} would go on to the language model")
        more += [f"{name}: {note}" for note in row.notes]
        if row.n_failed:
            failed = f"{row.n_failed:,} of the stored calls failed"
            more.append(f"{name}: {failed}; --retry-failures makes them again")
    more += [f"price: {row.price_source}" for row in estimates if row.price_source]
    headings = ("judge", "items", "calls", "stored", "tokens in", "tokens out", "US dollars")
    print_tables(
        plain_table(headings, rows, words=("judge",)),
        "",
        "Tokens are estimated; reasoning, repetitions and what a server caches are not in them.",
        *dict.fromkeys(more),
    )


def say_how_to_go_on(
    output: str, *, store: str | Path | None = None, asks_a_model: bool = False
) -> None:
    """Say after an interruption what is kept."""
    if asks_a_model:
        where = "in the store" if store is None else f"in {shown_store(str(store))}"
        say(f"every reply is kept {where}; the same command goes on from there.")
        return
    from voirdire.judging import kept_items

    if output != "-" and (n_items := kept_items(output)):
        kept = f"{n_items:,} judged items are kept in {output}.partial"
        say(f"{kept}; the command that judged them goes on from there.")


def _say_drops(summary: JudgingSummary) -> None:
    say_drops(summary.dropped, n_dropped=summary.n_dropped, output=summary.dropped_output)


def say_drops(
    dropped: Sequence[Dropped],
    *,
    n_dropped: int | None = None,
    output: str | None = None,
    what: str = "row",
) -> None:
    """Say how many rows were set aside, and why the first of them were."""
    n_dropped = len(dropped) if n_dropped is None else n_dropped
    if not n_dropped:
        return
    shown = dropped[:_MOST_DROPS]
    say(f"{counted(n_dropped, what)} set aside{'' if output is None else f'; all in {output}'}")
    for row in shown:
        about = "".join(f" {shorten(name)!r}" for name in (row.item, row.question) if name)
        value = "" if row.value is None else f" ({shorten(row.value)!r})"
        say(f"  {row.place()}:{about} {shorten(row.reason, width=160)}{value}")
    if n_dropped > len(shown):
        say(f"  and {n_dropped - len(shown):,} more")


def _heading(summary: JudgingSummary) -> str:
    from voirdire.records.thresholds import format_threshold

    reused = f" ({summary.n_reused:,} from an earlier run)" if summary.n_reused else ""
    items = f"{counted(summary.n_items, 'item')}{reused}"
    rubric = f"rubric {shorten(summary.rubric)} {shorten(summary.rubric_version)}"
    threshold = f", threshold {format_threshold(summary.threshold)}" if summary.questions else ""
    judge = f"{shorten(summary.judge)!r}{_asked(summary)}"
    return f"{items} judged by {judge} on {rubric}{threshold}\n"


def _asked(summary: JudgingSummary) -> str:
    """Say which model was asked and how."""
    asked = summary.asked
    if asked is None:
        return ""
    if "judges" in asked:
        names = ", ".join(repr(shorten(row["name"])) for row in asked["judges"])
        return f" (a jury of {names}: {asked['combine']})"
    words = [asked["name"]] if asked["name"] != summary.judge else []
    words += [asked["mode"], asked["probability"], asked["language"]]
    return f" ({', '.join(shorten(word) for word in words)})"


def _question_table(summary: JudgingSummary) -> Table:
    has_failed = any(row.n_failed for row in summary.questions)
    rows = [
        (
            *(row.question, _percent(row.share_true), _number(row.mean_probability)),
            *([f"{row.n_failed:,}"] if has_failed else []),
            "" if row.trusted else "not to be trusted",
        )
        for row in summary.questions
    ]
    headings = ("proposition", "true", "mean probability", *(["failed"] if has_failed else []), "")
    return plain_table(headings, rows, words=("proposition", ""))


def _class_table(summary: JudgingSummary) -> Table:
    """One row per behavior that any item is of."""
    of_items = [row for row in summary.classes if row.n_items]
    rows = []
    for behavior, group in groupby(of_items, key=lambda row: row.behavior):
        found = [*group]
        classes = [
            f"{row.completion_class} {_percent(row.share)} ({_number(row.mean_probability)})"
            for row in found
        ]
        rows.append((behavior, f"{found[0].n_items:,}", ", ".join(classes)))
    words = ("behavior", "completion classes (mean probability)")
    return plain_table((words[0], "items", words[1]), rows, words=words)


def _cautions(summary: JudgingSummary) -> list[str]:
    found = [f"note: {note}" for note in summary.notes]
    if summary.untrusted:
        names = ", ".join(summary.untrusted)
        found.append(
            f"note: by its own card {shorten(summary.judge)!r} should not be trusted on: {names}"
        )
    return ["", *found] if found else []


def _whereabouts(summary: JudgingSummary) -> list[str]:
    """Name the file, and what examines it: the propositions, one question of every other kind."""
    lines = ["", f"verdicts: {summary.output}"]
    if summary.layout != "long":
        return lines
    answers = () if summary.calls is None else summary.calls.answers
    ways = ["--kind boolean"] if summary.questions or not answers else []
    first: dict[str, str] = {}
    for row in answers:
        first.setdefault("choice" if row.kind == "pairwise" else row.kind, row.question)
    ways += [f"--question {shlex.quote(name)} --kind {kind}" for kind, name in first.items()]
    examine = f"  voirdire examine --humans labels.csv --judges {shlex.quote(summary.output)}"
    asked = "May the judge stand in for people? With labels by people:"
    return [*lines, asked, *(f"{examine} {way}" for way in ways)]


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.1%}"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:,.4f}"


# Calls ----------------------------------------------------------------------------------------


def said_cost(cost: float | None) -> str:
    """Give a cost in US dollars, as far as the price is known."""
    return "price unknown" if cost is None else f"${cost:,.4f}"


def call_lines(calls: CallSummary) -> list[str]:
    """Say how many calls there were, what they cost, and what to beware of."""
    lines = [""]
    for row in calls.answers:
        shares = ", ".join(f"{label} {share:.1%}" for label, share in row.shares.items())
        mean = "" if math.isnan(row.mean) else f"mean {row.mean:.3g}"
        failed = f" ({row.n_failed:,} failed)" if row.n_failed else ""
        lines.append(f"{row.question}: {shares or mean or f'{row.n_answered:,} answered'}{failed}")
    if calls.n_kept is not None:
        kept = f"{counted(calls.n_kept, 'item')} answered by the first judge"
        lines.append(f"cascade: {kept}, the others by the language model")
    said = [f"{calls.n_calls:,} calls"]
    said += [f"{calls.n_retries:,} of them repeats"] if calls.n_retries else []
    said += [f"{calls.n_reused:,} items from the store"] if calls.n_reused else []
    if calls.prompt_tokens or calls.completion_tokens:
        cached = f" ({calls.cached_tokens:,} cached)" if calls.cached_tokens else ""
        said.append(f"{calls.prompt_tokens:,} tokens in{cached}, {calls.completion_tokens:,} out")
    said += [said_cost(calls.cost)] if calls.n_calls else []
    return [*lines, f"calls: {', '.join(said)}", *_caution_lines(calls)]


def _caution_lines(calls: CallSummary) -> list[str]:
    """Say what to beware of: failures, looser forms, missing mass, shifts."""
    lines: list[str] = []
    if calls.failures:
        listed = ", ".join(f"{reason} ({n:,})" for reason, n in calls.failures.items())
        lines.append(f"failed: {listed}. Call them again with --retry-failures.")
        lines += _example_lines(calls)
        lines.append("  all that came back: voirdire replies STORE --failed")
    lines += [f"note: the form of replies went from {step}" for step in calls.steps_down]
    high = {name: mass for name, mass in calls.missing_mass.items() if mass >= _MASS_WORTH_SAYING}
    if high:
        name, most = max(high.items(), key=lambda row: row[1])
        lines.append(
            f"note: on {len(high)} propositions more than 1% of the probability is on tokens that "
            f"are neither true nor false, at most {most:.1%} ({name})"
        )
    shifts, n_items = calls.order_shift, calls.n_order_checked
    mean = sum(shifts.values()) / max(len(shifts), 1)
    if shifts and any(row.kind == "pairwise" for row in calls.answers):
        told = f"{mean:.0%} of {n_items:,} pairs were judged otherwise"
        lines.append(f"order: with their responses swapped, {told}; those are ties")
    elif shifts:
        name, most = max(shifts.items(), key=lambda row: row[1])
        advice = " Ask in several: --orders 3." if most >= _SHIFT_WORTH_SAYING else ""
        lines.append(
            f"order: in another order of the questions answers moved by {mean:.3f} on average, at "
            f"most {most:.3f} ({name}), on {n_items:,} items.{advice}"
        )
    return lines


def _example_lines(calls: CallSummary) -> list[str]:
    """Give all that one failure of each kind says."""
    return [f"  for example: {calls.examples.get(kind, kind)}" for kind in calls.failures]


def shown_store(store: str) -> str:
    """Give a store's address without a password, as its own errors do."""
    from voirdire.store.opening import read_address

    return read_address(store).shown if "://" in store else store
