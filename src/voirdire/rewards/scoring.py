"""Score a file of items of any size into a file of rewards, batch by batch."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from voirdire._validation import change_fields
from voirdire.io.verdicts import add_numbers
from voirdire.judging.binding import EngineJudge, check_behavior
from voirdire.judging.items import ItemSource
from voirdire.judging.outputs import STORE_NAME, TableWriter, open_replies
from voirdire.judging.run import judge_batches
from voirdire.judging.settings import StoredReplies
from voirdire.judging.summary import JudgingProgress, RunRecord
from voirdire.records import Dropped  # noqa: TC001  # as above
from voirdire.records.replies import CallSummary  # noqa: TC001  # as above
from voirdire.records.tables import Tabular
from voirdire.rewards.model import RewardModel
from voirdire.rewards.reward_file import load_reward
from voirdire.rewards.scores import (
    BatchScorer,
    group_rows,
    hide_unknown_behaviors,
    make_contribution_frame,
    name_contributions,
)
from voirdire.rewards.second_judge import JudgeParting  # noqa: TC001  # as above
from voirdire.rewards.settings import ScoringSettings
from voirdire.rewards.verdict_source import JudgeSource, choose_source

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator, Iterator, Sequence

    from voirdire.io.declared import ItemReading
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.outputs import SetAside
    from voirdire.records import Item, Verdicts
    from voirdire.rewards.scores import Scores
    from voirdire.rewards.verdict_source import StoredSource

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
    notes : tuple of str
        What the reader should know.
    calls : CallSummary or None
        Counts and cost of the calls, where a language model judged.
    parting : JudgeParting or None
        Where the judge parts from that of the training whose run was scored; None without one.
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
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None
    parting: JudgeParting | None = None

    PLAIN: ClassVar = ("n_missing",)

    @property
    def n_missing(self) -> int:
        """Items without a reward."""
        return self.n_items - self.n_scored


class _Tally:
    """Adds up the rewards of a run, batch by batch, without keeping them."""

    def __init__(self, seen: Callable[[Scores], None] | None) -> None:
        self._seen = seen
        self.n_items = self.n_scored = 0
        self.missing: Counter[str] = Counter()
        # by behavior counts, means of reward, rule and base, squares about the mean, the range
        self._sums: dict[str | None, list[Any]] = {}

    def add(self, scores: Scores) -> None:
        """Add a batch, and show it."""
        if self._seen is not None:
            self._seen(scores)
        parts = np.stack([scores.rewards, scores.rule_rewards, scores.base_rewards])
        is_scored = np.isfinite(parts[0])
        self.n_items += len(scores.items)
        self.n_scored += int(is_scored.sum())
        for reason, n_items in Counter(scores.missing.values()).items():
            is_counted = reason in self.missing or len(self.missing) < _MOST_NAMED
            self.missing[reason if is_counted else _OTHER] += n_items
        for behavior, rows in group_rows(scores.behaviors).items():
            if behavior not in self._sums and len(self._sums) == _MOST_NAMED:
                continue  # of a hostile file each item has its own
            own = parts[:, rows[is_scored[rows]]]
            sums = self._sums.setdefault(behavior, [0, 0, np.zeros(3), 0.0, math.inf, -math.inf])
            sums[0] += rows.size
            if n := own.shape[1]:  # Chan, Golub and LeVeque: squares about the mean keep all digits
                means, total = own.mean(axis=1), sums[1] + n
                shift = means - sums[2]
                sums[3] += ((own[0] - means[0]) ** 2).sum() + shift[0] ** 2 * sums[1] * n / total
                sums[2] = sums[2] + shift * (n / total)
                sums[1:2] = [total]
                sums[4:] = [min(sums[4], own[0].min()), max(sums[5], own[0].max())]

    def list_behaviors(self, order: Sequence[str]) -> tuple[BehaviorScores, ...]:
        """List the figures of each behavior, those of the rubric first and in its order."""
        others = sorted(self._sums.keys() - set(order), key=str)
        rows = []
        for name in [*(name for name in order if name in self._sums), *others]:
            n_items, n, means, squares, *ends = self._sums[name]
            mean, mean_rule, mean_base = map(float, means if n else np.full(3, np.nan))
            least, most = map(float, ends if n else (math.nan, math.nan))
            rows.append(
                BehaviorScores(
                    behavior=name,
                    n_items=n_items,
                    n_scored=n,
                    mean=mean,
                    standard_deviation=math.sqrt(squares / (n - 1)) if n > 1 else math.nan,
                    minimum=least,
                    maximum=most,
                    mean_rule=mean_rule,
                    mean_base=mean_base,
                )
            )
        return tuple(rows)


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
    progress: Callable[[JudgingProgress], None] | None = None,
    stopping: threading.Event | None = None,
    seen: Callable[[Scores], None] | None = None,
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
        Called with a `voirdire.judging.JudgingProgress` now and then.
    stopping : threading.Event, optional
        Set it from another thread to end the calls to a language model as Ctrl-C does.
    seen : callable, optional
        Called with the rewards of each batch.
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
    *Memory*: a few thousand items, 16 bytes an item to find repeated ids, and stored verdicts: 8
    bytes a proposition and item, and their ids. Standard input is kept in a temporary file where
    its items are judged, since it is read twice.
    *Retries and caching*: the judge's limits and the store.
    """
    model = reward if isinstance(reward, RewardModel) else load_reward(reward)
    run_settings = change_fields(settings or ScoringSettings(), fields)
    check_behavior(run_settings.behavior, model.rubric)
    if run_settings.store is None:
        beside = Path.cwd() if str(output) == "-" else Path(output).resolve().parent
        run_settings = replace(run_settings, store=beside / STORE_NAME)
    replies = StoredReplies(run_settings.store, run_settings.retry_failures)
    tally = _Tally(seen)
    items = ItemSource(source=source, layout=run_settings)
    chosen = choose_source(model, verdicts, judge=judge, other_judge=run_settings.other_judge)
    columns: tuple[str, ...] = SCORE_COLUMNS
    if run_settings.explain:
        columns += name_contributions(model, center=run_settings.center)

    with ExitStack() as stack:
        writer = stack.enter_context(open_rewards(output, source=source))
        record = None
        if isinstance(chosen, JudgeSource):
            if isinstance(chosen.plan.judge, EngineJudge):
                replies = stack.enter_context(open_replies(replies, output=writer.target))
            record = RunRecord(chosen.plan, progress, set_aside=writer.set_aside)
            about = {"replies": replies, "stopping": stopping, "workers": run_settings.workers}
            batches = _judge(items, chosen, record, **about)
            who = chosen.plan.judge.name, chosen.plan.fingerprint
        else:
            of_item = model.rubric.of_item
            reading = run_settings.reading(judged=model.judge.judged, criteria=of_item)
            batches = _look_up(items, chosen, reading, writer.set_aside)
            who = chosen.verdicts.judge, chosen.verdicts.fingerprint
        base, center = run_settings.base, run_settings.center
        scorer = BatchScorer(model, chosen, replies=replies, center=center, base=base)
        for batch, judged in stack.enter_context(closing(batches)):
            scores = scorer.score(batch, judged)
            frame = make_reward_frame(scores)
            tally.add(scores)
            if run_settings.explain:
                added = make_contribution_frame(model, scores)
                frame = pl.concat([frame, added], how="horizontal")
            writer.add(frame)
            if record is None and progress is not None:
                n_dropped = writer.set_aside.count
                progress(JudgingProgress(n_items=tally.n_items, n_reused=0, n_dropped=n_dropped))
        if not tally.n_items:
            items.refuse_empty(writer.set_aside)
        scorer.check_base()
        items.check_unchanged()
        dropped_output = writer.publish(columns)
    return ScoringSummary(
        output=str(output),
        reward=model.name,
        reward_hash=model.content_hash,
        rubric=model.rubric.name,
        rubric_version=model.rubric.version,
        judge=who[0],
        fingerprint=who[1],
        n_items=tally.n_items,
        n_scored=tally.n_scored,
        missing=dict(tally.missing.most_common()),
        behaviors=tally.list_behaviors([row.id for row in model.rubric.behaviors]),
        is_centered=run_settings.center,
        n_dropped=writer.set_aside.count,
        dropped=writer.set_aside.first,
        dropped_output=dropped_output,
        notes=scorer.notes,
        calls=None if record is None else record.summarize_calls(),
    )


def _judge(
    items: ItemSource, source: JudgeSource, record: RunRecord, **asking: Any
) -> Generator[tuple[list[Item], Verdicts]]:
    """Judge the items of a file, and give each batch with its verdicts."""
    waiting: deque[Item] = deque()

    def stream() -> Iterator[Item]:
        for item in items.stream(source.plan, record.set_aside, keeps_unknown=True):
            waiting.append(item)
            yield from hide_unknown_behaviors([item], source.rubric)

    with closing(judge_batches(stream(), source.plan, record, **asking)) as batches:
        for judged in batches:
            batch: list[Item] = []
            while sum(len(item.criteria) or 1 for item in batch) < len(judged.items):
                batch.append(waiting.popleft())
            yield batch, add_numbers(judged, source.rubric, source.questions)


def _look_up(
    items: ItemSource, source: StoredSource, reading: ItemReading, set_aside: SetAside
) -> Generator[tuple[list[Item], Verdicts]]:
    """Give each batch of the items of a file with the verdicts that are stored."""
    for batch in items.stream_items(reading, batch_size=_BATCH_ITEMS):
        set_aside.add(batch.dropped)
        if batch.items:
            yield batch.items, source.collect(batch.items)
