"""The test against a random person of a crowd, compared with plain loops over its formula."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from voirdire import stats
from voirdire.errors import DegenerateDataWarning


def draw_crowd(seed, *, n_items, n_people, error, judge_error, per_item=2):
    """Draw labels 0 and 1: people who err at random rates, and a judge that errs at one."""
    rng = np.random.default_rng(seed)
    rates = np.clip(rng.normal(error, 0.08, n_people), 0.0, 0.5)
    truth = rng.integers(0, 2, n_items)
    humans = np.full((n_items, n_people), -1)
    for item in range(n_items):
        people = rng.choice(n_people, per_item, replace=False)
        humans[item, people] = truth[item] ^ (rng.random(per_item) < rates[people])
    return truth ^ (rng.random(n_items) < judge_error), humans


def compare_by_loops(judge, humans):
    """Return the shares won and lost of each item, and who labelled it."""
    won, lost, who = [], [], []
    for answer, row in zip(judge, humans, strict=True):
        people = np.flatnonzero(row >= 0)
        wins = losses = 0
        for person in people:
            others = [row[other] for other in people if other != person]
            own = sum(row[person] == other for other in others)
            its = sum(answer == other for other in others)
            wins, losses = wins + (its > own), losses + (own > its)
        won.append(wins / len(people))
        lost.append(losses / len(people))
        who.append(people)
    return np.array(won), np.array(lost), who


def t_by_loops(d, edge, who):
    """The t-test with items of one person dependent, by its formula."""
    n, rest = len(d), d - np.mean(d)
    people = sorted({person for row in who for person in row})
    clustered = 0.0
    for person in people:
        own = [rest[i] for i, row in enumerate(who) if person in row]
        clustered += sum(own) ** 2 / (1 - len(own) / n)
    clustered -= sum((len(row) - 1) * rest[i] ** 2 for i, row in enumerate(who))
    variance = max(clustered, sum(rest**2)) * n / (n - 1)
    t = (np.mean(d) - edge) * n / math.sqrt(variance)
    return scipy_stats.t.cdf(t, min(n, len(people)) - 1)


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("per_item", [2, 3])
def test_p_values_are_those_of_the_formula(mode, per_item):
    judge, humans = draw_crowd(
        3, n_items=120, n_people=40, error=0.15, judge_error=0.2, per_item=per_item
    )

    [result] = stats.alt_test(judge, humans, epsilon=0.05, epsilon_mode=mode)

    won, lost, who = compare_by_loops(judge, humans)
    d, edge = lost - won, 0.05
    if mode == "multiplicative":
        d, edge = (1 - won) - (1 - lost) / 0.95, 0.0
    wins, losses = math.floor(sum(won) + 1e-9), math.ceil(sum(lost) - 1e-9)
    exact = stats.exact_p_value(
        n_judge_wins=wins,
        n_ties=120 - wins - losses,
        n_human_wins=losses,
        epsilon=0.05,
        epsilon_mode=mode,
    )
    assert result.crowd.p_value_t == pytest.approx(t_by_loops(d, edge, who))
    assert result.crowd.p_value_exact == exact
    assert result.crowd.p_value == max(result.crowd.p_value_t, exact)
    assert result.crowd.mean_difference == pytest.approx(d.mean())
    assert result.advantage_probability == pytest.approx(1 - lost.mean())
    assert result.human_advantage == pytest.approx(1 - won.mean())


def test_with_two_labels_the_mean_difference_is_that_of_two_agreements():
    judge, humans = draw_crowd(1, n_items=200, n_people=60, error=0.15, judge_error=0.25)

    [result] = stats.alt_test(judge, humans)

    pairs = np.array([row[row >= 0] for row in humans])
    among_people = np.mean(pairs[:, 0] == pairs[:, 1])
    with_judge = np.mean(pairs == judge[:, np.newaxis])
    assert result.crowd.human_agreement == pytest.approx(among_people)
    assert result.crowd.mean_difference == pytest.approx(among_people - with_judge)


@pytest.mark.parametrize(
    ("judge_error", "outcome", "finding"),
    [
        (0.02, "passed_as_random_person", "passed_as_random_person"),
        (0.27, "failed", "not_shown"),
        (0.5, "failed", "worse"),
    ],
)
def test_outcomes_have_words_of_their_own_and_epsilon_is_at_most_a_tenth(
    judge_error, outcome, finding
):
    judge, humans = draw_crowd(0, n_items=200, n_people=60, error=0.15, judge_error=judge_error)

    [result] = stats.alt_test(judge, humans, epsilon=0.2)

    assert (result.outcome, result.finding, result.passed) == (outcome, finding, False)
    assert (result.crowd.epsilon, result.crowd.n_items, result.crowd.n_people) == (0.1, 200, 60)
    assert math.isnan(result.winning_rate)
    assert result.cautions[0].code == "random_person"


def test_a_constant_answer_does_not_pass_where_labels_are_skewed():
    rng = np.random.default_rng(0)
    truth = (rng.random(200) < 0.04).astype(int)
    humans = np.full((200, 50), -1)
    for item in range(200):
        humans[item, rng.choice(50, 2, replace=False)] = truth[item]

    always_no, [perfect] = (stats.alt_test(x, humans) for x in (np.zeros(200, int), truth))

    assert always_no[0].crowd.shown
    assert (always_no[0].outcome, always_no[0].because.code) == (
        "no_evidence",
        "crowd_like_constant",
    )
    assert perfect.outcome == "passed_as_random_person"


def test_failed_items_are_lost():
    judge, humans = draw_crowd(0, n_items=200, n_people=60, error=0.15, judge_error=0.02)
    failed = np.zeros((200, 1), bool)
    failed[:100] = True

    [result] = stats.alt_test(np.where(failed[:, 0], -1, judge), humans, failed=failed)

    assert result.finding == "worse"
    assert result.worst_case.advantage_probability == pytest.approx(
        result.advantage_probability / 2, abs=0.02
    )


def test_the_family_of_all_judges_is_corrected():
    judge, humans = draw_crowd(0, n_items=100, n_people=60, error=0.15, judge_error=0.2)
    coins = np.random.default_rng(1).integers(0, 2, (100, 40))

    alone = stats.alt_test(judge, humans)[0]
    several = stats.alt_test(np.column_stack([judge, coins]), humans, family="judges")[0]

    assert several.crowd.p_value == alone.crowd.p_value
    assert 0.05 / (41 * sum(1 / k for k in range(1, 42))) < alone.crowd.p_value <= 0.05
    assert (alone.crowd.shown, several.crowd.shown) == (True, False)


@pytest.mark.filterwarnings("ignore::voirdire.errors.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("n_items", "n_people", "per_item", "code"),
    [
        (200, 60, 1, "no_shared_items"),
        (49, 60, 2, "small_crowd"),
        (20, 3, 2, "untestable"),
    ],
)
def test_too_few_shared_items_are_no_evidence_and_say_what_lacks(n_items, n_people, per_item, code):
    judge, humans = draw_crowd(
        0, n_items=n_items, n_people=n_people, error=0.1, judge_error=0.1, per_item=per_item
    )

    [result] = stats.alt_test(judge, humans)

    assert (result.outcome, result.because.code, result.crowd) == ("no_evidence", code, None)


@pytest.mark.parametrize("variant", ["gold", "clusters", "weights", "quality"])
def test_variants_without_a_test_for_crowds_have_none(variant):
    judge, humans = draw_crowd(0, n_items=100, n_people=60, error=0.1, judge_error=0.1)
    settings = {
        "gold": judge,
        "clusters": np.arange(100),
        "weights": "imbalance",
        "quality": np.ones(60),
    }

    with pytest.warns(DegenerateDataWarning, match="no annotator has 30 items"):
        [result] = stats.alt_test(judge, humans, **{variant: settings[variant]})

    assert (result.outcome, result.crowd) == ("no_evidence", None)
