"""What is written in any format, by any other tool, is read back equal."""

import csv
import io
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.io import read_labels

# Names of columns of our own.
OURS = {
    *("item", "id", "question", "cluster", "annotator", "judge", "rater"),
    *("label", "value", "probability", "failure"),
}
# A header with NUL is refused.
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
).filter(lambda name: name.strip() and name not in OURS)
# A word that may mean no answer, such as a dash, must be declared.
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(lambda word: f"w{word}w")
CODES = {1, 8, 9, 88, 99, 888, 999, 9999}
LABELS = {
    "boolean": st.sampled_from(["true", "false"]),
    "choice": WORDS,
    "text": WORDS,
    "scale": st.floats(allow_nan=False, allow_infinity=False).map(
        lambda number: number + 0.0 if abs(number) not in CODES else 0.0
    ),
    "multilabel": st.lists(WORDS, max_size=3, unique=True).map(sorted),
}


@st.composite
def answers(draw):
    """A kind of question, and labels by item and rater."""
    kind = draw(st.sampled_from(sorted(LABELS)))
    items = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    raters = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    keys = st.tuples(st.sampled_from(items), st.sampled_from(raters))
    return kind, draw(st.dictionaries(keys, LABELS[kind], min_size=1, max_size=8))


def long_rows(labels):
    return [
        {"item": item, "annotator": rater, "label": label}
        for (item, rater), label in labels.items()
    ]


def wide_rows(labels):
    raters = list(dict.fromkeys(rater for _, rater in labels))
    items = dict.fromkeys(item for item, _ in labels)
    return [
        {"item": item} | {rater: labels.get((item, rater)) for rater in raters} for item in items
    ]


def cell(value):
    if isinstance(value, list):
        return json.dumps(value)
    return "" if value is None else str(value)


def as_csv(rows, delimiter=","):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(rows[0])
    writer.writerows([cell(value) for value in row.values()] for row in rows)
    return text.getvalue().encode()


def as_jsonl(rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def as_parquet(rows):
    data = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(data)
    return data.getvalue()


WRITERS = {
    "csv": as_csv,
    "tsv": lambda rows: as_csv(rows, "\t"),
    "jsonl": as_jsonl,
    "json": lambda rows: json.dumps(rows).encode(),
    "parquet": as_parquet,
}


@pytest.mark.edges
@pytest.mark.parametrize("shape", [long_rows, wide_rows], ids=["long", "wide"])
@pytest.mark.parametrize("form", sorted(WRITERS))
@given(case=answers())
def test_labels_that_are_written_are_read_back(shape, form, case):
    kind, labels = case
    data = WRITERS[form](shape(labels))

    raters = None if shape is long_rows else list({rater: None for _, rater in labels})
    table = read_labels(io.BytesIO(data), format=form, role="annotator", kind=kind, raters=raters)

    found = {
        (item, rater): label
        for item, rater, label in table.frame.select("item", "rater", "label").iter_rows()
    }
    if kind == "multilabel" and shape is wide_rows and form in ("csv", "tsv"):
        labels = {(item, rater): [] for item, _ in labels for _, rater in labels} | labels
    assert found == labels
    assert table.dropped == ()


@given(case=answers())
def test_the_authors_json_is_read_back(case):
    kind, labels = case
    document = {}
    for (item, rater), label in labels.items():
        document.setdefault(rater, {})[item] = label

    table = read_labels(
        io.BytesIO(json.dumps(document).encode()), format="json", role="annotator", kind=kind
    )

    rows = table.frame.select("item", "rater", "label").iter_rows()
    assert {(item, rater): label for item, rater, label in rows} == labels


@given(case=answers())
def test_a_table_is_read_back_from_its_own_frame(case):
    kind, labels = case
    first = read_labels(
        pl.DataFrame(long_rows(labels), infer_schema_length=None),
        role="annotator",
        kind=kind,
        source_name="first",
    )

    again = read_labels(first.frame, role="annotator", kind=kind, source_name="first")

    assert again.frame.equals(first.frame)
