"""Bodies with status 200: what is the answer, what is none, and what was charged."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat_server import ask, asked, completion, read_rows, reply_to, token
from voirdire.errors import ModelCallError
from voirdire.records import Usage

JSON = asked(form="json_schema")


# Bodies with status 200, and what they are: a reply with this text, or an error with these words.
@pytest.mark.parametrize("row", read_rows("replies.jsonl"), ids=lambda row: row["name"])
@pytest.mark.parametrize("request_", [JSON, asked(form="json_schema", top_logprobs=2)])
def test_a_body_is_the_reply_or_the_error_that_it_holds(row, request_):
    told = ask(row["body"].encode(), request_, request_)

    found, again = told.results
    words = json.dumps(json.loads(found.text or "null")) if row["kind"] == "Reply" else str(found)
    assert type(found).__name__ == type(again).__name__ == row["kind"]
    assert row["words"] in words
    assert row.get("finish_reason") in (None, getattr(found, "finish_reason", None))
    is_elsewhere = row["name"].startswith(("in ", "reasoning"))
    assert len(told.model.adaptations) == is_elsewhere
    assert all("leaves `content` empty" in sentence for sentence in told.model.adaptations)


def test_where_words_were_asked_for_no_other_field_is_read():
    message = {"role": "assistant", "content": "", "reasoning_content": '{"ok": 0.25}'}

    assert reply_to(completion("", message=message)).text == ""


@given(body=st.one_of(st.binary(), st.just(b'{"usage":' + b"[" * 200_000 + b',"x":NaN}')))
def test_any_bytes_are_a_reply_or_an_error_of_the_model(body):
    assert isinstance(reply_to(body, asked(top_logprobs=2)), ModelCallError)


def test_a_reply_has_all_that_the_server_says():
    reply = reply_to(completion('{"ok": 0.25}'), JSON)

    assert (reply.form, reply.finish_reason, reply.model) == ("json_schema", "stop", "m-1")
    assert reply.usage == Usage(100, 20)


def test_half_a_surrogate_pair_in_a_reply_does_not_lose_it():
    body = json.dumps(completion('{"why": "half ')).replace("half ", "half \\ud83d ")

    assert reply_to(body.encode()).text == '{"why": "half ? '


def test_log_probabilities_of_any_shape_do_not_lose_the_reply():
    fine = {"content": [token("{}")], "x": 1}
    odd = ["strange", {"content": [{"tok": 1}]}, {"content": None}, None]
    for logprobs in [*odd, {"tokens": ["a"], "token_logprobs": []}, fine]:
        reply = reply_to(completion("{}", logprobs=logprobs), asked(top_logprobs=5))

        assert reply.text == "{}"
        assert (reply.steps is None) is (logprobs is not fine)


def test_numbers_that_json_lacks_are_read_as_servers_mean_them():
    answer = completion("no", logprobs={"content": [token("no", -math.inf, yes=math.nan)]})

    (step,) = reply_to(json.dumps(answer).encode(), asked(top_logprobs=2)).steps

    assert step.logprob == -9999
    assert math.isnan(step.top[1].logprob)


USED = {"prompt_tokens": 10, "completion_tokens": 5}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (USED, Usage(10, 5)),
        ({"prompt_tokens": "10", "completion_tokens": "5"}, Usage(10, 5)),
        (USED | {"completion_tokens_details": {"reasoning_tokens": 3}}, Usage(10, 5, 0, 3)),
        (USED | {"prompt_tokens_details": {"cached_tokens": 6, "x": 0}}, Usage(10, 5, 6, 0)),
        (USED | {"prompt_tokens_details": {"cached_tokens": 90}}, Usage(100, 5, 90, 0)),
        (USED | {"prompt_tokens_details": {"cached_tokens": 10**12}}, None),
        (USED | {"prompt_cache_hit_tokens": 8}, Usage(10, 5, 8, 0)),
        # reasoning that only the total counts
        (USED | {"total_tokens": 35}, Usage(10, 25, 0, 20)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": -1, "completion_tokens": 1}, None),
        ({"prompt_tokens": 10**400, "completion_tokens": 1}, None),
        ({"prompt_tokens": 1, "completion_tokens": 2**64}, None),
        ({"prompt_tokens": 1}, None),
        *(({}, None), ([], None), (None, None)),
    ],
)
def test_usage_is_what_was_charged_or_none(counts, expected):
    assert reply_to(completion("{}") | {"usage": counts}).usage == expected


def test_several_replies_have_the_usage_of_their_call_once():
    answer = completion("a", "bb", "ccc", usage=(100, 60))

    ((first, *others),) = ask(answer, n=3).results

    assert [first.text, *(other.text for other in others)] == ["a", "bb", "ccc"]
    assert first.usage == Usage(100, 60)
    assert [other.usage for other in others] == [None, None]


def test_choices_without_a_reply_are_left_out_where_others_have_one():
    answer = completion("a", "b")
    answer["choices"][0]["finish_reason"] = "content_filter"

    ((reply,),) = ask(answer, n=2).results

    assert (reply.text, reply.usage) == ("b", Usage(100, 20))


def test_more_replies_than_were_asked_for_are_not_kept():
    assert reply_to(completion("a", "b")).text == "a"
