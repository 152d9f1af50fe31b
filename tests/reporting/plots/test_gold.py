"""Gold labels and rates: what is drawn is what was found."""

import json

import polars as pl
import pytest

from reporting.plots.svg_reading import covered_texts, cut_texts
from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.reporting import draw_svg, plot
from voirdire.studies import examine_gold, rate

N = 60
TRUTHS = [item % 3 == 0 for item in range(N)]
JUDGES = {"exact": TRUTHS, "org/lenient-judge": [t or i % 5 == 0 for i, t in enumerate(TRUTHS)]}


def values(axes, by_gid, name="value-"):
    return [float(mark.get_xdata()[0]) for mark in by_gid(axes, name)]


def labels_of(axes):
    return [tick.get_text() for tick in axes.get_yticklabels()]


@pytest.fixture(scope="module")
def gold():
    rows = [
        {"item": item, "question": question, "judge": judge, "label": label}
        for question in ("apology", "refuses")
        for judge, labels in JUDGES.items()
        for item, label in enumerate(labels)
    ]
    truth = [
        {"item": item, "question": question, "label": t}
        for question in ("apology", "refuses")
        for item, t in enumerate(TRUTHS)
    ]
    return examine_gold(judges=pl.DataFrame(rows), gold=pl.DataFrame(truth))


@pytest.fixture(scope="module")
def rates():
    return rate(
        judges={name: dict(enumerate(labels)) for name, labels in JUDGES.items()},
        humans={name: dict(enumerate(TRUTHS[:30])) for name in ("ann", "bob", "eve")},
    )


def test_gold_rows_are_accuracy_sensitivity_and_specificity(gold, by_gid):
    axes = plot(gold, question="apology", judge="org/lenient-judge").axes[0]

    # 20 of 60 are true; of the 40 others the 8 whose number divides by 5 are called true
    assert values(axes, by_gid) == pytest.approx([52 / 60, 1.0, 32 / 40])
    assert labels_of(axes)[1:] == ["accuracy", "finds yes (sensitivity)", "finds no (specificity)"]
    assert values(axes, by_gid, "reference-") == pytest.approx([40 / 60])  # always no


def test_every_question_and_judge_is_a_group(gold):
    labels = labels_of(plot(gold, kind="gold").axes[0])

    assert [text for text in labels if " · " in text] == [
        f"{question} · {judge}" for question in ("apology", "refuses") for judge in JUDGES
    ]


def test_rates_stand_corrected_beside_people_and_raw_verdicts(rates, by_gid):
    axes = plot(rates, judge="org/lenient-judge").axes[0]

    found = next(row.result for row in rates.results if row.judge == "org/lenient-judge")
    drawn = [found.rate, found.human, found.naive]
    assert values(axes, by_gid) == pytest.approx([each.estimate for each in drawn])
    ends = [list(line.get_xdata()) for line in by_gid(axes, "interval-")]
    assert ends == [pytest.approx([each.low, each.high]) for each in drawn]
    assert found.naive.estimate == pytest.approx(28 / 60)
    assert labels_of(axes)[1:] == ["corrected", "people’s labels alone", "judge’s raw verdicts"]


@pytest.mark.edges
@pytest.mark.parametrize("kind", ["gold", "rates"])
@pytest.mark.parametrize("width", [720, 340])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_their_figures_fit_page_and_telephone(gold, rates, kind, width, language):
    result = gold if kind == "gold" else rates

    svg = draw_svg(kind, result, language=language, width_px=width)

    assert cut_texts(svg) == []
    assert covered_texts(svg) == []


def test_the_json_is_drawn_alike(gold, rates, written):
    for kind, result in (("gold", gold), ("rates", rates)):
        assert written(plot(json.loads(json.dumps(as_plain(result))))) == written(
            plot(result, kind=kind)
        )


@pytest.mark.parametrize(("kind", "name"), [("gold", "examine_gold"), ("rates", "rate")])
def test_what_is_none_is_refused(make_study, kind, name):
    with pytest.raises(InputError, match=f"'{kind}' needs what `{name}` returns"):
        plot(make_study(), kind=kind)
