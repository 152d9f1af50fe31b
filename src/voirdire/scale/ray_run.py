"""Judges a folder of files on a Ray cluster: one task a file, and one limit for all of them.

A task returns where its output is there, judges into a temporary name, and renames it. So a driver,
worker or node may be killed at any moment, and a second start does what is missing.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.errors import CostLimitReachedError, InputError, VoirdireError
from voirdire.io.parts import FolderOutputs
from voirdire.judging import JudgingProgress, JudgingSettings
from voirdire.judging.binding import plan_judging
from voirdire.judging.folder_run import FolderJob, judge_parts, plan_folder
from voirdire.judging.pace import Pace
from voirdire.judging.summary import RunRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire.io.parts import ItemPart, Shard
    from voirdire.judging import FolderSummary
    from voirdire.judging.binding import JudgingPlan

_TASKS_A_CPU = 2
_TICK_S = 0.5
_OF_CLUSTER = ("requests_per_minute", "tokens_per_minute", "max_cost")
"""Settings of a model that mean the whole cluster."""


def judge_with_ray(
    source: str | Path,
    output: str | Path,
    *,
    rubric: str | Path = "safety",
    judge: str | Path = "local",
    model: Mapping[str, Any] | None = None,
    address: str | None = None,
    shard: Shard | str | None = None,
    suffix: str = ".parquet",
    settings: JudgingSettings | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> FolderSummary:
    """Judge every item of a folder of files on a Ray cluster; see `voirdire.judging.judge_folder`.

    Parameters
    ----------
    source, output : str or path
        Folders that every node reaches under the same names.
    rubric, judge : str or path
        Names, or files that every node reaches.
    model : mapping of str to object, optional
        Fields of `voirdire.judging.ModelSettings`, where `judge` is a language model. Its
        `requests_per_minute`, `tokens_per_minute` and `max_cost` mean the whole cluster. Keys come
        from the environment of each node.
    address : str, optional
        The cluster, ``"auto"`` for that of this node; without one, this machine.
    shard, suffix, settings, progress
        As for `judge_folder`. Replies are stored beside each part where `settings` name no store;
        then name one in PostgreSQL for replies that all nodes find.

    Returns
    -------
    FolderSummary
        One summary of all files.

    Raises
    ------
    InputError
        If Ray is missing; as for `judge_folder`.
    CostLimitReachedError
        If `max_cost` of the cluster is reached; what is judged stays.

    Notes
    -----
    *Order*: of the files by name; the tasks of a window run at once. *Errors*: as for
    `judge_folder`; a task whose worker dies runs again. *Cancellation*: after Ctrl-C no task is
    begun, those under way keep the replies that came, and the same call goes on.
    """
    try:
        import ray
    except ModuleNotFoundError as error:
        msg = '`voirdire.scale` needs Ray. Install it with `pip install "voirdire[ray]"`.'
        raise InputError(msg) from error
    told = replace(settings or JudgingSettings(), workers=1)
    given = dict(model or {})
    limits = {name: given.pop(name) for name in _OF_CLUSTER if given.get(name) is not None}
    order = _Order(str(judge), str(rubric), tuple(sorted(given.items())), told)
    planned = partial(plan_folder, source, output, shard=shard, suffix=suffix, settings=told)
    job = planned(plan=order.plan)
    priced: Any = getattr(job.plan.judge, "judge", None)  # of a language model
    if "max_cost" in limits and priced is not None and priced.known_price is None:
        msg = f"`max_cost` needs the price of {priced.chat_model.name!r}, which is not known."
        raise InputError(f"{msg} Declare it with `--price IN,OUT`, or as `price`.")
    began_here = not ray.is_initialized()
    with redirect_stdout(sys.stderr):  # where Ray says what becomes of its nodes
        if began_here:
            ray.init(address=address, log_to_driver=False)
        try:
            limiter: Any = None
            if limits:
                actor: Any = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Limiter)
                limiter = actor.remote(**limits)
            record = RunRecord(job.plan, progress)
            failed = _run_tasks(ray, order, job, record=record, limiter=limiter)
        finally:
            if began_here:
                ray.shutdown()
    return job.summarize(record, failed)


def _run_tasks(
    ray: Any, order: _Order, job: FolderJob, *, record: RunRecord, limiter: Any
) -> dict[str, str]:
    """Keep a window of tasks at work, and add up what they return."""
    task = ray.remote(max_retries=-1, num_cpus=1)(_judge_part)
    waiting = deque(job.todo.items())
    most = max(1, _TASKS_A_CPU * int(ray.cluster_resources().get("CPU", 1)))
    running: dict[Any, str] = {}
    failed: dict[str, str] = {}
    folder = str(job.outputs.folder)
    try:
        while waiting or running:
            while waiting and len(running) < most:
                target, part = waiting.popleft()
                running[task.remote(order, part, str(target), folder, limiter)] = str(part)
            done, _ = ray.wait(list(running), timeout=_TICK_S)
            for each in done:
                name = running.pop(each)
                state, why = ray.get(each)
                failed |= dict.fromkeys([name] if why else [], why)
                if state is not None:
                    record.merge(state)
                if why == _NO_MONEY:
                    raise CostLimitReachedError(f"{why} What is judged stays; raise it to go on.")
            record.report()
    except BaseException:
        for each in running:
            ray.cancel(each, force=False)
        ray.wait(list(running), num_returns=len(running), timeout=_TICK_S * 20)
        raise
    return failed


_NO_MONEY = "`max_cost` of the cluster is reached."


@dataclass(frozen=True)
class _Order:
    """What every task does, in what travels."""

    judge: str
    rubric: str
    model: tuple[tuple[str, Any], ...]
    settings: JudgingSettings

    def plan(self, **about: Any) -> JudgingPlan:
        """Load the judge and the rubric."""
        return plan_judging(self.judge, self.rubric, settings=dict(self.model), **about)


_plans: dict[str, JudgingPlan] = {}
"""The plan of the job that this process works for."""


def _load(order: _Order) -> JudgingPlan:
    key, told = repr(order), order.settings
    if key not in _plans:
        _plans.clear()
        _plans[key] = order.plan(threshold=told.threshold, judged=told.judged, whole=False)
    return _plans[key]


def _judge_part(
    order: _Order, part: ItemPart, target: str, folder: str, limiter: Any
) -> tuple[dict[str, Any] | None, str]:
    """Judge one part in a worker; return the sums of its record, and why it was not judged."""
    path, told = Path(target), order.settings
    if path.exists() and not told.retry_failures:
        return None, ""
    Pace.shared = None if limiter is None else _Leases(limiter)
    plan = _load(order)
    todo = {path: part}
    outputs = FolderOutputs(Path(folder), todo)
    job = FolderJob(plan=plan, settings=told, outputs=outputs, todo=todo)
    record = RunRecord(plan)
    try:
        failed = judge_parts(job, todo, record=record, store=path.with_suffix(".replies.sqlite"))
    except CostLimitReachedError:
        return record.state(), _NO_MONEY
    except VoirdireError as error:
        return record.state(), str(error)
    return record.state(), next(iter(failed.values()), "")


class Limiter:
    """Requests and tokens a minute, spread evenly, and a budget, for all workers of a cluster."""

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_cost: float | None = None,
    ) -> None:
        self._seconds_each = [
            60.0 / each if each else 0.0 for each in (requests_per_minute, tokens_per_minute)
        ]
        self._next = [0.0, 0.0]
        self._max_cost = math.inf if max_cost is None else max_cost
        self._spent = 0.0  # with what the requests in flight are expected to cost

    def lease(self, tokens: float, cost: float) -> float:
        """Take a place in time; the seconds until then, infinite where no money is left."""
        if self._spent + cost > self._max_cost:
            return math.inf
        self._spent += cost
        now = time.monotonic()
        at = max(now, *self._next)
        for place, amount in enumerate((1.0, tokens)):
            self._next[place] = max(at, self._next[place]) + amount * self._seconds_each[place]
        return at - now

    def settle(self, cost: float, paid: float) -> None:
        """Put what a request cost in the place of what it was expected to."""
        self._spent += paid - cost


class _Leases:
    """The limiter of the cluster, as a worker sees it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def lease(self, tokens: float, cost: float) -> float:
        """Ask the actor."""
        return float(await self._actor.lease.remote(tokens, cost))

    def settle(self, cost: float, paid: float) -> None:
        """Tell the actor, and do not wait."""
        self._actor.settle.remote(cost, paid)
