"""Asks models by OpenAI's chat completions, and adapts to what each server takes.

`connection` sends requests, and `errors` classifies what is no reply.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from functools import lru_cache, partial
from itertools import accumulate, chain, repeat
from math import nan
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec

from voirdire import errors
from voirdire._validation import check_count, check_positive
from voirdire.models import connection as http
from voirdire.models.errors import says
from voirdire.models.port import FORMS, Capabilities
from voirdire.models.served import ServedModel
from voirdire.records import Reply, TokenChoice, TokenStep, Usage
from voirdire.records.reasoning import find_answer, find_end

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from voirdire._types import ReplyForm
    from voirdire.models.errors import Server
    from voirdire.models.port import ChatRequest
    from voirdire.models.served import Making
    from voirdire.records import Message

L = TypeVar("L")
Change: TypeAlias = "tuple[str, Any]"  # the name of a parameter, and what is sent in its place
Changes: TypeAlias = "Mapping[str, Any]"
Result: TypeAlias = "Sequence[Reply] | errors.ModelCallError"

_NULL = msgspec.Raw(b"null")
_MOST_TOKENS = 10**9  # of one call; a larger number is wrong
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT_ARRAY = rf'\[[^\[\]{{}}"]*+(?:{_STRING}[^\[\]{{}}"]*+)*+\]'
# A member of an object: its key, and the text from the colon to the value's end.
_MEMBER = re.compile(
    rf'\s*+{_STRING}\s*+:(\s*+(?:{_STRING}|[^\s"\[\]{{}},:]++|{_FLAT_ARRAY}))\s*+([,}}])'
)
_FENCE = re.compile(r"\s*(?:```(?:json)?)?\s*(\{.*\})\s*(?:```)?\s*", re.S | re.I)
_MOST_KEPT = 64  # a run has few system messages and parameters
_HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs, which strict servers refuse
_encode = msgspec.json.Encoder().encode

# What may be left out of a schema: replies are checked here all the same.
_KEYWORDS = {"additionalProperties", "strict", "minimum", "maximum", "minItems", "maxItems"}
# What a server may refuse, and what is sent in place of it; None leaves it out.
_INSTEAD: Mapping[str, Any] = {
    "top_logprobs": None, "n": None, "seed": None, "temperature": None,
    "system": "the beginning of the user's message", "max_tokens": None, "reasoning_effort": None,
    "stream": True,
}  # fmt: skip
_USUAL = {"response_format": "form", "logprobs": "top_logprobs"}
_OURS = {*_USUAL, *_INSTEAD, "messages", "model", "max_completion_tokens"}  # they have other places
_NEARLY_ZERO = 0.01
_OF_SERVER = ("api_key_env", "key_header", "reads_keys", "connection")
# Not that of a model's name; with what follows a bound that is not allowed itself.
_NUMBER = re.compile(r"(?<![\w-])(?<!\w\.)(\d+)(?![\w.-]*[a-zA-Z])(\W+exclusive)?")


class _Message(msgspec.Struct):
    content: str | list[Any] | dict[str, Any] | None = None  # a list where it is split by kind
    refusal: Any = None


class _Choice(msgspec.Struct, Generic[L]):
    message: _Message | None = None
    text: str | None = None
    finish_reason: Any = None
    error: Any = None
    logprobs: L | None = None


class _Completion(msgspec.Struct, Generic[L]):
    choices: list[_Choice[L]] | None = None
    model: Any = None
    usage: Any = None
    error: Any = None


class _Step(msgspec.Struct, gc=False):
    token: str
    logprob: float | None = None
    top_logprobs: msgspec.Raw = _NULL  # most of them are never read


class _LogProbs(msgspec.Struct):
    """In OpenAI's shape, or in the older one of parallel lists."""

    content: list[_Step] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Likely(msgspec.Struct, gc=False):
    token: str
    logprob: float | None = None


_plain = msgspec.json.Decoder(_Completion[Any])  # with log-probabilities of any shape
_full = msgspec.json.Decoder(_Completion[_LogProbs])
_likely = msgspec.json.Decoder(list[_Likely] | None)


def thinks_first(model: str) -> bool:
    """Guess from its name whether a model thinks before it replies.

    The limit of tokens then includes the thinking, so that a limit for the reply alone is not sent.
    A wrong guess costs no more than that limit.
    """
    return says("thinking model", model) and not says("other model", model)


class OpenAICompatibleModel(ServedModel):
    """A model behind any server that speaks OpenAI's chat completions.

    `voirdire.models.load_model` makes one from a name such as ``"openai/gpt-4o-mini"`` and knows
    the addresses, the variables of keys and the ways of the providers.

    The model learns what its server takes. Where an error names a parameter that was sent, the
    request is made again at once without it, or with what the message allows. What helped holds for
    every later request. A change that did not help is forgotten, since the error was about
    something else. An error that names no parameter is told as it is.

    Parameters
    ----------
    model : str
        What the server calls the model.
    base_url : str
        Address of the server, what comes before ``/chat/completions``.
    name : str, optional
        What verdicts and messages call it; `model` by default.
    api_key_env : str, optional
        Environment variable that holds the key. Without it no key is sent.
    key_header : str, optional
        Header of the key, such as ``"api-key"``; by default it is a bearer token.
    served_as : str, optional
        Name of the deployment, which stands for the address in `settings`: replies are found again
        when the same model is served elsewhere.
    reads_keys : bool, optional
        Whether keys are read, and missing ones refused. Without them it can be asked nothing.
    connection : HttpConnection, optional
        Another way to the server, in place of HTTP to `base_url`.
    **settings
        As for `voirdire.models.load_model`: `temperature`, `reasoning_effort`, `max_tokens`,
        `extra`, `capabilities`.

    Raises
    ------
    InputError
        If an argument breaks its rule, or an environment variable is missing.

    Notes
    -----
    Order: calls are independent. Errors: whatever goes wrong is a `ModelCallError`, placed by
    status and by what the server says; what the server says is shown in part, without keys and
    without what it repeats of the prompt. Redirects are not followed. Cancellation: closes the
    connection of the call; the server may still finish and charge it. Memory: an answer of more
    than 16 MiB is not read. Retries and caching: a request is made again only where a parameter of
    it was refused; waiting and trying again is the caller's business, and so is the time of a call.

    The key is read once, when the model is made, and kept where no repr shows it. Proxies are
    those that the environment names, except for this machine itself.

    Examples
    --------
    >>> model = OpenAICompatibleModel(model="llama-3", base_url="http://localhost:8080/v1")
    >>> model.name
    'llama-3'
    >>> model.settings["base_url"]
    'http://localhost:8080/v1'
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        name: str | None = None,
        served_as: str | None = None,
        capabilities: Capabilities | None = None,
        **settings: Any,
    ) -> None:
        served = {key: settings.pop(key) for key in _OF_SERVER if key in settings}
        base_url = http.check_base_url(base_url)
        self.capabilities = capabilities or Capabilities()
        self.sampling = _check_settings(settings)
        told = {key: value for key, value in self.sampling.items() if value not in (None, {})}
        here = {"api": "chat/completions", "base_url": served_as or base_url, "model": model}
        self.settings: dict[str, Any] = here | told
        host, effort = urlsplit(base_url).hostname, self.sampling["reasoning_effort"]
        self._thinks = thinks_first(model) if effort is None else effort != "none"
        # There `logprobs` is the number itself, instead of true beside `top_logprobs`.
        self._counts_logprobs = host == "api.together.xyz"
        # Other servers cache without a mark, or refuse it.
        is_routed = host == "openrouter.ai" and model.startswith("anthropic/")
        marks_cache = is_routed or host == "api.anthropic.com"
        super().__init__(name or model, base_url, "/chat/completions", **served)
        # Only the user message differs between calls: all else is encoded once.
        self._head = b'{"model":' + _encode(model) + b',"messages":['
        encode_system = partial(_encode_message, marks_cache=marks_cache)
        self._encode_system = lru_cache(_MOST_KEPT)(encode_system)
        self._encode_fields = lru_cache(_MOST_KEPT)(lambda *asked: _encode(self._fields(*asked)))
        self._changes: dict[str, Any] = {}

    async def reply(self, request: ChatRequest) -> Reply:
        """Answer one request; raise a `ModelCallError` where there is no reply."""
        return (await self.samples(request, 1))[0]

    async def samples(self, request: ChatRequest, n: int) -> Sequence[Reply]:
        """Ask for several replies in one call.

        Parameters
        ----------
        request : ChatRequest
            What is asked, at a temperature above 0: else all replies are alike.
        n : int
            How many, at least 1.

        Returns
        -------
        sequence of Reply
            At most `n`; fewer where the server gives fewer, or where some choices are refusals or
            were held back; one where it takes no number. The first has the usage of all.

        Raises
        ------
        ModelCallError
            If there is no reply at all; an `UnsupportedError` with the feature ``"logprobs"``
            where the server refuses to give them.
        """
        request = msgspec.structs.replace(request, n=n)
        changes = self._changes
        reasons: dict[str, errors.ModelCallError] = {}
        result = await self._send(request, changes)
        while isinstance(result, errors.UnsupportedError):
            name, value = self._change(result.feature, str(result), request, changes)
            changes, reasons[name] = {**changes, name: value}, result
            result = await self._send(request, changes)
        if isinstance(result, errors.ModelCallError):
            raise result
        if changes.get("top_logprobs", n) is None:
            reason = reasons["top_logprobs"]
            raise errors.UnsupportedError(str(reason), feature="logprobs", status=reason.status)
        self._learn(changes, reasons)
        return result

    def _learn(self, changes: Changes, reasons: Mapping[str, errors.ModelCallError]) -> None:
        """Remember what was refused and is answered without."""
        self._server.has_replied = True
        for name in reasons.keys() & changes.keys():
            if self._changes.get(name, reasons) != changes[name]:
                self._changes = {**self._changes, name: changes[name]}
                how = "left out" if changes[name] is None else f"sent as {changes[name]}"
                named = "response_format" if name == "form" else name
                self._server.note(f"`{named}` is {how}, since {reasons[name]}")

    async def _send(self, request: ChatRequest, changes: Changes) -> Result:
        """Make one call; an `UnsupportedError` has the name of what is refused."""
        messages = [
            self._encode_system(message) if message.role == "system" else _encode_message(message)
            for message in _messages(request, changes)
        ]
        rest = msgspec.structs.replace(request, messages=())
        fields = self._encode_fields(rest, tuple(changes.items()))
        tail = b"]}" if fields == b"{}" else b"]," + fields[1:]
        body = b"".join((self._head, b",".join(messages), tail))
        answer = await self._post(body, request, partial(self._names, request, changes))
        if isinstance(answer, errors.ModelCallError):
            return answer
        return self._read(answer[0], request, _form(request, changes), answer[1])

    def _read(self, body: bytes, request: ChatRequest, form: ReplyForm, error: Making) -> Result:
        """Read the body of an answer whose status says that it holds replies.

        Their texts are without the reasoning that the server separates; the first has the usage of
        the call. A choice without a reply is left out where another has one. Where none has, the
        error says why: `error` makes it where the server says so.
        """
        fail = self._server.fail
        with_logprobs = request.top_logprobs is not None
        completion = _decode(body, with_logprobs=with_logprobs)
        if completion is None and (mended := mend_body(body)):
            body, completion = mended, _decode(mended, with_logprobs=with_logprobs)
        if completion is None:
            return fail(errors.ServerError, "sent what is no chat completion", quoted=body)
        if completion.error or not completion.choices:
            return error({"error": completion.error} if completion.error else body)
        usage = _usage(completion.usage)
        replies: list[Reply] = []
        failures: list[errors.ModelCallError] = []
        for place, choice in enumerate(completion.choices[: request.n]):
            reason = str(choice.finish_reason or "")
            message = choice.message or _Message(content=choice.text)
            refusal = str(message.refusal or "")
            if choice.error:
                failures.append(error({"error": choice.error}))
            elif says("held back", reason):
                what = "held its reply back: content filter"
                failures.append(fail(errors.ContentFilterError, what))
            elif refusal or reason == "refusal":
                failures.append(fail(errors.RefusalError, "declined to reply", quoted=refusal))
            elif says("broken off", reason):
                what = "broke off with an error"
                failures.append(fail(errors.ServerError, what, quoted=reason))
            else:
                text = _text(message.content)
                is_cut = says("cut off", reason)
                if not (text.strip() or is_cut or request.form == "text"):
                    text = _answer_elsewhere(body, place, self._server) or text
                told = choice.logprobs if isinstance(choice.logprobs, _LogProbs) else None
                reply = Reply(
                    text=text,
                    steps=None if told is None else _steps(told, text=text, body=body, place=place),
                    form=form,
                    finish_reason="length" if is_cut else reason or None,
                    model=completion.model if isinstance(completion.model, str) else None,
                    usage=None if replies else usage,
                )
                replies.append(reply)
        return replies or failures[0]

    def _fields(self, request: ChatRequest, pairs: Iterable[Change]) -> dict[str, Any]:
        """Return every field of the body except the model and the messages."""
        changes, settings = dict(pairs), self.sampling
        temperature, limit, top = request.temperature, request.max_tokens, request.top_logprobs
        top = None if top is None else changes.get("top_logprobs", top)
        name = _form(request, changes)
        form: dict[str, Any] | None = None if name == "text" else {"type": name}
        if form and name == "json_schema":
            schema = msgspec.json.decode(request.schema)
            named = {"name": "verdict", "strict": True, "schema": schema}
            form["json_schema"] = _without(named, changes)
        fields: dict[str, Any] = {
            "response_format": form,
            "temperature": settings["temperature"] if temperature is None else temperature,
            "max_tokens": settings["max_tokens"] or (None if self._thinks else limit),
            "reasoning_effort": settings["reasoning_effort"],
            "seed": request.seed,
            "n": request.n if request.n > 1 else None,
            "logprobs": top if top is None or self._counts_logprobs else True,
            "top_logprobs": None if self._counts_logprobs else top,
            "stream": changes.get("stream"),
        }
        sent = {
            changes.get(f"name of {name}", name): changes.get(name, value)
            for name, value in fields.items()
            if value is not None
        }
        sent |= settings["extra"]
        return {name: value for name, value in sent.items() if value is not None}

    def _names(self, request: ChatRequest, changes: Changes) -> set[str]:
        """Name all that the server may refuse of a request, by the usual names."""
        fields = self._fields(request, changes.items())
        schema = _encode(fields.get("response_format")).decode()
        names = {_USUAL.get(name, name).replace("completion_", "") for name in fields} ^ {"stream"}
        names |= {message.role for message in _messages(request, changes)}
        names &= {"form", *_INSTEAD}
        return names | {word for word in _KEYWORDS - changes.keys() if f'"{word}":' in schema}

    def _change(self, name: str, text: str, request: ChatRequest, changes: Changes) -> Change:
        """Return what to send in place of what a server refused in these words."""
        fields = self._fields(request, changes.items())
        if name == "form":
            return name, FORMS[FORMS.index(_form(request, changes)) + 1]
        if name == "top_logprobs":
            top = fields.get("top_logprobs") or fields["logprobs"]
            bounds = [int(number) - bool(open_) for number, open_ in _NUMBER.findall(text)]
            return name, max((bound for bound in bounds if 2 <= bound < top), default=None)
        if name == "max_tokens" and name in fields and not says("size", text):
            return "name of max_tokens", "max_completion_tokens"
        if name == "temperature" and fields[name] == 0 and says("above zero", text):
            return name, _NEARLY_ZERO
        return name, _INSTEAD.get(name)


def _form(request: ChatRequest, changes: Changes) -> ReplyForm:
    """Return the form of reply that is really asked for."""
    return max(request.form, changes.get("form", request.form), key=FORMS.index)


def _messages(request: ChatRequest, changes: Changes) -> Sequence[Message]:
    """Return the messages; where the server knows no role `system`, it begins the user's."""
    if "system" not in changes:
        return request.messages
    system = [message.content for message in request.messages if message.role == "system"]
    first, *others = [message for message in request.messages if message.role != "system"]
    content = "\n\n".join([*system, first.content])
    return (msgspec.structs.replace(first, content=content), *others)


def _without(value: Any, words: Mapping[str, Any], *, is_named: bool = False) -> Any:
    """Leave keywords out of a schema; names of properties are none."""
    if not isinstance(value, dict):
        return value
    return {
        key: _without(part, words, is_named=key == "properties" and not is_named)
        for key, part in value.items()
        if is_named or key not in words
    }


def _encode_message(message: Message, *, marks_cache: bool = False) -> bytes:
    """Encode a message: its text, or parts of text and images."""
    try:
        if not message.images and not marks_cache:
            return _encode(message)
        text: dict[str, Any] = {"type": "text", "text": message.content}
        text |= {"cache_control": {"type": "ephemeral"}} if marks_cache else {}
        images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
        return _encode({"role": message.role, "content": [text, *images]})
    except UnicodeEncodeError:
        whole = msgspec.structs.replace(message, content=_HALVES.sub("\ufffd", message.content))
        return _encode_message(whole, marks_cache=marks_cache)


def _check_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a model."""
    settings = dict.fromkeys(("temperature", "reasoning_effort", "max_tokens", "extra")) | settings
    if settings["temperature"] is not None:
        check_positive("temperature", settings["temperature"], zero=True)
    if settings["max_tokens"] is not None:
        check_count("max_tokens", settings["max_tokens"], minimum=1)
    return settings | {"extra": check_extra(settings["extra"] or {}, _OURS)}


def check_extra(extra: Mapping[str, Any], ours: Collection[str]) -> dict[str, Any]:
    """Return further fields of a request, which must be JSON without keys and without `ours`."""
    for name in sorted({*ours}.intersection(extra)):
        msg = f"`extra` must not hold {name!r}, which has its own place."
        raise errors.InputError(f"{msg} Leave it out, or set it as a setting of the judge.")
    try:
        encoded = _encode(dict(extra)).decode()
    except (TypeError, ValueError, RecursionError):  # not JSON, or a circle
        msg = "`extra` must hold JSON values, got something else."
        raise errors.InputError(f"{msg} Write numbers, words, lists and mappings.") from None
    if http.Keys({}).hide(encoded) != encoded or says("secret field", encoded):
        msg = "`extra` must hold no key and no password, got what looks like one."
        raise errors.InputError(f"{msg} Name the variable that holds it: `api_key_env`.")
    return msgspec.json.decode(encoded)  # type: ignore[no-any-return]


def _decode(body: bytes, *, with_logprobs: bool) -> _Completion[Any] | None:
    """Decode a body; None where it is not JSON, or not a chat completion."""
    try:
        body.decode()  # some parts are decoded later, if at all
        return _full.decode(body) if with_logprobs else _plain.decode(body)
    except (msgspec.ValidationError, RecursionError):  # perhaps only its log-probabilities are odd
        return _decode(body, with_logprobs=False) if with_logprobs else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def mend_body(body: bytes) -> bytes | None:
    """Return plain JSON for a byte-order mark, events, ``NaN``, or half a surrogate pair."""
    try:
        text = body.decode("utf-8-sig")
        try:
            whole = json.loads(text, parse_constant=lambda c: -9999.0 if c[0] == "-" else None)
        except ValueError:
            whole = _join_events(text)
        return json.dumps(whole, ensure_ascii=False).encode(errors="replace") if whole else None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _join_events(text: str) -> dict[str, Any] | None:
    """Join the events of a stream that nobody asked for; None where it broke off."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for line in text.split("\n"):
        event = line.strip().removeprefix("data:").strip()
        if not event.startswith("{"):
            continue
        chunk = json.loads(event)
        whole |= {name: value for name, value in chunk.items() if value is not None}
        for choice in chunk.get("choices") or ():
            kept = choices.setdefault(choice.get("index", 0), {"message": {}})
            for name, part in (choice.get("delta") or choice.get("message") or {}).items():
                is_again = "message" in choice and part == kept["message"].get(name)  # a whole one
                if isinstance(part, str) and not is_again:
                    kept["message"][name] = kept["message"].get(name, "") + part
            kept["finish_reason"] = choice.get("finish_reason") or kept.get("finish_reason")
            steps = (choice.get("logprobs") or {}).get("content")
            if steps:
                kept.setdefault("logprobs", {"content": []})["content"] += steps
    is_whole = "[DONE]" in text or any(kept["finish_reason"] for kept in choices.values())
    return whole | {"choices": list(choices.values())} if is_whole or "error" in whole else None


def _text(content: Any) -> str:
    """Return the text of a message, without other parts, such as thoughts."""
    if isinstance(content, dict):  # the object that was asked for, already decoded
        return json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        parts = [{"text": part} if isinstance(part, str) else part for part in content]
        texts = [
            part.get("text")
            for part in parts
            if isinstance(part, dict)
            and part.get("type", "text") in ("text", "output_text")
            and not part.get("thought")
        ]
        return "".join(text for text in texts if isinstance(text, str))
    return content or ""


def _answer_elsewhere(body: bytes, place: int, server: Server) -> str | None:
    """Find the one JSON object that was asked for in other fields of a message."""
    message = msgspec.json.decode(body)["choices"][place].get("message") or {}
    found = {text: name for name, value in message.items() for text in _find_objects(name, value)}
    if len(found) != 1:  # of two that differ none is the answer
        return None
    ((answer, name),) = found.items()
    server.note(f"Answers are read in `{name}`, since {server.name} leaves `content` empty.")
    return answer


def _find_objects(name: object, value: Any) -> Iterator[str]:
    """Find JSON objects that are the whole of a text, or the arguments of a call; not a draft."""
    if isinstance(value, dict) and value.get("thought"):
        return
    if isinstance(value, dict) and name in ("arguments", "parsed", "input"):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        fenced = _FENCE.fullmatch(value[find_answer(value) or 0 : find_end(value)])
        if fenced and _value_spans(fenced[1]):
            yield fenced[1]
    value = dict(enumerate(value)) if isinstance(value, list) else value
    for part in value.items() if isinstance(value, dict) else ():
        yield from _find_objects(*part)


def _usage(counts: Any) -> Usage | None:
    """Read the charged tokens; None where the server does not report them, or reports zeros.

    Some servers leave reasoning out of the tokens of the completion, but none out of the total.
    """
    try:
        prompt, completion = int(counts["prompt_tokens"]), int(counts["completion_tokens"])
        unsaid = max(0, int(counts.get("total_tokens") or 0) - prompt - completion)
        details = counts.get("prompt_tokens_details") or {}
        cached = details.get("cached_tokens") or counts.get("prompt_cache_hit_tokens") or 0
        details = counts.get("completion_tokens_details") or {"reasoning_tokens": unsaid}
        reasoning = details.get("reasoning_tokens") or 0
        prompt += cached if cached > prompt else 0  # some count only those that are new
        cached, reasoning = max(0, cached), min(max(0, reasoning), completion + unsaid)
    except (TypeError, ValueError, LookupError, AttributeError):
        return None
    # Other values would make all sums and costs wrong.
    if not (0 < prompt <= _MOST_TOKENS and 0 <= completion + unsaid <= _MOST_TOKENS):
        return None
    return Usage(prompt, completion + unsaid, cached, reasoning)


def _steps(
    logprobs: _LogProbs, *, text: str, body: bytes, place: int
) -> tuple[TokenStep, ...] | None:
    """Make the steps of a reply; None where the server gave none, or in an unknown shape.

    Tokens before the text, such as a model's reasoning, and after it, such as the end of its turn,
    are left out. Where the tokens do not spell the text, all are kept. Alternatives are kept at the
    values of the text's JSON object, and at every step where the text is not such an object.
    """
    content = _steps_of_lists(logprobs) if logprobs.content is None else logprobs.content
    if not content:
        return None if text or logprobs.content is None else ()
    tokens = [step.token for step in content]
    at = "".join(tokens).rfind(text) if text else -1
    if at < 0 and text:
        tokens = _tokens_by_bytes(body, place=place) or tokens
        at = "".join(tokens).rfind(text)
    ends = list(accumulate(map(len, tokens)))
    first, last = 0, len(tokens)
    if at >= 0:
        first, last = bisect_right(ends, at), bisect_right(ends, at + len(text) - 1) + 1
    steps = [
        TokenStep(token, nan if step.logprob is None else step.logprob)
        for token, step in zip(tokens[first:last], content[first:last], strict=True)
    ]
    spans = _value_spans(text) if at >= 0 else None
    try:
        for index in range(first, last) if spans is None else _find_value_steps(ends, spans, at):
            likely = _likely.decode(content[index].top_logprobs) or ()
            top = [TokenChoice(c.token, nan if c.logprob is None else c.logprob) for c in likely]
            step = steps[index - first]
            steps[index - first] = TokenStep(step.token, step.logprob, tuple(top))
    except msgspec.DecodeError:  # alternatives of an unknown shape
        return None
    return tuple(steps)


def _steps_of_lists(logprobs: _LogProbs) -> list[_Step]:
    """Convert parallel lists to OpenAI's shape."""
    tokens, chosen = logprobs.tokens or [], logprobs.token_logprobs or []
    if len(chosen) != len(tokens):
        return []
    likely = [
        msgspec.Raw(msgspec.json.encode([_Likely(*each) for each in (top or {}).items()]))
        for top in logprobs.top_logprobs or ()
    ]
    return list(map(_Step, tokens, chosen, chain(likely, repeat(_NULL))))


def _tokens_by_bytes(body: bytes, *, place: int) -> list[str] | None:
    """Decode the tokens from their bytes: a character belongs to the token that completes it."""
    try:
        steps = msgspec.json.decode(body)["choices"][place]["logprobs"]["content"]
        pieces = [bytes(s.get("bytes") or s["token"].encode()) for s in steps]
    except (LookupError, TypeError, ValueError):
        return None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(piece) for piece in pieces]


def _find_value_steps(ends: list[int], spans: list[tuple[int, int]], at: int) -> list[int]:
    """List the tokens, by where they end, that touch a value of the text, which begins at `at`."""
    places: list[int] = []
    for start, end in spans:
        index = bisect_right(ends, start + at)
        if places and index <= places[-1]:  # a token that reaches from one value into the next
            index = places[-1] + 1
        while index < len(ends) and (ends[index - 1] if index else 0) < end + at:
            places.append(index)
            index += 1
    return places


def _value_spans(text: str) -> list[tuple[int, int]] | None:
    """Find the values of a flat JSON object: from behind the colon to the end of each.

    None where the text is no object whose values are words, numbers, strings or flat arrays.
    """
    at = len(text) - len(text.lstrip()) + 1
    if text[at - 1 : at] != "{":
        return None
    spans = []
    while member := _MEMBER.match(text, at):
        spans.append(member.span(1))
        at = member.end()
        if member[2] == "}":
            return spans if not text[at:].strip() else None
    return None
