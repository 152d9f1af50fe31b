"""Verdict batches of a cascade: the first judge's answers, and those of the model among them."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.answering import verdict_batch
from voirdire.judging.llm.answer_arrays import answer_arrays
from voirdire.judging.llm.pipeline import CHUNK_ITEMS
from voirdire.judging.llm.running import judged_stretches
from voirdire.judging.parts import CALL_CHARACTERS, stretches
from voirdire.records.verdicts import CallDetails

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.cascade.bound_cascade import BoundCascade
    from voirdire.judging.client.client import ClientState
    from voirdire.judging.llm.answer_arrays import AnswerArrays
    from voirdire.judging.llm.run_record import RunRecord
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item
    from voirdire.records.verdicts import Verdicts
    from voirdire.store import ReplyStore

__all__ = ["cascade_batches"]

_FIRST_ITEMS = 500
"""Items that the first judge is asked about at once."""

_MOST_CALLS = 4
"""So often the first judge is asked, at most, before what it is unsure of goes on: the stretches
that wait for the model stay short where hardly anything does."""


def cascade_batches(
    items: Iterable[Item],
    plan: JudgingPlan,
    bound: BoundCascade,
    *,
    store: ReplyStore | None,
    retry_failures: bool,
    tick: Callable[[float, ClientState], None] | None,
    stopping: threading.Event | None,
    record: RunRecord | None,
) -> Iterator[Verdicts]:
    """Judge items with a cascade; the arguments are those of `judged_batches`.

    Notes
    -----
    *Order*: verdicts follow the items: each stretch of them is one for the model too, with the
    items that go on, be there any or not. *Errors*: what the first judge raises ends the run; a
    call that fails is a failure. *Cancellation*, *Retries and caching*: as for the model alone;
    the first judge is asked anew in every run. *Memory*: as many stretches as the model is ahead,
    at most 2,000 items each.
    """
    passing = _Passing(items, bound)
    chunks = judged_stretches(
        passing.stretches(),
        bound,
        store=store,
        retry_failures=retry_failures,
        tick=tick,
        stopping=stopping,
        n_elsewhere=lambda: passing.n_kept,
    )
    with closing(chunks):  # type: ignore[type-var]  # a generator
        for chunk in chunks:
            stretch = passing.waiting.popleft()
            arrays = answer_arrays(chunk.verdicts, plan.rubric)
            if record is not None:
                record.add(chunk, arrays)
                record.keep(len(stretch.items) - stretch.rows.size)
            yield _merged(stretch, arrays, plan, bound)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Stretch:
    """Items that the first judge has seen, and which of them go on."""

    items: Sequence[Item]
    answers: NDArray[np.float64]
    rows: NDArray[np.int64]


class _Passing:
    """Asks the first judge as items come, and hands on what it is unsure of."""

    def __init__(self, items: Iterable[Item], bound: BoundCascade) -> None:
        self._items = items
        self._bound = bound
        self.waiting: deque[_Stretch] = deque()
        self.n_kept = 0

    def stretches(self) -> Iterator[list[Item]]:
        """Give what goes on, stretch by stretch, an empty one too; read in another thread."""
        parts: list[_Stretch] = []
        for items in stretches(
            self._items, most_items=_FIRST_ITEMS, most_characters=CALL_CHARACTERS
        ):
            parts.append(self._seen(items))
            n_passed_on = sum(part.rows.size for part in parts)
            if len(parts) == _MOST_CALLS or n_passed_on >= CHUNK_ITEMS:
                yield self._together(parts)
                parts = []
        if parts:
            yield self._together(parts)

    def _seen(self, items: list[Item]) -> _Stretch:
        answers = self._bound.first_answers(items)
        rows = np.flatnonzero(self._bound.goes_on(answers))
        return _Stretch(items=items, answers=answers, rows=rows)

    def _together(self, parts: Sequence[_Stretch]) -> list[Item]:
        starts = np.cumsum([0, *(len(part.items) for part in parts)])
        whole = _Stretch(
            items=[item for part in parts for item in part.items],
            answers=np.concatenate([part.answers for part in parts]),
            rows=np.concatenate(
                [part.rows + start for part, start in zip(parts, starts, strict=False)]
            ),
        )
        self.waiting.append(whole)
        self.n_kept += len(whole.items) - whole.rows.size
        return [whole.items[row] for row in whole.rows.tolist()]


def _merged(
    stretch: _Stretch, arrays: AnswerArrays, plan: JudgingPlan, bound: BoundCascade
) -> Verdicts:
    """Put the model's answers in the places of the items that went on."""
    rows = stretch.rows
    probabilities = np.array(stretch.answers)
    probabilities[rows] = arrays.probabilities
    places = rows.tolist()
    failures = {(places[row], column): why for (row, column), why in arrays.failures.items()}
    first, then = bound.answerers
    sources = [bound.first.judge.source] * len(stretch.items)
    answered_by = [first] * len(stretch.items)
    for row in places:
        sources[row], answered_by[row] = bound.then.source, then
    batch = verdict_batch(
        stretch.items,
        plan,
        probabilities=probabilities,
        failures=failures,
        details=_spread(arrays.details, rows, shape=probabilities.shape),
    )
    return replace(batch, sources=tuple(sources), answered_by=tuple(answered_by))


def _spread(
    details: CallDetails, rows: NDArray[np.int64], *, shape: tuple[int, ...]
) -> CallDetails:
    """Say how the calls went of those items that there were any about."""
    missing_mass, shift = np.full(shape, np.nan), np.full(shape, np.nan)
    missing_mass[rows], shift[rows] = details.missing_mass, details.shift
    attempts = np.zeros(shape[0], dtype=np.int64)
    attempts[rows] = details.attempts
    forms: list[str | None] = [None] * shape[0]
    for row, form in zip(rows.tolist(), details.forms, strict=True):
        forms[row] = form
    return CallDetails(
        labels={},
        label_failures={},
        missing_mass=missing_mass,
        shift=shift,
        label_shift={},
        forms=tuple(forms),
        attempts=attempts,
    )
