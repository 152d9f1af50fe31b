"""What verdicts declare about themselves: thresholds and fingerprints."""

import io

import pytest

import voirdire
from voirdire.io import join_tables, read_labels, table_from_frame

HEAD = "item,judge,question,label,probability,threshold,fingerprint\n"


def read(rows, *, role="judge", **settings):
    source = io.BytesIO((HEAD + rows).encode())
    return read_labels(source, role=role, kind="boolean", format="csv", **settings)


def labels(table):
    return dict(table.frame.select("item", "label").rows())


def test_labels_stand_under_the_threshold_that_the_verdicts_declare():
    table = read("a,m,q,false,0.6,0.7,sha256:1\nb,m,q,true,0.8,0.7,sha256:1\n")

    assert labels(table) == {"a": "false", "b": "true"}
    assert table.thresholds == (0.7,)


def test_a_threshold_of_the_callers_own_goes_before_the_declared_one():
    table = read("a,m,q,false,0.6,0.7,sha256:1\nb,m,q,true,0.8,0.7,sha256:1\n", threshold=0.5)

    assert labels(table) == {"a": "true", "b": "true"}
    assert table.thresholds == ()


def test_a_class_is_the_hard_one_and_not_one_beyond_the_threshold():
    # The class holds under the thresholded propositions; its probability is below .5.
    table = read("a,m,hard_refuse.ideal,true,0.4,0.5,sha256:1\n", question="hard_refuse.ideal")

    assert labels(table) == {"a": "true"}


def test_without_a_declared_threshold_it_is_a_half():
    text = "item,judge,label,probability\na,m,false,0.6\n"

    table = read_labels(io.BytesIO(text.encode()), role="judge", kind="boolean", format="csv")

    assert labels(table) == {"a": "true"}
    assert (table.thresholds, table.fingerprints) == ((), {})


def test_a_failure_has_no_label_but_a_reason():
    text = "item,judge,label,probability,threshold,failure\na,m,,,0.5,timeout\nb,m,true,0.9,0.5,\n"

    table = read_labels(io.BytesIO(text.encode()), role="judge", kind="boolean", format="csv")

    assert table.frame.select("item", "label", "failure").rows() == [
        ("a", None, "timeout"),
        ("b", "true", None),
    ]


def test_fingerprints_are_kept_by_judge():
    table = read("a,m,q,true,1,.5,sha256:1\na,n,q,true,1,.5,sha256:2\nb,m,r,true,1,.5,sha256:3\n")

    assert table.fingerprints == {"m": ("sha256:1", "sha256:3"), "n": ("sha256:2",)}


def test_only_the_question_asked_for_gives_fingerprints():
    rows = "a,m,q,true,1,.5,sha256:1\nb,m,r,true,1,.5,sha256:3\n"

    assert read(rows, question="r").fingerprints == {"m": ("sha256:3",)}


def test_a_mixture_of_runs_under_one_name_is_refused():
    rows = "a,m,q,true,1,.5,sha256:1\nb,m,q,true,1,.5,sha256:2\n"

    with pytest.raises(voirdire.InputError, match=r"several for 'm' on 'q'.*Name the judge"):
        read(rows)


def test_blank_fingerprints_are_none():
    assert read("a,m,q,true,1,.5,\nb,m,q,true,1,.5,  \n").fingerprints == {}


def test_joined_tables_keep_all_of_them():
    first = read("a,m,q,true,1,.5,sha256:1\n")
    second = read("a,n,q,true,1,.6,sha256:2\nb,m,r,true,1,.6,sha256:3\n")

    joined = join_tables([first, second])

    assert joined.fingerprints == {"m": ("sha256:1", "sha256:3"), "n": ("sha256:2",)}
    assert joined.thresholds == (0.5, 0.6)


def test_annotators_have_none():
    text = "item,annotator,label,fingerprint\na,ann,true,sha256:1\n"

    table = read_labels(io.BytesIO(text.encode()), role="annotator", kind="boolean", format="csv")

    assert table.fingerprints == {}


def test_frames_declare_likewise():
    import polars as pl

    frame = pl.DataFrame(
        {
            "item": ["a"],
            "judge": ["m"],
            "label": [False],
            "probability": [0.6],
            "threshold": [0.7],
            "fingerprint": ["sha256:1"],
        }
    )

    table = table_from_frame(frame, role="judge", kind="boolean", source_name="verdicts")

    assert labels(table) == {"a": "false"}
    assert (table.thresholds, table.fingerprints) == ((0.7,), {"m": ("sha256:1",)})


def test_verdicts_with_probabilities_are_not_read_as_words():
    text = "item,question,label,probability,threshold\n1,asks,true,0.9,0.5\n"

    with pytest.raises(voirdire.InputError, match="`kind` must be 'boolean' for verdicts"):
        read_labels(io.BytesIO(text.encode()), format="csv", role="judge", kind="choice")


def test_words_that_were_declared_may_be_true_and_false():
    text = "item,question,label,probability,threshold\n1,asks,true,0.9,0.5\n"

    table = read_labels(
        io.BytesIO(text.encode()),
        format="csv",
        role="judge",
        kind="choice",
        labels=["true", "false"],
    )

    assert table.frame["label"].to_list() == ["true"]


MIXED = "a,m,asks,true,0.9,0.5,sha256:1\na,m,tone,warm,,,sha256:1\nb,m,tone,cold,,,sha256:1\n"


def test_answers_of_other_kinds_are_read_as_words():
    source = io.BytesIO((HEAD + MIXED).encode())

    table = read_labels(source, role="judge", kind="choice", format="csv", question="tone")

    assert labels(table) == {"a": "warm", "b": "cold"}
    assert table.thresholds == ()


def test_words_with_probabilities_are_refused_and_the_others_named():
    source = io.BytesIO((HEAD + MIXED).encode())

    with pytest.raises(voirdire.InputError, match=r"'boolean' .* without .* such as 'tone'\.$"):
        read_labels(source, role="judge", kind="choice", format="csv")


def test_questions_of_other_kinds_are_set_aside_whole_beside_propositions():
    table = read(MIXED)

    assert labels(table) == {"a": "true"}
    [drop] = table.dropped
    assert (drop.question, drop.value) == ("tone", "2 labels")
    assert "another kind" in drop.reason


def test_a_threshold_that_some_rows_of_a_question_lack_sets_nothing_aside():
    table = read("a,m,q,true,0.9,0.5,sha256:1\nb,m,q,false,,,sha256:1\n")

    assert labels(table) == {"a": "true", "b": "false"}


def test_joined_tables_of_one_judge_and_question_are_of_one_run():
    first = read("a,m,q,true,1,.5,sha256:1\n")
    second = read("b,m,q,true,1,.5,sha256:2\n")

    with pytest.raises(voirdire.InputError, match=r"by 'm' on 'q' must be of one run.*differently"):
        join_tables([first, second])
