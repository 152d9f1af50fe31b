"""Which features a classifier sees, how strongly, and which classifiers are averaged.

The strengths were set once on the training data of the bundled judge; which blend a proposition
gets is chosen by cross-validation every time a judge is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.cues import CUE_SETS
from voirdire.judging.local.ngrams import BLOCKS, columns_of_block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.judging.local.features import Features

__all__ = ["BLENDS", "DEFAULT_BLEND", "RECIPES", "Recipe", "feature_products", "weigh_products"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One classifier's view of an item.

    Attributes
    ----------
    strengths : mapping of str to float
        Factor on the inner products of each block of n-grams and each set of cues.
    c : float
        The larger, the closer the fit.
    """

    strengths: Mapping[str, float]
    c: float


RECIPES: dict[str, Recipe] = {
    "words_and_cues": Recipe(
        strengths={
            "words_1": 0.8, "words_2": 0.2, "presence": 0.04, "placing": 0.04, "form": 0.1,
        },
        c=3,
    ),
    "characters_and_cues": Recipe(
        strengths={"characters": 1, "presence": 0.04, "placing": 0.04, "form": 0.1}, c=10
    ),
    "words_and_form": Recipe(strengths={"words_1": 0.8, "words_2": 0.2, "form": 0.1}, c=10),
    "characters": Recipe(strengths={"characters": 1}, c=10),
    "cues": Recipe(strengths={"presence": 0.1, "placing": 0.1, "form": 0.1}, c=1),
    "hints": Recipe(strengths={"presence": 0.1, "placing": 0.1}, c=0.1),
    "presence": Recipe(strengths={"presence": 0.1}, c=0.1),
    "all": Recipe(
        strengths={
            "words_1": 0.4, "words_2": 0.2, "words_3": 0.1, "characters": 0.4,
            "presence": 0.04, "placing": 0.04, "form": 0.05, "prompt": 0.03,
        },
        c=3,
    ),
}  # fmt: skip

DEFAULT_BLEND = "blend"
BLENDS: dict[str, tuple[str, ...]] = {
    DEFAULT_BLEND: (
        "words_and_cues", "characters_and_cues", "words_and_form", "characters", "cues",
    ),
    "words": ("words_and_cues", "words_and_form"),
    "characters": ("characters_and_cues", "characters"),
    "with_cues": ("words_and_cues", "characters_and_cues", "all"),
    "cues": ("cues", "hints"),
    "presence": ("presence", "hints"),
    "all": ("all",),
}  # fmt: skip
"""What is averaged. A proposition gets the first unless another is clearly better."""


def feature_products(left: Features, right: Features) -> dict[str, NDArray[np.float64]]:
    """Multiply items by items, one set of features at a time.

    Parameters
    ----------
    left, right : Features
        Of n and m items.

    Returns
    -------
    dict of str to ndarray, shape (n, m)
        By block of n-grams and by set of cues.
    """
    products = {}
    for name in BLOCKS:
        columns = columns_of_block(name)
        a = left.ngrams[:, columns].astype(np.float64)
        b = right.ngrams[:, columns].astype(np.float64)
        products[name] = np.asarray((a @ b.T).toarray())
    for name, columns in CUE_SETS.items():
        products[name] = left.cues[:, columns] @ right.cues[:, columns].T
    return products


def weigh_products(
    products: Mapping[str, NDArray[np.float64]], recipe: Recipe
) -> NDArray[np.float64]:
    """Add up the inner products that a recipe looks at.

    Parameters
    ----------
    products : mapping of str to ndarray
        What `feature_products` gives.
    recipe : Recipe
        With the factor of each.

    Returns
    -------
    ndarray of float64
        Of the same shape.
    """
    return np.asarray(sum(factor * products[name] for name, factor in recipe.strengths.items()))
