"""How a reward is fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import Loss, Orientation

__all__ = ["FitSettings", "Sign"]

Sign: TypeAlias = Literal["positive", "negative"]
"""What a weight is held to: at least 0, or at most 0."""


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How a reward is fitted.

    A feature is named ``proposition`` or ``behavior.class``; ``behavior:proposition`` names it in
    one behavior only.

    Attributes
    ----------
    orientation : {"plain", "rule", "demanded"}
        Of the features.
    loss : {"hinge", "logistic"}
        What is minimised.
    l2 : float or None
        λ, at least 0; None chooses it by cross-validation over prompts.
    margin : float
        How much higher the better one's reward is to be, above 0.
    margins : mapping of str to float
        The same for comparisons whose better one has this label.
    orders : mapping of str to (str or mapping)
        Per behavior which labels are better than which, as `LabelOrder.of` reads them; ``"*"`` for
        all other behaviors. By default the order of the rubric's classes.
    equal_prompts : bool
        Whether every prompt counts the same, however many comparisons it has.
    signs : mapping of str to {"positive", "negative"}
        Sign constraints by feature.
    fixed : mapping of str to float
        Weights that are given and not fitted, by feature.
    ignored : sequence of str
        Features that get no weight.
    use_base : bool or None
        Whether the base reward is part of every difference; None where the data have one.
    n_folds : int
        Of cross-validation and of the held-out error rate, at least 2.
    n_resamples : int
        Bootstrap resamples over prompts: 0 for none, else at least 50.
    confidence_level : float
        Of all intervals, in (0, 1).
    seed : int
        Of folds and resamples.
    """

    orientation: Orientation = "plain"
    loss: Loss = "hinge"
    l2: float | None = None
    margin: float = 1.0
    margins: Mapping[str, float] = field(default_factory=dict)
    orders: Mapping[str, str | Mapping[str, Sequence[str]]] = field(default_factory=dict)
    equal_prompts: bool = False
    signs: Mapping[str, Sign] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    ignored: Sequence[str] = ()
    use_base: bool | None = None
    n_folds: int = 5
    n_resamples: int = 200
    confidence_level: float = 0.95
    seed: int = 0
