"""Who is closer, item by item: small panels by hand."""

import numpy as np
import pytest

from voirdire import stats

JUDGE_WINS, TIE, HUMAN_WINS, NO_OUTCOME = 0, 1, 2, -1

PANEL = np.array(
    [
        # a, b, c per item
        [0, 0, 1],
        [0, 1, -1],
        [1, 1, 0],
        [-1, 0, 0],
        [-1, -1, 0],
    ]
)


def outcomes_of(panel, judge, *, gold=None, **options):
    """Tell the outcome of every annotator and item, from counts over 2, 20, 200, ... copies."""
    copies = 2 * 10 ** np.arange(len(panel))
    items = np.repeat(np.arange(len(panel)), copies)
    settings = {"n_codes": 3, "min_items": 2} | options
    [result] = stats.alt_test(
        np.asarray(judge)[items],
        panel[items],
        gold=None if gold is None else np.asarray(gold)[items],
        **settings,
    )
    found = np.full(panel.T.shape, NO_OUTCOME)
    for row in result.annotators:
        for outcome, count in enumerate((row.n_judge_wins, row.n_ties, row.n_human_wins)):
            found[int(row.annotator), count // copies % 10 == 1] = outcome
    return found.tolist()


def test_outcomes_by_hand():
    outcomes = outcomes_of(PANEL, [0, 1, -1, 1, 0])

    # Item 0, judge 0: against {0, 1} a has 1/2 and so has the judge; so for b; c 0, the judge 1.
    # Item 1, judge 1: a has 0 of {1}, the judge 1; b has 0 of {0}, the judge 0.
    # Item 2: no judge. Item 3, judge 1: the others agree, the judge does not. Item 4: one label.
    assert outcomes == [
        [TIE, JUDGE_WINS, NO_OUTCOME, NO_OUTCOME, NO_OUTCOME],
        [TIE, TIE, NO_OUTCOME, HUMAN_WINS, NO_OUTCOME],
        [JUDGE_WINS, NO_OUTCOME, NO_OUTCOME, HUMAN_WINS, NO_OUTCOME],
    ]


def test_an_item_needs_enough_annotators():
    outcomes = np.array(outcomes_of(PANEL, [0, 0, 0, 0, 0], min_annotators=3))

    assert (outcomes >= 0).any(axis=0).tolist() == [True, False, True, False, False]


def test_a_reference_stands_for_the_others():
    outcomes = outcomes_of(PANEL, [0, 0, 0, 1, 0], gold=[1, 0, -1, 0, 0])

    assert outcomes == [
        [TIE, TIE, NO_OUTCOME, NO_OUTCOME, NO_OUTCOME],
        [TIE, JUDGE_WINS, NO_OUTCOME, HUMAN_WINS, NO_OUTCOME],
        [HUMAN_WINS, NO_OUTCOME, NO_OUTCOME, HUMAN_WINS, TIE],
    ]


def test_an_expert_stands_for_the_others_and_is_not_tested():
    outcomes = outcomes_of(PANEL, [0, 1, 0, 0, 0], expert=1)

    assert outcomes == [
        [TIE, JUDGE_WINS, HUMAN_WINS, NO_OUTCOME, NO_OUTCOME],
        [NO_OUTCOME] * 5,
        [JUDGE_WINS, NO_OUTCOME, TIE, TIE, NO_OUTCOME],
    ]


def test_quality_moves_the_balance():
    panel, judge = np.array([[0, 0, 1]]), [1]

    # Judge 1 against {0, 1} without a: equal weights tie; weight 3 on b, 1 on c: 1/4 < 3/4.
    plain = outcomes_of(panel, judge)
    weighted = outcomes_of(panel, judge, quality=[2.0, 3.0, 1.0])

    assert plain == [[TIE], [TIE], [TIE]]
    assert weighted == [[HUMAN_WINS], [HUMAN_WINS], [TIE]]


@pytest.mark.parametrize("n_rare", [1, 5, 10])
def test_weights_by_hand(n_rare):
    # For the last annotator the majorities are a, a, a|b, b|c (0, 1, 2). Frequencies: a 5/2, b 1,
    # c 1/2, so the weights of the labels are 8/5, 4 and 8, and those of the items
    weights = np.array([8 / 5, 8 / 5, 14 / 5, 6])
    panel = np.array([[0, 0, 0], [0, -1, 0], [0, 1, 0], [1, 2, 1]])
    own = panel[:, 2]

    for item, weight in enumerate(weights):
        judge = np.where(np.arange(4) == item, own, 3)
        [result] = stats.alt_test(
            np.tile(judge, n_rare),
            np.tile(panel, (n_rare, 1)),
            weights="imbalance",
            min_items=2,
        )

        # The judge ties on one item and loses on the others.
        assert result.annotators[-1].advantage_judge == pytest.approx(weight / weights.sum())


def test_a_reference_gives_the_weights():
    # One item of 4 is label 0 and weighs 4, three are label 1 and weigh 4/3 each.
    gold = np.array([0, 1, 1, 1])

    [result] = stats.alt_test(
        [0, 0, 0, 0], gold[:, np.newaxis], gold=gold, weights="imbalance", min_items=2
    )

    assert result.annotators[0].advantage_judge == pytest.approx(4 / (4 + 3 * 4 / 3))
