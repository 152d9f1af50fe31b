"""Verdicts in memory, in frames and in files are examined alike, whatever kind was asked."""

import polars as pl
import pytest

import voirdire
from judged_kinds import (
    ALIGNMENT_OF,
    KIND_OF,
    KINDS,
    PAIRS,
    PROPOSITIONS,
    RUBRIC_OF,
    human_rows,
    items,
    judge_of,
    machine,
    people,
)
from voirdire.errors import InputError, NoDataError
from voirdire.judging import judge_file
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine

PLAN = Plan(epsilon=0.1, n_resamples=0)
SUFFIXES = (".parquet", ".jsonl", ".csv")


@pytest.fixture(scope="module")
def verdicts():
    """Give the verdicts on each rubric."""
    return {
        rubric.name: voirdire.judge(items(rubric), judge=judge_of(rubric), rubric=rubric)
        for rubric in (KINDS, PAIRS, PROPOSITIONS)
    }


@pytest.fixture(scope="module")
def given(verdicts, tmp_path_factory):
    """Give what stands for a rubric's verdicts: themselves, a frame, and files."""
    folder = tmp_path_factory.mktemp("verdicts")
    for rubric in (KINDS, PAIRS):
        frame = verdicts[rubric.name].frame()
        frame.write_parquet(folder / f"{rubric.name}.parquet")
        frame.write_ndjson(folder / f"{rubric.name}.jsonl")
        frame.write_csv(folder / f"{rubric.name}.csv")

    def give(form, rubric):
        if form == "verdicts":
            return verdicts[rubric.name]
        if form == "frame":
            return verdicts[rubric.name].frame()
        return folder / f"{rubric.name}{form}"

    return give


def labels_by_people(*questions):
    return pl.DataFrame(human_rows(questions))


def assert_as_in_memory(examination, question):
    """Compare with what plain mappings of the same labels give."""
    [row] = examination.results
    alone = voirdire.alt_test(
        machine(question),
        people(question),
        kind=KIND_OF[question],
        alignment=ALIGNMENT_OF.get(question, "accuracy"),
        epsilon=0.1,
    )
    assert row.question == question
    assert row.annotators == alone.annotators
    assert row.winning_rate == alone.winning_rate
    assert row.worst_case.n_failures == 1


@pytest.mark.edges
@pytest.mark.parametrize("form", ["verdicts", "frame", *SUFFIXES])
@pytest.mark.parametrize("question", KIND_OF)
def test_every_kind_of_question_is_examined_in_every_form(given, question, form):
    found = examine(
        humans=labels_by_people(*[row.id for row in RUBRIC_OF[question].questions]),
        judges=given(form, RUBRIC_OF[question]),
        kind=KIND_OF[question],
        alignment=[ALIGNMENT_OF.get(question, "accuracy")],
        questions=[question],
        plan=PLAN,
    )

    assert_as_in_memory(found, question)
    assert [row for row in found.dropped if row.source != "judge"] == []


@pytest.mark.edges
@pytest.mark.parametrize("question", KIND_OF)
def test_the_kind_of_verdicts_is_known_where_they_answer_one(verdicts, question):
    found = examine(
        humans=people(question),
        judges=verdicts[RUBRIC_OF[question].name],
        alignment=[ALIGNMENT_OF.get(question, "accuracy")],
        questions=[question],
        plan=PLAN,
    )

    assert_as_in_memory(found, question)
    assert found.settings["kind"] == KIND_OF[question]


@pytest.mark.parametrize(("rubric", "question"), [(PROPOSITIONS, "sorry"), (PAIRS, "better")])
def test_the_one_question_of_verdicts_needs_no_name(verdicts, rubric, question):
    found = examine(humans=people(question), judges=verdicts[rubric.name], plan=PLAN)

    assert_as_in_memory(found, question)


def test_the_local_judge_answers_propositions():
    rows = [
        {"id": f"i{n}", "response": "Sorry, I can't." if n % 2 else "Sure: one, two, three."}
        for n in range(40)
    ]
    humans = {name: {f"i{n}": n % 2 == 1 for n in range(40)} for name in ("ann", "bob", "eve")}

    found = examine(humans=humans, judges=voirdire.judge(rows), questions=["apology"], plan=PLAN)

    assert found.settings["kind"] == "boolean"
    assert [row.question for row in found.results] == ["apology"]


def test_verdicts_of_several_kinds_say_how_to_ask(verdicts):
    with pytest.raises(InputError, match=r"several kinds .*kind='boolean', questions=\['sorry'\]"):
        examine(humans=labels_by_people("sorry", "tone"), judges=verdicts["kinds"])


def test_an_alignment_that_fits_one_kind_of_several_decides(verdicts):
    found = examine(
        humans=labels_by_people("quality"),
        judges=verdicts["kinds"],
        alignment=["neg_rmse"],
        plan=PLAN,
    )

    assert_as_in_memory(found, "quality")


def test_only_questions_of_the_kind_are_taken(verdicts):
    found = examine(
        humans=labels_by_people("tone"), judges=verdicts["kinds"], kind="choice", plan=PLAN
    )

    assert_as_in_memory(found, "tone")
    assert not any(row.question in {"sorry", "topics"} for row in found.dropped)


def test_a_question_that_was_not_judged_is_named_with_those_that_were(verdicts):
    with pytest.raises(NoDataError, match=r"got 'nicer'\. Ask for one of 'better'"):
        examine(humans=people("better"), judges=verdicts["pairs"], questions=["nicer"])


def test_keys_of_a_mapping_are_the_judges_names(verdicts):
    one = verdicts["pairs"]

    found = examine(humans=people("better"), judges={"mine": one, "yours": one}, plan=PLAN)

    assert found.judges == ("mine", "yours")
    first, second = found.results
    assert first.annotators == second.annotators


def test_a_list_of_paths_holds_several_judges(verdicts, tmp_path):
    paths = []
    for name in ("a", "b"):
        frame = verdicts["pairs"].frame().with_columns(judge=pl.lit(name))
        paths.append(tmp_path / f"{name}.csv")
        frame.write_csv(paths[-1])

    found = examine(humans=labels_by_people("better"), judges=paths, plan=PLAN)
    as_text = examine(
        humans=labels_by_people("better"), judges=[str(path) for path in paths], plan=PLAN
    )
    folder = examine(humans=labels_by_people("better"), judges=tmp_path, plan=PLAN)

    assert found.judges == as_text.judges == folder.judges == ("a", "b")
    assert [row.annotators for row in found.results] == [row.annotators for row in folder.results]


def test_several_questions_of_one_kind_are_read_together(verdicts, tmp_path):
    frame = verdicts["kinds"].frame()
    second = frame.filter(pl.col("question") == "tone").with_columns(question=pl.lit("mood"))
    path = tmp_path / "v.parquet"
    pl.concat([frame, second]).write_parquet(path)
    humans = labels_by_people("tone")
    humans = pl.concat([humans, humans.with_columns(question=pl.lit("mood"))])

    found = examine(
        humans=humans, judges=path, kind="choice", questions=["tone", "mood"], plan=PLAN
    )

    tone, mood = found.results
    assert (tone.question, mood.question) == ("tone", "mood")
    assert tone.annotators == mood.annotators


def test_labels_without_questions_are_not_taken_for_several(verdicts):
    humans = labels_by_people("tone").drop("question")

    with pytest.raises(InputError, match="`questions` must name one question for labels without"):
        examine(humans=humans, judges=verdicts["kinds"], kind="choice", questions=["tone", "mood"])


def test_labels_of_another_question_are_told_what_the_judges_hold(verdicts, tmp_path):
    path = tmp_path / "v.jsonl"
    verdicts["pairs"].frame().write_ndjson(path)

    with pytest.raises(NoDataError, match=r"question 'label', got none\. They hold 'better'"):
        examine(humans=people("better"), judges=path)


def test_probabilities_are_not_read_as_words_whatever_else_is_asked(given, tmp_path):
    path = given(".parquet", KINDS)
    humans = labels_by_people("sorry", "tone")

    with pytest.raises(InputError, match=r"`kind` must be 'boolean'.*without .* such as 'quality'"):
        examine(humans=humans, judges=path, kind="choice")
    with pytest.raises(InputError, match=r"Their labels are true and false\.$"):
        examine(humans=humans, judges=path, kind="choice", questions=["sorry"])


@pytest.mark.edges
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_a_run_writes_are_examined_as_they_are(tmp_path, suffix):
    rows = [{"id": item.id, "prompt": "?", "response": item.response} for item in items(KINDS)]
    pl.DataFrame(rows).write_ndjson(tmp_path / "items.jsonl")
    output = tmp_path / f"v{suffix}"

    judge_file(tmp_path / "items.jsonl", output, rubric=KINDS, judge=judge_of(KINDS))

    found = examine(
        humans=people("tone"), judges=output, kind="choice", questions=["tone"], plan=PLAN
    )
    assert_as_in_memory(found, "tone")
