"""What the page and the terminal say of the certificates behind a run."""

from dataclasses import replace

import pytest

from made_training_run import PROPOSITIONS, made_run
from reporting.training_page.made_certificates import made_certificates
from voirdire.reporting import training_summary


def run_with(states, **settings):
    """Make a run whose first three propositions pay, with these states in turn."""
    return made_run(12, certificates=made_certificates(PROPOSITIONS, states=states), **settings)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("states", "count"),
    [(("passed",), 3), (("passed", "failed", "none"), 1), (("other_judge",), 0)],
)
def test_a_sentence_counts_what_pays_and_is_certified(page_text, states, count):
    text = page_text(run_with(states))

    assert f"Certificates for {count} of the 3 propositions that count" in text
    warned = f"The judge has no valid certificate for {3 - count} of the 3 propositions"
    assert (warned in text) == (count < 3)


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
