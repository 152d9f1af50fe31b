"""Every value of a file broken in every way: each has words of ours and a place."""

import copy
import itertools
import math

import pytest
import yaml

from voirdire.errors import RubricError
from voirdire.rubrics import load_rubric, rubric_from_text

OURS = """
schema: voirdire.rubric/1
name: everything
version: "2"
description: {en: All kinds}
threshold: 0.25
class_rule: exact
questions:
  - {id: sorry, kind: boolean, text: {en: x}, yes_examples: {en: [a]}, no_examples: [b]}
  - {id: tone, kind: choice, text: x, labels: [warm, cold]}
  - {id: harms, kind: multilabel, text: x, labels: {rude: {en: x}, vile: y}}
  - {id: worth, kind: scale, text: x, minimum: 1, maximum: 5, levels: {1: {en: low}, 2: y}}
expressions: {named: not sorry}
behaviors:
  refuse: {description: {en: x}, demands: {sorry: required}, unacceptable_when: sorry}
  comply: {demands: {sorry: allowed}, classes: {good: sorry, bad: otherwise}}
"""
WRONG = [None, True, 7, 2.5, math.nan, "", "x y", [], ["x"], [1], {}, {"x": "y"}, {3: 4}, {"en": 1}]


def paths(value, path=()):
    """List the way to every value."""
    yield path
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from paths(inner, (*path, key))


def broken(text):
    """Put every wrong value at every place, and a wrong key into every mapping."""
    document = yaml.safe_load(text)
    for path in paths(document):
        for wrong in WRONG:
            whole = {"root": copy.deepcopy(document)}
            inner = whole
            for key in ("root", *path)[:-1]:
                inner = inner[key]
            inner[("root", *path)[-1]] = copy.deepcopy(wrong)
            yield path, wrong, whole["root"]


def check_broken(text, *, every):
    """Read one in so many broken files: parsing them takes long."""
    refused = n_read = 0
    for path, wrong, document in itertools.islice(broken(text), 0, None, every):
        n_read += 1
        try:
            rubric_from_text(yaml.safe_dump(document))
        except RubricError as error:
            refused += 1
            for row in error.problems:
                assert row.line is not None, (path, wrong)
                assert "of another form" not in row.message, (path, wrong)
                assert "{" not in row.message.replace("{'en'", ""), (path, wrong, row.message)

    assert refused > n_read / 2


@pytest.mark.ci
def test_a_broken_value_has_words_and_a_place():
    check_broken(OURS, every=11)


@pytest.mark.slow
def test_every_broken_value_has_words_and_a_place():
    check_broken(OURS, every=1)


def test_unbroken_it_is_a_rubric(tmp_path):
    path = tmp_path / "whole.yaml"
    path.write_text(OURS)

    assert load_rubric(path).questions
