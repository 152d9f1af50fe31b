"""Cheap cues of a batch of items: hints, form, and overlap, as one small matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.cue_lexicon import HINTS, find_hints
from voirdire.judging.local.overlap import OVERLAP, overlap_matrix
from voirdire.judging.local.structure import STRUCTURE, structure_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.judging.local.characters import Characters
    from voirdire.judging.local.tokens import Tokens

__all__ = ["CUES", "CUE_SETS", "cue_matrix"]

_FORMS = ("any", "many", "early", "late", "dense")
_EARLY, _LATE = 20, 30

CUES = (
    *(f"{form}:{hint}" for form in _FORMS for hint in HINTS),
    *(f"form:{name}" for name in STRUCTURE),
    *(f"overlap:{name}" for name in OVERLAP),
    *(f"prompt:{hint}" for hint in HINTS),
    *(f"prompt:{name}" for name in ("length", "questions", "chinese")),
)
"""Names of the columns, in order."""

_STARTS = {name: index for index, name in reversed(list(enumerate(CUES)))}
CUE_SETS = {
    "presence": slice(0, len(HINTS)),
    "placing": slice(len(HINTS), len(_FORMS) * len(HINTS)),
    "form": slice(len(_FORMS) * len(HINTS), _STARTS[f"prompt:{HINTS[0]}"]),
    "prompt": slice(_STARTS[f"prompt:{HINTS[0]}"], len(CUES)),
}
"""Which columns are hints, where and how often they stand, form and overlap, and the prompt's."""


def cue_matrix(
    response: tuple[Characters, Tokens], prompt: tuple[Characters, Tokens]
) -> NDArray[np.float64]:
    """Describe items by their cues.

    Parameters
    ----------
    response, prompt : tuple of Characters and Tokens
        A batch of responses, and the user's last texts before them.

    Returns
    -------
    ndarray of float64, shape (n_items, len(CUES))
        Mostly zeros; values are about the size of one.
    """
    form = structure_matrix(*response)
    asked = structure_matrix(*prompt)
    names = [STRUCTURE.index(name) for name in ("length", "questions", "chinese")]
    return np.hstack(
        [
            _hints(response[1]),
            form,
            overlap_matrix(response[1], prompt[1]),
            np.minimum(_count(prompt[1], *_placed(prompt[1])[1:]), 1),
            asked[:, names],
        ]
    )


def _hints(tokens: Tokens) -> NDArray[np.float64]:
    place, text, hint = _placed(tokens)
    after = tokens.firsts[text + 1] - (tokens.firsts[text] + place)
    early, late = place < _EARLY, after <= _LATE
    counts = _count(tokens, text, hint)
    n_tokens = np.maximum(np.diff(tokens.firsts), 1)[:, None]
    return np.hstack(
        [
            np.minimum(counts, 1),
            np.log1p(counts) / 2,
            np.minimum(_count(tokens, text[early], hint[early]), 1),
            np.minimum(_count(tokens, text[late], hint[late]), 1),
            np.minimum(20 * counts / n_tokens, 2),
        ]
    )


def _placed(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each phrase found: its place within its text, its text, and what it hints at."""
    found, hint = find_hints(tokens)
    text = tokens.text[found]
    return found - tokens.firsts[text], text, hint


def _count(tokens: Tokens, text: NDArray[np.int64], hint: NDArray[np.int64]) -> NDArray[np.float64]:
    n_hints = len(HINTS)
    counts = np.bincount(text * n_hints + hint, minlength=tokens.n_texts * n_hints)
    return counts.reshape(tokens.n_texts, n_hints).astype(np.float64)
