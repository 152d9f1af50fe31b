"""Score the items of a folder of files into a folder of files of rewards, one for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.errors import InputError
from voirdire.io.files import files_of
from voirdire.io.parts import plan_outputs
from voirdire.judging.model_settings import LlmJudge
from voirdire.judging.outputs import STORE_NAME
from voirdire.records.tables import Tabular
from voirdire.rewards.model import RewardModel
from voirdire.rewards.reward_file import load_reward
from voirdire.rewards.scoring import ScoringSummary, score_file
from voirdire.rewards.settings import ScoringSettings
from voirdire.rewards.verdict_source import choose_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire.io.parts import Shard
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.summary import JudgingProgress


@dataclass(frozen=True, kw_only=True)
class FolderScores(Tabular, rows="parts"):
    """The figures of a run over a folder.

    Attributes
    ----------
    output : str
        The folder of the rewards.
    reward : str
        The reward's name.
    parts : tuple of ScoringSummary
        Of each file that was scored now.
    n_files, n_files_there : int
        Files of the run or of its shard, and those whose rewards were there.
    failed : mapping of str to str
        By its file, why it has no rewards.
    """

    output: str
    reward: str
    parts: tuple[ScoringSummary, ...]
    n_files: int
    n_files_there: int
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> dict[str, int]:
        """Why items have no reward, the most frequent reason first."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(part.missing)
        return dict(counts.most_common())


def score_folder(
    source: str | Path,
    output: str | Path,
    *,
    reward: RewardModel | str | Path,
    verdicts: Any = None,
    judge: JudgeLike | None = None,
    shard: Shard | str | None = None,
    suffix: str = ".parquet",
    settings: ScoringSettings | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
    **changed: Any,
) -> FolderScores:
    """Give every item of a folder of files its reward, in a file of rewards for each of them.

    Parameters
    ----------
    source, output
        As for `voirdire.judging.judge_folder`.
    reward, verdicts, judge
        As for `score_file`. A model with `max_cost` judges the folder beforehand.
    shard, suffix
        As for `voirdire.judging.judge_folder`.
    settings, progress
        As for `score_file`.
    **changed
        Fields of `ScoringSettings`, each of which counts before that of `settings`.

    Returns
    -------
    FolderScores

    Raises
    ------
    InputError
        As for `score_file`, but that a file that cannot be scored is named in the result.

    Notes
    -----
    The name of an output carries a key of the items, the reward, the judge and the settings: what
    is there is not scored again. Memory is that of `score_file`.
    """
    model = reward if isinstance(reward, RewardModel) else load_reward(reward)
    told = change_fields(settings or ScoringSettings(), changed)
    if isinstance(judge, LlmJudge) and judge.max_cost is not None:
        msg = "`max_cost` must be left out: it would hold for each file anew. Judge the folder with"
        raise InputError(f"{msg} `voirdire judge IN/ -o OUT/` first, and give its verdicts.")
    chosen = choose_source(model, verdicts, judge=judge, other_judge=told.other_judge)
    judged_by = getattr(chosen, "plan", None) or chosen.verdicts  # type: ignore[union-attr]
    given = verdicts if isinstance(verdicts, list | tuple) else [verdicts]
    files = [Path(x) for part in given if isinstance(part, str | Path) for x in files_of(part)]
    about = {"reward": model.content_hash, "judge": judged_by.fingerprint}
    about |= {"verdicts": [(x.name, x.stat().st_size, x.stat().st_mtime_ns) for x in files]}
    outputs = plan_outputs(source, output, shard=shard, suffix=suffix, settings=told, **about)
    if told.store is None:
        told = replace(told, store=outputs.place(STORE_NAME))
    parts, failed = [], {}
    for target, part in outputs.parts.items():
        if target.exists():
            continue
        asked: dict[str, Any] = {"reward": model, "settings": told, "progress": progress}
        asked |= {"judge": judge} if verdicts is None else {"verdicts": chosen}
        try:
            parts.append(score_file(part.source, target, **asked))  # type: ignore[arg-type]
        except InputError as error:
            failed[str(part)] = str(error)
    return FolderScores(
        output=str(outputs.folder),
        reward=model.name,
        parts=tuple(parts),
        n_files=len(outputs.parts),
        n_files_there=len(outputs.parts) - len(parts) - len(failed),
        failed=failed,
    )
