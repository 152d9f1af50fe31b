"""Tables for people: verdicts and figures whole, names inert, judges in their order."""

import math
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from voirdire.stats import Caution

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
MARKS = {"✓": "passed", "✗": "failed", "?": "no_evidence"}
MARKED = re.compile(r"(\d?\.\d+|\d|–) ([✓✗?])")
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
    """Find the one row of a table that starts with a name."""
    row = re.compile(re.escape(name) + r"( \w+)?  +\S")
    (found,) = [line for line in text.splitlines() if row.match(line)]
    return found


def widest(text):
    return max(cell_len(line) for line in text.splitlines())


# Figures --------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_every_winning_rate_is_whole_with_its_verdict(make_examination, shown, width):
    examination = make_examination(epsilon=EPSILONS, failures=4)

    text = shown(examination, width=width)

    assert widest(text) <= width
    for judge in examination.judges:
        cells = MARKED.findall(line_of(text, judge))
        results = examination.of_judge(judge)
        assert [MARKS[mark] for _, mark in cells] == [row.outcome for row in results]
        rates = [float(rate) for rate, _ in cells]
        deciding = [min(row.winning_rate, row.worst_case.winning_rate) for row in results]
        assert rates == pytest.approx(deciding, abs=0.005)
        assert f"{results[0].advantage_probability:.2f}" in line_of(text, judge)


def _mark(row):
    return next(mark for mark, outcome in MARKS.items() if outcome == row.outcome)


@pytest.mark.parametrize("width", [80, 120])
def test_one_margin_says_the_outcome_in_words(make_examination, shown, width):
    examination = make_examination(epsilon=0.1, failures=4)

    text = shown(examination, width=width)

    words = {"passed": "✓ passed", "failed": "✗ failed", "no_evidence": "? no evidence"}
    assert widest(text) <= width
    for row in examination.results:
        line = line_of(text, row.judge)
        assert words[row.outcome] in line
        deciding = min(row.winning_rate, row.worst_case.winning_rate)
        figures = (deciding, row.advantage_probability, row.human_advantage)
        assert all(f"{figure:.2f}" in line for figure in figures)
        assert re.search(r"\b56 +4\s*$", line)


def test_margins_stand_in_their_order_whatever_the_order_of_the_run(make_examination, shown):
    examination = make_examination(epsilon=(0.3, 0.0, 0.15, 0.05, 0.1, 0.25, 0.2))

    text = shown(examination)

    heads = [float(head) for head in re.findall(r"ε (\d?\.?\d+)", line_of(text, "judge"))]
    assert heads == sorted(EPSILONS)
    by_margin = {row.epsilon: row.winning_rate for row in examination.of_judge("fair")}
    rates = [float(rate) for rate, _ in MARKED.findall(line_of(text, "fair"))]
    assert rates == pytest.approx([by_margin[epsilon] for epsilon in EPSILONS], abs=0.005)


def test_close_margins_have_heads_of_their_own(make_examination, shown):
    text = shown(make_examination(epsilon=(0.12, 0.125, 0.13)))

    heads = re.findall(r"ε (\d?\.?\d+)", line_of(text, "judge"))
    assert [float(head) for head in heads] == [0.12, 0.125, 0.13]


def test_judges_are_ranked_by_their_advantage(make_examination, shown):
    judges = {f"judge{number}": slips for number, slips in enumerate([0.5, 0.0, 0.9, 0.2])}
    examination = make_examination(judges, epsilon=[0.1, 0.2])

    text = shown(examination)

    advantages = {row.judge: row.advantage_probability for row in examination.results}
    expected = sorted(advantages, key=advantages.get, reverse=True)
    assert re.findall(r"^(judge\d)  ", text, re.M) == expected


def test_a_judge_without_figures_comes_last(make_examination, shown):
    examination = make_examination({"first": 0.9, "second": 0.1})
    undefined = replace(
        examination.results[0],
        judge="undefined",
        advantage_probability=math.nan,
        human_advantage=math.nan,
        winning_rate=math.nan,
        outcome="no_evidence",
        because=Caution(code="untestable", sentence="No annotator shares 30 items with it."),
    )

    text = shown(replace(examination, results=(undefined, *examination.results)))

    assert re.findall(r"^(undefined|second|first) {2,}", text, re.M) == [
        "second",
        "first",
        "undefined",
    ]
    assert line_of(text, "undefined").count("–") == 3
    assert "nan" not in text


def test_controls_stand_below_and_a_passing_constant_is_marked(make_examination, shown):
    examination = make_examination(epsilon=[0.1, 0.2])
    first = examination.results[0]
    alarming = tuple(
        replace(row, passed=True) if row.control == "constant" else row for row in first.controls
    )

    text = shown(examination, details=True)
    warned = shown(replace(examination, results=(replace(first, controls=alarming),)), details=True)

    controls = re.findall(r"^control: (\w+)", text, re.M)
    assert controls == ["always", "random", "majority"]
    assert text.index("control:") > max(text.index(judge) for judge in examination.judges)
    assert "!" not in line_of(text, "control: always")
    assert "!" in line_of(warned, "control: always")
    assert "!" not in line_of(warned, "control: majority")


def test_every_judge_and_question_has_one_line(make_examination, shown):
    examination = make_examination(questions=("polite", "helpful"), epsilon=0.2)

    text = shown(examination)

    for row in examination.results:
        assert len(re.findall(rf"^{row.question} +{row.judge} ", text, re.M)) == 1
    assert text.count("accuracy, additive ε") == 1
    assert text.count("ω: share") == 1
    assert "control:" not in text
    assert len(text.splitlines()) <= 20


@pytest.mark.ci
def test_in_detail_each_question_and_alignment_has_its_table(make_examination, shown):
    examination = make_examination(questions=("polite", "helpful"), epsilon_mode="multiplicative")

    text = shown(examination, details=True)

    assert text.count("control: majority") == 2
    assert "polite: accuracy, multiplicative ε" in text
    assert text.index("polite: accuracy") < text.index("helpful: accuracy")


@pytest.mark.ci
def test_pooled_questions_have_their_table(make_examination, shown):
    examination = make_examination(questions=("polite", "helpful"), epsilon=[0.1, 0.2])

    text = shown(examination, details=True)

    pooled = text[text.index("all questions under one") :]
    assert "ω polite" in pooled
    assert "ω helpful" in pooled
    lines = [line for line in pooled.splitlines() if "accuracy" in line]
    assert len(lines) == len(examination.pooled) == 6
    for line, row in zip(lines, examination.pooled, strict=True):
        assert line.startswith(row.judge)
        rates = [f"{question.winning_rate:.2f}" for question in row.questions]
        assert line.split()[-2:] == rates


# Annotators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_details_show_the_figures_of_every_annotator(make_examination, shown, width):
    examination = make_examination({"good": 0.1})
    (result,) = examination.results

    text = shown(examination, width=width, details=True)

    assert widest(text) <= width
    for person in result.annotators:
        line = line_of(text, person.annotator)
        assert f"{person.advantage_judge:.2f}" in line
        assert f"{person.advantage_human:.2f}" in line
        assert f"{person.tie_share:.0%}" in line
        p_values = [word for word in line.split() if re.fullmatch(r"<?\d?\.\d{4}", word)]
        assert len(p_values) == 2
        assert line.rstrip().endswith("yes" if person.rejected else "no")


def test_details_show_every_annotator_of_every_result(make_examination, shown):
    examination = make_examination(epsilon=[0.1, 0.2])

    brief, full = shown(examination), shown(examination, details=True)

    assert "against each annotator" not in brief
    assert full.count("against each annotator") == 6
    assert full.count("\nann ") == 6


@pytest.mark.ci
def test_fifty_judges_and_twenty_annotators_are_readable(make_examination, shown):
    judges = {f"vendor/large-language-model-{n}": n / 60 for n in range(50)}
    annotators = tuple(f"annotator-{number}" for number in range(20))
    few = make_examination(annotators=annotators, epsilon=EPSILONS, n_items=30)
    rows = [row for row in few.results if row.judge == "good"]
    examination = replace(
        few, results=tuple(replace(row, judge=name) for name in judges for row in rows)
    )
    single = replace(examination, results=examination.results[:1])

    text, details = shown(examination), shown(single, details=True)

    assert widest(text) <= 120
    rows = [line for line in text.splitlines() if len(MARKED.findall(line)) == 7]
    assert sorted(line.split()[0] for line in rows) == sorted(judges)
    assert widest(details) <= 120
    assert sorted(re.findall(r"^(annotator-\d+)  ", details, re.M)) == sorted(annotators)


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

    text = shown(examination, details=True, terminal=terminal)

    if terminal:  # colours of our own are fine; they are plain SGR codes and never other codes
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert "31mred" not in text or "\\x1b[31mred" in text or "\\x9b31mred" in text
    assert UNSAFE.findall(text) == []
    assert "accuracy, additive ε" in text


@pytest.mark.edges
@pytest.mark.parametrize("kind", ["tag", "markup", "closing", "half markup", "backslash", "link"])
def test_markup_in_names_is_shown_to_the_letter(make_examination, shown, kind):
    name = HOSTILE[kind]

    text = shown(make_examination({name: 0.1}, annotators=(f"{name}2", "bob", "eve")))

    assert text.count(name) >= 2


@pytest.mark.edges
@pytest.mark.parametrize("name", ["שלום עולם", "中文评判者", "مُحَكِّم", "🧑‍⚖️ judge"])
def test_other_scripts_are_shown_as_they_are(make_examination, shown, name):
    text = shown(make_examination({name: 0.1}))

    assert name in text
    assert widest(text) <= 120


def test_wide_characters_keep_the_columns_aligned(make_examination, shown):
    text = shown(make_examination({"中文评判者" * 10: 0.1, "b": 0.5}, epsilon=[0.1, 0.2]))

    ends = {
        cell_len(line[: MARKED.search(line).end()])
        for line in text.splitlines()
        if MARKED.search(line)
    }
    assert len(ends) == 1


@pytest.mark.ci
def test_a_label_of_very_many_characters_is_cut(make_examination, shown):
    width = 80
    name = "x" * 100_000
    examination = make_examination(
        {name: 0.1, "other": 0.5},
        annotators=(f"{name}2", "bob", "eve"),
        labels=("no", name),
        questions=(name, "second"),
        n_items=30,
        epsilon=EPSILONS,
    )

    text = shown(examination, width=width)

    assert len(text) < 60_000
    assert widest(text) <= width
    rows = [line for line in text.splitlines() if len(MARKED.findall(line)) == 7]
    assert len(rows) == 4
    assert sum(line.startswith("xxx") for line in rows) == 2
    assert "…" in text


# Colour ---------------------------------------------------------------------------------------


def test_without_a_terminal_there_are_no_escape_codes(make_examination, shown):
    assert "\x1b" not in shown(make_examination(epsilon=EPSILONS, failures=2), details=True)


def test_a_terminal_gets_colours_that_say_nothing_new(make_examination, shown):
    examination = make_examination(epsilon=EPSILONS, failures=2)

    coloured = shown(examination, terminal=True)

    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == shown(examination)


def test_the_legend_explains_the_columns_that_are_there(make_examination, shown):
    examination = make_examination(epsilon=EPSILONS)

    narrow, wide = (shown(examination, width=width) for width in (80, 140))

    said = " ".join(narrow.split())  # it wraps
    for head in ("interval", "from ε", "ρ human"):
        assert (f"{head}:" in said) == (head in line_of(narrow, "judge"))
        assert f"{head}:" in wide
    assert "by the t-test; the outcome asks for .5 by the exact test." in said


def test_details_say_how_often_a_judge_passes_again(make_examination, shown):
    examination = make_examination(epsilon=0.1)

    text = " ".join(shown(examination, details=True).split())  # titles wrap

    for row in examination.results:
        assert f"ω ≥ .5 in {row.uncertainty.stability:.0%} of resamples" in text
