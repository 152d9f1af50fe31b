"""What a power simulation found: frozen records with the names that the JSON uses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["PowerResult", "PowerRow", "Route", "SmallestSize"]

Route: TypeAlias = Literal["assumptions", "resampling", "noise_model"]
"""Whence simulated labels come: from assumed noise, from the pilot's items and annotators drawn
anew, or from noise fitted to the pilot."""


@dataclass(frozen=True, kw_only=True)
class PowerRow:
    """The power of one size of study at one ε.

    Attributes
    ----------
    n_items, n_annotators : int
        Of the study.
    epsilon : float
        Margin, in [0, 1).
    power : float
        Share of the simulated studies that the judge passes (ω at least .5), in [0, 1]. 0 where
        no annotator has enough items to be tested: such a study is never passed.
    standard_error : float
        Of that share, for a binomial one.
    winning_rate : float
        Mean of ω over the studies in which it is defined, in [0, 1]; nan where in none.
    n_simulations : int
        Studies simulated.
    route : {"assumptions", "resampling", "noise_model"}
        Whence their labels came.
    label_share : float
        Share of the study's items that an annotator labels, in (0, 1]: below 1 where the pilot
        has gaps.
    reason : str or None
        Why ω is undefined in all of them.
    """

    n_items: int
    n_annotators: int
    epsilon: float
    power: float
    standard_error: float
    winning_rate: float
    n_simulations: int
    route: Route
    label_share: float = 1.0
    reason: str | None = None

    @property
    def n_labels(self) -> int:
        """Labels that annotators give: n_items * n_annotators * label_share, rounded."""
        return round(self.n_items * self.n_annotators * self.label_share)

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON."""
        return asdict(self) | {"n_labels": self.n_labels}


@dataclass(frozen=True, kw_only=True)
class SmallestSize:
    """The fewest items of the grid from which on the power is as wanted.

    Attributes
    ----------
    n_annotators : int
        Of the study.
    epsilon : float
        Margin, in [0, 1).
    n_items : int or None
        With this many items, and with every larger number of the grid, the power reaches the
        wanted one; None where it does not with the largest.
    n_labels : int or None
        Labels that annotators give there, less than n_items * n_annotators with gaps.
    power : float or None
        The power there.
    """

    n_annotators: int
    epsilon: float
    n_items: int | None
    n_labels: int | None
    power: float | None

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class PowerResult:
    """The power of studies of many sizes.

    Attributes
    ----------
    rows : tuple of PowerRow
        By number of annotators, then of items, then ε, in this order.
    wanted_power : float
        In (0, 1).
    human_kappa, judge_kappa : float
        Cohen's kappa of two annotators, and of the judge and an annotator: as assumed (in
        expectation), or pooled over the pairs of labels in the pilot; nan where labels are not of
        a nominal question or kappa is undefined.
    human_noise, judge_noise : float
        η, as assumed or as fitted to the pilot, in [0, 1]; nan where no noise model was fitted.
    cautions : tuple of str
        What weakens the figures.
    settings : dict
        Everything that determines them, the seed included.
    """

    rows: tuple[PowerRow, ...]
    wanted_power: float
    human_kappa: float
    judge_kappa: float
    human_noise: float
    judge_noise: float
    cautions: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The margins, in the order given."""
        return tuple(dict.fromkeys(row.epsilon for row in self.rows))

    @property
    def annotators(self) -> tuple[int, ...]:
        """The numbers of annotators, ascending."""
        return tuple(dict.fromkeys(row.n_annotators for row in self.rows))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of items, ascending."""
        return tuple(dict.fromkeys(row.n_items for row in self.rows))

    def curve(self, *, n_annotators: int, epsilon: float) -> tuple[PowerRow, ...]:
        """Return the rows of one number of annotators and one ε, by number of items."""
        return tuple(
            row for row in self.rows if row.n_annotators == n_annotators and row.epsilon == epsilon
        )

    @property
    def smallest_sizes(self) -> tuple[SmallestSize, ...]:
        """The fewest items for each number of annotators and ε."""
        return tuple(
            _smallest_size(self.curve(n_annotators=m, epsilon=epsilon), self.wanted_power)
            for m in self.annotators
            for epsilon in self.epsilons
        )

    @property
    def smallest_plans(self) -> tuple[SmallestSize, ...]:
        """For each ε the plan with the fewest labels (of equals the one with fewer annotators).

        ε is fixed for reasons of cost before data are seen, so that margins do not compete.
        """
        return tuple(
            _fewest_labels([size for size in self.smallest_sizes if size.epsilon == epsilon])
            for epsilon in self.epsilons
        )

    def __str__(self) -> str:
        from voirdire.stats.display import text_table

        return f"{text_table(self._table())}\n{self._plans()}"

    def _repr_html_(self) -> str:
        """Show the powers and the smallest plans in a notebook."""
        from voirdire.stats.display import html_table

        return f"<div>{html_table(self._table())}<p>{self._plans()}</p></div>"

    def _table(self) -> list[tuple[str, ...]]:
        """Give a head and a row per size, with a column per number of annotators and ε."""
        columns = [(m, e) for m in self.annotators for e in self.epsilons]
        head = ("items", *(f"{m} annotators, ε {e:g}" for m, e in columns))
        powers = {(row.n_items, row.n_annotators, row.epsilon): row.power for row in self.rows}
        return [
            head,
            *(
                (f"{n:,}", *(f"{powers[n, m, e]:.2f}" for m, e in columns if (n, m, e) in powers))
                for n in self.sizes
            ),
        ]

    def _plans(self) -> str:
        """Say the smallest plan at each margin."""
        found = {plan.epsilon: plan for plan in self.smallest_plans}
        said = []
        for epsilon in self.epsilons:
            plan = found.get(epsilon)
            if plan is None or plan.n_items is None:
                said.append(f"ε = {epsilon:g}: none reaches {self.wanted_power:g}")
            else:
                size = f"{plan.n_items:,} items by {plan.n_annotators:,} annotators"
                said.append(f"ε = {epsilon:g}: {size}, power {plan.power:.2f}")
        return "Smallest plans: " + "; ".join(said) + "."

    def as_dict(self) -> dict[str, Any]:
        """Every figure under the names of the JSON; undefined ones are nan."""
        return {
            "wanted_power": self.wanted_power,
            "human_kappa": self.human_kappa,
            "judge_kappa": self.judge_kappa,
            "human_noise": self.human_noise,
            "judge_noise": self.judge_noise,
            "rows": [row.as_dict() for row in self.rows],
            "smallest_sizes": [size.as_dict() for size in self.smallest_sizes],
            "smallest_plans": [size.as_dict() for size in self.smallest_plans],
            "cautions": list(self.cautions),
            "settings": self.settings,
        }


def _smallest_size(curve: Iterable[PowerRow], wanted: float) -> SmallestSize:
    rows = list(curve)
    found: PowerRow | None = None
    for row in reversed(rows):
        if row.power < wanted:
            break
        found = row
    return SmallestSize(
        n_annotators=rows[0].n_annotators,
        epsilon=rows[0].epsilon,
        n_items=None if found is None else found.n_items,
        n_labels=None if found is None else found.n_labels,
        power=None if found is None else found.power,
    )


def _fewest_labels(sizes: Sequence[SmallestSize]) -> SmallestSize:
    return min(sizes, key=lambda size: float("inf") if size.n_labels is None else size.n_labels)
