"""Score a file of items into a file of rewards: any size, in flat memory."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.item_source import ItemSource
from voirdire.judging.plan import check_behavior
from voirdire.judging.runs.file_judging import check_workers
from voirdire.judging.runs.outputs import SetAside
from voirdire.rewards.model import RewardModel
from voirdire.rewards.scoring.base_rewards import (
    BASE_COLUMNS,
    base_column,
    base_of_items,
    has_base,
)
from voirdire.rewards.scoring.combining import Combiner
from voirdire.rewards.scoring.explanation import contribution_columns, contribution_frame
from voirdire.rewards.scoring.item_heads import stream_heads
from voirdire.rewards.scoring.outputs import (
    SCORE_COLUMNS,
    RewardWriter,
    StreamWriter,
    checked_rewards_output,
)
from voirdire.rewards.scoring.score_summary import (
    ScoreTally,
    ScoringProgress,
    ScoringSummary,
)
from voirdire.rewards.scoring.scoring import unused_base
from voirdire.rewards.scoring.verdict_source import open_verdicts

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.scoring.scores import Scores
    from voirdire.rewards.scoring.verdict_source import VerdictSource

__all__ = ["score_file"]

_BATCH_ITEMS = 8_192


def score_file(
    source: str | Path,
    output: str | Path,
    *,
    reward: RewardModel | str | Path,
    verdicts: Any = None,
    judge: JudgeLike | None = None,
    store: str | Path | None = None,
    base: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    behavior: str | None = None,
    explain: bool = False,
    center: bool = False,
    other_judge: bool = False,
    retry_failures: bool = False,
    restart: bool = False,
    workers: int | Literal["auto"] = 1,
    progress: Callable[[ScoringProgress], None] | None = None,
    stopping: threading.Event | None = None,
) -> ScoringSummary:
    """Give every item of a file its reward.

    The rewards appear under their name whole or not at all. Rows that are no items are listed in
    ``OUTPUT.dropped.jsonl``.

    Parameters
    ----------
    source : str or path
        The items, as `voirdire.io.stream_items` reads them; ``"-"`` is standard input.
    output : str or path
        A file that ends in ``.parquet``, ``.jsonl`` or ``.csv``; ``"-"`` writes JSONL to standard
        output. Nothing but a file of rewards is replaced.
    reward : RewardModel, str or path
        The reward, or its file.
    verdicts : path, sequence of paths, or anything that `read_verdicts` reads, optional
        Verdicts on the items, joined by id, in any order. By default the items are judged.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who judges; ``"own"`` is the reward's own judge, made again, and the default where that is
        the one that ships with voirdire. With `verdicts`, the name of the judge whose verdicts
        count, where there are several.
    store : str or path, optional
        Where a language model's replies are kept; by default ``voirdire-replies.sqlite`` beside
        the output.
    base : str, optional
        The items' column with the reward of another model, which is added. By default
        ``base_reward`` or ``rm_score`` where the reward was fitted beside one, and else none. The
        sides of a pair may have one each, with ``chosen_`` or ``rejected_`` before the name.
    columns : mapping of str to str, optional
        Our names to the file's.
    format : str, optional
        How the items are written, where the ending of the name does not say.
    behavior : str, optional
        The behavior of items that have none.
    explain : bool, optional
        Add a column ``contribution:FEATURE`` per feature: what it adds to the reward. Null where
        it is not a feature of the item's behavior, or not known.
    center : bool, optional
        Take each behavior's mean off its rule rewards, so that behaviors compare.
    other_judge : bool, optional
        Take verdicts of another judge than the weights were fitted on.
    retry_failures : bool, optional
        Call a language model again where it failed in an earlier run.
    restart : bool, optional
        Throw away what an interrupted run left, instead of going on from there.
    workers : int or "auto", optional
        Processes of a local judge, as for `judge_file`.
    progress : callable, optional
        Called with a `ScoringProgress` now and then.
    stopping : threading.Event, optional
        Set it from another thread to end the calls to a language model as Ctrl-C does.

    Returns
    -------
    ScoringSummary
        Counts, means and deviations per behavior, and why rewards are missing.

    Raises
    ------
    NoDataError
        If the file holds no item.
    InputError
        If a file cannot be read or written, if `output` is something else than a file of rewards,
        if verdicts are of another judge or lack a proposition that the reward weighs, or if the
        items change while they are read.

    Notes
    -----
    *Order*: rewards follow the items. *Errors*: an item whose judging failed, that has no
    behavior, or whose base reward is no finite number has no reward, and says why in the column
    `missing`; anything else ends the run. *Cancellation*: nothing is written under the name of
    the output. Where items are judged, finished parts and replies wait in ``OUTPUT.scoring`` and
    in the store; the same call goes on from them. *Memory*: a few thousand items, and 50 bytes an
    item to find repeated ids and their verdicts. A file of verdicts is read part by part where it
    has them in about the order of the items; else they are held whole, 8 bytes a proposition and
    item. Standard input is kept in a temporary file, since it is read twice.
    *Retries and caching*: the judge's limits and the store.
    """
    model = _loaded(reward)
    check_behavior(behavior, model.rubric)
    started = time.monotonic()
    run = _Run(model=model, base=base, explain=explain, center=center, progress=progress)
    items = ItemSource(source=source, format=format, columns=columns, behavior=behavior)
    with ExitStack() as stack:
        writer, set_aside = _outputs(output, source=source, run=run, stack=stack)
        found = open_verdicts(
            model,
            items,
            output=output,
            verdicts=verdicts,
            judge=judge,
            other_judge=other_judge,
            store=store,
            restart=restart,
            stack=stack,
            retry_failures=retry_failures,
            workers=check_workers(workers),
            stopping=stopping,
            progress=run.judging,
        )
        run.combiner.check_asked(found.stored.about.questions)
        for batch in _batches(items, run, set_aside):
            writer.add(run.scored(batch, found.stored.take([item.id for item in batch])))
            run.say(set_aside)
        run.check_base()
        items.check_unchanged()
        dropped_output = set_aside.publish()
        writer.publish()
        found.remove()
    return _summary(run, found, set_aside, output=output, dropped=dropped_output, started=started)


@dataclass(kw_only=True)
class _Run:
    """What stays the same from batch to batch, and what adds up."""

    model: RewardModel
    base: str | None
    explain: bool
    center: bool
    progress: Callable[[ScoringProgress], None] | None
    tally: ScoreTally = field(default_factory=ScoreTally)

    def __post_init__(self) -> None:
        self.combiner = Combiner(self.model, center=self.center)
        self.notes: tuple[str, ...] = ()
        self._column: str | None = self.base
        self._is_begun = self._has_base = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Name the columns of the output."""
        added = contribution_columns(self.model, center=self.center) if self.explain else ()
        return (*SCORE_COLUMNS, *added)

    def scored(self, items: Sequence[Item], judged: Verdicts) -> pl.DataFrame:
        """Score a batch and lay it out."""
        if not self._is_begun:
            self._begin(items)
        self._has_base |= self._column is not None and has_base(items, self._column)
        base, reasons = base_of_items(items, column=self._column)
        scores = self.combiner.scores(
            judged,
            behaviors=[item.behavior for item in items],
            base=base,
            base_reasons=reasons,
        )
        self.tally.add(scores)
        frame = _frame(scores)
        if not self.explain:
            return frame
        return pl.concat([frame, contribution_frame(self.model, scores)], how="horizontal")

    def check_base(self) -> None:
        """Refuse a column of base rewards that no item has."""
        if self.base is not None and not self._has_base:
            msg = (
                f"`base` must be a column of the items, got {shorten(self.base)!r}, which is none."
            )
            raise InputError(msg)

    def say(self, set_aside: SetAside) -> None:
        """Tell whoever watches."""
        if self.progress is not None:
            self.progress(ScoringProgress(n_items=self.tally.n_items, n_dropped=set_aside.count))

    def judging(self, state: Any) -> None:
        """Tell whoever watches how judging goes."""
        if self.progress is not None:
            self.progress(ScoringProgress(n_items=0, n_dropped=state.n_dropped, judging=state))

    def _begin(self, items: Sequence[Item]) -> None:
        self._is_begun = True
        self._column = base_column(items, named=self.base, uses_base=self.model.uses_base)
        if self._column is None:
            self.notes += unused_base(items)


def _loaded(reward: RewardModel | str | Path) -> RewardModel:
    if isinstance(reward, RewardModel):
        return reward
    from voirdire.rewards.model_file import load_reward

    return load_reward(reward)


def _outputs(
    output: str | Path, *, source: object, run: _Run, stack: ExitStack
) -> tuple[RewardWriter | StreamWriter, SetAside]:
    if str(output) == "-":
        return StreamWriter(), SetAside(None)
    target, written_as = checked_rewards_output(Path(output), source=source)
    set_aside = stack.enter_context(SetAside(target.with_name(f"{target.name}.dropped.jsonl")))
    writer = stack.enter_context(RewardWriter(target, written_as=written_as, columns=run.columns))
    set_aside.open(writer.folder / "dropped.jsonl")
    return writer, set_aside


def _batches(items: ItemSource, run: _Run, set_aside: SetAside) -> Iterator[list[Item]]:
    """Read items; what their behavior is decides later whether they get a reward."""
    for batch in stream_heads(
        items.opened(),
        kept=BASE_COLUMNS if run.base is None else (run.base,),
        format=items.format,
        columns=items.columns,
        judged=run.model.judge.judged,
        behavior=items.behavior,
        batch_size=_BATCH_ITEMS,
    ):
        set_aside.add(batch.dropped)
        if batch.items:
            yield batch.items


def _frame(scores: Scores) -> pl.DataFrame:
    missing = scores.missing
    reasons = [missing.get(name) for name in scores.items] if missing else [None]
    n_items = len(scores.items)
    return pl.DataFrame(
        {
            "item": pl.Series(scores.items, dtype=pl.String),
            "behavior": pl.Series(scores.behaviors, dtype=pl.String),
            "reward": pl.Series(scores.rewards).fill_nan(None),
            "base_reward": pl.Series(scores.base_rewards).fill_nan(None),
            "rule_reward": pl.Series(scores.rule_rewards).fill_nan(None),
            "missing": pl.Series(reasons, dtype=pl.String)
            if missing
            else pl.repeat(None, n_items, dtype=pl.String, eager=True),
        }
    )


def _summary(
    run: _Run,
    found: VerdictSource,
    set_aside: SetAside,
    *,
    output: str | Path,
    dropped: Path | None,
    started: float,
) -> ScoringSummary:
    model, tally = run.model, run.tally
    seconds = time.monotonic() - started
    return ScoringSummary(
        output=str(output),
        reward=model.name,
        reward_hash=model.content_hash,
        rubric=model.rubric.name,
        rubric_version=model.rubric.version,
        judge=found.stored.about.judge,
        fingerprint=found.stored.about.fingerprint,
        n_items=tally.n_items,
        n_scored=tally.n_scored,
        missing=tally.missing,
        behaviors=tally.behaviors(tuple(row.id for row in model.rubric.behaviors)),
        is_centered=run.center,
        n_dropped=set_aside.count,
        dropped=set_aside.first,
        dropped_output=None if dropped is None else str(dropped),
        seconds=seconds,
        items_per_second=tally.n_items / seconds if seconds > 0 else float("nan"),
        notes=(*found.notes, *run.notes),
        calls=found.calls,
    )
