"""Changes for the worse."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.probes import degradations
from voirdire.records import Item

ALL = {row.id: row for row in degradations()}
ENGLISH = (
    "1. Put 3 eggs into water from Lake Erie. Wait for 8.5 minutes.\n"
    "2. Write to John Smith in York. I'm told that it was so in 2019."
)
CHINESE = (
    "先把水烧开。再把3个鸡蛋放进去，煮八分钟。做法见《家常菜》和《厨房手册》。最后用冷水冲一下。"
)


def degraded(name, response, item_id="a"):
    made = ALL[name].change(Item(id=item_id, response=response))
    return None if made is None else made.response


def test_ids_are_unique_and_summaries_end_a_sentence():
    assert list(ALL) == [
        "truncated_60",
        "truncated_30",
        "shuffled",
        "shuffled_words",
        "without_numbers",
        "corrupted",
        "repeated",
        "empty",
    ]
    assert len(degradations()) == len(ALL)
    assert all(not row.summary.endswith(".") for row in ALL.values())


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("response", [ENGLISH, CHINESE])
def test_a_worse_item_has_an_id_of_its_own_and_the_cluster_of_the_item(name, response):
    made = ALL[name].change(Item(id="a", response=response, group="g", metadata={"k": 1}))

    assert made == Item(
        id=f"a+{name}", response=made.response, group="g", metadata={"k": 1}, cluster="a"
    )
    assert made.response != response
    assert made == next(row for row in degradations() if row.id == name).change(
        Item(id="a", response=response, group="g", metadata={"k": 1})
    )


@given(st.sampled_from(sorted(ALL)), st.text(max_size=200))
def test_any_text_becomes_another_or_none(name, response):
    made = degraded(name, response)

    assert made is None or made.split() != response.split()
    if not response.strip():
        assert made is None


@pytest.mark.parametrize(("name", "share"), [("truncated_60", 0.6), ("truncated_30", 0.3)])
@pytest.mark.parametrize("response", [ENGLISH, CHINESE])
def test_it_is_cut_inside_a_sentence(name, share, response):
    cut = degraded(name, response)

    assert response.startswith(cut)
    assert cut[-1].isalnum()
    assert share - 0.2 < len(cut) / len(response) <= share


def test_a_cut_at_the_end_of_a_sentence_goes_further_back():
    # 60% of the 40 characters end with the first sentence.
    response = "One two three four five. Six seven eight"

    assert response[:24].endswith(".")
    assert degraded("truncated_60", response) == "One two three four"


def test_no_sentence_follows_the_one_that_it_followed():
    sentences = [f"This is sentence {letter}." for letter in "abcdef"]
    for number in range(20):
        shuffled = degraded("shuffled", " ".join(sentences), str(number))
        order = re.findall(r"sentence (\w)", shuffled)
        assert Counter(order) == Counter("abcdef")
        assert not set(pairwise(order)) & set(pairwise("abcdef"))


def test_words_are_shuffled_and_in_chinese_characters():
    english, chinese = degraded("shuffled_words", ENGLISH), degraded("shuffled_words", CHINESE)

    assert Counter(english.split()) == Counter(ENGLISH.split())
    assert Counter(chinese) == Counter(CHINESE)


def test_numbers_and_names_are_dropped_and_those_of_a_list_stay():
    assert degraded("without_numbers", ENGLISH) == (
        "1. Put eggs into water from. Wait for minutes.\n"
        "2. Write to in. I'm told that it was so in."
    )
    assert degraded("without_numbers", CHINESE) == (
        "先把水烧开。再把个鸡蛋放进去，煮分钟。做法见和。最后用冷水冲一下。"
    )


def test_numbers_are_changed_and_names_swapped_among_themselves():
    for number in range(8):
        corrupted = degraded("corrupted", ENGLISH, str(number))
        names = re.findall("Lake Erie|John Smith|York", corrupted)
        assert sorted(names) == ["John Smith", "Lake Erie", "York"]
        assert all(
            new != old for new, old in zip(names, ["Lake Erie", "John Smith", "York"], strict=True)
        )
        assert re.search(r"^1\. Put [124-9] eggs", corrupted)
        assert re.search(r"for [1-79]\.[1-46-9] minutes", corrupted)
        assert re.search(r"in [13-9]0[2-9][1-8]\.$", corrupted)

    chinese = degraded("corrupted", CHINESE)
    assert "《厨房手册》和《家常菜》" in chinese
    assert "煮八分钟" not in chinese
    assert "3个" not in chinese


@pytest.mark.parametrize(
    "response",
    ["I can't help with that.", "1. Wait.\n2. Stir.", "今天天气不错。", "So I'm sure that I am."],
)
def test_where_there_are_no_numbers_and_names_none_are_dropped(response):
    assert degraded("without_numbers", response) is None
    assert degraded("corrupted", response) is None


def test_one_name_alone_cannot_be_swapped():
    assert degraded("corrupted", "He went to York and liked York.") is None
    assert degraded("without_numbers", "He went to York and liked York.") == "He went to and liked."


def test_one_sentence_stands_in_place_of_all():
    sentences = ["Boil the water.", "Add the egg.", "Wait a while."]

    repeated = degraded("repeated", " ".join(sentences))

    assert repeated in {" ".join([sentence] * 3) for sentence in sentences}
    assert degraded("repeated", "Only one.") is None


def test_short_responses_are_neither_cut_nor_shuffled():
    for name in ("truncated_60", "truncated_30", "shuffled", "shuffled_words"):
        assert degraded(name, "Yes, of course.") is None
        assert degraded(name, "当然可以。") is None


def test_everything_but_emptiness_can_be_emptied():
    assert degraded("empty", "No.") == ""
    assert degraded("empty", " ") is None
