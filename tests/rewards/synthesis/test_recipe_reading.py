"""Recipes: those that ship, those of a file, and those that are made of a rubric."""

from dataclasses import replace

import pytest

from rewards.synthesis.obedient import RECIPES, SAFETY, judge, writer
from voirdire.errors import InputError, RubricError
from voirdire.rewards import (
    Instruction,
    default_order,
    load_recipes,
    synthesize,
)
from voirdire.rubrics import rubric_from_text

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


OF_TINY = """
schema: voirdire.recipes/1
name: tiny
version: "1"
rubric: tiny
recipes:
  reply:
    - label: ideal
    - label: unacceptable
      demands: {thanks: false, rude: true}
"""


@pytest.fixture
def read(tmp_path):
    def from_file(text, rubric=SAFETY):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return load_recipes(path, rubric=rubric)

    return from_file


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


def test_a_file_is_read_with_its_defaults(read):
    recipes = read(SMALL)

    ideal, odd = recipes.behaviors["comply"]
    assert (ideal.count, ideal.start, ideal.verify, ideal.sampled) == (2, "demanded", "both", None)
    assert (odd.start, odd.verify, odd.demands) == ("free", "traits", {"apology": True})
    assert odd.sampled.count == (1, 2)


def test_the_hash_is_of_what_is_said_and_not_of_how_it_is_laid_out(read):
    spaced = SMALL.replace("{apology: true}", "\n        apology: true")

    assert read(spaced).content_hash == read(SMALL).content_hash
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
        ("[1, 2]", "[2, 1]", "be a whole number from 1 to 100, or two of them, the least first"),
        ("[1, 2]", "0", "be a whole number from 1 to 100"),
        ("count: 2", "count: 101", "be a whole number from 1 to 100"),
        ("count: 2", "colour: red", "has no key 'colour'"),
        ("start: free", "start: empty", "must be one of demanded, free"),
        ("recipes/1", "recipes/2", "voirdire.recipes/1"),
        ("label: odd", "label: &x odd", "recipes must be without anchors"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_at_its_place(read, was, now, message):
    assert was in SMALL

    with pytest.raises(RubricError, match=message) as caught:
        read(SMALL.replace(was, now))

    assert "mine.yaml:" in str(caught.value)


def test_a_slot_that_can_never_have_its_label_is_refused_before_anything_is_written(read):
    # every draw breaks a demand of an ideal response
    text = SMALL.replace("label: odd", "label: ideal").replace("start: free", "start: demanded")

    with pytest.raises(RubricError, match=r"mine.yaml:9:7: .* have the label 'ideal'"):
        read(text)


def test_recipes_of_another_rubric_name_what_is_missing():
    tiny = rubric_from_text(TINY)

    with pytest.raises(RubricError, match="must name a proposition of the rubric"):
        load_recipes("safety", rubric=tiny)
    with pytest.raises(RubricError, match="must name a proposition of the rubric"):
        load_recipes(RECIPES, rubric=tiny)


# A rubric of one's own -------------------------------------------------------------------------


def test_a_rubric_of_ones_own_needs_a_file_of_recipes():
    with pytest.raises(InputError, match="`recipes` must name a file for rubric 'tiny', got none"):
        load_recipes(None, rubric=rubric_from_text(TINY))


def test_a_safety_rubric_that_somebody_changed_is_not_written_by_recipes_for_another():
    refuse = SAFETY.behavior("hard_refuse")
    required = {"partially_complies": refuse.demands["apology"]}
    refuse = replace(refuse, demands={**refuse.demands, **required})
    others = [row for row in SAFETY.behaviors if row.id != refuse.id]
    changed = replace(SAFETY, behaviors=(refuse, *others))

    # what ships has an ideal refusal not comply in part
    with pytest.raises(RubricError, match="able to have the label 'ideal'"):
        load_recipes(None, rubric=changed)


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
def test_a_proposition_without_words_is_asked_for_by_its_question(read, language, text):
    recipes = read(OF_TINY, rubric_from_text(TINY))

    found = asked_of_writer(recipes, language=language)

    assert any(line.endswith(text) for line in found)


def test_where_a_language_lacks_words_the_other_stands_in(read):
    words = {"rude": Instruction(when_true={"zh": "无礼"}, when_false={"zh": "有礼"})}
    recipes = read(OF_TINY, rubric_from_text(TINY)).model_copy(update={"instructions": words})

    found = asked_of_writer(recipes, language="en")

    assert {"- 无礼", "- 有礼"} <= found


def test_an_empty_file_lacks_a_behavior_and_no_question(read):
    with pytest.raises(RubricError, match="a file of recipes must hold keys and values"):
        read("")
