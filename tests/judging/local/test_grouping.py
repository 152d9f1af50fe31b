"""Which items stay together when folds are made."""

from voirdire.judging.local.grouping import group_items
from voirdire.records import Item, Message

LONG = "Could you please tell me how to look after a lemon tree on a cold balcony in winter?"


def item(name, prompt="", group=None, cluster=None):
    asked = (Message(role="user", content=prompt),) if prompt else ()
    return Item(id=name, prompt=asked, response=name, group=group, cluster=cluster)


def test_groups_clusters_and_equal_prompts_stay_together():
    items = [
        item("0", "Where is it?", group="g"),
        item("1", "When was it?", group="g"),
        item("2", "When was it?"),
        item("3", "Who was it?", cluster="c"),
        item("4", group="g", cluster="c"),
        item("5"),
        item("6"),
    ]

    codes = group_items(items).tolist()

    assert codes[0] == codes[1] == codes[2]
    assert codes[3] == codes[4]
    assert len({codes[0], codes[3], codes[5], codes[6]}) == 4


def test_nearly_the_same_prompts_stay_together():
    items = [item("0", LONG), item("1", LONG.replace("lemon", "fig")), item("2", "x " + LONG[:30])]

    codes = group_items(items).tolist()

    assert codes[0] == codes[1]


def test_prompts_that_share_a_few_words_are_parted():
    items = [item("0", LONG), item("1", "Could you please tell me who built the bridge at Mostar?")]

    codes = group_items(items).tolist()

    assert codes[0] != codes[1]


def test_given_groups_replace_those_of_the_items():
    items = [item("0", group="g"), item("1", group="g"), item("2", group="h")]

    codes = group_items(items, ["a", "b", "b"]).tolist()

    assert codes[0] != codes[1] == codes[2]
