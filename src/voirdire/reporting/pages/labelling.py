"""What is said of a study while people label: the coordinator's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.pages.examination_findings import say_coded
from voirdire.reporting.pages.speech import Clauses, Count, Label, Listing, Verbatim, say
from voirdire.reporting.pages.view import Block, Part, Table, View, Words

if TYPE_CHECKING:
    from voirdire.studies import LabellingProgress, SplitClause, WatchedJudge

_MOST_LABELS, _MOST_NAMED = 6, 12


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
    is_done = all(
        row.because.code in ("watch_stop", "watch_hopeless", "watch_end") for row in watched
    )
    clauses = Table.of(
        "labelling.clauses",
        progress.clauses,
        [
            *(("in_common", _say_common), "question", "n_split"),
            (
                "labels",
                lambda row: Listing(
                    tuple(say("items.counted", label=Label(x), n=n) for x, n in row.labels.items()),
                    most=_MOST_LABELS,
                ),
            ),
            ("proposed", lambda row: Verbatim(row.sentence)),
        ],
    )
    split = Table.of(
        None,
        progress.split,
        [
            *(["item", "question"] if len({x.question for x in progress.split}) > 1 else ["item"]),
            ("response_start", lambda row: Verbatim(row.text, width=80)),
            ("labels_by_person", lambda row: _list_people("label", "label", row.labels, Label)),
            ("notes", lambda row: _list_people("note", "text", row.notes, Verbatim)),
        ],
        label="column.n_split",
    )
    title = say("labelling.split.title", n=Count(len(progress.split)))
    parts = [Part(name="labelling.split", title=title, blocks=(split,), is_open=True)]
    if not progress.split:
        parts = []
    said: list[Any] = [*map(_say_watched, watched)] or ["labelling.unwatched"]
    blocks: list[Block] = [Words(said, "list")] if len(said) > 1 else []
    blocks.append(people)
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


def _say_common(row: SplitClause) -> Any:
    if row.column == "note":
        return say("labelling.clause.note", value=Label(row.value))
    return say("labelling.clause.column", column=row.column, value=Label(row.value))


def _list_people(key: str, figure: str, said: dict[str, str], form: Any) -> Listing:
    rows = [say(f"labelling.split.{key}", name=name, **{figure: form(x)})
            for name, x in said.items()]  # fmt: skip
    return Listing(tuple(rows), most=_MOST_NAMED)
