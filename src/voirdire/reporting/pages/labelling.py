"""What is said of a study while people label: the coordinator's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.pages.examination_findings import say_coded
from voirdire.reporting.pages.speech import Clauses, Count, Label, Listing, Verbatim, say
from voirdire.reporting.pages.view import Block, Part, Table, View, Words

if TYPE_CHECKING:
    from voirdire.studies import LabellingProgress, SplitClause, SplitItem, WatchedJudge

_MOST_LABELS, _MOST_NAMED = 6, 12
_MUCH = 1_000


def labelling_view(progress: LabellingProgress, *, is_served: bool = False) -> View:
    """Say who did what, whether one may stop, and what splits people; served with its links."""
    watched = progress.watched
    people = Table.of(
        "labelling.people",
        progress.people,
        [
            *("annotator", "n_done", "n_assigned"),
            ("minutes", lambda row: Count(round(row.minutes))),
            ("agreement_with_others", "agreement"),
            "own_repeats",
        ],
    )
    bets = Table.of(
        "labelling.bets",
        [row for row in watched if row.result is not None],
        [
            *("question", "judge"),
            ("n_judged", lambda row: Count(len(row.answers))),
            ("epsilon", "plan.epsilon"),
            ("combined_wealth", lambda row: _enough(row.result.combined_wealth)),
            ("constant_wealth", lambda row: _enough(row.result.constant_wealth)),
        ],
    )
    is_done = all(
        row.because.code in ("watch_stop", "watch_hopeless", "watch_end") for row in watched
    )
    clauses = Table.of(
        "labelling.clauses",
        progress.clauses,
        [
            *(("in_common", _say_common), "question", "n_split"),
            ("labels", lambda row: _count_labels(row.labels)),
            ("proposed", lambda row: Verbatim(row.sentence)),
        ],
    )
    split = Table.of(
        None,
        progress.split,
        [
            *(["item", "question"] if len({x.question for x in progress.split}) > 1 else ["item"]),
            ("response_start", lambda row: Verbatim(row.text, width=80)),
            ("labels_by_person", _say_labels),
            ("notes", _say_notes),
        ],
        label="column.n_split",
    )
    title = say("labelling.split.title", n=Count(len(progress.split)))
    parts = [Part(name="labelling.split", title=title, blocks=(split,), is_open=True)]
    if not progress.split:
        parts = []
    said: list[Any] = [*map(_say_watched, watched)] or ["labelling.unwatched"]
    blocks: list[Block] = [Words(said, "list")] if len(said) > 1 else []
    blocks += [people, bets] if bets.rows else [people]
    if progress.clauses:
        blocks += [clauses, Words(("labelling.clauses.note",), "note")]
    if is_served:
        links = ["labelling.link.labels", *(["labelling.link.stop"] if watched else [])]
        links += ["labelling.link.adjudicate"] if progress.split else []
        blocks.append(Words([*links, "labelling.link.again"], "list"))
    return View(
        name="labelling",
        meta=say("labelling.meta", closed=Count(progress.n_closed), items=progress.n_items),
        lead=tuple(said[:1]) if len(said) < 2 else (),
        todo=(f"labelling.do.{'stop' if is_done else 'more'}",) if watched else (),
        blocks=tuple(blocks),
        parts=tuple(parts),
        glossary=("epsilon",),
    )


def _say_watched(row: WatchedJudge) -> Any:
    reasons = [say_coded("reason", row.because)]
    if row.held is not None:
        reasons.append(say_coded("reason", row.held))
    return say(
        "labelling.watched",
        question=row.question,
        judge=row.judge,
        reason=Clauses(tuple(reasons), joint="sentence.space"),
    )


def _enough(wealth: float) -> Any:
    return say("labelling.much", n=Count(_MUCH)) if wealth > _MUCH else Count(round(wealth))


def _say_common(row: SplitClause) -> Any:
    if row.column == "note":
        return say("labelling.clause.note", value=Label(row.value))
    return say("labelling.clause.column", column=row.column, value=Label(row.value))


def _count_labels(counts: dict[str, int]) -> Listing:
    said = [say("items.counted", label=Label(label), n=n) for label, n in counts.items()]
    return Listing(tuple(said), most=_MOST_LABELS)


def _say_labels(row: SplitItem) -> Listing:
    said = [say("labelling.split.label", name=name, label=Label(label))
            for name, label in row.labels.items()]  # fmt: skip
    return Listing(tuple(said), most=_MOST_NAMED)


def _say_notes(row: SplitItem) -> Listing:
    said = [say("labelling.split.note", name=name, text=Verbatim(text))
            for name, text in row.notes.items()]  # fmt: skip
    return Listing(tuple(said), most=_MOST_NAMED)
