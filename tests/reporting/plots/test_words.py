"""Words and numbers on the figures are those of the page around them."""

import re
from pathlib import Path

import pytest
import yaml

from voirdire import reporting
from voirdire.reporting import plot

FOLDER = Path(reporting.__file__).parent / "plots"


@pytest.mark.edges
@pytest.mark.parametrize("kind", ["advantage", "winning_rate", "scatter"])
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
    axes = plot(make_power(), language=language).axes[0]

    assert tick in [each.get_text() for each in axes.get_yticklabels()]


@pytest.mark.parametrize(("language", "quotes"), [("en", "“”"), ("zh", "“”")])
def test_labels_are_quoted_as_on_the_page(language, quotes, make_study, written):
    opening, closing = quotes
    controls = written(plot(make_study(), language=language))
    assert any(f"{opening}no{closing}" in text for text in controls)


def test_both_languages_have_the_same_words_with_the_same_figures():
    words = yaml.safe_load((FOLDER / "words.yaml").read_text("utf-8"))

    for key, found in words.items():
        assert list(found) == ["en", "zh"], key
        english, chinese = (sorted(re.findall(r"\{(\w+)", found[each])) for each in ("en", "zh"))
        assert english == chinese, key


def test_every_word_is_used():
    sources = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    made = {"region_1", "region_2"}
    made |= {f"training_length_axis_{unit}" for unit in ("tokens", "characters")}
    words = yaml.safe_load((FOLDER / "words.yaml").read_text("utf-8"))

    unused = {key for key in words if not re.search(f"[\"']{key}[\"']", sources)} - made
    assert {key for key in unused if not key.startswith(("training_", "alt_training_"))} <= {
        "random", "majority_vote", "constant", "no_evidence",
    }  # fmt: skip
