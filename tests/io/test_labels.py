"""Tables of labels: joined, without repeats, and with what verdicts declare of themselves."""

import dataclasses
import io

import polars as pl
import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.io import join_tables, read_labels

# Tables -------------------------------------------------------------------------------------------


def made(labels, *, kind="choice", rater="ann", name="f", role="annotator"):
    frame = pl.DataFrame({"item": [f"{n}" for n in range(len(labels))], rater: labels})
    return read_labels(frame, role=role, kind=kind, raters=[rater], source_name=name)


def test_tables_join_in_their_order():
    joined = join_tables([made(["x", "y"]), made(["x"], rater="bob", name="g")])

    assert joined.kind == "choice"
    assert joined.frame.select("rater", "item", "label", "source").rows() == [
        ("ann", "0", "x", "f"),
        ("ann", "1", "y", "f"),
        ("bob", "0", "x", "g"),
    ]


@pytest.mark.parametrize(
    ("kind", "labels"),
    [("multilabel", [["a"], []]), ("scale", [1, 2]), ("boolean", [True, False])],
)
def test_tables_of_every_kind_join(kind, labels):
    joined = join_tables([made(labels, kind=kind), made(labels, kind=kind, rater="bob")])

    assert joined.frame.height == 4


def test_drops_are_kept_and_repeats_across_tables_listed():
    first = made(["x", "can't tell"], name="f.csv")
    second = made(["x", "y"], name="g.csv")

    joined = join_tables(iter([first, second]))

    assert joined.frame.select("item", "label", "source").rows() == [
        ("0", "x", "f.csv"),
        ("1", "y", "g.csv"),
    ]
    assert [(drop.reason, drop.place()) for drop in joined.dropped] == [
        ("can't tell", "f.csv:2: column `ann`"),
        ("duplicate row", "g.csv:1"),
    ]


def test_a_contradiction_across_tables_is_refused_with_both_places():
    with pytest.raises(InputError, match=r"g:1: `label` must be .* got 'y' after 'x' in f:1"):
        join_tables([made(["x"], name="f"), made(["y"], name="g")])


def test_tables_of_two_kinds_do_not_join():
    with pytest.raises(InputError, match=r"must be of one kind .* got \['choice', 'text'\]"):
        join_tables([made(["x"]), made(["x"], kind="text")])


def test_no_tables_do_not_join():
    with pytest.raises(InputError, match=r"`tables` must hold at least one table, got none"):
        join_tables([])


def test_a_judges_failures_join():
    joined = join_tables([made([None], role="judge"), made([None], role="judge", name="g")])

    assert joined.frame.select("label", "failure").rows() == [(None, "missing label")]
    assert joined.dropped[0].value is None


def test_a_table_is_frozen():
    frozen = made(["x"])

    with pytest.raises(dataclasses.FrozenInstanceError, match="kind"):
        frozen.kind = "text"


# Rows that repeat ---------------------------------------------------------------------------------


HEADER = "item,annotator,label\n"


def test_a_row_that_repeats_is_listed_once_for_each_time(read):
    table = read(HEADER + "1,ann,x\n2,ann,x\n1,ann,x\n1,bob,x\n1,ann,x\n")

    assert table.frame["line"].to_list() == [2, 3, 5]
    assert [(drop.reason, drop.line, drop.item, drop.value) for drop in table.dropped] == [
        ("duplicate row", 4, "1", "x"),
        ("duplicate row", 6, "1", "x"),
    ]
    assert table.dropped[0].column == "label"


def test_two_labels_for_one_item_are_refused_with_both_lines(read):
    message = (
        r"<stream>:4: `label` must be given once per question, item and rater, got 'y' after 'x' "
        r"in <stream>:2 \(question 'label', item '1', rater 'ann'\)\. Keep one of them\."
    )

    with pytest.raises(InputError, match=message):
        read(HEADER + "1,ann,x\n2,ann,x\n1,ann,y\n")


def test_two_spellings_of_one_truth_are_one_label(read):
    table = read(HEADER + "1,ann,yes\n1,ann,TRUE\n", kind="boolean")

    assert table.frame.height == 1
    assert table.dropped[0].reason == "duplicate row"


def test_the_same_set_in_another_order_is_one_label(read):
    table = read(HEADER + "1,ann,a|b\n1,ann,b|a\n", kind="multilabel", separator="|")

    assert table.frame["label"].to_list() == [["a", "b"]]
    assert table.dropped[0].value == "a, b"


def test_a_missing_label_beside_a_label_is_no_contradiction(read):
    table = read(HEADER + "1,ann,\n1,ann,x\n")

    assert table.frame["label"].to_list() == ["x"]
    assert [drop.reason for drop in table.dropped] == ["missing label"]


def test_other_questions_and_raters_are_other_labels(read):
    table = read("item,annotator,question,label\n1,ann,q,x\n1,ann,r,y\n1,bob,q,y\n")

    assert table.frame.height == 3


def test_a_judges_failure_beside_a_label_is_a_contradiction(read):
    text = "item,judge,label,failure\n1,gpt,,timeout\n1,gpt,x,\n"

    with pytest.raises(InputError, match=r":3: .* got 'x' after a failure \(timeout\) in .*:2"):
        read(text, role="judge")


def test_judges_named_in_a_column_that_was_not_read_contradict_each_other(read):
    text = "id,model,label\n1,gpt,x\n1,llama,y\n"

    with pytest.raises(InputError, match="must be given once per question, item and rater"):
        read(text, role="judge")

    assert read(text, role="judge", columns={"judge": "model"}).raters == ["gpt", "llama"]


def test_a_judge_that_failed_twice_failed(read):
    table = read("item,judge,label,failure\n1,gpt,,timeout\n1,gpt,,\n", role="judge")

    assert table.frame["failure"].to_list() == ["timeout"]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [("duplicate row", 3)]


# What verdicts declare: thresholds and fingerprints -----------------------------------------------


HEAD = "item,judge,question,label,probability,threshold,fingerprint\n"


def verdicts(rows, *, role="judge", **settings):
    source = io.BytesIO((HEAD + rows).encode())
    return read_labels(source, role=role, kind="boolean", format="csv", **settings)


def by_item(table):
    return dict(table.frame.select("item", "label").rows())


def test_labels_stand_under_the_threshold_that_the_verdicts_declare():
    table = verdicts("a,m,q,false,0.6,0.7,sha256:1\nb,m,q,true,0.8,0.7,sha256:1\n")

    assert by_item(table) == {"a": "false", "b": "true"}
    assert table.thresholds == {"q": (0.7,)}


def test_a_threshold_of_the_callers_own_goes_before_the_declared_one():
    table = verdicts("a,m,q,false,0.6,0.7,sha256:1\nb,m,q,true,0.8,0.7,sha256:1\n", threshold=0.5)

    assert by_item(table) == {"a": "true", "b": "true"}
    assert table.thresholds == {}


def test_a_class_is_the_hard_one_and_not_one_beyond_the_threshold():
    # The class holds under the thresholded propositions; its probability is below .5.
    table = verdicts("a,m,hard_refuse.ideal,true,0.4,0.5,sha256:1\n", question="hard_refuse.ideal")

    assert by_item(table) == {"a": "true"}


def test_without_a_declared_threshold_it_is_a_half():
    text = "item,judge,label,probability\na,m,false,0.6\n"

    table = read_labels(io.BytesIO(text.encode()), role="judge", kind="boolean", format="csv")

    assert by_item(table) == {"a": "true"}
    assert (table.thresholds, table.fingerprints) == ({}, {})


def test_a_failure_has_no_label_but_a_reason():
    text = "item,judge,label,probability,threshold,failure\na,m,,,0.5,timeout\nb,m,true,0.9,0.5,\n"

    table = read_labels(io.BytesIO(text.encode()), role="judge", kind="boolean", format="csv")

    assert table.frame.select("item", "label", "failure").rows() == [
        ("a", None, "timeout"),
        ("b", "true", None),
    ]


def test_fingerprints_are_kept_by_judge():
    table = verdicts(
        "a,m,q,true,1,.5,sha256:1\na,n,q,true,1,.5,sha256:2\nb,m,r,true,1,.5,sha256:3\n"
    )

    assert table.fingerprints == {"m": ("sha256:1", "sha256:3"), "n": ("sha256:2",)}


def test_only_the_question_asked_for_gives_fingerprints():
    rows = "a,m,q,true,1,.5,sha256:1\nb,m,r,true,1,.5,sha256:3\n"

    assert verdicts(rows, question="r").fingerprints == {"m": ("sha256:3",)}


def test_a_mixture_of_runs_under_one_name_is_refused():
    rows = "a,m,q,true,1,.5,sha256:1\nb,m,q,true,1,.5,sha256:2\n"

    with pytest.raises(voirdire.InputError, match=r"several for 'm' on 'q'.*Name the judge"):
        verdicts(rows)


def test_blank_fingerprints_are_none():
    assert verdicts("a,m,q,true,1,.5,\nb,m,q,true,1,.5,  \n").fingerprints == {}


def test_joined_tables_keep_all_of_them():
    first = verdicts("a,m,q,true,1,.5,sha256:1\n")
    second = verdicts("a,n,q,true,1,.6,sha256:2\nb,m,r,true,1,.6,sha256:3\n")

    joined = join_tables([first, second])

    assert joined.fingerprints == {"m": ("sha256:1", "sha256:3"), "n": ("sha256:2",)}
    assert joined.thresholds == {"q": (0.5, 0.6), "r": (0.6,)}


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

    table = read_labels(frame, role="judge", kind="boolean", source_name="verdicts")

    assert by_item(table) == {"a": "false"}
    assert (table.thresholds, table.fingerprints) == ({"label": (0.7,)}, {"m": ("sha256:1",)})


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

    assert by_item(table) == {"a": "warm", "b": "cold"}
    assert table.thresholds == {}


def test_words_with_probabilities_are_refused_and_the_others_named():
    source = io.BytesIO((HEAD + MIXED).encode())

    with pytest.raises(voirdire.InputError, match=r"'boolean' .* without .* such as 'tone'\.$"):
        read_labels(source, role="judge", kind="choice", format="csv")


def test_questions_of_other_kinds_are_set_aside_whole_beside_propositions():
    table = verdicts(MIXED)

    assert by_item(table) == {"a": "true"}
    [drop] = table.dropped
    assert (drop.question, drop.value) == ("tone", "2 labels")
    assert "another kind" in drop.reason


def test_a_threshold_that_some_rows_of_a_question_lack_sets_nothing_aside():
    table = verdicts("a,m,q,true,0.9,0.5,sha256:1\nb,m,q,false,,,sha256:1\n")

    assert by_item(table) == {"a": "true", "b": "false"}


def test_joined_tables_of_one_judge_and_question_are_of_one_run():
    first = verdicts("a,m,q,true,1,.5,sha256:1\n")
    second = verdicts("b,m,q,true,1,.5,sha256:2\n")

    with pytest.raises(voirdire.InputError, match=r"by 'm' on 'q' must be of one run.*differently"):
        join_tables([first, second])
