"""A reward that a running ``voirdire serve`` gives, asked like one in this process."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_positive
from voirdire.documents import document_of_value
from voirdire.errors import InputError, ModelCallError, ModelTimeoutError
from voirdire.judging.engine.call_queue import LATE
from voirdire.judging.live.settings import LiveSettings
from voirdire.models.reward_server import TOKEN_ENV, RewardServer
from voirdire.rewards.certification import check_certified
from voirdire.rewards.live.turns import LiveScores, base_of_turns, items_of_turns, nothing_scored
from voirdire.rewards.model import is_hash_of
from voirdire.rewards.reward_file import read_reward_document
from voirdire.rewards.scoring.scores import Combiner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.models.reward_server import ServerVerdicts
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

__all__ = ["ServedReward", "served_reward_model"]

_MOST_ITEMS = 1_000
_MOST_CHARACTERS = 2_000_000
"""Of the texts of one request, of which the server takes so many megabytes."""

_OTHER_REWARD = "the server has another reward by now"


class ServedReward:
    """Gives rewards that a server works out; `reward` is what `served_reward_model` reads from it.

    *Order*: rewards follow the turns. *Errors*: what the server does is a missing reward with its
    reason. *Cancellation*: a request ends; the server goes on, and remembers. *Memory*: the
    requests under way, of 1,000 turns each. *Retries and caching*: a server that is busy or not
    there is asked again until the deadline; it is the server that remembers.

    Base rewards stay here, and are added here.
    """

    judge_fingerprint = ""
    """Nobody here knows who judges there."""

    def __init__(
        self, address: str, *, reward: RewardModel, settings: LiveSettings | None = None
    ) -> None:
        self.reward = reward
        self.settings = LiveSettings() if settings is None else settings
        self._server = RewardServer(address)
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
        """Give turns their rewards; as `LiveReward.turn_rewards`."""
        began = time.monotonic()
        limit = self.settings.deadline_s
        if deadline_s is not None:
            limit = check_positive("deadline_s", deadline_s)
        items, reasons = items_of_turns(turns, judged=self.reward.judge.judged, behavior=behavior)
        behaviors = [item.behavior for item in items]
        parts = _parts(turns, [row for row, item in enumerate(items) if item.id not in reasons])
        answers = await asyncio.gather(
            *(self._answer(turns, behaviors, part, limit) for part in parts)
        )
        nothing = nothing_scored(self.reward, turns, why="", behavior=behavior)
        rule = np.full(len(turns), np.nan)
        probabilities = np.array(nothing.judged.probabilities)
        missing = {name: f"failed verdict: {why}" for name, why in reasons.items()}
        counts = {"n_late": 0, "n_remembered": 0, "n_stored": 0}
        names: list[str | None] = [None] * len(turns)
        fingerprint = nothing.judged.fingerprint
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, str):
                missing |= {str(row): answer for row in part}
                counts["n_late"] += len(part) if answer == LATE else 0
                continue
            rule[part] = np.array(answer.rule_rewards, dtype=np.float64)  # None becomes nan
            probabilities[part] = np.array(answer.probabilities.values, dtype=np.float64)
            fingerprint = answer.reward.fingerprint
            for place, row in enumerate(part):
                behaviors[row] = answer.behaviors[place]
                names[row] = answer.answered_by[place] if answer.answered_by else None
                if (why := answer.missing[place]) is not None:
                    missing[str(row)] = why
            counts = {name: n + getattr(answer, name) for name, n in counts.items()}
        judged = replace(
            nothing.judged,
            probabilities=probabilities,
            behaviors=tuple(behaviors),
            fingerprint=fingerprint,
            failures={},
        ).with_reasons(missing)
        base, base_reasons = base_of_turns(turns, uses_base=self.reward.uses_base)
        return LiveScores(
            scores=self._combiner.score(
                judged,
                behaviors=behaviors,
                base=base,
                base_reasons=base_reasons,
                given=(rule, missing),  # the server's own: it may take means off
            ),
            judged=judged,
            seconds=time.monotonic() - began,
            answered_by=tuple(names) if any(names) else None,
            **counts,
        )

    async def _answer(
        self,
        turns: Sequence[Turn],
        behaviors: Sequence[str | None],
        part: Sequence[int],
        limit: float,
    ) -> ServerVerdicts | str:
        """Give what the server says of a part of the turns, or why it says nothing."""
        items = [_asked(turns[row], behaviors[row]) for row in part]
        try:
            found = await self._server.ask({"items": items}, deadline_s=limit)
        except ModelTimeoutError:
            return LATE
        except ModelCallError as error:
            return f"the server gave no reward: {error.reason}"
        its_hash = found.reward.content_hash
        if its_hash not in self._hashes and is_hash_of(its_hash, self.reward):
            self._hashes.add(its_hash)
        is_same = found.probabilities.propositions == self.reward.columns
        return found if is_same and its_hash in self._hashes else _OTHER_REWARD


def served_reward_model(address: str) -> RewardModel:
    """Read from a server which reward it gives; an `InputError` where there is none.

    The token is in the environment, as ``VOIRDIRE_TOKEN``. Warns of propositions without a
    certificate as `load_reward` does.
    """
    server = RewardServer(address)
    try:
        with ThreadPoolExecutor(1) as thread:  # whoever asks may be in an event loop
            described = thread.submit(lambda: asyncio.run(server.description())).result()
    except ModelCallError as error:
        msg = (
            f"`reward` must be the address of a running `voirdire serve`, got {server.address!r}: "
            f"{error} Where it wants a token, put it into the environment as {TOKEN_ENV}."
        )
        raise InputError(msg) from None
    document = described.get("document")
    if not isinstance(document, dict):
        msg = (
            f"`reward` must be the address of a running `voirdire serve`, got {server.address!r}, "
            "which describes no reward."
        )
        raise InputError(msg)
    model = read_reward_document(
        document_of_value(document, source=server.address, what="a reward")
    )
    check_certified(model, required=False, stacklevel=3)
    return model


def _parts(turns: Sequence[Turn], rows: Sequence[int]) -> list[list[int]]:
    """Divide turns into requests that are not too large."""
    parts: list[list[int]] = []
    size = 0
    for row in rows:
        n_characters = len(repr(turns[row].response)) + len(repr(turns[row].prompt))
        is_full = parts and (
            len(parts[-1]) >= _MOST_ITEMS or size + n_characters > _MOST_CHARACTERS
        )
        if not parts or is_full:
            parts.append([])
            size = 0
        parts[-1].append(row)
        size += n_characters
    return parts


def _asked(turn: Turn, behavior: str | None) -> dict[str, Any]:
    asked = {"response": turn.response, "prompt": turn.prompt, "behavior": behavior}
    return {name: value for name, value in asked.items() if value is not None}
