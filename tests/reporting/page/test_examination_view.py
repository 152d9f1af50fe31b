"""What is said of an examination: verdicts, figures, cautions and folds are those of the result."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from voirdire.records import Dropped
from voirdire.reporting import rows
from voirdire.stats import Caution


def parts_of(view, kind):
    return [block for block in view.all_blocks() if getattr(block, "form", "") == kind]


def part(view, name):
    [found] = [x for x in view.all_blocks() if getattr(x, "name", "") == name]
    return found


def changed(examination, **keys):
    """Change every result."""
    found = tuple(replace(row, **keys) for row in examination.results)
    return replace(examination, results=found)


@pytest.fixture(scope="module")
def three(make_examination):
    """Examine a good, a fair and a poor judge of one question at one margin."""
    return make_examination(epsilon=0.2)


@pytest.fixture(scope="module")
def one(make_examination):
    return make_examination({"good": 0.05}, epsilon=0.2)


# Verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("finding", ["not_shown", "worse"])
def test_a_failure_is_said_as_it_was_found(one, say, finding):
    given = {"outcome": "failed", "finding": finding, "n_within": 3, "n_shown": 1}

    view = rows(changed(one, **given))

    assert view.lead[0].key == f"verdict.{finding}"
    assert "within ε = .2 for 3 of 4 annotators, shown for 1" in say(view.lead[0])
    assert view.blocks[0].rows[0][1].key == f"chip.{finding}"


def test_a_pass_says_for_how_many_it_is_shown_and_what_constant_it_beats(one, say):
    [row] = one.results
    constant = row.because.figures["constant"]

    shown, closer = map(say, rows(one).lead)

    assert shown.startswith(f"good passed: shown within ε = .2 for {row.n_shown} of 4")
    assert f"always “{constant}” (ρ .98 against" in closer


def test_no_question_is_named_where_there_is_one(one, three, page_text):
    assert "polite" not in page_text(one).partition("For your paper")[0]
    assert "polite" not in page_text(three).partition("For your paper")[0]


@pytest.mark.parametrize(("share", "is_said"), [(0.05, False), (0.46, True), (0.95, False)])
def test_how_often_it_passes_again_is_said_where_that_is_open(one, say, share, is_said):
    [row] = one.results
    unsure = changed(one, uncertainty=replace(row.uncertainty, stability=share))

    view = rows(unsure)

    assert any("at least .5 in 46% of resamples" in say(x) for x in view.lead) is is_said


def test_several_judges_have_a_sentence_each(three, say):
    view = rows(three)

    names, [sentences, table] = [row.judge for row in three.results], view.blocks
    assert [say(x).split()[0] for x in sentences.sentences] == ["good", "fair", "poor"]
    assert {say(row[0]) for row in table.rows} == set(names)
    n_passed = sum(row.outcome == "passed" for row in three.results)
    assert say(view.lead[0]).startswith(f"{n_passed} of 3 judges passed at ε = .2")


def test_many_judges_are_listed_by_verdict_and_ranked(three, say):
    first = three.results[0]
    found = tuple(replace(first, judge=f"j{n}", advantage_probability=1 - n / 100)
                 for n in range(30))  # fmt: skip

    groups, table = rows(replace(three, results=found, questions=())).blocks

    assert [say(x) for x in groups.sentences] == [
        "✓ passed j0, j1, j2, j3, j4, j5, j6, j7 and 22 more."
    ]
    assert [say(row[0]) for row in table.rows] == [f"j{n}" for n in range(20)]
    assert table.n_rows == 30


def test_judges_without_rho_come_last(three, say):
    found = [replace(row, advantage_probability=np.nan) if row.judge == "good" else row
            for row in three.results]  # fmt: skip

    table = rows(replace(three, results=tuple(found))).blocks[-1]

    assert say(table.rows[-1][0]) == "good"


def test_fewer_items_than_there_are_are_not_asked_for(one, say):
    figures = {"n_items": 60, "n_needed": 26, "epsilon": 0.15}
    reason = Caution(code="unpassable", sentence="", figures=figures)

    [sentence] = rows(
        changed(one, outcome="no_evidence", finding="no_evidence", because=reason)
    ).lead

    assert "majority is shown within the margin." in say(sentence)


def test_a_verdict_counts_the_annotators_with_failed_items_lost(one, say):
    because = Caution(code="missed", sentence="", figures={"n_annotators": 7})

    [sentence, *_] = rows(changed(one, finding="worse", outcome="failed", because=because)).lead

    assert "of 7 annotators" in say(sentence)


@pytest.mark.parametrize(("code", "step"), [("majority_copy", "passed"), ("turned_round", "worse")])
def test_a_suspicion_is_looked_into_before_the_outcome_is_acted_on(one, code, step):
    outcome = "passed" if step == "passed" else "failed"
    note = caution(code, n_items=50, n_opposite=48)

    view = rows(changed(one, finding=step, outcome=outcome, cautions=(note,)))

    assert [x.key for x in view.todo] == [f"todo.{code}"]


@pytest.mark.parametrize("code", ["untestable", "no_p_values", "like_constant", "unpassable"])
def test_no_evidence_says_why_and_what_to_do(one, say, code):
    figures = {"min_items": 30, "winning_rate": 0.75, "constant": "no", "epsilon": 0.2,
               "advantage_probability": 0.7, "constant_advantage": 0.6, "p_value": 0.2,
               "n_items": 60, "n_needed": 71}  # fmt: skip
    reason = Caution(code=code, sentence="THE RECORD", figures=figures)

    view = rows(changed(one, outcome="no_evidence", finding="no_evidence", because=reason))

    [sentence] = map(say, view.lead)
    assert sentence.startswith("No evidence about good: ")
    assert "THE RECORD" not in sentence
    assert view.todo[0].key == {"unpassable": "next.items"}.get(code, f"todo.{code}")
    assert len(view.todo) == 1


def test_a_reason_that_this_version_does_not_know_is_in_its_own_words(one, say):
    reason = Caution(code="from_the_future", sentence="Mind the gap")

    [sentence] = rows(
        changed(one, outcome="no_evidence", finding="no_evidence", because=reason)
    ).lead

    assert say(sentence) == "No evidence about good: Mind the gap."
    assert "Mind the gap" in say(sentence, "zh")


@pytest.mark.parametrize(("n_failures", "step"), [(0, "todo.not_judged"), (40, "todo.failures")])
def test_what_the_judge_left_out_is_not_the_labels_fault(one, say, n_failures, step):
    [row] = one.results
    reason = Caution(code="untestable", sentence="", figures={"min_items": 30})
    lost = replace(row.worst_case, n_failures=n_failures)
    left_out = () if n_failures else (caution("not_judged", n_unjudged=40, n_items=60),)

    view = rows(
        changed(
            one,
            outcome="no_evidence",
            finding="no_evidence",
            because=reason,
            n_items=20,
            worst_case=lost,
            cautions=left_out,
        )
    )

    assert say(view.lead[0]) == "No evidence about good: it answered 20 of 60 items."
    assert view.todo[0].key == step


def test_every_judge_has_one_piece_of_advice(three):
    advised = [name.text for x in rows(three).todo for name in x.figures["judges"].parts]

    assert sorted(advised) == sorted(three.judges)


# The table and its dots -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
def test_a_dot_is_an_annotator_and_filled_where_the_judge_is_shown(make_examination, rows_of, mode):
    examination = make_examination(epsilon=0.2, epsilon_mode=mode)
    by_judge = {row.judge: row for row in examination.results}

    table = rows(examination).blocks[-1]

    for cells in rows_of(table):
        row, track = by_judge[cells["column.judge"].text], cells["column.track"]
        assert [is_filled for _, is_filled in track.dots] == [x.shown for x in row.annotators]
        for (place, _), each in zip(track.dots, row.annotators, strict=True):
            # within ε on the picture is within ε in the test
            limit = 0.2 if mode == "additive" else 0.0
            if abs(each.mean_difference - limit) > 1e-9:
                assert (place > -0.2) == (each.mean_difference < limit)
        assert cells["column.winning_rate"].value == row.winning_rate
        assert cells["column.n_items"] == row.n_items
    assert [level for level, _ in table.levels] == [0.0, -0.2]


def test_failed_calls_have_a_column_only_where_there_are_any(three, make_examination):
    with_failures = make_examination(epsilon=0.2, failures=4)

    assert "column.failed_calls" in rows(with_failures).blocks[-1].columns
    assert "column.failed_calls" not in rows(three).blocks[-1].columns


def test_of_several_margins_the_deciding_one_is_shown(make_examination, rows_of, say):
    examination = make_examination({"good": 0.05}, epsilon=[0.0, 0.1, 0.2])
    first = next(row for row in examination.results if row.outcome == "passed")

    view = rows(examination)

    [cells] = rows_of(view.blocks[0])
    assert [level for level, _ in view.blocks[0].levels] == [0.0, -first.epsilon][
        : 1 + bool(first.epsilon)
    ]
    assert cells["column.winning_rate"].value == first.winning_rate
    [lines] = parts_of(view, "lines")
    assert [series.points for series in lines.series] == [
        tuple((row.epsilon, row.winning_rate) for row in examination.results)
    ]
    [row] = part(view, "q1.margins").blocks[2].rows
    assert [say(cell).split()[0] for cell in row[1:4]] == [
        f"{each.winning_rate:.2f}".removeprefix("0") for each in examination.results
    ]


def test_a_scatter_has_the_advantages_of_judge_and_annotator(three):
    scatters = parts_of(rows(three), "scatter")

    ranked = sorted(three.results, key=lambda row: -row.advantage_probability)
    for scatter, row in zip(scatters, ranked, strict=True):
        assert [point[:3] for point in scatter.points] == [
            (x.advantage_judge, x.advantage_human, x.shown) for x in row.annotators
        ]
        assert scatter.epsilon == row.epsilon


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
def test_every_annotator_has_a_row_with_the_interval_of_what_is_tested(
    make_examination, rows_of, mode
):
    slips = {"good": 0.1, "fair": 0.22, "near": 0.27, "poor": 0.4}
    found = make_examination(slips, epsilon=0.2, epsilon_mode=mode, n_items=120)

    table = part(rows(found), "q1.annotators").blocks[0]

    people = {(row.judge, x.annotator): x for row in found.results for x in row.annotators}
    assert table.n_rows == len(people)
    assert {one.shown for one in people.values()} == {True, False}
    for cells in rows_of(table):
        one = people[cells["column.judge"].text, cells["column.annotator"].text]
        track = cells["column.interval"]
        assert cells["column.p_exact"].value == one.deciding_p_value
        assert cells["column.p_t"].value == one.p_value
        assert cells["column.advantage_judge"].value == one.advantage_judge
        assert (track.low >= -0.2) is one.shown
        assert track.low < track.value < track.high
        if mode == "additive":  # the level is k/4 · .05 / (25/12) with k from 1 to 4
            widths = norm.isf([0.05 * 12 / 25, 0.05 * 12 / 100]) * one.standard_error
            assert widths[0] - 1e-9 <= track.high - track.value <= widths[1] + 1e-9
            assert track.low == pytest.approx(2 * track.value - track.high, abs=0.03)


def test_the_line_of_a_judge_lies_right_of_the_margin_where_half_are_shown(
    make_examination, rows_of
):
    slips = {"good": 0.1, "fair": 0.22, "near": 0.27, "poor": 0.4}
    found = make_examination(slips, epsilon=0.2, n_items=120)

    tracks = [cells["column.track"] for cells in rows_of(rows(found).blocks[-1])]

    by_rho = sorted(found.results, key=lambda row: -row.advantage_probability)
    halves = [row.winning_rate >= 0.5 for row in by_rho]
    assert [track.low >= -0.2 for track in tracks] == halves
    assert {*halves} == {True, False}


# Several questions ----------------------------------------------------------------------------


@pytest.mark.parametrize(("n_questions", "is_open"), [(2, True), (4, False)])
def test_several_questions_are_a_table_and_a_part_each(make_examination, say, n_questions, is_open):
    names = tuple(f"q-{n}" for n in range(n_questions))
    examination = make_examination(questions=names, epsilon=0.2)

    view = rows(examination)

    [table] = view.blocks
    outcomes = {(row.question, row.judge): row.outcome for row in examination.results}
    n_passed = sum(outcome == "passed" for outcome in outcomes.values())
    chips = [cell.key for row in table.rows for cell in row[1:]]
    assert chips.count("chip.passed") == n_passed
    questions = [x for x in view.parts if say(x.title).startswith("Question: ")]
    assert [say(x.title) for x in questions] == [f"Question: {name}" for name in names]
    assert {x.is_open for x in questions} == {is_open}
    assert [len(view.brief), len(view.brief[0].rows)] == [1, 3 * n_questions]
    good = [outcomes[name, "good"] for name in names].count("passed")
    assert say(view.lead[0]).startswith(f"good: passed on {good} of {n_questions} questions")


def test_questions_of_other_judges_have_a_table_of_their_own(make_examination):
    one, other = (
        make_examination(judges, questions=(f"q{n}", f"r{n}"), epsilon=0.2)
        for n, judges in enumerate(({"a": 0.1, "b": 0.2}, {"c": 0.1}))
    )
    both = replace(one, results=one.results + other.results, questions=())

    tables = rows(both).blocks

    assert [len(table.rows) for table in tables] == [2, 2]
    assert [len(table.columns) for table in tables] == [3, 2]


def test_a_judge_that_one_question_did_not_have_is_no_error(make_examination):
    both = make_examination(questions=("q", "r"), epsilon=0.2)
    found = tuple(x for x in both.results if (x.question, x.judge) != ("q", "fair"))

    tables = rows(replace(both, results=found)).blocks

    assert sorted(len(table.columns) for table in tables) == [2, 2]


# Cautions -------------------------------------------------------------------------------------

FIGURES = {
    "annotators": ["eve", "bob"], "n": 7, "min_items": 30, "few": 50, "n_clusters": 12,
    "label": "3.0", "human_label": "3", "share": 0.93, "low": 0.12, "alpha": 0.31, "one": 90,
    "other": 4, "n_labels": 5, "reason": "one label only", "n_given": 12_345_678,
}  # fmt: skip
SHOWN = {
    "counted": ["12,345,678 labels"],
    "chance_annotators": ["eve", "bob", "5 more"],
    "correction": ["Benjamini-Hochberg"],
    "few_annotators": ["three"],
    "few_clusters": ["12 clusters"],
    "few_items": ["50 items"],
    "not_judged": ["judged"],
    "one_sided": ["90", "4"],
    "similarity": ["similarity"],
    "skewed_labels": ["93%", "“3.0”"],
    "strange_annotators": ["eve", "5 more"],
    "strange_labels": ["“3.0”", "“3”"],
    "undeclared_labels": ["5 labels"],
    "undefined_agreement": ["one label only"],
    "untested_annotators": ["eve", "30 items"],
    "weak_agreement": [".12"],
    "weak_annotators": [".31"],
}
"""Figures of each caution that a reader must find in it."""


def noted(examination, *notes):
    return changed(examination, cautions=tuple(notes))


def caution(code, **figures):
    return Caution(code=code, sentence="THE RECORD.", figures=figures)


def test_a_pass_by_careless_annotators_is_said_in_the_verdict(one, say):
    note = caution("careless_annotators", annotators=["eve"], n=1, n_shown=0, n_others=2)

    view = rows(noted(one, note))

    verdict = " ".join(map(say, view.lead))
    assert "it passes by annotators who stand apart from the others (eve)" in verdict
    assert "shown within ε for 0 of 2" in verdict
    assert not view.cautions
    assert [x.key for x in view.todo] == ["todo.careless_annotators"]


@pytest.mark.edges
@pytest.mark.parametrize("code", SHOWN)
def test_a_caution_shows_its_figures_and_says_what_to_do(one, say, code):
    [(what, todo)] = rows(noted(one, caution(code, **FIGURES))).cautions

    for figure in SHOWN[code]:
        assert figure in say(what)
    assert "THE RECORD" not in say(what) + say(what, "zh")
    assert say(todo) != say(todo, "zh")


@pytest.mark.parametrize("figures", [{}, {"alpha": None}, {"alpha": "<b>"}])
def test_without_its_figures_a_caution_is_in_its_own_words(one, say, figures):
    [(what, _)] = rows(noted(one, caution("weak_annotators", **figures))).cautions

    assert say(what) == "THE RECORD."


def test_what_needs_nothing_or_stands_in_the_verdict_is_no_caution(one):
    codes = ("many_ties", "unstable", "failures", "vocabulary")

    assert rows(noted(one, *map(caution, codes))).cautions == ()


def test_a_weaker_caution_is_left_out_beside_the_stronger(one):
    both = noted(one, caution("weak_agreement", **FIGURES), caution("weak_annotators", **FIGURES))

    [(what, _)] = rows(both).cautions
    assert what.key == "caution.weak_annotators"


def test_a_caution_names_whom_it_concerns_unless_it_is_all(three, say):
    some = replace(three, results=tuple(
        replace(row, cautions=(caution("not_judged"),) if row.judge != "poor" else ())
        for row in three.results
    ))  # fmt: skip

    [(what, _)] = rows(some).cautions
    assert say(what).endswith("Concerns good and fair.")
    [(what, _)] = rows(noted(three, caution("not_judged"))).cautions
    assert "Concerns" not in say(what)


@pytest.mark.parametrize(
    ("rate", "answered", "n"), [(0.25, 0.75, 1), (0.25, 0.25, 0), (0.75, 1.0, 0)]
)
def test_failed_calls_are_a_cause_only_where_they_decide(one, rate, answered, n):
    [row] = one.results
    lost = replace(row.worst_case, n_failures=9, winning_rate_answered=answered)

    view = rows(changed(one, winning_rate=rate, worst_case=lost))

    assert [x.key for x in view.lead].count("verdict.failures") == n
    assert [x.key for x in view.todo].count("todo.failures") == n


def test_labels_set_aside_are_counted_by_reason_with_the_first_place(one, say, rows_of):
    found = [Dropped(reason="can't tell", source="h.csv", line=line) for line in (4, 9)]
    found.append(Dropped(reason="missing label", source="h.csv", line=11))

    view = rows(replace(one, dropped=tuple(found)))

    [(what, todo)] = view.cautions
    assert say(what) == "2 labels or rows were set aside: can't tell (2)."
    assert todo.key == "todo.dropped"
    first, second = rows_of(part(view, "dropped").blocks[0])
    assert (say(first["column.n_labels"]), say(first["column.first_place"])) == ("2", "h.csv:4")
    assert say(second["column.reason"]) == "missing label"


# Folds ----------------------------------------------------------------------------------------


def test_the_folds_of_a_full_examination(full, say):
    view = rows(full)

    names = [x.name.partition(".")[2] or x.name for x in view.parts]
    assert names == [
        "items", "margins", "annotators", "agreement", "controls", "differences",
        "diagnosis", "others",
        "paper",
    ]  # fmt: skip
    others = part(view, "q1.others").blocks[0]
    assert {say(row[0]) for row in others.rows} == {"hamming"}
    controls = part(view, "q1.controls").blocks[0]
    assert len(controls.rows) == 3
    assert len(controls.columns) == 2 + 2


def test_agreement_and_differences_have_the_figures_of_the_findings(full, rows_of):
    view, [findings] = rows(full), full.questions

    table = part(view, "q1.agreement").blocks[1]
    people = {x.coefficient: x.estimate for x in findings.agreement.ceiling}
    for key, cell in rows_of(table)[0].items():
        if (name := key.removeprefix("coefficient.")) in people:
            figure = cell.figures["value"] if hasattr(cell, "figures") else cell
            assert figure.value == people[name]
    [difference] = [x for x in findings.comparisons if x.alignment == "jaccard"]
    [row] = rows_of(part(view, "q1.differences").blocks[1])
    assert row["column.rho_a"].value == difference.advantage_a
    assert row["column.p_holm"].value == difference.p_adjusted


@pytest.mark.parametrize(("alpha", "key"), [(0.568, "alpha"), (np.nan, "undefined")])
def test_alpha_is_said_where_it_is_defined(one, alpha, key):
    [row] = one.results
    agreement = replace(row.human_agreement, alpha=alpha)

    view = rows(changed(one, human_agreement=agreement))

    assert part(view, "q1.agreement").blocks[0].sentences[-1].key == f"agreement.{key}"


def test_the_diagnosis_has_annotators_panels_and_slices(full, rows_of, say):
    [findings] = full.questions

    people, panels, slices = part(rows(full), "q1.diagnosis").blocks

    assert [row["column.agreement"].value for row in rows_of(people)] == [
        pytest.approx(x.agreement, nan_ok=True) for x in findings.diagnosis.annotators
    ]
    assert [row["column.n_unanimous"] for row in rows_of(panels)] == [
        x.panel.n_unanimous for x in findings.diagnosis.judges
    ]
    assert {say(row["column.slice"]) for row in rows_of(slices)} == {"lang = en", "lang = zh"}


def test_items_in_dispute_have_their_texts_and_answers(full, say):
    [cards] = parts_of(rows(full), "cards")
    [findings] = full.questions

    assert [card.title for card in cards.cards] == [item.item for item in findings.disputed]
    card, item = cards.cards[0], findings.disputed[0]
    assert card.texts[0].text == f"Prompt of {item.item}"
    shown = {say(who): say(what) for who, what, _ in card.rows if what is not None}
    assert {name: f"“{label}”" for name, label in (item.labels | item.answers).items()} == {
        name: shown[name] for name in item.labels | item.answers
    }


def test_pooled_questions_have_their_table(make_examination, rows_of):
    examination = make_examination(questions=("q", "r"), epsilon=0.2)

    table = part(rows(examination), "pooled").blocks[0]

    assert [row["column.omega_pooled"].value for row in rows_of(table)] == [
        x.winning_rate for each in examination.pooled for x in each.questions
    ]


def test_gold_labels_and_an_expert_are_named(one, say):
    [row] = one.results

    for settings, name in (({"gold": True}, "the gold labels"), ({"expert": "eve"}, "expert eve")):
        view = rows(changed(one, settings=row.settings | settings))

        assert name in say(view.lead[0])
        assert name in paragraph(view, say)[0]


def test_simulated_data_are_called_that_first(one, say):
    [notice] = rows(replace(one, settings={"simulated": True})).notice

    assert say(notice).startswith("Simulated data: no person gave these labels")
    assert rows(one).notice == ()


# The paragraph for a paper --------------------------------------------------------------------


def paragraph(view, say):
    _, quote, cited = next(x for x in view.parts if x.name.endswith("paper")).blocks
    return say(quote.sentences[0]), list(cited.sentences)


@pytest.mark.parametrize(
    ("figures", "settings", "text"),
    [
        ({}, {}, "tested (an exact unconditional test) whether"),
        ({"epsilon_mode": "multiplicative"}, {}, "is above (1 − ε) times the annotator’s"),
        ({}, {"n_clusters": 12}, "standard errors robust to 12 clusters (Liang & Zeger, 1986)"),
        ({}, {"weights": "imbalance"}, "weighted by the inverse frequency of their majority"),
        ({}, {"quality": {"ann": 2}}, "annotators weighted by their quality"),
        ({}, {"min_items": 20}, "each annotator with at least 20 items"),
        ({}, {"epsilon_reason": "they are <b>."}, "were examined, because they are <b>."),
        ({"alignment": "mine"}, {}, "with the other annotators (mine)"),
    ],
)  # fmt: skip
def test_the_paragraph_names_what_was_done(one, say, figures, settings, text):
    [row] = one.results

    said, references = paragraph(
        rows(changed(one, settings=row.settings | settings, **figures)), say
    )

    assert text in said
    assert "on 60 items labelled by 4 annotators" in said
    assert (
        f"(60 items, 0 failed calls) had ρ = {row.advantage_probability:.2f}".replace("= 0", "= ")
        in said
    )
    assert ("reference.liang" in references) is ("n_clusters" in settings)
