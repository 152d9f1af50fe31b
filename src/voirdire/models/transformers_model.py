"""Runs a model of the `transformers` library in this process, one question a request.

A yes-or-no question costs one pass: the next token's distribution gives the probabilities of true
and false. Other answers are generated freely.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import math
import random
import threading
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import check_count, shorten
from voirdire.errors import (
    AccessError,
    BadRequestError,
    InputError,
    ModelCallError,
    UnsupportedError,
)
from voirdire.models.port import Capabilities
from voirdire.records import Reply, TokenChoice, TokenStep, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

    from voirdire.models.port import ChatRequest
    from voirdire.records import Message

__all__ = ["TransformersModel"]

_MOST_TOP_LOGPROBS = 100
_DEFAULT_MAX_TOKENS = 1_024
_WORDS = ("true", "false")
_SPACES = "Ġ▁ "  # mark of tokenizers for the space before a word


@dataclass(kw_only=True, eq=False)
class _Row:
    """A request in progress: its prompt as tokens, and its reply so far."""

    request: ChatRequest
    prompt: list[int]
    begin: str  # of the reply: part of the prompt already
    room: int  # tokens that the reply may have
    temperature: float
    is_boolean: bool
    n_shared: int = 0  # tokens of the prompt that are shared with another prompt
    text: str = ""
    steps: tuple[TokenStep, ...] | None = None
    n_tokens: int = 0
    finish_reason: str | None = None


class TransformersModel:
    """A causal language model in this process, without a server.

    Parameters
    ----------
    model : str, path or transformers.PreTrainedModel
        A folder, a name on the model hub, or a model that is loaded already.
    tokenizer : transformers.PreTrainedTokenizerBase, optional
        With a chat template; None loads the one beside the model.
    name : str, optional
        What verdicts call it; None takes ``"transformers/"`` and the last part of the path or name.
    device : str, optional
        Where it runs, such as ``"cpu"`` or ``"cuda"``; None is the CPU, and for a model that is
        loaded already, where that is.
    dtype : str, optional
        Precision of the weights, such as ``"float32"`` or ``"bfloat16"``; ``"auto"`` keeps that of
        the file. A model that is loaded already keeps its own.
    batch_size : int, optional
        Replies that are generated together at most, at least 1. Memory grows with it.
    temperature : float, optional
        For requests that name none; None takes the likeliest token.
    max_tokens : int, optional
        Tokens of a reply at most, whatever the request says; None takes the request's bound, or
        1,024.

    Raises
    ------
    InputError
        If torch or transformers are missing, if the model cannot be loaded, if the tokenizer has
        no chat template, or if an argument breaks its rule.

    Notes
    -----
    *Order*: `replies` follow the requests. *Errors*: a request that is too long, or of a form that
    is not known here, gets a `ModelCallError` in its place; too little memory raises
    `AccessError`. *Cancellation*: a batch stops after the token that it is at, and its replies are
    lost. *Memory*: one batch at a time, and the keys and values of one shared beginning beside it.
    *Retries and caching*: none; the keys and values last as long as the call.

    A request with a schema asks one question, as judges do with ``mode="single"``; a schema of
    several is an `AccessError`. Where it asks for true or false, one pass gives log-probabilities
    of what could stand next, over all tokens; the likelier of the two words is the answer, or one
    drawn by their probabilities where there is a temperature. Requests that begin alike, token by
    token, are encoded together: the beginning once, then the rests as a batch behind it. Any other
    reply is generated freely, without log-probabilities; under a schema it ends with its JSON
    object, and whoever reads it sees whether it keeps to the schema.
    """

    asks_one_question = True

    def __init__(
        self,
        model: Any,
        *,
        tokenizer: Any = None,
        name: str | None = None,
        device: str | None = None,
        dtype: str = "auto",
        batch_size: int = 16,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._batch_size = check_count("batch_size", batch_size, minimum=1)
        if max_tokens is not None:
            check_count("max_tokens", max_tokens, minimum=1)
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._model, self._tokenizer = _load_parts(
            model, tokenizer=tokenizer, device=device, dtype=dtype
        )
        if not self._tokenizer.chat_template:
            msg = "`tokenizer` must have a chat template, got one without. Set `chat_template`."
            raise InputError(msg)
        is_named = isinstance(model, str | Path)
        self._source = str(model) if is_named else model.config.name_or_path or "model"
        self._name = name or f"transformers/{Path(self._source).name}"
        self._anchor: list[int] = self._tokenizer.encode("a", add_special_tokens=False)
        self._n_anchor = 0
        self._n_anchor = len(self._text([]))
        self._token_text = cache(lambda token: self._text([token]))
        self._beginnings = _beginnings(self._tokenizer)
        self._digest = _digest(self._model, self._tokenizer)
        self._one_at_a_time = threading.Lock()

    def __repr__(self) -> str:
        return f"TransformersModel({self._source!r}, name={self._name!r})"

    @property
    def name(self) -> str:
        """Its name in verdicts."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its weights and chat template, as a hash over samples of them; precision and bounds."""
        return {
            "weights": self._digest,
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "temperature": self._temperature,
            "max_tokens": self._max_tokens,
        }

    @property
    def capabilities(self) -> Capabilities:
        """A schema of one question, or free text; log-probabilities of many tokens."""
        return Capabilities(forms=("json_schema", "text"), top_logprobs=_MOST_TOP_LOGPROBS)

    async def reply(self, request: ChatRequest) -> Reply:
        """Answer one request.

        Parameters
        ----------
        request : ChatRequest
            What is asked.

        Returns
        -------
        Reply
            What was said, its beginning included, which is one step with log-probability 0.

        Raises
        ------
        ModelCallError
            If there is no reply; see the notes of the class.
        """
        (said,) = await self.replies([request])
        if isinstance(said, ModelCallError):
            raise said
        return said

    async def replies(self, requests: Sequence[ChatRequest]) -> Sequence[Reply | ModelCallError]:
        """Answer requests together; encode their common beginnings once.

        Parameters
        ----------
        requests : sequence of ChatRequest
            Of any form and length.

        Returns
        -------
        sequence of Reply or ModelCallError
            In the order of the requests.

        Raises
        ------
        AccessError
            If there is too little memory for a batch, or a schema asks several questions.
        """
        is_cancelled = threading.Event()
        try:
            return await asyncio.to_thread(self._answer, tuple(requests), is_cancelled)
        except asyncio.CancelledError:
            is_cancelled.set()
            raise

    async def close(self) -> None:
        """Do nothing: the model stays loaded as long as this object does."""

    def _answer(
        self, requests: Sequence[ChatRequest], is_cancelled: threading.Event
    ) -> list[Reply | ModelCallError]:
        import torch

        rows = [self._row(request) for request in requests]
        ready = [row for row in rows if isinstance(row, _Row)]
        try:
            with self._one_at_a_time, torch.inference_mode():
                for group in _groups([row for row in ready if row.is_boolean]):
                    if not is_cancelled.is_set():
                        self._weigh(group)
                free = [row for row in ready if not row.is_boolean]
                for batch in self._batches(sorted(free, key=lambda row: len(row.prompt))):
                    self._generate(batch, is_cancelled)
        except torch.OutOfMemoryError:
            msg = (
                f"{self._name} ran out of memory with {len(ready)} requests in batches of at "
                f"most {self._batch_size}. Lower `batch_size`."
            )
            raise AccessError(msg) from None
        return [self._reply(row) if isinstance(row, _Row) else row for row in rows]

    def _row(self, request: ChatRequest) -> _Row | ModelCallError:
        if request.form == "json_object":
            msg = "A model in this process cannot be asked for the form 'json_object'."
            return UnsupportedError(msg, feature="json_object")
        begin, is_boolean = request.prefill, False
        if request.form == "json_schema":
            key, kind = _find_question(request.schema, model=self._name)
            begin = begin or f"{{{json.dumps(key, ensure_ascii=False)}:"
            is_boolean = kind == "boolean"
        text = self._render_prompt(request.messages) + begin
        prompt = self._tokenizer.encode(text, add_special_tokens=False)
        most = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        room = (most or 1 << 30) - len(prompt)
        if room < 1:
            msg = f"The prompt has {len(prompt)} tokens; {self._name} takes {most}."
            return BadRequestError(msg)
        wanted = self._max_tokens or request.max_tokens or _DEFAULT_MAX_TOKENS
        temperature = self._temperature if request.temperature is None else request.temperature
        return _Row(
            request=request,
            prompt=prompt,
            begin=begin,
            room=min(room, wanted),
            temperature=temperature or 0.0,
            is_boolean=is_boolean,
        )

    def _reply(self, row: _Row) -> Reply:
        return Reply(
            text=row.begin + row.text,
            steps=row.steps,
            form=row.request.form,
            finish_reason=row.finish_reason,
            model=self._name,
            usage=Usage(len(row.prompt), row.n_tokens, row.n_shared),
        )

    def _render_prompt(self, messages: Sequence[Message]) -> str:
        import jinja2

        said = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._render(said)
        except jinja2.TemplateError:
            # Some templates refuse a system message: then it is joined to the first other one.
            if len(said) < 2 or said[0]["role"] != "system":
                raise
            system, first, *rest = said
            first["content"] = f"{system['content']}\n\n{first['content']}"
            return self._render([first, *rest])

    def _render(self, messages: list[dict[str, str]]) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        )

    def _batches(self, rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
        for start in range(0, len(rows), self._batch_size):
            yield rows[start : start + self._batch_size]

    def _weigh(self, group: Sequence[_Row]) -> None:
        """Encode the common beginning of rows, then their rests in batches.

        Answer from the next token.
        """
        import torch
        from transformers import DynamicCache

        device = self._model.device
        shared = group[0].prompt[: group[-1].n_shared]
        kept = DynamicCache(config=self._model.config)
        if shared:
            ids = torch.tensor([shared], device=device)
            self._model(input_ids=ids, past_key_values=kept, use_cache=True, logits_to_keep=1)
        for batch in self._batches(group):
            own = kept if batch[-1] is group[-1] else copy.deepcopy(kept)
            if shared:
                own.batch_repeat_interleave(len(batch))
            # Padding is on the right, where it does not affect the prompt.
            rests = [row.prompt[len(shared) :] for row in batch]
            ends = [len(rest) - 1 for rest in rests]
            places = sorted(set(ends))
            ids = torch.tensor(
                [rest + [0] * (places[-1] + 1 - len(rest)) for rest in rests], device=device
            )
            logits = self._model(
                input_ids=ids,
                past_key_values=own,
                use_cache=True,
                logits_to_keep=torch.tensor(places, device=device),
            ).logits
            for row, end, found in zip(batch, ends, logits, strict=True):
                self._answer_true_or_false(
                    row, found[places.index(end)].float().log_softmax(dim=-1).cpu()
                )

    def _answer_true_or_false(self, row: _Row, logprobs: torch.Tensor) -> None:
        """Answer true or false, with the alternatives."""
        weights = [float(logprobs[tokens].logsumexp(0)) for tokens in self._beginnings]
        side = int(weights[1] > weights[0])
        if row.temperature:
            odds = math.exp(-abs(weights[1] - weights[0]) / row.temperature)
            side ^= _make_generator(row).random() < odds / (1 + odds)
        tokens = self._beginnings[side]
        taken = tokens[int(logprobs[tokens].argmax())]
        said = self._token_text(taken)
        rest = f"{_WORDS[side].removeprefix(said.strip())}}}"
        row.text, row.n_tokens, row.finish_reason = said + rest, 1, "stop"
        n_top = row.request.top_logprobs
        if n_top is not None:
            values, likely = logprobs.topk(min(n_top, len(logprobs)))
            top = tuple(map(TokenChoice, map(self._token_text, likely.tolist()), values.tolist()))
            step = TokenStep(said, float(logprobs[taken]), top)
            row.steps = (TokenStep(row.begin, 0.0), step, TokenStep(rest, 0.0))

    def _generate(self, rows: Sequence[_Row], is_cancelled: threading.Event) -> None:
        """Let the model write until every reply has ended."""
        import torch
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        device = self._model.device
        width = max(len(row.prompt) for row in rows)
        pads = [width - len(row.prompt) for row in rows]
        ends = _end_tokens(self._model, self._tokenizer) or [0]
        dice = [torch.Generator().manual_seed(_make_generator(row).getrandbits(63)) for row in rows]

        def add_noise(ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
            """Add Gumbel noise: the largest sum is a draw at the temperature."""
            for place, row in enumerate(rows):
                if row.temperature:
                    noise = torch.empty(scores.shape[1]).exponential_(generator=dice[place]).log()
                    scores[place] = scores[place] / row.temperature - noise.to(device)
            return scores

        def have_ended(ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:  # noqa: ARG001
            said = zip(rows, ids[:, width:].tolist(), strict=True)
            ended = [
                is_cancelled.is_set() or len(tokens) >= row.room or self._has_object(row, tokens)
                for row, tokens in said
            ]
            return torch.tensor(ended, device=device)

        prompts = [[0] * pad + row.prompt for pad, row in zip(pads, rows, strict=True)]
        ids = self._model.generate(
            input_ids=torch.tensor(prompts, device=device),
            attention_mask=torch.tensor([[0] * n + [1] * (width - n) for n in pads], device=device),
            generation_config=GenerationConfig(
                max_new_tokens=max(row.room for row in rows),
                do_sample=False,
                repetition_penalty=1.0,
                eos_token_id=ends,
                pad_token_id=ends[0],
            ),
            logits_processor=LogitsProcessorList([add_noise]),
            stopping_criteria=StoppingCriteriaList([have_ended]),
        )
        for row, said in zip(rows, ids[:, width:].tolist(), strict=True):
            tokens = list(takewhile(lambda token: token not in ends, said[: row.room]))
            has_stopped = len(tokens) < min(len(said), row.room) or self._has_object(row, tokens)
            row.text = self._text(tokens)
            row.n_tokens = min(len(tokens) + 1, row.room) if has_stopped else len(tokens)
            row.finish_reason = "stop" if has_stopped else "length"

    def _has_object(self, row: _Row, tokens: list[int]) -> bool:
        """Return whether a reply with a schema is complete."""
        if row.request.form == "text" or not tokens or "}" not in self._token_text(tokens[-1]):
            return False
        try:
            json.loads(row.begin + self._text(tokens))
        except (ValueError, RecursionError):
            return False
        return True

    def _text(self, tokens: list[int]) -> str:
        """Decode tokens after another text, to keep the space before them."""
        text = self._tokenizer.decode(
            [*self._anchor, *tokens], skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return str(text)[self._n_anchor :]


def _find_question(schema: bytes, *, model: str) -> tuple[str, str | None]:
    """Return the key of a schema's question, and the type of its answer."""
    properties = json.loads(schema or b"{}").get("properties", {})
    if len(properties) != 1:
        msg = (
            f"`mode` must be 'single' for {model!r}, a model in this process, got a request with "
            f"{len(properties)} questions. Ask with `--mode single`."
        )
        raise AccessError(msg)
    ((key, form),) = properties.items()
    return key, form.get("type")


def _groups(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Group rows that share at least half of their tokens with the first of the group."""
    groups: list[list[_Row]] = []
    for row in sorted(rows, key=lambda row: row.prompt):
        if groups and 2 * _n_alike(groups[-1][0], row) >= len(row.prompt):
            groups[-1].append(row)
        else:
            groups.append([row])
    for first, *others in groups:
        for (
            row
        ) in others:  # sorted, so that all share the common beginning of the first and the last
            row.n_shared = min(_n_alike(first, others[-1]), len(first.prompt) - 1)
    return groups


def _n_alike(one: _Row, other: _Row) -> int:
    pairs = zip(one.prompt, other.prompt, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _beginnings(tokenizer: Any) -> list[list[int]]:
    """List the tokens that begin true, and those of false, with or without a space before."""
    names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    bare = [str(name).lstrip(_SPACES) for name in names]
    return [
        [token for token, name in enumerate(bare) if name and word.startswith(name)]
        for word in _WORDS
    ]


def _make_generator(row: _Row) -> random.Random:
    """Make a random generator from the seed and the prompt."""
    seed = row.request.seed
    return random.Random(None if seed is None else f"{seed} {row.prompt}")  # noqa: S311  # no secret


def _load_parts(model: Any, *, tokenizer: Any, device: str | None, dtype: str) -> tuple[Any, Any]:
    """Load a model and a tokenizer given by name; return loaded ones as they are."""
    try:
        import torch  # noqa: F401  # transformers without torch fails later and less clearly
        import transformers
    except ImportError:
        msg = (
            "`voirdire.models.TransformersModel` needs torch and transformers. "
            'Install them with `pip install "voirdire[transformers]"`.'
        )
        raise InputError(msg) from None
    if not isinstance(model, str | Path):
        if tokenizer is None:
            msg = "`tokenizer` must be given with a model that is loaded already, got None."
            raise InputError(msg)
        return (model if device is None else model.to(device)).eval(), tokenizer
    try:
        tokenizer = tokenizer or transformers.AutoTokenizer.from_pretrained(str(model))
        loaded = transformers.AutoModelForCausalLM.from_pretrained(str(model), dtype=dtype)
    except (OSError, ValueError) as error:
        msg = f"`model` must be a model that transformers can load, got {shorten(str(model))!r}: "
        raise InputError(msg + shorten(str(error), width=300)) from error
    return loaded.to(device or "cpu").eval(), tokenizer


def _end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Collect the tokens that end a reply; files name one, several, or none."""
    ends: set[int] = set()
    for named in (
        getattr(model.generation_config, "eos_token_id", None),
        model.config.get_text_config().eos_token_id,
        tokenizer.eos_token_id,
    ):
        ends.update([named] if isinstance(named, int) else named or [])
    return sorted(ends)


def _digest(model: Any, tokenizer: Any) -> str:
    """Hash the first numbers of every tensor, which is fast and differs for other weights."""
    digest = hashlib.sha256(str(tokenizer.chat_template).encode())
    for name, values in model.named_parameters():
        sample = values.detach().flatten()[:256].float().cpu().numpy()
        digest.update(f"{name} {tuple(values.shape)}".encode())
        digest.update(sample.tobytes())
    return digest.hexdigest()[:32]
