r"""Defines the scoring functions S(a, others) of the alternative annotator test.

Each alignment is a mean over the other annotators of a score between two labels; `neg_rmse` is
minus the root of such a mean. A `Scorer` scores arrays of labels pairwise and compares two sums of
scores so that ties are exact.

With A and B the label sets and L the number of labels in the universe:

=================  ==============================================================================
`accuracy`         1 if the labels are equal, else 0
`neg_rmse`         minus the root of the mean squared difference
`similarity`       a user's function, by default the cosine of character 1-to-3-gram counts
`jaccard`          \|A ∩ B\| / \|A ∪ B\|, and 1 if both are empty
`jaccard_macro`    mean of the Jaccard indices of "present" and of "absent", over those that occur
`jaccard_slots`    (\|A ∩ B\| + J_absent) / (\|A ∪ B\| + 1), absent left out where it never occurs
`hamming`          share of the L labels on which A and B agree
=================  ==============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire.errors import InputError
from voirdire.stats.label_arrays import intersection_and_union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import AlignmentName
    from voirdire.stats.label_arrays import LabelSets

# Texts ----------------------------------------------------------------------------------------


def character_cosine(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Compute the cosine of the character 1-to-3-gram counts of pairs of texts.

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
    return _cosine_of_codes(texts)(first, second)


def _cosine_of_codes(texts: Sequence[Any]) -> Callable[[NDArray[Any], NDArray[Any]], Any]:
    """Return `character_cosine` as a function of positions in `texts`, reading each text once."""
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


VectorizedScore: TypeAlias = "Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]"
"""A user's alignment: arrays of labels a and b in, the score of each pair out."""

# Scorers --------------------------------------------------------------------------------------

SET_ALIGNMENTS = frozenset({"jaccard", "jaccard_macro", "jaccard_slots", "hamming"})

_TOLERANCE = 1e-9
"""Scores closer than this are ties."""

_ROUNDING = 1e-14
"""Rounding error of a root mean square, relative to the size of the labels."""

_LARGEST_EXACT = 2**20
"""Up to this size, sums of squared differences of whole numbers are exact in floats."""


class Scorer:
    """Scores labels pairwise, and compares sums of scores.

    By default labels are codes with -1 for missing, and sums are compared to a tolerance.
    """

    symmetric = True
    cell_width = 1
    """Words per prepared label."""
    larger_is_closer = True

    def prepare(self, labels: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        """Convert labels to the form that `score` takes; the last axis of labels is items."""
        return np.where(present, labels, 0)

    def sum_dtype(self, *, weighted: bool) -> np.dtype[Any]:  # noqa: ARG002
        """Return the type of sums of scores over annotators."""
        return np.dtype(np.float64)

    def score(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Score prepared labels pairwise, with broadcasting."""
        raise NotImplementedError

    def is_exact(self, judge: NDArray[Any]) -> bool:  # noqa: ARG002
        """Return whether unweighted sums of scores with these labels are whole numbers."""
        return False

    def margin(
        self, judge: NDArray[Any], human: NDArray[Any], n_others: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how much larger the judge's score is, from the sums over the others."""
        return np.subtract(judge, human, dtype=np.float64) / n_others

    def tolerance(self, labels: NDArray[Any]) -> float | NDArray[np.float64]:  # noqa: ARG002
        """Return the tolerance of ties, per item where it depends on the labels."""
        return _TOLERANCE


class AccuracyScorer(Scorer):
    """1 if the codes are equal; sums are whole numbers, so ties are exact."""

    def __init__(self, n_codes: int, n_annotators: int) -> None:
        self._code_dtype = np.min_scalar_type(-max(n_codes, 1) - 1)
        self._count_dtype = np.min_scalar_type(n_annotators)

    def prepare(self, labels: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the codes in the smallest type that holds them."""
        del present  # every score with a missing label is masked by the caller
        return labels.astype(self._code_dtype, copy=False)

    def sum_dtype(self, *, weighted: bool) -> np.dtype[Any]:
        """Return the type of sums: whole numbers unless weighted."""
        return np.dtype(np.float64) if weighted else self._count_dtype

    def score(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return 1 where the codes are equal."""
        return (a == b).view(np.uint8)

    def is_exact(self, judge: NDArray[Any]) -> bool:  # noqa: ARG002
        """Return that every sum is exact."""
        return True


class _SetScorer(Scorer):
    """Scores of label sets, from the sizes of intersection and union."""

    def __init__(self, name: str, label_sets: LabelSets) -> None:
        self._n_labels = max(label_sets.n_labels, 1)  # with an empty universe all sets are equal
        self._words = label_sets.words
        self.cell_width = self._words.shape[1]
        self._name = name

    def prepare(self, labels: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        return self._words[np.where(present, labels, 0)]

    def score(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        both, either = intersection_and_union(a, b)
        n_labels = self._n_labels
        if self._name == "jaccard":
            return _ratio(both, either, where_empty=1.0)
        if self._name == "hamming":
            return (n_labels - either + both) / n_labels
        absent = _ratio(n_labels - either, n_labels - both, where_empty=0.0)
        lacks = both < n_labels  # one of the sets lacks a label
        if self._name == "jaccard_slots":
            return (both + absent) / np.maximum(either + lacks, 1)
        present = _ratio(both, either, where_empty=0.0)
        return (present + absent) / np.maximum((either > 0).astype(np.float64) + lacks, 1.0)


class _SquaredErrorScorer(Scorer):
    """Scores of squared differences.

    Sums of whole numbers are exact; others are compared as roots of means.
    """

    larger_is_closer = False

    def __init__(self, humans: NDArray[np.float64]) -> None:
        known = humans[~np.isnan(humans)]
        scale, self._whole = float(np.abs(known).max(initial=0.0)), _are_whole(known)
        self._unit = unit_of(scale)
        # 1e-9 of usual scores, and less for tiny labels
        self._tolerance = _TOLERANCE * min(scale / self._unit, 1.0)

    def prepare(self, labels: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        return np.where(present, labels / self._unit, 0.0)

    def score(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore"):  # a judge that far off loses in any case
            difference = a - b
            return difference * difference

    def is_exact(self, judge: NDArray[Any]) -> bool:
        return self._whole and _are_whole(judge)

    def tolerance(self, labels: NDArray[Any]) -> float | NDArray[np.float64]:
        return np.maximum(self._tolerance, _ROUNDING * np.abs(labels).max(axis=0, initial=0.0))

    def margin(
        self, judge: NDArray[Any], human: NDArray[Any], n_others: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.sqrt(judge / n_others) - np.sqrt(human / n_others)


class _FunctionScorer(Scorer):
    """Scores of a user's function, called once for each distinct ordered pair of labels."""

    symmetric = False

    def __init__(self, function: VectorizedScore, n_codes: int, *, name: str) -> None:
        self._function = function
        self._n_codes = n_codes
        self._name = name
        self._known: dict[int, float] = {}
        self._largest = 0.0

    def prepare(self, labels: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
        return np.where(present, labels, -1).astype(np.int64)

    def score(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        both = (a >= 0) & (b >= 0)
        pairs = (a * self._n_codes + b)[both]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        new = [pair for pair in distinct.tolist() if pair not in self._known]
        if new:
            first, second = np.divmod(np.asarray(new), self._n_codes)
            scores = np.asarray(self._function(first, second), float)
            if scores.shape != first.shape or not np.isfinite(scores).all():
                msg = (
                    f"`{self._name}` must return one finite score per pair, got shape "
                    f"{scores.shape} for {len(first)} pairs. It is given two arrays of labels of "
                    "equal length."
                )
                raise InputError(msg)
            self._largest = max(self._largest, float(np.abs(scores).max(initial=0.0)))
            self._known.update(zip(new, scores.tolist(), strict=True))
        result = np.zeros(both.shape)
        result[both] = np.array([self._known[pair] for pair in distinct.tolist()])[inverse]
        return result

    def tolerance(self, labels: NDArray[Any]) -> float:  # noqa: ARG002
        """Relative to the largest score: a user's scores may have any unit."""
        return _TOLERANCE * self._largest


def make_scorer(
    alignment: AlignmentName | VectorizedScore,
    *,
    humans: NDArray[Any],
    n_codes: int = 0,
    label_sets: LabelSets | None = None,
    values: Sequence[Any] | None = None,
    similarity: VectorizedScore | None = None,
) -> Scorer:
    """Choose the scorer of an alignment; the caller has checked that labels fit it."""
    if alignment == "accuracy":
        return AccuracyScorer(n_codes, humans.shape[1])
    if alignment == "neg_rmse":
        return _SquaredErrorScorer(humans)
    is_of_sets = isinstance(alignment, str) and alignment in SET_ALIGNMENTS
    if (label_sets if is_of_sets else values) is None:
        name = "label_sets" if is_of_sets else "values"
        msg = f"`{name}` must be given for this alignment, got None."
        raise InputError(msg)
    if isinstance(alignment, str) and label_sets is not None and is_of_sets:
        return _SetScorer(alignment, label_sets)
    labels = list(values or ())
    function = alignment if callable(alignment) else similarity
    if function is None:
        return _FunctionScorer(_cosine_of_codes(labels), len(labels), name="similarity")
    # numbers go to a user's function as floats, other labels as objects
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        array = np.asarray(labels, dtype=np.float64)
    name = "alignment" if callable(alignment) else "similarity"
    return _FunctionScorer(lambda a, b: function(array[a], array[b]), len(labels), name=name)


def _are_whole(numbers: NDArray[np.float64]) -> bool:
    """Whether numbers are whole, and small enough for their squares to add up exactly."""
    small = bool(np.abs(numbers).max(initial=0.0) < _LARGEST_EXACT)
    return small and bool((numbers == np.floor(numbers)).all())


def _ratio(part: NDArray[Any], whole: NDArray[Any], *, where_empty: float) -> NDArray[np.float64]:
    result = np.full(np.broadcast(part, whole).shape, where_empty)
    return np.divide(part, whole, out=result, where=whole > 0)


_EXTREME_EXPONENT = 200
"""Largest exponent of labels whose squares neither overflow nor underflow."""


def unit_of(scale: float) -> float:
    """Return a power of two by which labels of extreme size can be divided before squaring."""
    exponent = int(np.frexp(scale)[1])
    return 1.0 if abs(exponent) < _EXTREME_EXPONENT else float(np.ldexp(1.0, min(exponent, 1023)))
