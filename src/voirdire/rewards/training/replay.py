"""Score the completions of a finished run by another reward, and compare both rewards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.documents import hash_content
from voirdire.errors import InputError, NoDataError
from voirdire.io.verdict_files import verdict_format
from voirdire.io.verdicts import add_numbers
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.binding import BoundJudge
from voirdire.judging.outputs import STORE_NAME, TableWriter
from voirdire.records import Failure, Verdicts
from voirdire.records.tables import Tabular
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.reward_file import load_reward
from voirdire.rewards.scores import NO_BASE, Combiner
from voirdire.rewards.scoring import SCORE_COLUMNS, make_reward_frame, open_rewards
from voirdire.rewards.settings import ReplaySettings
from voirdire.rewards.training.completion_rows import (
    ITEM_COLUMNS,
    make_item,
    name_proposition_column,
)
from voirdire.rewards.training.run import TrainingRun
from voirdire.rewards.training.run_files import hash_questions, is_part_of_run
from voirdire.rewards.training.run_reading import read_completion_frames, read_training_run
from voirdire.rewards.training.step_figures import EQUAL_REWARDS, list_paying_by_behavior
from voirdire.rewards.verdict_source import JudgeSource, collect_rests, plan_reward_judging

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Item
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scores import Scores

__all__ = ["GroupRanks", "Replay", "ReplayPart", "replay"]

_COLUMNS = ("item", "step", "behavior", "group", "base_reward", "reward", "missing", "fingerprint")
_MOST_REMEMBERED = 50_000
_FAILED = "failed verdict: "
_NOBODY_ASKED = "the run has no verdict that fits, and no judge was named"
_NOT_CENTRED = (
    "the run's rewards were centred; these are not, since the means of the reward are unknown"
)
_JUDGED_ELSEWHERE = "judged by another judge than the rest of the run"
_NO_TEXTS = "completions without text are paid without gate: the run does not hold what it reads"
_MOST_REASONS = 100


@dataclass(frozen=True, kw_only=True)
class GroupRanks:
    """The order within groups under two rewards.

    Attributes
    ----------
    n_groups : int
        Groups with two or more completions that have both rewards.
    n_pairs : int
        Pairs of completions of one group that have both rewards.
    n_same, n_reversed : int
        Pairs that both rewards put in the same order, and in opposite ones.
        In the others one reward or both are equal.
    same_order_share : float
        `n_same` over the pairs that one reward or the other parts; nan where there are none.
    best_changed_share : float
        Share of the groups in which no completion that was best is best; nan without groups.
    """

    n_groups: int
    n_pairs: int
    n_same: int
    n_reversed: int
    same_order_share: float
    best_changed_share: float


@dataclass(frozen=True, kw_only=True)
class ReplayPart:
    """A step or a behavior under the run's reward and under the other one.

    Attributes
    ----------
    step : int or None
        None where it is a behavior.
    behavior : str or None
        None where it is a step, or completions have none.
    n : int
        Completions.
    n_before, n_after : int
        Those of them with a reward in the run, and in the replay.
    mean_before, mean_after : float
        Mean reward over these; nan where there are none.
    sd_before, sd_after : float
        Standard deviation; nan of fewer than two.
    correlation : float
        Of the two rewards where both are there; nan where one does not vary.
    ranks : GroupRanks
        How the order within groups changed.
    """

    step: int | None = None
    behavior: str | None = None
    n: int
    n_before: int
    n_after: int
    mean_before: float
    mean_after: float
    sd_before: float
    sd_after: float
    correlation: float
    ranks: GroupRanks


@dataclass(frozen=True, kw_only=True)
class Replay(Tabular, rows="behaviors"):
    """A training run's completions under another reward.

    Attributes
    ----------
    run : str
        Its folder.
    reward_before, hash_before : str
        Name and content hash of the reward that paid.
    reward, reward_hash : str
        Of the other one.
    judge : str
        Whose verdicts were used.
    n : int
        Completions.
    n_before, n_after : int
        Those of them with a reward in the run, and in the replay.
    n_reused : int
        Completions whose verdicts were those of the run.
    n_judged : int
        Different completions that were judged anew.
    missing : mapping of str to int
        Why the others have no reward; the most frequent reason first.
    whole : ReplayPart
        All completions together.
    steps : tuple of ReplayPart
        In their order.
    behaviors : tuple of ReplayPart
        In the order in which they appear.
    output : str or None
        The file of rewards.
    notes : tuple of str
        What the reader should know.
    dropped : tuple of str
        Parts of the run that could not be read, and why.
    """

    run: str
    reward_before: str
    hash_before: str
    reward: str
    reward_hash: str
    judge: str
    n: int
    n_before: int
    n_after: int
    n_reused: int
    n_judged: int
    missing: Mapping[str, int]
    whole: ReplayPart
    steps: tuple[ReplayPart, ...] = field(repr=False)
    behaviors: tuple[ReplayPart, ...]
    output: str | None = None
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def replay(
    run: TrainingRun | str | Path,
    reward: RewardModel | str | Path,
    *,
    judge: JudgeLike | None = None,
    settings: ReplaySettings | None = None,
    output: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
    stopping: threading.Event | None = None,
    **fields: Any,
) -> Replay:
    """Give the completions of a training run the rewards that another reward would have given.

    Parameters
    ----------
    run : TrainingRun, str or path
        The run, or its folder.
    reward : RewardModel, str or path
        The other reward, or its file.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who judges where the run has no verdict that fits; ``"own"`` is the reward's own judge. By
        default nobody is asked, and such a completion has no reward, and a reason.
    settings : ReplaySettings, optional
        Whose verdicts are taken, and where replies are kept.
    output : str or path, optional
        A file of rewards as `score_file` writes it, ``.parquet``, ``.jsonl`` or ``.csv``.
    progress : callable, optional
        Called now and then with the number of completions so far.
    stopping : threading.Event, optional
        Set it from another thread to end the calls to a language model as Ctrl-C does.
    **fields
        Fields of `ReplaySettings`, each of which counts before that of `settings`:

        - `other_judge`: take verdicts of another judge than the reward was fitted on.
        - `store`: where a language model's replies are kept; by default
          ``voirdire-replies.sqlite`` in the folder of the run.
        - `retry_failures`: call a language model again where it failed in an earlier run.

    Returns
    -------
    Replay
        Both rewards side by side: by step, by behavior, and in their order within groups.

    Raises
    ------
    NoDataError
        If the run holds no completions.
    InputError
        If the judge is another one than the reward's, or an argument breaks its rule.

    Notes
    -----
    *Which verdicts fit*: those of the same judge, rubric and settings. Where classes or weights
    changed but no question did, all of them; where the rubric is another one, those of a judge in
    process proposition by proposition, and those of a language model as far as it was asked the
    same questions. Base rewards and behaviors are the run's; where its rewards were centred,
    those of the replay are too, if the other reward knows its means.

    *Order*: rewards follow the parts of the run, in the order of their first steps. *Errors*: what
    a judge does is a missing reward; a file that cannot be read is left out and listed.
    *Cancellation*: nothing is written under the name of the output; replies that came are in the
    store. *Memory*: some 50,000 completions, and some 50 bytes for each. *Retries and caching*: the
    judge's limits and the store; equal completions are judged once.
    """
    run_settings = change_fields(settings or ReplaySettings(), fields)
    rescorer = _Rescorer(run, reward, judge=judge, settings=run_settings)
    rescorer.asking["stopping"] = stopping
    tally = _Tally()
    with ExitStack() as stack:
        writer = None if output is None else _open_writer(output, rescorer.run, stack)
        for frame in rescorer.read_frames():
            scores = rescorer.scores(frame)
            tally.add(frame, scores)
            if writer is not None:
                writer.add(make_reward_frame(scores))
            if progress is not None:
                progress(rescorer.n)
        if writer is not None:
            writer.publish(SCORE_COLUMNS)
    whole, steps, behaviors = tally.parts()
    return Replay(
        run=str(rescorer.run.folder),
        reward_before=rescorer.run.reward_name,
        hash_before=rescorer.run.reward_hash,
        reward=rescorer.reward.name,
        reward_hash=rescorer.reward.content_hash,
        judge=rescorer.judge,
        n=rescorer.n,
        n_before=whole.n_before,
        n_after=whole.n_after,
        n_reused=rescorer.n_reused,
        n_judged=rescorer.n_judged,
        missing=tally.missing,
        whole=whole,
        steps=steps,
        behaviors=behaviors,
        output=None if output is None else str(output),
        notes=rescorer.notes,
        dropped=rescorer.run.dropped,
    )


class _Rescorer:
    """Scores completions by another reward, from the run's own verdicts or new ones."""

    def __init__(
        self,
        run: TrainingRun | str | Path,
        reward: RewardModel | str | Path,
        *,
        judge: JudgeLike | None,
        settings: ReplaySettings,
    ) -> None:
        self.run = run if isinstance(run, TrainingRun) else read_training_run(run)
        self.reward = load_reward(reward) if isinstance(reward, str | Path) else reward
        if not self.run.steps:
            msg = f"`run` must hold completions, got none in {str(self.run.folder)!r}."
            raise NoDataError(msg)
        self.asking: dict[str, Any] = {}
        self.plan: JudgingPlan | None = None
        self.notes: tuple[str, ...] = ()
        if judge is not None:
            self.plan = plan_reward_judging(self.reward, judge, other_judge=settings.other_judge)
            self.notes = self.plan.notes
            if isinstance(self.plan.judge, BoundJudge):
                store = settings.store
                store = self.run.folder / STORE_NAME if store is None else store
                self.asking["replies"] = replace(settings.replies, store=store)
        self.judge = self.run.judge if self.plan is None else self.plan.judge.name
        self._fingerprint = (self.plan or self.run).fingerprint
        self._reused_propositions, note = _find_fitting_verdicts(
            self.run, self.reward, plan=self.plan, other_judge=settings.other_judge
        )
        means = [row.mean for row in self.reward.behaviors.values()]
        is_centered = self.run.is_centered and bool(np.isfinite(means).all())
        self._combiner = Combiner(self.reward, center=is_centered)
        plain = _NOT_CENTRED if self.run.is_centered and not is_centered else ""
        self.notes += tuple(filter(None, (note, plain)))
        self._names = self.reward.columns
        self._needed = {
            behavior: [self._names.index(name) for name in asked]
            for behavior, asked in list_paying_by_behavior(self.reward).items()
        }
        self._judged_items: dict[bytes, tuple[NDArray[np.float64], str | None]] = {}
        self.n = self.n_reused = self.n_judged = 0

    def read_frames(self) -> Iterator[pl.DataFrame]:
        """Read the completions of the run; their texts only where judge or guards need them."""
        taken = [
            name_proposition_column(name)
            for name in self._names
            if name in self._reused_propositions
        ]
        texts = ITEM_COLUMNS if self.plan is not None or self._combiner.guards else ()
        for frame in read_completion_frames(
            self.run, columns=list(dict.fromkeys((*_COLUMNS, *texts, *taken)))
        ):
            self.n += frame.height
            yield frame

    def scores(self, frame: pl.DataFrame) -> Scores:
        """Score completions."""
        lacks_base = frame.filter(pl.col("base_reward").is_null())["item"].to_list()
        items: list[Item | None] = []
        behind = None
        if self._combiner.guards:
            judged = self.reward.judge.judged
            rows = frame.select("item", *ITEM_COLUMNS).iter_rows(named=True)
            items = [make_item(row, name=row["item"], judged=judged) for row in rows]
            if None in items and _NO_TEXTS not in self.notes:
                self.notes = (*self.notes, _NO_TEXTS)
            rests = self._combiner.guards.list_rests([item for item in items if item is not None])
            source = None
            if self.plan is not None:
                source = JudgeSource(
                    plan=self.plan, rubric=self.reward.rubric, questions=self.reward.questions
                )
            if rests:
                behind = collect_rests(rests, model=self.reward, source=source, **self.asking)
        return self._combiner.score(
            self._collect_verdicts(frame),
            behaviors=frame["behavior"].to_list(),
            base=frame["base_reward"].to_numpy(),
            base_reasons=dict.fromkeys(lacks_base, NO_BASE),
            items=items,
            behind=behind,
        )

    def _collect_verdicts(self, frame: pl.DataFrame) -> Verdicts:
        values, lacking = self._select_run_verdicts(frame)
        reasons = dict(zip(lacking.tolist(), self._explain_missing(frame[lacking]), strict=True))
        self._judge_lacking(
            list(self._list_different_items(frame, lacking)), values=values, reasons=reasons
        )
        is_missing = np.isnan(values)
        columns = is_missing.argmax(axis=1)
        return Verdicts(
            items=tuple(frame["item"].to_list()),
            questions=self._names,
            probabilities=values,
            behaviors=(None,) * frame.height,
            judge=self.judge,
            fingerprint=self._fingerprint,
            threshold=self.reward.judge.threshold,
            failures={
                (row, int(columns[row])): Failure(reason=reason)
                for row, reason in reasons.items()
                if is_missing[row, columns[row]]
            },
        )

    def _select_run_verdicts(
        self, frame: pl.DataFrame
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Select the run's verdicts that fit; also return the places of completions without."""
        fits = pl.col("fingerprint") == self.run.fingerprint
        nothing = pl.repeat(None, pl.len(), dtype=pl.Float64)
        values = frame.select(
            pl.when(fits).then(name_proposition_column(name)).alias(str(place))
            if name in self._reused_propositions
            else nothing.alias(str(place))
            for place, name in enumerate(self._names)
        ).to_numpy(writable=True)
        lacks = np.zeros(frame.height, dtype=bool)
        for behavior, needed in self._needed.items():  # without weights no verdict counts
            rows = frame["behavior"].eq_missing(behavior).to_numpy()
            lacks |= rows & np.isnan(values[:, needed]).any(axis=1)
            self.n_reused += int(rows.sum())
        lacking = np.flatnonzero(lacks)
        self.n_reused -= lacking.size
        return values, lacking

    def _explain_missing(self, frame: pl.DataFrame) -> list[str]:
        """Explain why completions have no verdict, by the run's own reason where it has one."""
        missing = pl.col("missing")
        is_of_verdict = missing.str.starts_with(_FAILED) | missing.str.starts_with(NO_VERDICT)
        is_of_run = pl.col("fingerprint") == self.run.fingerprint
        reasons = frame.select(
            pl.when(is_of_verdict)
            .then(missing.str.strip_prefix(_FAILED))
            .when(is_of_run)
            .then(pl.lit(_NOBODY_ASKED))
            .otherwise(pl.lit(_JUDGED_ELSEWHERE))
        )
        return reasons.to_series().to_list()

    def _list_different_items(
        self, frame: pl.DataFrame, rows: NDArray[np.int64]
    ) -> Iterator[tuple[bytes, Item, list[int]]]:
        """List the completions that can be judged, equal ones once, with their places."""
        if self.plan is None or not rows.size:
            return
        texts = frame.select(ITEM_COLUMNS).with_row_index("places")[rows]
        for row in texts.group_by(ITEM_COLUMNS, maintain_order=True).all().iter_rows(named=True):
            places = row["places"]
            item = make_item(row, name=str(places[0]), judged=self.reward.judge.judged)
            if item is not None:
                yield item.content_hash(), item, places

    def _judge_lacking(
        self,
        different: Sequence[tuple[bytes, Item, list[int]]],
        *,
        values: NDArray[np.float64],
        reasons: dict[int, str],
    ) -> None:
        """Judge completions that are not judged yet, and fill in their missing values."""
        new = {key: item for key, item, _ in different if key not in self._judged_items}
        if new and self.plan is not None:
            verdicts = judge_by_plan(list(new.values()), self.plan, **self.asking)
            verdicts = add_numbers(verdicts, self.reward.rubric, self.reward.questions)
            self.n_judged += len(new)
            failures = [verdicts.missing.get(name) for name in verdicts.items]
            answers = zip(verdicts.on(self._names).probabilities, failures, strict=True)
            self._judged_items |= zip(new, answers, strict=True)
        for key, _, places in different:
            probabilities, failure = self._judged_items[key]
            values[places] = np.where(np.isnan(values[places]), probabilities, values[places])
            reasons |= dict.fromkeys(places, failure or NO_VERDICT)
        if len(self._judged_items) > _MOST_REMEMBERED:
            self._judged_items.clear()


def _find_fitting_verdicts(
    run: TrainingRun, reward: RewardModel, *, plan: JudgingPlan | None, other_judge: bool
) -> tuple[frozenset[str], str]:
    """Find the propositions whose verdicts the reward can reuse, with a note.

    It can reuse all of them where judge, rubric and settings are the same. Where only the rubric is
    another one, it can reuse those that both have of a judge in process. Of a language model it can
    reuse those whose questions are the same, since one prompt holds all questions.
    """
    common = frozenset(run.propositions) & frozenset(reward.columns)
    hashes = hash_questions(reward)
    same = frozenset(name for name in common if run.question_hashes.get(name) == hashes[name])
    judge_of_reward = reward.judge
    if run.judged != judge_of_reward.judged:
        return frozenset(), (
            f"the run's verdicts are on another part of responses ({run.judged}) than the "
            f"reward's ({judge_of_reward.judged}), and are not used"
        )
    if plan is not None:
        judge = plan.judge.fingerprint
        in_run = {
            "judge": judge,
            "rubric": run.rubric_hash,
            "threshold": run.threshold,
            "judged": run.judged,
            "class_rule": run.class_rule,
        }
        if run.fingerprint in (plan.fingerprint, hash_content(in_run)):
            return same if isinstance(plan.judge, BoundJudge) else common, ""
        if judge == run.judge_fingerprint:
            return same, ""
        return frozenset(), (
            "the run's verdicts are of another judge, or on other questions: all completions are "
            "judged again"
        )
    if not judge_of_reward.fingerprint or judge_of_reward.fingerprint == run.fingerprint:
        changed = ", ".join(sorted(common - same))
        note = f"asked with other words than in the run, whose answers are not used: {changed}"
        return same, note if changed else ""
    as_own = {
        "judge": run.judge_fingerprint,
        "rubric": reward.rubric.content_hash,
        "threshold": judge_of_reward.threshold,
        "judged": judge_of_reward.judged,
        "class_rule": reward.rubric.class_rule,
    }
    if run.judge_fingerprint and judge_of_reward.fingerprint == hash_content(as_own):
        return common, ""
    if other_judge:
        return same, "the run's verdicts are of another judge than the reward was fitted on"
    return frozenset(), (
        "the reward was fitted on another judge than the run's, whose verdicts are not used; "
        "name a judge, or use them with `other_judge=True`"
    )


# Files ------------------------------------------------------------------------------------------


def _open_writer(output: str | Path, run: TrainingRun, stack: ExitStack) -> TableWriter:
    verdict_format(Path(output))
    writer = open_rewards(output, source=run.folder)
    if is_part_of_run(Path(output).resolve(), run.folder):
        msg = (
            f"`output` must be no file of the run itself, got {shorten(str(output), width=160)!r}. "
            "Give it another name."
        )
        raise InputError(msg)
    return stack.enter_context(writer)


# Figures -----------------------------------------------------------------------------------------


class _Tally:
    """Adds up a replay batch by batch: a few numbers per completion, no texts."""

    def __init__(self) -> None:
        self._batches = [pl.DataFrame(schema=_SCHEMA)]
        self._missing: Counter[str] = Counter()

    def add(self, frame: pl.DataFrame, scores: Scores) -> None:
        """Add a batch of completions and their rewards in the replay."""
        after = pl.Series(scores.rewards).fill_nan(None)
        rows = frame.select("step", "group", "behavior", before="reward", after=after)
        self._batches.append(rows.cast(_SCHEMA))  # type: ignore[arg-type]  # names to types
        for reason, n in Counter(scores.missing.values()).items():
            is_known = reason in self._missing or len(self._missing) < _MOST_REASONS
            self._missing[reason if is_known else "other reasons"] += n

    @property
    def missing(self) -> dict[str, int]:
        """Count the reasons, the most frequent first."""
        return dict(self._missing.most_common())

    def parts(self) -> tuple[ReplayPart, tuple[ReplayPart, ...], tuple[ReplayPart, ...]]:
        """Compute the figures of all completions, of each step, and of each behavior."""
        rows = pl.concat(self._batches)
        steps, step_orders = _compute_figures("step", rows.sort("step", maintain_order=True))
        behaviors, behavior_orders = _compute_figures("behavior", rows)
        [whole] = rows.select(**_FIGURES).to_dicts()
        return (
            _make_part(whole, step_orders.sum(axis=0)),  # a group lies within a step
            tuple(map(_make_part, steps, step_orders)),
            tuple(map(_make_part, behaviors, behavior_orders)),
        )


_SCHEMA = {
    "step": pl.Int64,
    "group": pl.String,
    "behavior": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
}
_BOTH = pl.col("before").is_not_null() & pl.col("after").is_not_null()
_X, _Y = pl.col("before").filter(_BOTH), pl.col("after").filter(_BOTH)
_FIGURES = {
    "n": pl.len(),
    **{f"n_{name}": pl.col(name).count() for name in ("before", "after")},
    **{f"mean_{name}": pl.col(name).mean() for name in ("before", "after")},
    **{f"sd_{name}": pl.col(name).std() for name in ("before", "after")},
    "correlation": pl.when(_X.min() < _X.max(), _Y.min() < _Y.max()).then(
        pl.corr(_X, _Y).clip(-1.0, 1.0)
    ),
}


def _compute_figures(
    name: str, rows: pl.DataFrame
) -> tuple[list[dict[str, Any]], NDArray[np.int64]]:
    """Compute the figures of each step or behavior, and count its orders within groups."""
    figures = rows.group_by(name, maintain_order=True).agg(**_FIGURES)
    numbers = figures.select(name).with_row_index("part")
    pairs = (
        rows.filter(_BOTH, pl.col("group").is_not_null())
        .join(numbers, on=name, nulls_equal=True, maintain_order="left")
        .sort("part", "step", "group", maintain_order=True)
    )
    orders = count_orders(
        pairs["before"].to_numpy(),
        pairs["after"].to_numpy(),
        groups=pairs.select(pl.struct("part", "step", "group").rle_id()).to_series().to_numpy(),
        parts=pairs["part"].to_numpy(),
        n_parts=figures.height,
    )
    return figures.to_dicts(), orders


def _make_part(figures: dict[str, Any], orders: NDArray[np.int64]) -> ReplayPart:
    numbers: dict[str, Any] = {
        name: math.nan if figures[name] is None else figures[name] for name in _FIGURES
    }
    return ReplayPart(
        step=figures.get("step"),
        behavior=figures.get("behavior"),
        ranks=_make_group_ranks(*orders.tolist()),
        **numbers,
    )


# The order within groups ------------------------------------------------------------------------

_KINDS = np.array([[0, 2, 1], [2, 3, 2], [1, 2, 0]])
"""Kind of a pair by the signs of its two differences: same order (0), reversed (1), tied in one
reward (2), in both (3)."""


def count_orders(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    *,
    groups: NDArray[Any],
    parts: NDArray[Any],
    n_parts: int,
) -> NDArray[np.int64]:
    """Count pairs and groups by part; the rows of a part, and of a group, stand together.

    Returns a row for each part: pairs by their kind, groups of two or more, and those of them in
    which no completion that was best is best.
    """
    counts = np.zeros((n_parts, 6), dtype=np.int64)
    if not groups.size:
        return counts
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    sizes = np.diff(np.r_[starts, groups.size])
    first, second = _rank_within_groups(before, groups), _rank_within_groups(after, groups)
    ends, rows, distance = np.repeat(starts + sizes, sizes), np.arange(groups.size), 1
    while (rows := rows[rows + distance < ends[rows]]).size:  # with the next, the one after, …
        signs = [np.sign(ranks[rows] - ranks[rows + distance]) + 1 for ranks in (first, second)]
        codes = parts[rows] * 4 + _KINDS[signs[0], signs[1]]
        counts[:, :4] += np.bincount(codes, minlength=n_parts * 4).reshape(n_parts, 4)
        distance += 1
    is_best = [
        ranks == np.repeat(np.maximum.reduceat(ranks, starts), sizes) for ranks in (first, second)
    ]
    is_changed = ~np.logical_or.reduceat(is_best[0] & is_best[1], starts)
    counts[:, 4] = np.bincount(parts[starts[sizes > 1]], minlength=n_parts)
    counts[:, 5] = np.bincount(parts[starts[(sizes > 1) & is_changed]], minlength=n_parts)
    return counts


def _rank_within_groups(values: NDArray[np.float64], groups: NDArray[Any]) -> NDArray[np.int64]:
    """Replace values by whole numbers that compare as they do within a group."""
    order = np.lexsort((values, groups))
    ordered = values[order]
    is_more = np.diff(ordered) > EQUAL_REWARDS * np.maximum(1.0, np.abs(ordered[1:]))
    ranks = np.empty(values.size, dtype=np.int64)
    ranks[order] = np.cumsum(np.r_[0, is_more | (groups[1:] != groups[:-1])])
    return ranks


def _make_group_ranks(
    same: int, turned: int, parted_once: int, tied: int, n_groups: int, n_changed: int
) -> GroupRanks:
    parted = same + turned + parted_once
    return GroupRanks(
        n_groups=n_groups,
        n_pairs=parted + tied,
        n_same=same,
        n_reversed=turned,
        same_order_share=same / parted if parted else math.nan,
        best_changed_share=n_changed / n_groups if n_groups else math.nan,
    )
