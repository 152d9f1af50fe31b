"""What weakens the figures and what was dropped, each thing said once."""

import math
import re
from dataclasses import replace

import pytest

from voirdire.records import Dropped
from voirdire.reporting.notes import (
    agreement_note,
    ceiling_note,
    dropped_note,
    footnotes,
    legend,
)
from voirdire.stats import Caution
from voirdire.stats.results import CAUTION_CODES

CODES = CAUTION_CODES


@pytest.fixture(scope="module")
def results(make_examination):
    """Give three judges at two margins."""
    found = make_examination(epsilon=[0.1, 0.2]).results
    return [replace(row, cautions=(), reasons=()) for row in found]


def marked(row, *codes):
    return replace(row, cautions=tuple(Caution(code=code, sentence=f"so {code}") for code in codes))


def test_there_are_codes():
    assert {"few_annotators", "many_ties", "failures", "not_judged"} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_caution_has_words_for_several_results_and_for_one(results, code):
    at_one_margin = [row for row in results if row.epsilon == 0.1]
    several = footnotes([marked(at_one_margin[0], code), *at_one_margin[1:]]).plain
    one = footnotes([marked(results[0], code)]).plain

    assert several.count("  note: ") == 1
    assert f"so {code}" not in several
    assert f"  note: so {code}" in one


def test_a_note_names_only_whom_it_concerns(results):
    good_at_both = [marked(row, "failures") if row.judge == "good" else row for row in results]
    fair_at_one = [
        marked(row, "failures") if (row.judge, row.epsilon) == ("fair", 0.2) else row
        for row in results
    ]
    everyone = [marked(row, "failures") for row in results]

    assert re.search(r"note: failed calls.*: good$", footnotes(good_at_both).plain, re.M)
    assert re.search(r"note: failed calls.*: fair at ε 0\.2$", footnotes(fair_at_one).plain, re.M)
    assert re.search(
        r"note: failed calls: the outcome counts them as lost$", footnotes(everyone).plain, re.M
    )


def test_a_long_list_of_judges_is_counted(results):
    many = [replace(results[0], judge=f"judge{number}") for number in range(30)]
    noted = [marked(row, "failures") for row in many[:20]] + many[20:]

    text = footnotes(noted).plain

    assert "judge7 and 12 more" in text
    assert "judge8" not in text


def test_reasons_for_no_evidence_are_said_once(results):
    reason = Caution(code="constant_passes", sentence="a constant passes")
    noted = [replace(row, reasons=(reason,)) for row in results]

    assert footnotes(noted).plain.count("no evidence: a constant passes") == 1


def test_agreement_is_said_with_its_interval_where_it_has_one(results):
    row = results[0]
    agreement = row.human_agreement

    text = agreement_note(row)

    assert f"α = {agreement.alpha:.2f}" in text
    assert f"95% interval {agreement.low:.2f} to {agreement.high:.2f}" in text
    without = replace(agreement, low=math.nan, high=math.nan)
    assert "interval" not in agreement_note(replace(row, human_agreement=without))
    undefined = replace(agreement, alpha=math.nan)
    assert agreement_note(replace(row, human_agreement=undefined)) == ""
    assert agreement_note(replace(row, human_agreement=None)) == ""


def test_drops_are_counted_by_reason_with_the_first_place():
    rows = [
        Dropped(reason="can't tell", source="h.csv", line=line, column="label", item=f"i{line}")
        for line in (4, 2, 9)
    ]
    rows.append(Dropped(reason="duplicate row", source="j.csv", line=5, rater="judge"))

    text = dropped_note(rows).plain.splitlines()

    assert text == [
        "dropped 3: can't tell (first: h.csv:4: column `label`: item 'i4')",
        "dropped 1: duplicate row (first: j.csv:5: rater 'judge')",
    ]


def test_many_reasons_are_counted():
    rows = [Dropped(reason=f"reason {number}", source="h.csv") for number in range(1_500)]

    text = dropped_note(rows).plain.splitlines()

    assert len(text) == 11
    assert text[-1] == "and 1,490 other reasons; --json lists every row"


@pytest.mark.parametrize("hostile", ["\x1b[31m", "[red]x[/]", "a\nb", "\u202e", "x" * 10**6])
def test_notes_of_hostile_rows_are_inert_and_short(results, shown, hostile):
    drop = Dropped(
        reason=f"unknown {hostile}", source="h.csv", item=hostile, rater=hostile, value=hostile
    )
    row = replace(
        results[0],
        judge=hostile,
        reasons=(
            Caution(
                code="constant_passes", sentence=f"a judge that always answers {hostile} passes"
            ),
        ),
        cautions=(Caution(code="failures", sentence=f"{hostile} failed"),),
    )

    text = shown(dropped_note([drop])) + shown(footnotes([row])) + shown(footnotes([row, *results]))

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 3000


def test_the_legend_says_what_the_columns_mean():
    text = legend().plain

    assert "ω" in text
    assert "ρ human" in text
    assert ".5" in text


def test_near_the_margin_where_judges_begin_to_pass_instability_is_no_news(results):
    everywhere = [marked(row, "unstable") for row in results]

    assert "note:" not in footnotes(everywhere).plain


def test_kappa_with_annotators_stands_beside_theirs_with_each_other(make_examination):
    [findings] = make_examination(epsilon=0.2).questions

    text = ceiling_note(findings)

    coefficients = {row.judge: row.coefficients for row in findings.agreement.judges}
    for name, found in [("good", coefficients["good"]), ("themselves", findings.agreement.ceiling)]:
        [kappa] = [row.estimate for row in found if row.coefficient == "cohen_kappa"]
        assert f"{name} {kappa:.2f}" in text
    assert text.index("good") < text.index("fair") < text.index("poor")
    assert ceiling_note(replace(findings, agreement=None)) == ""
