"""`--csv` and `.frame()`: the rows of a result, with the figures of its JSON."""

import io
import json

import polars as pl
import pytest

from made_results import made_certificate, made_gold, made_power, made_rates
from made_views import (
    made_fit,
    made_judging,
    made_replies,
    made_score,
    made_several,
    made_synthesis,
)
from voirdire.errors import InputError
from voirdire.reporting import to_json


def look_up(entry, path):
    """Follow the name of a column through the JSON of a row; keys may have dots too."""
    if path in entry:
        return entry[path]
    for key, value in entry.items():
        if isinstance(value, dict) and path.startswith(f"{key}."):
            return look_up(value, path.removeprefix(f"{key}."))
    return None


def assert_same(frame, entries):
    """Check every cell against the JSON of its row, and that no figure of a row is left out."""
    assert frame.height == len(entries) > 0
    for row, entry in zip(frame.iter_rows(named=True), entries, strict=True):
        for name, cell in row.items():
            assert cell == look_up(entry, name)
        figures = {k for k, x in entry.items() if isinstance(x, int | float | str)}
        assert figures <= row.keys()


RESULTS = {
    "certificate": (made_certificate, "examinations"),
    "gold": (made_gold, "gold"),
    "judging": (made_judging, "questions"),
    "power": (made_power, "rows"),
    "rates": (made_rates, "rates"),
    "replies": (made_replies, "replies"),
    "score": (made_score, "behaviors"),
    "synthesis": (made_synthesis, "slots"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_frame_holds_the_rows_of_the_json(name):
    make, key = RESULTS[name]
    result = make()

    content = json.loads(to_json(result))

    assert_same(result.frame(), content[key])


def test_a_list_within_a_list_has_a_row_for_each_of_its_entries():
    fit, several = made_fit(), made_several("one", "two")

    weights, questions = fit.frame(), several.frame()

    expected = [
        (row.behavior, one.feature, one.weight.value)
        for row in fit.behaviors
        for one in row.weights
    ]
    columns = ("behavior", "weights.name", "weights.value")
    assert weights.select(columns).rows() == expected
    assert questions["judge"].to_list() == ["one", "two"]
    assert questions["questions.share_true"].to_list() == [0.25, 0.25]


def test_another_list_is_named_and_what_is_none_is_refused():
    rates = made_rates()

    groups = rates.frame("rates.groups")

    assert groups["groups.name"].to_list() == ["new", "old"]
    found = [rates.results[0].groups[name].rate.estimate for name in ("new", "old")]
    assert groups["groups.rate.estimate"].to_list() == found
    for wrong in ("nothing", "rates.nothing"):
        with pytest.raises(InputError, match=r"`rows` must name one of .*, got 'nothing'"):
            rates.frame(wrong)


# On the command line ------------------------------------------------------------------------------


@pytest.fixture
def both(call):
    """Call a command for CSV and for JSON."""

    def both_forms(*arguments):
        table, content = call(*arguments, "--csv"), call(*arguments, "--json")
        assert (table.code, table.err) == (content.code, content.err)
        frame = pl.read_csv(io.StringIO(table.out), infer_schema=False)
        return frame, content.json

    return both_forms


def assert_alike(frame, entries):
    assert frame.height == len(entries) > 0
    for row, entry in zip(frame.iter_rows(named=True), entries, strict=True):
        for name, cell in row.items():
            wanted = look_up(entry, name)
            if isinstance(wanted, str | None):
                assert cell == wanted
            else:
                assert json.loads(cell) == wanted


def test_an_examination(both, files):
    frame, content = both("examine", *files, "--epsilon", "0.1", "--epsilon", "0.2")

    assert frame["judge"].to_list() == ["good", "good", "bad", "bad"]
    assert_alike(frame, content["examinations"])


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        (("power", "--human-noise", "0.1", "--judge-noise", "0.1", "--items", "50",
          "--simulations", "50"), "rows"),
        (("rubric", "list"), "rubrics"),
        (("judge", "ITEMS", "--judge", "openai/gpt-4o-mini", "--dry-run"), "estimates"),
    ],
)  # fmt: skip
def test_other_results(both, typed, key, tmp_path):
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "1", "prompt": "Hi", "response": "Hello"}\n')
    typed = [items if x == "ITEMS" else x for x in typed]

    frame, content = both(*typed)

    assert_alike(frame, content[key])


def test_a_name_that_a_spreadsheet_would_run_is_only_text(call, tmp_path):
    path = tmp_path / "labels.csv"
    rows = [f"i{n},{n % 2},{n % 2},{n % 2}" for n in range(40)]
    path.write_text("\n".join(["item,ann,bob,=1+1", *rows]) + "\n")

    done = call("examine", path, "--judge-column", "=1+1", "--kind", "boolean", "--csv")

    assert pl.read_csv(io.StringIO(done.out))["judge"].to_list() == ["'=1+1"]


def test_one_form_at_a_time(call, files):
    assert call("examine", *files, "--json", "--csv").code == 2
    done = call("score", "items.jsonl", "--reward", "reward.json", "-o", "-", "--csv")
    assert "`--csv` must not be given with `-o -`" in done.err
