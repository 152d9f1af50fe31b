import pytest

from voirdire.errors import InputError

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


def test_a_judge_that_failed_twice_failed(read):
    table = read("item,judge,label,failure\n1,gpt,,timeout\n1,gpt,,\n", role="judge")

    assert table.frame["failure"].to_list() == ["timeout"]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [("duplicate row", 3)]
