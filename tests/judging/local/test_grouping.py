"""Which items stay together when folds are made: the refusal of too many folds counts them."""

import re

import pytest

from voirdire.errors import InputError
from voirdire.judging import distill_judge
from voirdire.records import Item, Message

LONG = "Could you please tell me how to look after a lemon tree on a cold balcony in winter?"


def item(name, prompt="", group=None, cluster=None):
    asked = (Message(role="user", content=prompt),) if prompt else ()
    return Item(id=name, prompt=asked, response=name, group=group, cluster=cluster)


def n_groups(*items, groups=None):
    labels = [[place % 2] for place in range(len(items))]
    with pytest.raises(InputError, match="`groups` must be at least as many as folds") as caught:
        distill_judge(items, labels, questions=["x"], n_folds=50, groups=groups)
    return int(re.search(r"got (\d+) for 50 folds", str(caught.value))[1])


def test_groups_clusters_and_equal_prompts_stay_together():
    first = [item("0", "Where is it?", group="g"), item("1", "When was it?", group="g")]
    second = [item("2", "Who was it?", cluster="c"), item("3", group="g", cluster="c")]
    alone = [item("4"), item("5")]

    assert n_groups(*first) == 1
    assert n_groups(*first, item("x", "When was it?")) == 1  # the prompt of one of them
    assert n_groups(*second) == 1  # a cluster comes before a group
    assert n_groups(*alone) == 2
    assert n_groups(*first, *second, *alone) == 4


def test_nearly_the_same_prompts_stay_together_and_a_few_shared_words_do_not_join():
    other = "Could you please tell me who built the bridge at Mostar?"

    assert n_groups(item("0", LONG), item("1", LONG.replace("lemon", "fig"))) == 1
    assert n_groups(item("0", LONG), item("1", other)) == 2


def test_given_groups_replace_those_of_the_items():
    items = [item("0", group="g"), item("1", group="g"), item("2", group="h")]

    assert n_groups(*items) == 2
    assert n_groups(*items, groups=["a", "b", "c"]) == 3
    assert n_groups(*items, groups=["a", "a", "a"]) == 1
