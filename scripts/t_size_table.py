"""Write the table of the tests' true size into docs/explanation/alt-test.md; `--check` compares.

The size is exact: every possible table of wins, ties and losses is put through the code of the
package, and the probabilities of those that it rejects at 5% are added up, at the edge of the null
hypothesis, where the judge is exactly ε worse.
"""

from __future__ import annotations

import re
import sys
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, xlogy

from voirdire.stats import exact_p_value
from voirdire.stats.figures import Figures, TestSettings
from voirdire.stats.outcome_sums import OutcomeSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "alt-test.md"
MARKED = re.compile(r"(?<=<!-- t-size-table -->\n).*?(?=<!-- /t-size-table -->)", re.DOTALL)
ALPHA = 0.05
EPSILONS = (0.1, 0.2)
TIE_SHARES = (0.4, 0.6, 0.8, 0.9)
T_SIZES = (15, 30, 50, 100, 200)
EXACT_SIZES = (15, 30, 100)


def tables_of(n_items: int) -> NDArray[np.int64]:
    """List all (judge wins, ties, human wins) of a number of items."""
    wins, ties = np.indices((n_items + 1, n_items + 1)).reshape(2, -1)
    tables = np.column_stack([wins, ties, n_items - wins - ties])
    return tables[tables[:, 2] >= 0]


def rejected_by_t(tables: NDArray[np.int64], epsilon: float) -> NDArray[np.bool_]:
    """Tell which tables the t-test rejects, all of them in one call."""
    sums = OutcomeSums(
        counts=tables[np.newaxis],
        weights=tables[np.newaxis].astype(np.float64),
        squares=tables[np.newaxis, :, :, np.newaxis] * np.eye(3),
        n_units=tables.sum(axis=1)[np.newaxis],
    )
    settings = TestSettings(
        epsilons=np.array([epsilon]),
        mode="additive",
        design="items",
        false_discovery_rate=ALPHA,
        min_items=1,
    )
    return Figures(sums, settings).p_values[0, 0] <= ALPHA


def rejected_by_exact(tables: NDArray[np.int64], epsilon: float) -> NDArray[np.bool_]:
    """Tell which tables the exact test rejects: with as many ties, those with few human wins."""
    n_items = int(tables[0].sum())
    most = [_most_human_wins(n_items, ties, epsilon) for ties in range(n_items + 1)]
    return tables[:, 2] <= np.array(most)[tables[:, 1]]


def _most_human_wins(n_items: int, n_ties: int, epsilon: float) -> int:
    low, high = -1, n_items - n_ties
    while low < high:
        middle = (low + high + 1) // 2
        p_value = exact_p_value(
            n_judge_wins=n_items - n_ties - middle,
            n_ties=n_ties,
            n_human_wins=middle,
            epsilon=epsilon,
        )
        low, high = (middle, high) if p_value <= ALPHA else (low, middle - 1)
    return low


def size(tables: NDArray[np.int64], rejected: NDArray[np.bool_], point: NDArray[np.float64]) -> str:
    """Add up the probabilities of the rejected tables, in per cent, rounded half up."""
    n_items = tables[0].sum()
    chosen = tables[rejected]
    log_ways = gammaln(n_items + 1) - gammaln(chosen + 1).sum(axis=1)
    total = np.exp(log_ways + xlogy(chosen, point).sum(axis=1)).sum()
    return f"{floor(1000 * total + 0.5) / 10:.1f}"


def edge(tie_share: float, epsilon: float) -> NDArray[np.float64]:
    """Probabilities of a judge's win, a tie, a human's win when the judge is exactly ε worse."""
    judge = max(0.0, round((1 - tie_share - epsilon) / 2, 12))
    return np.array([judge, tie_share, judge + epsilon])


def section(epsilon: float) -> str:
    """Render one margin: a row per tie share, a column per test and number of items."""
    shares = [share for share in TIE_SHARES if share <= 1 - epsilon + 1e-9]
    tests = [(rejected_by_t, n) for n in T_SIZES] + [(rejected_by_exact, n) for n in EXACT_SIZES]
    columns = []
    for reject, n_items in tests:
        tables = tables_of(n_items)
        rejected = reject(tables, epsilon)
        columns.append([size(tables, rejected, edge(share, epsilon)) for share in shares])
    heads = [f"t, {n}" for n in T_SIZES] + [f"exact, {n}" for n in EXACT_SIZES]
    rows = [
        [f"{share:g}", *figures]
        for share, figures in zip(shares, zip(*columns, strict=True), strict=True)
    ]
    lines = [["tie share", *heads], ["---", *["---:"] * len(heads)], *rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"True size in per cent at ε = {epsilon:g}, by test and number of items:\n\n{table}\n"


def main() -> int:
    """Write the table between its markers, or say that it is out of date."""
    kept = PAGE.read_text(encoding="utf-8")
    body = "\n" + "\n".join(section(epsilon) for epsilon in EPSILONS) + "\n"
    fresh, n_places = MARKED.subn(body, kept)
    place = PAGE.relative_to(ROOT)
    if n_places != 1:
        print(f"{place} must hold one pair of markers `t-size-table`, got {n_places}.")
        return 1
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(fresh, encoding="utf-8")
    elif fresh != kept:
        print(f"{place} must hold the figures that the code gives. Run `make generate`.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
