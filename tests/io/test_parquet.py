import datetime as dt
import decimal
import io

import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels


@pytest.fixture
def write(tmp_path):
    """Write a frame to a Parquet file and give its path."""

    def write_frame(columns, name="labels.parquet"):
        path = tmp_path / name
        pl.DataFrame(columns).write_parquet(path)
        return path

    return write_frame


def test_rows_stand_for_lines(write):
    path = write({"item": [1, None, 2], "annotator": ["ann"] * 3, "label": ["x", "y", "z"]})

    table = read_labels(path, role="annotator", kind="choice")

    assert table.frame.select("item", "label", "line").rows() == [("1", "x", 1), ("2", "z", 3)]
    assert table.dropped[0].place() == f"{path}:2: column `item`"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 4], ["3", "4"]),
        ([3.0, 0.5], ["3", "0.5"]),
        ([-0.0, 1e300], ["0", "1e+300"]),
        ([float("inf"), 2.0**62], ["inf", "4611686018427387904"]),
        ([True, False], ["true", "false"]),
        ([decimal.Decimal("3.00"), decimal.Decimal("2.50")], ["3", "2.5"]),
        ([dt.date(2026, 1, 2), dt.date(2026, 1, 3)], ["2026-01-02", "2026-01-03"]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])), ["a", "b"]),
    ],
)
def test_typed_columns_become_canonical_text(write, labels, expected):
    path = write({"item": [1, 2], "ann": labels})

    assert read_labels(path, role="annotator", kind="choice").frame["label"].to_list() == expected


def test_truth_values_and_ones_are_boolean(write):
    path = write({"item": ["a", "b"], "ann": [True, False]})
    ones = write({"item": ["a", "b"], "ann": [1.0, 0.0]}, "ones.parquet")

    for name in (path, ones):
        table = read_labels(name, role="annotator", kind="boolean")
        assert table.frame["label"].to_list() == ["true", "false"]


def test_numbers_that_are_not_finite_are_missing_or_unknown(write):
    path = write(
        {"item": [1, 2, 3], "annotator": ["ann"] * 3, "label": [1.0, float("nan"), -float("inf")]}
    )

    table = read_labels(path, role="annotator", kind="scale")

    assert table.frame["label"].to_list() == [1]
    assert [drop.reason for drop in table.dropped] == [
        "missing label",
        "unknown label: must be a finite number, got '-inf'",
    ]


def test_probabilities_and_failures_of_a_judge(write):
    path = write(
        {
            "item": [1, 2, 3],
            "probability": [0.7, None, 0.2],
            "failure": [None, "timeout", None],
        }
    )

    table = read_labels(path, role="judge", kind="boolean")

    assert table.frame.select("rater", "label", "failure").rows() == [
        ("labels", "true", None),
        ("labels", None, "timeout"),
        ("labels", "false", None),
    ]


def test_a_stream_of_parquet_is_read(write):
    data = write({"item": [1], "ann": ["x"]}).read_bytes()

    table = read_labels(io.BytesIO(data), format="parquet", role="annotator", kind="choice")

    assert table.frame["label"].to_list() == ["x"]


def test_the_name_of_a_file_is_no_pattern(write):
    path = write({"item": [1], "ann": ["x"]}, "labels[1]*.parquet")

    table = read_labels(path, role="annotator", kind="choice")

    assert table.frame["source"].to_list() == [str(path)]


def test_no_rows_are_no_data(write):
    path = write({"item": [], "ann": []})

    with pytest.raises(NoDataError, match=r"labels\.parquet: must hold at least one label"):
        read_labels(path, role="annotator", kind="choice")


@pytest.mark.parametrize("cut", [4, 20, -1, -200])
def test_a_truncated_file_is_refused_in_one_line(write, cut):
    path = write({"item": list(range(100)), "ann": ["x"] * 100})
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(
        InputError, match=r"labels\.parquet: must be a whole Parquet file, got"
    ) as e:
        read_labels(path, role="annotator", kind="choice")

    assert "\n" not in str(e.value)


def test_damage_inside_a_file_is_refused_in_one_line(write):
    path = write({"item": list(range(1000)), "ann": [f"x{n}" for n in range(1000)]})
    data = bytearray(path.read_bytes())
    data[8:400] = b"\xff" * 392
    path.write_bytes(data)

    with pytest.raises(InputError, match=r"labels\.parquet: must be a whole Parquet file, got"):
        read_labels(path, role="annotator", kind="choice")


@pytest.mark.parametrize("question", [None, "q"])
@pytest.mark.parametrize("reader", ["read_parquet_schema", "read_parquet"])
def test_a_panic_of_polars_is_an_error_of_the_file(write, monkeypatch, reader, question):
    path = write({"item": ["a"], "question": ["q"], "ann": ["x"]})

    def panic(*args, **kwargs):
        raise pl.exceptions.PanicException("range end index out of range\nbacktrace")

    monkeypatch.setattr(pl, reader, panic)
    monkeypatch.setattr(pl, "scan_parquet", panic)

    with pytest.raises(InputError, match=r"must be a whole Parquet file, got 'range end index out"):
        read_labels(path, role="annotator", kind="choice", question=question)


# One question of many -------------------------------------------------------------------------


def many_questions(path, *, n_items=500, column="question"):
    """Write rows of two questions in many row groups, and give what stands in them."""
    rows = [(f"i{n}", question, n % 3 == 0) for n in range(n_items) for question in ("p", "q")]
    frame = pl.DataFrame(rows, schema=["item", column, "label"], orient="row")
    frame.write_parquet(path, row_group_size=64)
    return frame


@pytest.mark.parametrize("column", ["question", "^q.*$"])
def test_one_question_is_read_with_its_rows_in_order(tmp_path, column):
    many_questions(tmp_path / "many.parquet", column=column)
    columns = None if column == "question" else {"question": column}

    table = read_labels(
        tmp_path / "many.parquet", role="judge", kind="boolean", question="q", columns=columns
    )

    assert table.frame["item"].to_list() == [f"i{n}" for n in range(500)]
    assert table.frame["line"].to_list() == [2 * n + 2 for n in range(500)]
    assert set(table.frame["question"]) == {"q"}


def test_a_question_that_is_not_there_names_those_that_are(tmp_path):
    many_questions(tmp_path / "many.parquet")

    with pytest.raises(NoDataError, match=r"got 'r'. Ask for one of 'p', 'q'"):
        read_labels(tmp_path / "many.parquet", role="judge", kind="boolean", question="r")


def test_questions_that_are_numbers_are_found_by_their_text(tmp_path):
    frame = pl.DataFrame({"item": ["a", "b"], "question": [1, 2], "label": [True, False]})
    frame.write_parquet(tmp_path / "numbers.parquet")

    table = read_labels(tmp_path / "numbers.parquet", role="judge", kind="boolean", question="2")

    assert table.frame.select("item", "line", "label").rows() == [("b", 2, "false")]
