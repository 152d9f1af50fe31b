"""Our safety rubric beside the authors' layout: every difference has a name."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbr_script import SCRIPT, gold_rows
from rubrics.logic.rbr_layout_facts import BEHAVIORS, OUR_CLASSES, RULES, layout
from voirdire.rubrics import hard_classes, load_rubric, rubric_from_text

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "class-logic.md"
THEIR_NAMES = {ours: theirs for theirs, ours in SCRIPT.OUR_NAMES.items()}


@pytest.fixture(scope="module")
def theirs():
    """The authors' layout, converted by the script (JSON is YAML)."""
    ours = load_rubric("safety").propositions
    theirs = layout([THEIR_NAMES.get(name, name) for name in ours])
    return rubric_from_text(json.dumps(SCRIPT.convert_rubric(theirs, name="theirs")))


@pytest.fixture(scope="module")
def gold(shared_dir):
    """Human labels by the gold rows' word for a behavior, with the columns of our rubric."""
    rows = gold_rows(shared_dir)
    names = [THEIR_NAMES.get(name, name) for name in load_rubric("safety").propositions]
    return {
        word: np.array(
            [
                [row["propositions"][name] for name in names]
                for row in rows
                if row["response_type"] == word
            ]
        )
        for word, _ in BEHAVIORS.values()
    }


def their_classes(rubric, behavior, labels, *, propositions=None):
    classes = [row.name for row in rubric.behavior(behavior).classes]
    found = hard_classes(rubric, behavior, labels=labels, propositions=propositions)
    return np.array(classes)[found]


def our_classes(behavior, labels, *, undone=(), propositions=None):
    """Classes of our safety rubric, with some of the differences undone."""
    rubric = load_rubric("safety")
    changed = rubric.behavior(BEHAVIORS[behavior][1])
    for rule in undone:
        changed = RULES[rule][1](changed)
    found = hard_classes(
        replace(rubric, behaviors=(changed,)),
        changed.id,
        labels=labels,
        propositions=propositions,
    )
    return np.array([row.name for row in changed.classes])[found]


def rules_of(behavior):
    return [rule for rule, (behaviors, _) in RULES.items() if behavior in behaviors]


def test_the_imported_layout_is_theirs(theirs):
    assert {row.id for row in theirs.behaviors} == set(BEHAVIORS)
    for behavior in theirs.behaviors:
        assert {row.name for row in behavior.classes} == set(OUR_CLASSES.values())


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_their_classes_exclude_each_other_and_cover_every_case(theirs, behavior):
    names = theirs.behavior(behavior).propositions
    bits = np.arange(2 ** len(names))[:, None]
    rng = np.random.default_rng(0)
    some = rng.choice(bits, size=min(len(bits), 20_000), replace=False)
    labels = (some >> np.arange(len(names))) & 1 == 1

    each = [
        hard_classes(
            replace(theirs, behaviors=(replace(theirs.behavior(behavior), classes=(row,)),)),
            behavior,
            labels=labels,
            propositions=names,
        )
        == 0
        for row in theirs.behavior(behavior).classes
    ]

    assert (np.sum(each, axis=0) == 1).all()


@pytest.mark.edges
@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_without_the_named_differences_our_rubric_is_theirs(theirs, behavior):
    # Over all assignments of every proposition that either rubric asks about.
    demanded = load_rubric("safety").behavior(BEHAVIORS[behavior][1]).propositions
    names = sorted({*theirs.behavior(behavior).propositions, *demanded})
    names = [name for name in names if is_relevant(theirs, behavior, name)]
    bits = np.arange(2 ** len(names))[:, None]
    labels = (bits >> np.arange(len(names))) & 1 == 1
    columns = {name: labels[:, k] for k, name in enumerate(names)}
    everything = load_rubric("safety").propositions
    full = np.column_stack(
        [columns.get(name, np.zeros(len(labels), dtype=bool)) for name in everything]
    )

    undone = our_classes(behavior, full, undone=rules_of(behavior), propositions=everything)

    assert (undone == their_classes(theirs, behavior, full, propositions=everything)).all()


def is_relevant(theirs, behavior, name):
    """Leave out what both sides only allow, to keep the number of assignments small."""
    ours = load_rubric("safety").behavior(BEHAVIORS[behavior][1]).demands
    word = ours[name].word if name in ours else "allowed"
    return word != "allowed" or name in theirs.behavior(behavior).propositions


@pytest.fixture(scope="module")
def explanations(theirs, gold):
    """The smallest sets of differences that, undone, make a row agree; one entry per row."""
    found = []
    for behavior, (word, _) in BEHAVIORS.items():
        wanted = their_classes(theirs, behavior, gold[word])
        rules = rules_of(behavior)
        subsets = [
            subset for k in range(len(rules) + 1) for subset in itertools.combinations(rules, k)
        ]
        agree = np.array(
            [our_classes(behavior, gold[word], undone=row) == wanted for row in subsets]
        )
        found += [subsets[np.flatnonzero(column)[0]] for column in agree.T]
    return found


def test_every_disagreement_on_the_gold_rows_is_explained(explanations):
    # The search for an explanation ends with an error where none is found.
    assert len(explanations) == 351
    assert sum(row == () for row in explanations) == 272


def test_the_page_has_the_counts(explanations):
    counts = {
        rule: (
            sum(row == (rule,) for row in explanations),
            sum(rule in row and len(row) > 1 for row in explanations),
        )
        for rule in RULES
    }
    table = PAGE.read_text(encoding="utf-8").partition("<!-- class-differences -->")[2]
    table = table.partition("<!-- /class-differences -->")[0]
    printed = {
        words.strip().replace("`", ""): (int(alone), int(together))
        for words, alone, together in re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|$", table, re.M)
    }

    assert printed == counts
