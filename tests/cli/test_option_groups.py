"""A settings record is a group of options; what is typed becomes what the record holds."""

import inspect
import re
from dataclasses import fields

import pytest

from voirdire.io import Reading
from voirdire.judging import DistillSettings, JudgingSettings, LiveSettings, ModelSettings
from voirdire.rewards import FitSettings, ScoringSettings, SynthesisSettings
from voirdire.studies import ProbeSettings, RewardExaminationSettings
from voirdire.studies import TestPlan as Plan
from voirdire.web import ServerSettings

OF_OTHER_FILES = ("delimiter", "make_item", "sheet")
RECORDS = {
    "distill": {DistillSettings: ("behavior", *OF_OTHER_FILES)},
    "examine-reward": {RewardExaminationSettings: OF_OTHER_FILES},
    "probe": {ProbeSettings: OF_OTHER_FILES},
    "score": {ScoringSettings: OF_OTHER_FILES},
    "synthesize": {SynthesisSettings: OF_OTHER_FILES},
    "examine": {Reading: (), Plan: ("similarity", "controls")},
    "fit": {FitSettings: ("use_base",)},
    "judge": {
        ModelSettings: (
            *("model", "name", "key_header", "served_as", "top_logprobs", "both_orders"),
            *("max_attempts", "max_retries", "capabilities", "extra"),
        ),
        JudgingSettings: OF_OTHER_FILES,
    },
    "serve": {
        ServerSettings: ("token", "body_s"),
        LiveSettings: ("most_waiting", "batch_size", "rest_s"),
    },
}
OWN_HELP = {"confidence_level", "max_body", "n_items", "retry_failures", "workers"}


def described(record):
    """Give what the docstrings of a record, and of those it inherits from, say of its fields."""
    said = {}
    for each in record.__mro__[-2::-1]:
        for line in inspect.cleandoc(each.__doc__).split("\n"):
            if line == "Raises":
                break
            if found := re.match(r"(\w+) : ", line):
                own = said[found[1]] = []
            elif said and line.startswith("    "):
                own.append(line.strip())
    return {name: " ".join(lines) for name, lines in said.items()}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("command", "record"), [(name, record) for name, all_of in RECORDS.items() for record in all_of]
)
def test_every_field_of_a_record_is_an_option_with_its_help_and_default(
    call, list_options, command, record
):
    hidden = RECORDS[command][record]
    shown = " ".join(call(command, "--help-all").out.split())
    options = {row.field_info.name: row for row in list_options(command).values()}
    said = described(record)

    assert not {*hidden} & {*options} - {"token"}  # which the command reads from a variable
    for row in fields(record):
        if row.name in hidden:
            continue
        default = options[row.name].field_info.default
        assert default in (row.default, {}) or row.name == "workers", row.name
        assert row.name in OWN_HELP or said[row.name] in shown, row.name


@pytest.mark.edges
@pytest.mark.parametrize("typed", ["yes,no", " yes , no ", '["yes", "no"]'])
def test_labels_stand_between_commas_or_in_a_json_array(call, files, typed):
    done = call("examine", *files, "--kind", "choice", "--labels", typed, "--json")

    assert (done.code, done.json["dropped"]) == (0, [])


@pytest.mark.edges
@pytest.mark.parametrize(
    "typed",
    ['["a"', "[1, ]", "", " ", ",", "a,,b", "a,b,", "[null]", '[["a"], "b"]', '[{"a": 1}]', "[]"],
)
def test_labels_that_are_neither_are_a_usage_error(call, files, typed):
    done = call("examine", *files, "--labels", typed)

    assert (done.code, done.out) == (2, "")
    assert "`--labels` must be words between commas or a JSON array of them, got" in done.err


@pytest.mark.edges
@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("--epsilon", "1"), "`--epsilon` must be in the interval [0, 1), got 1.0."),
        (("--confidence-level", "95"), "Write 95% as 0.95."),
        (("--min-items", "1"), "`--min-items` must be a whole number of at least 2, got 1."),
        (("--threshold", "50", "--kind", "boolean"), "`--threshold` must be in [0, 1], got 50.0."),
        (("--column", "thing=x"), "`--column` must map our names to the table's"),
    ],
)
def test_what_a_record_refuses_is_our_error_before_a_file_is_read(call, typed, message):
    done = call("examine", "--humans", "none.csv", "--judges", "none.csv", *typed)

    assert (done.code, done.out) == (1, "")
    assert message in done.err


@pytest.mark.edges
@pytest.mark.parametrize(
    ("typed", "sizes"),
    [
        (["50"], [50]),
        (["30", "100"], [30, 100]),
        (["30,50, 100"], [30, 50, 100]),
    ],
)
def test_sizes_of_a_study_are_numbers_and_lists(call, typed, sizes):
    noise = ("--human-noise", 0.1, "--judge-noise", 0.1, "--simulations", 50, "--json")
    items = [word for size in typed for word in ("--items", size)]

    done = call("power", *noise, *items, "--epsilon", 0.2)

    assert sorted({row["n_items"] for row in done.json["rows"]}) == sizes


@pytest.mark.edges
@pytest.mark.parametrize(
    "typed",
    ["x", "30:60", "", "1.5", "3,"],
)
def test_other_sizes_are_refused_with_the_forms_that_are_read(call, typed):
    done = call("power", "--human-noise", 0.1, "--judge-noise", 0.1, "--items", typed)

    assert done.code == 2
    assert "`--items` must be numbers, as 30,50,100, got" in done.err
