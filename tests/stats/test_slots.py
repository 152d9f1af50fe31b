"""A crowd: many annotators with a few labels each."""

import numpy as np
import pytest

from alt_test_oracle import alt_test_oracle
from voirdire import alt_test
from voirdire.stats import krippendorff_alpha

LABELS = ("a", "b", "c")


def crowd(seed, *, annotators=24, items=150, per_item=4, labels=LABELS):
    """A crowd: many annotators, a few labels an item."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(labels), items)
    humans = {f"h{k}": {} for k in range(annotators)}
    for item in range(items):
        for k in rng.choice(annotators, per_item, replace=False):
            wrong = rng.random() < 0.25
            label = rng.integers(0, len(labels)) if wrong else truth[item]
            humans[f"h{k}"][f"i{item}"] = labels[label]
    judge = {f"i{item}": labels[x] for item, x in enumerate(truth)}
    return judge, humans


LABELS_OF = {
    "accuracy": LABELS,
    "neg_rmse": (1, 2, 4),
    "jaccard": (frozenset("a"), frozenset("ab"), frozenset()),
}
VARIANTS = ("plain", "quality", "expert", "gold", "weights", "clusters")


def options_of(variant, judge, humans):
    rng = np.random.default_rng(5)
    return {
        "plain": {},
        "quality": {"quality": {name: float(rng.random() + 0.5) for name in humans}},
        "expert": {"expert": "h3"},
        "gold": {"gold": dict(judge)},
        "weights": {"weights": "imbalance"},
        "clusters": {"clusters": {item: int(item[1:]) // 3 for item in judge}},
    }[variant]


@pytest.mark.edges
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("alignment", LABELS_OF)
def test_a_crowd_gets_the_figures_of_the_oracle(variant, alignment):
    labels = LABELS_OF[alignment]
    judge, humans = crowd(3, labels=labels)
    options = options_of(variant, judge, humans)
    answers = {item: labels[0] if int(item[1:]) % 4 == 0 else x for item, x in judge.items()}

    result = alt_test(answers, humans, alignment=alignment, min_items=3, **options)
    expected = alt_test_oracle(answers, humans, alignment=alignment, min_items=3, **options)

    assert result.t_test.winning_rate == pytest.approx(expected["winning_rate"])
    assert result.advantage_probability == pytest.approx(expected["advantage_probability"])
    for row in result.annotators:
        known = expected["annotators"][row.annotator]
        counts = (row.n_judge_wins, row.n_ties, row.n_human_wins)
        assert counts == (known["wins"], known["ties"], known["losses"])
        assert row.p_value == pytest.approx(known["p_value"], nan_ok=True)


@pytest.mark.edges
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("alignment", LABELS_OF)
def test_the_constant_beside_a_crowd_is_the_best_of_the_oracle(variant, alignment):
    labels = LABELS_OF[alignment]
    judge, humans = crowd(3, labels=labels)
    settings = options_of(variant, judge, humans) | {"alignment": alignment, "min_items": 3}

    result = alt_test(judge, humans, **settings)

    each = [alt_test(dict.fromkeys(judge, label), humans, **settings) for label in labels]
    figures = [(row.winning_rate, row.advantage_probability) for row in each]
    [constant] = [control for control in result.controls if control.control == "constant"]
    assert (constant.winning_rate, constant.advantage_probability) == pytest.approx(max(figures))


def test_the_majority_of_a_crowd_is_the_majority_of_its_columns():
    judge, humans = crowd(8)

    sparse = alt_test(judge, humans, min_items=3)
    [vote] = [row for row in sparse.controls if row.control == "majority_vote"]

    assert vote.advantage_probability == 1.0


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_agreement_of_a_crowd_is_that_of_its_labels_moved_together(level):
    rng = np.random.default_rng(2)
    together = rng.integers(0, 3, (200, 3))
    apart = np.full((200, 40), -1)
    for row, labels in enumerate(together):
        apart[row, np.sort(rng.choice(40, 3, replace=False))] = labels
    numbers = np.where(apart < 0, np.nan, apart) if level == "interval" else apart

    crowd_alpha = krippendorff_alpha(numbers, level=level)
    panel_alpha = krippendorff_alpha(together, level=level)

    assert crowd_alpha.alpha == pytest.approx(panel_alpha.alpha)
    assert crowd_alpha.low == pytest.approx(panel_alpha.low)
