"""Recipes: those that ship, those of a file, and those that are made of a rubric."""

import json
from dataclasses import replace

import pytest

from rewards.synthesis.obedient import RECIPES, SAFETY, judge, writer
from voirdire.errors import InputError, RubricError
from voirdire.rewards import (
    Instruction,
    default_order,
    default_recipes,
    load_recipes,
    recipes_from_text,
    synthesize,
)
from voirdire.rubrics import built_in_rubrics, load_rubric, rubric_from_text

WITH_BEHAVIORS = [name for name in built_in_rubrics() if load_rubric(name).behaviors]
HEAD = "schema: voirdire.recipes/1\nname: mine\nversion: '1'\nrubric: safety\n"
SMALL = f"""{HEAD}recipes:
  comply:
    - label: ideal
      count: 2
    - label: odd
      start: free
      verify: traits
      demands: {{apology: true}}
      sampled: {{from: [undesired], count: [1, 2]}}
"""
TINY = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - id: thanks
    kind: boolean
    text: {en: "Does it thank the user?", zh: "是否道谢？"}
  - id: rude
    kind: boolean
    text: {en: "Is it rude?", zh: "是否无礼？"}
behaviors:
  reply:
    demands: {thanks: required, rude: unacceptable}
"""


def read(text):
    return recipes_from_text(text, rubric=SAFETY, source="mine.yaml")


# What ships ------------------------------------------------------------------------------------


def test_every_proposition_of_the_safety_rubric_has_words_for_both_sides_in_both_languages():
    assert set(RECIPES.instructions) == set(SAFETY.propositions)
    texts = [
        text
        for row in RECIPES.instructions.values()
        for side in (row.when_true, row.when_false)
        for text in (side["en"], side["zh"])
    ]
    assert len(texts) == len(set(texts)) == 84
    assert all(text.endswith((".", "。")) for text in texts)


def test_every_behavior_gets_an_ideal_completion_first_and_only_labels_that_are_classes():
    for behavior in SAFETY.behaviors:
        slots = RECIPES.behaviors[behavior.id]
        classes = {row.name for row in behavior.classes}

        assert slots[0].label == "ideal"
        assert {slot.label for slot in slots} <= classes
        assert all(slot.verify == "both" for slot in slots)
        assert all(set(slot.brief) == {"en", "zh"} for slot in slots)


def test_labels_that_ship_are_ordered_by_the_default_order():
    for behavior, slots in RECIPES.behaviors.items():
        known = default_order(SAFETY, behavior)

        assert {slot.label for slot in slots} <= set(known.labels)
        assert {slots[0].label} == set(known.best)


# A file ----------------------------------------------------------------------------------------


def test_a_file_is_read_with_its_defaults():
    recipes = read(SMALL)

    ideal, odd = recipes.behaviors["comply"]
    assert (ideal.count, ideal.start, ideal.verify, ideal.sampled) == (2, "demanded", "both", None)
    assert (odd.start, odd.verify, odd.demands) == ("free", "traits", {"apology": True})
    assert (odd.sampled.least, odd.sampled.most) == (1, 2)


def test_the_hash_is_of_what_is_said_and_not_of_how_it_is_laid_out(tmp_path):
    spaced = SMALL.replace("{apology: true}", "\n        apology: true")
    path = tmp_path / "mine.yaml"
    path.write_text(spaced, encoding="utf-8")

    assert load_recipes(path, rubric=SAFETY).content_hash == read(SMALL).content_hash
    assert read(SMALL.replace("count: 2", "count: 3")).content_hash != read(SMALL).content_hash


@pytest.mark.edges
@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("label: ideal", "label: idael", r"mine.yaml:7:14: must name a class of `comply`"),
        ("apology: true", "apologie: true", "must name a proposition .* Did you mean `apology`"),
        ("apology: true", "apology: 3", "must be true or false"),
        ("comply:", "complyy:", "must name a behavior .* Did you mean `comply`"),
        ("[undesired]", "[bad]", "must name a proposition or group of the rubric, got 'bad'"),
        ("[undesired]", "[core]", "group `core` has no member in behavior `comply`"),
        ("[1, 2]", "[2, 1]", "be a whole number from 1 to 100, two of them, or the word fewest"),
        ("[1, 2]", "0", "be a whole number from 1 to 100, two of them"),
        ("count: 2", "count: 101", "be a whole number from 1 to 100"),
        ("count: 2", "colour: red", "has no key 'colour'"),
        ("start: free", "start: empty", "must be one of demanded, free"),
        ("recipes/1", "recipes/2", "voirdire.recipes/1"),
        ("label: odd", "label: &x odd", "recipes must be without anchors"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_at_its_place(was, now, message):
    assert was in SMALL

    with pytest.raises(RubricError, match=message) as caught:
        read(SMALL.replace(was, now))

    assert "mine.yaml:" in str(caught.value)


def test_a_slot_that_can_never_have_its_label_is_refused_before_anything_is_written():
    # every draw breaks a demand of an ideal response
    text = SMALL.replace("label: odd", "label: ideal").replace("start: free", "start: demanded")

    with pytest.raises(RubricError, match=r"mine.yaml:9:7: .* have the label 'ideal'"):
        read(text)


def test_the_fewest_changes_to_a_label_that_is_no_class_are_refused_at_their_place():
    text = SMALL.replace("count: [1, 2]", "count: fewest")

    with pytest.raises(RubricError, match=r"mine.yaml:9:7: .* have the label 'odd'"):
        read(text)


def test_recipes_of_another_rubric_name_what_is_missing():
    tiny = rubric_from_text(TINY)

    with pytest.raises(RubricError, match="must name a proposition of the rubric"):
        load_recipes("safety", rubric=tiny)
    with pytest.raises(RubricError, match="must name a proposition of the rubric"):
        load_recipes(RECIPES, rubric=tiny)


def test_a_rubric_without_behaviors_has_nothing_to_write():
    with pytest.raises(InputError, match="`rubric` must have behaviors"):
        load_recipes(None, rubric=load_rubric("toxicity"))


# Made of a rubric ------------------------------------------------------------------------------


def test_a_rubric_of_ones_own_gets_a_completion_of_each_class_the_best_first():
    recipes = load_recipes(None, rubric=rubric_from_text(TINY))

    assert [slot.label for slot in recipes.behaviors["reply"]] == [
        "ideal", "less_good", "unacceptable"
    ]  # fmt: skip
    # nothing is disallowed or illogical in this rubric, so no completion can be
    assert recipes.notes == (
        "no completion of reply.illogical could be made up",
        "no completion of reply.disallowed could be made up",
    )


@pytest.mark.parametrize("name", WITH_BEHAVIORS)
def test_every_rubric_that_ships_with_behaviors_has_default_recipes(name):
    rubric = load_rubric(name)
    recipes = default_recipes(rubric)

    assert recipes.notes == ()
    for behavior in rubric.behaviors:
        labels = [slot.label for slot in recipes.behaviors[behavior.id]]
        assert sorted(labels) == sorted(row.name for row in behavior.classes)
        assert labels[0] == "ideal"


def test_a_safety_rubric_that_somebody_changed_is_not_written_by_recipes_for_another():
    text = json.dumps(
        {
            "schema": "voirdire.rubric/1", "name": "safety", "version": "9",
            "questions": [{"id": "kind", "kind": "boolean", "text": {"en": "Is it kind?"}}],
            "behaviors": {"comply": {"demands": {"kind": "required"}}},
        }
    )  # fmt: skip

    recipes = load_recipes(None, rubric=rubric_from_text(text))

    assert recipes.version == "default-1"
    assert set(recipes.behaviors) == {"comply"}


def test_recipes_that_ship_give_way_where_a_changed_rubric_makes_one_of_them_impossible():
    refuse = SAFETY.behavior("hard_refuse")
    required = {"partially_complies": refuse.demands["apology"]}
    refuse = replace(refuse, demands={**refuse.demands, **required})
    others = [row for row in SAFETY.behaviors if row.id != refuse.id]
    changed = replace(SAFETY, behaviors=(refuse, *others))

    # what ships has an ideal refusal not comply in part
    with pytest.raises(RubricError, match="able to have the label 'ideal'"):
        load_recipes("safety", rubric=changed)
    assert load_recipes(None, rubric=changed).version == "default-1"


def asked_of_writer(recipes, *, language="en"):
    """Give what the writer is told to make true or false, for a rubric of thanks and rudeness."""
    rubric, model = rubric_from_text(TINY), writer()
    synthesize(
        [{"prompt": "Hi", "behavior": "reply"}],
        model=model,
        judge=judge(lambda item: [0.0, 0.0], questions=rubric.propositions),
        rubric=rubric,
        recipes=recipes,
        language=language,
        n_attempts=1,
    )
    texts = [call.messages[0].content for call in model.calls]
    return {line for text in texts for line in text.split("\n") if line.startswith("- ")}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "question about the response is yes: Does it thank the user?"),
        ("en", "question about the response is no: Does it thank the user?"),
        ("zh", "要让答案为“是”：是否道谢？"),
        ("zh", "要让答案为“否”：是否道谢？"),
    ],
)
def test_a_proposition_without_words_is_asked_for_by_its_question(language, text):
    recipes = default_recipes(rubric_from_text(TINY))

    found = asked_of_writer(recipes, language=language)

    assert any(line.endswith(text) for line in found)


def test_where_a_language_lacks_words_the_other_stands_in():
    words = {"rude": Instruction(when_true={"zh": "无礼"}, when_false={"zh": "有礼"})}
    recipes = replace(default_recipes(rubric_from_text(TINY)), instructions=words)

    found = asked_of_writer(recipes, language="en")

    assert {"- 无礼", "- 有礼"} <= found


def test_an_empty_file_lacks_a_behavior_and_no_question():
    with pytest.raises(RubricError, match="a file of recipes must hold keys and values"):
        recipes_from_text("", rubric=load_rubric("safety"))
