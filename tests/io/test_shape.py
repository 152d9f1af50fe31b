import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError


def test_a_long_table_has_a_rater_and_a_label(read, labels_of):
    table = read("item,annotator,label\n1,ann,x\n1,bob,y\n")

    assert labels_of(table) == {("1", "ann"): "x", ("1", "bob"): "y"}
    names = ["question", "item", "rater", "label", "failure", "cluster", "source", "line"]
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
        ("item,annotator,answer\n", {}, r"`label` must exist, .*columns=\{\"label\": \.\.\.\}"),
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
