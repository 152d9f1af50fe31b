r"""Tests a judge against a random person of a crowd, where nobody has enough items alone.

Item i has the persons :math:`H_i`, each of whom is compared with the judge as everywhere:
:math:`W^f_{ij}` and :math:`W^h_{ij}`. There is one hypothesis and no ω: item i contributes
:math:`d_i = |H_i|^{-1} \sum_j (W^h_{ij} - W^f_{ij})`, and H0 says :math:`E d \ge \varepsilon`. The
p-value is the larger of two. The first is that of a t-test of the :math:`d_i` whose variance counts
items of one person as dependent,

.. math:: V = \frac{n}{n-1} \max\Big(\sum_a \frac{\big(\sum_{i \ni a} r_i\big)^2}{1 - n_a / n}
          - \sum_i (|H_i| - 1) r_i^2,\ \sum_i r_i^2\Big), \qquad r_i = d_i - \bar d,

with :math:`n_a` the items of person a and one degree of freedom less than there are persons, or
items if these are fewer. The denominator makes up for the mean having followed the person's own
items, as CR2 does for clusters [1]_: without it six people and 1,000 items pass a judge at the edge
in .097 of the studies, with it in .061 (20,000 simulations; .041 with 300 items; .052 with 20
people and 1,000 items). The second p-value is the exact test's of the summed shares, wins rounded
down and losses up.

Items are taken to be drawn at random, persons to be assigned to them at random and to label
independently. A weak crowd lets weak judges pass: where people err on 15% of the items, a coin is
at the edge of ε = .2. So ε is at most .1 here.

References
----------
.. [1] R. M. Bell and D. F. McCaffrey, "Bias Reduction in Standard Errors for Linear Regression with
   Multi-Stage Samples", Survey Methodology 28(2), pages 169-181, 2002.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from voirdire.stats.exact_test import SAME, cached_p_value
from voirdire.stats.judge_difference import MOST_FLIPPED, flip_signs
from voirdire.stats.outcome import CONSTANT_LEVEL
from voirdire.stats.outcome_sums import HUMAN_WINS, JUDGE_WINS, TIE
from voirdire.stats.results import CrowdTest, make_caution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire._types import EpsilonMode, Finding
    from voirdire.stats.comparison import Comparison, Controls
    from voirdire.stats.results import Caution

LARGEST_EPSILON = 0.1
FEWEST_ITEMS, FEWEST_PEOPLE = 50, 6


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """How a judge fares in a crowd: `tests` by ε, and whether the majority vote is shown there.

    Of ρ three: the judge's, the same with its failures lost, and that of the persons themselves.
    """

    n_items: int
    n_people: int
    tests: tuple[CrowdTest, ...] = ()
    ceiling: tuple[bool, ...] = ()
    advantages: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    n_differ: int = 0


def compare_with_crowd(
    labels: Comparison, judge: int, controls: Controls, *, label: Callable[[Any], str]
) -> Crowd:
    """Test a judge on the items that it and two persons or more labelled; no tests with too few."""
    if labels.copies is not None:  # nobody has many items, so there are not many
        each = np.repeat(np.arange(len(labels.copies)), labels.copies)
        labels = replace(labels.take(each), copies=None)
        controls = replace(controls, answers=controls.answers[each])
    settings = labels.settings
    [both] = labels.judge_outcomes([judge])
    met = np.flatnonzero((both[1] >= 0).any(axis=0))
    items, people = np.nonzero(both[1][:, met].T >= 0)
    people = np.unique(people, return_inverse=True)[1]
    n_items, n_people = len(met), int(people.max(initial=-1)) + 1
    if n_items < FEWEST_ITEMS or n_people < FEWEST_PEOPLE:
        return Crowd(n_items=n_items, n_people=n_people)

    # rows: the judge, with failures left out and lost; the majority vote; the constants
    columns = [controls.kinds.index("majority_vote"), *range(len(controls.constants))]
    rows = chain(both, labels.outcomes(controls.answers[:, columns]))
    counts = np.array([
        [np.count_nonzero(row[:, met] == x, axis=0) for x in (JUDGE_WINS, TIE, HUMAN_WINS)]
        for row in rows
    ])  # fmt: skip
    sums = counts.sum(axis=1)
    won, tied, lost = np.moveaxis(counts / np.where(sums, sums, 1)[:, np.newaxis], 1, 0)

    def p_values(row: int, epsilon: float) -> tuple[float, float, float]:
        """Return the mean of d with the two p-values."""
        d, edge = lost[row] - won[row], epsilon
        if settings.mode == "multiplicative":
            d, edge = (1 - won[row]) - (1 - lost[row]) / (1 - epsilon), 0.0
        low, high = math.floor(won[row].sum() + SAME), math.ceil(lost[row].sum() - SAME)
        exact = cached_p_value(low, n_items - low - high, high, epsilon, settings.mode)
        return float(d.mean()), _test_mean(d, edge, items=items, people=people), exact

    best = 3 + int((won + tied)[3:].mean(axis=1).argmax())
    behind = lost[1] - lost[best]
    constant_p_value = _test_mean(behind, 0.0, items=items, people=people)
    differing = behind[np.abs(behind) > SAME]
    if 0 < len(differing) <= MOST_FLIPPED:
        constant_p_value = max(constant_p_value, float(flip_signs(-differing)[-1]))
    agreement = np.concatenate([block.agreement() for _, block in labels.blocks])[met]
    tests, ceiling, rate = [], [], settings.false_discovery_rate
    for epsilon in np.minimum(settings.epsilons, LARGEST_EPSILON).tolist():
        mean, by_t, exact = p_values(1, epsilon)
        ceiling.append(max(p_values(2, epsilon)[1:]) <= rate)
        test = CrowdTest(
            epsilon=epsilon,
            n_items=n_items,
            n_people=n_people,
            human_agreement=float(agreement.mean()),
            mean_difference=mean,
            p_value_t=by_t,
            p_value_exact=exact,
            p_value=max(by_t, exact),
            shown=max(by_t, exact) <= rate,
            constant=label(controls.constants[best - 3]),
            constant_advantage=float((won + tied)[best].mean()),
            constant_p_value=constant_p_value,
        )
        tests.append(test)
    answered = sums[0] > 0
    rho, rho_human = math.nan, math.nan
    if answered.any():
        rho, rho_human = (float((x + tied)[0, answered].mean()) for x in (won, lost))
    return Crowd(
        n_items=n_items,
        n_people=n_people,
        tests=tuple(tests),
        ceiling=tuple(ceiling),
        advantages=(rho, float((won + tied)[1].mean()), rho_human),
        n_differ=len(differing),
    )


def _test_mean(
    values: NDArray[np.float64],
    edge: float,
    *,
    items: NDArray[np.intp],
    people: NDArray[np.intp],
) -> float:
    """Test a mean below `edge`; `items` and `people` are the two sides of each comparison."""
    n_items, distance = len(values), float(values.mean()) - edge
    rest = values - values.mean()
    by_person = np.bincount(people, weights=rest[items])
    left = np.maximum(1 - np.bincount(people) / n_items, 1 / n_items)
    n_roles = np.bincount(items, minlength=n_items)
    variance = np.sum(by_person**2 / left) - np.sum((n_roles - 1) * rest**2)
    variance = max(float(variance), float(np.sum(rest**2))) * n_items / (n_items - 1)
    if variance < SAME:
        return 0.0 if distance < -SAME else 1.0
    return float(stdtr(min(len(by_person), n_items) - 1, distance * n_items / math.sqrt(variance)))


def decide_in_crowd(crowd: Crowd, number: int, *, mode: EpsilonMode) -> tuple[Finding, Caution]:
    """Decide what is found of a judge in a crowd at an ε, and say why."""
    test = crowd.tests[number]
    figures: dict[str, Any] = {
        name: getattr(test, name) for name in ("epsilon", "n_items", "n_people", "p_value")
    }
    figures |= {
        "advantage_probability": crowd.advantages[1],
        "human_advantage": crowd.advantages[2],
    }
    if test.shown:
        figures |= {
            "constant": test.constant,
            "constant_advantage": test.constant_advantage,
            "constant_p_value": test.constant_p_value,
        }
        if 0 < crowd.n_differ <= MOST_FLIPPED:
            figures |= {"n_differ": crowd.n_differ}
        if test.constant_p_value <= CONSTANT_LEVEL:
            return "passed_as_random_person", make_caution("crowd_shown", **figures)
        return "no_evidence", make_caution("crowd_like_constant", **figures)
    is_close = test.mean_difference < (test.epsilon if mode == "additive" else 0.0)
    if is_close and not crowd.ceiling[number]:
        return "no_evidence", make_caution("crowd_unpassable", **figures)
    if is_close:
        return "not_shown", make_caution("crowd_not_shown", **figures)
    return "worse", make_caution("crowd_missed", **figures)


def explain_untestable(crowd: Crowd, *, min_items: int) -> Caution:
    """Say why neither an annotator nor a random person of a crowd can be tested against."""
    if not crowd.n_items:
        return make_caution("no_shared_items")
    if crowd.n_people < FEWEST_PEOPLE:
        return make_caution("untestable", {"other": "another annotator"}, min_items=min_items)
    figures = {"min_items": min_items, "n": crowd.n_items, "n_people": crowd.n_people}
    return make_caution("small_crowd", **figures, needed=FEWEST_ITEMS)
