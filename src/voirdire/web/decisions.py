"""Answers as a decision model does: a probability for each question about a state.

The questions are the propositions of the judge's rubric. Both dialects of `voirdire.models` are
read; a question that the judge failed to answer is declined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from voirdire._types import Language
from voirdire.judging.engine import CLOSED, LATE
from voirdire.judging.live import TOO_MANY
from voirdire.judging.prompts.decisions import type_question
from voirdire.models.decisions import DIALECTS, MOST_QUESTIONS, write_questions
from voirdire.rewards.certification import certified
from voirdire.rewards.live.turns import Turn, make_turn_items
from voirdire.web.forms import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.live import LiveVerdicts
    from voirdire.records import Item
    from voirdire.rewards.live import LiveReward

_ALONE = "The state holds no prompt: the response was judged alone."
_NO_STATE = (
    "The state must be messages whose last turn is the assistant's, an object with `response` and "
    "`prompt`, or the text of a response; the judge reads text only."
)
_PASSING = (LATE, TOO_MANY, CLOSED)
_PREDICATES = ("noul", "predicate")


class _Question(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    name: str | None = None
    instructions: str | list[dict[str, Any]] | None = None
    criteria: dict[str, Any] | list[Any] | None = None


class SystemoneRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is posted to /v1/systemone."""

    state: Any
    questions: dict[str, _Question]
    images: list[Any] | None = None


class DecisionsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is posted to /v1/decisions."""

    input: str | list[dict[str, Any]]
    questions: list[_Question]


class DecisionReader:
    """Reads the requests that one judge can answer, and writes the answers.

    Parameters
    ----------
    live : LiveReward
        Its judge and its rubric count, its weights do not.
    """

    def __init__(self, live: LiveReward) -> None:
        self._live = live
        plan = live.judge.plan
        self._places = {name: place for place, name in enumerate(plan.rubric.propositions)}
        self._wordings: dict[str, str] = {}
        self._criteria: dict[str, list[Any]] = {}
        for name in self._places:
            for language in get_args(Language):
                typed = type_question(plan.rubric.question(name), language)
                written = write_questions("systemone", typed)[name]
                wordings = {row["instructions"] for row in write_questions("decisions", typed)}
                for words in {written["instructions"], *wordings}:
                    self._wordings[words.strip()] = name
                self._criteria.setdefault(name, []).append(written.get("criteria"))

    def describe(self) -> dict[str, Any]:
        """List the judge as the one model, with what it knows and what certifies it."""
        plan, reward = self._live.judge.plan, self._live.reward
        statuses = certified(reward).items()
        model = {
            "id": plan.judge.name,
            "object": "model",
            "created": 0,
            "owned_by": "voirdire",
            "fingerprint": plan.fingerprint,
            "rubric": reward.rubric.name,
            "rubric_version": reward.rubric.version,
            "questions": list(self._places),
            "apis": [f"/v1/{api}" for api in DIALECTS],
            "certificates": {
                name: {"state": row.state, "certificate": row.certificate} for name, row in statuses
            },
        }
        return {"object": "list", "data": [model]}

    def item(self, state: Any) -> Item:
        """Read a state."""
        turn = _read_state(state)
        plan = self._live.judge.plan
        items, reasons = make_turn_items([turn], judged=plan.judged)
        has_image = any(message.images for item in items for message in item.prompt)
        if reasons or (has_image and not plan.sees_images):
            raise RefusedError("wrong_form", _NO_STATE)
        return items[0]

    def places(self, asked: Sequence[tuple[str | None, _Question]]) -> list[int]:
        """Find which propositions are asked; refuse what the judge was not made to answer."""
        if not 0 < len(asked) <= MOST_QUESTIONS:
            msg = f"There must be 1 to {MOST_QUESTIONS} questions."
            raise RefusedError("wrong_form", msg)
        places = []
        for name, row in asked:
            told = row.instructions
            if isinstance(told, list):
                told = "".join(str(part.get("text", "")) for part in told)
            known = name if name in self._places else None
            if told is not None and (meant := self._wordings.get(told.strip())) != known:
                known = meant if known is None else None
            is_same = row.criteria is None or row.criteria in self._criteria.get(known or "", ())
            if known is None or not is_same or row.type not in _PREDICATES:
                msg = (
                    "The judge answers these questions, as predicates, by name and in no other "
                    f"words than its rubric's: {', '.join(self._places)}."
                )
                raise RefusedError("wrong_form", msg)
            places.append(self._places[known])
        return places

    def chances(self, places: Sequence[int], verdicts: LiveVerdicts) -> list[float | None]:
        """Read the answers, None where the judge failed; refuse where another try may help."""
        failures = verdicts.judged.failures
        if any(failures[0, p].reason in _PASSING for p in places if (0, p) in failures):
            msg = "The judge gave no verdict in time."
            raise RefusedError("not_ready", msg, retry_after="1")
        row = verdicts.judged.probabilities[0].tolist()
        return [None if row[place] != row[place] else row[place] for place in places]

    def answer(self, answers: Any, item: Item) -> dict[str, Any]:
        """Put an answer together: what the judge costs, its own server counts."""
        usage = {
            **dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 0),
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        notes = [] if item.prompt else [_ALONE]
        model = self._live.judge.plan.judge.name
        return {"model": model, "answers": answers, "usage": usage, "notes": notes}


def _read_state(state: Any) -> Turn:
    """Read messages, an object with a response, or text, which may be either of them as JSON."""
    if isinstance(state, dict) and isinstance(state.get("messages"), list):
        state = state["messages"]
    if isinstance(state, list) and len(state) == 1 and isinstance(state[0], dict):
        parts = state[0].get("content")  # some send text as the one message of a user
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
            parts = parts[0].get("text")
        state = parts if state[0].get("role") == "user" and isinstance(parts, str) else state
    if isinstance(state, str):
        try:
            told = msgspec.json.decode(state) if state.lstrip()[:1] in ("{", "[") else None
        except (msgspec.DecodeError, RecursionError):
            told = None
        rows = told if isinstance(told, list) and told else [told]
        keys = {"response", "messages"} if isinstance(told, dict) else {"role", "from"}
        is_state = all(isinstance(row, dict) and keys & row.keys() for row in rows)
        return _read_state(told) if is_state else Turn(response=state)
    if isinstance(state, list):
        return Turn(response=state)
    if not isinstance(state, dict) or "response" not in state:
        raise RefusedError("wrong_form", _NO_STATE)
    return Turn(response=state["response"], prompt=state.get("prompt", state.get("conversation")))
