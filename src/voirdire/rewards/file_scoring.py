"""Score a file of items of any size into a file of rewards, in flat memory."""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl
import polars.selectors as cs

from voirdire._validation import change_fields
from voirdire.judging.binding import check_behavior
from voirdire.judging.file_run import judge_source
from voirdire.judging.items import ItemSource
from voirdire.judging.outputs import STORE_NAME, TableWriter
from voirdire.judging.settings import StoredReplies
from voirdire.records import Dropped  # noqa: TC001  # as above
from voirdire.records.replies import CallSummary  # noqa: TC001  # as above
from voirdire.records.tables import Tabular
from voirdire.rewards.model import RewardModel
from voirdire.rewards.reward_file import load_reward
from voirdire.rewards.scores import make_contribution_frame, name_contributions
from voirdire.rewards.scoring import BatchScorer
from voirdire.rewards.settings import ScoringSettings
from voirdire.rewards.verdict_source import (
    JudgeSource,
    choose_source,
    collect_rests,
    open_reward_verdicts,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from voirdire.judging import JudgingProgress
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.rewards.scores import Scores

__all__ = [
    "SCORE_COLUMNS",
    "BehaviorScores",
    "ScoreTally",
    "ScoringProgress",
    "ScoringSummary",
    "make_reward_frame",
    "open_rewards",
    "score_file",
]

_MOST_NAMED = 100
_OTHER = "other reasons"


@dataclass(frozen=True, kw_only=True)
class BehaviorScores:
    """The rewards of one behavior.

    Attributes
    ----------
    behavior : str or None
        None for items without one.
    n_items, n_scored : int
        Its items, and those of them with a reward.
    mean, standard_deviation, minimum, maximum : float
        Of the rewards; nan where there are too few (the deviation needs two).
    mean_rule, mean_base : float
        Of the two parts, over the same items.
    """

    behavior: str | None
    n_items: int
    n_scored: int
    mean: float
    standard_deviation: float
    minimum: float
    maximum: float
    mean_rule: float
    mean_base: float


@dataclass(frozen=True, kw_only=True)
class ScoringProgress:
    """The progress of a run of scoring.

    Attributes
    ----------
    n_items : int
        Items that were scored, or that could not be.
    n_dropped : int
        Rows that were set aside.
    judging : JudgingProgress or None
        How judging goes, where it comes first.
    """

    n_items: int
    n_dropped: int
    judging: JudgingProgress | None = None


@dataclass(frozen=True, kw_only=True)
class ScoringSummary(Tabular, rows="behaviors"):
    """The figures of a run of scoring.

    Attributes
    ----------
    output : str
        The file of rewards; ``"-"`` for standard output.
    reward, reward_hash : str
        Name and content hash of the reward.
    rubric, rubric_version : str
        The rubric of the reward.
    judge, fingerprint : str
        Whose verdicts were used.
    n_items, n_scored : int
        Items, and those of them with a reward.
    missing : mapping of str to int
        Why the others have none; the most frequent reason first.
    behaviors : tuple of BehaviorScores
        In the order of the rubric; items without a behavior, or of an unknown one, last.
    is_centered : bool
        Whether each behavior's mean was taken off its rule rewards.
    n_dropped : int
        Rows of the source that are no items.
    dropped : tuple of Dropped
        The first of them.
    dropped_output : str or None
        The file that lists all of them.
    seconds, items_per_second : float
        How long it took, judging included.
    notes : tuple of str
        What the reader should know.
    calls : CallSummary or None
        Counts and cost of the calls, where a language model judged.
    """

    output: str
    reward: str
    reward_hash: str
    rubric: str
    rubric_version: str
    judge: str
    fingerprint: str
    n_items: int
    n_scored: int
    missing: Mapping[str, int] = field(default_factory=dict)
    behaviors: tuple[BehaviorScores, ...] = ()
    is_centered: bool = False
    n_dropped: int = 0
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    dropped_output: str | None = None
    seconds: float = math.nan
    items_per_second: float = math.nan
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None

    PLAIN: ClassVar = ("n_missing",)

    @property
    def n_missing(self) -> int:
        """Items without a reward."""
        return self.n_items - self.n_scored


class ScoreTally:
    """Adds up the rewards of a run, batch by batch, without keeping them."""

    def __init__(self) -> None:
        self.n_items = self.n_scored = 0
        self._missing: Counter[str] = Counter()
        self._figures: pl.DataFrame | None = None

    def add(self, frame: pl.DataFrame) -> None:
        """Add the table of a batch, as `make_reward_frame` makes it."""
        self.n_items += frame.height
        self.n_scored += frame["reward"].count()
        for reason, n_items in Counter(frame["missing"].drop_nulls()).items():
            is_counted = reason in self._missing or len(self._missing) < _MOST_NAMED
            self._missing[reason if is_counted else _OTHER] += n_items
        reward = pl.col("reward")
        parts = pl.col("rule_reward", "base_reward").filter(reward.is_not_null()).mean()
        figures = frame.group_by("behavior", maintain_order=True).agg(
            reward.len().cast(pl.Int64).alias("n_items"),
            reward.count().cast(pl.Int64).alias("n_scored"),
            reward.mean().alias("mean"),
            ((reward - reward.mean()) ** 2).sum().alias("squares"),
            reward.min().alias("minimum"),
            reward.max().alias("maximum"),
            parts.name.map(lambda name: f"mean_{name.removesuffix('_reward')}"),
        )
        if self._figures is not None:
            figures = _merge_figures(pl.concat([self._figures, figures]))
        self._figures = figures

    @property
    def missing(self) -> dict[str, int]:
        """Count the reasons, the most frequent first."""
        return dict(self._missing.most_common())

    def behaviors(self, order: tuple[str, ...]) -> tuple[BehaviorScores, ...]:
        """Return the figures of each behavior, those of the rubric first and in its order."""
        if self._figures is None:
            return ()
        n_scored = pl.col("n_scored")
        deviation = pl.when(n_scored > 1).then((pl.col("squares") / (n_scored - 1)).sqrt())
        table = self._figures.with_columns(deviation.alias("standard_deviation")).drop("squares")
        table = table.with_columns(cs.float().fill_null(math.nan))
        rows = {row["behavior"]: row for row in table.iter_rows(named=True)}
        others = sorted(rows.keys() - set(order), key=str)
        names = [*(name for name in order if name in rows), *others]
        return tuple(BehaviorScores(**rows[name]) for name in names)


def _merge_figures(parts: pl.DataFrame) -> pl.DataFrame:
    """Merge the figures of batches; squares about the mean keep all digits."""
    n_scored = pl.col("n_scored")
    means = pl.col("mean", "mean_rule", "mean_base")
    mean = (pl.col("mean") * n_scored).sum() / n_scored.sum()
    merged = parts.group_by("behavior", maintain_order=True).agg(
        pl.col("n_items", "n_scored").sum(),
        (means * n_scored).sum() / n_scored.sum(),
        (pl.col("squares") + n_scored * (pl.col("mean") - mean) ** 2).sum(),
        pl.col("minimum").min(),
        pl.col("maximum").max(),
    )
    return merged.select(parts.columns).head(_MOST_NAMED)  # of a hostile file each item has its own


SCORE_COLUMNS = ("item", "behavior", "reward", "base_reward", "rule_reward", "gated", "missing")
"""What a file of rewards begins with."""


def open_rewards(output: str | Path, *, source: object) -> TableWriter:
    """Return what writes a file of rewards; it replaces no other file."""
    n = len(SCORE_COLUMNS)
    return TableWriter(
        output, source=source, holds="rewards", is_ours=lambda names: names[:n] == SCORE_COLUMNS
    )


def make_reward_frame(scores: Scores) -> pl.DataFrame:
    """Make the table of rewards, a row for each item."""
    missing = [scores.missing.get(name) for name in scores.items]
    return pl.DataFrame(
        {
            "item": pl.Series(scores.items, dtype=pl.String),
            "behavior": pl.Series(scores.behaviors, dtype=pl.String),
            "reward": pl.Series(scores.rewards).fill_nan(None),
            "base_reward": pl.Series(scores.base_rewards).fill_nan(None),
            "rule_reward": pl.Series(scores.rule_rewards).fill_nan(None),
            "gated": scores.gated,
            "missing": pl.Series(missing, dtype=pl.String),
        }
    )


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
    **fields: Any,
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
        - `store`, `retry_failures`, `workers`: as for `voirdire.judging.judge_file`.

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
    the output; replies are in the store, and the same call goes on from them.
    *Memory*: a few thousand items, and 50 bytes an item to find repeated ids and their verdicts. A
    file of `voirdire judge` goes part by part into a temporary file, in whatever order its items
    are; verdicts of another form are held whole, 8 bytes a proposition and item. Standard input is
    kept in a temporary file, since it is read twice.
    *Retries and caching*: the judge's limits and the store.
    """
    started = time.monotonic()
    model = reward if isinstance(reward, RewardModel) else load_reward(reward)
    run_settings = change_fields(settings or ScoringSettings(), fields)
    check_behavior(run_settings.behavior, model.rubric)
    if run_settings.store is None:
        beside = Path.cwd() if str(output) == "-" else Path(output).resolve().parent
        run_settings = replace(run_settings, store=beside / STORE_NAME)
    replies = StoredReplies(run_settings.store, run_settings.retry_failures)
    scorer = BatchScorer(model, center=run_settings.center, base=run_settings.base)
    tally = ScoreTally()
    items = ItemSource(source=source, layout=run_settings)
    columns: tuple[str, ...] = SCORE_COLUMNS
    if run_settings.explain:
        columns += name_contributions(model, center=run_settings.center)

    def report(judging: JudgingProgress | None = None) -> None:
        if progress is not None:
            n_dropped = writer.set_aside.count if judging is None else judging.n_dropped
            state = ScoringProgress(n_items=tally.n_items, n_dropped=n_dropped, judging=judging)
            progress(state)

    with ExitStack() as stack:
        writer = stack.enter_context(open_rewards(output, source=source))
        verdict_file, calls = None, None
        chosen = choose_source(model, verdicts, judge=judge, other_judge=run_settings.other_judge)
        if isinstance(chosen, JudgeSource):
            verdict_file, calls = _judge_first(
                items,
                chosen.plan,
                run_settings,
                stack=stack,
                stopping=stopping,
                progress=report,
            )
            stored = open_reward_verdicts(model, verdict_file)
        else:
            stored = chosen
        source_of_rests = partial(collect_rests, model=model, source=chosen, replies=replies)
        reading = run_settings.reading(judged=model.judge.judged)
        for batch in items.stream_items(reading, batch_size=_BATCH_ITEMS):
            writer.set_aside.add(batch.dropped)
            if batch.items:
                scores = scorer.score(
                    batch.items, stored.collect(batch.items), collect_rests=source_of_rests
                )
                frame = make_reward_frame(scores)
                tally.add(frame)
                if run_settings.explain:
                    added = make_contribution_frame(model, scores)
                    frame = pl.concat([frame, added], how="horizontal")
                writer.add(frame)
                report()
        scorer.check_base()
        items.check_unchanged()
        dropped_output = writer.publish(columns)
    seconds = time.monotonic() - started
    return ScoringSummary(
        output=str(output),
        reward=model.name,
        reward_hash=model.content_hash,
        rubric=model.rubric.name,
        rubric_version=model.rubric.version,
        judge=stored.verdicts.judge,
        fingerprint=stored.verdicts.fingerprint,
        n_items=tally.n_items,
        n_scored=tally.n_scored,
        missing=tally.missing,
        behaviors=tally.behaviors(tuple(row.id for row in model.rubric.behaviors)),
        is_centered=run_settings.center,
        n_dropped=writer.set_aside.count,
        dropped=writer.set_aside.first,
        dropped_output=dropped_output,
        seconds=seconds,
        items_per_second=tally.n_items / seconds if seconds > 0 else float("nan"),
        notes=(*chosen.notes, *scorer.notes),
        calls=calls,
    )


def _judge_first(
    items: ItemSource,
    plan: JudgingPlan,
    settings: ScoringSettings,
    *,
    stack: ExitStack,
    **watching: Any,
) -> tuple[Path, CallSummary | None]:
    """Judge every item into a temporary file; a repeated run finds replies in the store."""
    items.save()
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="voirdire-")))
    path = folder / "verdicts.parquet"
    return path, judge_source(items, path, plan, settings, **watching).calls
