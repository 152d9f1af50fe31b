"""What weakens the figures and what was dropped, each thing said once."""

import re
from dataclasses import replace

import pytest

from voirdire.records import Dropped
from voirdire.stats import Caution

CODES = (
    "correction", "failures", "few_annotators", "few_clusters", "few_items", "many_ties",
    "not_judged", "one_sided", "skewed_labels", "strange_annotators", "strange_labels",
    "undeclared_labels", "untested_annotators", "weak_annotators",
)  # fmt: skip

FAILED = "note: The judge left calls without an answer; the outcome counts them as lost"


def short(figure):
    """Write a positive figure below 1 as the pages do."""
    return f"{figure:.2f}".removeprefix("0")


@pytest.fixture(scope="module")
def examination(make_examination):
    """Give three judges at two margins."""
    found = make_examination(epsilon=[0.1, 0.2])
    rows = tuple(replace(row, cautions=()) for row in found.results)
    return replace(found, results=rows, questions=(), cautions=())


@pytest.fixture(scope="module")
def results(examination):
    """Give the results of three judges at two margins, without anything to note."""
    return examination.results


@pytest.fixture
def notes(examination, shown):
    """Print an examination of these results, wide enough that no note is folded."""

    def print_notes(rows=(), *, details=False, **parts):
        rows = tuple(rows) or examination.results
        return shown(replace(examination, results=rows, **parts), width=500, details=details)

    return print_notes


def marked(row, *codes):
    return replace(row, cautions=tuple(Caution(code=code, sentence=f"so {code}") for code in codes))


@pytest.mark.edges
@pytest.mark.parametrize("code", CODES)
def test_every_caution_has_words_for_several_results_and_for_one(results, notes, code):
    at_one_margin = [row for row in results if row.epsilon == 0.1]

    several = notes([marked(at_one_margin[0], code), *at_one_margin[1:]])
    one = notes([marked(results[0], code)])

    assert several.count("note: ") == 1
    assert f"so {code}" not in several
    assert f"note: so {code}" in one


def test_three_notes_are_shown_and_the_others_counted(results, notes):
    rows = [marked(row, *CODES) for row in results]

    brief, full = notes(rows), notes(rows, details=True)

    assert brief.count("note: ") == 3
    assert f"{len(CODES) - 3} more notes are in --details and on the page" in brief
    assert full.count("note: ") == len(CODES)
    assert "more notes" not in full
    first = [line for line in full.splitlines() if line.startswith("note: ")][:3]
    assert first == [line for line in brief.splitlines() if line.startswith("note: ")]
    assert notes([marked(row, *CODES[:4]) for row in results]).count("1 more note is") == 1


def test_a_control_that_passes_is_said_once(results, notes):
    lenient = tuple(replace(row, passed=True) for row in results[0].controls)
    rows = [replace(row, controls=lenient) for row in results]

    assert notes(rows).count("always gives the same answer would pass") == 1
    assert notes(rows).count("answers at random would pass") == 1
    assert "would pass" not in notes(results)


def test_a_note_names_question_and_judge_where_there_are_several(results, notes):
    others = [replace(row, question="helpful") for row in results]
    good = [marked(row, "failures") if row.judge == "good" else row for row in others]

    assert re.search(FAILED + ": good on helpful *$", notes([*results, *good]), re.M)


def test_the_best_of_several_judges_is_confirmed_elsewhere(make_examination, shown):
    one, several = (make_examination(x, epsilon=0.2) for x in ({"good": 0.1}, None))

    assert "Confirm it on fresh items" not in shown(one, details=True)
    assert "Confirm it on fresh items" in shown(several, details=True)


def test_a_note_names_only_whom_it_concerns(results, notes):
    good_at_both = [marked(row, "failures") if row.judge == "good" else row for row in results]
    fair_at_one = [
        marked(row, "failures") if (row.judge, row.epsilon) == ("fair", 0.2) else row
        for row in results
    ]
    everyone = [marked(row, "failures") for row in results]

    assert re.search(FAILED + ": good *$", notes(good_at_both), re.M)
    assert re.search(FAILED + r": fair at ε 0\.2 *$", notes(fair_at_one), re.M)
    assert re.search(FAILED + " *$", notes(everyone), re.M)


def test_a_long_list_of_judges_is_counted(results, notes):
    many = [replace(results[0], judge=f"judge{number}") for number in range(30)]
    noted = [marked(row, "failures") for row in many[:20]] + many[20:]

    [line] = [line for line in notes(noted).splitlines() if "note:" in line]

    assert "judge7 and 12 more" in line
    assert "judge8" not in line


def test_reasons_for_no_evidence_are_said_once(results, notes):
    reason = Caution(code="like_constant", sentence="No closer than a constant.")
    noted = [replace(row, outcome="no_evidence", because=reason) for row in results]

    assert notes(noted).count("not shown closer to the annotators") == 1
    assert "No closer than a constant." in notes(noted[:1])


def test_drops_are_counted_by_reason_with_the_first_place(notes):
    rows = [
        Dropped(reason="can't tell", source="h.csv", line=line, column="label", item=f"i{line}")
        for line in (4, 2, 9)
    ]
    rows.append(Dropped(reason="duplicate row", source="j.csv", line=5, rater="judge"))

    lines = [line.rstrip() for line in notes(dropped=rows).splitlines()]

    assert lines[-2:] == [
        "set aside 3 times: can't tell (first: h.csv:4: column `label`: item 'i4')",
        "set aside: duplicate row (j.csv:5: rater 'judge')",
    ]


def test_many_reasons_are_counted(notes):
    rows = [Dropped(reason=f"reason {number}", source="h.csv") for number in range(1_500)]

    lines = [line.rstrip() for line in notes(dropped=rows).splitlines()]

    assert sum(line.startswith("set aside: reason") for line in lines) == 3
    assert lines[-1] == "and 1,497 other reasons; --json lists every row"


def test_one_more_reason_is_one(notes):
    rows = [Dropped(reason=f"reason {k}", source="h.csv", question="apology") for k in range(4)]

    lines = " ".join(notes(dropped=rows).split())

    assert "(h.csv: question 'apology')" in lines
    assert lines.endswith("and 1 other reason; --json lists every row")


@pytest.mark.edges
@pytest.mark.parametrize("hostile", ["\x1b[31m", "[red]x[/]", "a\nb", "\u202e", "x" * 10**6])
def test_notes_of_hostile_rows_are_inert_and_short(results, notes, hostile):
    drop = Dropped(
        reason=f"unknown {hostile}", source="h.csv", item=hostile, rater=hostile, value=hostile
    )
    row = replace(
        results[0],
        judge=hostile,
        because=Caution(code="like_constant", sentence=f"No closer than always {hostile}."),
        cautions=(Caution(code="failures", sentence=f"{hostile} failed"),),
    )

    text = notes([row], dropped=[drop]) + notes([row, replace(results[0], judge="other")])
    text = re.sub(" {2,}", " ", text)

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 6_000


def test_near_the_margin_where_judges_begin_to_pass_instability_is_no_news(results, notes):
    everywhere = [marked(row, "unstable") for row in results]

    assert "note:" not in notes(everywhere)
