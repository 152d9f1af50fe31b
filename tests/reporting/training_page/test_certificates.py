"""What the page, the JSON and the terminal say of the certificates behind a run."""

import math
from dataclasses import replace

import pytest

from made_training_run import PROPOSITIONS, made_run
from reporting.training_page.made_certificates import MARK, examination, made_certificates
from voirdire.reporting import training_summary


def run_with(states, **settings):
    """Make a run whose first three propositions pay, with these states in turn."""
    return made_run(12, certificates=made_certificates(PROPOSITIONS, states=states), **settings)


def test_the_table_says_of_each_proposition_what_was_shown(seen):
    run = run_with(("passed", "failed", "none", "no_evidence", "other_rubric"))

    [table] = [rows for rows in seen(run).tables if "Certificate" in rows[0]]

    mark = f"{MARK[:9]}…{MARK[-9:]}"
    figures = "{}, accuracy, 4 annotators, 1,200 items"
    assert [[cell.replace("\xa0", " ") for cell in row] for row in table[1:]] == [
        ["apology", "yes", "✓ valid", figures.format("ω = .75 at ε = .15"), mark],
        ["inability_to_comply", "yes", "examined, and not good enough",
         figures.format("ω = .25 at ε = .15"), mark],
        ["judgement", "yes", "never examined", "–", "–"],
        ["fully_complies", "no", "examined, and too little evidence",
         figures.format("ω = .25 at ε = .15"), mark],
        ["disclaimer", "no", "for another rubric", "–", mark],
    ]  # fmt: skip


def test_propositions_that_pay_come_first(seen):
    run = replace(run_with(("none",)), paying={"comply": ("disclaimer",)})

    [table] = [rows for rows in seen(run).tables if "Certificate" in rows[0]]

    assert [row[:2] for row in table[1:3]] == [["disclaimer", "yes"], ["apology", "no"]]


def test_every_state_has_words_in_both_languages(page_text):
    run = made_run(2, propositions=tuple("abcdefg"), paying={"x": tuple("abcdefg")})
    run = replace(run, certificates=made_certificates("abcdefg"))

    english, chinese = page_text(run), page_text(run, language="zh")

    for words in ("valid", "examined, and not good enough", "never examined",
                  "examined, and too little evidence", "for another judge, or other settings of it",
                  "for another rubric", "for none: weights given by hand"):  # fmt: skip
        assert words in english
    for words in (
        "有效",
        "未通过",
        "从未考察",
        "证据不足",
        "另一个评判模型",
        "另一个评分准则",
        "由人给定",
    ):
        assert words in chinese


@pytest.mark.edges
@pytest.mark.parametrize(
    ("states", "sentence", "count"),
    [
        (("passed",), "The judge has valid certificates for all 3 propositions that count.", 3),
        (
            ("passed", "failed", "none"),
            (
                "The judge has valid certificates for 1 of the 3 propositions that count. There is "
                "none for inability_to_comply and judgement."
            ),
            1,
        ),
        (
            ("other_judge",),
            "The judge has no valid certificate for any of the 3 propositions that count.",
            0,
        ),
    ],
)
def test_a_sentence_counts_what_pays_and_is_certified(page_text, states, sentence, count):
    run = run_with(states)

    text = page_text(run)

    assert sentence in text
    assert f"Certificates for {count} of the 3 propositions that count" in text
    story = text[: text.index("The judge was examined on other texts")]
    warned = f"The judge has no valid certificate for {3 - count} of the 3 propositions"
    assert (warned in story) == (count < 3)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (
            "passed",
            ("for all 1 proposition that counts.", "for 1 of the 1 proposition that counts"),
        ),
        (
            "none",
            ("for any of the 1 proposition that counts.", "for 1 of the 1 proposition that counts"),
        ),
    ],
)
def test_one_proposition_pays(page_text, state, words):
    run = made_run(2, propositions=("a",), paying={"x": ("a",)})

    text = page_text(replace(run, certificates=made_certificates("a", states=(state,))))

    assert "1 proposition that count " not in text
    for each in words:
        assert each in text


def test_a_run_without_a_record_of_them_says_so(page_text):
    run = made_run(12)

    text = page_text(run)

    assert "Certificates not recorded with the run; the reward file holds those of" in text
    assert "The run did not record which certificates this reward had. The reward file" in text
    assert "no valid certificate" not in text
    assert "✓ valid" not in text
    assert "certificates: " not in " ".join(training_summary(run))


def test_a_run_in_which_nothing_pays_has_nothing_to_vouch_for(page_text):
    run = replace(run_with(("none",)), paying={})

    text = page_text(run)

    assert "No proposition counts in the reward." in text
    assert "no valid certificate" not in text


@pytest.mark.ci
def test_undefined_figures_are_dashes(page_text):
    nothing = examination(winning_rate=math.nan, epsilon=0.2, n_items=0, n_annotators=1)
    run = run_with(("no_evidence",))
    certificates = {
        name: replace(row, examinations=(nothing,)) for name, row in run.certificates.items()
    }

    text = page_text(replace(run, certificates=certificates))

    assert "ω = – at ε = .2, accuracy, 1 annotator, 0 items" in text


def test_hostile_names_in_certificates_stay_text(rendered, seen):
    names = ("<script>alert(1)</script>", "{{7*7}}", "a\u202eb", "x" * 9_000)
    run = made_run(2, propositions=names, paying={"x": names})
    certificates = made_certificates(names, mark="<img src=x>", alignment="<b>&{0}")

    page = rendered(replace(run, certificates=certificates))

    assert seen(replace(run, certificates=certificates)).open == []
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>&" not in page
    assert "x" * 500 not in page


def test_many_are_cut_and_it_is_said(page_text):
    names = tuple(f"p{place}" for place in range(150))
    run = made_run(2, alarms=False, propositions=names)

    text = page_text(replace(run, certificates=made_certificates(names)))

    assert text.count("The first 100 of 150 are shown.") == 2  # these, and their rates


@pytest.mark.parametrize(
    ("states", "line"),
    [
        (("passed",), "certificates: valid for 3 of 3 propositions that pay"),
        (
            ("passed", "failed", "none"),
            (
                "certificates: valid for 1 of 3 propositions that pay; not for "
                "inability_to_comply, judgement"
            ),
        ),
    ],
)
def test_a_terminal_is_told_of_them_last(states, line):
    assert training_summary(run_with(states))[-1] == line


def test_a_terminal_names_five_and_counts_the_others():
    names = tuple("abcdefgh")
    run = made_run(2, alarms=False, propositions=names, paying={"x": names})

    lines = training_summary(replace(run, certificates=made_certificates(names, states=("none",))))

    assert lines[1:] == (
        "certificates: valid for 0 of 8 propositions that pay; not for a, b, c, d, e and 3 more",
    )
