"""Rubrics on a terminal."""

import io
import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console

from voirdire.errors import InputError
from voirdire.reporting import RubricList, RubricTables
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


def test_everything_of_a_small_rubric_is_there():
    rubric = rubric_from_text(SMALL)

    text = shown(RubricTables(rubric))

    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[:3] == ["small 1", rubric.content_hash, "What it is\\tfor."]
    questions = lines[lines.index("Questions") + 1 : lines.index("What behaviors demand") - 2]
    assert questions == [
        "sorry  boolean",
        "  Is it [bold]sorry[/bold]\\u202e?",
        "    yes  one⏎two",
        "    no   No.",
        "",
        "tone  choice",
        "  Which",
        "    warm  Kind words",
        "    cold",
        "",
        "worth  scale from 0.5 to 5",
        "  How much",
        "    1  Some",
        "    5  All",
    ]
    assert re.search(r"^sorry +core required false$", "\n".join(lines), re.MULTILINE)
    assert re.search(r"^propositions / features +1 / 6$", "\n".join(lines), re.MULTILINE)
    classes = lines[lines.index("Classes of refuse, the first that holds") + 1 :]
    assert classes[0] == "Say no."
    assert [re.split(" {2,}", row)[0] for row in classes[1:6]] == [
        *("disallowed", "illogical", "unacceptable", "less_good", "ideal"),
    ]
    assert [row.split() for row in classes[6:8]] == [
        ["core", "not", "sorry"],
        ["required", "not", "sorry"],
    ]
    assert lines[-1] == (
        "A proposition is true from 0.4 on; class probabilities by the exact rule."
    )


def test_a_question_of_several_lines_is_shown_in_lines():
    text = SMALL.replace("Which", '"Which?\\n- warm\\n- \\u202ecold"')
    assert text != SMALL

    lines = [line.rstrip() for line in shown(RubricTables(rubric_from_text(text))).splitlines()]

    start = lines.index("tone  choice")
    assert lines[start + 1 : start + 4] == ["  Which?", "  - warm", "  - \\u202ecold"]


@pytest.mark.edges
@pytest.mark.parametrize("name", built_in_rubrics())
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_text_of_a_built_in_rubric_is_shown_in_its_language(name, language):
    rubric = load_rubric(name)

    text = re.sub(r"\s", "", shown(RubricTables(rubric, language=language), width=200))

    for row in rubric.questions:
        texts = [row.text[language], *row.yes_examples.get(language, ())]
        texts += [*row.no_examples.get(language, ()), *(x[language] for x in row.levels.values())]
        texts += [x[language] for x in row.labels.values() if x]
        for each in texts:
            assert re.sub(r"\s", "", each.replace("\n", "⏎")) in text


def test_no_other_language_than_those_of_the_rubric():
    rubric = rubric_from_text(SMALL)

    with pytest.raises(InputError, match=r"`language` must be one of .* \('en'\), got 'zh'"):
        RubricTables(rubric, language="zh")


def test_a_rubric_in_chinese_alone_is_shown_in_chinese():
    text = '{schema: voirdire.rubric/1, name: x, version: "1", questions: '
    rubric = rubric_from_text(text + "[{id: a, kind: text, text: {zh: 为何}}]}")

    assert "为何" in shown(RubricTables(rubric))


def test_the_list_has_a_line_for_each():
    rubrics = [load_rubric("safety"), rubric_from_text(SMALL)]

    rows = [line.split() for line in shown(RubricList(rubrics)).splitlines()]

    assert rows[0] == ["name", "version", "questions", "behaviors", "languages", "hash"]
    assert rows[2][:6] == ["safety", "1.0", "21", "3", "en", "zh"]
    assert rubrics[0].content_hash.startswith(f"sha256:{rows[2][6]}")
    assert rows[3][:5] == ["small", "1", "3", "1", "en"]


@pytest.mark.edges
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", built_in_rubrics())
def test_a_narrow_terminal_shows_every_text_whole(name, language):
    rubric = load_rubric(name)

    text = shown(RubricTables(rubric, language=language), width=40)

    assert max(map(cell_len, text.splitlines())) <= 40
    assert "…" not in text
    found = Counter(re.sub(r"\s", "", text))
    for row in rubric.questions:
        assert re.sub(r"\s", "", row.text[language]) in re.sub(r"\s", "", text)
    # Words of tables are folded within their columns, so letters are counted, not words.
    wide = Counter(re.sub(r"\s", "", shown(RubricTables(rubric, language=language), width=500)))
    del found["─"], wide["─"]  # lines are as long as the terminal is wide
    assert found == wide


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
