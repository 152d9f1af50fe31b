"""Several calls in one, for models that answer many faster than one by one."""

import asyncio
import json

import pytest

from judging.calls.scripted_calls import Model, Runs, items_of, judge_of, now, reply_of
from voirdire.errors import AccessError, RefusalError, ServerError, UnsupportedError
from voirdire.judging import judge_items
from voirdire.rubrics import rubric_from_text

pytestmark = pytest.mark.usefixtures("virtual_time")


def rubric_of(n_questions):
    """Make a rubric of so many questions, each of which is asked in a call of its own."""
    rows = [f'  - {{id: q{n}, kind: boolean, text: "Is it {n}?"}}' for n in range(n_questions)]
    head = 'schema: voirdire.rubric/1\nname: many\nversion: "1"\nquestions:\n'
    return rubric_from_text(head + "\n".join(rows) + "\n")


class BatchModel(Model):
    """Answers batches by the number of a question and how often it was asked before."""

    def __init__(self, answer, **options):
        super().__init__(None, **options)
        self.said = answer
        self.n_asked = {}
        self.sizes = []

    async def replies(self, requests):
        self.sizes.append(len(requests))
        self.times.append(now())
        await asyncio.sleep(self.delay_s)
        return [self._one(request) for request in requests]

    def _one(self, request):
        (key,) = json.loads(request.schema)["properties"] if request.schema else ("q0",)
        n = self.n_asked[key] = self.n_asked.get(key, -1) + 1
        said = self.said(int(key[1:]), n)
        said = json.dumps({key: said}) if isinstance(said, float) else said
        return said if isinstance(said, Exception) else reply_of(said, request)


def together(model, n_questions, *, n_items=1, **limits):
    """Ask all questions about items; give the verdicts."""
    judge = judge_of(model, mode="single", **limits)
    (batch,) = judge_items(items_of(range(n_items)), judge, rubric=rubric_of(n_questions))
    return batch


def test_answers_come_in_the_order_of_the_questions():
    model = BatchModel(lambda number, n: number / 10)

    found = together(model, 8)

    assert found.probabilities.tolist() == [[n / 10 for n in range(8)]]
    assert model.sizes == [8]


def test_only_what_has_no_end_is_asked_again():
    errors = {1: "many", 2: ServerError("broke"), 3: RefusalError("no")}
    model = BatchModel(lambda number, n: errors.get(number, 0.5) if n == 0 else 0.25)

    found = together(model, 5)

    assert found.probabilities[0, [0, 1, 2, 4]].tolist() == [0.5, 0.25, 0.25, 0.5]
    assert {place: why.reason for place, why in found.failures.items()} == {
        (0, 3): "refusal by the judge: no"
    }
    assert model.sizes == [5, 2]
    assert found.details.attempts.tolist() == [6]


def test_an_error_of_the_whole_batch_is_one_of_each():
    class Broken(BatchModel):
        async def replies(self, requests):
            self.sizes.append(len(requests))
            raise ServerError("out of memory")

    model = Broken(None)

    found = together(model, 3, max_retries=1)

    reason = "server error: out of memory (tried 2 times)"
    assert [found.failures[0, place].reason for place in range(3)] == [reason] * 3
    assert model.sizes == [3, 3]


def test_what_came_is_stored_though_another_call_ends_the_run(tmp_path):
    runs = Runs(tmp_path, rubric=rubric_of(4))
    model = BatchModel(lambda number, n: AccessError("no credit") if number == 1 else 0.5)

    with pytest.raises(AccessError, match="no credit"):
        runs(model, mode="single")
    later = BatchModel(lambda number, n: 0.75)
    _, frame = runs(later, mode="single")

    assert later.sizes == [1]
    assert frame["probability"].to_list() == [0.5]


def test_stored_attempts_are_counted_per_call(tmp_path):
    runs = Runs(tmp_path, rubric=rubric_of(3))
    before = BatchModel(lambda number, n: AccessError("no") if n == number else "many")
    with pytest.raises(AccessError):
        runs(before, mode="single")  # the second and the third were unreadable once
    model = BatchModel(lambda number, n: "many")

    runs(model, mode="single", max_attempts=2)

    assert model.sizes == [3, 1]
    assert [attempt for *_, attempt, _ in runs.rows()] == [0, 0, 0, 1, 1, 1]


def test_a_batch_has_the_time_of_its_calls_one_by_one():
    limits = {"timeout_s": 10, "max_retries": 0}
    model = BatchModel(lambda number, n: 0.5, delay_s=25)

    late = together(model, 2, **limits)
    in_time = together(model, 3, **limits)

    assert {why.reason for why in late.failures.values()} == {"timeout: no reply within 20 s"}
    assert in_time.failures == {}


def test_a_form_that_is_not_known_is_left_for_all():
    def answer(number, n):
        return UnsupportedError("no schemas", feature="json_schema") if n == 0 else "{}"

    model = BatchModel(answer)

    found = together(model, 3, max_attempts=1)

    assert found.details.forms == ("json_object",)


def test_requests_per_minute_count_each_call_of_a_batch():
    model = BatchModel(lambda number, n: 0.5, delay_s=0)

    together(model, 30, n_items=3, requests_per_minute=60, concurrency=1)

    # the first batch leaves a debt of 29, the second one of 30 more
    assert model.times == pytest.approx([0, 30, 60])
