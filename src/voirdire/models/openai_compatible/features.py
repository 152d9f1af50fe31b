"""Which feature a server refuses, by its words; only where they leave little doubt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.openai_compatible.error_words import ErrorWords

__all__ = ["refused_feature"]

_NAMED = {
    "response_format": re.compile(
        r"response_?format|json[ _-]?schema|json[ _-]?object|json[ _-]mode|structured[ _-]?output"
        r"|guided[ _](?:json|decoding)|\bgrammar\b|schema for response",
        re.IGNORECASE,
    ),
    "logprobs": re.compile(r"\b(?:top_)?log_?probs?\b|log[ -]prob", re.IGNORECASE),
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "seed": re.compile(r"\b(?:random_)?seed\b", re.IGNORECASE),
    "top_p": re.compile(r"\btop_p\b", re.IGNORECASE),
    "reasoning_effort": re.compile(r"reasoning[_. ]effort", re.IGNORECASE),
    "max_tokens": re.compile(r"\bmax_(?:completion_)?tokens\b", re.IGNORECASE),
}
_REFUSED = re.compile(
    r"not? (?:yet )?(?:be )?(?:support|allow|permit|enabl|availab|recogni|implement|accept|valid)"
    r"|unsupported|unavailable|unrecogni[sz]ed|unknown|unexpected|extra inputs|extra_forbidden"
    r"|invalid|failed to parse|conversion failed|must be (?:one|less|at most|between|either)"
    r"|(?:not )?(?:is |be )?(?:greater|higher|larger|more) than|supported values|not one of"
    r"|only .{0,40}(?:allowed|supported)|can(?:not|'t) be used|does not support",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|too (?:long|large|many tokens)"
    r"|reduce the length|exceeds? the (?:available|maximum|model)",
    re.IGNORECASE,
)
_NO_ROUTE = re.compile(r"no endpoints found", re.IGNORECASE)
_PARAMETERS = re.compile(r"requested parameters|support (?:the )?(?:provided|requested)", re.I)
# 403 is how one provider refuses log-probabilities, 500 how older servers refuse a form.
_BY_STATUS = {
    400: frozenset(_NAMED),
    403: frozenset({"logprobs"}),
    404: frozenset(),
    422: frozenset(_NAMED),
    500: frozenset({"response_format"}),
    501: frozenset(_NAMED),
}


def refused_feature(words: ErrorWords, *, status: int, sent: Mapping[str, Any]) -> str | None:
    """Name the feature that a server lacks.

    Parameters
    ----------
    words : ErrorWords
        What the server says.
    status : int
        The HTTP status.
    sent : mapping of str to object
        The fields of the request's body: what was not sent was not refused.

    Returns
    -------
    str or None
        ``"json_schema"``, ``"json_object"``, ``"logprobs"`` or another parameter's name; None
        where the error is another, or where it is not clear.
    """
    if status == 404 and _NO_ROUTE.search(words.text) and _PARAMETERS.search(words.text):
        return _asked_for(sent)
    possible = _BY_STATUS.get(status, frozenset())
    is_refusal = _REFUSED.search(words.text) or any(
        c.startswith("unsupported") for c in words.codes
    )
    if not is_refusal or _TOO_LONG.search(words.text):
        return None
    for places in (words.param, words.text):
        for feature, pattern in _NAMED.items():
            if feature in possible and pattern.search(places) and _was_sent(feature, sent):
                return _form(sent) if feature == "response_format" else feature
    return None


def _was_sent(feature: str, sent: Mapping[str, Any]) -> bool:
    other_names = {"seed": "random_seed", "max_tokens": "max_completion_tokens"}
    return feature in sent or other_names.get(feature) in sent


def _form(sent: Mapping[str, Any]) -> str:
    return str(sent["response_format"]["type"])


def _asked_for(sent: Mapping[str, Any]) -> str:
    """Name what a router finds nobody for: it does not say, so the form is given up first."""
    if "response_format" in sent:
        return _form(sent)
    return "logprobs" if "logprobs" in sent else "parameters"
