"""Errors of the library in the words of the command line."""

import re

import pytest

from voirdire.cli.messages import in_options


@pytest.mark.parametrize(
    ("library", "typed"),
    [
        ("`epsilon` must be a number, got 'x'.", "`--epsilon` must be a number, got 'x'."),
        ("`min_items` must be at least 2.", "`--min-items` must be at least 2."),
        ("`clusters` must name", "`--cluster` must name"),
        ("h.csv: column `label` must exist", "h.csv: column `label` must exist"),
        ("h.csv: column `quality` must exist", "h.csv: column `quality` must exist"),
        ('Name it with columns={"item": ...}.', "Name it with --column item=YOURS."),
        ("wide table with raters=[...]", "wide table with --rater COLUMN"),
        ("or use method='exact'", "or use --method 'exact'"),
        ("Declare kind='multilabel'.", "Declare --kind 'multilabel'."),
        ("nothing of ours", "nothing of ours"),
        (
            "`source` must be a file that exists, got 'a.jsonl'.",
            "what is read must be a file that exists, got 'a.jsonl'.",
        ),
    ],
)
def test_arguments_become_options(library, typed):
    assert in_options(library) == typed


ARGUMENTS = """
alignment clusters columns epsilon epsilon_mode expert false_discovery_rate format gold humans
judges kind labels method min_annotators min_items missing normalize quality raters seed separator
threshold weights
"""


@pytest.mark.parametrize("argument", re.findall(r"\w+", ARGUMENTS))
def test_every_option_that_is_named_exists(options_of, argument):
    named = in_options(f"`{argument}` must")

    assert named.split()[0].strip("`") in options_of("examine")
