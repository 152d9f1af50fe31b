"""Asks a running ``voirdire serve`` for rewards, with the interface of `LiveReward`."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import check_positive
from voirdire.documents import Document
from voirdire.errors import InputError, ModelCallError, ModelTimeoutError
from voirdire.judging.engine import LATE
from voirdire.judging.settings import LiveSettings
from voirdire.models.reward_server import TOKEN_ENV, RewardServer
from voirdire.rewards.certification import check_certified
from voirdire.rewards.live.turns import (
    LiveScores,
    make_missing_scores,
    make_turn_items,
    read_turn_bases,
)
from voirdire.rewards.reward_file import read_reward_document
from voirdire.rewards.scores import Combiner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.models.reward_server import ServerVerdicts
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel

_MOST_ITEMS = 1_000
_MOST_CHARACTERS = 2_000_000
"""Of the texts of one request, of which the server takes so many megabytes."""

_OTHER_REWARD = "the server has another reward by now"


class ServedReward:
    """Gives rewards that a server computes; `reward` is what `read_served_reward` reads from it.

    *Order*: rewards follow the turns. *Errors*: where the server fails, the reward is missing with
    its reason. *Cancellation*: the request ends; the server goes on judging and keeps the verdicts.
    *Memory*: the requests in flight, of 1,000 turns each. *Retries and caching*: a server that is
    busy or not reachable is asked again until the deadline; the server caches verdicts.

    Base rewards are not sent to the server, but added here.
    """

    judge_fingerprint = ""
    """The judge of the server is not known here."""

    def __init__(
        self,
        address: str,
        *,
        reward: RewardModel,
        base_column: str | None = None,
        settings: LiveSettings | None = None,
    ) -> None:
        self.reward = reward
        self.adds_base = reward.uses_base or base_column is not None
        self.settings = LiveSettings() if settings is None else settings
        self._server = RewardServer(address)
        self._combiner = Combiner(reward)

    async def start(self) -> None:
        """Do nothing: the first request opens the connection."""

    async def close(self, *, drain_s: float = 30.0) -> None:
        """Close the connection without waiting for requests."""
        del drain_s
        await self._server.close()

    async def turn_rewards(
        self,
        turns: Sequence[Turn],
        *,
        behavior: str | None = None,
        deadline_s: float | None = None,
        adds_base: bool = False,
    ) -> LiveScores:
        """Give turns their rewards; as `LiveReward.turn_rewards`."""
        began = time.monotonic()
        limit = self.settings.deadline_s
        if deadline_s is not None:
            limit = check_positive("deadline_s", deadline_s)
        items, reasons = make_turn_items(
            turns,
            judged=self.reward.judge.judged,
            behavior=behavior,
            of_item=self.reward.criteria is not None,
        )
        behaviors = [item.behavior for item in items]
        parts = _split_turns(
            turns, [row for row, item in enumerate(items) if item.id not in reasons]
        )
        its_hash = self.reward.content_hash

        async def ask(part: Sequence[int]) -> ServerVerdicts | str:
            """Ask the server about some of the turns; return its answer, or why there is none."""
            rows = ((turns[row], behaviors[row]) for row in part)
            asked = [
                {"response": x.response, "prompt": x.prompt, "behavior": own}
                | {"criteria": x.criteria, "reference": x.reference}
                for x, own in rows
            ]
            items = [{k: value for k, value in row.items() if value is not None} for row in asked]
            try:
                answer = await self._server.ask({"items": items}, deadline_s=limit)
            except ModelTimeoutError:
                return LATE
            except ModelCallError as error:
                return f"the server gave no reward: {error.reason}"
            is_same = answer.probabilities.propositions == self.reward.columns
            return answer if is_same and answer.reward.content_hash == its_hash else _OTHER_REWARD

        answers = await asyncio.gather(*map(ask, parts))
        nothing = make_missing_scores(self.reward, turns, why="", behavior=behavior)
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
        base, base_reasons, notes = read_turn_bases(turns, adds_base=adds_base or self.adds_base)
        scores = self._combiner.score(
            judged,
            behaviors=behaviors,
            base=base,
            base_reasons=base_reasons,
            items=[None if item.id in reasons else item for item in items],
            given=(rule, missing),  # those of the server, which may subtract means
        )
        return LiveScores(
            scores=replace(scores, notes=notes),
            judged=judged,
            seconds=time.monotonic() - began,
            answered_by=tuple(names) if any(names) else None,
            **counts,
        )


def read_served_reward(address: str) -> RewardModel:
    """Read the reward of a server; raise an `InputError` where there is none.

    The token is in the environment, as ``VOIRDIRE_TOKEN``. Warns of propositions without a
    certificate as `load_reward` does.
    """
    server = RewardServer(address)
    try:
        with ThreadPoolExecutor(1) as thread:  # the caller may run in an event loop
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
    model = read_reward_document(Document(document, source=server.address, what="a reward"))
    check_certified(model, required=False, stacklevel=3)
    return model


def _split_turns(turns: Sequence[Turn], rows: Sequence[int]) -> list[list[int]]:
    """Split turns into requests that are not too large."""
    parts: list[list[int]] = []
    size = 0
    for row in rows:
        turn = turns[row]
        texts = (turn.response, turn.prompt, turn.criteria, turn.reference)
        n_characters = sum(len(repr(text)) for text in texts)
        is_full = parts and (
            len(parts[-1]) >= _MOST_ITEMS or size + n_characters > _MOST_CHARACTERS
        )
        if not parts or is_full:
            parts.append([])
            size = 0
        parts[-1].append(row)
        size += n_characters
    return parts
