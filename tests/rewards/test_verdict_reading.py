"""Verdicts from files, tables, memory and judges, as probabilities by item."""

import io
import json

import numpy as np
import polars as pl
import pytest

import voirdire
from asked_models import Asked, make_items
from judged_kinds import KINDS
from voirdire.errors import DroppedRowsWarning, InputError, NoDataError
from voirdire.io import read_verdicts
from voirdire.judging import LlmJudge, ScriptedJudge, judge_items
from voirdire.records import Item
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
SAID = {"a": (0.9, 0.1), "b": (np.nan, 0.2), "c": (0.3, 1.0)}
ITEMS = [Item(id=name, response=name, behavior="refuse" if name == "a" else None) for name in SAID]


def answering(name="scripted", said=SAID):
    return ScriptedJudge(
        questions=RUBRIC.propositions, answer=lambda item: said[item.id], name=name
    )


@pytest.fixture
def verdicts():
    return voirdire.judge(ITEMS, judge=answering(), rubric=RUBRIC)


def written(verdicts, tmp_path, layout, suffix):
    path = tmp_path / f"{layout}{suffix}"
    frame = verdicts.frame(layout)
    {".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson, ".csv": frame.write_csv}[
        suffix
    ](path)
    return path


def check_said(found, *, failure="the judge gave no probability"):
    assert found.items == ("a", "b", "c")
    assert found.questions == ("sorry", "rude")
    assert np.array_equal(found.probabilities, np.array(list(SAID.values())), equal_nan=True)
    assert found.behaviors == ("refuse", None, None)
    assert found.missing == {"b": failure}
    assert found.judge == "scripted"
    assert found.threshold == 0.5


@pytest.mark.edges
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_every_file_of_verdicts_says_the_same(verdicts, tmp_path, layout, suffix):
    path = written(verdicts, tmp_path, layout, suffix)

    found = read_verdicts(path, rubric=RUBRIC)

    check_said(found, failure="the judge gave no probability" if layout == "long" else "no verdict")
    assert found.fingerprint == verdicts.fingerprint


def test_verdicts_batches_and_frames_say_the_same(verdicts):
    batches = list(judge_items(ITEMS, answering(), rubric=RUBRIC, batch_size=2))
    frame = verdicts.frame()

    for source in (verdicts, batches, frame, frame.to_pandas(), frame.to_arrow(), [frame]):
        found = read_verdicts(source, rubric=RUBRIC)

        check_said(found)
        assert found.fingerprint == verdicts.fingerprint


def test_a_stream_is_read_as_jsonl(verdicts):
    stream = io.BytesIO()
    verdicts.frame().write_ndjson(stream)
    stream.seek(0)

    check_said(read_verdicts(stream, rubric=RUBRIC))


def test_what_is_read_already_is_given_back(verdicts):
    found = read_verdicts(verdicts, rubric=RUBRIC)

    assert read_verdicts(found, rubric=RUBRIC) is found


def test_rows_may_come_in_any_order(verdicts):
    frame = verdicts.frame().sample(fraction=1.0, shuffle=True, seed=3)

    found = read_verdicts(frame, rubric=RUBRIC)

    for row, name in enumerate(found.items):
        assert np.array_equal(found.probabilities[row], SAID[name], equal_nan=True)


def test_several_files_are_one(verdicts, tmp_path):
    frame = verdicts.frame()
    frame.filter(pl.col("item") == "a").write_parquet(tmp_path / "1.parquet")
    frame.filter(pl.col("item") != "a").write_csv(tmp_path / "2.csv")

    found = read_verdicts([tmp_path / "1.parquet", tmp_path / "2.csv"], rubric=RUBRIC)

    check_said(found)


def test_several_files_may_be_about_other_propositions(verdicts):
    frame = verdicts.frame()
    parts = [frame.filter(pl.col("question") == name) for name in ("rude", "sorry")]

    check_said(read_verdicts(parts, rubric=RUBRIC))


def test_propositions_without_verdicts_are_not_there(verdicts):
    frame = verdicts.frame().filter(pl.col("question") == "rude")

    found = read_verdicts(frame, rubric=RUBRIC)

    assert found.questions == ("rude",)
    assert found.probabilities.tolist() == [[0.1], [0.2], [1.0]]
    assert found.missing == {}


def test_items_without_a_row_are_missing_and_not_zero(verdicts):
    frame = verdicts.frame().filter((pl.col("item") != "c") | (pl.col("question") != "rude"))

    found = read_verdicts(frame, rubric=RUBRIC)

    assert np.isnan(found.probabilities[2, 1])
    assert found.missing["c"] == "no verdict"


def test_a_folder_holds_a_file_for_each_judge(verdicts, tmp_path):
    for name in ("one", "two"):
        other = voirdire.judge(ITEMS, judge=answering(name), rubric=RUBRIC)
        other.frame().write_parquet(tmp_path / f"{name}.parquet")

    found = read_verdicts(tmp_path, rubric=RUBRIC, judge="two")

    assert found.judge == "two"


def rows(*cells, **shared):
    names = ("item", "question", "probability")
    return pl.DataFrame([dict(zip(names, cell, strict=True)) | shared for cell in cells])


def test_a_negated_verdict_is_turned():
    frame = rows(("a", "sorry", 0.25), ("a", "rude", 0.25)).with_columns(
        negated=pl.Series([True, False])
    )

    found = read_verdicts(frame, rubric=RUBRIC)

    assert found.probabilities.tolist() == [[0.75, 0.25]]


def test_labels_alone_are_ones_and_zeros():
    frame = pl.DataFrame(
        {"item": ["a", "a", "b", "b"], "question": ["sorry", "rude"] * 2,
         "label": ["yes", "No", "false", None]}
    )  # fmt: skip

    found = read_verdicts(frame, rubric=RUBRIC)

    assert np.array_equal(found.probabilities, [[1, 0], [0, np.nan]], equal_nan=True)


def test_a_label_beside_missing_probabilities_is_not_made_one():
    frame = rows(("a", "sorry", None), ("a", "rude", 0.5), label=True)

    found = read_verdicts(frame, rubric=RUBRIC)

    assert np.isnan(found.probabilities[0, 0])
    assert found.missing == {"a": "a label without a probability"}


def test_a_vote_without_a_probability_is_a_label():
    frame = rows(("a", "sorry", None), ("a", "rude", None), label="true").with_columns(
        source=pl.Series(["vote", "logprob"])
    )

    found = read_verdicts(frame, rubric=RUBRIC)

    assert np.array_equal(found.probabilities, [[1.0, np.nan]], equal_nan=True)


def test_answers_of_other_kinds_are_passed_over():
    def answer(shown):
        said = {"tone": "warm", "topics": ["food"], "quality": 3, "why": "so"}
        return {"sorry": True, **said}

    frame = voirdire.judge(
        make_items(3), judge=LlmJudge(model=Asked(answer).model), rubric=KINDS
    ).frame()

    found = read_verdicts(frame, rubric=KINDS)

    assert frame["question"].n_unique() == 5
    assert found.questions == ("sorry",)
    assert (found.probabilities > 0.9).all()


def test_the_failure_of_a_call_is_told(verdicts):
    frame = verdicts.frame().with_columns(
        failure=pl.when(pl.col("item") == "b").then(pl.lit("timeout"))
    )

    assert read_verdicts(frame, rubric=RUBRIC).missing == {"b": "timeout"}


def test_one_of_several_judges_must_be_named(verdicts):
    other = voirdire.judge(ITEMS, judge=answering("other"), rubric=RUBRIC)
    frame = pl.concat([verdicts.frame(), other.frame()])

    with pytest.raises(InputError, match=r"must name one of the judges .* 'scripted', 'other'"):
        read_verdicts(frame, rubric=RUBRIC)
    with pytest.raises(InputError, match="must name one of the judges"):
        read_verdicts([verdicts, other], rubric=RUBRIC)
    with pytest.raises(InputError, match=r"must be among .*\('scripted', 'other'\), got 'third'"):
        read_verdicts(frame, rubric=RUBRIC, judge="third")
    for source in (frame, [verdicts, other], [verdicts.frame(), other.frame()]):
        assert read_verdicts(source, rubric=RUBRIC, judge="other").judge == "other"


def test_a_table_without_a_judge_is_called_after_its_file(tmp_path):
    rows(("a", "sorry", 0.5)).write_csv(tmp_path / "mine.csv")

    assert read_verdicts(tmp_path / "mine.csv", rubric=RUBRIC).judge == "mine"
    assert read_verdicts(tmp_path / "mine.csv", rubric=RUBRIC, judge="his").judge == "his"


def test_the_threshold_is_the_one_of_the_verdicts():
    judged = voirdire.judge(ITEMS, judge=answering(), rubric=RUBRIC, threshold=0.7)

    assert read_verdicts(judged, rubric=RUBRIC).threshold == 0.7
    assert read_verdicts(judged.frame(), rubric=RUBRIC).threshold == 0.7
    assert read_verdicts(judged.frame("wide"), rubric=RUBRIC).threshold == 0.7


@pytest.mark.edges
@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("suffix", ["frame", "parquet", "jsonl", "csv"])
def test_thresholds_by_proposition_are_those_of_the_verdicts(tmp_path, layout, suffix):
    own = {name: 0.3 + place / 10 for place, name in enumerate(RUBRIC.propositions)}
    judged = voirdire.judge(ITEMS, judge=answering(), rubric=RUBRIC, threshold=own)
    source = judged.frame(layout)
    if suffix != "frame":
        source = tmp_path / f"verdicts.{suffix}"
        writer = {"jsonl": "write_ndjson"}.get(suffix, f"write_{suffix}")
        getattr(judged.frame(layout), writer)(source)

    assert read_verdicts(source, rubric=RUBRIC).threshold == pytest.approx(own)


def test_verdicts_of_two_runs_are_refused(verdicts):
    frame = verdicts.frame()
    other = frame.with_columns(fingerprint=pl.lit("sha256:other"), item=pl.col("item") + "2")

    with pytest.raises(InputError, match="verdicts must be of one run, got the fingerprints"):
        read_verdicts(pl.concat([frame, other]), rubric=RUBRIC)
    with pytest.raises(InputError, match="verdicts must be of one run, got the fingerprints"):
        read_verdicts([frame, other], rubric=RUBRIC)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            rows(("a", "sorry", 0.5), ("b", "sorry", 0.5), ("a", "sorry", 0.5)),
            "verdicts:3: verdicts must be unique .* second one on 'a' and 'sorry'",
        ),
        (
            pl.DataFrame({"item": ["a", "b", "a"], "sorry": [0.1, 0.2, 0.3]}),
            "verdicts:3: verdicts must be unique .* second one on 'a'",
        ),
        (rows(("a", "sorry", 1.5)), r"column `probability` must be a number in \[0, 1\], got 1.5"),
        (rows(("a", "sorry", -0.1)), r"must be a number in \[0, 1\]"),
        (rows(("a", "sorry", "x")), r"must be a number in \[0, 1\], got 'x'"),
        (rows(("a", "sorry", float("inf"))), r"must be a number in \[0, 1\]"),
        (rows((None, "sorry", 0.5)), "column `item` must name an item, got nothing"),
        (rows(("a", "polite", 0.5)), "must be on propositions of the rubric, got 'polite'"),
        (pl.DataFrame({"item": ["a"], "polite": [1]}), "column `question` must exist"),
        (pl.DataFrame({"question": ["a"], "probability": [1]}), "column `item` must exist"),
        (pl.DataFrame({"item": ["a"], "question": ["a"]}), "column `probability` must exist"),
        (
            pl.DataFrame({"item": ["a"], "question": ["sorry"], "label": ["warm"]}),
            r"column `label` must be a number in \[0, 1\], or true or false, got 'warm'",
        ),
        (
            rows(("a", "sorry", 0.5), ("a", "rude", 0.5)).with_columns(
                behavior=pl.Series(["refuse", "comply"])
            ),
            "verdicts:2: column `behavior` must be one for each item, got 'refuse' and 'comply'",
        ),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_place(frame, message):
    with pytest.raises(InputError, match=message):
        read_verdicts(frame, rubric=RUBRIC)


def test_an_item_with_two_verdicts_in_two_tables_is_refused(verdicts):
    other = verdicts.frame().with_columns(probability=pl.lit(0.4))

    with pytest.raises(InputError, match=r"a second one on 'a' and 'sorry'\. Leave a file"):
        read_verdicts([verdicts, other], rubric=RUBRIC)


def test_the_same_verdicts_in_two_files_count_once_and_are_said(verdicts, tmp_path):
    for name, items in (("one", ["a", "b"]), ("two", ["b", "c"])):
        frame = verdicts.frame().filter(pl.col("item").is_in(items))
        frame.write_parquet(tmp_path / f"{name}.parquet")

    with pytest.warns(DroppedRowsWarning, match=r"1 item has the same verdicts in .*two\.parquet"):
        found = read_verdicts(tmp_path, rubric=RUBRIC)

    check_said(found)


def test_verdicts_on_another_rubric_are_refused(verdicts):
    with pytest.raises(InputError, match="must be on propositions of rubric 'safety', got none"):
        read_verdicts(verdicts, rubric=voirdire.load_rubric("safety"))


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ([], InputError, "`verdicts` must hold at least one file or table"),
        (io.BytesIO(b""), NoDataError, "must hold at least one verdict, got an empty file"),
        (io.BytesIO(b"{}x"), InputError, "line must be JSON"),
        (pl.DataFrame({"item": [], "question": [], "label": []}), NoDataError, "got no rows"),
        ("verdicts.xlsx", InputError, "must be Parquet, JSONL or CSV"),
        (__file__, InputError, "must end in one of"),
        ("none.parquet", InputError, "must be a file that exists"),
        (3, InputError, "`source` must be a path or an open binary file"),
    ],
)
def test_what_holds_no_verdicts_is_refused(source, error, message):
    with pytest.raises(error, match=message):
        read_verdicts(source, rubric=RUBRIC)


def own_line(**changes):
    names = ("item", "judge", "question", "label", "probability", "source", "threshold",
             "behavior", "failure", "fingerprint")  # fmt: skip
    row = dict.fromkeys(names) | {"item": "a", "question": "sorry", "probability": 0.5}
    return json.dumps(row | changes).encode()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([own_line(), own_line(item="b", probability="x")], ":2: column `probability` must be"),
        ([own_line(), b"", own_line()], ":3: verdicts must be unique"),
        ([own_line(), b"{"], ":2: line must be JSON"),
    ],
)
def test_a_fault_in_lines_of_ours_is_found_where_it_stands(tmp_path, lines, message):
    path = tmp_path / "ours.jsonl"
    path.write_bytes(b"\n".join(lines))

    for source in (path, io.BytesIO(path.read_bytes())):
        with pytest.raises(InputError, match=message):
            read_verdicts(source, rubric=RUBRIC)


def test_a_row_that_says_more_than_ours_is_heard(tmp_path):
    path = tmp_path / "ours.jsonl"
    lines = [own_line(), own_line(question="rude", negated=True, probability=0.25)]
    path.write_bytes(b"\n".join(lines))

    for source in (path, io.BytesIO(path.read_bytes())):
        found = read_verdicts(source, rubric=RUBRIC)

        assert found.probabilities.tolist() == [[0.5, 0.75]]


def test_numbers_as_ids_are_text():
    frame = pl.DataFrame({"item": [1.0, 2.0], "sorry": [0.5, 0.5]})

    assert read_verdicts(frame, rubric=RUBRIC).items == ("1", "2")
