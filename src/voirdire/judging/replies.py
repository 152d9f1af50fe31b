"""Lists and reads the stored replies of language models, with the prompts that were sent."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from heapq import nlargest
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._validation import check_count, shorten
from voirdire.errors import InputError, UnsupportedError, VerdictParseError
from voirdire.judging.asking import Ask
from voirdire.judging.bound import reply_fingerprint
from voirdire.judging.call_plan import find_asked_places, hash_item, limit_examples
from voirdire.judging.client import CallFailure, decode_attempt
from voirdire.judging.prompts import PromptBuilder
from voirdire.judging.reading import ReplyReader
from voirdire.judging.runs.outputs import STORE_NAME, open_replies
from voirdire.judging.settings import StoredReplies
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from voirdire.records import Item
    from voirdire.rubrics import Question, Rubric
    from voirdire.store import JudgeRecord, ReplyStore, StoredCall

__all__ = [
    "ItemReplies",
    "ReplyListing",
    "SentPrompt",
    "StoredAttempt",
    "StoredItem",
    "StoredJudge",
    "list_replies",
    "read_replies",
]

Outcome: TypeAlias = Literal["reply", "unreadable", "failure", "damaged"]
_NONCE = "0" * 16
_HASH_DIGITS = 64


@dataclass(frozen=True, kw_only=True)
class StoredJudge:
    """A judge, or a writer of completions, with replies in a store.

    Attributes
    ----------
    number : int
        Its number in the store.
    name : str
        Its name when it was first used.
    model, mode, probability, language : str or None
        Which model was asked, and how; None where the store does not say.
    is_read : bool
        Whether its replies can be read: the rubric and this release ask the same questions as it
        was asked. Else unreadable replies are not known, and none counts as failed.
    n_calls, n_failed : int
        Stored attempts, and how many of them have no readable reply.
    """

    number: int
    name: str
    model: str | None
    mode: str | None
    probability: str | None
    language: str | None
    is_read: bool
    n_calls: int = 0
    n_failed: int = 0


@dataclass(frozen=True, kw_only=True)
class StoredItem:
    """The stored attempts about one item by one judge, in brief.

    Attributes
    ----------
    item : str
        Hash of the conversation and the responses, 64 hexadecimal digits.
    id : str or None
        Its id, where the items were given and one of them has this hash.
    judge : int
        The judge's number.
    n_calls, n_failed : int
        Stored attempts, and how many of them have no readable reply.
    reason : str or None
        Why the last of those failed.
    """

    item: str
    id: str | None = None
    judge: int
    n_calls: int
    n_failed: int
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class ReplyListing:
    """The contents of a store, in brief.

    Attributes
    ----------
    judges : tuple of StoredJudge
        In the order in which they were first used.
    items : tuple of StoredItem
        Those with most failures first; at most `limit`.
    n_items : int
        How many there are.
    """

    judges: tuple[StoredJudge, ...]
    items: tuple[StoredItem, ...]
    n_items: int


@dataclass(frozen=True, kw_only=True)
class StoredAttempt:
    """One attempt at a call, and its outcome.

    Attributes
    ----------
    judge : int
        The judge's number.
    call : str
        Which of the item's calls it was, such as ``"joint"``.
    attempt : int
        From 0.
    outcome : {"reply", "unreadable", "failure", "damaged"}
        A reply; a reply in another form than was asked for; no reply; or a row that was damaged on
        the disk. Without the rubric that was asked, unreadable replies are not known.
    form : {"json_schema", "json_object", "text"} or None
        How the reply was asked for.
    text, finish_reason, model : str or None
        The whole reply; why it ended; and the model that the server names.
    prompt_tokens, completion_tokens : int or None
        Tokens that were charged, where the server reports them.
    reason : str or None
        Why it failed.
    status : int or None
        The HTTP status of a failure, where there was one.
    n_tries : int or None
        How often a call was made that failed.
    """

    judge: int
    call: str
    attempt: int
    outcome: Outcome
    form: str | None = None
    text: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reason: str | None = None
    status: int | None = None
    n_tries: int | None = None


@dataclass(frozen=True, kw_only=True)
class SentPrompt:
    """The prompt of one call, built again: a store does not keep prompts.

    Attributes
    ----------
    judge : int
        The judge's number.
    call : str
        The call's name.
    messages : tuple of mapping
        Each with its `role` and `content`; the random code of the fence is shown as zeros.
    schema : str
        JSON Schema of the reply; empty where none was sent.
    """

    judge: int
    call: str
    messages: tuple[dict[str, str], ...]
    schema: str


@dataclass(frozen=True, kw_only=True)
class ItemReplies:
    """Everything that a store holds about one item.

    Attributes
    ----------
    item : str
        Hash of the conversation and the responses, 64 hexadecimal digits.
    id : str or None
        Its id, where the items were given and one of them has this hash.
    judges : tuple of StoredJudge
        Those that were asked about it, with the counts of this listing.
    attempts : tuple of StoredAttempt
        By judge, by call, and in the order in which they were made.
    sent : tuple of SentPrompt
        One for each call whose prompt can be built again.
    unsent : str or None
        Why prompts are missing.
    """

    item: str
    id: str | None
    judges: tuple[StoredJudge, ...]
    attempts: tuple[StoredAttempt, ...]
    sent: tuple[SentPrompt, ...] = field(default=(), repr=False)
    unsent: str | None = None


def list_replies(
    store: ReplyStore | str | Path,
    *,
    rubric: Rubric | str | Path = "safety",
    items: Iterable[Item] = (),
    failed: bool = False,
    limit: int = 50,
) -> ReplyListing:
    """List the judges of a store, and the items about which calls failed.

    Parameters
    ----------
    store : ReplyStore, str or path
        Where replies are stored, as `voirdire.store.open_store` takes it; nothing is created or
        changed.
    rubric : Rubric, str or path, optional
        What was asked. Of judges that were asked something else, only calls without a reply count
        as failed.
    items : iterable of Item, optional
        Items whose ids are wanted beside their hashes.
    failed : bool, optional
        Whether only items with a failure are listed.
    limit : int, optional
        How many items to list, at least 1. Memory does not depend on how many there are.

    Returns
    -------
    ReplyListing

    Raises
    ------
    InputError
        If there is no such store, or an argument breaks its rule.
    """
    check_count("limit", limit, minimum=1)
    asked = load_rubric(rubric)
    judges: list[StoredJudge] = []
    n_items = 0

    def briefs(opened: ReplyStore) -> Iterator[StoredItem]:
        nonlocal n_items
        for record in opened.judges():
            judge = _StoredAsking(record, asked)
            n_calls = n_failed = 0
            for item, calls in groupby(opened.scan(record.id), key=attrgetter("item")):
                brief = _brief(item, [judge.attempt(call) for call in calls])
                n_calls, n_failed = n_calls + brief.n_calls, n_failed + brief.n_failed
                if brief.n_failed or not failed:
                    n_items += 1
                    yield brief
            judges.append(replace(judge.described, n_calls=n_calls, n_failed=n_failed))

    with _open_existing(store) as opened:
        listed = nlargest(limit, briefs(opened), key=attrgetter("n_failed", "n_calls"))
    ids = _ids_of(items, {row.item for row in listed})
    return ReplyListing(
        judges=tuple(judges),
        items=tuple(replace(row, id=ids.get(row.item)) for row in listed),
        n_items=n_items,
    )


def read_replies(
    store: ReplyStore | str | Path,
    item: str,
    *,
    rubric: Rubric | str | Path = "safety",
    items: Iterable[Item] | None = None,
    failed: bool = False,
) -> ItemReplies:
    """Read everything that a store holds about one item, and build the prompts again.

    Parameters
    ----------
    store : ReplyStore, str or path
        Where replies are stored, as `voirdire.store.open_store` takes it; nothing is created or
        changed.
    item : str
        The beginning of its hash, as `list_replies` gives it; or its id, where `items` are given.
    rubric : Rubric, str or path, optional
        What was asked.
    items : iterable of Item, optional
        The items that were judged. A store holds only their hashes; prompts are shown where the
        item is among them.
    failed : bool, optional
        Whether only attempts that are no readable reply are shown.

    Returns
    -------
    ItemReplies

    Raises
    ------
    InputError
        If there is no such store, if nothing is stored about the item, or if several hashes have
        this beginning.
    """
    asked = load_rubric(rubric)
    shown = None if items is None else _find(items, item)
    digits = item.lower() if shown is None else hash_item(shown).hex()
    first, last = _bounds(digits, is_id_possible=items is not None)
    with _open_existing(store) as opened:
        judges = [_StoredAsking(record, asked) for record in opened.judges()]
        attempts: list[StoredAttempt] = []
        found: dict[bytes, None] = {}
        for judge in judges:
            for call in opened.scan(judge.record.id, first=first, last=last):
                found[call.item] = None
                if len(found) > 1:
                    listed = " and ".join(each.hex()[: len(digits) + 8] for each in found)
                    msg = f"`item` must be the beginning of one hash, got {digits!r}, which begins "
                    raise InputError(f"{msg}{listed}. Write more digits.")
                attempts.append(judge.attempt(call))
    if not found:
        msg = f"`item` must be an item with a stored reply, got {shorten(item)!r}."
        raise InputError(f"{msg} List the items of the store without it.")
    attempts = [row for row in attempts if row.outcome != "reply" or not failed]
    counted = [_count_attempts(judge.described, attempts) for judge in judges]
    sent, unsent = _rebuild_prompts(judges, attempts, shown)
    return ItemReplies(
        item=next(iter(found)).hex(),
        id=None if shown is None else shown.id,
        judges=tuple(row for row in counted if row.n_calls),
        attempts=tuple(attempts),
        sent=sent,
        unsent=unsent,
    )


class _StoredAsking:
    """Settings of a judge in a store, as far as its description and the rubric say."""

    def __init__(self, record: JudgeRecord, rubric: Rubric) -> None:
        self.record = record
        self._rubric = rubric
        self._asking: dict[str, Any] = dict(record.description.get("asking") or {})
        self.ask = cache(self._ask)
        self._reader = cache(self._make_reader)

    @cached_property
    def described(self) -> StoredJudge:
        """Its description for people."""
        model = self._asking.get("model")
        return StoredJudge(
            number=self.record.id,
            name=str(self.record.description.get("name", "")),
            model=model.get("model") if isinstance(model, dict) else None,
            mode=self._asking.get("mode"),
            probability=self._asking.get("probability"),
            language=self._asking.get("language"),
            is_read=self._is_known,
        )

    @property
    def _questions(self) -> tuple[Question, ...]:
        n_examples = self._asking.get("n_examples")
        return tuple(limit_examples(row, n_examples) for row in self._rubric.questions)

    @cached_property
    def _is_known(self) -> bool:
        """Whether the rubric and this release ask the same questions as the stored calls."""
        return reply_fingerprint(self._asking, self._rubric) == self.record.fingerprint

    def _ask(self, call: str) -> Ask | None:
        """Build the `Ask` of a call again; None where the rubric asks something else."""
        if not self._is_known:
            return None
        places = find_asked_places(call, self._rubric)
        if places is None:
            return None
        return Ask(
            questions=tuple(self._questions[place] for place in places),
            probability=self._asking["probability"],
            mode=self._asking["mode"],
            language=self._asking["language"],
            swapped=call.endswith("/swapped"),
        )

    def _make_reader(self, call: str) -> ReplyReader | None:
        ask = self.ask(call)
        return None if ask is None else ReplyReader(ask)

    def attempt(self, call: StoredCall) -> StoredAttempt:
        """Return the outcome of a stored call."""
        row = StoredAttempt(
            judge=self.record.id, call=call.name, attempt=call.attempt, outcome="reply"
        )
        kept = decode_attempt(call.blob)
        if kept is None:
            return replace(row, outcome="damaged", reason="the row was damaged on the disk")
        if isinstance(kept, CallFailure):
            return replace(
                row,
                outcome="failure",
                form=kept.form,
                reason=kept.failure().reason,
                status=kept.status,
                n_tries=kept.n_tries,
            )
        wrong = None
        reader = self._reader(call.name)
        try:
            if reader is not None:
                reader.read(kept)
        except (VerdictParseError, UnsupportedError) as error:
            wrong = str(error)
        return replace(
            row,
            outcome="unreadable" if wrong else "reply",
            form=kept.form,
            text=kept.text,
            finish_reason=kept.finish_reason,
            model=kept.model,
            prompt_tokens=kept.usage.prompt_tokens if kept.usage else None,
            completion_tokens=kept.usage.completion_tokens if kept.usage else None,
            reason=wrong,
        )


def _rebuild_prompts(
    judges: Sequence[_StoredAsking], attempts: Sequence[StoredAttempt], item: Item | None
) -> tuple[tuple[SentPrompt, ...], str | None]:
    """Build the prompts of calls again, and say why some are missing."""
    if item is None:
        return (), "the store holds only hashes of items: name their file as `items`"
    prompts: list[SentPrompt] = []
    unsent = None
    by_number = {judge.record.id: judge for judge in judges}
    for (number, call), rows in groupby(attempts, key=attrgetter("judge", "call")):
        ask = by_number[number].ask(call)
        if ask is None:
            unsent = (
                f"judge {number} was asked another rubric than this `rubric`, or by another "
                "release: name the rubric that it was asked"
            )
            continue
        form = next((row.form for row in rows if row.form), "json_schema")
        request = PromptBuilder(ask).request(item, nonce=_NONCE, form=form)  # type: ignore[arg-type]
        messages = tuple({"role": row.role, "content": row.content} for row in request.messages)
        schema = request.schema.decode()
        prompts.append(SentPrompt(judge=number, call=call, messages=messages, schema=schema))
    return tuple(prompts), unsent


@contextmanager
def _open_existing(store: ReplyStore | str | Path) -> Iterator[ReplyStore]:
    """Open an existing store; never create one."""
    with open_replies(StoredReplies(store), makes=False) as replies:
        if replies.opened is None:
            msg = f"`store` must be a store of replies, got {str(store)!r}, which does not "
            raise InputError(f"{msg}exist. Name {STORE_NAME} beside the verdicts.")
        yield replies.opened


def _brief(item: bytes, attempts: Sequence[StoredAttempt]) -> StoredItem:
    failures = [row for row in attempts if row.outcome != "reply"]
    return StoredItem(
        item=item.hex(),
        judge=attempts[0].judge,
        n_calls=len(attempts),
        n_failed=len(failures),
        reason=failures[-1].reason if failures else None,
    )


def _count_attempts(judge: StoredJudge, attempts: Sequence[StoredAttempt]) -> StoredJudge:
    mine = [row for row in attempts if row.judge == judge.number]
    n_failed = sum(row.outcome != "reply" for row in mine)
    return replace(judge, n_calls=len(mine), n_failed=n_failed)


def _ids_of(items: Iterable[Item], hashes: set[str]) -> dict[str, str]:
    """Name the items with these hashes; the first of two with one hash."""
    found: dict[str, str] = {}
    for item in items:
        digits = hash_item(item).hex()
        if digits in hashes:
            found.setdefault(digits, item.id)
    return found


def _find(items: Iterable[Item], wanted: str) -> Item | None:
    """Find an item by its id, or else by the beginning of its hash."""
    begins = None
    for item in items:
        if item.id == wanted:
            return item
        if begins is None and hash_item(item).hex().startswith(wanted.lower()):
            begins = item
    return begins


def _bounds(digits: str, *, is_id_possible: bool) -> tuple[bytes, bytes]:
    """Return the first and the last hash with this beginning."""
    try:
        first, last = (bytes.fromhex(digits.ljust(_HASH_DIGITS, end)) for end in "0f")
    except ValueError:
        first = b""
    if not digits or len(first) != _HASH_DIGITS // 2:
        rule = "an id of `items`, or " if is_id_possible else ""
        msg = f"`item` must be {rule}the beginning of a hash, in hexadecimal digits, got "
        way_out = "List the items of the store" if is_id_possible else "Name `items` to use an id"
        raise InputError(f"{msg}{shorten(digits)!r}. {way_out}.")
    return first, last
