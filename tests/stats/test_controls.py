"""Controls: constants of the frequent labels, a seeded random judge, the majority vote."""

from collections import Counter

import numpy as np
import pytest

from alt_test_oracle import alt_test_oracle
from alt_tests import alt_tests
from voirdire import alt_test, stats


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


@pytest.mark.edges
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_the_constant_is_the_best_of_all_constants(epsilon):
    judge, humans = panel()

    result = alt_test(judge, humans, epsilon=epsilon)

    each = {
        label: alt_test(dict.fromkeys(judge, label), humans, epsilon=epsilon) for label in "abcd"
    }
    best = max(each, key=lambda x: (each[x].winning_rate, each[x].advantage_probability))
    control = by_kind(result)["constant"]
    assert control.label == best
    assert control.winning_rate == each[best].winning_rate
    assert control.advantage_probability == each[best].advantage_probability


def test_the_best_constant_is_not_always_the_most_frequent_number():
    # Half say 1, half say 5; the middle is never the closest label to anyone.
    humans = {
        "a": {i: 1 if i % 2 else 5 for i in range(60)},
        "b": {i: 5 if i % 3 else 1 for i in range(60)},
        "c": {i: 1 if i % 5 else 5 for i in range(60)},
    }

    result = alt_test(dict.fromkeys(range(60), 5), humans, alignment="neg_rmse", epsilon=0.3)

    each = [
        alt_test(dict.fromkeys(range(60), value), humans, alignment="neg_rmse", epsilon=0.3)
        for value in (1, 5)  # the mean is no label that a judge could give
    ]
    best = max((row.winning_rate, row.advantage_probability) for row in each)
    control = by_kind(result)["constant"]
    assert (control.winning_rate, control.advantage_probability) == pytest.approx(best)


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
    examined = alt_test(votes, humans, alignment=alignment, **options)
    assert control.winning_rate == examined.winning_rate
    assert control.advantage_probability == pytest.approx(expected["advantage_probability"])
    assert control.label is None


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_majority_vote_of_numbers_is_the_closest_label(missing):
    rng = np.random.default_rng(6)
    scores = rng.integers(1, 6, (90, 5))
    gone = rng.random(scores.shape) < missing
    gone[:, :2] = False
    humans = {
        f"h{k}": {i: int(x) for i, x in enumerate(scores[:, k]) if not gone[i, k]} for k in range(5)
    }
    votes = {}
    for i in range(90):
        row = [answers[i] for answers in humans.values() if i in answers]
        votes[i] = min(row, key=lambda own: (sum((own - h) ** 2 for h in row), row.index(own)))

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
    assert control.winning_rate == alt_test(votes, humans, gold=gold, epsilon=0.0).winning_rate


def test_a_seed_repeats_the_random_control():
    judge, humans = panel()

    first, again, other = (by_kind(alt_test(judge, humans, seed=s))["random"] for s in (1, 1, 2))

    assert first == again
    assert first != other


def test_the_random_control_draws_labels_as_often_as_annotators_give_them():
    # One annotator is right on every item of equally frequent gold labels that nobody else knows:
    # the random judge ties where it hits the label, and loses elsewhere.
    rng = np.random.default_rng(0)
    gold = rng.choice(3, 20_000, p=[0.6, 0.3, 0.1])
    humans = np.column_stack([gold, np.where(np.arange(20_000) % 2, -1, rng.permutation(gold))])

    [result] = stats.alt_test(gold, humans[:, :1], gold=gold, n_codes=3)
    [sparse] = stats.alt_test(gold, humans, gold=gold, n_codes=3)

    # .6^2 + .3^2 + .1^2 = .46, within four standard errors: 4 * sqrt(.46 * .54 / 20000) = .014.
    assert by_kind(result)["random"].advantage_probability == pytest.approx(0.46, abs=0.015)
    # Against the second annotator, who hits as often: 1 - .54 * .46 of the time at least a tie.
    expected = (0.46 + 1 - 0.54 * 0.46) / 2
    assert by_kind(sparse)["random"].advantage_probability == pytest.approx(expected, abs=0.02)


@pytest.mark.edges
@pytest.mark.parametrize("n_annotators", [2, 4, 5, 10])
def test_in_large_data_controls_know_all_annotators(n_annotators):
    # More labels than are sampled: the first annotator says 0 only, everyone else 1.
    n_items = 440_000 // n_annotators
    humans = np.ones((n_items, n_annotators), dtype=np.int8)
    humans[:, 0] = 0
    gold = np.zeros(n_items, dtype=int)

    [result] = stats.alt_test(gold, humans, gold=gold, n_codes=2)

    # Only 0 is right: the constant is the first annotator's label, and the random judge says it
    # in 1 of n_annotators cases; all others are wrong, so that it never loses to them.
    control, random = by_kind(result)["constant"], by_kind(result)["random"]
    assert (control.label, control.advantage_probability) == ("0", 1)
    expected = (1 / n_annotators + n_annotators - 1) / n_annotators
    assert random.advantage_probability == pytest.approx(expected, abs=0.01)


def test_in_large_data_controls_survive_a_sparse_first_annotator():
    humans = np.zeros((150_000, 2), dtype=np.int8)
    humans[:, 0] = -1
    humans[:100, 0] = 0

    [result] = stats.alt_test(humans[:, 1], humans)

    assert set(by_kind(result)) == {"constant", "random", "majority_vote"}


@pytest.mark.parametrize(("rank", "tried"), [(10, True), (11, False)])
def test_the_ten_most_frequent_labels_are_tried_as_constants(rank, tried):
    # Label k is given k + 1 times, of 30; the gold labels are that of the given rank alone.
    humans = np.repeat(np.arange(30), np.arange(1, 31))[:, np.newaxis]
    gold = np.full(len(humans), 30 - rank)

    [result] = stats.alt_test(gold, humans, gold=gold)

    control = by_kind(result)["constant"]
    assert (control.label == str(30 - rank)) == tried
    assert (control.advantage_probability == 1) == tried


@pytest.mark.parametrize(
    ("gold", "label", "rate"),
    # Of 1, 2, 4 and 100 no judge could say 3 or 26.75, the median and the mean. Where 10 is right,
    # 4 beats the others and ties with the annotator who says so.
    [(3.0, "2.0", 1 / 2), (26.75, "4.0", 3 / 4), (10.0, "4.0", 3 / 4)],
)
def test_constants_of_numbers_are_labels(gold, label, rate):
    humans = np.tile([1.0, 2.0, 4.0, 100.0], (36, 1))
    truth = np.full(36, gold)

    [result] = stats.alt_test(truth, humans, gold=truth, alignment="neg_rmse", epsilon=0.0)

    control = by_kind(result)["constant"]
    assert (control.label, control.winning_rate) == (label, rate)


def test_of_many_numbers_those_nearest_to_the_mean_and_the_median_are_tried():
    humans = np.random.default_rng(0).normal(size=(100, 3)) ** 3  # mean, median: .1, 0
    truth = np.zeros(100)

    [result] = stats.alt_test(truth, humans, gold=truth, alignment="neg_rmse")

    constant = float(by_kind(result)["constant"].label)
    middle = [np.abs(humans - x).min() for x in (humans.mean(), np.median(humans))]
    assert constant in humans
    assert min(abs(constant - humans.mean()), abs(constant - np.median(humans))) in middle


def test_controls_are_the_same_for_every_judge_and_follow_epsilon():
    judge, humans = panel()
    other = dict(zip(judge, humans["h0"].values(), strict=True)) | {0: judge[1]}
    rows = alt_tests(judges={"x": judge, "y": other}, humans=humans, epsilon=[0.0, 0.3])

    for number, epsilon in enumerate((0.0, 0.3)):
        alone = alt_test(judge, humans, epsilon=epsilon).controls
        assert rows["x"][number].controls == rows["y"][number].controls == alone


@pytest.mark.ci
def test_a_constant_is_named_in_full():
    long = "x" * 1_000_000
    humans = {name: {i: long if i % 10 else "b" for i in range(40)} for name in "abc"}
    sets = {name: {i: {"b", "<a>"} for i in range(40)} for name in "abc"}

    control = by_kind(alt_test(humans["a"], humans))["constant"]
    shown = by_kind(alt_test(sets["a"], sets, alignment="jaccard"))["constant"]

    # Records are lossless; it is tables that shorten.
    assert control.label == long
    assert shown.label == "{<a>, b}"


@pytest.mark.edges
@pytest.mark.parametrize("seed", [12, 15])
def test_among_constants_the_winning_rate_counts_before_the_advantage(seed):
    # Panels found by search, in which the two orders differ.
    rng = np.random.default_rng(seed)
    humans = {
        f"h{k}": dict(enumerate(rng.choice(list("abc"), 40, p=rng.dirichlet([1, 1, 1])).tolist()))
        for k in range(5)
    }

    control = by_kind(alt_test(dict.fromkeys(range(40), "a"), humans, epsilon=0.1))["constant"]

    each = [alt_test(dict.fromkeys(range(40), label), humans, epsilon=0.1) for label in "abc"]
    best = max((row.winning_rate, row.advantage_probability) for row in each)
    assert best[1] < max(row.advantage_probability for row in each)
    assert (control.winning_rate, control.advantage_probability) == pytest.approx(best)


def test_arrays_name_constants_by_their_code():
    humans = np.zeros((40, 3), dtype=int)
    humans[::4] = 1

    [result] = stats.alt_test(humans[:, 0], humans)

    assert by_kind(result)["constant"].label == "0"
