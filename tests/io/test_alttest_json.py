import json

import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels

SETS = ["cebab_stars", "framing", "lgbteen", "wax"]


def test_annotators_are_the_outer_keys(read_json, labels_of):
    table = read_json({"ann": {"1": "x", "2": "y"}, "bob": {"1": "z"}})

    assert labels_of(table) == {("1", "ann"): "x", ("2", "ann"): "y", ("1", "bob"): "z"}
    assert table.frame["line"].null_count() == 3


def test_one_judge_may_stand_alone(tmp_path, labels_of):
    path = tmp_path / "gpt-4o.json"
    path.write_text(json.dumps({"1": True, "2": None}))

    table = read_labels(path, role="judge", kind="boolean")

    assert table.frame.select("rater", "label", "failure").rows() == [
        ("gpt-4o", "true", None),
        ("gpt-4o", None, "missing label"),
    ]


def test_one_annotator_alone_must_be_named(read_json, labels_of):
    with pytest.raises(InputError, match=r"must map each annotator to an object .* got 'x'"):
        read_json({"1": "x"})

    assert labels_of(read_json({"1": "x"}, rater_name="ann")) == {("1", "ann"): "x"}


def test_labels_beside_objects_are_refused(read_json):
    with pytest.raises(InputError, match=r"must map each judge to an object of labels, got 'x'"):
        read_json({"gpt": {"1": "x"}, "2": "x"}, role="judge")


def test_missing_labels_are_listed_with_item_and_annotator(read_json):
    table = read_json({"ann": {"1": None, "2": "", "3": "can't tell", "4": "x"}})

    assert [(drop.reason, drop.item, drop.rater, drop.line) for drop in table.dropped] == [
        ("missing label", "1", "ann", None),
        ("missing label", "2", "ann", None),
        ("can't tell", "3", "ann", None),
    ]


def test_a_key_that_repeats_is_not_lost(read):
    same = '{"ann": {"1": "x", "1": "x"}}'
    other = '{"ann": {"1": "x"}, "ann": {"1": "y"}}'

    assert [drop.reason for drop in read(same, format="json").dropped] == ["duplicate row"]
    with pytest.raises(InputError, match=r"<stream>: `label` must be given once .*'y' after 'x'"):
        read(other, format="json")


@pytest.mark.parametrize("document", [{}, [], {"ann": {}}])
def test_no_labels_are_no_data(read_json, document):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one label, got"):
        read_json(document)


def test_a_blank_item_is_listed(read_json):
    table = read_json({"ann": {"": "x", "1": "y"}})

    assert [(drop.reason, drop.rater) for drop in table.dropped] == [("missing item id", "ann")]


def test_sets_of_labels(read_json, labels_of):
    table = read_json({"ann": {"1": ["b", "a"], "2": []}}, kind="multilabel")

    assert labels_of(table) == {("1", "ann"): ["a", "b"], ("2", "ann"): []}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("part", "role"), [("human", "annotator"), ("llm", "judge")])
def test_the_authors_data_are_read_whole(shared_dir, labels_of, name, part, role):
    path = shared_dir / "data" / "alttest" / name / f"{part}_annotations.json"
    document = json.loads(path.read_text(encoding="utf-8"))

    table = read_labels(path, role=role, kind="choice")

    expected = {
        (item, rater): str(label)
        for rater, answers in document.items()
        for item, label in answers.items()
    }
    assert labels_of(table) == expected
    assert table.dropped == ()


def test_stars_are_a_scale_too(shared_dir):
    path = shared_dir / "data" / "alttest" / "cebab_stars" / "human_annotations.json"

    table = read_labels(path, role="annotator", kind="scale")

    assert sorted(table.frame["label"].unique()) == [1, 2, 3, 4, 5]
