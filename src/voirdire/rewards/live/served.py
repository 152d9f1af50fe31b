"""A reward that a running ``voirdire serve`` gives, asked like one in this process."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_positive, shorten
from voirdire.documents import document_of_value
from voirdire.errors import InputError, ModelCallError, ModelTimeoutError
from voirdire.judging.engine.call_queue import LATE
from voirdire.judging.live.settings import LiveSettings
from voirdire.models.reward_server import TOKEN_ENV, RewardServer
from voirdire.records import Verdicts
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.certification import check_certified
from voirdire.rewards.live.live_scores import LiveScores
from voirdire.rewards.live.turns import given_base_of, items_of_turns
from voirdire.rewards.model_file import reward_of_document
from voirdire.rewards.reward_document import is_hash_of
from voirdire.rewards.scoring.base_rewards import given_base
from voirdire.rewards.scoring.combining import Combiner
from voirdire.rewards.scoring.scores import TOO_LARGE, is_reward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.models.reward_server import ServerVerdicts
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["ServedReward", "served_reward_model"]

_MOST_ITEMS = 1_000
_MOST_CHARACTERS = 2_000_000
"""Of the texts of one request, of which the server takes so many megabytes."""

_OTHER_REWARD = "the server has another reward by now"


class ServedReward:
    """Gives rewards that a server works out.

    Parameters
    ----------
    address : str
        Such as ``"http://127.0.0.1:8000"``.
    reward : RewardModel
        What the server pays with, as `served_reward_model` reads it.
    settings : LiveSettings, optional
        Its deadline counts.
    token_env : str, optional
        The environment variable with the server's token.

    Raises
    ------
    InputError
        If the address is none.

    Notes
    -----
    *Order*: rewards follow the turns. *Errors*: what the server does is a missing reward with its
    reason. *Cancellation*: a request ends; the server goes on, and remembers. *Memory*: the
    requests under way, of 1,000 turns each. *Retries and caching*: a server that is busy or not
    there is asked again until the deadline; it is the server that remembers.

    Base rewards stay here, and are added here.
    """

    def __init__(
        self,
        address: str,
        *,
        reward: RewardModel,
        settings: LiveSettings | None = None,
        token_env: str = TOKEN_ENV,
    ) -> None:
        self.reward = reward
        self.settings = LiveSettings() if settings is None else settings
        self._server = RewardServer(address, token_env=token_env)
        self._combiner = Combiner(reward)
        self._hashes = {reward.content_hash}

    async def start(self) -> None:
        """Begin; nothing is asked yet."""

    async def close(self, *, drain_s: float = 30.0) -> None:
        """End; nothing here is waited for."""
        del drain_s
        await self._server.close()

    async def turn_rewards(
        self,
        turns: Sequence[Turn],
        *,
        behavior: str | None = None,
        deadline_s: float | None = None,
    ) -> LiveScores:
        """Give turns their rewards.

        Parameters
        ----------
        turns : sequence of Turn
            As for `LiveReward.turn_rewards`.
        behavior : str, optional
            Of turns that have none.
        deadline_s : float, optional
            As for `LiveReward.turn_rewards`.

        Returns
        -------
        LiveScores
            In the order of the turns.

        Raises
        ------
        InputError
            If `deadline_s` is no number of seconds.
        """
        began = time.monotonic()
        limit = self.settings.deadline_s
        if deadline_s is not None:
            limit = check_positive("deadline_s", deadline_s)
        items, reasons = items_of_turns(turns, judged=self.reward.judge.judged, behavior=behavior)
        behaviors = [item.behavior for item in items]
        places = [place for place, item in enumerate(items) if item.id not in reasons]
        parts = _parts(turns, places)
        answers = await asyncio.gather(
            *(self._answer(turns, behaviors, part, limit) for part in parts)
        )
        whole = _Whole(self.reward, behaviors, reasons)
        for part, answer in zip(parts, answers, strict=True):
            whole.put(part, answer)
        base, base_reasons = self._base(turns)
        scores = whole.scores(self._combiner, base=base, base_reasons=base_reasons)
        return replace(scores, seconds=time.monotonic() - began)

    async def _answer(
        self,
        turns: Sequence[Turn],
        behaviors: Sequence[str | None],
        part: Sequence[int],
        limit: float,
    ) -> ServerVerdicts | str:
        """Give what the server says of a part of the turns, or why it says nothing."""
        items = [_asked(turns[place], behaviors[place]) for place in part]
        try:
            found = await self._server.ask({"items": items}, deadline_s=limit)
        except ModelTimeoutError:
            return LATE
        except ModelCallError as error:
            return f"the server gave no reward: {error.reason}"
        is_same = self._is_own(found.reward.content_hash)
        is_same = is_same and found.probabilities.propositions == self.reward.rubric.propositions
        return found if is_same else _OTHER_REWARD

    def _is_own(self, content_hash: str) -> bool:
        """Tell whether a server has this reward, perhaps under the hash of an earlier version."""
        if content_hash not in self._hashes and is_hash_of(content_hash, self.reward):
            self._hashes.add(content_hash)
        return content_hash in self._hashes

    def _base(self, turns: Sequence[Turn]) -> tuple[NDArray[np.float64], dict[str, str]]:
        given = given_base_of(turns)
        if given or self.reward.uses_base:
            return given_base(given, [str(place) for place in range(len(turns))])
        return np.zeros(len(turns)), {}


class _Whole:
    """Puts the answers about parts together."""

    def __init__(
        self,
        reward: RewardModel,
        behaviors: Sequence[str | None],
        reasons: dict[str, str],
    ) -> None:
        self._reward = reward
        self._behaviors = list(behaviors)
        self._known = {behavior.id for behavior in reward.rubric.behaviors}
        self._missing = {name: f"failed verdict: {why}" for name, why in reasons.items()}
        self._rule = np.full(len(behaviors), np.nan)
        self._probabilities = np.full((len(behaviors), len(reward.rubric.propositions)), np.nan)
        self._fingerprint = reward.judge.fingerprint
        self._answered_by: list[str | None] = [None] * len(behaviors)
        self._counts = {"n_late": 0, "n_remembered": 0, "n_stored": 0}

    def put(self, part: Sequence[int], answer: ServerVerdicts | str) -> None:
        """Take the answer about the turns at some places."""
        if isinstance(answer, str):
            self._missing |= {str(place): answer for place in part}
            self._counts["n_late"] += len(part) if answer == LATE else 0
            return
        rows = list(part)
        self._rule[rows] = _array(answer.rule_rewards)
        self._probabilities[rows] = [_array(row) for row in answer.probabilities.values]
        self._fingerprint = answer.reward.fingerprint
        for place, name in zip(part, answer.answered_by or (), strict=False):
            self._answered_by[place] = name
        for place, behavior, why in zip(part, answer.behaviors, answer.missing, strict=True):
            if behavior is None or behavior in self._known:
                self._behaviors[place] = behavior
            if why is not None:
                self._missing[str(place)] = shorten(why, width=200)
        for name in self._counts:
            self._counts[name] += getattr(answer, name)

    def scores(
        self, combiner: Combiner, *, base: NDArray[np.float64], base_reasons: dict[str, str]
    ) -> LiveScores:
        """Add base rewards."""
        ids = tuple(str(place) for place in range(len(self._behaviors)))
        there = np.isfinite(self._rule)
        unknown = {
            name: self._missing.get(name, NO_VERDICT)
            for name, is_there in zip(ids, there.tolist(), strict=True)
            if not is_there
        }
        judged = Verdicts(
            items=ids,
            questions=self._reward.rubric.propositions,
            probabilities=self._probabilities,
            behaviors=tuple(self._behaviors),
            judge=self._reward.judge.name,
            fingerprint=self._fingerprint,
            threshold=self._reward.judge.threshold,
        ).with_reasons(unknown)
        own = combiner.scores(
            judged, behaviors=self._behaviors, base=base, base_reasons=base_reasons
        )
        with np.errstate(over="ignore"):
            rewards = self._rule + base
        missing = {
            name: unknown.get(name) or base_reasons.get(name) or TOO_LARGE
            for name, has_reward in zip(ids, is_reward(rewards).tolist(), strict=True)
            if not has_reward
        }
        rewards[~is_reward(rewards)] = np.nan
        scores = replace(own, rewards=rewards, rule_rewards=self._rule, missing=missing)
        n_late, n_remembered, n_stored = self._counts.values()
        return LiveScores(
            scores=scores,
            judged=judged,
            seconds=0.0,
            n_late=n_late,
            n_remembered=n_remembered,
            n_stored=n_stored,
            answered_by=tuple(self._answered_by) if any(self._answered_by) else None,
        )


def served_reward_model(address: str, *, token_env: str = TOKEN_ENV) -> RewardModel:
    """Read from a server which reward it gives.

    Parameters
    ----------
    address : str
        Such as ``"http://127.0.0.1:8000"``.
    token_env : str, optional
        The environment variable with the server's token.

    Returns
    -------
    RewardModel
        As the server loaded it.

    Raises
    ------
    InputError
        If there is no such server, it refuses, or what it has is no reward.

    Warns
    -----
    UncertifiedWarning
        As `load_reward` does.
    """
    server = RewardServer(address, token_env=token_env)
    try:
        with ThreadPoolExecutor(1) as thread:  # whoever asks may be in an event loop
            described = thread.submit(lambda: asyncio.run(server.description())).result()
    except ModelCallError as error:
        msg = (
            f"`reward` must be the address of a running `voirdire serve`, got {server.address!r}: "
            f"{error} Where it wants a token, put it into the environment as {token_env}."
        )
        raise InputError(msg) from None
    document = described.get("document")
    if not isinstance(document, dict):
        msg = (
            f"`reward` must be the address of a running `voirdire serve`, got {server.address!r}, "
            "which describes no reward."
        )
        raise InputError(msg)
    model = reward_of_document(document_of_value(document, source=server.address, what="a reward"))
    check_certified(model, required=False, stacklevel=3)
    return model


def _parts(turns: Sequence[Turn], places: Sequence[int]) -> list[list[int]]:
    """Divide turns into requests that are not too large."""
    parts: list[list[int]] = []
    size = 0
    for place in places:
        n_characters = len(repr(turns[place].response)) + len(repr(turns[place].prompt))
        is_full = parts and (
            len(parts[-1]) >= _MOST_ITEMS or size + n_characters > _MOST_CHARACTERS
        )
        if not parts or is_full:
            parts.append([])
            size = 0
        parts[-1].append(place)
        size += n_characters
    return parts


def _asked(turn: Turn, behavior: str | None) -> dict[str, Any]:
    asked = {"response": turn.response, "prompt": turn.prompt, "behavior": behavior}
    return {name: value for name, value in asked.items() if value is not None}


def _array(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
