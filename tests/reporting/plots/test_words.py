"""Words and numbers on the figures are those of the page around them."""

import re

import pytest

from voirdire.reporting.page.phrases import CHINESE, ENGLISH
from voirdire.reporting.page_frame import numerals
from voirdire.reporting.page_frame import phrases as frame_phrases
from voirdire.reporting.plots import draw_power, plot
from voirdire.reporting.plots.words import words_in

PAGE = {"en": ENGLISH | frame_phrases.ENGLISH, "zh": CHINESE | frame_phrases.CHINESE}
NUMBERS = (0.5, 1, -0.25, -0.001, 0, 0.125, 0.999, -1, float("nan"), 0.1 + 0.2)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("value", NUMBERS)
def test_figures_write_numbers_as_the_page_does(language, value):
    written = numerals.decimal(value, leading_zero=language == "zh")

    assert words_in(language).two_digits(value) == written


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("epsilon", [0, 0.05, 0.1, 0.125, 0.2, 1, 0.3])
def test_figures_write_margins_as_the_page_does(language, epsilon):
    written = numerals.margin(epsilon, leading_zero=language == "zh")

    assert words_in(language).digits(epsilon) == written


@pytest.mark.parametrize(("language", "text"), [("en", "−.25"), ("zh", "−0.25")])
def test_negative_ticks_have_a_true_minus_sign(language, text):
    assert words_in(language).digits(-0.25) == text


def test_large_ticks_are_grouped():
    assert words_in("en").digits(12000) == "12,000"


@pytest.mark.parametrize(
    "kind", ["advantage", "winning_rate", "scatter", "controls", "agreement", "ceiling", "slices"]
)
@pytest.mark.parametrize(
    ("language", "foreign"), [("en", r"(?<!\d)0\.\d"), ("zh", r"(?<![\d.])\.\d")]
)
def test_no_number_on_a_figure_is_written_the_other_way(
    make_study, written, kind, language, foreign
):
    study = make_study(epsilons=(0.05, 0.2))

    texts = written(plot(study, kind=kind, language=language))

    assert any(re.search(r"\.\d", text) for text in texts)
    assert [text for text in texts if re.search(foreign, text)] == []


@pytest.mark.parametrize(("language", "tick"), [("en", ".2"), ("zh", "0.2")])
def test_power_has_ticks_of_the_language(make_power, language, tick):
    axes = draw_power(make_power(), language=language).axes[0]

    assert tick in [each.get_text() for each in axes.get_yticklabels()]


SAME = {
    "random": "control.name.random",
    "majority_vote": "control.name.majority_vote",
    "constant": "control.name.constant",
    "passed": "outcome.passed",
    "failed": "outcome.failed",
    "no_evidence": "outcome.no_evidence",
    "human_mark": "column.rho_human",
    "cohen_kappa": "coefficient.cohen_kappa",
    "gwet_ac": "coefficient.gwet_ac",
    "majority_agreement": "coefficient.majority_agreement",
    "majority_kappa": "coefficient.majority_kappa",
    "panel_majority_kappa": "coefficient.panel_majority_kappa",
    "raw_agreement": "coefficient.raw_agreement",
    "linear": "weights.linear",
    "quadratic": "weights.quadratic",
    "jaccard": "weights.jaccard",
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("ours", SAME)
def test_a_thing_has_one_name_on_the_page_and_on_its_figures(language, ours):
    name = words_in(language)(ours, label="{label}")
    page = PAGE[language][SAME[ours]]

    assert name.lower() == page.lower()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_labels_are_quoted_as_on_the_page(language, make_study, written):
    opening, closing = PAGE[language]["quotes"]

    study = make_study(labels=("no", "yes"))

    assert f"{opening}yes{closing}" in written(plot(study, kind="confusion", language=language))
    controls = written(plot(study, kind="controls", language=language))
    assert any(f"{opening}no{closing}" in text for text in controls)


def test_apostrophes_are_those_of_the_page():
    from voirdire.reporting.plots.words import _WORDS

    assert [words for words in _WORDS.values() if "'" in "".join(words)] == []
