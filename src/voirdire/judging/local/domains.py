r"""Which items share a bias: languages, and examples that only inform.

Every item has a domain: its language, and whether it is of the kind that will be judged (`home`)
or only informs. Weights have a common part and a part per domain [1]_, so that examples written for
another purpose teach which words matter without moving the base rates. With inner products that is

.. math:: k(x, x') = \langle x, x' \rangle \frac{1 + s}{\sqrt 2} + s,

:math:`s = 1` in the same domain and 0 otherwise. n-grams share by home only: the two languages
have few in common.

References
----------
.. [1] H. Daumé III, "Frustratingly Easy Domain Adaptation", ACL 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.local.cues import CUE_SETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.judging.local.recipes import Recipe

__all__ = ["Domains", "domain_products"]

SCALE = 1 / np.sqrt(2)


@dataclass(frozen=True, kw_only=True)
class Domains:
    """Language and home of each item.

    Attributes
    ----------
    chinese : ndarray of bool, shape (n_items,)
        Whether the response is in Chinese.
    home : ndarray of bool, shape (n_items,)
        Whether the item is of the kind that will be judged.
    """

    chinese: NDArray[np.bool_]
    home: NDArray[np.bool_]

    def at(self, rows: NDArray[np.intp]) -> Domains:
        """Take some of the items."""
        return Domains(chinese=self.chinese[rows], home=self.home[rows])

    def at_home(self) -> Domains:
        """Take the items as if they were all of the kind that will be judged."""
        return Domains(chinese=self.chinese, home=np.ones_like(self.home))


def domain_products(
    products: Mapping[str, NDArray[np.float64]], recipe: Recipe, *, left: Domains, right: Domains
) -> NDArray[np.float64]:
    """Weigh inner products by recipe and by domain.

    Parameters
    ----------
    products : mapping of str to ndarray, shape (n, m)
        What `feature_products` gives.
    recipe : Recipe
        With the factor of each.
    left, right : Domains
        Of the n and the m items.

    Returns
    -------
    ndarray of float64, shape (n, m)
        Inner products of the items with all parts of their weights.
    """
    same_home = (left.home[:, None] == right.home).astype(np.float64)
    same = same_home * (left.chinese[:, None] == right.chinese)
    total: NDArray[np.float64] = same.copy()
    for name, factor in recipe.strengths.items():
        shared = same if name in CUE_SETS else same_home
        total += factor * SCALE * products[name] * (1 + shared)
    return total
