"""The completions of a training run as items and verdicts, to be scored by another reward."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire.documents import hash_content
from voirdire.errors import NoDataError
from voirdire.records.verdicts import NO_VERDICT, Verdicts
from voirdire.rewards.training.completion_rows import (
    TEXTS,
    name_proposition_column,
    read_texts,
)
from voirdire.rewards.training.run_files import hash_questions, is_run
from voirdire.rewards.training.run_reading import read_completion_frames, read_training_run

if TYPE_CHECKING:
    from contextlib import ExitStack

    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.settings import ScoringSettings
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["open_run_items"]

_FAILED = "failed verdict: "
_OTHER_JUDGE = "judged by another judge than the rest of the run"
_NOT_TAKEN = (
    "the run's verdicts are of another judge than the reward's, or on other questions: all "
    "completions are judged"
)


def open_run_items(
    source: str | Path, reward: RewardModel, *, settings: ScoringSettings, stack: ExitStack
) -> tuple[str | Path, Verdicts | None, tuple[str, ...]]:
    """Write the completions of a run as items; give them with its verdicts where they fit.

    What is no folder of a run is given back.

    They fit where judge, questions and settings are those of the reward, whatever its weights and
    classes; or on the same questions where the reward is bound to no judge, or to another one that
    is allowed.
    """
    if not is_run(Path(source)):
        return source, None, ()
    run = read_training_run(source)
    items = Path(stack.enter_context(TemporaryDirectory(prefix="voirdire-"))) / "items.jsonl"
    adds_base = reward.uses_base or settings.base is not None
    names = [name_proposition_column(name) for name in run.propositions]
    about = ["item", *TEXTS, "behavior", "group", "base_reward", "missing", "fingerprint"]
    ids: list[str] = []
    values = [np.zeros((0, len(names)))]
    reasons: dict[str, str] = {}
    with items.open("wb") as file:
        for frame in read_completion_frames(run, columns=[*about, *names]):
            for row in frame.select(about).iter_rows(named=True):
                prompt, response = read_texts(row)
                item = {"id": row["item"], "prompt": prompt, "response": response}
                item |= {name: row[name] for name in ("behavior", "group")}
                base = {"base_reward": row["base_reward"]} if adds_base else {}
                file.write(msgspec.json.encode(item | base) + b"\n")
                is_own = row["fingerprint"] == run.fingerprint
                why = (row["missing"] or NO_VERDICT).removeprefix(_FAILED)
                reasons[row["item"]] = why if is_own else _OTHER_JUDGE
            is_own = (frame["fingerprint"] == run.fingerprint).to_numpy()
            values.append(np.where(is_own[:, None], frame.select(names).to_numpy(), np.nan))
            ids += frame["item"].to_list()
    if not ids:
        msg = f"`items` must hold completions, got none in {str(source)!r}."
        raise NoDataError(msg)
    own, fingerprint = reward.judge, _find_fingerprint(run, reward)
    asked = hash_questions(reward)
    is_same = all(run.question_hashes.get(name) == asked[name] for name in asked)
    if run.judged != own.judged or not is_same or not (fingerprint or settings.other_judge):
        return items, None, (*run.dropped, _NOT_TAKEN)
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
    return items, verdicts, run.dropped


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
