"""The offline default of the `similarity` alignment: what two texts share in characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["character_cosine"]


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
    from sklearn.feature_extraction.text import HashingVectorizer

    first = [str(text).casefold() for text in a]
    second = [str(text).casefold() for text in b]
    vectorizer = HashingVectorizer(
        analyzer="char", ngram_range=(1, 3), alternate_sign=False, lowercase=False
    )
    product = vectorizer.transform(first).multiply(vectorizer.transform(second))
    cosine = np.asarray(product.sum(axis=1)).ravel()
    same = np.fromiter((x == y for x, y in zip(first, second, strict=True)), np.bool_, len(first))
    return np.where(same, 1.0, np.clip(cosine, 0.0, 1.0))
