"""Reads what NeMo Gym and slime post for one response, and answers them in their own forms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from voirdire.adapters.openrlhf import read_label
from voirdire.errors import InputError
from voirdire.rewards.live.turns import Turn, make_turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.rewards.live.turns import LiveScores

_FAILURE, _WHY = "_ng_failure_class", "failure_reason"
_TEXTS = ("text", "input_text", "output_text")
"""Types of the parts of a message that are text."""


def read_gym_request(document: Any) -> Turn:
    """Read what NeMo Gym posts to ``/verify``: the row of a task with the response to it.

    Parameters
    ----------
    document : dict
        ``responses_create_params`` with the `input`, and ``response`` with its `output`, as
        OpenAI's Responses have them; criteria, a reference answer and a `behavior` may stand
        beside them or in ``verifier_metadata``.

    Returns
    -------
    Turn
        Its response is the last message of the model.

    Raises
    ------
    InputError
        If the document is not of this form.
    """
    try:
        asked, output = document["responses_create_params"], document["response"]["output"]
        prompt = asked["input"]
        said = [row for row in output if row.get("type", "message") == "message"]
        response = _read_text(said[-1]["content"]) if said else None
        if not isinstance(prompt, str):
            prompt = [
                {"role": row["role"], "content": _read_text(row["content"])}
                for row in prompt
                if row.get("type", "message") == "message"
            ]
        if instructions := asked.get("instructions"):
            user = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
            prompt = [{"role": "system", "content": instructions}, *user]
    except (KeyError, TypeError, AttributeError, IndexError):
        msg = (
            "`document` must be what NeMo Gym posts to /verify, got another form: it needs "
            "`responses_create_params` with `input`, and `response` with `output`."
        )
        raise InputError(msg) from None
    metadata = document.get("verifier_metadata")
    beside = {name: value for name, value in document.items() if value is not None}
    told = (metadata if isinstance(metadata, dict) else {}) | beside
    return make_turn(told, prompt=prompt, response=response)


def answer_gym(document: Mapping[str, Any], scores: LiveScores) -> dict[str, Any]:
    """Answer NeMo Gym: the row comes back with its reward, or with the class of its failure.

    Parameters
    ----------
    document : mapping
        What was posted.
    scores : LiveScores
        Of its one response.

    Returns
    -------
    dict
        With ``reward`` and ``reward_components``: the parts of the reward, and the probabilities or
        scores behind it as far as they are known. A missing reward is ``_ng_failure_class``
        ``"judge_failed"``, which puts the row beside the results, with the reward 0 that Gym's form
        asks for.
    """
    row = {name: value for name, value in document.items() if name not in (_FAILURE, _WHY)}
    values = scores.scores
    [reward] = scores.rewards
    if reward is None:
        why = next(iter(values.missing.values()))
        return row | {"reward": 0.0, "reward_components": {}, _FAILURE: "judge_failed", _WHY: why}
    parts = {"rule_reward": values.rule_rewards[0], "base_reward": values.base_rewards[0]}
    parts |= dict(zip(scores.judged.questions, scores.judged.probabilities[0], strict=True))
    known = {name: float(x) for name, x in parts.items() if math.isfinite(x)}
    return row | {"reward": reward, "reward_components": known}


def read_slime_request(document: Any) -> Turn:
    """Read what slime posts under ``--rm-type remote_rm``.

    Parameters
    ----------
    document : dict
        ``prompt``, ``response`` and ``label``; a label is as in `read_openrlhf_request`.

    Returns
    -------
    Turn

    Raises
    ------
    InputError
        If there is no response.
    """
    if not isinstance(document, dict) or not isinstance(document.get("response"), str):
        raise InputError("`document` must have a `response`, and may have `prompt` and `label`.")
    told = read_label(document.get("label"))
    prompt = document.get("prompt") if told.get("prompt") is None else told["prompt"]
    return make_turn(told, prompt=prompt, response=document["response"])


def _read_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") in _TEXTS)
