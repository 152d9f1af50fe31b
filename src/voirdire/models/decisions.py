"""Asks decision models: typed questions about a state go in, a probability for each comes out.

Two dialects are spoken: `systemone`, and `decisions` as OpenAI has it. Neither has a prompt or a
text to parse; an answer is kept as the server sent it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec

from voirdire import errors
from voirdire.models.chat_completions import check_extra, mend_body
from voirdire.models.connection import check_base_url
from voirdire.models.port import Capabilities
from voirdire.models.served import ServedModel
from voirdire.records import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import ReplyForm
    from voirdire.models.port import ChatRequest, TypedQuestion

Dialect: TypeAlias = Literal["systemone", "decisions"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

MOST_QUESTIONS = 400
"""How many questions a request may hold."""

_MOST_KEPT, _MOST_TOKENS = 64, 10**9
_VERSIONED = re.compile(r"/v\d\w*$")
_NOTHING = msgspec.Raw()
_encode = msgspec.json.Encoder().encode


class _Answered(msgspec.Struct):
    answers: msgspec.Raw = _NOTHING
    result: _Answered | None = None  # some wrap their answer
    model: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_Answered).decode


class DecisionModel(ServedModel):
    """A decision model behind a server; `voirdire.models.load_model` makes it.

    Parameters
    ----------
    api : {"systemone", "decisions"}
        What its server speaks.
    model : str
        What the server calls it.
    base_url : str
        The server's address, with or without ``/v1``; or that of the endpoint itself, which ends in
        ``/systemone`` or ``/decisions``.
    name : str, optional
        What verdicts and messages call it; `model` by default.
    served_as : str, optional
        Name of the deployment, which stands for the address in `settings`.
    extra : mapping, optional
        Further fields of every request, as JSON values.
    images : bool, optional
        Whether the model sees images.
    **served
        `api_key_env`, `key_header`, `reads_keys`: as for `voirdire.models.load_model`.

    Raises
    ------
    InputError
        If an argument breaks its rule, or an environment variable is missing.

    Notes
    -----
    As for `voirdire.models.OpenAICompatibleModel`, but that no parameter is ever left out: what a
    server refuses is a `BadRequestError`.

    Examples
    --------
    >>> model = DecisionModel(api="systemone", model="m", base_url="http://localhost:8000")
    >>> model.settings["base_url"]
    'http://localhost:8000/v1'
    """

    def __init__(
        self,
        *,
        api: Dialect,
        model: str,
        base_url: str,
        name: str | None = None,
        served_as: str | None = None,
        extra: Mapping[str, Any] | None = None,
        images: bool = False,
        **served: Any,
    ) -> None:
        base_url = check_base_url(base_url)
        path = "" if base_url.endswith(tuple(f"/{word}" for word in DIALECTS)) else f"/{api}"
        if path and not _VERSIONED.search(base_url):
            base_url += "/v1"
        super().__init__(name or model, base_url, path, **served)
        forms: tuple[ReplyForm, ...] = ("json_schema",)
        self.capabilities = Capabilities(forms=forms, top_logprobs=0, images=images)
        further = check_extra(extra or {}, {"model", "state", "input", "questions", "images"})
        self.settings = {"api": api, "base_url": served_as or base_url, "model": model}
        self.settings |= {"extra": further} if further else {}
        ours = {"model": model, **further}
        shown, ask = _DIALECTS[api]

        @lru_cache(_MOST_KEPT)
        def head(questions: tuple[TypedQuestion, ...]) -> bytes:
            return _encode(ours | {"questions": ask(questions)})[:-1] + f',"{shown}":'.encode()

        self._head = head
        self._is_text = api == "decisions"

    async def reply(self, request: ChatRequest) -> Reply:
        """Answer one request; raise a `ModelCallError` where there is no reply."""
        state, images = request.messages[-1].content, request.messages[-1].images
        tail = _encode(state) if self._is_text else state.encode()
        if images and self._is_text:
            parts: list[dict[str, str]] = [{"type": "input_text", "text": state}]
            parts += [{"type": "input_image", "image_url": image} for image in images]
            tail = _encode([{"role": "user", "content": parts}])
        elif images:
            tail += b',"images":' + _encode(images)
        body = self._head(request.questions) + tail + b"}"
        answer = await self._post(body, request, tuple)
        if isinstance(answer, errors.ModelCallError):
            raise answer
        told, error = answer
        try:
            found = _decode(told)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            mended = mend_body(told)
            try:
                found = _decode(mended or b"")
            except msgspec.DecodeError:
                what = "sent what is no answer to questions"
                raise self._server.fail(errors.ServerError, what, quoted=told) from None
        whole = found.result or found
        if whole.answers == _NOTHING:
            raise error(told)
        self._server.has_replied = True
        return Reply(
            text=bytes(whole.answers).decode(),
            finish_reason="stop",
            model=whole.model if isinstance(whole.model, str) else None,
            usage=_read_usage(whole.usage),
        )


def _read_usage(counts: Any) -> Usage | None:
    """Read the tokens that were charged; zeros are no usage."""
    try:
        used = int(counts["input_tokens"]), int(counts.get("output_tokens") or 0)
        details = counts.get("input_tokens_details") or {}
        cached = int(details.get("cached_tokens") or 0)
    except (TypeError, ValueError, LookupError, AttributeError):
        return None
    is_usage = used[0] > 0 and used[1] >= 0 and max(used) <= _MOST_TOKENS
    return Usage(*used, min(max(0, cached), used[0])) if is_usage else None


# The dialects -------------------------------------------------------------------------------------


def write_questions(api: Dialect, questions: Sequence[TypedQuestion]) -> Any:
    """Write questions as a dialect asks them."""
    return _DIALECTS[api][1](questions)


def _ask_systemone(questions: Sequence[TypedQuestion]) -> dict[str, Any]:
    asked = {}
    for row in questions:
        written: dict[str, Any] = {"type": row.kind, "instructions": row.instructions}
        if row.kind == "predicate":
            written["type"] = "noul"
        if row.kind == "score":
            written["criteria"] = [meaning or name for name, meaning in row.options]
        elif row.options:
            written["criteria"] = dict(row.options)
        asked[row.name] = written
    return asked


def _ask_decisions(questions: Sequence[TypedQuestion]) -> list[dict[str, Any]]:
    asked = []
    for row in questions:
        written: dict[str, Any] = {"type": row.kind, "name": row.name}
        written["instructions"] = row.instructions
        options = [(name, {"description": text} if text else {}) for name, text in row.options]
        if row.kind == "predicate":  # which has no place for what its sides mean
            sides = [f"\n{name}: {meaning}" for name, meaning in row.options]
            written["instructions"] += "".join(sides)
        elif row.kind == "choice":
            written["choices"] = [{"value": name} | meaning for name, meaning in options]
        else:
            written["levels"] = [{"label": name} | meaning for name, meaning in options]
        asked.append(written)
    return asked


_DIALECTS: dict[str, Any] = {
    "systemone": ("state", _ask_systemone),
    "decisions": ("input", _ask_decisions),
}
"""By dialect the field of what is asked about, and how questions are written."""
