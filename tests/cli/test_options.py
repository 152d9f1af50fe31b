"""What was typed becomes what the library takes."""

import math

import pytest

from voirdire.cli.options import as_labels, as_mapping, as_text, as_weights
from voirdire.cli.shell import UsageError


@pytest.mark.parametrize(
    ("text", "numeric", "labels"),
    [
        (None, False, None),
        ("a,b,c", False, ["a", "b", "c"]),
        (" a , b ", False, ["a", "b"]),
        ('["a,b", "c"]', False, ["a,b", "c"]),
        (' ["是", "否"]', False, ["是", "否"]),
        ("1,2,3", True, [1.0, 2.0, 3.0]),
        ("[1, 2.5]", True, [1.0, 2.5]),
        ("1,2", False, ["1", "2"]),
        ("one", False, ["one"]),
    ],
)
def test_labels_stand_between_commas_or_in_a_json_array(text, numeric, labels):
    assert as_labels(text, numeric=numeric) == labels


@pytest.mark.parametrize(
    ("text", "numeric"), [('["a"', False), ("[1, ]", False), ("a,b", True), ('["a"]', True)]
)
def test_labels_that_are_neither_are_a_usage_error(text, numeric):
    with pytest.raises(UsageError, match="`--labels` must be words between commas or a JSON"):
        as_labels(text, numeric=numeric)


@pytest.mark.parametrize("text", ["", " ", ",", "a,,b", "a,b,"])
def test_an_empty_label_is_a_usage_error(text):
    with pytest.raises(UsageError, match="`--labels` must"):
        as_labels(text, numeric=False)


@pytest.mark.parametrize("text", ["[null]", '[["a"], "b"]', '[{"a": 1}]'])
def test_a_json_array_of_labels_holds_texts_or_numbers(text):
    with pytest.raises(UsageError, match="`--labels` must"):
        as_labels(text, numeric=True)
    with pytest.raises(UsageError, match="`--labels` must"):
        as_labels(text, numeric=False)


@pytest.mark.parametrize("numeric", [True, False])
def test_a_json_number_is_a_label_as_it_is_written(numeric):
    assert as_labels("[1, 2]", numeric=numeric) == ([1.0, 2.0] if numeric else ["1", "2"])


def test_pairs_become_a_mapping():
    assert as_mapping(["item=id", " label = my label "], option="--column") == {
        "item": "id",
        "label": "my label",
    }
    assert as_mapping(["label=a=b"], option="--column") == {"label": "a=b"}
    assert as_mapping([], option="--column") == {}


@pytest.mark.parametrize("pair", ["item", "=id", "item=", "="])
def test_half_a_pair_is_a_usage_error(pair):
    with pytest.raises(UsageError, match="`--column` must be NAME=VALUE, got"):
        as_mapping([pair], option="--column")


@pytest.mark.parametrize("pairs", [["item=a", "item=b"], ["ann=1", "ann=2"]])
def test_a_name_given_twice_is_a_usage_error(pairs):
    with pytest.raises(UsageError, match="`--column` must"):
        as_mapping(pairs, option="--column")


def test_weights_are_numbers_or_nothing():
    assert as_weights(["ann=1", "bob=0.5"]) == {"ann": 1.0, "bob": 0.5}
    assert as_weights([]) is None
    assert math.isnan(as_weights(["ann=nan"])["ann"])


@pytest.mark.parametrize("pair", ["ann=much", "ann=1,5"])
def test_a_weight_that_is_no_number_is_a_usage_error(pair):
    with pytest.raises(UsageError, match="`--quality` must be ANNOTATOR=NUMBER, got"):
        as_weights([pair])


def test_text_that_no_file_can_hold_is_a_usage_error():
    assert as_text("专家", option="--epsilon-reason") == "专家"
    assert as_text(None, option="--epsilon-reason") is None
    with pytest.raises(UsageError, match="must be UTF-8 text"):
        as_text("\udcff", option="--epsilon-reason")
