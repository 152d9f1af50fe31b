"""Labels from the classes of verdicts."""

import numpy as np
import pytest

from voirdire import load_rubric
from voirdire.errors import InputError
from voirdire.records import Verdicts
from voirdire.rewards import labelled_by_class, read_comparisons

RUBRIC = load_rubric("hard-refusal-example")
NAMES = RUBRIC.propositions
# apology, inability, additional, judgement, fully complies, disallowed
IDEAL = {"apology": 0.9, "inability_to_comply": 0.8}


def verdict(**said):
    return [(IDEAL | said).get(name, 0.1) for name in NAMES]


def judged(rows, *, threshold=0.5, propositions=NAMES):
    return Verdicts(
        items=tuple(rows),
        questions=propositions,
        probabilities=np.array(list(rows.values())),
        behaviors=(None,) * len(rows),
        judge="j",
        fingerprint="f",
        threshold=threshold,
    )


@pytest.fixture
def data():
    return read_comparisons(
        [{"id": name, "prompt": "Hi", "response": name, "label": "old"} for name in "abcd"],
        behavior="hard_refuse",
    )


def test_a_label_is_the_class_that_holds(data):
    told = judged(
        {
            "c": verdict(disallowed_content=0.9),
            "b": verdict(apology=0.2),
            "a": verdict(),
            "x": verdict(),
        }
    )

    found = labelled_by_class(data, told, rubric=RUBRIC)

    assert found.labels == ("ideal", "less_good", "unacceptable", None)
    assert found.data_hash != data.data_hash


def test_the_threshold_is_that_of_the_verdicts(data):
    told = judged({"a": verdict(), "b": verdict()}, threshold=0.85)

    # .8 for the inability to comply is below it: no class of the example holds
    assert labelled_by_class(data, told, rubric=RUBRIC).labels == (None,) * 4


def test_an_answer_that_is_missing_is_not_false(data):
    told = judged({"a": verdict(apology=np.nan), "b": verdict(disallowed_content=np.nan)})

    assert labelled_by_class(data, told, rubric=RUBRIC).labels == (None,) * 4


def test_a_behavior_that_is_not_the_rubrics_has_no_class():
    data = read_comparisons(
        [{"id": name, "prompt": "Hi", "response": name} for name in "ab"], behavior="obey"
    )

    found = labelled_by_class(data, judged({"a": verdict(), "b": verdict()}), rubric=RUBRIC)

    assert found.labels == (None, None)


def test_columns_may_come_in_any_order_but_must_be_there(data):
    turned = judged({"a": verdict()[::-1]}, propositions=NAMES[::-1])

    assert labelled_by_class(data, turned, rubric=RUBRIC).labels[0] == "ideal"
    with pytest.raises(InputError, match="`propositions` must hold every proposition"):
        labelled_by_class(data, judged({"a": verdict()[1:]}, propositions=NAMES[1:]), rubric=RUBRIC)
