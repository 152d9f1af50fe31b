"""What judging prints: a summary, calls with their cost, an estimate, rows that were set aside."""

from __future__ import annotations

import math
import shlex
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.reporting.number_formats import counted, decimal, dollars, share
from voirdire.reporting.plain_tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from voirdire.judging import CallSummary, JudgingSummary, RunEstimate, SeveralJudged
    from voirdire.records import Dropped

__all__ = [
    "call_lines",
    "drop_lines",
    "estimate_tables",
    "failure_lines",
    "judging_tables",
    "probing_text",
    "several_tables",
]

_MOST_REASONS = 5


def judging_tables(summary: JudgingSummary) -> list[RenderableType]:
    """Lay out the result of a run; where the verdicts are is said of a file only."""
    return [
        _heading(summary),
        *((_question_table(summary),) if summary.questions else ()),
        *(("", _class_table(summary)) if any(row.n_items for row in summary.classes) else ()),
        *(() if summary.calls is None else call_lines(summary.calls)),
        *_cautions(summary),
        *(() if summary.output == "-" else _whereabouts(summary)),
    ]


def several_tables(judged: SeveralJudged) -> list[RenderableType]:
    """Lay out the results of several judges, one line each, and how to examine them."""
    useful = [row for row in judged if not failure_lines(row)] or judged
    files = [row.output for row in useful]
    if len(files) == len(judged):
        files = [str(Path(files[0]).parent)]
    outputs = " ".join(f"--judges {shlex.quote(name)}" for name in files)
    called = [(row, row.calls) for row in judged if row.calls is not None]
    rows = [
        (
            *(shorten(row.judge), f"{row.n_items:,}", f"{calls.n_calls:,}"),
            *(f"{sum(calls.failures.values()):,}", dollars(calls.cost), row.output),
        )
        for row, calls in called
    ]
    cautions = [  # what a run of each judge alone would say
        f"{shorten(row.judge)}: {line}"
        for row, calls in called
        for line in (*_caution_lines(calls), *(f"note: {note}" for note in row.notes))
    ]
    headings = ("judge", "items", "calls", "failed", "cost", "verdicts")
    return [
        plain_table(headings, rows, words=("judge", "verdicts")),
        *(("", *cautions) if cautions else ()),
        "",
        "May one of them replace the annotators? With labels by people:",
        f"  voirdire examine --humans labels.csv {outputs} --kind boolean --report report.html",
    ]


def failure_lines(row: JudgingSummary) -> list[str]:
    """Say of a judge without one usable answer why; nothing of others."""
    answered = any(not math.isnan(question.share_true) for question in row.questions)
    calls = row.calls
    if calls is None or answered or any(other.n_answered for other in calls.answers):
        return []
    listed = ", ".join(f"{kind} ({n:,})" for kind, n in calls.failures.items())
    return [f"no item has a usable answer by {shorten(row.judge)!r}: {listed}.", *_examples(calls)]


def estimate_tables(estimates: Sequence[RunEstimate]) -> list[RenderableType]:
    """Lay out what runs would call and cost."""
    rows, more = [], []
    for row in estimates:
        name = shorten(row.judge)
        numbers = (row.n_items, row.n_calls, row.n_stored, row.prompt_tokens, row.completion_tokens)
        rows.append((name, *(f"{number:,}" for number in numbers), dollars(row.cost)))
        if row.n_kept is not None:
            n_asked = f"{row.n_items - row.n_kept:,} of {row.n_items:,} items"
            more.append(f"{name}: {n_asked} would go on to the language model")
    headings = ("judge", "items", "calls", "stored", "tokens in", "tokens out", "cost")
    return [
        plain_table(headings, rows, words=("judge",)),
        "",
        "Tokens are estimated; reasoning, repetitions and what a server caches are not in them.",
        *more,
    ]


def drop_lines(
    dropped: Sequence[Dropped],
    *,
    n_dropped: int | None = None,
    output: str | None = None,
    what: str = "row",
) -> list[str]:
    """Say how many rows were set aside, and why: rows of one reason on one line."""
    n_dropped = len(dropped) if n_dropped is None else n_dropped
    if not n_dropped:
        return []
    lines = [
        f"{counted(n_dropped, what)} set aside{'' if output is None else f'; all in {output}'}"
    ]
    alike: dict[str, list[Dropped]] = {}
    for row in dropped:
        alike.setdefault(row.reason, []).append(row)
    for same in list(alike.values())[:_MOST_REASONS]:
        row = same[0]
        about = "".join(f" {shorten(name)!r}" for name in (row.item, row.question) if name)
        value = "" if row.value is None else f" ({shorten(row.value)!r})"
        others = [f"line {x.line}" if x.item is None else shorten(x.item) for x in same[1:4]]
        more = f" (and {len(same) - 1:,} more like this: {', '.join(others)}" if others else ""
        more += (", …)" if len(same) > 4 else ")") if others else ""
        lines.append(f"  {row.place()}:{about} {shorten(row.reason, width=200)}{value}{more}")
        n_dropped -= len(same)
    return [*lines, *([f"  and {n_dropped:,} more"] if n_dropped else [])]


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
            *(row.question, share(row.share_true), decimal(row.mean_probability, digits=3)),
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
            f"{row.completion_class} {share(row.share)} ({decimal(row.mean_probability, digits=3)})"
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
    asked = "May the judge replace the annotators? With labels by people:"
    return [*lines, asked, *(f"{examine} {way}" for way in ways)]


# Calls ----------------------------------------------------------------------------------------


def call_lines(calls: CallSummary) -> list[str]:
    """Say how many calls there were, what they cost, and what to beware of."""
    lines = [""]
    for row in calls.answers:
        shares = ", ".join(f"{label} {share(part)}" for label, part in row.shares.items())
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
    said += [dollars(calls.cost)] if calls.n_calls else []
    return [*lines, f"calls: {', '.join(said)}", *_caution_lines(calls)]


def _caution_lines(calls: CallSummary) -> list[str]:
    """Say what to beware of: failures, looser forms, missing mass."""
    lines: list[str] = []
    if calls.failures:
        listed = ", ".join(f"{reason} ({n:,})" for reason, n in calls.failures.items())
        lines.append(f"failed: {listed}. Call them again with --retry-failures.")
        lines += _examples(calls)
        lines.append("  all that came back: voirdire replies STORE --failed")
    lines += [f"note: {note}" for note in calls.steps_down]
    return lines


def _examples(calls: CallSummary) -> list[str]:
    """Give all that one failure of each kind says."""
    return [f"  for example: {calls.examples.get(kind, kind)}" for kind in calls.failures]


def probing_text(n_versions: int, n_items: int, estimates: Sequence[RunEstimate]) -> str:
    """Say what is asked and about what it costs, before it is paid."""
    text = f"{n_versions:,} versions of {n_items:,} items"
    if not estimates:
        return text
    n_calls, n_stored = (sum(getattr(row, x) for row in estimates) for x in ("n_calls", "n_stored"))
    costs = [row.cost for row in estimates]
    cost = "price unknown" if None in costs else f"about {dollars(sum(x or 0 for x in costs))}"
    kept = f" ({n_stored:,} more are stored)" if n_stored else ""
    return f"{text}: {n_calls:,} calls{kept}, {cost}"
