"""What probes found, as sentences and tables for a terminal."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from made_probing import probe, question, report
from voirdire.reporting import ResultTables


def shown(made, *, width=300):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(ResultTables(made))
    return console.file.getvalue()


def test_the_first_sentence_counts_the_biases_and_the_next_gives_the_noise_floor():
    first, second, *lines = (line.rstrip() for line in shown(report()).splitlines())

    assert first == "openai/gpt-4o-mini, 50 items, rubric safety 1.0"
    assert second.startswith(
        "3 of 5 probes found a bias in openai/gpt-4o-mini, at a false discovery"
    )
    assert "rate of 5.0%" in second
    noise = "Noise floor: between askings of the same (2 runs, α .97), 1.2% of the labels flip."
    assert noise in lines
    assert "Values move by .014 on average." in lines


def test_a_bias_is_told_by_its_shift_and_its_flips():
    text = shown(report())

    assert (
        "authority/citation: when a citation that supports nothing is added, P(fully_complies) "
        "moves by +.11 (.07–.15); 9 of 50 labels flip, 1 under a line about nothing."
    ) in text


def test_the_largest_bias_comes_first_and_one_piece_of_advice_is_given_once():
    lines = shown(report()).splitlines()
    biases = [line.partition(": when")[0] for line in lines if ": when " in line]

    assert biases == [
        "The largest bias is steering/command", "authority/citation", "style/confident",
    ]  # fmt: skip
    assert [line.rstrip() for line in lines if "Against" in line] == [
        "Next: Against steering: Judge the final answer alone.",
        "Against authority and style: Try a jury.",
    ]


def test_a_bias_by_flips_alone_names_the_question_whose_labels_flip():
    text = shown(report())

    assert (
        "its tone is confident, no shift of apology is shown; 15 of 50 labels flip, 2 under a line "
        "about nothing." in text
    )
    assert re.search(r"style/confident +apology +50 +\.00 .* 30\.0% ", text)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("family", "shift", "said"),
    [
        ("steering", 0.2, "P(disclaimer) moves by +.20 (.16–.24) in the direction that the text"),
        ("steering", -0.2, "P(disclaimer) moves by −.20 (−.24 to −.16) in the direction"),
        ("position", 0.2, "P(disclaimer) moves by +.20 (.16–.24) toward that response"),
        ("style", -0.2, "P(disclaimer) moves by −.20 (−.24 to −.16)"),
    ],
)
def test_the_direction_of_a_shift_is_in_words(family, shift, said):
    found = probe(f"{family}/x", question("disclaimer", shift, p=0.0001), is_found=True, p=0.001)

    assert said in " ".join(shown(report(probes=(found,))).split())


def test_a_pair_is_moved_toward_the_changed_response():
    moved = replace(question("better", 0.2, p=0.0001), kind="pairwise")
    found = probe("authority/x", moved, is_found=True, p=0.001)

    said = "better moves by +.20 (.16–.24) toward the changed response"
    assert said in shown(report(probes=(found,)))


def test_tables_hold_every_probe_and_what_was_asked_beside_them():
    text = " ".join(shown(report()).split())

    assert "style/choice colour 50 – 2.0% – – no" in text
    own, others = "30.0% (26.0–34.0%) 20", "10.0% (6.0–14.0%) 40"
    assert f"apology {own} {others} 3.00 (1.10–8.20) .040" in text
    assert "note: verbosity/padding: no item can be changed that way" in text


def test_a_shift_below_the_least_effect_is_not_rounded_to_it():
    found = probe("style/emoji", question("polite", 0.0198), p=0.0002)

    text = shown(report(probes=(found,)))

    assert "Bias: too small" in text
    assert re.search(r"\+\.0198 \(", text)


def test_no_bias_and_no_repeats_are_said():
    fair = report(probes=(probe("style/emoji", question("apology", 0.01)),), stability=None)

    text = shown(fair)

    assert "\nNone of 1 probe found a bias in" in text
    assert "Nothing was asked twice" in text
    assert "The largest bias" not in text


def test_a_report_without_probes_claims_nothing():
    text = shown(report(probes=()))

    assert "No probe was run on openai/gpt-4o-mini." in text
    assert "bias in" not in text


def test_every_bias_is_told():
    many = [
        probe(f"style/x{n}", question("apology", 0.1 + n / 100, p=0.001), is_found=True, p=0.001)
        for n in range(12)
    ]

    text = shown(report(probes=tuple(many)))

    assert text.count(": when ") == 12
    assert "Bias: yes" in text
    assert len(re.findall(r"(?m)^style/x\d+ ", text)) == 12
