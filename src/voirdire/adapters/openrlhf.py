"""Gives rewards to OpenRLHF, through its server requests or its reward function."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.adapters.guarded import NumberReward
from voirdire.errors import InputError
from voirdire.records.reasoning import find_end, find_opening, has_end_token
from voirdire.rewards.live.turns import Turn, make_turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from voirdire.rewards.live.missing_numbers import MissingRewards
    from voirdire.rewards.live.turns import LiveScores
    from voirdire.rewards.model import RewardModel

# what a tokenizer may put before a prompt, or leave out
_BEGINNING = re.compile(
    r"(?:<s>|<bos>|<\|begin_of_text\|>|<\|startoftext\|>|<｜begin▁of▁sentence｜>)*"
)


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    query: list[str]
    prompts: list[str]
    labels: list[Any] | None = None


def read_openrlhf_request(
    document: Any, *, end_tokens: Iterable[str] = (), base_column: str = "base_reward"
) -> list[Turn]:
    """Read what OpenRLHF posts: ``{"query": [...], "prompts": [...], "labels": [...]}``.

    Parameters
    ----------
    document : dict
        Lists of one length; ``labels`` may be left out. A query is a prompt with its response,
        decoded with special tokens. A label is the id of a behavior, empty where the server's
        default counts, or an object (or its JSON) with any of ``behavior``, ``base_reward``,
        ``criteria``, ``reference`` and ``prompt``: text or messages that the judge reads instead of
        the prompt in its template.
    end_tokens : iterable of str, optional
        Special tokens at the end of a response, beside the known ones.
    base_column : str, optional
        The key of a label with the base reward.

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
    try:
        asked = msgspec.convert(document, _Request)
    except msgspec.ValidationError as error:
        msg = f"`query`, `prompts` and `labels` must be lists, one entry a response: {error}."
        raise InputError(msg) from None
    labels = [None] * len(asked.query) if asked.labels is None else asked.labels
    if not len(asked.query) == len(asked.prompts) == len(labels):
        msg = (
            "`query`, `prompts`, `labels` must be lists of one length, got "
            f"{len(asked.query)} queries and {len(asked.prompts)} prompts. Send one of each per "
            "response."
        )
        raise InputError(msg)
    tokens = _check_tokens(end_tokens)
    turns: list[Turn] = []
    for query, prompt, label in zip(asked.query, asked.prompts, labels, strict=True):
        said = read_label(label)
        shown = said.get("prompt")
        response = _response(query, prompt, tokens)
        # where a template ends its turns by a token, what has none was cut off
        is_cut = has_end_token(prompt, tokens) and not has_end_token(query[len(prompt) :], tokens)
        if response is not None and shown is not None:  # thoughts that the template began
            response = find_opening(prompt) + response
        turns.append(
            make_turn(
                said,
                response=response,
                prompt=prompt if shown is None else shown,
                base_reward=said.get(base_column),
                group=prompt,
                truncated=is_cut,
            )
        )
    return turns


def openrlhf_response(scores: LiveScores, missing: MissingRewards) -> dict[str, Any]:
    """Return what OpenRLHF reads: finite numbers only, under names that are always the same.

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


class OpenRlhfReward(NumberReward):
    """What OpenRLHF calls as ``reward_func(queries, prompts, labels)``, one query at a time.

    Parameters
    ----------
    reward : RewardModel, str or path
        What pays, its file, or the address of a running ``voirdire serve``.
    end_tokens : iterable of str, optional
        Special tokens at the end of a response, beside the known ones.
    **settings
        The keywords of `NumberReward`: `missing_reward`, `judge`, `record` and so on.

    Raises
    ------
    InputError
        If the reward, its judge or another argument breaks a rule.

    Notes
    -----
    May be called from many threads; queries that arrive together are judged together.
    """

    def __init__(
        self, reward: RewardModel | str | Path, *, end_tokens: Iterable[str] = (), **settings: Any
    ) -> None:
        super().__init__(reward, framework="openrlhf", **settings)
        self._end_tokens = _check_tokens(end_tokens)

    def __call__(
        self,
        queries: Sequence[str],
        prompts: Sequence[str],
        labels: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Return rewards.

        Parameters
        ----------
        queries : sequence of str
            Prompts with their responses, decoded with special tokens.
        prompts : sequence of str
            The prompts alone.
        labels : sequence, optional
            As for `read_openrlhf_request`.

        Returns
        -------
        dict
            As `openrlhf_response` gives it.
        """
        turns = read_openrlhf_request(
            {"query": list(queries), "prompts": list(prompts), "labels": labels and list(labels)},
            end_tokens=self._end_tokens,
            base_column=self.base_column,
        )
        return openrlhf_response(self.scored(turns), self.missing)


def read_label(label: Any) -> dict[str, Any]:
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


# The response in a query: a prompt and a response in one text, with special tokens ---------------


def _check_tokens(more: Iterable[str]) -> tuple[str, ...]:
    """Return a tokenizer's own tokens, which count beside the known ones."""
    given = [more] if isinstance(more, str) else list(more)
    for token in given:
        if not str(token).strip():
            msg = f"`end_tokens` must be special tokens such as '<|im_end|>', got {shorten(token)}."
            raise InputError(msg)
    return tuple(str(token).strip() for token in given)


def _response(query: str, prompt: str, end_tokens: tuple[str, ...]) -> str | None:
    """Cut the prompt off the beginning, and special tokens off the end.

    The prompt is as it was before it was made into tokens: a beginning token, white space and the
    form of its characters may differ. None where the query does not begin with it: where the
    response begins is then unknown, and a guess could have the prompt judged in its place.
    """
    if prompt and query.startswith(prompt):
        response = query[len(prompt) :]
        return response[: find_end(response, end_tokens)]
    rest, bare = (_BEGINNING.sub("", text, count=1) for text in (query, prompt))
    squeezed = "".join(rest.split())
    # what tokenizers make of characters, beside leaving them as they are
    for form in (bare, unicodedata.normalize("NFC", bare), unicodedata.normalize("NFKC", bare)):
        wanted = "".join(form.split())
        if squeezed.startswith(wanted):  # whatever the white space in and after the prompt
            places = [n for n, character in enumerate(rest) if not character.isspace()]
            return rest[[*places, len(rest)][len(wanted)] : find_end(rest, end_tokens)]
    return None
