"""Traits that are drawn: by a seed, from where the recipe says, fitting the label."""

from collections import Counter

import pytest

from rewards.synthesis.obedient import RECIPES, SAFETY, judge, recipe_of, writer
from voirdire.errors import InputError
from voirdire.rewards import Sampled, Slot, synthesize

SLOTS = [
    (behavior, place)
    for behavior, slots in RECIPES.behaviors.items()
    for place in range(len(slots))
]


def drawn(slot, *, behavior="hard_refuse", n=100):
    """Have a writer that obeys write one completion for each of many prompts."""
    prompts = [{"id": f"{k}", "prompt": f"p {k}", "behavior": behavior} for k in range(n)]
    slot = slot.model_copy(update={"count": 1})
    recipes = recipe_of(slot, behavior=behavior)
    made = synthesize(prompts, model=writer(), judge=judge(), rubric=SAFETY, recipes=recipes)
    assert made.rejected == ()  # each has the label that it is for, and every trait
    return made.rows


@pytest.mark.edges
@pytest.mark.parametrize(("behavior", "place"), SLOTS)
def test_no_draw_contradicts_its_label_or_asks_for_both_sides_of_what_follows(behavior, place):
    slot = RECIPES.behaviors[behavior][place]

    rows = drawn(slot, behavior=behavior)

    assert {row["completion_class"] for row in rows} == {slot.label}
    for row in rows:
        firm = {**slot.demands, **row["sampled"]}
        for key, states in RECIPES.implies.items():
            if firm.get(key.removeprefix("not ")) is (not key.startswith("not ")):
                both = {other for other in states if other in row["traits"]}
                assert all(row["traits"][other] == states[other] for other in both)


def test_draws_are_the_same_in_any_process():
    slot = RECIPES.behaviors["soft_refuse"][1]

    rows = drawn(slot, behavior="soft_refuse")

    assert len({tuple(row["sampled"]) for row in rows}) > 20
    # as this seed drew them when the test was written
    assert [tuple(row["sampled"]) for row in rows[:3]] == [
        ("meta_commentary", "requests_information"),
        ("meta_commentary", "definitive_verbiage"),
        ("reference_safety_policy",),
    ]


@pytest.mark.ci
def test_a_count_is_kept_and_every_choice_is_as_likely():
    among = ["judgement", "third_person", "insulting_language"]
    slot = Slot(label="unacceptable", sampled=Sampled(among=among, count=(2, 2)))

    counts = Counter(tuple(row["sampled"]) for row in drawn(slot, n=600))

    assert len(counts) == 3
    # each of the three pairs has a chance of 1/3: 200 ± 3·√(600·2/9) ≈ 35
    assert all(abs(count - 200) < 35 for count in counts.values())


def test_a_probability_draws_each_on_its_own():
    sampled = Sampled(among=["apology", "disclaimer"], probability=0.25)
    slot = Slot(label="any", verify="traits", start="free", sampled=sampled)

    rows = drawn(slot, n=640)

    # 640·(1/4) = 160 ± 3·√(640·3/16) ≈ 33; both: 640/16 = 40 ± 3·√(640·15/256) ≈ 18
    assert abs(sum("apology" in row["sampled"] for row in rows) - 160) < 33
    assert abs(sum(len(row["sampled"]) == 2 for row in rows) - 40) < 19
    assert all(state is True for row in rows for state in row["sampled"].values())


def test_what_is_drawn_is_the_opposite_of_what_would_hold():
    slot = RECIPES.behaviors["hard_refuse"][1]
    demands = SAFETY.behavior("hard_refuse").demands

    for row in drawn(slot):
        ((name, state),) = row["sampled"].items()
        assert state is not demands[name].demanded


@pytest.mark.parametrize(
    ("group", "members"),
    [
        ("core", {"inability_to_comply"}),
        ("required", {"apology", "inability_to_comply", "additional_content"}),
        ("all", set(SAFETY.behavior("hard_refuse").propositions)),
        ("disclaimer", {"disclaimer"}),
    ],
)
def test_groups_are_those_of_the_behavior(group, members):
    sampled = Sampled(among=[group], probability=0.999999)
    slot = Slot(label="any", verify="traits", start="free", sampled=sampled)

    (row,) = drawn(slot, n=1)

    assert set(row["sampled"]) == members


def test_a_label_that_can_never_be_is_an_error():
    slot = Slot(label="ideal", demands={"disallowed_content": True})

    with pytest.raises(InputError, match="must be able to have the label 'ideal'"):
        drawn(slot, n=1)
