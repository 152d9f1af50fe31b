"""Samples that vote: one request for all of them, where the model gives several replies."""

import pytest

from judging.calls.scripted_calls import Model, Runs
from voirdire.errors import RefusalError, ServerError
from voirdire.judging import Price
from voirdire.records import Reply, Usage

YES, NO = '{"yes": true}', '{"yes": false}'


class Sampling(Model):
    """A model that gives so many replies to one request, at most, and one where none are wanted."""

    def __init__(self, said, *, most=100, error=None):
        super().__init__(lambda n: said[n % len(said)], delay_s=0)
        self.said, self.most, self.error = said, most, error
        self.asked = []

    async def samples(self, request, n):
        self.asked.append(n)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return [
            Reply(
                text=self.said[k % len(self.said)],
                form=request.form,
                usage=Usage(0 if k else 100, 10),
            )
            for k in range(min(n, self.most))
        ]


def run(tmp_path, model, *, n_items=3, **settings):
    usual = {"probability": "vote", "n_samples": 5, "concurrency": 2, "max_retries": 2}
    return Runs(tmp_path)(model, range(n_items), **usual | settings)


def test_all_samples_of_an_item_are_one_request(tmp_path):
    model = Sampling([YES, NO, YES, YES, NO])

    calls, rows = run(tmp_path, model, price=Price(input=1.0, output=2.0))
    again, same = run(tmp_path, Sampling(["never asked"]))

    assert (model.asked, model.requests) == ([5, 5, 5], [])
    assert rows["probability"].to_list() == same["probability"].to_list() == [0.6] * 3
    assert (calls.n_calls, again.n_calls, again.n_reused) == (3, 0, 3)
    assert (calls.prompt_tokens, calls.completion_tokens) == (300, 150)
    assert calls.cost == pytest.approx((300 * 1.0 + 150 * 2.0) / 1e6)


def test_more_samples_are_asked_for_beside_those_that_there_are(tmp_path):
    run(tmp_path, Sampling([YES]), n_samples=3)
    model = Sampling([NO])

    _, rows = run(tmp_path, model, n_samples=7)

    assert model.asked == [4] * 3
    assert rows["probability"].to_list() == pytest.approx([3 / 7] * 3)


def test_a_server_that_gives_one_reply_a_call_is_asked_one_by_one_from_then_on(tmp_path):
    model = Sampling([YES, NO, YES], most=1)

    calls, rows = run(tmp_path, model, concurrency=1)

    assert model.asked == [5]
    assert len(model.requests) == 4 + 2 * 5
    assert calls.n_calls == 1 + 14
    assert rows["failure"].null_count() == 3


def test_an_error_that_passes_is_tried_again_and_another_is_a_failure_of_all(tmp_path):
    passing = Sampling([YES], error=ServerError("busy", status=503, retry_after_s=0.0))
    lasting = Sampling([YES], error=RefusalError("no"))

    calls, rows = run(tmp_path, passing, n_items=1)
    (tmp_path / "replies.sqlite").unlink()
    refused, none = run(tmp_path, lasting, n_items=1)

    assert (passing.asked, calls.n_calls, calls.n_retries) == ([5, 5], 2, 1)
    assert rows["probability"].to_list() == [1.0]
    assert (lasting.asked, refused.n_calls) == ([5], 1)
    assert none["failure"].str.starts_with("refusal").all()


def test_an_unreadable_sample_is_asked_for_again_and_no_other(tmp_path):
    model = Sampling([YES, "prose", NO, YES, NO])
    model.answer = lambda n: "prose"

    _, rows = run(tmp_path, model, n_items=1)

    assert model.asked == [5]
    assert len(model.requests) == 2  # tried three times in all, and not read
    assert rows["probability"].to_list() == [0.5]
