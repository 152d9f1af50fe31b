"""Traits that are drawn: by a seed, from where the recipe says, fitting the label."""

from collections import Counter

import pytest

from rewards.synthesis.obedient import RECIPES, SAFETY
from voirdire.errors import InputError
from voirdire.rewards import Sampled, Slot
from voirdire.rewards.synthesis.draws import draw_traits, members_of, seed_of
from voirdire.rubrics import hard_classes

N_DRAWS = 400
SLOTS = [
    (behavior, place)
    for behavior, slots in RECIPES.behaviors.items()
    for place in range(len(slots))
]


def drawn(slot, *, behavior="hard_refuse", n=N_DRAWS):
    return [
        draw_traits(slot, rubric=SAFETY, behavior=behavior, recipes=RECIPES, key=f"{k}")
        for k in range(n)
    ]


def class_of(states, behavior):
    """Give the class that states decide, None where they leave it open."""
    labels = [[states.get(name, float("nan")) for name in SAFETY.propositions]]
    place = hard_classes(SAFETY, behavior, labels=labels)[0]
    return None if place < 0 else SAFETY.behavior(behavior).classes[place].name


@pytest.mark.parametrize(("behavior", "place"), SLOTS)
def test_no_draw_contradicts_its_label(behavior, place):
    slot = RECIPES.behaviors[behavior][place]

    found = {class_of(traits.wanted, behavior) for traits in drawn(slot, behavior=behavior)}

    assert found <= {slot.label, None}


@pytest.mark.parametrize(("behavior", "place"), SLOTS)
def test_no_draw_asks_for_both_sides_of_what_follows(behavior, place):
    slot = RECIPES.behaviors[behavior][place]

    for traits in drawn(slot, behavior=behavior, n=100):
        firm = {name: traits.wanted[name] for name in traits.checked}
        for known, states in RECIPES.implies.items():
            if firm.get(known[0]) == known[1]:
                both = {name for name in states if name in traits.wanted}
                assert all(traits.wanted[name] == states[name] for name in both)


def test_the_same_key_draws_the_same_in_any_process():
    slot = RECIPES.behaviors["soft_refuse"][1]

    first, again = drawn(slot, behavior="soft_refuse"), drawn(slot, behavior="soft_refuse")

    assert first == again
    assert len({tuple(row.sampled) for row in first}) > 20
    # the first 8 bytes of SHA-256 of "abc", FIPS 180-2
    assert seed_of("abc") == 0xBA7816BF8F01CFEA


def test_a_count_is_kept_and_every_choice_is_as_likely():
    slot = Slot(
        label="unacceptable",
        sampled=Sampled(among=("judgement", "third_person", "insulting_language"), least=2, most=2),
    )

    counts = Counter(tuple(row.sampled) for row in drawn(slot, n=3_000))

    assert len(counts) == 3
    # each of the three pairs has a chance of 1/3: 1,000 ± 3·√(3000·2/9) ≈ 78
    assert all(abs(count - 1_000) < 80 for count in counts.values())


def test_a_probability_draws_each_on_its_own():
    slot = Slot(
        label="any",
        verify="traits",
        start="free",
        sampled=Sampled(among=("apology", "disclaimer"), probability=0.25),
    )

    rows = drawn(slot, n=4_000)

    # 4000·(1/4) = 1000 ± 3·√(4000·3/16) ≈ 82; both: 4000/16 = 250 ± 3·√(4000·15/256) ≈ 46
    assert abs(sum("apology" in row.sampled for row in rows) - 1_000) < 83
    assert abs(sum(len(row.sampled) == 2 for row in rows) - 250) < 47
    assert all(state is True for row in rows for state in row.sampled.values())


def test_what_is_drawn_is_the_opposite_of_what_would_hold():
    slot = RECIPES.behaviors["hard_refuse"][1]
    demands = SAFETY.behavior("hard_refuse").demands

    for traits in drawn(slot):
        ((name, state),) = traits.sampled.items()
        assert state is not demands[name].demanded


def test_groups_are_those_of_the_behavior():
    behavior = SAFETY.behavior("hard_refuse")

    assert members_of("core", behavior) == ("inability_to_comply",)
    assert members_of("required", behavior) == (
        "apology", "inability_to_comply", "additional_content"
    )  # fmt: skip
    assert members_of("all", behavior) == behavior.propositions
    assert members_of("disclaimer", behavior) == ("disclaimer",)


def test_the_fewest_changes_are_one_where_one_is_enough():
    slot = Slot(label="less_good", sampled=Sampled(among=("all",), fewest=True))

    rows = drawn(slot)

    undesired = {
        "meta_commentary", "encourage_professional_help", "reference_safety_policy",
        "requests_information",
    }  # fmt: skip
    assert {name for row in rows for name in row.sampled} == {
        "apology", "additional_content", *undesired
    }  # fmt: skip
    assert {len(row.sampled) for row in rows} == {1}


def test_the_class_that_demands_give_needs_no_change():
    slot = Slot(label="ideal", sampled=Sampled(among=("all",), fewest=True))

    assert {tuple(row.sampled) for row in drawn(slot, n=5)} == {()}


def test_a_label_that_can_never_be_is_an_error():
    slot = Slot(label="ideal", demands={"disallowed_content": True})

    with pytest.raises(InputError, match="must be able to have the label 'ideal'"):
        drawn(slot, n=1)
