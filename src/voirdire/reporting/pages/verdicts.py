"""What is said of verdicts: those of a file, a run of judging, stored replies, and rubrics."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._messages import shorten
from voirdire.io.verdicts import CLASS_SOURCE, SAID_COLUMNS, TEXT_COLUMNS
from voirdire.records.thresholds import format_threshold
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.items import (
    ItemCard,
    ItemText,
    as_written,
    item_rows,
    item_texts,
    slice_columns,
    text_start,
)
from voirdire.reporting.pages.speech import (
    Argument,
    Count,
    Decimal,
    Dollars,
    Label,
    Listing,
    Name,
    Percent,
    Verbatim,
    argument_of,
    say,
)
from voirdire.reporting.pages.view import Cards, Column, Part, Table, Track, View, Words
from voirdire.reporting.progress_text import failure_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voirdire.judging import (
        BatchRun,
        CallSummary,
        FolderSummary,
        JudgingSummary,
        ReplyListing,
        RunEstimate,
        SeveralJudged,
    )
    from voirdire.reporting.pages.speech import Said
    from voirdire.rubrics import Rubric
    from voirdire.studies import RubricCheck


_MOST_ITEMS = 1_000
_MOST_QUESTIONS = 500
_MOST_OF_AN_ITEM = 100
_MOST_LABELS = 4
_MOST_FAILURES = 20


def verdicts_view(rows: pl.DataFrame, *, name: str, metadata: pl.DataFrame | None = None) -> View:
    """Say what judges said; `rows` are as `read_answers` gives them.

    `metadata` is what is known of the items, as `read_metadata` gives it: it counts before texts
    that stand in the file of verdicts.
    """
    judges = rows["judge"].unique(maintain_order=True).to_list()
    items = rows["item"].unique(maintain_order=True)
    shown = items.head(_MOST_ITEMS)
    cards = _make_cards(rows.filter(pl.col("item").is_in(shown.implode())), metadata)
    reasons = Counter(rows["failure"].drop_nulls().to_list())
    counted = [say("results.dropped.reason", reason=Verbatim(x, width=300), n=n)
               for x, n in reasons.most_common(_MOST_FAILURES)]  # fmt: skip
    n_more = len(reasons) - len(counted)
    listing = Listing(tuple(counted), most=_MOST_FAILURES, n_hidden=n_more)
    n_failures = Count(sum(reasons.values()), "verdicts")
    cut = say("verdicts.cut", shown=len(shown), n=len(items))
    listed: tuple[Any, ...] = (Cards(cards),)
    return View(
        name="verdicts",
        meta=say("verdicts.meta", file=Name(name, 80), judges=[*judges], items=len(items)),
        lead=(say("verdicts.failures", n=n_failures, reasons=listing),)
        if reasons
        else ("verdicts.whole",),
        todo=_examine_with(name, {"boolean": None}),
        blocks=tuple(_rate_tables(_compute_rates(rows))),
        parts=(
            Part(name="verdicts.items", is_open=True, shown_in="page",
                 blocks=(Words((cut,), "note"), *listed) if len(shown) < len(items) else listed),
        ),
    )  # fmt: skip


def _rate_tables(rates: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Lay out how often a judge said what: questions, then completion classes.

    `share_true` and `mean` (of the probabilities) are nan for questions that are not boolean;
    `labels` are then what was said, the most frequent first.
    """
    for is_class, key in enumerate(("verdicts.questions", "verdicts.classes")):
        rows = [row for row in rates if row["is_class"] == is_class]
        has_shares = any(map(is_defined, (row["share_true"] for row in rows)))
        columns: list[Column] = [
            *("question", *(["judge"] if len({row["judge"] for row in rows}) > 1 else [])),
            *(_SHARES if has_shares else ()),
            *("n_answers", "n_failures"),
            *(["labels"] if any(row["labels"] for row in rows) else []),
        ]
        if rows:
            levels = tuple((x, Percent(x)) for x in (0.0, 0.5, 1.0))
            yield Table.of(key, rows, columns, most=_MOST_QUESTIONS, levels=levels)


_SHARES: tuple[Column, ...] = (
    ("share_track", lambda row: Track(value=row["share_true"])),
    ("share_true", lambda row: Percent(row["share_true"])),
    ("mean_probability", lambda row: Decimal(row["mean"], 3)),
)


def _list_labels(counts: Iterable[tuple[str, int]], n_labels: int) -> Listing:
    """List the most frequent labels with their numbers."""
    said = [say("items.counted", label=Label(label), n=n) for label, n in counts]
    return Listing(tuple(said[:_MOST_LABELS]), n_hidden=max(n_labels - _MOST_LABELS, 0))


def _examine_with(file: str, kinds: Mapping[str, str | None]) -> tuple[Any, ...]:
    """Name the commands that examine verdicts: for each kind of question, by its name if any."""
    commands = [
        f"voirdire examine --humans labels.csv --judges {argument_of(file).text}"
        + ("" if question is None else f" --question {shlex.quote(question)}")
        + f" --kind {kind}"
        for kind, question in kinds.items()
    ]
    return ("verdicts.next", *(say("command", text=Argument(each)) for each in commands))


def _compute_rates(rows: pl.DataFrame) -> list[dict[str, Any]]:
    label, labels = pl.col("label"), pl.col("label").drop_nulls()
    truth = labels.str.to_lowercase()
    counted = rows.group_by("judge", "question", maintain_order=True).agg(
        is_class=(pl.col("source") == CLASS_SOURCE).any().fill_null(value=False),
        n_answers=labels.len(),
        n_failures=(label.is_null() & pl.col("failure").is_not_null()).sum(),
        share_true=pl.when(truth.is_in(["true", "false"]).all())
        .then((truth == "true").mean())
        .fill_null(math.nan),
        mean=pl.col("probability").mean(),
        labels=labels.value_counts(sort=True).head(_MOST_LABELS),
        n_labels=labels.n_unique(),
    )
    rates = []
    for row in counted.iter_rows(named=True):
        counts = [(each["label"], each["count"]) for each in row["labels"]]
        is_said = counts and not is_defined(row["share_true"])
        rates.append(row | {"labels": _list_labels(counts, row["n_labels"]) if is_said else None})
    return rates


# Items --------------------------------------------------------------------------------------------


def _make_cards(rows: pl.DataFrame, metadata: pl.DataFrame | None) -> list[ItemCard]:
    items = rows.partition_by("item", maintain_order=True)
    texts = _collect_texts(rows, metadata)
    columns = slice_columns([texts.get(part["item"][0], {}) for part in items])
    several = rows["judge"].n_unique() > 1
    return [
        _make_card(
            list(part.iter_rows(named=True)), texts.get(part["item"][0], {}), columns, several
        )
        for part in items
    ]


def _collect_texts(rows: pl.DataFrame, metadata: pl.DataFrame | None) -> dict[str, dict[str, str]]:
    by_item: dict[str, dict[str, str]] = {}
    given = [name for name in TEXT_COLUMNS if name in rows.columns]
    columns = {"item", *(name for name in SAID_COLUMNS if rows[name].null_count() < len(rows))}
    frames = [rows.select("item", *given).unique("item", maintain_order=True)] if given else []
    if metadata is not None:
        frames.append(metadata.filter(pl.col("item").is_in(rows["item"].unique().implode())))
    for frame in frames:
        for row in frame.iter_rows(named=True):
            texts = {k: str(x) for k, x in row.items() if k not in columns and x is not None}
            by_item.setdefault(row["item"], {}).update(texts)
    return by_item


def _make_card(
    rows: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
    columns: Sequence[str],
    several: bool,  # noqa: FBT001  # judges
) -> ItemCard:
    asked = [row for row in rows if row["source"] != CLASS_SOURCE]
    tags: dict[str, str | list[str]] = {
        "column.question": [shorten(row["question"], width=200) for row in asked],
        "items.answer": [_answer(row) for row in asked],
    }
    if several:
        tags["column.judge"] = [shorten(row["judge"], width=200) for row in asked]
    behavior = next((row["behavior"] for row in rows if row["behavior"]), None)
    classes = [
        row["question"] for row in rows if row["source"] == CLASS_SOURCE and row["label"] == "true"
    ]
    failure = next((row["failure"] for row in asked if row["failure"]), None)
    one_each = {
        "column.behavior": behavior and shorten(behavior, width=200),
        "verdicts.class": classes[0] if classes else None,
        "verdicts.failure": failure and shorten(failure.partition(":")[0]),
        **{f"={name}": texts.get(name) for name in columns},
    }
    tags |= {key: value for key, value in one_each.items() if value}
    n_failed = sum(row["label"] is None for row in asked)
    summary: list[Any] = [Name(name, 40) for name in classes[:1]]
    if n_failed:
        summary.append(say("verdicts.failed.n", n=n_failed))
    return ItemCard(
        title=rows[0]["item"],
        summary=(*summary, *text_start(texts)),
        texts=item_texts(texts),
        rows=[*(_write_row(row, several) for row in rows[:_MOST_OF_AN_ITEM]), *item_rows(texts)],
        tags=tags,
    )


def _answer(row: Mapping[str, Any]) -> str:
    return "–" if row["label"] is None else shorten(row["label"], width=60)


def _write_row(row: Mapping[str, Any], several: bool) -> tuple[Any, Any, Any]:  # noqa: FBT001
    who: Said | Name = Name(row["question"])
    if several:
        who = say("verdicts.who", question=who, judge=Name(row["judge"], 24))
    why = row["failure"] or row["reason"]
    what: Any = None
    if row["label"] is not None:
        is_true = row["label"].lower() == "true"
        what = as_written(row["label"], width=200)
        what = say("items.against", label=what) if is_true else what
    if row["probability"] is not None:
        what = say("verdicts.said", label=what or "–", p=row["probability"])
    said: Any = None if why is None else as_written(why)
    if row["contradicts"] == "true":
        said = say("verdicts.contradicts", reason=said)
    return who, what, said


# A run of judging ---------------------------------------------------------------------------------


def judging_view(summary: JudgingSummary) -> View:
    """Say what a run of judging answered, and what it cost."""
    calls, judge = summary.calls, summary.judge
    same: dict[str, Any] = {"judge": judge, "is_class": False, "n_failures": 0,
                            "share_true": math.nan, "mean": None, "labels": None}  # fmt: skip
    rates = [
        same | {"question": row.question, "n_answers": summary.n_items - row.n_failed,
                "n_failures": row.n_failed, "share_true": row.share_true,
                "mean": row.mean_probability}
        for row in summary.questions
    ]  # fmt: skip
    answers = () if calls is None else calls.answers
    for row in answers:
        counts = [(label, round(share * row.n_answered)) for label, share in row.shares.items()]
        counts = sorted(filter(itemgetter(1), counts), key=lambda count: -count[1])
        labels: Any = _list_labels(counts, len(counts))
        if is_defined(row.mean):
            labels = say("verdicts.average", mean=row.mean)
        rates.append(same | {"question": row.question, "n_answers": row.n_answered,
                             "n_failures": row.n_failed, "labels": labels})  # fmt: skip
    rates += [
        same | {"question": f"{row.behavior}.{row.completion_class}", "is_class": True,
                "n_answers": row.n_items, "share_true": row.share,
                "mean": row.mean_probability}
        for row in summary.classes
        if row.n_items
    ]  # fmt: skip
    kinds: dict[str, str | None] = {"boolean": None} if summary.questions or not answers else {}
    for row in answers:
        kinds.setdefault("choice" if row.kind == "pairwise" else row.kind, row.question)
    is_file = summary.output != "-"
    untrusted = Listing(tuple(map(Name, summary.untrusted)))
    return View(
        name="verdicts",
        meta=say("judging.meta", items=summary.n_items, judge=judge,
                 rubric=f"{summary.rubric} {summary.rubric_version}",
                 how=_say_how(summary), threshold=format_threshold(summary.threshold)),
        lead=(say("judging.reused", n=summary.n_reused),) if summary.n_reused else (),
        todo=_examine_with(summary.output, kinds) if is_file and summary.layout == "long" else (),
        blocks=(
            *_rate_tables(rates),
            *(() if calls is None else say_calls(calls)),
            *say_output(summary.output),
        ),
        notes=(
            *(() if calls is None else map(Verbatim, calls.steps_down)),
            *map(Verbatim, summary.notes),
            *((say("judging.untrusted", judge=judge, questions=untrusted),)
              if summary.untrusted else ()),
        ),
    )  # fmt: skip


def folder_view(summary: FolderSummary) -> View:
    """Say what a run over a folder answered, and how many files have their verdicts."""
    view = judging_view(summary.judged)
    n_now = summary.n_files - summary.n_files_there - len(summary.failed)
    files = say("judging.files", files=summary.n_files, n=n_now,
                there=summary.n_files_there, failed=len(summary.failed))  # fmt: skip
    if not summary.judged.n_items:  # nothing was judged now
        return replace(view, lead=(files,), blocks=(), notes=())
    return replace(view, lead=(files, *view.lead))


def _say_how(summary: JudgingSummary) -> Listing | Said:
    """Say which model was asked and how."""
    asked = summary.asked
    if asked is None:
        return say("judging.here")
    if "judges" in asked:
        names = (row["name"] for row in asked["judges"])
        return Listing(tuple(map(Name, (*names, asked["combine"]))))
    names = (asked[name] for name in ("name", "mode", "probability", "language"))
    return Listing(tuple(map(Name, names)))


def say_calls(calls: CallSummary) -> Iterator[Words]:
    """Say how many calls there were, what they cost, and what failed."""
    if calls.n_kept is not None:
        yield Words((say("calls.kept", items=calls.n_kept),))
    yield Words(
        (
            say("calls", calls=calls.n_calls, repeats=calls.n_retries,
                stored=calls.n_reused, tokens_in=calls.prompt_tokens, cached=calls.cached_tokens,
                tokens_out=calls.completion_tokens, cost=Dollars(calls.cost)),
        )
    )  # fmt: skip
    if failures := calls.failures:
        reasons = [say("results.dropped.reason", reason=x, n=n) for x, n in failures.items()]
        yield Words((say("calls.failed", reasons=reasons),))
        yield Words([Verbatim(calls.examples.get(kind, kind)) for kind in failures], "list")


def say_output(output: str | None, key: str = "output") -> tuple[Words, ...]:
    """Say where rows were written, where that is a file."""
    if output is None or output == "-":
        return ()
    return (Words((say(key, file=argument_of(output)),)),)


def list_missing(missing: Mapping[str, int]) -> tuple[Said, ...]:
    """Say why items have no reward, and what gives them one, where it is an option."""
    ways = {"no base reward": "base", "no behavior": "behavior", "no verdict": "verdict"}
    said = [
        say(f"missing.{ways.get(why, 'other')}", n=n, reason=Verbatim(why, width=120))
        for why, n in [*missing.items()][:5]
    ]
    return (*said, say("missing.more", n=len(missing) - 5)) if len(missing) > 5 else tuple(said)


def several_view(judged: SeveralJudged) -> View:
    """Say in a line each what several judges answered, and how to examine those that did."""
    files = [row.output for row in judged if not failure_lines(row)] or [x.output for x in judged]
    if len(files) == len(judged):
        files = [str(Path(files[0]).parent)]
    called: list[Any] = [row for row in judged if row.calls is not None]
    columns: list[Column] = [
        *("judge", "n_items", "calls.n_calls"),
        ("n_failures", lambda row: sum(row.calls.failures.values())),
        ("cost", lambda row: Dollars(row.calls.cost)),
        ("verdicts", lambda row: Name(row.output, 80)),
    ]
    notes = [
        say("items.said", who=row.judge, label=Verbatim(note))
        for row in called
        for note in (*row.calls.examples.values(), *row.calls.steps_down, *row.notes)
    ]
    options = " --judges ".join(argument_of(name).text for name in files)
    examine = f"voirdire examine --humans labels.csv --judges {options} --kind boolean"
    return View(
        name="verdicts",
        meta=say("judging.several", judges=[row.judge for row in judged]),
        todo=("verdicts.next", say("command", text=Argument(f"{examine} --report report.html"))),
        blocks=(Table.of(None, called, columns, label="verdicts.title"),),
        notes=tuple(notes),
    )


def batches_view(run: BatchRun) -> View:
    """Say what a run by batches waits for, and how to go on."""
    if run.judged is not None:
        return judging_view(run.judged)
    columns: list[Column] = [
        ("batches.file", lambda row: Name(row.file, 80)),
        *(("batches.requests", "n_requests"), ("batches.done", "n_done")),
        ("batches.status", "status"),
    ]
    if any(row.note for row in run.batches):
        columns.append(("reason", lambda row: Verbatim(row.note)))
    local = [row.file for row in run.batches if row.status == "local"]
    run_them = "vllm run-batch --model MODEL -i {0} -o {1}"
    commands = [
        run_them.format(
            argument_of(name).text, argument_of(name.replace("requests-", "outputs-")).text
        )
        for name in local
    ]
    said = [say("command", text=Argument(command)) for command in commands]
    return View(
        name="batches",
        meta=say("batches.meta", requests=run.n_waiting, cost=Dollars(run.cost)),
        todo=("batches.local", *said, "batches.again") if local else ("batches.again",),
        blocks=(Table.of(None, run.batches, columns),),
    )  # fmt: skip


def estimates_view(estimates: Sequence[RunEstimate]) -> View:
    """Say what runs would call and cost."""
    columns: list[Column] = [
        *("judge", "n_items", "n_calls", "n_stored", "prompt_tokens", "completion_tokens"),
        ("cost", lambda row: Dollars(row.cost)),
    ]
    kept = [
        say("estimates.kept", judge=row.judge, n=row.n_items - row.n_kept, of=row.n_items)
        for row in estimates
        if row.n_kept is not None
    ]
    return View(
        name="estimates",
        meta=say("estimates.meta"),
        lead=tuple(kept),
        blocks=(Table.of("estimates.caption", estimates, columns),) if estimates else (),
    )


# Stored replies -----------------------------------------------------------------------------------


def replies_view(listing: ReplyListing) -> View:
    """Show what came back of each call, and why it failed."""
    outcomes = ("reply", "unreadable", "unread")
    cards = [
        ItemCard(
            title=row.item[:16] if row.id is None else f"{row.id} ({row.item[:16]})",
            summary=(
                say("replies.call", judge=row.judge, call=row.call, n=row.attempt),
                f"replies.{row.outcome}" if row.outcome in outcomes else Name(row.outcome),
            ),
            texts=[ItemText(heading="replies.text", text=row.text or "–")]
            if row.text is not None
            else [],
            rows=[("column.reason", as_written(row.reason), None)] if row.reason else [],
            tags={"column.judge": shorten(row.judge, width=200), "replies.outcome": row.outcome},
        )
        for row in listing.replies
    ]
    n_more = listing.n_replies - len(cards)
    return View(
        name="replies",
        meta=Count(listing.n_replies, "replies"),
        lead=(say("replies.more", n=n_more),) if n_more else (),
        blocks=(Cards(cards),) if cards else (),
    )


# Rubrics ------------------------------------------------------------------------------------------


def rubrics_view(rubrics: Mapping[str, Rubric]) -> View:
    """List rubrics by their names or files."""
    columns: list[Column] = [
        ("name", itemgetter(0)),
        ("version", lambda row: (
            row[1].version if row[0] == row[1].name else f"{row[1].name} {row[1].version}"
        )),
        ("questions", lambda row: len(row[1].questions)),
        ("behaviors", lambda row: len(row[1].behaviors)),
        ("languages", lambda row: " ".join(row[1].languages)),
        ("hash", lambda row: row[1].content_hash.partition(":")[2][:12]),
    ]  # fmt: skip
    return View(
        name="rubrics",
        meta=Count(len(rubrics), "rubrics"),
        blocks=(Table.of(None, [*rubrics.items()], columns, label="rubrics.title"),),
    )


def check_view(check: RubricCheck) -> View:
    """Say what is wrong with the criteria of a file, the worst first."""
    criteria = check.n_criteria
    signs = check.signs
    notes: list[Any] = []
    if signs.n_avoiding:
        about = {"avoiding": signs.n_avoiding, "doing": signs.n_doing}
        avoiding = say("check.avoiding", n=signs.n_avoiding)
        notes.append(say("check.mixed", **about) if signs.n_doing else avoiding)
    answered = say("check.answered", n=check.n_answered, criteria=criteria)
    notes.append(answered if check.tags else "check.no_verdicts")
    if check.asked is None:
        notes.append("check.words_only")
    else:
        read = f"check.read{'.lacking' if check.n_unread else ''}"
        notes.append(say(read, judge=check.asked, n=Count(check.n_lists, "lists"),
                         unread=check.n_unread))  # fmt: skip
    if check.dropped:
        first = Verbatim(check.dropped[0].reason, width=200)
        notes.append(say("check.dropped", n=Count(check.n_dropped, "rows"), reason=first))
    blocks: list[Any] = []
    if check.findings:
        pair: list[Column] = [("other", lambda row: Verbatim(row.other or "–", width=300))]
        answers: list[Column] = ["n_answers", ("share", lambda row: Percent(row.share))]
        kinds: list[Column] = [
            ("finding", lambda row: say(f"check.{row[0]}")),
            ("n_found", itemgetter(1)),
            ("advice", lambda row: say(f"check.{row[0]}.advice")),
        ]
        columns: list[Column] = [
            ("finding", lambda row: say(f"check.{row.kind}")),
            ("points", lambda row: f"{row.points:g}"),
            ("criterion", lambda row: Verbatim(row.text, width=300)),
            *(pair if check.has_pairs else []),
            "n_prompts",
            *(answers if check.tags else []),
        ]
        order = dict.fromkeys(row.kind for row in check.findings)
        blocks.append(Table.of("check.kinds", [(x, check.counts[x]) for x in order], kinds))
        blocks.append(Table.of("check.findings", check.findings, columns))
    blocks += [_tag_table(check)] if check.tags else []
    blocks += [words for calls in check.calls for words in say_calls(calls)]
    return View(
        name="check",
        meta=say("check.meta", criteria=criteria, prompts=check.n_prompts, rows=check.n_rows),
        lead=(say("check.flagged", n=check.n_flagged, criteria=criteria, out=check.n_left_out),)
        if check.findings
        else ("check.clean",),
        todo=(say("check.kept", file=Argument(check.output)),) if check.output else (),
        blocks=tuple(blocks),
        notes=tuple(notes),
    )


def _tag_table(check: RubricCheck) -> Table:
    has = {name: any(is_defined(getattr(row, name)) for row in check.tags)
           for name in ("share_changed", "winning_rate")}  # fmt: skip
    changed: list[Column] = [("share_changed", lambda row: Percent(row.share_changed))]
    examined: list[Column] = [
        ("outcome", lambda row: say(f"chip.{row.finding}") if row.finding else "–"),
        "winning_rate",
        ("advantage_probability", "advantage"),
    ]
    columns: list[Column] = [
        ("score.tag", lambda row: say("score.all") if row is check.tags[0] else Name(row.tag, 60)),
        "n_answers",
        ("share_met", lambda row: Percent(row.share_met)),
        *(changed if has["share_changed"] else []),
        *(examined if has["winning_rate"] else []),
    ]
    return Table.of("check.tags", check.tags, columns)
