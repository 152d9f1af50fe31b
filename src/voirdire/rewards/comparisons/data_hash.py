"""What comparisons say, in one hash that does not depend on the order or the names of rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire.records.items import as_bytes

if TYPE_CHECKING:
    from voirdire.rewards.comparisons.data import ComparisonData

__all__ = ["hash_of_comparisons"]


def hash_of_comparisons(data: ComparisonData) -> str:
    """Hash completions, labels, base rewards, splits and declared pairs.

    Parameters
    ----------
    data : ComparisonData
        Whatever its `data_hash` is.

    Returns
    -------
    str
        ``sha256:`` and 64 digits.

    Notes
    -----
    Rows without an id are named after their line, and prompts without a group after their first
    row. Neither enters the hash: a completion is known by what a judge sees of it, and a prompt by
    the completions that it has.
    """
    own = [
        hashlib.sha256(
            item.content_hash()
            + _packed([behavior, label, split, None if np.isnan(base) else float(base)])
        ).digest()
        for item, behavior, label, split, base in zip(
            data.items,
            data.behaviors,
            data.labels,
            data.splits or (None,) * len(data.items),
            data.base_rewards,
            strict=True,
        )
    ]
    of_prompt: list[list[bytes]] = [[] for _ in data.prompt_names]
    for prompt, digest in zip(data.prompts.tolist(), own, strict=True):
        of_prompt[prompt].append(digest)
    prompts = [_all_of(digests) for digests in of_prompt]
    pairs = [
        _all_of([prompts[data.prompts[better]]])
        + own[better]
        + own[worse]
        + _packed([None if np.isnan(margin) else float(margin)])
        for better, worse, margin in zip(
            data.better.tolist(), data.worse.tolist(), data.margins, strict=True
        )
    ]
    whole = _all_of(prompts) + _all_of(pairs)
    return f"sha256:{hashlib.sha256(whole).hexdigest()}"


def _packed(values: list[str | float | None]) -> bytes:
    return as_bytes(list(values))


def _all_of(digests: list[bytes]) -> bytes:
    """Hash a set of digests, whatever their order."""
    return hashlib.sha256(msgspec.json.encode(sorted(digests))).digest()
