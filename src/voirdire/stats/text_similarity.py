"""The offline default of the `similarity` alignment: what two texts share in characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["character_cosine", "cosine_of_codes"]


def character_cosine(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Cosine of the character 1-to-3-gram counts of texts, pair by pair.

    Needs no model and no network, and treats every script alike. It sees wording, not meaning:
    give `similarity=` a function over embeddings where meaning is what counts.

    Parameters
    ----------
    a, b : ndarray of str, shape (n_pairs,)
        Texts; anything else is compared by its text form.

    Returns
    -------
    ndarray of float, shape (n_pairs,)
        In [0, 1]; 1 for equal texts, 0 where nothing is shared.

    Examples
    --------
    >>> character_cosine(np.array(["same"]), np.array(["same"])).tolist()
    [1.0]
    """
    texts = list(dict.fromkeys([*a, *b]))
    if not texts:
        return np.zeros(0)
    codes = {text: code for code, text in enumerate(texts)}
    first = np.fromiter(map(codes.__getitem__, a), np.intp, len(a))
    second = np.fromiter(map(codes.__getitem__, b), np.intp, len(b))
    return cosine_of_codes(texts)(first, second)


def cosine_of_codes(texts: Sequence[Any]) -> Callable[[NDArray[Any], NDArray[Any]], Any]:
    """Return the same cosine as a function of positions in `texts`, each read only once."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(
        analyzer="char", ngram_range=(1, 3), alternate_sign=False, lowercase=False
    )
    folded = [str(text).casefold() for text in texts]
    vectors = vectorizer.transform(folded)
    distinct = {text: number for number, text in enumerate(dict.fromkeys(folded))}
    same_text = np.array([distinct[text] for text in folded], dtype=np.intp)

    def cosine(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
        product = vectors[first].multiply(vectors[second])
        shared = np.clip(np.asarray(product.sum(axis=1)).ravel(), 0.0, 1.0)
        return np.where(same_text[first] == same_text[second], 1.0, shared)

    return cosine
