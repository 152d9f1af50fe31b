"""The page of a result that is no examination: its figures, its words, and hostile names."""

import re
from dataclasses import replace

import pytest

from made_probing import report as made_probes
from made_results import (
    made_certificate,
    made_changes,
    made_gold,
    made_labels,
    made_power,
    made_rates,
)
from page_reading import Page, text_of
from view_reading import Reading
from voirdire.reporting import html_page, rows
from voirdire.stats import Caution, Estimate
from voirdire.studies import examine, examine_gold

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}",
    "{0.__class__}",
    "</style></svg><script>alert(2)</script>",
    "a\u202eb\u2066c",
    "x" * 10_000,
)
KINDS = {
    "gold": made_gold,
    "rates": made_rates,
    "probes": made_probes,
    "power": made_power,
    "certificate": made_certificate,
}


@pytest.fixture(params=["en", "zh"])
def language(request):
    return request.param


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def written(value, digits=2):
    """Write a figure as the English page does."""
    return re.sub(r"^(−?)0\.", r"\1.", f"{value:.{digits}f}".replace("-", "−"))


def with_ends(found):
    return f"{written(found.estimate)} {written(found.low)}–{written(found.high)}"


def in_percent(found):
    return f"{100 * found.estimate:.1f}% {100 * found.low:.1f}–{100 * found.high:.1f}%"


def rows_of(page, table=0):
    return [[" ".join(cell.split()) for cell in row] for row in Page(page).tables[table]]


@pytest.mark.edges
def test_the_page_is_whole_and_asks_for_nothing(kind, language):
    page = html_page(KINDS[kind](), language=language)

    seen = Page(page)
    assert seen.open == []
    assert len(seen.ids) == len(set(seen.ids))
    assert not {"script", "iframe", "form", "img"} & set(seen.elements)
    assert not re.search(r"url\((?!#)|@import", page)
    read = text_of(page[: page.index('id="settings"')])  # whose values are JSON
    assert not re.search(
        r"[{}]|\bnan\b|Undefined|\b(results|gold|rates|probes|power)\.[a-z]+", read
    )
    assert html_page(KINDS[kind](), language=language) == page


@pytest.mark.edges
def test_both_languages_have_the_same_figures(kind):
    tables = [Page(html_page(KINDS[kind](), language=x)).tables for x in ("en", "zh")]

    assert [[len(row) for row in table] for table in tables[0]] == [
        [len(row) for row in table] for table in tables[1]
    ]
    first, second = (
        [re.sub(r"\b0\.(?=\d)", ".", re.sub(r"至|to", "–", cell)).split(" ")[-1]
         for row in table[0] for cell in row if re.search(r"\d", cell)]
        for table in tables
    )  # fmt: skip
    assert first == second


def test_gold_figures_are_those_of_the_result():
    examination = made_gold()

    page = html_page(examination)

    [_, *rows] = rows_of(page)
    for row, found in zip(rows, examination.results, strict=True):
        figures = found.classification.figures
        assert row[:3] == [found.question, "mine", "120"]
        assert row[3] == with_ends(figures["accuracy"])
        assert row[4:6] == [with_ends(figures[name]) for name in ("sensitivity", "specificity")]
        assert row[-1] == written(found.classification.always["accuracy"])
    text = text_of(page)
    thin = sum(examination.results[1].classification.table[1])
    assert f"refuses by mine: only {thin} items have the gold label “true”" in text


def test_what_calibration_recommends_stands_open_with_its_picture():
    examination = made_gold(questions=("apologises",))
    advised = examination.results[0].recommended

    page = html_page(examination)

    assert '<details id="calibration" open>' in page
    assert (
        f"lowers the Brier score from {written(advised.brier, 3)} to "
        f"{written(advised.calibrated_brier, 3)}"
    ) in text_of(page)
    assert 'class="plot square"' in page


def test_rates_stand_beside_what_not_to_report():
    report = made_rates()
    found = report.results[0]

    page = html_page(report)

    [_, whole, *groups] = rows_of(page)
    assert whole[:2] == ["label", "gpt"]
    assert whole[3:6] == [in_percent(getattr(found.result, x)) for x in ("rate", "human", "naive")]
    assert [row[2] for row in groups] == ["new", "old"]
    assert f"say {100 * found.result.naive.estimate:.1f}%" in text_of(page)
    assert '<details id="rates-differences" open>' in page  # 10% and 50% differ for sure


def test_an_undefined_interval_leaves_its_reason():
    report = made_rates(groups=(), n_labelled=1)
    found = report.results[0].result

    page = html_page(report)

    assert found.reason is not None
    assert f"label by gpt: {found.reason}." in text_of(page)
    assert rows_of(page)[1][4] == f"{100 * found.human.estimate:.0f}%"


def test_probes_come_with_their_noise_and_what_to_do():
    report = made_probes()

    page = html_page(report)

    [_, *rows] = rows_of(page)
    assert [row[0] for row in rows[:3]] == [row.probe for row in report.found]
    assert rows[0][3] == "+.20 .16–.24"
    assert rows[-1][3] == "–"  # own/choice has no values
    text = text_of(page)
    assert "3 of 5 probes found a bias in openai/gpt-4o-mini" in text
    assert "between askings of the same (2 runs, α .97), 1.2% of the labels flip" in text
    assert "Against steering: Judge the final answer alone." in text
    assert "Against authority and style: Try a jury." in text


def test_instability_is_said_before_all_biases_and_what_to_do_about_it():
    probes = made_probes()
    shaken = replace(probes.stability, flip_rate=Estimate(estimate=0.45, low=0.36, high=0.54))
    report = replace(probes, stability=shaken)

    text = text_of(html_page(report))

    assert report.unstable == ("stability",)
    assert text.index("is unstable") < text.index("3 of 5 probes found a bias")
    assert "Do not rely on one answer of this judge" in text


def test_advice_is_chinese_on_a_chinese_page():
    text = text_of(html_page(made_probes(), language="zh"))

    assert "只评判最终回答" in text
    assert "评判员" not in text


def test_a_power_analysis_names_the_smallest_design():
    result = made_power(0.0)

    page = html_page(result)

    [_, *rows] = rows_of(page)
    text = text_of(page)
    for row, plan in zip(rows, result.smallest_plans, strict=True):
        assert plan.n_items is not None
        assert row == [written(plan.epsilon, 1), f"{plan.n_items}", f"{plan.n_annotators}",
                       f"{plan.n_labels}", written(plan.power)]  # fmt: skip
        assert f"{plan.n_items} items by {plan.n_annotators} annotators" in text
    [heads, *grid] = rows_of(page, 1)
    assert heads == ["Annotators", "Items", "Labels", "ε = .1", "ε = .2"]
    assert [row[3:] for row in grid if row[1] == "20"] == [["–", "–"]] * 2
    by_size = {(row.n_annotators, row.n_items, row.epsilon): row for row in result.rows}
    reached = by_size[3, 100, 0.2]
    assert grid[2] == ["3", "100", "300", grid[2][3], f"{written(reached.power)} ✓"]
    assert "fewer than 30 items" in text


def test_a_certificate_says_what_passed_and_what_does_not_hold():
    record = made_certificate()

    asked, holds = html_page(record), html_page(record, changes=())
    broken = html_page(record, changes=made_changes())

    assert "It certifies 1 of 2 outcomes as passed." in text_of(asked)
    assert "English chats" in text_of(asked)
    assert "The certificate holds" in text_of(holds)
    assert "The certificate does not hold" in text_of(broken)
    changed = [row[0] for row in rows_of(broken, 1)[1:]]
    assert len(changed) == len(made_changes())
    assert not [what for what in changed if "poor" in what]
    rho = [written(row["advantage_probability"]) for row in record.examinations]
    assert [row[6] for row in rows_of(asked)[1:]] == rho


def hostile_results():
    yield made_gold(HOSTILE[0], (HOSTILE[1], HOSTILE[4]))
    yield made_rates(HOSTILE[1], HOSTILE[2], (HOSTILE[3], HOSTILE[5]))
    yield made_certificate((HOSTILE[0], HOSTILE[6]), HOSTILE[4], HOSTILE[1])
    probes = made_probes()
    bad = [replace(row, summary=HOSTILE[0], advice=HOSTILE[1]) for row in probes.probes]
    yield replace(probes, judge=HOSTILE[4], rubric=HOSTILE[0], notes=HOSTILE, probes=tuple(bad))
    said = tuple(Caution(code="few_items", sentence=text) for text in HOSTILE)
    yield replace(made_power(), cautions=said, settings={HOSTILE[0]: HOSTILE[1]})


@pytest.mark.ci
def test_hostile_text_stays_text(language):
    for result in hostile_results():
        page = html_page(result, language=language, title=HOSTILE[0])

        seen = Page(page)
        assert seen.open == []
        assert not {"script", "img"} & set(seen.elements)
        assert not [name for _, name, _ in seen.attributes if name.startswith("on")]
        assert "\u202e" not in page
        assert "x" * 500 not in page
        assert "49" not in re.findall(r"(?<=judge-)\d+", page)


def test_of_a_choice_of_two_the_page_says_which_label_sensitivity_is_about():
    labels = {item: ["ham", "spam"][item % 3 == 0] for item in range(90)}
    found = examine_gold(judges={"gpt": labels}, gold=labels, kind="choice")

    [said] = [x for x in Reading(rows(found)).notes if "sensitivity" in x]
    assert "sensitivity is the share of “spam” that the judge finds" in said
    assert not [x for x in Reading(rows(made_gold())).notes if "sensitivity" in x]


def test_an_examination_shows_its_judges_beside_the_majority():
    people, machines = made_labels()
    found = examine(humans=people, judges=machines)

    page = html_page(found)

    fold = page[page.index('<details id="q1-agreement"') :]
    rows = rows_of(fold[: fold.index("</details>")], table=-1)
    [good, poor] = found.questions[0].against_majority
    assert rows[1][:3] == ["good", "80", with_ends(good.classification.figures["accuracy"])]
    assert rows[2][0] == "poor"
    assert rows[2][-1] == written(poor.classification.always["accuracy"])
