"""A model of the `transformers` library in this process."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import threading
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
from voirdire.models.in_process.generation import Generation
from voirdire.models.in_process.prefix_groups import prefix_groups
from voirdire.models.in_process.reply_grammar import grammar_of
from voirdire.models.in_process.reply_row import ReplyRow
from voirdire.models.in_process.token_texts import TokenTexts
from voirdire.models.port import Capabilities

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.models.port import ChatRequest
    from voirdire.records import Message, Reply

__all__ = ["TransformersModel"]

_MOST_TOP_LOGPROBS = 100
_DEFAULT_MAX_TOKENS = 1_024


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

    Requests that begin alike, token by token, are encoded together: the beginning once, then the
    rests as a batch behind it. Under the form ``"json_schema"`` only tokens that lead to a reply
    under the schema are taken; log-probabilities are those before that choice, over all tokens.
    Models whose cache is not plain attention (sliding windows, recurrent states) run in batches of
    equal length, since padding would change what they say.
    """

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
        self._model, self._tokenizer = _loaded(
            model, tokenizer=tokenizer, device=device, dtype=dtype
        )
        if not self._tokenizer.chat_template:
            msg = "`tokenizer` must have a chat template, got one without. Set `chat_template`."
            raise InputError(msg)
        self._source = _source_of(model)
        self._name = name or f"transformers/{Path(self._source).name}"
        self._texts = TokenTexts(self._tokenizer)
        self._digest = _digest(self._model, self._tokenizer)
        self._one_at_a_time = threading.Lock()

    def __repr__(self) -> str:
        return f"TransformersModel({self._source!r}, name={self._name!r})"

    @property
    def name(self) -> str:
        """What verdicts call it."""
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
        """Replies under a schema, or free; log-probabilities of many tokens."""
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
            What was said, `prefill` included, which is one step with log-probability 0.

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
        """Answer requests together; what they begin with alike is encoded once.

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
            If there is too little memory for a batch.
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

        with self._one_at_a_time, torch.inference_mode():
            rows = [self._row(request) for request in requests]
            ready = [row for row in rows if isinstance(row, ReplyRow) and row.finish_reason is None]
            try:
                for group in prefix_groups([row.prompt for row in ready]):
                    members = [ready[index] for index in group.members]
                    self._answer_group(members, n_shared=group.length, is_cancelled=is_cancelled)
            except torch.OutOfMemoryError:
                msg = (
                    f"{self._name} ran out of memory with {len(ready)} requests in batches of at "
                    f"most {self._batch_size}. Lower `batch_size`."
                )
                raise AccessError(msg) from None
        return [row.reply(model=self._name) if isinstance(row, ReplyRow) else row for row in rows]

    def _row(self, request: ChatRequest) -> ReplyRow | ModelCallError:
        try:
            grammar = _grammar(request)
        except UnsupportedError as error:
            return error
        text = self._rendered(request.messages) + request.prefill
        prompt = self._tokenizer.encode(text, add_special_tokens=False)
        room = self._most_tokens() - len(prompt)
        if room < 1:
            msg = f"The prompt has {len(prompt)} tokens; {self._name} takes {self._most_tokens()}."
            return BadRequestError(msg)
        wanted = self._max_tokens or request.max_tokens or _DEFAULT_MAX_TOKENS
        return ReplyRow(
            request=request,
            prompt=prompt,
            grammar=grammar,
            texts=self._texts,
            ends=_end_tokens(self._model, self._tokenizer),
            specials=frozenset(self._tokenizer.all_special_ids),
            room=min(room, wanted),
            temperature=self._temperature_of(request),
        )

    def _temperature_of(self, request: ChatRequest) -> float:
        return (self._temperature if request.temperature is None else request.temperature) or 0.0

    def _rendered(self, messages: Sequence[Message]) -> str:
        import jinja2

        said = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._render(said)
        except jinja2.TemplateError:
            # Some templates refuse a system message: then it stands before the first other one.
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

    def _most_tokens(self) -> int:
        config = self._model.config.get_text_config()
        return int(getattr(config, "max_position_embeddings", None) or 1 << 30)

    def _answer_group(
        self, rows: Sequence[ReplyRow], *, n_shared: int, is_cancelled: threading.Event
    ) -> None:
        """Encode what the rows share, then generate them in batches behind it."""
        cache = self._encoded(rows[0].prompt[:n_shared])
        for row in rows[1:]:
            row.n_shared = n_shared
        batches = list(self._batches(rows, cache))
        for number, batch in enumerate(batches, start=1):
            own = cache if number == len(batches) else copy.deepcopy(cache)
            if n_shared:
                own.batch_repeat_interleave(len(batch))
            generation = Generation(self._model, batch, own, n_shared=n_shared)
            generation.run(is_cancelled)

    def _encoded(self, tokens: Sequence[int]) -> Any:
        import torch
        from transformers import DynamicCache

        cache = DynamicCache(config=self._model.config)
        if tokens:
            ids = torch.tensor([list(tokens)], device=self._model.device)
            self._model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        return cache

    def _batches(self, rows: Sequence[ReplyRow], cache: Any) -> Iterator[Sequence[ReplyRow]]:
        """Cut rows into batches, of like lengths where that saves padding or must be."""
        from transformers.cache_utils import DynamicLayer

        takes_padding = all(type(layer) is DynamicLayer for layer in cache.layers)
        batch: list[ReplyRow] = []
        for row in sorted(rows, key=lambda row: len(row.prompt)):
            differs = bool(batch) and len(batch[0].prompt) != len(row.prompt)
            if len(batch) == self._batch_size or (differs and not takes_padding):
                yield batch
                batch = []
            batch.append(row)
        yield batch


def _grammar(request: ChatRequest) -> Any:
    if request.form == "text":
        return None
    if request.form == "json_schema" and request.schema:
        return grammar_of(request.schema)
    msg = f"A model in this process cannot be asked for the form {request.form!r}."
    raise UnsupportedError(msg, feature=request.form)


def _loaded(model: Any, *, tokenizer: Any, device: str | None, dtype: str) -> tuple[Any, Any]:
    """Load what is named, and keep what is loaded."""
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
        return (model if device is None else _moved(model, device)).eval(), tokenizer
    try:
        tokenizer = tokenizer or transformers.AutoTokenizer.from_pretrained(str(model))
        loaded = transformers.AutoModelForCausalLM.from_pretrained(str(model), dtype=dtype)
    except (OSError, ValueError) as error:
        msg = f"`model` must be a model that transformers can load, got {shorten(str(model))!r}: "
        raise InputError(msg + shorten(str(error), width=300)) from error
    return _moved(loaded, device or "cpu").eval(), tokenizer


def _moved(model: Any, device: str) -> Any:
    return model.to(device)


def _source_of(model: Any) -> str:
    return (
        str(model) if isinstance(model, str | Path) else str(model.config.name_or_path or "model")
    )


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Collect the tokens that end a reply; files name one, several, or none."""
    ends: set[int] = set()
    for named in (
        getattr(model.generation_config, "eos_token_id", None),
        model.config.get_text_config().eos_token_id,
        tokenizer.eos_token_id,
    ):
        ends.update([named] if isinstance(named, int) else named or [])
    return frozenset(ends)


def _digest(model: Any, tokenizer: Any) -> str:
    """Hash the first numbers of every tensor: other weights give another hash, in no time."""
    digest = hashlib.sha256(str(tokenizer.chat_template).encode())
    for name, values in model.named_parameters():
        sample = values.detach().flatten()[:256].float().cpu().numpy()
        digest.update(f"{name} {tuple(values.shape)}".encode())
        digest.update(sample.tobytes())
    return digest.hexdigest()[:32]
