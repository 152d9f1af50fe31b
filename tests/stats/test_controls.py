"""Controls: constants of the frequent labels, a seeded random judge, the majority vote."""

from collections import Counter

import numpy as np
import pytest

from alt_test_oracle import alt_test_oracle
from voirdire import alt_test, stats
from voirdire.stats.controls import MAX_CONSTANTS, make_controls


def by_kind(result):
    return {control.control: control for control in result.controls}


def panel(seed=0, n_items=80, n_annotators=4, labels="abcd", shares=(0.55, 0.25, 0.15, 0.05)):
    rng = np.random.default_rng(seed)
    truth = rng.choice(list(labels), n_items, p=shares)
    humans = {}
    for k in range(n_annotators):
        own = np.where(rng.random(n_items) < 0.3, rng.choice(list(labels), n_items), truth)
        humans[f"h{k}"] = dict(enumerate(own.tolist()))
    return dict(enumerate(truth.tolist())), humans


def clear_panel():
    """A panel of five in which no two labels share the majority, with its votes."""
    judge, humans = panel(n_annotators=5)
    for item in judge:
        counts = Counter(answers[item] for answers in humans.values()).most_common()
        if len(counts) > 1 and counts[0][1] == counts[1][1]:
            for name in ("h0", "h1", "h2"):
                humans[name][item] = counts[0][0]
    votes = {
        item: Counter(answers[item] for answers in humans.values()).most_common(1)[0][0]
        for item in judge
    }
    return judge, humans, votes


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_the_constant_is_the_best_of_all_constants(epsilon):
    judge, humans = panel()

    result = alt_test(judge, humans, epsilon=epsilon)

    oracles = {
        label: alt_test_oracle(dict.fromkeys(judge, label), humans, epsilon=epsilon)
        for label in "abcd"
    }
    best = max(
        oracles,
        key=lambda label: (
            oracles[label]["winning_rate"],
            oracles[label]["advantage_probability"],
        ),
    )
    control = by_kind(result)["constant"]
    assert control.label == best
    assert control.winning_rate == oracles[best]["winning_rate"]
    assert control.advantage_probability == pytest.approx(oracles[best]["advantage_probability"])
    assert control.passed == (control.winning_rate >= 0.5)


def test_the_best_constant_is_not_always_the_most_frequent_number():
    # Half say 1, half say 5; the middle is never the closest label to anyone.
    humans = {
        "a": {i: 1 if i % 2 else 5 for i in range(60)},
        "b": {i: 5 if i % 3 else 1 for i in range(60)},
        "c": {i: 1 if i % 5 else 5 for i in range(60)},
    }

    result = alt_test(humans["a"], humans, alignment="neg_rmse", epsilon=0.3)

    candidates = (1, 5, np.mean([x for a in humans.values() for x in a.values()]))
    oracles = {
        value: alt_test_oracle(
            dict.fromkeys(range(60), float(value)), humans, alignment="neg_rmse", epsilon=0.3
        )
        for value in candidates
    }
    rate, advantage = max((o["winning_rate"], o["advantage_probability"]) for o in oracles.values())
    control = by_kind(result)["constant"]
    assert (control.winning_rate, control.advantage_probability) == pytest.approx((rate, advantage))


@pytest.mark.parametrize("alignment", ["accuracy", "jaccard", "hamming"])
def test_the_majority_vote_is_the_mode(alignment):
    judge, humans, votes = clear_panel()
    options = {}
    if alignment != "accuracy":
        options["labels"] = list("abcd")
        humans = {k: {i: {x} for i, x in a.items()} for k, a in humans.items()}
        judge, votes = ({i: {x} for i, x in a.items()} for a in (judge, votes))

    result = alt_test(judge, humans, alignment=alignment, **options)

    expected = alt_test_oracle(votes, humans, alignment=alignment, **options)
    control = by_kind(result)["majority_vote"]
    assert control.winning_rate == expected["winning_rate"]
    assert control.advantage_probability == pytest.approx(expected["advantage_probability"])
    assert control.label is None


def test_the_majority_vote_of_numbers_is_the_closest_label():
    rng = np.random.default_rng(6)
    scores = rng.integers(1, 6, (70, 4))
    humans = {f"h{k}": dict(enumerate(scores[:, k].tolist())) for k in range(4)}
    votes = {
        i: min(row, key=lambda own: (sum((own - h) ** 2 for h in row), row.index(own)))
        for i, row in enumerate(scores.tolist())
    }

    result = alt_test(votes, humans, alignment="neg_rmse")

    control = by_kind(result)["majority_vote"]
    assert control.winning_rate == result.winning_rate
    assert control.advantage_probability == result.advantage_probability


def test_the_majority_vote_does_not_know_the_gold_labels():
    gold, humans, votes = clear_panel()

    result = alt_test(gold, humans, gold=gold, epsilon=0.0)

    expected = alt_test_oracle(votes, humans, gold=gold, epsilon=0.0)
    control = by_kind(result)["majority_vote"]
    assert expected["advantage_probability"] < 1
    assert control.advantage_probability == pytest.approx(expected["advantage_probability"])
    assert control.winning_rate == expected["winning_rate"]


def test_a_seed_repeats_the_random_control():
    judge, humans = panel()

    first, again, other = (by_kind(alt_test(judge, humans, seed=s))["random"] for s in (1, 1, 2))

    assert first == again
    assert first != other


def test_the_random_control_draws_from_all_labels():
    humans = np.random.default_rng(0).choice(3, (4_000, 3), p=[0.6, 0.3, 0.1])
    humans[:, 0] = np.where(np.arange(4_000) % 2, -1, humans[:, 0])

    random = next(c for c in make_controls(humans, seed=4) if c.control == "random")

    shares = np.bincount(random.answers, minlength=3) / 4_000
    # Three standard errors of a share: 3 * sqrt(.6 * .4 / 4000) = .023, and again for the panel.
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=0.04)


@pytest.mark.parametrize("n_annotators", [2, 4, 5, 10])
def test_in_large_data_controls_know_all_annotators(n_annotators):
    # More labels than are sampled: the first annotator says 0 only, everyone else 1.
    n_items = 800_000 // n_annotators
    humans = np.ones((n_items, n_annotators), dtype=np.int8)
    humans[:, 0] = 0

    controls = make_controls(humans, seed=0)

    constants = {int(c.constant) for c in controls if c.control == "constant"}
    random = next(c for c in controls if c.control == "random")
    assert constants == {0, 1}
    assert np.mean(random.answers == 0) == pytest.approx(1 / n_annotators, abs=0.02)


def test_in_large_data_controls_survive_a_sparse_first_annotator():
    humans = np.zeros((400_000, 2), dtype=np.int8)
    humans[:, 0] = -1
    humans[:100, 0] = 0

    kinds = {control.control for control in make_controls(humans, seed=0)}

    assert kinds == {"constant", "random", "majority_vote"}


def test_constants_are_the_most_frequent_labels():
    humans = np.repeat(np.arange(30), np.arange(1, 31)).reshape(-1, 1)

    constants = [c.constant for c in make_controls(humans, seed=0) if c.control == "constant"]

    assert constants == list(range(29, 29 - MAX_CONSTANTS, -1))


def test_numbers_get_their_mean_and_median_as_constants():
    humans = np.array([[1.0, 2.0], [4.0, np.nan], [9.0, 4.0]])

    constants = [c.constant for c in make_controls(humans, seed=0) if c.control == "constant"]

    assert sorted(constants) == [1, 2, 4, 9]  # mean and median are both 4
    humans[1, 1] = 10.0
    constants = [c.constant for c in make_controls(humans, seed=0) if c.control == "constant"]
    assert sorted(constants) == [1, 2, 4, 5, 9, 10]  # mean 30 / 6 and median 4


def test_without_labels_there_are_no_controls():
    assert make_controls(np.full((3, 2), -1), seed=0) == []


def test_controls_can_be_left_out():
    judge, humans = panel()

    assert alt_test(judge, humans, controls=False).controls == ()


def test_controls_are_the_same_for_every_judge_and_follow_epsilon():
    judge, humans = panel()
    rows = alt_test(judges={"x": judge, "y": humans["h0"]}, humans=humans, epsilon=[0.0, 0.3])

    for number, epsilon in enumerate((0.0, 0.3)):
        alone = alt_test(judge, humans, epsilon=epsilon).controls
        assert rows["x"][number].controls == rows["y"][number].controls == alone


def test_a_constant_is_named_in_full():
    long = "x" * 1_000_000
    humans = {name: {i: long if i % 10 else "b" for i in range(40)} for name in "abc"}
    sets = {name: {i: {"b", "<a>"} for i in range(40)} for name in "abc"}

    control = by_kind(alt_test(humans["a"], humans))["constant"]
    shown = by_kind(alt_test(sets["a"], sets, alignment="jaccard"))["constant"]

    # Records are lossless; it is tables that shorten.
    assert control.label == long
    assert shown.label == "{<a>, b}"


@pytest.mark.parametrize("seed", [12, 15, 45])
def test_among_constants_the_winning_rate_counts_before_the_advantage(seed):
    # Panels found by search, in which the two orders differ.
    rng = np.random.default_rng(seed)
    humans = {
        f"h{k}": dict(enumerate(rng.choice(list("abc"), 40, p=rng.dirichlet([1, 1, 1])).tolist()))
        for k in range(5)
    }

    control = by_kind(alt_test(humans["h0"], humans, epsilon=0.1))["constant"]

    oracles = [
        alt_test_oracle(dict.fromkeys(range(40), label), humans, epsilon=0.1) for label in "abc"
    ]
    best = max((o["winning_rate"], o["advantage_probability"]) for o in oracles)
    assert best[1] < max(o["advantage_probability"] for o in oracles)
    assert (control.winning_rate, control.advantage_probability) == pytest.approx(best)


def test_arrays_name_constants_by_their_code():
    humans = np.zeros((40, 3), dtype=int)
    humans[::4] = 1

    [result] = stats.alt_test(humans[:, 0], humans)

    assert by_kind(result)["constant"].label == "0"
