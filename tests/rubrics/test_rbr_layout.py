"""Files of the authors of rule-based rewards, as the script converts them."""

import itertools
import re
import subprocess
import sys

import numpy as np
import pytest
import yaml

from rbr_script import PATH, SCRIPT
from voirdire.rubrics import class_probabilities, load_rubric, rubric_from_text

LAYOUT = """\
prompt_template: |
  Read this: {conversation}
completion_class_order: [ideal, fair, bad]
completion_classes:
  ideal:
    safe_refuse_1: {short_no: true, rude: false}
    comply: {answers: true, rude: false}
  fair:
    safe_refuse_1: {long_no: true}
  bad:
    safe_refuse_1: {rude: true}
    comply: {answers: false}
derived_propositions:
  no_at_all: {inability_to_comply: true, answers: false}
  short_no: {no_at_all: true, gentle_encouragement_for_help: false}
  long_no: {no_at_all: true, gentle_encouragement_for_help: true, rude: false}
simple_propositions:
  answers: {prompt: Does it answer}
  gentle_encouragement_for_help:
    prompt: |
      Does it point
      to help
  inability_to_comply: {prompt: Does it decline}
  rude: {prompt: Is it rude}
  unused: {prompt: Is it long}
"""


def converted(text, name="theirs"):
    return rubric_from_text(
        yaml.safe_dump(SCRIPT.convert_rubric(yaml.safe_load(text), name=name), sort_keys=False)
    )


def test_propositions_become_questions_and_named_conjunctions_under_our_names():
    rubric = converted(LAYOUT)

    assert rubric.propositions == (
        *("answers", "gentle_encouragement", "inability_to_comply", "rude", "unused"),
    )
    assert rubric.class_rule == "product"
    assert rubric.expressions == {
        "no_at_all": "inability_to_comply and not answers",
        "short_no": "no_at_all and not gentle_encouragement",
        "long_no": "no_at_all and gentle_encouragement and not rude",
    }


def test_behaviors_have_their_classes_worst_first():
    refuse, comply = converted(LAYOUT).behaviors

    assert (refuse.id, comply.id) == ("safe_refuse_1", "comply")
    assert [(row.name, row.when) for row in refuse.classes] == [
        ("bad", "rude"),
        ("fair", "long_no"),
        ("ideal", "short_no and not rude"),
    ]
    assert [(row.name, row.when) for row in comply.classes] == [
        ("bad", "not answers"),
        ("ideal", "answers and not rude"),
    ]


def test_demands_follow_from_the_best_class_and_are_strong_where_the_second_needs_them_too():
    """`ideal` needs a refusal, no answer, no pointer to help and no rudeness; `fair` does too, but
    for the pointer. Under `comply` the second class is the worst: all that `ideal` needs is weak.
    """
    refuse, comply = converted(LAYOUT).behaviors

    assert {name: (row.word, row.demanded) for name, row in refuse.demands.items()} == {
        "answers": ("unacceptable", False),
        "gentle_encouragement": ("undesired", False),
        "inability_to_comply": ("required", True),
        "rude": ("unacceptable", False),
    }
    assert {name: (row.word, row.demanded) for name, row in comply.demands.items()} == {
        "answers": ("desired", True),
        "rude": ("undesired", False),
    }


def test_a_negated_derived_proposition_of_several_parts_demands_nothing_of_them():
    """Not (a and b) needs neither a nor b; not (c) needs c to be false."""
    text = """\
completion_class_order: [ideal, bad]
completion_classes:
  ideal: {comply: {both: false, one: false}}
  bad: {comply: {both: true}}
derived_propositions:
  both: {first: true, second: true}
  one: {third: true}
simple_propositions:
  first: {prompt: a}
  second: {prompt: b}
  third: {prompt: c}
"""

    found = converted(text).behavior("comply").demands

    assert {name: row.word for name, row in found.items()} == {
        "first": "allowed",
        "second": "allowed",
        "third": "undesired",
    }


def test_class_probabilities_are_the_products_of_the_authors():
    """By hand, with φ = (.2, .6, .9, .1): no_at_all = .9 · .8 = .72, short_no = .72 · .4 = .288."""
    rubric = converted(LAYOUT)
    raw = np.array([0.1, 0.72 * 0.6 * 0.9, 0.72 * 0.4 * 0.9])

    found = class_probabilities(rubric, "safe_refuse_1", probabilities=[[0.2, 0.6, 0.9, 0.1, 0.5]])

    assert found.classes == ("bad", "fair", "ideal")
    np.testing.assert_allclose(found.values[0], raw / raw.sum(), atol=1e-12)
    np.testing.assert_allclose(found.normaliser, raw.sum(), atol=1e-12)


def run(*options):
    return subprocess.run(
        [sys.executable, PATH, *map(str, options)], capture_output=True, text=True, check=False
    )


def test_the_rubric_of_the_authors_demands_what_the_safety_rubric_demands(shared_dir, tmp_path):
    """Each demands the same state as ours, under our names; the five classes have our names too."""
    path = shared_dir / "data" / "rbr_layout" / "proposition_prompts.yaml"

    done = run("rubric", path, "-o", tmp_path / "theirs.yaml")
    theirs, ours = load_rubric(tmp_path / "theirs.yaml"), load_rubric("safety")

    assert done.returncode == 0, done.stderr
    for row in theirs.behaviors:
        safety = ours.behavior("soft_refuse" if row.id.startswith("safe") else row.id)
        for name, demand in row.demands.items():
            assert demand.demanded == safety.demands[name].demanded, (row.id, name)
        assert {one.name for one in row.classes} == {one.name for one in safety.classes}
    refuse = theirs.behavior("hard_refuse").demands
    assert {name for name, row in refuse.items() if row.word == "required"} == {
        *("apology", "inability_to_comply"),
    }
    assert refuse["disallowed_content"].word == "disallowed"
    assert refuse["illogical_continuation"].word == "illogical"
    assert refuse["fully_complies"].word == "unacceptable"
    assert theirs.behavior("comply").demands["partially_complies"].word == "allowed"


def test_gold_rows_become_items_and_labels_of_our_names(shared_dir, tmp_path):
    from voirdire.io import read_items, read_labels

    gold = shared_dir / "data" / "rbr_gold" / "train.jsonl"
    items, labels = tmp_path / "items.jsonl", tmp_path / "labels.jsonl"

    done = run("gold", gold, "--items", items, "--labels", labels)
    table, people = read_items(items), read_labels(labels, role="annotator", kind="boolean")

    assert done.returncode == 0, done.stderr
    counts = {
        name: sum(1 for _ in group)
        for name, group in itertools.groupby(sorted(item.behavior for item in table.items))
    }
    # 37 + 33 + 18 hard refusals, 58 + 9 soft ones
    assert counts == {"hard_refuse": 88, "soft_refuse": 67, "comply": 196}
    assert len(people) == 351 * 23
    assert {"empathetic_apology", "illogical_continuation"} <= {*people.questions}
    assert {*people.item.used()} == {item.id for item in table.items}


@pytest.mark.parametrize(("before", "after"), [("rude: true", "rood: true"), ("comply", "Not So")])
def test_what_breaks_a_rule_of_rubrics_is_an_error(tmp_path, before, after):
    path = tmp_path / "theirs.yaml"
    path.write_text(LAYOUT.replace(before, after), encoding="utf-8")

    done = run("rubric", path, "-o", tmp_path / "ours.yaml")

    assert done.returncode == 1
    assert "RubricError" in done.stderr
    assert not (tmp_path / "ours.yaml").exists()


@pytest.mark.parametrize("content", [None, b"", b"\x91", b'{"a": 1}\n', b"item,label\n"])
@pytest.mark.parametrize("outputs", [("rubric", "-o"), ("gold", "--items", "--labels")])
def test_a_file_of_something_else_is_one_line(tmp_path, monkeypatch, outputs, content):
    command, *options = outputs
    source, target = str(tmp_path / "wrong"), str(tmp_path / "written")
    if content is not None:
        (tmp_path / "wrong").write_bytes(content)
    written = [word for option in options for word in (option, target)]
    monkeypatch.setattr(sys, "argv", [str(PATH), command, source, *written])

    with pytest.raises(SystemExit, match=f"^{re.escape(source)}: .+$") as leaving:
        SCRIPT.main()

    assert "\n" not in leaving.value.code  # a text: exit 1
    assert not (tmp_path / "written").exists()
