"""A study: its items, who labels them, what they answered, and the table that is examined."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Sequence  # noqa: TC003  # options read the annotation
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import list_names, shorten
from voirdire._types import EpsilonMode
from voirdire._validation import check_choice, check_count, check_fraction
from voirdire.annotation.assignment import BLOCK, Task, assign_people, draw_order, list_tasks
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import escape_cell
from voirdire.records import Dropped, Item
from voirdire.rubrics import rubric_from_text, rubric_to_yaml
from voirdire.store import Answer, Seat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import polars as pl

    from voirdire.io import LabelTable, Role
    from voirdire.rubrics import Question, Rubric
    from voirdire.store import AnnotationStore

COORDINATOR = -1
"""The seat of whoever runs the study; his answers are gold labels, and never a person's."""

CANNOT_TELL = "can't tell"
MOST_TEXT, MOST_NOTE = 20_000, 2_000
"""Characters of an answer of text, and of a note."""

_NOBODY = b"\0" * 32
_OF_FILES = "file-"
"""How the uuids of labels from files begin; a browser's do not."""


class TaskState(msgspec.Struct, gc=False):
    """What somebody has said about a task, by question."""

    answers: dict[str, Answer] = {}
    notes: dict[str, str] = {}
    is_flagged: bool = False


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """What is fixed when a study begins.

    Attributes
    ----------
    per_item : int or None
        How many people label each item; by default all.
    questions : sequence of str
        Ask these of the rubric only; by default all.
    epsilon : float
        The margin ε at which a judge is watched, in (0, 1).
    epsilon_mode : {"additive", "multiplicative"}
        How it is taken off.
    seed : int
        Of the order of items, and of who gets which; at least 0.

    Raises
    ------
    InputError
        If one of them breaks its rule.
    """

    per_item: int | None = None
    questions: Sequence[str] = ()
    epsilon: float = 0.2
    epsilon_mode: EpsilonMode = "additive"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.per_item is not None:
            check_count("per_item", self.per_item, minimum=1)
        check_count("seed", self.seed, minimum=0)
        check_choice("epsilon_mode", self.epsilon_mode, EpsilonMode)
        check_fraction("epsilon", self.epsilon)


def start_study(
    store: AnnotationStore,
    *,
    rubric: Rubric,
    items: Sequence[Item],
    annotators: Sequence[str],
    settings: StudySettings | None = None,
    guidelines: str = "",
) -> tuple[Study, dict[str, str]]:
    """Start a study, or go on with that of this rubric; further items and people join it.

    Parameters
    ----------
    store : AnnotationStore
        Where it is kept.
    rubric : Rubric
        What is asked. Another text of it is another study.
    items : sequence of Item
        What is labelled; with ``practice`` in its metadata, a mapping of questions to right
        answers, an item comes first and is only for practice.
    annotators : sequence of str
        Who labels.
    settings : StudySettings, optional
        How it is set up.
    guidelines : str, optional
        A page of text for the annotators; another one replaces it.

    Returns
    -------
    Study, dict of str to str
        The study, and the secret of each new link by name; the coordinator's under "".

    Raises
    ------
    InputError
        If there are no items or people, two names are equal, an item has another text than before,
        or the settings are not those that the study began with.
    """
    settings = settings or StudySettings()
    chosen = [rubric.question(name) for name in settings.questions] or rubric.questions
    questions = [row for row in rubric.questions if row in chosen]
    asked = [row.id for row in questions]
    settings = replace(settings, questions=asked)
    digest = hashlib.sha256(json.dumps([rubric.content_hash, asked]).encode()).hexdigest()
    key = f"{rubric.name}-{digest[:12]}"
    links: dict[str, str] = {}
    if key not in store.studies():
        if not items or not annotators:
            lack = "annotators" if items else "items"
            raise InputError(f"`{lack}` must be given when a study begins, got none.")
        if len({*annotators}) < len(annotators):
            raise InputError(f"`annotators` must differ, got {', '.join(annotators)}.")
        for name in annotators:
            _check_name(name)
        for label in (label for row in questions for label in row.labels or ()):
            _check_cell(label, "labels", "Reword it")
        _prepare_items(items, rubric, questions)
        document = {
            "rubric": rubric_to_yaml(rubric),
            "settings": settings,
            "guidelines": guidelines,
            "salt": secrets.token_hex(16),
            "n_planned": len(annotators),
            "items": [],
        }
        store.add_document(key, msgspec.json.encode(document))
        links[""] = secrets.token_urlsafe(16)
        seat = Seat(number=COORDINATOR, name="", role="coordinator", digest=_digest(links[""]))
        store.add_seat(key, seat)
    study = Study(store, key)
    for field in fields(StudySettings):
        old, new = (getattr(x, field.name) for x in (study.settings, settings))
        if old != new:
            msg = f"`{field.name}` must stay as it was when the study began, {old!r}, got {new!r}."
            raise InputError(f"{msg} Take that, or another store.")
    if guidelines not in ("", study.guidelines):
        changed = {"guidelines": guidelines, "items": []}
        store.add_document(key, msgspec.json.encode(changed))
    study.add_items(items)
    study.refresh()
    known = {seat.name for seat in study.seats if seat.role != "past"}
    return study, links | {x: study.add_person(x) for x in annotators if x not in known}


def open_study(store: AnnotationStore, name: str | None = None) -> Study:
    """Open a study of a store.

    Parameters
    ----------
    store : AnnotationStore
        Where it is kept.
    name : str, optional
        How its name begins; by default the study that was started last.

    Returns
    -------
    Study
        As it stands.

    Raises
    ------
    InputError
        If there is none.
    """
    names = [each for each in store.studies() if each.startswith(name or "")]
    if not names:
        msg = f"the store must hold a study{f' {shorten(name)!r}' if name else ''}, got none."
        raise InputError(f"{msg} Start one with `voirdire annotate`.")
    return Study(store, names[-1])


class Study:
    """A study as it stands in a store.

    Attributes
    ----------
    key : str
        Its name in the store.
    rubric, questions : Rubric, tuple of Question
        What is asked.
    items : dict of str to Item
        All of them, by id.
    asked : dict of str to dict of str to tuple of (Question, str)
        What is asked of each item: by key the question, and the criterion if it is one. Of an item
        whose behavior is known, the propositions that the behavior has demands on.
    practice : list of str
        Items for practice, which everybody gets first.
    order : list of str
        The common order of the others.
    people : list of tuple of int
        Who gets each place of the order, by number of seat.
    seats : list of Seat
        Everybody, by number; the first `n_planned` annotators were there when it began.
    settings, guidelines : StudySettings, str
        How it was set up.
    uuids : set of str
        Of everything that was done.
    states : dict of (int, str, int) to TaskState
        What each seat has said of each item, the first and the second time.
    closed : dict of str to dict of str to list
        The items that everybody has labelled who was to: by question what each person who was
        planned had then answered, by number of seat, as `watch_judge` takes it. What is taken
        back later changes nothing there.
    """

    def __init__(self, store: AnnotationStore, key: str) -> None:
        self._store = store
        self.key = key
        self.items: dict[str, Item] = {}
        self.asked: dict[str, dict[str, tuple[Question, str]]] = {}
        self.practice: list[str] = []
        self._batches: list[list[str]] = []
        self._n_documents = 0
        self.seats: list[Seat] = []
        self.uuids: set[str] = set()
        self.states: dict[tuple[int, str, int], TaskState] = {}
        self.closed: dict[str, dict[str, list[Any]]] = {}
        self._left: set[int] = set()
        self._split: dict[str, bool] = {}
        self._touched: set[tuple[int, str, str]] = set()
        first = store.documents(key)[0]
        self.rubric = rubric_from_text(first["rubric"], source=key)
        self.settings = StudySettings(**first["settings"])
        asked = self.settings.questions
        self.questions = tuple(row for row in self.rubric.questions if row.id in asked)
        self.guidelines, self.n_planned = "", int(first["n_planned"])
        self._salt = bytes.fromhex(first["salt"])
        self.refresh(store.answers(key))

    def _leave(self, number: int) -> None:
        self._left.add(number)
        for place, people in enumerate(self.people):
            if number in people:
                self._close(place)

    def refresh(self, rows: Iterable[Answer] = ()) -> None:
        """Read what was added to the study and who takes part now, and take further rows in."""
        seats = self._store.seats(self.key)
        documents = self._store.documents(self.key, after=self._n_documents)
        if seats != self.seats or documents:
            self.seats = seats
            for document in documents:
                self.guidelines = document.get("guidelines") or self.guidelines
                added = msgspec.convert(document["items"], list[Item])
                self.items |= {item.id: item for item in added}
                self.asked |= {
                    item.id: _list_questions(item, self.rubric, self.questions) for item in added
                }
                self.practice += [item.id for item in added if item.metadata.get("practice")]
                rest = {x.id: self.cluster_of(x) for x in added if not x.metadata.get("practice")}
                self._batches += [draw_order(rest, seed=self.settings.seed)] if rest else []
            self._n_documents += len(documents)
            self.order = [item for batch in self._batches for item in batch]
            about: Any = {"per_item": self.settings.per_item, "seed": self.settings.seed}
            self.people = assign_people(len(self.order), self.seats, **about)
            self._places = {item: place for place, item in enumerate(self.order)}
            self._tasks: dict[int, list[Task]] = {}
            self._keys: dict[int, dict[str, Task]] = {}
        leaving = sorted(
            (seat.left_at, seat.number)
            for seat in seats
            if seat.left_at is not None and seat.number not in self._left
        )
        for row in rows:
            while leaving and leaving[0][0] <= row.at:
                self._leave(leaving.pop(0)[1])
            self.apply(row)
        for _, number in leaving:
            self._leave(number)

    # Who ------------------------------------------------------------------------------------------

    def find_seat(self, secret: str) -> Seat | None:
        """Find whose link a secret is, in a time that says nothing of any."""
        shown = _digest(secret)
        same = [x for x in self.seats if hmac.compare_digest(shown, x.digest or _NOBODY)]
        return same[0] if same else None

    def seat_named(self, name: str) -> Seat:
        """Return somebody's seat; an `InputError` where there is none."""
        seats = {seat.name: seat for seat in self.seats}
        if name not in seats:
            names = ", ".join(filter(None, seats))
            raise InputError(f"`annotator` must be one of {names}, got {shorten(name)!r}.")
        return seats[name]

    def add_person(self, name: str) -> str:
        """Add an annotator, and return the secret of the link.

        Where everybody labels every item, so does whoever comes later; else those get items from
        the second block on after the last that somebody has begun. Labels of a file that have the
        name count as that person's.
        """
        _check_name(name)
        seats = {seat.name: seat for seat in self.seats}
        past = seats.get(name)
        if past is not None and past.role != "past":
            raise InputError(f"annotators must differ, got {name!r} twice. Use another name.")
        secret = secrets.token_urlsafe(16)
        n = 1 + max((seat.number for seat in self.seats), default=COORDINATOR)
        since = 0 if self.settings.per_item is None or n < self.n_planned else self._next_block()
        link: dict[str, Any] = {"digest": _digest(secret), "since": since}
        if past is None:
            self._store.add_seat(self.key, Seat(number=n, name=name, **link))
        else:
            self._store.change_seat(self.key, replace(past, role="annotator", **link))
        self.refresh()
        return secret

    def renew_link(self, name: str) -> str:
        """Make another link for somebody; the one before opens nothing any more.

        Where everybody labels every item, whoever had left gets all of them again; no item waits.
        """
        seat, secret = self.seat_named(name), secrets.token_urlsafe(16)
        if seat.role == "past":
            msg = f"`annotator` must take part, got {name!r}, of whom a file has labels."
            raise InputError(f"{msg} Add the person first, with `--add`.")
        if seat.left_at is not None and self.settings.per_item is not None:
            msg = f"`annotator` must not have left, got {name!r}, whose items went to the others."
            raise InputError(f"{msg} Let the person go on under another name, with `--add`.")
        self._store.change_seat(self.key, replace(seat, digest=_digest(secret), until=None))
        self.refresh()
        return secret

    def revoke(self, name: str) -> int:
        """Take somebody's link away; answers stay, and items further on go to the others.

        Return how many items nobody gets in place of this person.
        """
        seat = self.seat_named(name)
        if seat.left_at is None:  # who left before has no items further on
            seat = replace(seat, until=self._next_block(), left_at=time.time())
        self._store.change_seat(self.key, replace(seat, digest=None))
        self.refresh()
        own = [task for task in self.tasks(seat.number) if task.item in self._places]
        return sum(not task.turn and not self.is_done(seat.number, task) for task in own)

    def _next_block(self) -> int:
        begun = (self._places.get(item, -BLOCK) for _, item, _ in self.states)
        last = max(begun, default=-BLOCK)
        return (last // BLOCK + 2) * BLOCK

    # What -----------------------------------------------------------------------------------------

    def add_items(self, items: Sequence[Item]) -> int:
        """Add those items that are not there yet, at the end of the order, and count them."""
        added: list[Item] = []
        for item in _prepare_items(items, self.rubric, self.questions):
            known = self.items.get(item.id)
            if known is not None and known.content_hash() != item.content_hash():
                msg = f"item {shorten(item.id)!r} must have the text that people are labelling"
                raise InputError(f"{msg}, got another. Give it another id.")
            added += [] if known else [item]
        # the bets on a cluster are divided by the size of the largest: it stays as it was
        sizes = self._cluster_sizes(self.items[item] for item in self.order)
        largest = max(sizes.values(), default=math.inf)
        for cluster, n in self._cluster_sizes(added).items():
            if cluster in sizes or n > largest:
                msg = (
                    f"further clusters must be new and at most as large as those before, {largest}"
                )
                raise InputError(f"{msg}, got {shorten(cluster)!r} with {n}. Begin a new study.")
        if added:
            self._store.add_document(self.key, msgspec.json.encode({"items": added}))
            self.refresh()
        return len(added)

    def _cluster_sizes(self, items: Iterable[Item]) -> Counter[str]:
        """Count what is bet on together: items of a cluster, or criteria of a prompt."""
        sizes: Counter[str] = Counter()
        for item in items:
            n = len(item.criteria) if self.rubric.of_item else 1
            sizes[self.cluster_of(item) or f"\0{item.id}"] += n
        return sizes

    def cluster_of(self, item: Item) -> str | None:
        """Return what an item depends on; criteria of one prompt depend on each other."""
        return item.cluster or (item.group or item.id if self.rubric.of_item else None)

    def tasks(self, seat: int) -> list[Task]:
        """List what a seat is shown: practice first; the coordinator what splits people."""
        if seat == COORDINATOR:
            return [Task(item=item) for item in self.order if self._is_split(item)]
        if seat not in self._tasks:
            own = list_tasks(self._batches, self.people, seat=seat, seed=self.settings.seed)
            self._tasks[seat] = [*(Task(item=item) for item in self.practice), *own]
        return self._tasks[seat]

    def key_of(self, seat: int, task: Task) -> str:
        """Name a task for the browser of a seat; the name tells nothing."""
        told = f"{seat}\0{task.item}\0{task.turn}".encode("utf-8", "replace")
        return hmac.digest(self._salt, told, "sha256").hex()[:20]

    def task_keys(self, seat: int) -> dict[str, Task]:
        """Return the tasks that a seat may answer by their names; the coordinator every item."""
        if seat not in self._keys:
            own = [Task(item=item) for item in self.order]
            tasks = own if seat == COORDINATOR else self.tasks(seat)
            self._keys[seat] = {self.key_of(seat, task): task for task in tasks}
        return self._keys[seat]

    def _is_split(self, item: str) -> bool:
        """Whether people gave different labels to a question about an item."""
        if item not in self._split:
            people = (seat.number for seat in self.seats if seat.number != COORDINATOR)
            states = [self.states.get((number, item, 0), TaskState()) for number in people]
            rows = [row for state in states for row in state.answers.values()]
            said = {(x.question, write_label(x.value)) for x in rows if x.value is not None}
            self._split[item] = len({question for question, _ in said}) < len(said)
        return self._split[item]

    # Answers --------------------------------------------------------------------------------------

    def apply(self, row: Answer) -> None:
        """Take a stored row into account; one whose uuid is known changes nothing."""
        if row.uuid in self.uuids:
            return
        self.uuids.add(row.uuid)
        self._split.pop(row.item, None)
        state = self.states.setdefault((row.seat, row.item, row.turn), TaskState())
        if row.action == "answer":
            state.answers[row.question] = row
            if row.item in self._places:
                self._close(self._places[row.item])
        elif row.action == "undo":
            state.answers.pop(row.question, None)
        elif row.action == "note":
            state.notes[row.question] = row.value
        else:
            state.is_flagged = row.value
        if row.action in ("answer", "undo") and not row.uuid.startswith(_OF_FILES):
            self._touched.add((row.seat, row.item, row.question))

    def is_done(self, seat: int, task: Task) -> bool:
        """Whether somebody has answered all that is asked of a task."""
        state = self.states.get((seat, task.item, task.turn))
        return state is not None and self.asked[task.item].keys() <= state.answers.keys()

    def _close(self, place: int) -> None:
        """Close an item of the order once everybody who is to label it has done so, or has left.

        Where everybody labels every item, whoever came later is not waited for.
        """
        task, people = Task(item=self.order[place]), self.people[place]
        if self.settings.per_item is None:
            people = tuple(number for number in people if number < self.n_planned)
        if task.item not in self.closed and all(
            number in self._left or self.is_done(number, task) for number in people
        ):
            states = [
                self.states.get((number, task.item, 0), TaskState()).answers
                for number in range(self.n_planned)
            ]
            self.closed[task.item] = {
                key: [_as_label(question, answers.get(key)) for answers in states]
                for key, (question, _) in self.asked[task.item].items()
            }

    def closed_prefix(self) -> list[str]:
        """Return the items of the order before the first that is not closed."""
        return list(takewhile(self.closed.__contains__, self.order))

    def read_tables(self, file: str | Path, *, role: Role) -> list[tuple[Question, LabelTable]]:
        """Read the labels of a file for each question it holds; one of none at all is refused.

        Of several questions a table says which in `question`, or has a column named after each.
        """
        from voirdire.io import Reading, read_labels
        from voirdire.io.label_reading import columns_of

        asked, columns = self.questions, columns_of(file, Reading())
        if len(asked) > 1 and columns and "question" not in columns:
            asked = tuple(row for row in asked if row.id in columns)
            if not asked:
                names = [row.id for row in self.questions]
                msg = f"{file}: labels must say which of the questions {list_names(names)} they"
                way = f"Add it, or rename `label` to `{names[0]}`."
                raise InputError(f"{msg} answer, got no column `question`. {way}")
        tables: list[tuple[Question, LabelTable]] = []
        lacking: NoDataError | None = None
        for question in asked:
            about: dict[str, Any] = {"kind": question.kind, "question": question.id}
            if question.labels and question.kind != "pairwise":
                about["labels"] = list(question.labels)
            try:
                tables.append((question, read_labels(file, role=role, **about)))
            except NoDataError as error:  # it may hold another question
                lacking = error
        if lacking is not None and not tables:
            raise lacking
        return tables

    def take_labels(self, files: Iterable[str | Path]) -> tuple[int, list[Dropped]]:
        """Take labels that exist in; return how many are new or changed, and what was set aside.

        A name without a seat gets one, without items. An item that somebody has labelled already is
        not asked of that person again. Of two files the later counts. What somebody answered or
        took back on the page stands.
        """
        names = {self.name_of(item, key): (item.id, key) for item in self.items.values()
                 for key in self.asked[item.id]}  # fmt: skip
        seats = {seat.name: seat.number for seat in self.seats}
        labels: dict[tuple[str, str, str], Any] = {}
        dropped: list[Dropped] = []
        for file in files:
            for question, table in self.read_tables(file, role="annotator"):
                dropped += table.dropped
                columns = table.frame.select("item", "rater", "label", "seen_judge")
                for name, rater, label, seen in columns.iter_rows():
                    item, key = names.get((question.id, name), ("", ""))
                    if not item or seen is not None:
                        rule = "labels must be of items of the study, by people who saw no judge"
                        msg = f"{file}: {rule}, got one of {shorten(name)!r}. Leave it out."
                        raise InputError(msg)
                    if rater not in seats:
                        seats[rater] = 1 + max(self.n_planned - 1, *seats.values())
                        past = Seat(number=seats[rater], name=rater, role="past")
                        self._store.add_seat(self.key, past)
                    value = label == "true" if question.kind == "boolean" else label
                    labels[rater, item, key] = value
        rows = []
        for (rater, item, key), value in labels.items():
            seat = seats[rater]
            own = self.states.get((seat, item, 0), TaskState()).answers.get(key)
            if own is not None and own.value == value:
                continue
            if (seat, item, key) in self._touched:
                reason = "it was answered on the page, which stands"
                dropped.append(Dropped(reason=reason, source="labels", item=item, rater=rater))
                continue
            name = f"{_OF_FILES}{uuid.uuid4()}"
            rows.append(Answer(uuid=name, seat=seat, item=item, question=key, value=value))
        self._store.insert([(self.key, row) for row in rows])
        self.refresh(rows)
        return len(rows), dropped

    # The table that is examined -------------------------------------------------------------------

    def name_of(self, item: Item, key: str) -> tuple[str, str]:
        """Name a question and an item as verdicts name them: a criterion is an item of its own."""
        if self.rubric.of_item:
            return self.questions[0].id, f"{item.id}:{key}"
        return key, item.id

    def names(self, *, codes: bool = False) -> dict[int, str]:
        """Return what each seat is called in tables: its name, or a code."""
        people = [seat for seat in self.seats if seat.number != COORDINATOR]
        return {seat.number: f"P{seat.number + 1}" if codes else seat.name for seat in people}

    def labels(self, *, codes: bool = False) -> pl.DataFrame:
        """Return everybody's labels as a long table for `examine`, without practice and repeats.

        With `codes` names are replaced, and notes, in which people name people, left out.
        """
        return self._export(self.names(codes=codes), notes=not codes)

    def gold(self) -> pl.DataFrame:
        """Return the coordinator's labels, for `examine --gold`."""
        return self._export({COORDINATOR: "gold"}, notes=True)

    def _export(self, names: Mapping[int, str], *, notes: bool) -> pl.DataFrame:
        import polars as pl

        texts = [row.id for row in self.questions if row.kind == "text"]
        frame = self.answers(names).filter(
            pl.col("turn") == 0, pl.col("label").is_not_null() | ~pl.col("question").is_in(texts)
        )
        columns = ["item", "annotator", "question", "label", "cluster", "seconds", "flag", "note"]
        frame = frame.select(columns).with_columns(pl.col("label").fill_null(CANNOT_TELL))
        empty = [name for name in ("cluster", "note") if frame[name].null_count() == len(frame)]
        return frame.drop({*empty} if notes else {*empty, "note"})

    def answers(self, names: Mapping[int, str]) -> pl.DataFrame:
        """Return which answers of some seats stand, in the order of items, without practice.

        Columns `item`, `annotator`, `question`, `label` (null is "can't tell"), `cluster`,
        `seconds`, `flag`, `note`, and of each row its `place`, `seat`, `turn` and `at`. Answers may
        come while it is made.
        """
        import polars as pl

        texts = ("item", "annotator", "question", "label", "cluster", "note")
        schema: dict[str, Any] = dict.fromkeys(texts, pl.String) | {"flag": pl.Boolean}
        schema |= dict.fromkeys(("seconds", "at"), pl.Float64)
        schema |= dict.fromkeys(("place", "seat", "turn"), pl.Int64)
        rows = []
        for (seat, item_id, turn), state in list(self.states.items()):
            if seat not in names or item_id not in self._places:
                continue
            item = self.items[item_id]
            for key, row in list(state.answers.items()):
                question, shown = self.name_of(item, key)
                label = None if row.value is None else write_label(row.value)
                note = state.notes.get(key) or None
                told = (shown, names[seat], question, label, self.cluster_of(item), note)
                place = (self._places[item_id], seat, turn)
                rows.append((*told, state.is_flagged, row.seconds, row.at, *place))
        columns = dict(zip(schema, zip(*rows, strict=True), strict=bool(rows)))
        return pl.DataFrame(columns, schema=schema).sort("place", "seat", "turn", "question")


def _check_name(name: str) -> None:
    is_short = 0 < len(name) <= 100 and name == name.strip() and name.isprintable()
    if not is_short or escape_cell(name) != name:
        msg = f"an annotator's name must be a short text and no formula, got {shorten(name)!r}."
        raise InputError(msg)


def _check_cell(text: str, what: str, way: str) -> None:
    if escape_cell(text) != text:
        msg = f"{what} must not begin like a formula, got {shorten(text)!r}. {way}"
        raise InputError(f"{msg}: a table of labels would not hold this one as it is.")


def _list_questions(
    item: Item, rubric: Rubric, questions: Sequence[Question]
) -> dict[str, tuple[Question, str]]:
    if rubric.of_item:
        return {each.key: (questions[0], each.text) for each in item.criteria}
    named = next((row for row in rubric.behaviors if row.id == item.behavior), None)
    return {
        row.id: (row, "")
        for row in questions
        if named is None or row.kind != "boolean" or row.id in named.demands
    }


def _prepare_items(
    items: Iterable[Item], rubric: Rubric, questions: Sequence[Question]
) -> list[Item]:
    """Check items, and read the right answers of practice, which a table holds as JSON."""
    prepared = []
    for item in items:
        name, right = shorten(item.id), item.metadata.get("practice")
        if rubric.of_item and not item.criteria:
            msg = f"items must bring criteria for rubric {rubric.name!r}, got {name!r} without any."
            raise InputError(f"{msg} Give it `criteria`.")
        _check_cell(item.id, "ids of items", "Give it another")
        with suppress(ValueError, RecursionError):
            right = json.loads(right) if isinstance(right, str) else right
        asked = _list_questions(item, rubric, questions)
        if right and not (
            isinstance(right, dict)
            and all(key in asked and check_value(asked[key][0], x) for key, x in right.items())
        ):
            msg = f"`practice` must hold right answers by question, got {shorten(str(right))!r} of"
            way = f'Write such as {{"{next(iter(asked), "question")}": ...}}, or nothing.'
            raise InputError(f"{msg} item {name!r}. {way}")
        if "practice" in item.metadata:
            about = {**item.metadata, "practice": right or None}
            item = msgspec.structs.replace(item, metadata=about)  # noqa: PLW2901
        prepared.append(item)
    return prepared


def _as_label(question: Question, row: Answer | None) -> Any:
    if row is None or row.value is None:
        return None
    form: Any = {"multilabel": frozenset, "scale": float}.get(question.kind)
    return form(row.value) if form else row.value


def write_label(value: Any) -> str:
    """Write a label as tables hold it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check_value(question: Question, value: Any) -> bool:
    """Whether an answer is one that a question takes; None, "can't tell", always is."""
    match question.kind:
        case _ if value is None:
            return True
        case "boolean":
            return isinstance(value, bool)
        case "choice" | "pairwise":
            return value in (*question.labels,) if isinstance(value, str) else False
        case "multilabel":
            is_list = isinstance(value, list) and all(isinstance(x, str) for x in value)
            return is_list and len({*value}) == len(value) and {*value} <= {*question.labels}
        case "scale":
            low, high = question.minimum, question.maximum
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and low is not None and high is not None and low <= value <= high
        case _:
            return isinstance(value, str) and bool(value.strip()) and len(value) <= MOST_TEXT


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
