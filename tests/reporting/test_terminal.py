"""An examination on a terminal: verdicts and figures whole, names inert, judges in their order."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from voirdire.records import Dropped
from voirdire.stats import Caution

MARKS = {"✓ passed": "passed", "○ not shown": "failed", "✗ worse": "failed",
         "? no evidence": "no_evidence"}  # fmt: skip
HOSTILE = {
    "tag": "<script>alert(1)</script>",
    "markup": "[red]x[/]",
    "closing": "[/]",
    "half markup": "[bold",
    "backslash": "back\\",
    "link": "[link=http://x]x",
    "colour": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;title\x07",
    "eight-bit": "\x9b31mred",
    "lines": "two\nlines\r\x85\u2028",
    "override": "\u202egood\u2066",
    "bell": "\x07\x00\x08",
    "tab": "a\tb",
}
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def line_of(text, name):
    """Find the row of a table that starts with a name."""
    found = [line for line in text.splitlines() if re.match(re.escape(name) + r"  +\S", line)]
    return found[0]


def short(figure):
    return f"{figure:.2f}".removeprefix("0")


@pytest.mark.edges
@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_every_judge_has_its_verdict_and_figures(make_examination, shown, width):
    examination = make_examination(epsilon=0.2, failures=4)

    text = shown(examination, width=width)

    assert max(map(cell_len, text.splitlines())) <= width
    for row in examination.results:
        line = line_of(text, row.judge)
        assert MARKS[re.search("|".join(map(re.escape, MARKS)), line)[0]] == row.outcome
        for figure in (row.winning_rate, row.advantage_probability, row.human_advantage):
            assert short(figure) in line
        assert line.split()[-2:] == [str(row.n_items), str(row.worst_case.n_failures)]


def test_judges_stand_in_the_order_of_rho_with_a_sentence_each(make_examination, shown):
    text = shown(make_examination({"poor": 0.9, "good": 0.05, "fair": 0.3}, epsilon=0.2))

    names = re.findall(r"^(?:  )?(good|fair|poor) ", text, re.MULTILINE)
    assert names == ["good", "fair", "poor"] * 2


def test_several_questions_have_a_row_per_judge_and_question(make_examination, shown):
    examination = make_examination(questions=("polite", "helpful"), epsilon=0.2)

    text = shown(examination)

    for row in examination.results:
        [line] = re.findall(rf"^{row.question} +{row.judge} .*$", text, re.MULTILINE)
        assert short(row.winning_rate) in line
    assert text.count("good passed: shown within ε = .2 for 4 of 4") == 2


@pytest.mark.parametrize("n_questions", [1, 2])
def test_details_show_every_annotator_and_what_else_there_is(make_examination, shown, n_questions):
    names = ("polite", "helpful")[:n_questions]
    examination = make_examination(questions=names, epsilon=0.2)

    brief, full = shown(examination), shown(examination, details=True)

    assert "The judge against each annotator" not in brief
    assert "--details" in brief
    assert "--details" not in full
    assert full.count("The judge against each annotator") == n_questions
    assert full.count("\nmajority vote") == n_questions
    people = re.findall(r"^(?:good|fair|poor) +(?:ann|bob|eve|kim) .*$", full, re.MULTILINE)
    assert len(people) == 12 * n_questions
    assert "A paragraph to paste" not in full


def test_three_cautions_are_shown_and_more_with_details(make_examination, shown):
    codes = ("not_judged", "similarity", "few_annotators", "correction")
    examination = make_examination({"good": 0.05}, epsilon=0.2)
    notes = tuple(Caution(code=code, sentence="") for code in codes)
    rows = tuple(replace(row, cautions=notes) for row in examination.results)
    noted = replace(examination, results=rows)

    assert shown(noted).count("note: ") == 3
    assert shown(noted, details=True).count("note: ") == 4


def test_what_to_do_comes_last_and_names_the_judges(make_examination, shown):
    text = shown(make_examination(epsilon=0.2), width=300)

    assert re.search(r"^Next: good: Choose one judge", text, re.MULTILINE)
    assert re.search(r"^ *fair: Look at the items", text, re.MULTILINE)
    assert re.search(r"^ *poor: Compare a few answers", text, re.MULTILINE)  # 90% are wrong


# Names ----------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("kind", sorted(HOSTILE))
@pytest.mark.parametrize("terminal", [False, True])
def test_no_name_acts_on_the_terminal(make_examination, shown, kind, terminal):
    name = HOSTILE[kind]
    examination = make_examination(
        {name: 0.1, "other": 0.5},
        annotators=(f"{name}2", "bob", "eve"),
        labels=("no", name),
        questions=(name, "second"),
    )
    drop = Dropped(reason=f"unknown {name}", source=name, item=name, rater=name, value=name)

    text = shown(replace(examination, dropped=(drop,)), details=True, terminal=terminal)

    if terminal:  # colours of our own are fine; they are plain SGR codes and never other codes
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert "31mred" not in text or "\\x1b[31mred" in text or "\\x9b31mred" in text
    assert UNSAFE.findall(text) == []


@pytest.mark.ci
def test_fifty_judges_with_long_names_are_readable(make_examination, shown):
    few = make_examination({"good": 0.05}, annotators=tuple(f"ann-{n}" for n in range(20)))
    names = [f"vendor/{'x' * 1_000}-{number}" for number in range(50)]
    rows = tuple(replace(few.results[0], judge=name) for name in names)

    text = shown(replace(few, results=rows, questions=()), width=80)

    assert max(map(cell_len, text.splitlines())) <= 80
    assert len(text) < 10_000
    assert "passed vendor/" in text
