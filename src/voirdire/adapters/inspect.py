"""Makes a reward a scorer of Inspect, with a value for each question.

Inspect is imported when a scorer is made.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire.adapters.guarded import GuardedReward
from voirdire.errors import InputError
from voirdire.rewards.live.turns import make_turn

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.rewards.model import RewardModel


def inspect_scorer(reward: RewardModel | str | Path, **settings: Any) -> Any:
    """Make a scorer of Inspect that gives the reward of a sample, and what is behind it.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, its file, or the address of a running ``voirdire serve``.
    **settings
        The keywords of `GuardedReward`: `judge`, `behavior`, `record` and so on.

    Returns
    -------
    inspect_ai.scorer.Scorer
        The values of a score are `reward` and each column of the reward: the probability of a
        proposition, or of criteria the score of a tag; None where it is unknown. A failure of the
        judge is ``Score.unscored``, which no metric counts. Criteria, reference answer and behavior
        stand in the metadata of a sample; its target is a reference answer too.

    Raises
    ------
    InputError
        If Inspect is missing, or as `GuardedReward` does.

    Notes
    -----
    *Order*: one sample, one score. *Errors*: a failure is an unscored sample; nothing raises.
    *Cancellation*, *Memory*, *Retries and caching*: as `GuardedReward`.
    """
    try:
        from inspect_ai.scorer import Score, mean, scorer, stderr
    except ImportError:
        msg = "`inspect_scorer` needs Inspect. Install it with `pip install inspect-ai`."
        raise InputError(msg) from None
    guarded = GuardedReward(reward, framework="inspect", **settings)

    async def score(state: Any, target: Any) -> Any:
        messages = [{"role": row.role, "content": row.text} for row in state.messages]
        if messages and messages[-1]["role"] == "assistant":
            messages.pop()
        response = state.output.completion
        turn = make_turn(state.metadata, prompt=messages, response=response)
        if turn.reference is None:
            turn = replace(turn, reference=target.text or None)
        found = await guarded.ascored([turn])
        [value] = found.rewards
        if value is None:
            return Score.unscored(reason=next(iter(found.scores.missing.values())))
        judged = zip(found.judged.questions, found.judged.probabilities[0].tolist(), strict=True)
        values = {name: None if math.isnan(x) else x for name, x in judged}
        return Score(value={"reward": value, **values}, answer=response)

    made = scorer(metrics={"*": [mean(), stderr()]}, name=guarded.name)(lambda: score)
    return made()
