"""Labels against orders, and parts of comparisons."""

import numpy as np

from voirdire.rewards import LabelOrder, comparisons_of
from voirdire.rewards.comparisons.data_hash import hash_of_comparisons
from voirdire.rewards.comparisons.labels import checked_labels, kept_items

ORDER = LabelOrder.of("good > bad")


def rows(labels, *, prompt="Hi", behavior="comply"):
    return [
        {"id": f"{prompt}{k}", "prompt": prompt, "response": f"{k}", "label": label,
         "behavior": behavior, "base_reward": k}
        for k, label in enumerate(labels)
    ]  # fmt: skip


def test_nothing_wrong_changes_nothing():
    data = comparisons_of(rows(["good", "bad", None]))

    assert checked_labels(data, {"comply": ORDER}) is data


def test_an_unknown_label_is_listed():
    data = comparisons_of(rows(["god", "good", "bad"]) + rows(["god", "good"], prompt="Lo"))

    found = checked_labels(data, {"comply": ORDER})

    assert [item.id for item in found.items] == ["Hi1", "Hi2", "Lo1"]
    assert found.prompts.tolist() == [0, 0, 1]
    assert found.base_rewards.tolist() == [1.0, 2.0, 1.0]
    assert [(drop.item, drop.value) for drop in found.dropped] == [("Hi0", "god"), ("Lo0", "god")]
    assert found.dropped[0].reason == "unknown label: must be one of good, bad"
    assert found.data_hash != data.data_hash


def test_a_label_of_another_behavior_is_left_alone():
    data = comparisons_of(rows(["god", "good"], behavior="refuse"))

    assert checked_labels(data, {"comply": ORDER}) is data


def test_a_completion_in_a_declared_pair_loses_its_label_only():
    pair = {"prompt": "Hi", "chosen": "0", "rejected": "9", "behavior": "comply"}
    data = comparisons_of([*rows(["god", "good"]), pair])

    found = checked_labels(data, {"comply": ORDER})

    assert found.labels == (None, "good", None)
    assert (found.better.tolist(), found.worse.tolist()) == ([0], [2])
    assert [drop.item for drop in found.dropped] == ["Hi0"]


def test_a_part_keeps_the_pairs_that_lie_in_it():
    pair = {"chosen": "x", "rejected": "y"}
    pairs = [pair | {"prompt": "a", "margin": 1}, pair | {"prompt": "b", "margin": 2}]
    data = comparisons_of(pairs)

    part = kept_items(data, np.array([True, False, True, True]))

    assert part.prompt_names == (data.prompt_names[0], data.prompt_names[1])
    assert part.prompts.tolist() == [0, 1, 1]
    assert (part.better.tolist(), part.worse.tolist(), part.margins.tolist()) == ([1], [2], [2.0])
    assert part.data_hash == hash_of_comparisons(part)
