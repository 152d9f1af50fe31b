"""Several replies about one item: means, votes, pairs in both orders, and what is missing."""

import itertools
import json
import random
from collections import Counter
from fractions import Fraction

from asked_models import shown_item
from judging.given_replies import OneForm, answers_of, rubric_of
from voirdire.errors import ModelCallError, RefusalError
from voirdire.judging import LlmJudge, judge_items
from voirdire.records import Failure, Item
from voirdire.rubrics import Question

LABELS = {"x": {}, "y": {}, "z": {}}
KINDS = {
    "boolean": {},
    "choice": {"labels": LABELS},
    "multilabel": {"labels": LABELS},
    "scale": {"minimum": 1, "maximum": 5},
    "text": {},
    "pairwise": {},
}
NO = RefusalError("no")
OTHER = Question(id="r", kind="boolean", text={"en": "?"})


def question(kind):
    return Question(id="q", kind=kind, text={"en": "?"}, **KINDS[kind])


def combined(rows, *questions, **settings):
    """Judge an item per row, each of whose calls gets the next reply of the row.

    A reply is a mapping of answers, or an error.
    """
    n_asked = Counter()

    def reply(request):
        shown = shown_item(request)
        row = int(shown.get("response", shown.get("response_a")))
        n_asked[row] += 1
        said = rows[row][n_asked[row] - 1]
        return said if isinstance(said, ModelCallError) else json.dumps(said)

    judge = LlmJudge(
        model=OneForm(reply),
        concurrency=1,
        max_attempts=1,
        **{"probability": "stated"} | settings,
    )
    items = [Item(id=str(row), response=str(row), other=str(row)) for row in range(len(rows))]
    (batch,) = judge_items(items, judge, rubric=rubric_of(*questions))
    assert n_asked == {row: len(replies) for row, replies in enumerate(rows)}
    return batch


def voted(kind, *rows):
    """Give what samples come to; a row holds the samples of one item."""
    replies = [
        [value if isinstance(value, ModelCallError) else {"q": value} for value in row]
        for row in rows
    ]
    batch = combined(replies, question(kind), probability="vote", n_samples=len(rows[0]))
    return [found["q"] for found in answers_of(batch)]


def test_votes_on_a_proposition_are_the_share_of_yes():
    rows = list(itertools.product([True, False], repeat=5))

    assert voted("boolean", *rows) == [float(Fraction(sum(row), 5)) for row in rows]


def test_a_pair_is_won_only_where_both_orders_say_so():
    cases = list(itertools.product(["A", "B", "tie"], repeat=2))
    turned = {"A": "B", "B": "A", "tie": "tie"}  # the second time the pair is shown turned round
    rows = [[{"q": one}, {"q": turned[other]}] for one, other in cases]

    *found, failed = answers_of(combined([*rows, [{"q": "A"}, NO]], question("pairwise")))

    assert [row["q"] for row in found] == [one if one == other else "tie" for one, other in cases]
    assert failed["q"].reason.startswith("refusal by the judge")


def test_samples_may_fail_as_long_as_more_than_half_are_there():
    rows = [[NO] * n_failed + [True] * (5 - n_failed) for n_failed in range(6)]

    found = voted("boolean", *rows)

    assert found[:3] == [1.0] * 3
    assert all(isinstance(answer, Failure) for answer in found[3:])
    assert voted("boolean", [True, NO, NO, True]) == [Failure(reason=found[-1].reason)]


def test_a_choice_is_the_plurality_a_tie_is_a_failure_and_a_text_is_the_first():
    found = voted("choice", ["x", "y", "x", "z"], ["x", "y", "y", "x"])

    assert found == ["x", Failure(reason="the samples are tied")]
    assert voted("text", ["one", "two", "two"]) == ["one"]  # the first of texts


def test_a_label_of_a_set_is_taken_where_more_than_half_name_it():
    rng = random.Random(0)
    rows = [[rng.sample("xyz", rng.randint(0, 3)) for _ in range(4)] for _ in range(30)]

    for row, labels in zip(rows, voted("multilabel", *rows), strict=True):
        counts = Counter(label for sample in row for label in sample)
        assert labels == tuple(label for label in "xyz" if counts[label] > 2)


def test_scales_take_the_middle_of_whole_numbers_and_the_mean_of_others():
    degree = Question(id="q", kind="scale", text={"en": "?"}, minimum=0.5, maximum=5)
    replies = [[{"q": value} for value in row] for row in ([1.0, 2.0], [1.0, 2.5])]

    broken = combined(replies, degree, probability="vote", n_samples=2)

    assert voted("scale", [1, 2, 5, 5, 5], [1, 2, 2, 5, 1]) == [5.0, 2.0]
    # the lower of two middles, so that it is a point of the scale
    assert voted("scale", [1, 2]) == [1.0]
    assert broken.details.labels["q"] == (1.0, 1.75)


def test_single_calls_about_different_questions_are_put_together_and_fail_alone():
    batch = combined([[{"q": 0.25}, NO]], question("boolean"), OTHER, mode="single")

    (found,) = answers_of(batch)
    assert found["q"] == 0.25
    assert found["r"].reason.startswith("refusal by the judge")
