"""Verdicts as one record: pieces put together, other judges joined, items taken out again."""

import numpy as np
import polars as pl
import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.io import read_verdicts
from voirdire.judging import ScriptedJudge, judge_items
from voirdire.records import Failure, Item, Verdicts
from voirdire.rubrics import rubric_from_text

RUBRIC = rubric_from_text("""
schema: voirdire.rubric/1
name: two
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  refuse:
    demands: {sorry: required, rude: unacceptable}
""")
ITEMS = [Item(id=f"i{k}", response=f"{k}", behavior="refuse" if k % 2 else None) for k in range(7)]


def answer(item):
    number = int(item.response)
    return (number / 10, float("nan") if number == 3 else 0.25)


def part(question, judge, *, items=("a", "b"), values=(0.25, 0.75), **changes):
    said = {
        "items": items,
        "behaviors": (None,) * len(items),
        "questions": (question,),
        "probabilities": np.array(values, dtype=float).reshape(len(items), 1),
        "judge": judge,
        "fingerprint": f"sha256:{judge}",
    }
    return Verdicts(**(said | changes))


def test_pieces_of_a_run_are_what_is_judged_at_once():
    judge = ScriptedJudge(questions=RUBRIC.propositions, answer=answer)
    pieces = list(judge_items(ITEMS, judge, rubric=RUBRIC, batch_size=3))
    at_once = voirdire.judge(ITEMS, judge=judge, rubric=RUBRIC)

    whole = Verdicts.concatenate(pieces)

    assert len(pieces) == 3
    for layout in ("long", "wide"):
        assert whole.frame(layout).equals(at_once.frame(layout))
        assert whole.frame(layout).equals(pl.concat([row.frame(layout) for row in pieces]))
    assert whole.missing == {"i3": "the judge gave no probability"}
    assert whole.classes("refuse").equals(at_once.classes("refuse"))


def test_two_judges_on_other_questions_are_joined():
    first = part("sorry", "one", threshold=0.3)
    second = part("rude", "two", items=("b", "c"), values=(0.5, float("nan"))).with_reasons(
        {"c": "timeout"}
    )

    both = first.join(second)

    assert (both.items, both.questions, both.judge) == (
        ("a", "b", "c"),
        ("sorry", "rude"),
        "one + two",
    )
    np.testing.assert_array_equal(
        both.probabilities, [[0.25, np.nan], [0.75, 0.5], [np.nan, np.nan]]
    )
    assert both.threshold == {"sorry": 0.3, "rude": 0.5}
    assert both.missing == {"a": "no verdict", "c": "timeout"}
    assert both.failures == {(2, 1): Failure(reason="timeout")}
    assert both.fingerprint == second.join(first).fingerprint != first.fingerprint


def test_two_judges_are_read_from_two_files(tmp_path):
    part("rude", "two").frame().write_parquet(tmp_path / "2.parquet")
    part("sorry", "one").frame().write_ndjson(tmp_path / "1.jsonl")

    found = read_verdicts([tmp_path / "2.parquet", tmp_path / "1.jsonl"], rubric=RUBRIC)

    assert found.questions == ("sorry", "rude")
    assert found.probabilities.tolist() == [[0.25, 0.25], [0.75, 0.75]]
    with pytest.raises(InputError, match=r"`judge` must name one of .* 'one', 'three'"):
        read_verdicts([tmp_path / "1.jsonl", part("sorry", "three")], rubric=RUBRIC)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (part("sorry", "one"), "got a second one on 'a' and 'sorry'"),
        (part("sorry", "two"), "must be of one run, got the judges 'one' and 'two'"),
        (part("rude", "one", fingerprint="sha256:x"), "got the fingerprints"),
        (part("sorry", "one", items=("c", "d"), threshold=0.7), "got the thresholds '0.5' and"),
        (part("rude", "two", behaviors=("comply", None)), "`behavior` must be one for each item"),
        (part("rude", "two", response_hashes=("sha256:2", None)), "`response_hash` must be one"),
    ],
)
def test_what_does_not_belong_together_is_not_joined(other, message):
    with pytest.raises(InputError, match=message):
        part("sorry", "one", behaviors=("refuse", None), response_hashes=("sha256:1", None)).join(
            other
        )


def test_items_are_taken_out_with_their_reasons():
    given = part("sorry", "one", values=(0.25, float("nan")))
    given = given.with_reasons({"a": "nothing lacks", "b": "timeout"})

    found = given.take(["b", "x"])

    assert np.isnan(found.probabilities).all()
    assert found.missing == {"b": "timeout", "x": "no verdict"}
    assert given.failures == {(1, 0): Failure(reason="timeout")}
    assert given.take(["a", "b"]) is given
