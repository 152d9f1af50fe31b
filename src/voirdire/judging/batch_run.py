"""Judges a file through a server's batch endpoint: within a day, at half the price.

The folder of a run holds files of requests, what is known of their batches, and results. Each
start of the same command goes on from there: it looks after the batches, stores the replies that
came, asks again for what is missing, and in the end runs the ordinary judge over the store.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.documents import write_whole
from voirdire.errors import (
    AccessError,
    CostLimitReachedError,
    InputError,
    ModelCallError,
    ModelTimeoutError,
    RateLimitError,
    ServerError,
)
from voirdire.io.parts import make_folder
from voirdire.judging.background_loop import BackgroundLoop
from voirdire.judging.binding import BoundCascade, BoundJudge, check_behavior, plan_judging
from voirdire.judging.call_plan import hash_item
from voirdire.judging.calls import CallFailure, decode_attempt, encode_attempt, read_stored
from voirdire.judging.file_run import judge_source
from voirdire.judging.items import ItemSource
from voirdire.judging.outputs import SetAside, open_replies
from voirdire.judging.prompts import new_nonce
from voirdire.judging.run import judge_batches, split_into_batches
from voirdire.judging.settings import JudgingSettings
from voirdire.judging.summary import JudgingSummary, RunRecord
from voirdire.models import OpenAICompatibleModel
from voirdire.models.batches import ENDED, BatchEndpoint, NoBatchesError
from voirdire.models.connection import HttpAnswer
from voirdire.records import Reply
from voirdire.records.tables import Tabular
from voirdire.store import StoredCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.judging.calls import Call
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.summary import JudgingProgress
    from voirdire.models import ChatRequest
    from voirdire.models.batches import Batch
    from voirdire.models.connection import HttpConnection
    from voirdire.records import Item
    from voirdire.rubrics import Rubric
    from voirdire.store import ReplyStore

_PILOT_ITEMS = 20
_MOST_REQUESTS, _MOST_BYTES = 50_000, 200 * 10**6
"""Of one file, as OpenAI's endpoint takes."""

_LATE = ("batch_expired", "batch_cancelled")
_RESULTS = ("outputs", "errors")
_HALF_PRICE = 0.5
_AGAIN = (AccessError, RateLimitError, ModelTimeoutError, ServerError)
"""Errors of single requests that another try may not meet."""


@dataclass(frozen=True, kw_only=True)
class BatchFile:
    """A file of requests, and what is known of it: this is kept beside it as JSON.

    Attributes
    ----------
    file : str
        Its path.
    fingerprint : str
        Hash of everything that its replies depend on besides the items.
    n_requests, n_done : int
        Requests, and those of them with a result, as far as the server has said.
    cost : float or None
        US dollars that they cost, about; None where the price is not known.
    paid : float
        US dollars for the calls that were made at once before it.
    batch : str or None
        What the server calls it.
    status : str
        What the server says, such as ``"in_progress"`` or ``"completed"``; ``"local"`` where it has
        no batches: the results are expected in the folder; ``"taken"`` once replies are stored.
    note : str
        What the server says is wrong with it.
    """

    file: str
    fingerprint: str
    n_requests: int
    cost: float | None
    paid: float = 0.0
    batch: str | None = None
    status: str = "local"
    n_done: int = 0
    note: str = ""

    @property
    def path(self) -> Path:
        """Its path."""
        return Path(self.file)

    def result(self, kind: str) -> Path:
        """Where its ``"outputs"`` or ``"errors"`` are, once they are there."""
        return self.path.with_name(self.path.name.replace("requests", kind))

    @property
    def results(self) -> list[Path]:
        """The files of results that are there."""
        return [path for kind in _RESULTS if (path := self.result(kind)).exists()]

    @property
    def is_awaited(self) -> bool:
        """Whether results are to come."""
        is_local = self.batch is None and not self.results
        return self.status not in (*ENDED, "taken") and (self.batch is not None or is_local)

    def keep(self, batch: Batch | None = None, **changes: Any) -> BatchFile:
        """Write down what is known now, also what the server says of its batch; return it."""
        if batch is not None:
            changes |= {"batch": batch.id, "status": batch.status}
            changes |= {"n_done": batch.n_done, "note": batch.complaint}
        known = replace(self, **changes)
        write_whole(self.path.with_suffix(".json"), msgspec.json.encode(known))
        return known


@dataclass(frozen=True, kw_only=True)
class BatchRun(Tabular, rows="batches"):
    """How far a run by batches is.

    Attributes
    ----------
    batches : tuple of BatchFile
        All its files of requests.
    n_waiting : int
        Requests of the files that the run waits for: their results come together.
    cost : float or None
        US dollars that those cost, about; None where the price is not known.
    judged : JudgingSummary or None
        The run of the judge over the replies, at the end.
    """

    batches: tuple[BatchFile, ...]
    n_waiting: int
    cost: float | None
    judged: JudgingSummary | None = None


def judge_by_batches(
    source: str | Path,
    output: str | Path,
    *,
    folder: str | Path,
    judge: JudgeLike,
    rubric: Rubric | str | Path = "safety",
    live: bool = False,
    cancel: bool = False,
    settings: JudgingSettings | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
    **changed: Any,
) -> BatchRun:
    """Go on with judging a file through a server's batch endpoint.

    The first call asks about 20 items at once, to learn what the server takes and what it costs,
    writes the other requests into the folder, and submits them. Later calls look after them. Once
    all replies are there, the verdicts are written.

    Parameters
    ----------
    source, output
        As for `judge_file`.
    folder : str or path
        Where requests and results are kept; of one judge.
    judge : LlmJudge, str or path
        A model behind OpenAI's chat completions.
    rubric
        As for `judge_file`.
    live : bool, optional
        Ask now for what the batches did not answer.
    cancel : bool, optional
        Cancel the batches that are under way, and take what is done.
    settings, progress
        As for `judge_file`.
    **changed
        Fields of `JudgingSettings`, each of which counts before that of `settings`.

    Returns
    -------
    BatchRun
        What is waited for; with the summary of the judge once its file is written.

    Raises
    ------
    InputError
        If the judge cannot be asked by batches; if the folder is of another judge.
    CostLimitReachedError
        If the requests would cost more than what is left of `max_cost`; before they are sent.
    ModelCallError
        If the server refuses a batch.

    Notes
    -----
    *Order*: as for `judge_file`. *Errors*: a request that failed for good is a failure; one that
    expired, or met a limit, is asked for again. *Cancellation*: wherever it is stopped, nothing is
    submitted twice: a batch carries a hash of its file. *Memory*: 100 bytes a request. *Retries and
    caching*: replies go to the store, and those of earlier runs are not asked for.
    """
    told = change_fields(settings or JudgingSettings(), changed)
    plan = plan_judging(judge, rubric, threshold=told.threshold, judged=told.judged)
    check_behavior(told.behavior, plan.rubric)
    bound, model = _check_judge(plan.judge)
    items = ItemSource(source=source, layout=told)
    place = make_folder(folder, name="batch")
    with ExitStack() as stack:
        replies = stack.enter_context(open_replies(told.replies, output=output))
        if replies.opened is None:
            msg = "`store` must be one where replies come by batches. Leave `store=False` out."
            raise InputError(msg)
        stack.enter_context(replies.opened.lock(f"batches {place.resolve()}"))
        loop = stack.enter_context(BackgroundLoop())
        run = _Run(bound, model, replies.opened, folder=place, retries=told.retry_failures)
        stack.callback(loop.run, model.close())

        def stream() -> Iterator[Item]:
            return islice(items.stream(plan, SetAside()), told.limit)

        loop.run(run.look_after(cancel=cancel))
        if run.is_waiting():
            return run.summary()
        loop.run(run.take(stream))
        paid = 0.0
        if not live and not cancel:
            first = list(islice((item for item, _ in run.missing(stream)), _PILOT_ITEMS))
            if first:
                record = RunRecord(plan, progress)
                for _ in judge_batches(first, plan, record, replies=replies):
                    pass
                paid = 0.0 if record.calls is None else record.calls.cost or 0.0
                paid = loop.run(run.write(stream, paid=paid))
                loop.run(run.submit())
                if run.is_waiting():
                    return run.summary()
        if cancel:
            return run.summary()
        judged = judge_source(
            items, output, plan, told, layout=told.layout, limit=told.limit, progress=progress
        )
        return run.summary(judged, paid=paid)


def _check_judge(judge: Any) -> tuple[BoundJudge, OpenAICompatibleModel]:
    """Refuse what no batch endpoint does."""
    model = judge.judge.chat_model if isinstance(judge, BoundJudge) else None
    what = ""
    if isinstance(judge, BoundCascade) or not isinstance(model, OpenAICompatibleModel):
        what = f"a model behind OpenAI's chat completions, got {shorten(judge.name)!r}"
    elif judge.judge.probability == "vote":
        what = "asked for log-probabilities or stated numbers, got votes"
    elif model.capabilities.images:
        what = "asked about text alone, got one that sees images"
    if what or not isinstance(model, OpenAICompatibleModel):
        msg = f"`judge` must be {what}: batches do nothing else. Judge without `--batch`."
        raise InputError(msg)
    return judge, model


class _AskedError(Exception):
    """The model wants to send this request; the argument is its body."""


class _Recorded:
    """A way to the server that answers from files of results, or says what would be sent."""

    def __init__(self, connection: HttpConnection) -> None:
        self.keys, self.variable = connection.keys, connection.variable
        self.answer: HttpAnswer | None = None

    async def send(self, body: bytes | None) -> HttpAnswer:
        answer, self.answer = self.answer, None
        if answer is None:
            raise _AskedError(body)
        return answer

    async def close(self) -> None:
        pass


class _Response(msgspec.Struct):
    status_code: Annotated[int, msgspec.Meta(ge=100, le=999)] = 200
    body: msgspec.Raw = msgspec.Raw(b"{}")


class _Result(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_read_result = msgspec.json.Decoder(_Result).decode


class _Run:
    """The calls of a run, and the files in its folder."""

    def __init__(
        self,
        bound: BoundJudge,
        model: OpenAICompatibleModel,
        store: ReplyStore,
        *,
        folder: Path,
        retries: bool,
    ) -> None:
        self._bound, self._model, self._store = bound, model, store
        self._folder, self._retries = folder, retries
        self._fingerprint = bound.reply_fingerprint
        self._judge_id = store.judge_id(self._fingerprint, description=bound.described)
        self._endpoint = BatchEndpoint(model.connection, name=model.name)
        self._form = model.capabilities.forms[0]
        self._files = [self._read(path) for path in sorted(folder.glob("requests-*.jsonl"))]

    def _read(self, path: Path) -> BatchFile:
        state = path.with_suffix(".json")
        try:
            found = msgspec.json.decode(state.read_bytes(), type=BatchFile)
        except (OSError, msgspec.DecodeError) as error:
            msg = (
                f"{state}: must say what is known of {path.name}, and cannot be read. Name another"
            )
            raise InputError(f"{msg} folder: a batch of it may be under way.") from error
        if found.fingerprint != self._fingerprint:
            msg = f"`batch` must be a folder of this judge, got {str(self._folder)!r} with requests"
            raise InputError(f"{msg} of another. Name another folder.")
        return replace(found, file=str(path))  # the folder may have been moved

    def summary(self, judged: JudgingSummary | None = None, *, paid: float = 0.0) -> BatchRun:
        """Say how far it is; the judge found replies that the batches and the pilots `paid`."""
        if judged is not None and judged.calls is not None:
            spent = [judged.calls.cost, paid]
            spent += [x for file in self._files for x in (file.cost, file.paid)]
            whole = None if None in spent else sum(filter(None, spent))
            judged = replace(judged, calls=replace(judged.calls, cost=whole))
        awaited = [file for file in self._files if file.is_awaited]
        costs = [file.cost for file in awaited]
        return BatchRun(
            batches=tuple(self._files),
            n_waiting=sum(file.n_requests for file in awaited),
            cost=None if None in costs else sum(filter(None, costs)),
            judged=judged,
        )

    def is_waiting(self) -> bool:
        """Whether results are to come; all may be done, and their file not be there yet."""
        return any(file.is_awaited for file in self._files)

    # The server's side ---------------------------------------------------------------------------

    async def submit(self) -> None:
        """Submit the files that are not; where there is no such route they stay local."""
        for place, file in enumerate(self._files):
            if file.is_awaited and file.batch is None:
                try:
                    self._files[place] = file.keep(await self._endpoint.submit(file.path))
                except NoBatchesError:
                    return

    async def look_after(self, *, cancel: bool) -> None:
        """Ask how far the batches are, and get the results of those that ended."""
        await self.submit()  # those of a run that was killed before
        for place, file in enumerate(self._files):
            if not file.is_awaited or file.batch is None:
                continue
            try:
                batch = await self._update(file, file.batch, cancel=cancel)
            except NoBatchesError:
                msg = f"{file.path}: the server knows its batch {shorten(file.batch)} no more. Ask "
                msg += "the server that it was sent to, or name another folder to ask anew."
                raise ServerError(msg) from None
            self._files[place] = file.keep(batch)
            if batch.status == "failed" and not file.results:
                file.path.unlink()
                file.path.with_suffix(".json").unlink()
                why = batch.complaint or "no reason"
                msg = f"{file.path}: the server refused the batch: {why}. Its file is removed;"
                raise ServerError(f"{msg} mend what it says, and run again.")

    async def _update(self, file: BatchFile, name: str, *, cancel: bool) -> Batch:
        """Ask how far a batch is, and get its results once it ended."""
        batch = await self._endpoint.get(name)
        if cancel and batch.status not in (*ENDED, "cancelling"):
            batch = await self._endpoint.cancel(name)
        if batch.status in ENDED:
            ids = (batch.output_file_id, batch.error_file_id)
            for kind, file_id in zip(_RESULTS, ids, strict=True):
                if file_id and not file.result(kind).exists():
                    await self._endpoint.download(file_id, file.result(kind))
        return batch

    # The calls -----------------------------------------------------------------------------------

    def _calls(self, stream: Callable[[], Iterator[Item]]) -> Iterator[tuple[Item, Call[Any], Any]]:
        """List the calls that have no outcome, with their stored attempts."""
        most = self._bound.judge.max_attempts
        for batch in split_into_batches(stream()):
            keys = [hash_item(item) for item in batch]
            stored = self._store.get(self._judge_id, keys)
            for item, key in zip(batch, keys, strict=True):
                plan = self._bound.calls_of(item)
                nonce = new_nonce() if plan.shares_fence else None
                for spec in plan.specs:
                    call = spec.call(item, key=key, nonce=nonce)
                    blobs = stored.get(key, {}).get(spec.name, [])
                    outcome, _ = read_stored(call, blobs, max_attempts=most)
                    if outcome is None or (self._retries and outcome.failure):
                        yield item, call, blobs

    def missing(self, stream: Callable[[], Iterator[Item]]) -> Iterator[tuple[Item, Call[Any]]]:
        """List items with calls that have no outcome, each once."""
        last: Item | None = None
        for item, call, _ in self._calls(stream):
            if item is not last:
                yield item, call
            last = item

    def _id(self, call: Call[Any], n_attempts: int) -> str:
        parts = (self._fingerprint, call.item.hex(), call.name, str(n_attempts))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]

    def _request(self, call: Call[Any], blobs: Sequence[bytes]) -> ChatRequest:
        """Make a request; after replies that were cut off, with twice as many tokens for each."""
        request = call.request(self._form)
        attempts = map(decode_attempt, blobs)
        n_cut = sum(isinstance(x, Reply) and x.finish_reason == "length" for x in attempts)
        if not n_cut or request.max_tokens is None:
            return request
        return msgspec.structs.replace(request, max_tokens=request.max_tokens * 2**n_cut)

    async def take(self, stream: Callable[[], Iterator[Item]]) -> None:
        """Store the replies that came."""
        files = [file for file in self._files if not file.is_awaited and file.status != "taken"]
        if not files:
            return
        with ExitStack() as stack:
            found = _Results([path for file in files for path in file.results], stack)
            recorded = _Recorded(self._model.connection)
            self._model.connection, live = recorded, self._model.connection  # type: ignore[assignment]
            try:
                rows: list[StoredCall] = []
                for _, call, blobs in self._calls(stream):
                    recorded.answer = found.get(self._id(call, len(blobs)))
                    if recorded.answer is None:
                        continue
                    try:
                        kept: Any = await self._model.reply(self._request(call, blobs))
                    except (_AskedError, *_AGAIN):  # it would be sent otherwise, or later
                        continue
                    except ModelCallError as error:
                        kept = CallFailure(
                            reason=error.reason,
                            message=shorten(str(error), width=240),
                            form=self._form,
                            status=error.status,
                        )
                    blob = encode_attempt(kept)
                    rows.append(StoredCall(call.item, call.name, len(blobs), blob))
                    if len(rows) >= 1_000:
                        self._store.put_now(self._judge_id, rows)
                        rows = []
                self._store.put_now(self._judge_id, rows)
            finally:
                self._model.connection = live
        if found.n_lines and not found.n_used:
            msg = f"{self._folder}: results must answer the requests there, got those of others."
            raise InputError(f"{msg} Was the file of items changed? Name another folder.")
        for place, file in enumerate(self._files):
            if file in files:
                self._files[place] = file.keep(status="taken")

    async def write(self, stream: Callable[[], Iterator[Item]], *, paid: float) -> float:
        """Write the requests of the calls that are missing, as the model would send them.

        What was `paid` for calls that were made at once is kept with a file, or returned.
        """
        recorded = _Recorded(self._model.connection)
        self._model.connection, live = recorded, self._model.connection  # type: ignore[assignment]
        seen: set[str] = set()
        writer = _Requests(self._folder)
        try:
            for _, call, blobs in self._calls(stream):
                name = self._id(call, len(blobs))
                if name not in seen:  # equal items share their replies
                    seen.add(name)
                    try:
                        await self._model.reply(self._request(call, blobs))
                    except _AskedError as asked:
                        writer.add(name, asked.args[0])
        finally:
            self._model.connection = live
            written = writer.finish()
        self._check_cost(len(seen), paid=paid)
        for path, n_requests in written:
            target = path.with_name(path.name.removeprefix("."))
            file = BatchFile(file=str(target), fingerprint=self._fingerprint, paid=paid,
                             n_requests=n_requests, cost=self._cost(n_requests))  # fmt: skip
            self._files.append(file.keep())
            path.replace(target)
            paid = 0.0
        return paid

    def _cost(self, n_requests: int) -> float | None:
        """Estimate what requests cost, by the mean of the stored replies and half the price."""
        price = self._bound.judge.known_price
        attempts = (decode_attempt(x.blob) for x in islice(self._store.scan(self._judge_id), 200))
        used = [x.usage for x in attempts if isinstance(x, Reply) and x.usage is not None]
        if price is None or not used:
            return None
        return _HALF_PRICE * n_requests * sum(map(price.cost, used)) / len(used)

    def _check_cost(self, n_requests: int, *, paid: float) -> None:
        most, cost = self._bound.judge.max_cost, self._cost(n_requests)
        if most is None or not n_requests:
            return
        spent = paid + sum((file.cost or 0.0) + file.paid for file in self._files)
        if cost is None or spent + cost > most:
            for path in self._folder.glob(".requests-*.jsonl"):
                path.unlink()
            if cost is None:
                msg = (
                    "`max_cost` needs to know what a call costs, and the server counts no tokens. "
                    "Nothing was submitted; leave it out."
                )
                raise InputError(msg)
            msg = (
                f"The batch would cost about ${cost:.2g} beside ${spent:.2g} that are spent, and "
                f"`max_cost` is ${most:.2g}. Nothing was submitted; raise it, or judge fewer items."
            )
            raise CostLimitReachedError(msg)


class _Requests:
    """Writes files of requests, none beyond what an endpoint takes."""

    def __init__(self, folder: Path) -> None:
        self._written: list[tuple[Path, int]] = []
        self._file: Any = None
        self._n = self._size = 0
        for path in folder.glob(".requests-*.jsonl"):  # of a run that was killed
            path.unlink()
        self._folder = folder
        taken = [path.stem.rpartition("-")[2] for path in folder.glob("*-*.json*")]
        self._number = max((int(x) for x in taken if x.isdecimal()), default=0)

    def add(self, custom_id: str, body: bytes) -> None:
        head = f'{{"custom_id":"{custom_id}","method":"POST","url":"/v1/chat/completions","body":'
        line = head.encode() + body + b"}\n"
        if self._n >= _MOST_REQUESTS or self._size + len(line) > _MOST_BYTES:
            self._close()
        if self._file is None:
            self._number += 1
            path = self._folder / f".requests-{self._number:04d}.jsonl"
            self._file, self._n, self._size = path.open("wb"), 0, 0
        self._file.write(line)
        self._n += 1
        self._size += len(line)

    def _close(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._written.append((Path(self._file.name), self._n))
        self._file = None

    def finish(self) -> list[tuple[Path, int]]:
        """Close the last file; return each with its requests."""
        self._close()
        return self._written


class _Results:
    """Files of results, in which a result is found by its id; of two the first counts."""

    def __init__(self, paths: Sequence[Path], stack: ExitStack) -> None:
        self._files = [stack.enter_context(path.open("rb")) for path in paths]
        self._places: dict[bytes, tuple[int, int]] = {}
        self.n_lines = self.n_used = 0
        for number, file in enumerate(self._files):
            at = 0
            for line in file:
                self.n_lines += bool(line.strip())
                try:
                    name = bytes.fromhex(_read_result(line).custom_id)
                except (msgspec.DecodeError, ValueError):  # of others, or the end of a broken file
                    name = b""
                self._places.setdefault(name, (number, at))
                at += len(line)

    def get(self, custom_id: str) -> HttpAnswer | None:
        """Return the answer to a request; None where there is none."""
        place = self._places.get(bytes.fromhex(custom_id))
        if place is None:
            return None
        number, at = place
        self._files[number].seek(at)
        result = _read_result(self._files[number].readline())
        self.n_used += 1
        if result.response is None:
            code = result.error.get("code") if isinstance(result.error, dict) else None
            body = msgspec.json.encode({"error": result.error})
            return HttpAnswer(503 if code in _LATE else 400, {}, body)
        return HttpAnswer(result.response.status_code, {}, bytes(result.response.body))
