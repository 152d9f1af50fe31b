r"""Models raters' errors: a label is the truth, or with some probability a blind guess.

Item :math:`i` has a true label drawn from the prevalences :math:`\pi`; a rater with noise
:math:`\eta` gives a label from :math:`(1-\eta)\,\mathbf 1_{truth} + \eta\,\pi`, independently of
everyone else [1]_. Everybody's labels then have the prevalences :math:`\pi`, and the expected
Cohen kappa of two raters is the product of their :math:`1 - \eta`: two raters agree by more than
chance exactly where both give the truth.

References
----------
.. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge:
   How to Statistically Justify Replacing Human Annotators with LLMs", ACL 2025,
   arXiv 2501.10970, the simulation of how many items are needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import check_count
from voirdire.errors import InputError
from voirdire.stats.agreement import measure_alpha
from voirdire.stats.label_arrays import check_humans, check_judges

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_WHOLE = 1e-6
"""Tolerance of the sum of prevalences, for rounded values such as three times .33."""

_MOST_CATEGORIES = 10_000
"""Draws of prevalences at once."""


@dataclass(frozen=True, kw_only=True)
class SimulatedLabels:
    """Labels of simulated studies as codes from 0.

    Those of humans have the shape (n_studies, n_items, n_annotators), those of the judge
    (n_studies, n_items).
    """

    humans: NDArray[Any]
    judge: NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class NoiseModel:
    """How annotators and a judge label items.

    Attributes
    ----------
    human_noise, judge_noise : float
        η, the probability of a blind guess, in [0, 1].
    n_categories : int
        Number of labels K, 2 to 10,000.
    prevalences : tuple of float, or None
        Share of each label, K numbers that sum to 1; None draws them anew for every study,
        uniformly (from a Dirichlet distribution with all parameters 1).

    Raises
    ------
    InputError
        If a number is out of its range.

    Examples
    --------
    >>> NoiseModel(human_noise=0.3, judge_noise=0.2).human_kappa
    0.49
    """

    human_noise: float
    judge_noise: float
    n_categories: int = 2
    prevalences: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("human_noise", "judge_noise"):
            object.__setattr__(self, name, _check_share(name, getattr(self, name)))
        n_categories = check_count("n_categories", self.n_categories, minimum=2)
        if n_categories > _MOST_CATEGORIES:
            msg = f"`n_categories` must be at most {_MOST_CATEGORIES:,}, got {n_categories:,}."
            raise InputError(msg)
        object.__setattr__(self, "n_categories", n_categories)
        if self.prevalences is not None:
            shares = check_shares(self.prevalences)
            if len(shares) != n_categories or abs(sum(shares) - 1) > _WHOLE:
                msg = (
                    f"`prevalences` must be {n_categories} shares that sum to 1, one per "
                    f"category, got {shorten(list(shares))}."
                )
                raise InputError(msg)
            object.__setattr__(self, "prevalences", shares)

    @property
    def human_kappa(self) -> float:
        """Expected Cohen kappa of two annotators, (1 - η_h)², in [0, 1]."""
        return round((1 - self.human_noise) ** 2, 12)

    @property
    def judge_kappa(self) -> float:
        """Expected Cohen kappa of the judge and an annotator, (1 - η_h)(1 - η_f), in [0, 1]."""
        return round((1 - self.human_noise) * (1 - self.judge_noise), 12)

    def draw(
        self, rng: np.random.Generator, *, n_studies: int, n_items: int, n_annotators: int
    ) -> SimulatedLabels:
        """Simulate studies.

        Annotators are drawn last and one by one, so that a smaller panel is the beginning of a
        larger one.

        Parameters
        ----------
        rng : numpy.random.Generator
            Where randomness comes from.
        n_studies, n_items, n_annotators : int
            How many. Memory is O(n_studies * n_items * n_annotators).

        Returns
        -------
        SimulatedLabels
        """
        shape = (n_studies, n_items)
        if self.prevalences is None:
            shares = rng.dirichlet(np.ones(self.n_categories), n_studies)
        else:
            shares = np.broadcast_to(self.prevalences, (n_studies, self.n_categories))
        bounds = np.cumsum(shares[:, :-1], axis=1).astype(np.float32)
        truth = _draw_labels(rng, bounds, shape)
        judge = _draw_rater(rng, truth, bounds, self.judge_noise)
        humans = np.empty((*shape, n_annotators), dtype=truth.dtype)
        for column in range(n_annotators):
            humans[..., column] = _draw_rater(rng, truth, bounds, self.human_noise)
        return SimulatedLabels(humans=humans, judge=judge)


def fit_noise_model(judge: ArrayLike, humans: ArrayLike) -> NoiseModel:
    r"""Fit the noise model to the labels of a pilot study.

    With :math:`\kappa_{hh}` the kappa of annotators pooled over all pairs of labels of an item,
    which is nominal Krippendorff α, and :math:`\kappa_{fh}` that of the judge pooled over all its
    pairs with an annotator, :math:`\eta_h = 1 - \sqrt{\kappa_{hh}}` and
    :math:`\eta_f = 1 - \kappa_{fh} / \sqrt{\kappa_{hh}}`, the latter held in [0, 1].

    Parameters
    ----------
    judge : array_like of int, shape (n_items,)
        The judge's labels: codes from 0, -1 for missing.
    humans : array_like of int, shape (n_items, n_annotators)
        The annotators' labels in the same codes, -1 for missing; two annotators or more.

    Returns
    -------
    NoiseModel
        With the prevalences of the annotators' labels.

    Raises
    ------
    InputError
        If labels are not integer codes of these shapes, if annotators do not agree by more than
        chance, or if kappa is undefined.

    Examples
    --------
    >>> truth = np.arange(400) % 2
    >>> slip = lambda place: np.where(np.arange(400) // 2 % 10 == place, 1 - truth, truth)
    >>> model = fit_noise_model(truth, np.stack([slip(0), slip(1), slip(2)], axis=1))
    >>> round(model.human_noise, 2), round(model.judge_noise, 2), model.prevalences
    (0.23, 0.0, (0.5, 0.5))
    """
    labels = check_humans(humans, numeric=False)
    answers = np.asarray(judge)
    if answers.shape != (len(labels),):
        msg = f"`judge` must have the shape ({len(labels)},), got {answers.shape}."
        raise InputError(msg)
    answers = check_judges(answers, None, labels)[0][:, 0]
    human_kappa, judge_kappa = pooled_kappas(answers, labels)
    if math.isnan(human_kappa) or math.isnan(judge_kappa) or human_kappa <= 0:
        msg = (
            "`humans` must agree by more than chance on labels that vary for a noise model, got a "
            f"pooled kappa of {human_kappa:.3g} among annotators and of {judge_kappa:.3g} with "
            "the judge. Plan from assumptions instead."
        )
        raise InputError(msg)
    counts = np.bincount(labels[labels >= 0], minlength=max(2, 1 + int(answers.max())))
    root = math.sqrt(human_kappa)
    return NoiseModel(
        human_noise=1 - root,
        judge_noise=min(max(1 - judge_kappa / root, 0.0), 1.0),
        n_categories=len(counts),
        prevalences=tuple((counts / counts.sum()).tolist()),
    )


def _draw_labels(
    rng: np.random.Generator, bounds: NDArray[np.float32], shape: tuple[int, int]
) -> NDArray[Any]:
    """Draw labels with the prevalences of each study."""
    where = rng.random(shape, dtype=np.float32)
    labels = np.zeros(shape, dtype=np.min_scalar_type(-bounds.shape[1] - 2))
    for bound in bounds.T:
        labels += where >= bound[:, np.newaxis]
    return labels


def _draw_rater(
    rng: np.random.Generator, truth: NDArray[Any], bounds: NDArray[np.float32], noise: float
) -> NDArray[Any]:
    guesses = _draw_labels(rng, bounds, truth.shape)
    guessed = rng.random(truth.shape, dtype=np.float32) < noise
    return np.where(guessed, guesses, truth)


def _check_share(name: str, value: Any) -> float:
    """Return `value` if it is a number in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        msg = f"`{name}` must be a number in [0, 1], got {shorten(repr(value))}."
        raise InputError(msg)
    return float(value)


def check_shares(prevalences: Any) -> tuple[float, ...]:
    """Return prevalences as a tuple of numbers in [0, 1]."""
    try:
        shares = tuple(prevalences)
    except TypeError as error:
        msg = f"`prevalences` must be a sequence of shares, got {shorten(repr(prevalences))}."
        raise InputError(msg) from error
    return tuple(_check_share("prevalences", share) for share in shares)


def pooled_kappas(judge: NDArray[Any], humans: NDArray[Any]) -> tuple[float, float]:
    """Compute the pooled kappa among annotators, and of the judge with them, nan if undefined.

    Under the noise model chance is the same for all raters, so that all labels can be pooled. A
    mean of kappas over pairs of annotators would be biased: two who share one item have no kappa if
    they agree on it, and 0 if they do not, so that in a crowd the mean is far too low. The judge's
    is Cohen's kappa of two raters with all pairs of one item's labels. Codes are from 0, -1 being
    missing.
    """
    human = measure_alpha(humans, level="nominal").alpha
    paired = (humans >= 0) & (judge >= 0)[:, np.newaxis]
    theirs, its = humans[paired], np.broadcast_to(judge[:, np.newaxis], humans.shape)[paired]
    if not len(its):
        return human, math.nan
    n_codes = 1 + int(max(its.max(), theirs.max()))
    shares = [np.bincount(labels, minlength=n_codes) / len(its) for labels in (its, theirs)]
    chance = float(shares[0] @ shares[1])
    return human, (float(np.mean(its == theirs)) - chance) / (
        1 - chance
    ) if chance < 1 else math.nan
