"""Rewards for OpenRLHF: what it posts to a server and takes back, and a function for its files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.adapters.guarded import NumberReward
from voirdire.adapters.openrlhf_texts import all_end_tokens, response_of_query
from voirdire.errors import InputError
from voirdire.rewards.live.turns import Turn, said_base_reward

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.missing import MissingRewards
    from voirdire.rewards.model import RewardModel

__all__ = [
    "OpenRlhfReward",
    "make_reward_func",
    "openrlhf_response",
    "read_openrlhf_request",
]


def read_openrlhf_request(document: Any, *, end_tokens: Iterable[str] = ()) -> list[Turn]:
    """Read what OpenRLHF posts: ``{"query": [...], "prompts": [...], "labels": [...]}``.

    Parameters
    ----------
    document : dict
        Lists of one length; ``labels`` may be left out. A query is a prompt with its response,
        decoded with special tokens. A label is the id of a behavior, empty where the server's
        default counts, or an object (or its JSON) with any of ``behavior``, ``base_reward`` and
        ``prompt``: text or messages that the judge reads instead of the prompt in its template. A
        base reward that is there and None is lacking, and so is the reward.
    end_tokens : iterable of str, optional
        Special tokens at the end of a response, beside the known ones.

    Returns
    -------
    list of Turn
        One per query. Where the query does not begin with its prompt nobody knows where the
        response begins: its turn has no response, and so no reward.

    Raises
    ------
    InputError
        If the document is not of this form.

    Examples
    --------
    >>> from voirdire.adapters.openrlhf import read_openrlhf_request
    >>> asked = {"query": ["Hi!<|im_end|>Sorry, no.<|im_end|>"], "prompts": ["Hi!<|im_end|>"]}
    >>> read_openrlhf_request(asked | {"labels": ["hard_refuse"]})[0].response
    'Sorry, no.'
    """
    if not isinstance(document, dict):
        msg = f"`document` must be an object, got {type(document).__name__}."
        raise InputError(msg)
    queries = _texts(document, "query")
    prompts = _texts(document, "prompts")
    labels = document.get("labels")
    labels = [None] * len(queries) if labels is None else labels
    if not (isinstance(labels, list) and len(queries) == len(prompts) == len(labels)):
        msg = (
            "`query`, `prompts`, `labels` must be lists of one length, got "
            f"{len(queries)} queries and {len(prompts)} prompts. Send one of each per response."
        )
        raise InputError(msg)
    return _turns(queries, prompts, labels, end_tokens=all_end_tokens(end_tokens))


def openrlhf_response(scores: LiveScores, missing: MissingRewards) -> dict[str, Any]:
    """Give what OpenRLHF reads: finite numbers only, under names that are always the same.

    Parameters
    ----------
    scores : LiveScores
        Rewards of the turns.
    missing : MissingRewards
        What stands for a reward that is missing.

    Returns
    -------
    dict
        ``rewards``; ``scores``, the same squeezed into [0, 1] by `MissingRewards.unit_score`,
        since OpenRLHF's dynamic filtering keeps groups whose mean score lies between 0 and 1; and
        ``extra_logs``: the other columns of `MissingRewards.columns`.
    """
    columns = missing.columns(scores)
    rewards = columns.pop("score")
    unit_scores = [missing.unit_score(reward) for reward in rewards]
    return {"rewards": rewards, "scores": unit_scores, "extra_logs": columns}


@dataclass(kw_only=True, eq=False, repr=False)
class OpenRlhfReward(NumberReward):
    """What OpenRLHF calls as ``reward_func(queries, prompts, labels)``, one query at a time.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, its file, or the address of a running ``voirdire serve``.
    end_tokens : iterable of str, optional
        Special tokens at the end of a response, beside the known ones.
    **others
        As for `NumberReward`: `missing_reward`, `base_mean`, `judge`, `behavior`, `record` and so
        on.

    Notes
    -----
    May be called from many threads; queries that arrive together are judged together.
    """

    end_tokens: Iterable[str] = ()
    framework: str = "openrlhf"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._end_tokens = all_end_tokens(self.end_tokens)

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
    ) -> dict[str, Any]:
        """Give rewards.

        Parameters
        ----------
        queries : sequence of str
            Prompts with their responses, decoded with special tokens.
        prompts : sequence of str
            The prompts alone.
        labels : sequence
            As for `read_openrlhf_request`.

        Returns
        -------
        dict
            As `openrlhf_response` gives it.
        """
        turns = _turns(queries, prompts, labels, end_tokens=self._end_tokens)
        return openrlhf_response(self.scored(turns), self.missing)


def make_reward_func(reward: RewardModel | str | Path, **settings: Any) -> OpenRlhfReward:
    """Make the ``reward_func`` of a file that OpenRLHF loads.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, its file, or the address of a running ``voirdire serve``.
    **settings
        The keywords of `OpenRlhfReward`: `missing_reward`, `judge`, `record` and so on.

    Returns
    -------
    OpenRlhfReward
        To be called ``reward_func`` in that file.

    Raises
    ------
    InputError
        If the reward, its judge or another argument breaks a rule.
    """
    return OpenRlhfReward(reward, **settings)


def _texts(document: dict[Any, Any], name: str) -> list[str]:
    found = document.get(name)
    if not isinstance(found, list):
        msg = f"`{name}` must be a list of texts, got {type(found).__name__}."
        raise InputError(msg)
    for place, text in enumerate(found):
        if not isinstance(text, str):
            msg = f"`{name}[{place}]` must be text, got {type(text).__name__}."
            raise InputError(msg)
    return found


def _turns(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[Any],
    *,
    end_tokens: tuple[str, ...],
) -> list[Turn]:
    turns: list[Turn] = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        said = _read_label(label)
        behavior, shown = said.get("behavior"), said.get("prompt")
        turns.append(
            Turn(
                response=response_of_query(query, prompt, end_tokens=end_tokens),
                prompt=prompt if shown is None else shown,
                behavior=None if isinstance(behavior, str) and not behavior else behavior,
                base_reward=said_base_reward(said),
                group=prompt,
            )
        )
    return turns


def _read_label(label: Any) -> dict[str, Any]:
    """Read a label; what is no object is the id of a behavior."""
    if isinstance(label, dict):
        return label
    if isinstance(label, str) and label.lstrip().startswith("{"):
        try:
            found = json.loads(label)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
    return {"behavior": label}
