"""What a judge learns from: votes, groups, and what is left out with a reason."""

import json

import numpy as np
import pytest

import voirdire
from voirdire.judging.label_votes import read_votes
from voirdire.judging.labelled_items import labelled_items
from voirdire.records import Item, Message


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


def some_items(n_items, **fields):
    return [Item(id=f"i{number}", response="x", **fields) for number in range(n_items)]


def annotations(write, labels, *, name="labels.csv"):
    rows = [f"{item},{rater},{question},{label}" for item, rater, question, label in labels]
    return write(name, "\n".join(["item,annotator,question,label", *rows]) + "\n")


# Votes ----------------------------------------------------------------------------------------


def test_the_majority_counts_and_ties_are_listed(write):
    path = annotations(
        write,
        [
            ("a", "x", "q", "yes"),
            ("a", "y", "q", "yes"),
            ("a", "z", "q", "no"),
            ("b", "x", "q", "yes"),
            ("b", "y", "q", "no"),
            ("c", "x", "q", "no"),
        ],
    )

    votes = read_votes([path])

    assert votes.frame.rows() == [("q", "a", True), ("q", "c", False)]
    (tie,) = votes.tied
    assert (tie.item, tie.question, tie.value) == ("b", "q", "2 raters")
    assert votes.raters == ("x", "y", "z")


def test_raters_of_several_files_vote_together(write):
    first = annotations(write, [("a", "x", "q", "yes")], name="1.csv")
    second = annotations(write, [("a", "y", "q", "no"), ("a", "z", "q", "no")], name="2.csv")

    assert read_votes([first, second]).frame.rows() == [("q", "a", False)]


def test_verdicts_count_under_the_threshold_they_declare_and_failures_not_at_all(write):
    head = "item,judge,question,label,probability,source,threshold,behavior,failure,fingerprint\n"
    rows = "a,m,q,false,0.6,classifier,0.7,,,f\nb,m,q,,,classifier,0.7,,timeout,f\n"
    path = write("verdicts.csv", head + rows)

    assert read_votes([path]).frame.rows() == [("q", "a", False)]
    assert read_votes([path], threshold=0.5).frame.rows() == [("q", "a", True)]


def test_a_file_with_a_column_judge_is_a_judges(write):
    path = write("j.jsonl", json.dumps({"item": "a", "judge": "m", "probability": 0.9}) + "\n")

    votes = read_votes([path])

    assert votes.frame.rows() == [("label", "a", True)]
    assert votes.raters == ("m",)


def test_wide_verdicts_are_refused_with_the_way_out(write):
    path = write("wide.csv", "item,behavior,q,judge,fingerprint\na,,0.3,m,f\n")

    with pytest.raises(voirdire.InputError, match=r"long layout.*`--layout long`"):
        read_votes([path])


# Joining --------------------------------------------------------------------------------------


def votes_of(write, labels):
    return read_votes([annotations(write, [(i, "x", q, label) for i, q, label in labels])])


def test_items_and_labels_meet_by_id(write):
    items = some_items(5)
    labels = [(f"i{n}", "q", "yes" if n % 2 else "no") for n in range(4)] + [("alien", "q", "yes")]

    data = labelled_items(items, votes_of(write, labels), questions=["q"], n_folds=2)

    assert [item.id for item in data.items] == ["i0", "i1", "i2", "i3"]
    assert data.labels.tolist() == [[0.0], [1.0], [0.0], [1.0]]
    assert (data.n_unlabelled, data.n_strangers) == (1, 1)


def test_a_missing_label_is_nan(write):
    labels = [(f"i{n}", "q", "yes" if n % 2 else "no") for n in range(4)]
    labels += [(f"i{n}", "r", "yes" if n % 2 else "no") for n in range(2, 6)]

    data = labelled_items(some_items(6), votes_of(write, labels), questions=["q", "r"], n_folds=2)

    assert (
        np.isnan(data.labels).tolist()
        == [[False, True]] * 2 + [[False, False]] * 2 + [[True, False]] * 2
    )


def test_questions_that_cannot_be_learnt_are_left_out_with_a_reason(write):
    labels = [(f"i{n}", "good", "yes" if n % 2 else "no") for n in range(8)]
    labels += [(f"i{n}", "all_yes", "yes") for n in range(8)]
    labels += [(f"i{n}", "rare", "yes" if n == 3 else "no") for n in range(8)]
    questions = ["good", "all_yes", "rare", "unasked"]

    data = labelled_items(some_items(8), votes_of(write, labels), questions=questions, n_folds=3)

    assert data.questions == ("good",)
    assert {row.question: row.reason for row in data.left_out} == {
        "all_yes": "all 8 labels are yes",
        "rare": "yes for only 1 group of items; 3 folds need 3",
        "unasked": "no labels",
    }


def test_nothing_to_learn_is_an_error_with_the_reasons(write):
    labels = [(f"i{n}", "q", "yes") for n in range(8)]

    with pytest.raises(voirdire.NoDataError, match=r"got none \(q: all 8 labels are yes\)"):
        labelled_items(some_items(8), votes_of(write, labels), questions=["q"], n_folds=2)


def test_many_answers_to_one_prompt_are_one_group(write):
    prompt = (Message(role="user", content="Hi"),)
    labels = [(f"i{n}", "q", "yes" if n % 2 else "no") for n in range(8)]

    with pytest.raises(voirdire.NoDataError, match=r"only 1 group of items"):
        labelled_items(
            some_items(8, prompt=prompt), votes_of(write, labels), questions=["q"], n_folds=2
        )


def test_no_id_in_common_shows_both_sides(write):
    votes = votes_of(write, [("train:1", "q", "yes"), ("train:2", "q", "no")])

    with pytest.raises(voirdire.InputError, match=r"called 'i0', 'i1'.*about 'train:1', 'train:2'"):
        labelled_items(some_items(2), votes, questions=["q"], n_folds=2)
