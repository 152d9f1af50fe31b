"""Score a file of items into a file of rewards: any size, in flat memory."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from voirdire.judging.fingerprint import hash_content
from voirdire.judging.item_source import ItemSource
from voirdire.judging.plan import check_behavior
from voirdire.judging.runs.file_judging import judge_source
from voirdire.judging.runs.outputs import STORE_NAME, SetAside, explain_write_errors
from voirdire.judging.runs.parts import MARK, make_folder, remove_folder
from voirdire.rewards.model import RewardModel
from voirdire.rewards.model_file import load_reward
from voirdire.rewards.scoring.explanation import contribution_columns, contribution_frame
from voirdire.rewards.scoring.outputs import (
    SCORE_COLUMNS,
    RewardWriter,
    StreamWriter,
    checked_rewards_output,
    reward_frame,
)
from voirdire.rewards.scoring.score_summary import ScoreTally, ScoringProgress, ScoringSummary
from voirdire.rewards.scoring.scoring import BatchScorer, judging_plan, stored_verdicts
from voirdire.rewards.scoring.settings import ScoringSettings
from voirdire.rewards.scoring.stored_verdicts import open_verdicts

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from voirdire.judging import CallSummary, JudgingProgress
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.rewards.scoring.settings import ScoringFields

__all__ = ["score_file"]

_BATCH_ITEMS = 8_192


def score_file(
    source: str | Path,
    output: str | Path,
    *,
    reward: RewardModel | str | Path,
    verdicts: Any = None,
    judge: JudgeLike | None = None,
    settings: ScoringSettings | None = None,
    progress: Callable[[ScoringProgress], None] | None = None,
    stopping: threading.Event | None = None,
    **fields: Unpack[ScoringFields],
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
    settings : ScoringSettings, optional
        How the file is laid out, what the reward is made of, and how a run goes on.
    progress : callable, optional
        Called with a `ScoringProgress` now and then.
    stopping : threading.Event, optional
        Set it from another thread to end the calls to a language model as Ctrl-C does.
    **fields
        Fields of `ScoringSettings`, each of which counts before that of `settings`:

        - `base`: the items' column with the reward of another model, which is added. By default
          ``base_reward`` or ``rm_score`` where the reward was fitted beside one, and else none. The
          sides of a pair may have one each, with ``chosen_`` or ``rejected_`` before the name.
        - `explain`: add a column ``contribution:FEATURE`` per feature: what it adds to the reward.
          Null where it is not a feature of the item's behavior, or not known.
        - `center`: take off the mean that each behavior's rule rewards had in the fit, so that
          behaviors compare.
        - `other_judge`: take verdicts of another judge than the weights were fitted on.
        - `behavior`, `columns`, `format` and other fields of `voirdire.io.ItemLayout`: how the
          items are written.
        - `store`, `retry_failures`, `restart`, `workers`: as for `voirdire.judging.judge_file`.

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
    in the store; the same call goes on from them.
    *Memory*: a few thousand items, and 50 bytes an item to find repeated ids and their verdicts. A
    file of `voirdire judge` goes part by part into a temporary file, in whatever order its items
    are; verdicts of another form are held whole, 8 bytes a proposition and item. Standard input is
    kept in a temporary file, since it is read twice.
    *Retries and caching*: the judge's limits and the store.
    """
    started = time.monotonic()
    model = reward if isinstance(reward, RewardModel) else load_reward(reward)
    told = replace(settings or ScoringSettings(), **fields)
    check_behavior(told.behavior, model.rubric)
    scorer, tally = BatchScorer(model, center=told.center, base=told.base), ScoreTally()
    items = ItemSource(source=source, layout=told)
    explained = contribution_columns(model, center=told.center) if told.explain else ()
    written = SCORE_COLUMNS + explained

    def tell(judging: JudgingProgress | None = None) -> None:
        if progress is not None:
            n_dropped = set_aside.count if judging is None else judging.n_dropped
            done = ScoringProgress(n_items=tally.n_items, n_dropped=n_dropped, judging=judging)
            progress(done)

    with ExitStack() as stack:
        writer, set_aside = _open_output(output, source=source, columns=written, stack=stack)
        judged = None
        if verdicts is not None:
            found, notes = stored_verdicts(
                model, verdicts, judge=judge, other_judge=told.other_judge
            )
        else:
            plan, notes = judging_plan(model, judge, other_judge=told.other_judge)
            judged = _judge_first(
                items, plan, told, output=output, stack=stack, stopping=stopping, progress=tell
            )
            found = open_verdicts(judged.path, reward=model, judge=None)
        reading = told.reading(judged=model.judge.judged)
        for batch in items.stream_items(reading, batch_size=_BATCH_ITEMS):
            set_aside.add(batch.dropped)
            if batch.items:
                scores = scorer.score(batch.items, found)
                frame = reward_frame(scores)
                tally.add(frame)
                if told.explain:
                    added = contribution_frame(model, scores)
                    frame = pl.concat([frame, added], how="horizontal")
                writer.add(frame)
                tell()
        scorer.check_base()
        items.check_unchanged()
        dropped_output = set_aside.publish()
        writer.publish()
        if judged is not None:
            remove_folder(judged.path.parent)
    seconds = time.monotonic() - started
    return ScoringSummary(
        output=str(output),
        reward=model.name,
        reward_hash=model.content_hash,
        rubric=model.rubric.name,
        rubric_version=model.rubric.version,
        judge=found.judge,
        fingerprint=found.fingerprint,
        n_items=tally.n_items,
        n_scored=tally.n_scored,
        missing=tally.missing,
        behaviors=tally.behaviors(tuple(row.id for row in model.rubric.behaviors)),
        is_centered=told.center,
        n_dropped=set_aside.count,
        dropped=set_aside.first,
        dropped_output=None if dropped_output is None else str(dropped_output),
        seconds=seconds,
        items_per_second=tally.n_items / seconds if seconds > 0 else float("nan"),
        notes=(*notes, *scorer.notes),
        calls=None if judged is None else judged.calls,
    )


def _open_output(
    output: str | Path, *, source: object, columns: Sequence[str], stack: ExitStack
) -> tuple[RewardWriter | StreamWriter, SetAside]:
    if str(output) == "-":
        return StreamWriter(), SetAside(None)
    target, written_as = checked_rewards_output(Path(output), source=source)
    set_aside = stack.enter_context(SetAside(target.with_name(f"{target.name}.dropped.jsonl")))
    writer = stack.enter_context(RewardWriter(target, written_as=written_as, columns=columns))
    set_aside.open(writer.folder / "dropped.jsonl")
    return writer, set_aside


def _judge_first(
    items: ItemSource,
    plan: JudgingPlan,
    settings: ScoringSettings,
    *,
    output: str | Path,
    stack: ExitStack,
    **watching: Any,
) -> _Judged:
    """Judge every item into a file beside the output, or find that a killed run has.

    Only when it is finished, the file has a name that says what was judged, and by whom.
    """
    items.keep()
    if str(output) == "-":  # there is nothing beside it to go on from, except the store
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="voirdire-")))
        beside = Path.cwd()
    else:
        target = Path(output).resolve()
        folder, beside = target.with_name(f"{target.name}.scoring"), target.parent
        with explain_write_errors(folder, kept="Nothing is judged yet"):
            make_folder(folder)
        stack.callback(_remove_bare, folder)
    key = hash_content({"items": items.key(), "fingerprint": plan.fingerprint})
    finished = folder / f"{key.rpartition(':')[2]}.parquet"
    if settings.restart:
        finished.unlink(missing_ok=True)
    if finished.is_file():
        return _Judged(path=finished)
    path = folder / "verdicts.parquet"
    if settings.store is None:
        settings = replace(settings, store=beside / STORE_NAME)
    summary = judge_source(items, path, plan, settings, **watching)
    path.replace(finished)
    return _Judged(path=finished, calls=summary.calls)


def _remove_bare(folder: Path) -> None:
    """Remove the folder of a run that ended before anything was judged."""
    if list(folder.glob("*")) == [folder / MARK]:
        remove_folder(folder)


@dataclass(frozen=True, kw_only=True)
class _Judged:
    path: Path
    calls: CallSummary | None = None
