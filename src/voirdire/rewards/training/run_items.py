"""The completions of a training run as items and verdicts, to be scored by another reward."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from voirdire._validation import change_fields, check_count
from voirdire.documents import hash_content
from voirdire.errors import NoDataError
from voirdire.records.verdicts import NO_VERDICT, Verdicts
from voirdire.rewards.reward_file import load_reward
from voirdire.rewards.scoring import score_file
from voirdire.rewards.second_judge import compare_judges
from voirdire.rewards.settings import ScoringSettings
from voirdire.rewards.training.completion_rows import (
    TEXTS,
    name_proposition_column,
    read_criteria_of,
    read_texts,
)
from voirdire.rewards.training.run_files import hash_questions
from voirdire.rewards.training.run_reading import read_completion_frames, read_training_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.summary import JudgingProgress
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.scores import Scores
    from voirdire.rewards.scoring import ScoringSummary
    from voirdire.rewards.training.run import TrainingRun

_FAILED = "failed verdict: "
_OTHER_JUDGE = "judged by another judge than the rest of the run"
_NOT_TAKEN = (
    "the run's verdicts are of another judge than the reward's, or on other questions: all "
    "completions are judged"
)


def score_run(
    run: str | Path,
    output: str | Path,
    *,
    reward: RewardModel | str | Path,
    verdicts: Any = None,
    judge: JudgeLike | None = None,
    settings: ScoringSettings | None = None,
    sample: int | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
    **fields: Any,
) -> ScoringSummary:
    """Give the completions of a training run the rewards of another reward.

    Parameters
    ----------
    run : str or path
        The folder of the run.
    output : str or path
        As for `score_file`; its items are called as in the run.
    reward : RewardModel, str or path
        The other reward, or its file.
    verdicts, judge : optional
        As for `score_file`. By default the verdicts of the run are taken where they fit: where
        judge, questions and settings are those of the reward, whatever its weights and classes; or
        on the same questions where the reward is bound to no judge, or another one is allowed.
    settings : optional
        As for `score_file`.
    sample : int, optional
        Score about so many completions, drawn at random, as many of each step; by default all.
    progress, **fields : optional
        As for `score_file`.

    Returns
    -------
    ScoringSummary
        As `score_file` gives it; its notes say what was left out of the run. Where another judge
        than that of the run judged for the reward of the run, `parting` says where the two part.

    Raises
    ------
    NoDataError
        If the run holds no completion.
    InputError
        As `score_file` and `read_training_run` do.
    """
    model = load_reward(reward) if isinstance(reward, str | Path) else reward
    run_settings = change_fields(settings or ScoringSettings(), fields)
    loaded = read_training_run(run)
    with TemporaryDirectory(prefix="voirdire-") as folder:
        items = Path(folder) / "items.jsonl"
        taken, notes = _write_items(loaded, items, model, run_settings, sample=sample)
        verdicts = taken if verdicts is judge is None else verdicts
        about = {"reward": model, "verdicts": verdicts, "judge": judge, "progress": progress}
        rewards: dict[str, float] = {}

        def note(scores: Scores) -> None:
            rewards.update(zip(scores.items, scores.rule_rewards.tolist(), strict=True))

        summary = score_file(items, output, settings=run_settings, seen=note, **about)
    parting = None
    if loaded.reward_hash == model.content_hash and summary.fingerprint != loaded.fingerprint:
        columns = ["item", "step", "rule_reward"]
        frame = pl.concat(read_completion_frames(loaded, columns=columns))
        frame = frame.filter(pl.col("item").is_in(list(rewards)))
        second = [rewards[name] for name in frame["item"].to_list()]
        trained = frame["rule_reward"].fill_null(float("nan")).to_numpy()
        parting = compare_judges(frame["step"].to_list(), trained=trained, second=second)
    return replace(summary, notes=(*loaded.dropped, *notes, *summary.notes), parting=parting)


def _write_items(
    run: TrainingRun, items: Path, reward: RewardModel, told: ScoringSettings, *, sample: int | None
) -> tuple[Verdicts | None, tuple[str, ...]]:
    """Write completions of a run as items; give its verdicts on them where they fit.

    About `sample` of them are drawn, as many of each step; None takes all.
    """
    adds_base = reward.uses_base or told.base is not None
    names = [name_proposition_column(name) for name in run.propositions]
    about = ["item", *TEXTS, "behavior", "group", "base_reward", "missing", "fingerprint"]
    ids: list[str] = []
    values = [np.zeros((0, len(names)))]
    reasons: dict[str, str] = {}
    drawn = read_completion_frames(run, columns=["item", "step"])
    kept = pl.concat([pl.DataFrame(schema={"item": pl.String, "step": pl.Int64}), *drawn])
    if sample is not None:
        n_each = -(-check_count("sample", sample, minimum=1) // max(1, len(run.steps)))
        kept = kept.filter(pl.int_range(pl.len()).shuffle(seed=0).over("step") < n_each)
    with items.open("wb") as file:
        for whole in read_completion_frames(run, columns=[*about, *names]):
            frame = whole.join(kept, on="item", how="semi", maintain_order="left")
            for row in frame.select(about).iter_rows(named=True):
                prompt, response = read_texts(row)
                item = {"id": row["item"], "prompt": prompt, "response": response}
                item |= {name: row[name] for name in ("behavior", "group")}
                item |= read_criteria_of(row)
                base = {"base_reward": row["base_reward"]} if adds_base else {}
                file.write(msgspec.json.encode(item | base) + b"\n")
                is_own = row["fingerprint"] == run.fingerprint
                why = (row["missing"] or NO_VERDICT).removeprefix(_FAILED)
                reasons[row["item"]] = why if is_own else _OTHER_JUDGE
            is_own = (frame["fingerprint"] == run.fingerprint).to_numpy()
            values.append(np.where(is_own[:, None], frame.select(names).to_numpy(), np.nan))
            ids += frame["item"].to_list()
    if not ids:
        msg = f"`run` must hold completions, got none in {str(run.folder)!r}."
        raise NoDataError(msg)
    own, fingerprint = reward.judge, _find_fingerprint(run, reward)
    asked = hash_questions(reward)
    is_same = all(run.question_hashes.get(name) == asked[name] for name in asked)
    if reward.criteria is not None:  # the run keeps scores, and not which criteria are met
        return None, ()
    if run.judged != own.judged or not is_same or not (fingerprint or told.other_judge):
        return None, (_NOT_TAKEN,)
    probabilities = np.concatenate(values)
    lacking = np.flatnonzero(np.isnan(probabilities).any(axis=1)).tolist()
    verdicts = Verdicts(
        items=tuple(ids),
        questions=run.propositions,
        probabilities=probabilities,
        behaviors=(None,) * len(ids),
        judge=run.judge,
        fingerprint=fingerprint or run.fingerprint,
        threshold=run.threshold,
    ).with_reasons({ids[row]: reasons[ids[row]] for row in lacking})
    return verdicts, ()


def _find_fingerprint(run: TrainingRun, reward: RewardModel) -> str:
    """Give the fingerprint that the run's verdicts have under a reward; none where they differ."""
    own = reward.judge
    if not own.fingerprint or own.fingerprint == run.fingerprint:
        return run.fingerprint
    under = {
        "judge": run.judge_fingerprint,
        "rubric": reward.rubric.content_hash,
        "threshold": own.threshold,
        "judged": own.judged,
        "class_rule": reward.rubric.class_rule,
    }
    is_same = run.judge_fingerprint and own.fingerprint == hash_content(under)
    return own.fingerprint if is_same else ""
