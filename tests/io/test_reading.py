"""Reading labels: what is declared, the shape of a table, and who is in it."""

import csv
import doctest
import importlib
import io
import math
import subprocess
import sys

import polars as pl
import pytest

import voirdire
import voirdire.io
from voirdire.errors import InputError, NoDataError
from voirdire.io import join_tables, read_labels


@pytest.mark.parametrize("module", ["labels", "metadata", "label_reading"])
def test_the_examples_run(module):
    failed, tried = doctest.testmod(importlib.import_module(f"voirdire.io.{module}"))

    assert tried > 0
    assert failed == 0


def test_files_of_every_ending_hold_the_same_labels(tmp_path):
    frame = pl.DataFrame({"item": ["1", "2"], "annotator": ["ann", "bob"], "label": ["x", "y"]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.write_ndjson(tmp_path / "a.ndjson")
    frame.write_json(tmp_path / "a.json")
    frame.write_parquet(tmp_path / "a.parquet")
    columns = ["question", "item", "rater", "label", "failure", "cluster"]

    tables = [
        read_labels(path, role="annotator", kind="choice").frame.select(columns)
        for path in sorted(tmp_path.iterdir())
    ]

    assert len(tables) == 6
    assert all(table.equals(tables[0]) for table in tables)
    assert tables[0].select("item", "rater", "label").rows() == [
        ("1", "ann", "x"),
        ("2", "bob", "y"),
    ]


def test_a_path_may_be_text(tmp_path):
    path = tmp_path / "gpt.csv"
    path.write_text("item,label\n1,x\n")

    table = read_labels(str(path), role="judge", kind="choice")

    assert table.frame["rater"].to_list() == ["gpt"]
    assert table.frame["source"].to_list() == [str(path)]


@pytest.mark.edges
@pytest.mark.parametrize(
    "name",
    ["gpt4_gpteval", "gpt4_streval", "mistralinstruct_gpteval", "mistralinstruct_streval"],
)
def test_real_annotations_with_long_texts_are_read_whole(shared_dir, name):
    path = shared_dir / "data" / "xstest" / f"xstest_v2_completions_{name}.csv"
    raters = ["annotation_1", "annotation_2"]

    table = read_labels(path, role="annotator", kind="choice", raters=raters)

    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        expected = {}
        previous = reader.line_num
        for row in reader:
            for rater in raters:
                if row[rater].strip():
                    expected[row["id"], rater] = (row[rater], max(previous, 1) + 1)
            previous = reader.line_num
    found = {
        (item, rater): (label, line)
        for item, rater, label, line in table.frame.select(
            "item", "rater", "label", "line"
        ).iter_rows()
    }
    assert found == expected
    assert len(found) > 800


def test_everything_exported_is_there():
    assert voirdire.io.read_labels is read_labels


def test_a_label_that_nobody_can_read_leaves_an_empty_table(read):
    table = read("item,annotator,label\n1,ann,maybe\n", kind="boolean")

    assert table.frame.is_empty()
    assert table.frame.schema["label"] == pl.String
    assert len(table.dropped) == 1


def test_drops_come_in_the_order_of_lines(read):
    table = read(
        "item,annotator,label\n1,ann,maybe\n,ann,yes\n3,ann,\n4,ann,no\n4,ann,0\n", kind="boolean"
    )

    assert [drop.line for drop in table.dropped] == [2, 3, 4, 6]


# What is declared ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"role": "human"}, r"`role` must be one of 'annotator', 'judge', got 'human'"),
        ({"kind": "binary"}, r"`kind` must be one of .*'boolean'.*, got 'binary'"),
        ({"threshold": 50}, r"`threshold` must be in \[0, 1\], got 50\. Write 50% as 0\.5\."),
        ({"threshold": float("nan")}, r"`threshold` must be in \[0, 1\], got nan"),
        ({"separator": ""}, r"`separator` must be text, got ''"),
        ({"raters": "ann"}, r"`raters` must be a sequence of text, got 'ann'"),
        ({"raters": []}, r"`raters` must name at least one column, each once, got \[\]"),
        ({"raters": ["a", "a"]}, r"`raters` must name at least one column, each once"),
        ({"missing": [1]}, r"`missing` must be a sequence of text, got \[1\]"),
        ({"labels": "yes"}, r"`labels` must be a sequence of at least one label, got 'yes'"),
        ({"labels": []}, r"`labels` must be a sequence of at least one label, got \[\]"),
        ({"kind": "scale", "labels": ["x"]}, r"`labels` must be finite numbers .* got 'x'"),
        ({"kind": "scale", "labels": [float("inf")]}, r"must be finite numbers .* got inf"),
        ({"kind": "scale", "labels": [True]}, r"must be finite numbers .* got True"),
        ({"columns": {"text": "x"}}, r"`columns` must map our names .* got the key 'text'"),
        (
            {"columns": {"rater": "x", "annotator": "y"}},
            r"`columns` must name each column once, got 'rater' and 'annotator'",
        ),
    ],
)
def test_a_declaration_that_breaks_its_rule_is_refused(declared, message):
    with pytest.raises(InputError, match=message):
        read_labels(
            io.BytesIO(b"item,ann\n1,yes\n"),
            **{"format": "csv", "role": "annotator", "kind": "choice", **declared},
        )


def test_our_names_for_a_column_are_synonyms(read):
    columns = {"value": "answer", "judge": "model"}

    table = read("item,model,answer\n1,gpt,yes\n", role="judge", columns=columns)

    assert table.frame.select("item", "rater", "label").rows() == [("1", "gpt", "yes")]


def test_a_declared_rater_goes_before_the_name_of_the_file(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("item,label\n1,yes\n")

    table = read_labels(path, role="judge", kind="choice")
    named = read_labels(path, role="judge", kind="choice", rater_name="gpt")

    assert table.frame["rater"].to_list() == ["file"]
    assert named.frame["rater"].to_list() == ["gpt"]


# The shape of a table -----------------------------------------------------------------------------


def test_a_long_table_has_a_rater_and_a_label(read, labels_of):
    table = read("item,annotator,label\n1,ann,x\n1,bob,y\n")

    assert labels_of(table) == {("1", "ann"): "x", ("1", "bob"): "y"}
    names = ["question", "item", "rater", "label", "failure", "cluster"]
    names += ["seen_judge", "source", "line"]
    assert table.frame.columns == names
    assert table.frame.schema["line"] == pl.UInt32
    assert table.frame["question"].unique().to_list() == ["label"]
    assert table.frame["cluster"].null_count() == table.frame["failure"].null_count() == 2


@pytest.mark.parametrize("name", ["judge", "rater"])
@pytest.mark.parametrize("label", ["label", "value"])
def test_a_judges_long_table_may_call_its_label_a_value(read, labels_of, name, label):
    table = read(f"id,{name},{label}\n1,gpt,x\n", role="judge")

    assert labels_of(table) == {("1", "gpt"): "x"}


def test_a_wide_table_has_a_column_for_each_rater(read, labels_of):
    table = read("id,cluster,question,ann,bob\n1,c,q,x,\n2,d,q,,y\n")

    assert labels_of(table) == {("1", "ann"): "x", ("2", "bob"): "y"}
    assert table.frame["cluster"].to_list() == ["c", "d"]
    assert table.frame["question"].to_list() == ["q", "q"]
    assert table.frame["line"].to_list() == [2, 3]
    assert table.dropped == ()


def test_an_empty_cell_of_a_judge_is_a_failure_and_of_an_annotator_nothing(read):
    judged = read("item,gpt,llama\n1,x,\n", role="judge")

    assert judged.frame.select("rater", "label", "failure").rows() == [
        ("gpt", "x", None),
        ("llama", None, "missing label"),
    ]
    assert judged.dropped == ()
    assert read("item,ann,bob\n1,x,\n").frame.height == 1


def test_the_raters_of_a_wide_table_may_be_named(read, labels_of):
    text = "item,text,ann,bob,label\n1,hello,x,y,z\n"

    table = read(text, raters=["bob", "ann"])

    assert labels_of(table) == {("1", "bob"): "y", ("1", "ann"): "x"}


def test_columns_may_have_the_callers_names(read, labels_of):
    table = read(
        "text_id,worker,answer,topic,page\n1,ann,x,q,p\n",
        columns={
            "item": "text_id",
            "rater": "worker",
            "label": "answer",
            "question": "topic",
            "cluster": "page",
        },
    )

    assert labels_of(table) == {("1", "ann"): "x"}
    assert table.frame.select("question", "cluster").row(0) == ("q", "p")


def test_item_goes_before_id(read, labels_of):
    table = read("id,item,annotator,label\nrow1,1,ann,x\n")

    assert labels_of(table) == {("1", "ann"): "x"}


def test_one_judge_needs_no_column_for_its_name(tmp_path, read, labels_of):
    table = read("item,label\n1,x\n", role="judge")
    named = read("item,value\n1,x\n", role="judge", rater_name="gpt")

    assert labels_of(table) == {("1", "judge"): "x"}
    assert labels_of(named) == {("1", "gpt"): "x"}


def test_one_annotator_without_a_name_must_be_named(read, labels_of):
    with pytest.raises(InputError, match=r"column `annotator` must exist, got columns 'item', 'l"):
        read("item,label\n1,x\n")

    table = read("item,label\n1,x\n", rater_name="ann")

    assert labels_of(table) == {("1", "ann"): "x"}


@pytest.mark.parametrize(
    ("text", "declared", "message"),
    [
        ("text,annotator,label\n", {}, r"`item` must exist, got columns 'text', 'annotator'"),
        ("item,annotator,answer\n", {}, r"`label` must exist, .*columns=\{\"label\": \"answer\"\}"),
        (
            "text_id,worker,n_words,rating\n",
            {},
            r'columns=\{"item": "text_id", "annotator": "worker", "label": "rating"\}\.',
        ),
        ("text_id,ann,bob\n", {}, r'Name it with columns=\{"item": "text_id"\}\.'),
        ("item\n", {}, r"`label` must exist, got columns 'item'"),
        ("item,cluster\n", {}, r"`label` must exist, got columns 'item', 'cluster'"),
        (
            "item,a\n",
            {"columns": {"item": "text"}},
            r"`text` must exist, got columns 'item', 'a'\. Correct `columns`",
        ),
        ("item,a\n", {"raters": ["b"]}, r"`b` must exist, .*\. Correct `raters`"),
        (
            "item,judge,score\n",
            {"role": "judge"},
            r"<stream>: column `label` must exist, got columns 'item', 'judge', 'score'",
        ),
        ("a," * 25 + "z\n", {}, None),
    ],
)
def test_a_missing_column_is_named_beside_those_that_exist(read, text, declared, message):
    with pytest.raises(InputError, match=message or "must appear once"):
        read(text + "1," * (text.count(",")) + "x\n", **declared)


def test_many_columns_are_counted_and_not_all_shown(read):
    header = ",".join(f"c{n}" for n in range(30))

    with pytest.raises(InputError, match=r"'c19' and 10 more\. Name it"):
        read(header + "\n" + ",".join("x" * 30) + "\n")


def test_one_question_may_be_asked_for(read):
    text = "item,annotator,question,label\n1,ann,q,x\n1,ann,r,maybe\n"

    table = read(text, question="q", labels=["x"])

    assert table.frame.select("question", "label").rows() == [("q", "x")]
    assert table.dropped == ()


def test_a_question_that_is_not_there_is_no_data(read):
    with pytest.raises(NoDataError, match=r"`question` must hold .* got 'p'\. Ask for one of 'q'"):
        read("item,annotator,question,label\n1,ann,q,x\n", question="p")


def test_the_question_names_a_table_without_a_question_column(read):
    table = read("item,annotator,label\n1,ann,x\n", question="q")

    assert table.frame["question"].to_list() == ["q"]


@pytest.mark.parametrize("column", ["item", "annotator", "question"])
def test_a_row_that_does_not_say_whose_answer_it_is_is_listed_with_its_line(read, column):
    cells = {"item": "1", "annotator": "ann", "question": "q", "label": "x"}
    header, first = ",".join(cells), ",".join(cells.values())
    second = ",".join((cells | {column: " "}).values())

    table = read(f"{header}\n{first}\n{second}\n")

    assert table.frame.height == 1
    (drop,) = table.dropped
    reasons = {"item": "missing item id", "annotator": "missing rater"}
    assert drop.reason == reasons.get(column, "missing question")
    assert drop.place() == f"<stream>:3: column `{column}`"


def test_a_wide_row_without_an_item_lists_each_label(read):
    table = read("item,ann,bob,eve\n,x,,y\n")

    assert [(drop.reason, drop.line, drop.rater) for drop in table.dropped] == [
        ("missing item id", 2, "ann"),
        ("missing item id", 2, "eve"),
    ]


def test_a_label_given_by_name_goes_before_a_probability(read):
    text = "item,judge,answer,probability\n1,gpt,yes,0.2\n"

    by_name = read(text, role="judge", kind="boolean", columns={"label": "answer"})
    by_default = read(text, role="judge", kind="boolean")

    assert by_name.frame["label"].to_list() == ["true"]
    assert by_default.frame["label"].to_list() == ["false"]


@pytest.mark.parametrize("name", ["annotator", "rater", "label"])
def test_a_rater_with_one_of_our_names_must_be_named(read, labels_of, name):
    text = f"item,{name}\n1,x\n"

    with pytest.raises(InputError, match=r"or name the columns of a wide table with raters=\["):
        read(text)

    assert labels_of(read(text, raters=[name])) == {("1", name): "x"}


# One column of 0 and 1 per label ------------------------------------------------------------------

HOT = "item,annotator,rude,spam\n1,ann,1,0\n2,ann,0,0\n3,ann,,\n1,bob,1,1\n2,bob,,1\n"


def test_a_column_for_each_label_makes_sets(read, labels_of):
    table = read(HOT, kind="multilabel")

    assert labels_of(table) == {
        ("1", "ann"): ["rude"],
        ("2", "ann"): [],
        ("1", "bob"): ["rude", "spam"],
        ("2", "bob"): ["spam"],
    }
    assert [(drop.reason, drop.line, drop.item) for drop in table.dropped] == [
        ("missing label", 4, "3")
    ]


def test_a_judge_whose_row_holds_no_number_has_failed(read):
    table = read(HOT.replace("annotator", "judge"), kind="multilabel", role="judge")

    assert table.frame.filter(item="3").select("label", "failure").rows() == [
        (None, "missing label")
    ]


def test_columns_of_each_label_may_be_typed_and_stand_beside_questions():
    frame = pl.DataFrame(
        {
            "item": [1, 2],
            "rater": "ann",
            "question": ["q", "r"],
            "cluster": "c",
            "rude": [True, False],
            "spam": [1.0, None],
        }
    )

    table = read_labels(frame, role="annotator", kind="multilabel")

    assert table.frame.select("question", "cluster", "label").rows() == [
        ("q", "c", ["rude", "spam"]),
        ("r", "c", []),
    ]


def test_other_columns_beside_those_of_labels_need_the_labels_declared(read, labels_of):
    text = "item,text,annotator,rude,spam\n1,hello,ann,1,0\n2,bye,ann,0,1\n"
    message = (
        r"<stream>:2: column `text` must hold 0 or 1 where every label has a column, got 'hello'\."
        r" Name the labels with `labels`, or their one column with columns=\{\"label\""
    )

    with pytest.raises(InputError, match=message):
        read(text, kind="multilabel")
    table = read(text, kind="multilabel", labels=["rude", "spam", "threat"])
    assert labels_of(table) == {("1", "ann"): ["rude"], ("2", "ann"): ["spam"]}


def test_a_label_that_was_not_declared_is_not_lost_in_silence(read):
    text = HOT + "".join(f"x{n},ann,1,0\n" for n in range(20))

    table = read(text, kind="multilabel", labels=["rude"])

    assert [(drop.line, drop.reason) for drop in table.dropped] == [
        (4, "missing label"),
        (5, "unknown label: must be some of 'rude', got '[\"rude\",\"spam\"]'"),
        (6, "unknown label: must be some of 'rude', got '[\"spam\"]'"),
    ]


def test_a_declared_label_whose_column_holds_other_values_is_refused(read):
    with pytest.raises(InputError, match=r":3: column `spam` must hold 0 or 1 .* got '7'"):
        read("item,annotator,rude,spam\n1,ann,1,0\n2,ann,0,7\n", kind="multilabel", labels=["spam"])


def test_columns_of_none_of_the_declared_labels_hold_no_label(read):
    with pytest.raises(InputError, match="column `label` must exist, got columns 'item', 'text'"):
        read("item,text,annotator\n1,hello,ann\n", kind="multilabel", labels=["rude"])


# Annotators who had seen a judge's answer ---------------------------------------------------------

SEEN = "item,annotator,label,seen_judge\n"


def test_which_judge_an_annotator_had_seen_is_kept(read):
    text = SEEN + "1,ann,x,gpt\n2,ann,x,true\n3,ann,x,\n"

    table = read(text)
    judged = read(text.replace("annotator", "judge"), role="judge")

    assert table.frame["seen_judge"].to_list() == ["gpt", "true", None]
    assert judged.frame["seen_judge"].to_list() == [None] * 3


def test_who_had_seen_is_kept_of_wide_tables_frames_and_joined_ones(read):
    wide = read("item,ann,bob,seen_judge\n1,x,y,gpt\n2,x,y,\n")
    frame = pl.DataFrame({"item": ["1"], "annotator": "eve", "label": "x", "seen_judge": [True]})
    typed = read_labels(frame, role="annotator")

    joined = join_tables([wide, typed])

    assert joined.frame.select("item", "rater", "seen_judge").rows() == [
        ("1", "ann", "gpt"),
        ("2", "ann", None),
        ("1", "bob", "gpt"),
        ("2", "bob", None),
        ("1", "eve", "true"),
    ]


def examined(read, rows):
    """Examine two judges by labels of items 0 to 39, of which everybody errs on some."""
    right = ["xy"[n % 2] for n in range(40)]

    def answer(n, at):
        return "xy"[right[n] == "x"] if n % 8 == at else right[n]

    lines = [f"{n},{name},{answer(n, at)},{seen}\n" for n, at, name, seen in rows]
    judges = {
        name: {n: answer(n, at) for n in range(40)} for at, name in ((4, "gpt"), (5, "llama"))
    }
    humans = read(SEEN + "".join(lines))
    found = voirdire.examine(judges=judges, humans=humans, around=False)
    return {row.judge: row.annotators for row in found.results}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("seen", "unseen_by"),
    [("gpt", {"llama"}), ("true", set()), ("false", {"gpt", "llama"}), ("", {"gpt", "llama"})],
)
def test_labels_given_in_sight_of_a_judge_never_examine_it(read, seen, unseen_by):
    people = list(enumerate(("ann", "bob", "eve")))
    rows = [(n, at, name, seen if n < 8 else "") for at, name in people for n in range(40)]

    found = examined(read, rows)

    whole = examined(read, [(*row, "") for *row, _ in rows])
    rest = examined(read, [row for row in rows if row[0] >= 8])
    assert {name for name in found if found[name] == whole[name]} == unseen_by
    assert {name for name in found if found[name] == rest[name]} == {"gpt", "llama"} - unseen_by
    assert {annotator.n_items for annotator in rest["gpt"]} == {32}


# People and judges in one file --------------------------------------------------------------------

BOTH_LONG = "item,rater,label\n1,ann,x\n1,bob,y\n1,gpt,x\n2,ann,x\n2,bob,y\n2,gpt,\n"
BOTH_WIDE = "item,ann,bob,gpt\n1,x,y,x\n2,x,y,\n"
OF_PEOPLE = {("1", "ann"): "x", ("1", "bob"): "y", ("2", "ann"): "x", ("2", "bob"): "y"}
OF_GPT = {("1", "gpt"): "x", ("2", "gpt"): None}


@pytest.mark.parametrize("text", [BOTH_LONG, BOTH_WIDE], ids=["long", "wide"])
def test_one_file_holds_people_and_judges(read, labels_of, text):
    for declared in (
        {"judge_columns": ["gpt"]},
        {"judge_columns": ["gpt"], "raters": ["ann", "bob"]},
    ):
        assert labels_of(read(text, **declared)) == OF_PEOPLE
        judged = read(text, role="judge", **declared)
        assert labels_of(judged) == OF_GPT
        assert judged.frame["failure"].to_list() == [None, "missing label"]
    assert labels_of(read(text, raters=["ann"])) == {("1", "ann"): "x", ("2", "ann"): "x"}


@pytest.mark.parametrize("text", [BOTH_LONG, BOTH_WIDE], ids=["long", "wide"])
@pytest.mark.parametrize(("role", "name"), [("judge", "judge_columns"), ("annotator", "raters")])
def test_a_name_that_is_not_in_the_file_is_refused(read, text, role, name):
    with pytest.raises(InputError, match=rf"'?gtp'?.* got .*'gpt'\. Correct `{name}`\."):
        read(text, role=role, **{name: ["gtp"]})


@pytest.mark.parametrize("role", ["annotator", "judge"])
def test_one_label_a_row_under_names_of_its_own_is_not_advised_to_name_them_raters(read, role):
    rows = [f"{n},{'gpt' if n % 2 else 'mini'},{'yes' if n % 3 else 'no'}\n" for n in range(12)]

    with pytest.raises(InputError, match=rf"call the columns '{role}' and 'label'\.$"):
        read("id,model,verdict\n" + "".join(rows), role=role)


def test_few_labels_may_have_nothing_in_common(read):
    rows = "".join(f"{n},a{n},b{n}\n" for n in range(4))

    assert read("item,ann,bob\n" + rows).raters == ["ann", "bob"]


# Probabilities ----------------------------------------------------------------------------------


def test_a_judges_probabilities_stay_beside_its_labels(read, tmp_path):
    text = (
        "item,judge,label,probability,threshold\n1,a,true,0.7,.5\n2,a,false,.2,.5\n3,a,true,,.5\n"
    )
    found = read(text, role="judge", kind="boolean")
    assert found.stated.tolist() == pytest.approx([0.7, 0.2, math.nan], nan_ok=True)

    frame = pl.DataFrame({"item": ["3", "1"], "judge": "b", "probability": [0.25, 2.0]})
    other = read_labels(frame, role="judge")
    assert other.stated.tolist() == pytest.approx([0.25, math.nan], nan_ok=True)
    assert other.label.where(other.label.codes >= 0).used() == [False]  # 2.0 is a failure

    people = read_labels(frame.select("item", label=pl.lit("yes")), role="judge", kind="boolean")
    assert people.stated is None
    joined = join_tables([found, other, people])
    assert joined.of_raters(["b"]).stated.tolist()[0] == 0.25
    assert len(joined.stated) == 7
    assert math.isnan(joined.stated[-1])


# Names of the package -----------------------------------------------------------------------------


def test_importing_the_package_loads_no_polars():
    code = "import sys, voirdire.io; print('polars' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_every_promised_name_is_there():
    assert all(hasattr(voirdire.io, name) for name in voirdire.io.__all__)
    assert set(voirdire.io.__all__) <= set(dir(voirdire.io))


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'read_lables'"):
        voirdire.io.read_lables  # noqa: B018
