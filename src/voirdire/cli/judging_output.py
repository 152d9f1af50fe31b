"""What `voirdire judge` prints: a summary, the judge's card, and how to go on."""

from __future__ import annotations

import math
import shlex
import sys
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.cli.call_output import call_lines, caution_lines, example_lines, shown_store
from voirdire.cli.printing import plain_table, print_json, print_tables
from voirdire.cli.shell import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from voirdire.judging import ClassSummary, JudgingSummary, RunEstimate, SeveralJudged
    from voirdire.models import ModelCheck
    from voirdire.records import Dropped

__all__ = [
    "print_card",
    "print_check",
    "print_estimate",
    "print_several",
    "print_summary",
    "say_drops",
    "say_how_to_go_on",
    "say_if_all_failed",
]

_MOST_DROPS = 5


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
    lines = [
        f"  {row.feature}: {said[row.works]}"
        + ("" if row.error is None else f" ({shorten(row.error, width=160)})")
        for row in found.steps
    ]
    print_tables(f"{shorten(found.model)}:", *lines)


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
    files = [row.output for row in useful] if len(useful) < len(judged) else [_folder_of(judged)]
    outputs = " ".join(f"--judges {shlex.quote(name)}" for name in files)
    print_tables(
        _several_table(judged),
        *_several_cautions(judged),
        "",
        "May one of them stand in for people? With labels by people:",
        f"  voirdire examine --humans labels.csv {outputs} --kind boolean --report report.html",
    )


def _folder_of(judged: SeveralJudged) -> str:
    return str(Path(judged[0].output).parent)


def _several_cautions(judged: SeveralJudged) -> list[str]:
    """Say of each judge what a run of it alone would say."""
    found = [
        f"{shorten(row.judge)}: {line}"
        for row in judged
        if row.calls is not None
        for line in (*caution_lines(row.calls), *(f"note: {note}" for note in row.notes))
    ]
    return ["", *found] if found else []


def say_if_all_failed(judged: Sequence[JudgingSummary]) -> bool:
    """Say of whom no item has an answer, and why; whether there was such a judge."""
    found = [(row, row.calls) for row in judged if row.calls is not None and _all_failed(row)]
    for row, calls in found:
        listed = ", ".join(f"{kind} ({n:,})" for kind, n in calls.failures.items())
        said = f"no item has a usable answer by {shorten(row.judge)!r}: {listed}."
        say("\n".join([f"voirdire: {said}", *example_lines(calls)]))
    return bool(found)


def _all_failed(row: JudgingSummary) -> bool:
    answered = any(not math.isnan(question.share_true) for question in row.questions)
    others = () if row.calls is None else row.calls.answers
    return not answered and not any(other.n_answered for other in others)


def print_estimate(estimates: Sequence[RunEstimate], *, as_json: bool) -> None:
    """Print what runs would call and cost."""
    if as_json:
        print_json({"estimates": [asdict(row) for row in estimates]})
        return
    headings = ("judge", "items", "calls", "stored", "tokens in", "tokens out", "US dollars")
    rows = []
    for row in estimates:
        numbers = (row.n_items, row.n_calls, row.n_stored, row.prompt_tokens, row.completion_tokens)
        cost = "unknown" if row.cost is None else f"{row.cost:,.4f}"
        rows.append((shorten(row.judge), *(f"{number:,}" for number in numbers), cost))
    table = plain_table(headings, rows, words=("judge",))
    why = [f"{shorten(row.judge)}: {note}" for row in estimates for note in row.notes]
    failed = [
        f"{shorten(row.judge)}: {row.n_failed:,} of the stored calls failed; --retry-failures "
        "makes them again"
        for row in estimates
        if row.n_failed
    ]
    kept = [
        f"{shorten(row.judge)}: {row.n_items - row.n_kept:,} of {row.n_items:,} items would go on "
        "to the language model"
        for row in estimates
        if row.n_kept is not None
    ]
    sources = dict.fromkeys(row.price_source for row in estimates if row.price_source)
    print_tables(
        table,
        "",
        "Tokens are estimated; reasoning, repetitions and what a server caches are not in them.",
        *kept,
        *why,
        *failed,
        *(f"price: {source}" for source in sources),
    )


def say_how_to_go_on(output: str, *, store: str | None = None, asks_a_model: bool = False) -> None:
    """Say after an interruption what is kept."""
    if asks_a_model:
        where = "in the store" if store is None else f"in {shown_store(store)}"
        say(f"every reply is kept {where}; the same command goes on from there.")
        return
    if output == "-":
        return
    from voirdire.judging import kept_items

    n_items = kept_items(output)
    if n_items:
        say(
            f"{n_items:,} judged items are kept in {output}.partial; the command that judged them "
            "goes on from there."
        )


def _say_drops(summary: JudgingSummary) -> None:
    say_drops(summary.dropped, n_dropped=summary.n_dropped, output=summary.dropped_output)


def say_drops(
    dropped: Sequence[Dropped], *, n_dropped: int, output: str | None = None, what: str = "row"
) -> None:
    """Say how many rows were set aside, and why the first of them were."""
    if not n_dropped:
        return
    shown = dropped[:_MOST_DROPS]
    where = "" if output is None else f"; all in {output}"
    say(f"{_counted(n_dropped, what)} set aside{where}")
    for row in shown:
        about = "" if row.item is None else f" {shorten(row.item)!r}"
        value = "" if row.value is None else f" ({shorten(row.value)!r})"
        say(f"  {row.place()}:{about} {shorten(row.reason, width=160)}{value}")
    if n_dropped > len(shown):
        say(f"  and {n_dropped - len(shown):,} more")


def _heading(summary: JudgingSummary) -> str:
    from voirdire.records.thresholds import threshold_words

    reused = f" ({summary.n_reused:,} from an earlier run)" if summary.n_reused else ""
    items = _counted(summary.n_items, "item")
    threshold = f", threshold {threshold_words(summary.threshold)}" if summary.questions else ""
    return (
        f"{items}{reused} judged by {shorten(summary.judge)!r}{_asked(summary)} on rubric "
        f"{shorten(summary.rubric)} {shorten(summary.rubric_version)}{threshold}\n"
    )


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
    failed = any(row.n_failed for row in summary.questions)
    rows = [
        (
            *(row.question, _percent(row.share_true), _number(row.mean_probability)),
            *([f"{row.n_failed:,}"] if failed else []),
            "" if row.trusted else "not to be trusted",
        )
        for row in summary.questions
    ]
    headings = ("proposition", "true", "mean probability", *(["failed"] if failed else []), "")
    return plain_table(headings, rows, words=("proposition", ""))


def _class_table(summary: JudgingSummary) -> Table:
    """One row per behavior that any item is of."""
    words = ("behavior", "completion classes (mean probability)")
    rows = [
        (behavior, f"{found[0].n_items:,}", ", ".join(map(_class_text, found)))
        for behavior, group in groupby(summary.classes, key=lambda row: row.behavior)
        if (found := list(group))[0].n_items
    ]
    return plain_table((words[0], "items", words[1]), rows, words=words)


def _class_text(row: ClassSummary) -> str:
    share, mean = _percent(row.share), _number(row.mean_probability)
    return f"{row.completion_class} {share} ({mean})"


def _several_table(judged: SeveralJudged) -> Table:
    rows = []
    for row in judged:
        calls = row.calls
        failed = 0 if calls is None else sum(calls.failures.values())
        cost = "unknown" if calls is None or calls.cost is None else f"{calls.cost:,.4f}"
        n_calls = 0 if calls is None else calls.n_calls
        counts = (f"{row.n_items:,}", f"{n_calls:,}", f"{failed:,}")
        rows.append((shorten(row.judge), *counts, cost, row.output))
    headings = ("judge", "items", "calls", "failed", "US dollars", "verdicts")
    return plain_table(headings, rows, words=("judge", "verdicts"))


def _cautions(summary: JudgingSummary) -> list[str]:
    found = [f"note: {note}" for note in summary.notes]
    if summary.untrusted:
        names = ", ".join(summary.untrusted)
        found.append(
            f"note: by its own card {shorten(summary.judge)!r} should not be trusted on: {names}"
        )
    return ["", *found] if found else []


def _whereabouts(summary: JudgingSummary) -> list[str]:
    lines = ["", f"verdicts: {summary.output}"]
    if summary.layout == "long":
        verdicts = shlex.quote(summary.output)
        lines.append("May the judge stand in for people? With labels by people:")
        lines += [
            f"  voirdire examine --humans labels.csv --judges {verdicts} {asked}"
            for asked in _ways_to_examine(summary)
        ]
    return lines


def _ways_to_examine(summary: JudgingSummary) -> list[str]:
    """Give the options that reach the propositions, and one question of every other kind."""
    answers = () if summary.calls is None else summary.calls.answers
    first: dict[str, str] = {}
    for row in answers:
        first.setdefault("choice" if row.kind == "pairwise" else row.kind, row.question)
    found = ["--kind boolean"] if summary.questions or not answers else []
    return found + [
        f"--question {shlex.quote(question)} --kind {kind}" for kind, question in first.items()
    ]


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.1%}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"
