"""Rubrics on a terminal."""

import io
from collections import Counter

from rich.cells import cell_len
from rich.console import Console

from voirdire.reporting import RubricList
from voirdire.rubrics import built_in_rubrics, load_rubric, rubric_from_text

SMALL = """
schema: voirdire.rubric/1
name: small
version: "1"
description: "What it is\\tfor."
threshold: 0.4
questions:
  - id: sorry
    kind: boolean
    text: "Is it [bold]sorry[/bold]\\u202e?"
    yes_examples: ["one\\ntwo"]
    no_examples: ["No."]
  - {id: tone, kind: choice, text: Which, labels: {warm: Kind words, cold: }}
  - {id: worth, kind: scale, text: How much, minimum: 0.5, maximum: 5, levels: {5: All, 1: Some}}
expressions: {polite: sorry}
behaviors:
  refuse:
    description: Say no.
    demands: {sorry: core required false}
"""


def shown(what, *, width=100):
    """Print to text."""
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(what)
    return console.file.getvalue()


def test_the_list_has_a_line_for_each():
    rubrics = [load_rubric("safety"), rubric_from_text(SMALL)]

    rows = [line.split() for line in shown(RubricList(rubrics)).splitlines()]

    assert rows[0] == ["name", "version", "questions", "behaviors", "languages", "hash"]
    assert rows[2][:6] == ["safety", "1.0", "21", "3", "en", "zh"]
    assert rubrics[0].content_hash.startswith(f"sha256:{rows[2][6]}")
    assert rows[3][:5] == ["small", "1", "3", "1", "en"]


def test_the_list_keeps_names_and_figures_whole_on_eighty_columns():
    rubrics = [load_rubric(name) for name in built_in_rubrics()]

    text = shown(RubricList(rubrics), width=80)

    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= 80
    assert {*built_in_rubrics()} <= {line.split(" ")[0] for line in text.splitlines()}
    words = Counter(text.split())
    for rubric in rubrics:
        assert words[rubric.content_hash.removeprefix("sha256:")[:12]] == 1
    assert words["1.0"] == sum(rubric.version == "1.0" for rubric in rubrics)
    for heading in ("version", "questions", "behaviors", "languages", "hash"):
        assert heading in words
