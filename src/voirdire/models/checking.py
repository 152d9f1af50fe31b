"""Checks the abilities of a model's server with test calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from voirdire.errors import AccessError, BadRequestError, InputError, ModelCallError
from voirdire.models.port import Capabilities, ChatRequest
from voirdire.records import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire._types import ReplyForm
    from voirdire.models.port import ChatModel
    from voirdire.records import Reply

__all__ = ["ModelCheck", "ModelCheckStep", "check_model"]

_FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
_NUMBERS = (20, 10, 5, 1)  # of likely tokens, as servers bound them
_KEY = "leaves_are_green"
_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {_KEY: {"type": "boolean"}},
        "required": [_KEY],
        "additionalProperties": False,
    }
)
_SYSTEM = "You answer with one JSON object and nothing else: no code fence, no other words."
# With a schema the prompt does not name the key: a reply with the key proves that it was used.
_OPEN = "Are the leaves of most trees green in summer? Answer as JSON, true or false."
_NAMED = f'{_OPEN} The object has the one key "{_KEY}".'
_MAX_TOKENS = 64


@dataclass(frozen=True, kw_only=True)
class ModelCheckStep:
    """One question to a server.

    Attributes
    ----------
    feature : str
        What was asked for: a form of reply, ``"logprobs 20"``, ``"seed"``.
    works : bool or None
        Whether it works; None where that could not be found out.
    error : str or None
        What the server said, or what was wrong with its reply; None where it works.
    """

    feature: str
    works: bool | None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class ModelCheck:
    """Abilities of a server.

    Attributes
    ----------
    model : str
        Name of the model.
    capabilities : Capabilities
        As found; for `voirdire.models.load_model`.
    takes_seed : bool or None
        Whether it takes a seed, which is no promise that it repeats itself; None where that could
        not be found out.
    steps : tuple of ModelCheckStep
        What was asked, in order; one call each.
    """

    model: str
    capabilities: Capabilities
    takes_seed: bool | None
    steps: tuple[ModelCheckStep, ...]


async def check_model(model: ChatModel) -> ModelCheck:
    """Check what a model's server can do: forms of reply, log-probabilities, a seed.

    Parameters
    ----------
    model : ChatModel
        Who is asked, at most nine short questions one after the other.

    Returns
    -------
    ModelCheck
        With what each question met.

    Raises
    ------
    AccessError
        If every call would fail: a wrong key, no such model.
    ModelCallError
        If no form of reply works, plain text included; the last error.

    Notes
    -----
    *Order*: the forms from the strictest, log-probabilities from the most, the seed. *Errors*: what
    a server refuses is a step that does not work; what may pass, such as a rate limit, leaves the
    step open, and what is open counts as not working. *Cancellation*: nothing is kept.
    *Memory*: one call at a time. *Retries and caching*: none.
    """
    asking = _Asking(model)
    forms = []
    for form in _FORMS:
        await asking.ask(form, _request(form), problem_of=_problem)
        if asking.steps[-1].works:
            forms.append(form)
    if not forms:
        if asking.failure is not None:
            raise asking.failure
        said = asking.steps[-1].error
        msg = f"`model` must give replies in some form, got none from {model.name}: {said}."
        raise InputError(f"{msg} Take a model that follows instructions.")
    top_logprobs = await _most_logprobs(asking, forms[0])
    await asking.ask("seed", _request(forms[0], seed=1), problem_of=lambda _: None)
    return ModelCheck(
        model=model.name,
        capabilities=Capabilities(forms=tuple(forms), top_logprobs=top_logprobs),
        takes_seed=asking.steps[-1].works,
        steps=tuple(asking.steps),
    )


@dataclass
class _Asking:
    model: ChatModel
    steps: list[ModelCheckStep] = field(default_factory=list)
    failure: ModelCallError | None = None

    async def ask(
        self, feature: str, request: ChatRequest, *, problem_of: Callable[[Reply], str | None]
    ) -> Reply | None:
        """Make one call and record the result for a feature; None where no reply came."""
        reply = None
        try:
            reply = await self.model.reply(request)
            error = problem_of(reply)
            works: bool | None = error is None
        except AccessError:
            raise
        except ModelCallError as raised:
            self.failure, error = raised, str(raised)
            works = False if isinstance(raised, BadRequestError) else None
        self.steps.append(ModelCheckStep(feature=feature, works=works, error=error))
        return reply


async def _most_logprobs(asking: _Asking, form: ReplyForm) -> int | None:
    """Find the most likely tokens per token; 0 for none, None where it is not known."""
    for number in _NUMBERS:
        reply = await asking.ask(
            f"logprobs {number}",
            _request(form, top_logprobs=number),
            problem_of=lambda reply: None if _n_likely(reply) else "the reply came without them",
        )
        if reply is not None:
            return min(_n_likely(reply), number)
        if asking.steps[-1].works is None:
            return None
    return 0


def _n_likely(reply: Reply) -> int:
    return max((len(step.top) for step in reply.steps or ()), default=0)


def _request(
    form: ReplyForm, *, top_logprobs: int | None = None, seed: int | None = None
) -> ChatRequest:
    question = _OPEN if form == "json_schema" else _NAMED
    return ChatRequest(
        messages=(
            Message(role="system", content=_SYSTEM),
            Message(role="user", content=question),
        ),
        form=form,
        schema=b"" if form == "text" else _SCHEMA,
        top_logprobs=top_logprobs,
        max_tokens=_MAX_TOKENS,
        seed=seed,
    )


def _problem(reply: Reply) -> str | None:
    """Return the problem of a reply; plain text must only not be empty."""
    if reply.form == "text":
        return None if reply.text.strip() else "the reply is empty"
    try:
        read = msgspec.json.decode(reply.text.encode())
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return "the reply is no JSON"
    if not isinstance(read, dict):
        return "the reply is not a JSON object"
    if reply.form == "json_schema" and not (list(read) == [_KEY] and isinstance(read[_KEY], bool)):
        return "the reply does not follow the schema"
    return None
