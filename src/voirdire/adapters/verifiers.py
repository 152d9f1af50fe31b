"""Makes a reward a judge of verifiers, the library of environments.

verifiers is imported when a judge is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.adapters.guarded import GuardedReward
from voirdire.errors import InputError, JudgeUnavailableError
from voirdire.rewards.live.turns import make_turn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from voirdire.rewards.model import RewardModel


def verifiers_judge(
    reward: RewardModel | str | Path, *, weight: float = 1.0, **settings: Any
) -> Any:
    """Make a ``vf.Judge`` whose `score` is a reward.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, its file, or the address of a running ``voirdire serve``.
    weight : float, optional
        Of the reward among others of a task.
    **settings
        The keywords of `GuardedReward`: `name`, `judge`, `behavior`, `record` and so on.

    Returns
    -------
    verifiers.v1.Judge
        ``await judge.score(task, trace)`` gives ``{name: reward}``. The criteria, reference answer
        and behavior are fields of the task; what is judged is the last reply.

    Raises
    ------
    InputError
        If verifiers is missing, or as `GuardedReward` does. A failure of the judge is a
        `JudgeUnavailableError` of `score`, so that it is no score of the model.

    Notes
    -----
    *Order*: one reply, one reward. *Errors*: see above; the reward itself never raises.
    *Cancellation*, *Memory*, *Retries and caching*: as `GuardedReward`.
    """
    try:
        import verifiers.v1 as vf
    except ImportError:
        msg = "`verifiers_judge` needs verifiers. Install it with `pip install verifiers`."
        raise InputError(msg) from None
    guarded = GuardedReward(reward, framework="verifiers", **settings)

    class VoirdireJudge(vf.Judge):  # type: ignore[misc]  # it is not installed for type checks
        """Scores the last reply of a trace by the reward."""

        async def score(self, task: Any, trace: Any) -> Mapping[str, float]:
            told = task.model_dump(mode="json")
            turn = make_turn(told, prompt=told.get("prompt"), response=trace.last_reply)
            found = await guarded.ascored([turn])
            [value] = found.rewards
            if value is None:
                raise JudgeUnavailableError(next(iter(found.scores.missing.values())))
            return {guarded.name: value}

        def close(self) -> None:
            """Wait for open calls, then end."""
            guarded.close()

    return VoirdireJudge(vf.JudgeConfig(name=guarded.name, weight=weight))
