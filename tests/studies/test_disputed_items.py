"""Items on which judges and annotators disagree: the most telling first, with their texts."""

import polars as pl
import pytest

import voirdire
from voirdire.errors import DegenerateDataWarning

PEOPLE = {
    "ann": {"a": "yes", "b": "yes", "c": "no", "d": "no", "e": "yes"},
    "bob": {"a": "yes", "b": "no", "c": "no", "d": "no"},
    "eve": {"a": "yes", "b": "yes", "c": "no", "d": "yes"},
}
JUDGES = {
    "good": {"a": "yes", "b": "yes", "c": "no", "d": "no", "e": "yes"},
    "odd": {"a": "no", "b": "no", "c": "no", "d": "yes"},
}


def disputed(humans=PEOPLE, judges=JUDGES, **settings):
    with pytest.warns(DegenerateDataWarning):  # five items are too few for a test
        found = voirdire.examine(humans=humans, judges=judges, **settings)
    return found.questions[0].disputed


def test_the_most_telling_item_comes_first():
    first, *others = disputed()

    # a: the judge is at distance 1 from people who are at distance 0 from each other; on b and d
    # it is at 2/3 from people who are at 2/3 from each other
    assert (first.item, first.telling, first.judges) == ("a", 1.0, ("odd",))
    assert first.labels == {"ann": "yes", "bob": "yes", "eve": "yes"}
    assert first.answers == {"good": "yes", "odd": "no"}
    assert others == []


def test_numbers_are_held_against_their_range():
    humans = {"ann": {"a": 1.0, "b": 5.0, "c": 3.0}, "bob": {"a": 1.0, "b": 5.0, "c": 4.0}}

    [found] = disputed(humans, {"odd": {"a": 1.0, "b": 4.0, "c": 3.0}}, alignment="neg_rmse")

    # labels go from 1 to 5: on b the judge is 1/4 away from two who agree; on c it is 0 and 1/4
    # away from two who are 1/4 apart
    assert (found.item, found.telling) == ("b", 0.25)


def test_texts_come_from_what_is_known_of_the_items():
    metadata = pl.DataFrame(
        {"item": ["a", "b"], "prompt": ["Hi", None], "response": ["No" * 5000, ""]}
    )

    [found] = disputed(metadata=metadata)

    assert found.texts == {"prompt": "Hi", "response": ("No" * 5000)[:2_000]}


def as_rows(labels, role, **more):
    rows = [
        {"item": i, role: who, "label": x} for who, its in labels.items() for i, x in its.items()
    ]
    return pl.DataFrame([row | {k: say(row) for k, say in more.items()} for row in rows])


def test_reasons_and_texts_stand_beside_labels():
    judges = as_rows(
        JUDGES,
        "judge",
        rationale=lambda row: f"{row['judge']} on {row['item']}" if row["judge"] == "odd" else None,
        prompt=lambda row: f"Prompt {row['item']}",
    )
    humans = as_rows(PEOPLE, "annotator", response=lambda row: "No" * 5000)

    [found] = disputed(humans, judges)

    assert found.reasons == {"odd": "odd on a"}
    assert found.texts == {"prompt": "Prompt a", "response": ("No" * 5000)[:2_000]}


def test_metadata_count_before_texts_beside_labels():
    judges = as_rows(JUDGES, "judge", prompt=lambda row: "other")

    [found] = disputed(PEOPLE, judges, metadata=pl.DataFrame({"item": ["a"], "prompt": ["Hi"]}))

    assert found.texts == {"prompt": "Hi"}
