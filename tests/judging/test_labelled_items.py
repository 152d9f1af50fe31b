"""What a judge learns from: votes, groups, and what is left out with a reason."""

import json

import pytest

import voirdire
from voirdire.judging import distill_files
from voirdire.rubrics import rubric_from_text

N_ITEMS = 12
LABELS = [(f"i{n}", "q", "yes" if n % 2 else "no") for n in range(N_ITEMS)]


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def annotations(write):
    """Write labels of raters."""

    def written(labels, *, raters="x", name="labels.csv"):
        rows = [
            f"{item},{rater},{question},{label}\n"
            for item, question, label in labels
            for rater in raters
        ]
        return write(name, "item,annotator,question,label\n" + "".join(rows))

    return written


@pytest.fixture
def learnt(write):
    """Make a judge from files of labels about a few items."""

    def made(*labels, questions=("q",), n_items=N_ITEMS, prompt="prompt {n}", **settings):
        rows = [
            {
                "id": f"i{n}",
                "prompt": prompt.format(n=chr(97 + n) * 9),
                "response": ("sorry " if n % 2 else "sure ") * (n + 1),
            }
            for n in range(n_items)
        ]
        items = write("items.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        return distill_files(items, labels, questions=questions, **{"n_folds": 3} | settings)

    return made


def content(found):
    """Name what was learnt from: the items with their labels."""
    (data,) = found.judge.card.data
    return data.content_hash


# Votes ----------------------------------------------------------------------------------------


def test_the_majority_of_all_files_counts_and_ties_are_listed(learnt, annotations):
    other = {"yes": "no", "no": "yes"}
    votes = [*LABELS, ("i12", "q", "yes")]
    against = [(item, question, other[label]) for item, question, label in LABELS]

    found = learnt(
        annotations(votes, raters="x", name="1.csv"),
        annotations([*LABELS, ("i12", "q", "no")], raters="y", name="2.csv"),
        annotations(against, raters="z", name="3.csv"),
        n_items=13,
    )

    assert content(found) == content(learnt(annotations(LABELS)))
    assert [(row.item, row.question, row.value) for row in found.tied] == [("i12", "q", "2 raters")]
    assert found.raters == ("x", "y", "z")


def test_verdicts_count_under_the_threshold_they_declare_and_failures_not_at_all(
    learnt, write, annotations
):
    head = "item,judge,question,label,probability,source,threshold,behavior,failure,fingerprint\n"
    rows = [
        f"{item},m,q,{label == 'yes'},{0.8 if label == 'yes' else 0.6},classifier,0.7,,,f\n"
        for item, _, label in LABELS
    ]
    path = write("verdicts.csv", head + "".join(rows) + "i12,m,q,,,classifier,0.7,,timeout,f\n")

    found = learnt(path, n_items=13)

    assert content(found) == content(learnt(annotations(LABELS)))
    assert found.n_unlabelled == 1
    with pytest.raises(voirdire.NoDataError, match="all 12 labels are yes"):
        learnt(path, n_items=13, threshold=0.5)


def test_wide_verdicts_are_refused_with_the_way_out(learnt, write):
    path = write("wide.csv", "item,behavior,q,judge,fingerprint\na,,0.3,m,f\n")

    with pytest.raises(voirdire.InputError, match=r"long layout.*`--layout long`"):
        learnt(path)


# Joining --------------------------------------------------------------------------------------


def test_items_and_labels_meet_by_id(learnt, annotations):
    turned = [(f"i{(n + 1) % N_ITEMS}", *rest) for n, (_, *rest) in enumerate(LABELS)]

    found = learnt(annotations([("alien", "q", "yes"), *reversed(LABELS)]), n_items=13)

    assert (found.n_items, found.n_unlabelled, found.n_strangers) == (N_ITEMS, 1, 1)
    assert content(found) == content(learnt(annotations(LABELS)))
    assert content(found) != content(learnt(annotations(turned)))


def test_an_item_without_a_label_to_one_question_teaches_the_others(learnt, annotations):
    more = [(f"i{n}", "r", "yes" if n % 2 else "no") for n in range(4, 14)]

    found = learnt(annotations([*LABELS, *more]), n_items=14, questions=["q", "r"])

    figures = {row.question: (row.n_items, row.n_positives) for row in found.judge.card.figures}
    assert figures == {"q": (12, 6), "r": (10, 5)}
    assert found.n_items == 14


def test_questions_that_cannot_be_learnt_are_left_out_with_a_reason(learnt, annotations):
    labels = [(f"i{n}", "all_yes", "yes") for n in range(8)]
    labels += [(f"i{n}", "rare", "yes" if n == 3 else "no") for n in range(8)]
    names = ["q", "all_yes", "rare", "unasked"]
    rows = [f'  - {{id: {name}, kind: boolean, text: "Is it {name}?"}}\n' for name in names]
    head = 'schema: voirdire.rubric/1\nname: four\nversion: "1"\nquestions:\n'
    rubric = rubric_from_text(head + "".join(rows))

    found = learnt(annotations([*LABELS, *labels]), questions=(), rubric=rubric)
    with pytest.raises(voirdire.NoDataError, match=r"got none \(all_yes: all 8 labels are yes\)"):
        learnt(annotations(labels), questions=["all_yes"])

    assert found.judge.questions == ("q",)
    assert found.left_out == {
        "all_yes": "all 8 labels are yes",
        "rare": "yes for only 1 group of items; 3 folds need 3",
        "unasked": "no labels",
    }


def test_no_id_in_common_shows_both_sides(learnt, annotations):
    strangers = annotations([("train:1", "q", "yes"), ("train:2", "q", "no")])

    with pytest.raises(voirdire.InputError, match=r"called 'i0', 'i1'.*about 'train:1', 'train:2'"):
        learnt(strangers)
