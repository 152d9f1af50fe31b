r"""Who is closer to the rest, item by item: the judge, the left-out annotator, or neither.

For annotator :math:`j` and item :math:`i` the judge's score :math:`S(f)` and the annotator's
score :math:`S(h_j)` are both means over the same other annotators, so sums are compared, as
integers where the alignment allows it and otherwise to a tolerance. Each comparison has one of
three outcomes, and everything the test needs is a function of how often each occurs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.slots import pack_slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire.stats.alignment import Scorer

__all__ = ["HUMAN_WINS", "JUDGE_WINS", "NO_OUTCOME", "TIE", "HumanBlock"]

NO_OUTCOME = -1
"""Annotator and item were not compared: a label is missing."""
JUDGE_WINS = 0
"""W^f = 1, W^h = 0, d = -1."""
TIE = 1
"""W^f = W^h = 1, d = 0."""
HUMAN_WINS = 2
"""W^f = 0, W^h = 1, d = +1."""


class HumanBlock:
    """A block of items as the annotators labelled them, ready to meet any number of judges.

    Parameters
    ----------
    labels : ndarray, shape (n_items, n_annotators)
        Codes with -1 for missing, or numbers with nan for missing.
    scorer : Scorer
        The alignment.
    quality : ndarray of float, shape (n_annotators,), optional
        Weight of each annotator in S.
    reference : ndarray, shape (n_items,), optional
        Labels that replace "the others" (an expert's, or gold ones).
    min_annotators : int
        Fewest human labels that an item needs.
    """

    def __init__(
        self,
        labels: NDArray[Any],
        *,
        scorer: Scorer,
        quality: NDArray[np.float64] | None = None,
        reference: NDArray[Any] | None = None,
        min_annotators: int = 2,
    ) -> None:
        self._scorer = scorer
        self._quality = None if quality is None else quality[:, np.newaxis]
        columns = np.ascontiguousarray(labels.T)
        self._n_annotators = len(columns)
        self.present = scorer.is_present(columns)
        self._slots = pack_slots(self.present)
        if self._slots is not None:
            columns = np.take_along_axis(columns, self._slots, axis=0)
            self.present = scorer.is_present(columns)
            self._quality = None if quality is None else quality[self._slots]
        self._labels = scorer.prepare(columns, self.present)
        if reference is None:
            self._reference = None
            enough = np.count_nonzero(self.present, axis=0) >= min_annotators
        else:
            known = scorer.is_present(reference)
            self._reference = scorer.prepare(reference, known)
            enough = known
        self.compared = self.present & enough
        self._human = self._score_humans()

    def outcomes(
        self, judge: NDArray[Any], *, failed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int8]:
        """Compare one judge with every left-out annotator.

        Parameters
        ----------
        judge : ndarray, shape (n_items,)
            The judge's labels, missing ones as in the annotators' labels.
        failed : ndarray of bool, shape (n_items,), optional
            Items that the judge loses outright: the worst case of a failed call.

        Returns
        -------
        ndarray of int8, shape (n_annotators, n_items)
            `JUDGE_WINS`, `TIE`, `HUMAN_WINS` or `NO_OUTCOME`.
        """
        known = self._scorer.is_present(judge)
        prepared = self._scorer.prepare(judge, known)
        weighted = self._quality is not None and self._reference is None
        exact = not weighted and self._scorer.is_exact(prepared)
        result = self._compare(self._score_judge(prepared, exact=exact), exact=exact)
        if failed is None:
            result[~(self.compared & known)] = NO_OUTCOME
            return self._by_annotator(result)
        result[:, failed] = HUMAN_WINS
        result[~(self.compared & (known | failed))] = NO_OUTCOME
        return self._by_annotator(result)

    def _by_annotator(self, outcomes: NDArray[np.int8]) -> NDArray[np.int8]:
        """Put the outcomes of slots back into the annotators' rows."""
        if self._slots is None:
            return outcomes
        result = np.full((self._n_annotators, outcomes.shape[1]), NO_OUTCOME, dtype=np.int8)
        np.put_along_axis(result, self._slots, outcomes, axis=0)
        return result

    def medoid(self) -> NDArray[np.intp]:
        """Which annotator's label agrees best with the rest, per item (the first of equals).

        Under `accuracy` this is the majority vote.
        """
        score = self._human / self._n_others()
        if not self._scorer.larger_is_closer:
            score = -score
        score[~self.present] = -np.inf
        best = score.argmax(axis=0)
        if self._slots is None:
            return best
        return np.take_along_axis(self._slots, best[np.newaxis], axis=0)[0]

    def _score_humans(self) -> NDArray[Any]:
        """Sum the scores of each annotator with the others: shape (n_annotators, n_items)."""
        scorer, labels, present = self._scorer, self._labels, self.present
        if self._reference is not None:
            return scorer.score(labels, self._reference[np.newaxis])
        total = np.zeros(present.shape, dtype=scorer.sum_dtype(self._quality is not None))
        for j in range(len(present)):
            for k in range(j + 1, len(present)):
                both = present[j] & present[k]
                ahead = scorer.score(labels[j], labels[k])
                behind = ahead if scorer.symmetric else scorer.score(labels[k], labels[j])
                total[j] += self._weighted(ahead * both, k)
                total[k] += self._weighted(behind * both, j)
        return total

    def _weighted(self, score: NDArray[Any], annotator: int) -> NDArray[Any]:
        return score if self._quality is None else score * self._quality[annotator]

    def _score_judge(self, judge: NDArray[Any], *, exact: bool) -> NDArray[Any]:
        """Sum the judge's scores with everyone but each annotator in turn."""
        if self._reference is not None:
            score = self._scorer.score(judge, self._reference)
            return np.broadcast_to(score, self.present.shape)
        score = self._scorer.score(judge[np.newaxis], self._labels) * self.present
        if self._quality is not None:
            score = score * self._quality
        score = score.astype(self._human.dtype, copy=False)
        if exact:
            return score.sum(axis=0, dtype=score.dtype) - score
        return sums_without_each(score)

    def _compare(self, judge: NDArray[Any], *, exact: bool) -> NDArray[np.int8]:
        if exact:
            ahead, behind = judge > self._human, self._human > judge
        else:
            ahead, behind = self._scorer.compare(
                judge,
                self._human,
                n_others=self._n_others(),
                tolerance=self._scorer.tolerance(self._labels),
            )
        if not self._scorer.larger_is_closer:
            ahead, behind = behind, ahead
        result = np.full(self.present.shape, TIE, dtype=np.int8)
        result -= ahead.view(np.int8)
        result += behind.view(np.int8)
        return result

    def _n_others(self) -> NDArray[np.float64]:
        """Total weight of the other annotators: the denominator of S."""
        if self._reference is not None:
            return np.ones(self.present.shape)
        quality = 1.0 if self._quality is None else self._quality
        weight = self.present * quality
        return np.maximum(weight.sum(axis=0) - weight, np.finfo(np.float64).tiny)


def sums_without_each(score: NDArray[Any]) -> NDArray[Any]:
    """Sum floats over the first axis, leaving each row out in turn.

    What stands before and what stands after the row is added, because subtracting the row from
    the total would cancel digits that decide a tie.
    """
    result = np.zeros_like(score)
    np.cumsum(score[:-1], axis=0, out=result[1:])
    after = np.zeros_like(score[0])
    for row in range(len(score) - 2, -1, -1):
        after += score[row + 1]
        result[row] += after
    return result
