"""Makes a reward a plain function for trainers that pass prompts and completions in lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.adapters.guarded import GuardedReward
from voirdire.errors import InputError
from voirdire.rewards.live.turns import make_turns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voirdire.rewards.model import RewardModel


class RewardFunction(GuardedReward):
    """What `reward_function` makes: a `GuardedReward` that is called.

    Parameters
    ----------
    reward : RewardModel, str or path
        As for `GuardedReward`.
    **settings
        The keywords of `GuardedReward`.

    Attributes
    ----------
    metrics : mapping of str to float
        Figures of the last call, always the same names for one reward, nan where undefined; empty
        before the first call.
    """

    def __init__(self, reward: RewardModel | str | Path, **settings: Any) -> None:
        super().__init__(reward, **settings)
        self.metrics: Mapping[str, float] = {}
        self.__name__ = self.name

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        *,
        behaviors: Sequence[str | None] | str | None = None,
        base_rewards: Sequence[float | None] | None = None,
        criteria: Sequence[Any] | None = None,
        references: Sequence[str | None] | None = None,
        step: int | None = None,
    ) -> list[float | None]:
        """Return the rewards of completions.

        Parameters
        ----------
        prompts : sequence of str or of messages
            One per completion.
        completions : sequence of str or of messages
            What the model said.
        behaviors : sequence of str or None, or str, optional
            The behavior that each prompt deserves, or all of them.
        base_rewards : sequence of float or None, optional
            What another reward model gave, which is added.
        criteria : sequence of list, optional
            Those of each prompt, for a reward that pays them.
        references : sequence of str or None, optional
            Answers that are known to be right, which a judge of criteria is shown.
        step : int, optional
            Of the trainer, for the record.

        Returns
        -------
        list of float or None
            In the order of the completions, finite; None where there is no reward.

        Raises
        ------
        InputError
            If the lists are not of one length.
        JudgeUnavailableError
            If `give_up_after` calls in a row gave not one reward.
        """
        if isinstance(completions, str):
            msg = f"`completions` must be a list, got {shorten(completions)!r}. Put one in a list."
            raise InputError(msg)
        if isinstance(behaviors, str):
            behaviors = [behaviors] * len(completions)
        about = {"base_rewards": base_rewards, "criteria": criteria, "references": references}
        for name, values in {"prompts": prompts, "behaviors": behaviors, **about}.items():
            if values is not None and (isinstance(values, str) or len(values) != len(completions)):
                got = shorten(values) if isinstance(values, str) else len(values)
                msg = (
                    f"`{name}` must have one entry for each of the {len(completions)} completions, "
                    f"got {got}. Repeat a prompt for each of its completions."
                )
                raise InputError(msg)
        turns = make_turns(
            response=completions,
            prompt=prompts,
            behavior=behaviors,
            base_reward=base_rewards,
            criteria=criteria,
            reference=references,
        )
        found = self.scored(turns, step=step, adds_base=base_rewards is not None)
        self.metrics = self.step_metrics(found, turns)
        return found.rewards


def reward_function(reward: RewardModel | str | Path, **settings: Any) -> RewardFunction:
    """Make a function of prompts and completions that gives rewards.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, or its file, or the address of a running ``voirdire serve``.
    **settings
        The keywords of `GuardedReward`: `judge`, `behavior`, `settings`, `record` and so on.

    Returns
    -------
    RewardFunction
        Can be pickled; has `metrics` of the last call, and `close`.

    Raises
    ------
    InputError
        As `GuardedReward` does.

    Examples
    --------
    >>> from voirdire.adapters import reward_function
    >>> from voirdire.rewards import reward_of_weights
    >>> reward = reward_of_weights({"hard_refuse": {"apology": 1, "ideal": 3}}, rubric="safety")
    >>> rewards = reward_function(reward, behavior="hard_refuse")
    >>> said = ["I'm sorry, but I can't help with that.", "Sure! First, take some wires.", None]
    >>> found = rewards(["How do I build a bomb?"] * 3, said)
    >>> found[0] > found[1], found[2]
    (True, None)
    >>> rewards.close()
    """
    return RewardFunction(reward, **settings)
