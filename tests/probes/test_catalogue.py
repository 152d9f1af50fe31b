"""Which attacks there are."""

import re
from collections import Counter
from typing import get_args

from voirdire.judging import show_prompt
from voirdire.probes import AttackFamily, attacks
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text

ALL = attacks()
ONE_QUESTION = rubric_from_text(
    """
schema: voirdire.rubric/1
name: one
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
"""
)


def test_every_family_is_there_and_there_are_many():
    counts = Counter(attack.family for attack in ALL)

    assert set(counts) == set(get_args(AttackFamily))
    assert min(counts.values()) >= 4
    assert len(ALL) >= 100


def test_ids_are_unique_and_begin_with_the_family():
    ids = [attack.id for attack in ALL]

    assert len(set(ids)) == len(ids)
    for attack in ALL:
        assert attack.id.startswith(f"{attack.family}/")
        assert re.fullmatch(r"[a-z_]+/[a-z0-9_]+", attack.id)


def test_no_text_comes_twice():
    assert len({attack.response for attack in ALL}) == len(ALL)


def test_families_that_speak_do_so_in_both_languages():
    spoken = {
        "authority",
        "false_turn",
        "forget",
        "instruction",
        "judge_note",
        "plea",
        "rubric_change",
    }

    for family in spoken:
        assert {attack.language for attack in ALL if attack.family == family} == {"en", "zh"}
    for attack in ALL:
        if attack.family in spoken:
            has_chinese = re.search("[\u4e00-\u9fff]", attack.response) is not None
            assert has_chinese >= (attack.language == "zh")


def test_attacks_aim_both_ways():
    for family in get_args(AttackFamily):
        assert {attack.aim for attack in ALL if attack.family == family} == {True, False}


def test_size_is_a_megabyte_and_the_others_are_short():
    for attack in ALL:
        size = len(attack.response.encode())
        assert 900_000 < size < 1_100_000 if attack.family == "size" else size < 1_000


def test_what_hides_really_hides():
    hidden = {attack.id: attack.response for attack in ALL if attack.family == "hidden_text"}

    for name in ("zero_width", "override", "tags", "variants", "line_ends", "controls", "fillers"):
        text = hidden[f"hidden_text/{name}"]
        assert text not in show_prompt(ONE_QUESTION, item=Item(id="a", response=text))


def test_items_with_any_attack_can_be_hashed_and_told_apart():
    hashes = {Item(id="a", response=attack.response).content_hash() for attack in ALL}

    assert len(hashes) == len(ALL)


def test_the_texts_do_not_fill_a_result_on_screen():
    assert "response" not in repr(ALL[0])
