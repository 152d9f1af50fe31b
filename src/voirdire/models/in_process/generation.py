"""Generating a batch of replies, token by token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.records import TokenChoice

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    import torch

    from voirdire.models.in_process.reply_row import ReplyRow

__all__ = ["Generation"]

_FIRST_CANDIDATES = 64
"""Likeliest tokens that are tried before all of them are."""


class Generation:
    """A batch of replies behind one shared beginning.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        A causal language model.
    rows : sequence of ReplyRow
        The replies; each ends with a `finish_reason`.
    cache : transformers.DynamicCache
        Keys and values of the beginning, once per row. It is used up.
    n_shared : int
        Tokens of the beginning.

    Notes
    -----
    Rests of prompts are padded on their right: a token then always sees at least itself, and the
    padding is masked for whatever comes after it.
    """

    def __init__(self, model: Any, rows: Sequence[ReplyRow], cache: Any, *, n_shared: int) -> None:
        self._model = model
        self._cache = cache
        self._rows = [_Sampled.of(row) for row in rows]
        self._n_shared = n_shared

    def run(self, is_cancelled: threading.Event) -> None:
        """Generate until every reply has ended.

        Parameters
        ----------
        is_cancelled : threading.Event
            Looked at before every token; once it is set, replies stay unfinished.
        """
        import torch

        logits, mask = self._first()
        while not is_cancelled.is_set():
            self._take(torch.log_softmax(logits.float(), dim=-1))
            going = [i for i, kept in enumerate(self._rows) if kept.row.finish_reason is None]
            if not going:
                return
            if len(going) < len(self._rows):
                chosen = torch.tensor(going, device=mask.device)
                self._rows = [self._rows[i] for i in going]
                self._cache.batch_select_indices(chosen)
                mask = mask[chosen]
            mask = torch.cat([mask, mask.new_ones(len(going), 1)], dim=1)
            logits = self._next(mask)

    def _first(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode the rests of the prompts; return logits of what follows, and the mask."""
        import torch

        device = self._model.device
        rests = [kept.row.prompt[self._n_shared :] for kept in self._rows]
        width = max(map(len, rests))
        ids = torch.tensor([rest + [0] * (width - len(rest)) for rest in rests], device=device)
        mask = torch.tensor(
            [[1] * (self._n_shared + len(rest)) + [0] * (width - len(rest)) for rest in rests],
            device=device,
        )
        last = [len(rest) - 1 for rest in rests]
        kept = sorted(set(last))
        positions = torch.arange(self._n_shared, self._n_shared + width, device=device)
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions.expand(len(rests), -1),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=torch.tensor(kept, device=device),
        )
        places = [kept.index(position) for position in last]
        return out.logits[torch.arange(len(rests)), places], mask

    def _next(self, mask: torch.Tensor) -> torch.Tensor:
        """Encode the tokens just taken; return logits of what follows."""
        import torch

        rows = [kept.row for kept in self._rows]
        ids = torch.tensor([[row.tokens[-1]] for row in rows], device=mask.device)
        places = [[len(row.prompt) + len(row.tokens) - 1] for row in rows]
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=torch.tensor(places, device=mask.device),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: torch.Tensor = out.logits[:, -1]
        return logits

    def _take(self, logprobs: torch.Tensor) -> None:
        """Choose a token for every row."""
        for kept, row_logprobs in zip(self._rows, logprobs.cpu(), strict=True):
            kept.take(row_logprobs)


@dataclass(kw_only=True)
class _Sampled:
    """A row, and the dice that choose its tokens."""

    row: ReplyRow
    dice: torch.Generator | None

    @classmethod
    def of(cls, row: ReplyRow) -> _Sampled:
        import torch

        if not row.temperature:
            return cls(row=row, dice=None)
        dice = torch.Generator()
        if row.request.seed is None:
            dice.seed()
        else:
            dice.manual_seed(row.request.seed)
        return cls(row=row, dice=dice)

    def take(self, logprobs: torch.Tensor) -> None:
        scores = logprobs
        if self.dice is not None:
            scores = self._thrown(logprobs)
        token = self.row.first_possible(_likeliest_first(scores))
        if token is None:
            self.row.finish_reason = "no_token"
            return
        self.row.take(token, logprob=float(logprobs[token]), top=self._top(logprobs))

    def _thrown(self, logprobs: torch.Tensor) -> torch.Tensor:
        """Add Gumbel noise: the order of the sums is an order of draws without replacement.

        The first of them that is possible is a draw from the possible ones alone.
        """
        import torch

        noise = torch.empty_like(logprobs).exponential_(generator=self.dice).log()
        return logprobs / self.row.temperature - noise

    def _top(self, logprobs: torch.Tensor) -> tuple[TokenChoice, ...]:
        n_top = self.row.request.top_logprobs
        if not n_top:
            return ()
        values, tokens = logprobs.topk(min(n_top, len(logprobs)))
        return tuple(
            TokenChoice(token=self.row.texts.alone(token), logprob=value)
            for token, value in zip(tokens.tolist(), values.tolist(), strict=True)
        )


def _likeliest_first(scores: torch.Tensor) -> Iterator[int]:
    """Give tokens from the likeliest on; sort all of them only if the first few do not do."""
    few = min(_FIRST_CANDIDATES, len(scores))
    yield from scores.topk(few).indices.tolist()
    yield from scores.argsort(descending=True).tolist()
