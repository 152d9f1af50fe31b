"""A model whose replies are a function of the request: for tests, and to try a pipeline out."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError, ModelCallError
from voirdire.models.port import Capabilities, ChatRequest
from voirdire.records import Reply, TokenChoice, TokenStep

if TYPE_CHECKING:
    from collections.abc import Iterator

Scripted = str | Reply | ModelCallError | Mapping[str, Any]

_MOST_TOP_LOGPROBS = 20
_NEVER = -9999.0
"""What servers write for the logarithm of 0, which JSON lacks."""


class ScriptedModel:
    """Replies by a function; no network, no key, no cost.

    Parameters
    ----------
    answer : callable
        Takes a `ChatRequest` and gives one of

        - the text of the reply;
        - a `Reply`, whose `form` becomes the one asked for;
        - a `ModelCallError`, which is raised;
        - a mapping of question to answer: the JSON object is written for the questions that the
          request's schema asks about, in its order, and others are left out.
    name : str, optional
        What verdicts call it.
    version : str, optional
        Part of the settings, and so of a judge's fingerprint: change it when `answer` changes.
    delay_s : float, optional
        Seconds that each reply takes, at least 0.
    log_probabilities : bool, optional
        Whether replies that are written from a mapping carry log-probabilities where the request
        asks for them.

    Raises
    ------
    InputError
        If `answer` cannot be called, or `delay_s` is no number of seconds.

    Notes
    -----
    In a mapping a boolean question's answer is its probability. Where the schema asks for true or
    false, ``true`` is written from 0.5 on, and the log-probabilities of both are those of the
    probability; where it asks for a number, the number is written. Labels, sets and numbers on a
    scale are written as they are. A request of the form ``"text"`` has no schema: all questions of
    the mapping are answered, and every ``float`` is a probability of true if log-probabilities are
    asked for.

    Examples
    --------
    >>> import asyncio
    >>> from voirdire.models import ChatRequest
    >>> from voirdire.testing import ScriptedModel
    >>> model = ScriptedModel(lambda request: {"apology": 0.9})
    >>> asyncio.run(model.reply(ChatRequest(messages=()))).text
    '{"apology":0.9}'
    """

    def __init__(
        self,
        answer: Callable[[ChatRequest], Scripted],
        *,
        name: str = "scripted",
        version: str = "1",
        delay_s: float = 0.0,
        log_probabilities: bool = True,
    ) -> None:
        given: object = answer
        if not callable(given):
            msg = f"`answer` must be callable, got {shorten(given)}. Pass a function."
            raise InputError(msg)
        if not 0 <= delay_s < math.inf:
            msg = f"`delay_s` must be a number of at least 0, got {delay_s!r}. Write half a second "
            raise InputError(f"{msg}as 0.5.")
        self.name = name
        self._answer = answer
        self._version = version
        self._delay_s = delay_s
        self._log_probabilities = log_probabilities

    def __repr__(self) -> str:
        return f"ScriptedModel(name={self.name!r}, version={self._version!r})"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its name and version, and whether it gives log-probabilities."""
        return {
            "name": self.name,
            "version": self._version,
            "log_probabilities": self._log_probabilities,
        }

    @property
    def capabilities(self) -> Capabilities:
        """All forms; twenty likely tokens, or none."""
        return Capabilities(top_logprobs=_MOST_TOP_LOGPROBS if self._log_probabilities else 0)

    async def reply(self, request: ChatRequest) -> Reply:
        """Return the reply of `answer` to the request.

        Parameters
        ----------
        request : ChatRequest
            Handed to `answer`.

        Returns
        -------
        Reply
            With the form that was asked for.

        Raises
        ------
        ModelCallError
            Where `answer` gives one.
        InputError
            If a mapping lacks a question that the schema asks about, or gives for one what the
            schema has no place for.
        """
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        said: object = self._answer(request)
        if isinstance(said, ModelCallError):
            raise said
        if isinstance(said, Reply):
            return msgspec.structs.replace(said, form=request.form)
        if isinstance(said, str):
            return Reply(text=said, form=request.form, finish_reason="stop", model=self.name)
        if not isinstance(said, Mapping):
            msg = (
                "`answer` must give a text, a Reply, an error or a mapping of answers, got "
                f"{type(said).__name__}."
            )
            raise InputError(msg)
        n_top = request.top_logprobs if self._log_probabilities else None
        steps = tuple(_write_steps(request, said, n_top=n_top or 0))
        return Reply(
            text="".join(step.token for step in steps),
            steps=None if n_top is None else steps,
            form=request.form,
            finish_reason="stop",
            model=self.name,
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _write_steps(
    request: ChatRequest, answers: Mapping[str, Any], *, n_top: int
) -> Iterator[TokenStep]:
    """Write the JSON object of the answers, one token per value and one between them."""
    is_asked = request.top_logprobs is not None
    forms: dict[str, Any] = {
        key: {"type": "boolean"} if isinstance(value, float) and is_asked else {}
        for key, value in answers.items()
    }
    if request.schema:
        forms = msgspec.json.decode(request.schema).get("properties", {})
    for place, (key, form) in enumerate(forms.items()):
        if key not in answers:
            msg = f"`answer` must give a value for every question asked, got none for {key!r}."
            raise InputError(msg)
        value, kind = answers[key], form.get("type")
        yield TokenStep(token=f"{',' if place else '{'}{_json(key)}:", logprob=0.0)
        if kind == "boolean":
            if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
                msg = (
                    f"`answer` must give a probability in [0, 1] for the question {key!r}, "
                    f"got {shorten(value)}."
                )
                raise InputError(msg)
            yield _boolean_step(float(value), n_top=n_top)
            continue
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        elif kind == "array" and not isinstance(value, str):
            value = list(value)
        elif kind == "number" and isinstance(value, bool):
            value = float(value)
        yield TokenStep(token=_json(value), logprob=0.0)
    yield TokenStep(token="}" if forms else "{}", logprob=0.0)


def _boolean_step(probability: float, *, n_top: int) -> TokenStep:
    choices = [
        TokenChoice(token=word, logprob=math.log(p) if p > 0 else _NEVER)
        for word, p in (("true", probability), ("false", 1 - probability))
    ]
    if probability < 0.5:
        choices.reverse()
    taken = choices[0]
    return TokenStep(token=taken.token, logprob=taken.logprob, top=tuple(choices[:n_top]))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
