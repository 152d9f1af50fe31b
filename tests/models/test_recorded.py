import asyncio
import json
import resource

import msgspec
import pytest

from voirdire.errors import (
    AccessError,
    ContentFilterError,
    InputError,
    ModelTimeoutError,
    RefusalError,
    UnsupportedError,
)
from voirdire.judging import LlmJudge, judge_items
from voirdire.models import ChatRequest
from voirdire.records import Headroom, Item, Message, Reply, TokenChoice, TokenStep, Usage
from voirdire.rubrics import load_rubric
from voirdire.testing import RecordedModel, ScriptedModel


def request_of(content, **fields):
    return ChatRequest(messages=(Message(role="user", content=content),), **fields)


def ask(model, request):
    return asyncio.run(model.reply(request))


class Counting:
    """Counts the calls of a scripted model."""

    def __init__(self, answer):
        self.n_calls = 0
        self.model = ScriptedModel(self._counted, name="openai/small", version="7")
        self._answer = answer

    def _counted(self, request):
        self.n_calls += 1
        return self._answer(request)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.jsonl"


def test_what_was_recorded_is_given_again_in_every_field(path):
    said = Reply(
        text='{"ok":true}',
        steps=(TokenStep("true", -0.1, (TokenChoice("true", -0.1), TokenChoice("否", -2.5))),),
        finish_reason="stop",
        model="small-2026",
        usage=Usage(10, 5, 4, 3),
        headroom=Headroom(requests=3),
    )
    request = request_of("hello", form="json_object", top_logprobs=5)
    live = ask(RecordedModel(path, model=ScriptedModel(lambda request: said)), request)

    again = ask(RecordedModel(path), request)

    assert again == msgspec.structs.replace(said, form="json_object", headroom=None)
    assert live == again


def test_it_is_the_recorded_model_by_name_settings_and_capabilities(path):
    live = ScriptedModel(lambda request: "x", name="openai/small", log_probabilities=False)
    ask(RecordedModel(path, model=live), request_of("hello"))

    again = RecordedModel(path)

    assert (again.name, again.settings, again.capabilities) == (
        live.name,
        live.settings,
        live.capabilities,
    )


def test_a_model_is_asked_only_for_what_is_missing(path):
    first, second = Counting(lambda request: "old"), Counting(lambda request: "new")
    ask(RecordedModel(path, model=first.model), request_of("a"))

    model = RecordedModel(path, model=second.model)
    texts = [ask(model, request_of(content)).text for content in "ab"]

    assert texts == ["old", "new"]
    assert (first.n_calls, second.n_calls) == (1, 1)
    assert [ask(RecordedModel(path), request_of(content)).text for content in "ab"] == texts


@pytest.mark.parametrize(
    "other",
    [
        {"content": "other"},
        {"form": "json_object"},
        {"schema": b'{"type":"object"}'},
        {"top_logprobs": 4},
        {"max_tokens": 9},
        {"temperature": 0.5},
        {"seed": 1},
        {"prefill": "{"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_any_difference_makes_it_another_request(path, other):
    usual = {"content": "hello", "form": "text"}
    ask(RecordedModel(path, model=ScriptedModel(lambda request: "x")), request_of(**usual))

    with pytest.raises(AccessError, match=r"Record it with `RecordedModel\(path, model=...\)`"):
        ask(RecordedModel(path), request_of(**(usual | other)))


def test_the_role_of_a_message_counts(path):
    roles = [ChatRequest(messages=(Message(role=role, content="x"),)) for role in ("user", "tool")]
    ask(RecordedModel(path, model=ScriptedModel(lambda request: "x")), roles[0])

    with pytest.raises(AccessError):
        ask(RecordedModel(path), roles[1])


@pytest.mark.parametrize("mode", ["joint", "single"])
def test_prompts_of_voirdire_are_found_whatever_their_nonce(path, mode):
    def judged(model, response):
        judge = LlmJudge(model=model, mode=mode, probability="stated", order_check=0)
        item = Item(id="1", prompt=(Message(role="user", content="hi"),), response=response)
        (batch,) = judge_items([item], judge, rubric=rubric)
        return batch.probabilities, batch.failures

    rubric = load_rubric("safety")
    names = [question.id for question in rubric.questions]
    answers = {name: n / len(names) for n, name in enumerate(names)}
    live = RecordedModel(path, model=ScriptedModel(lambda request: answers))

    said, _ = judged(live, "hello")
    again, failures = judged(RecordedModel(path), "hello")

    assert again.tolist() == said.tolist()
    assert len(set(said[0])) == len(names)
    assert not failures
    with pytest.raises(AccessError, match="must hold a reply to every request"):
        judged(RecordedModel(path), "deadbeefdeadbeef")


def test_codes_in_the_text_of_an_item_are_not_masked(path):
    ask(RecordedModel(path, model=ScriptedModel(lambda request: "x")), request_of("a" * 16))

    with pytest.raises(AccessError):
        ask(RecordedModel(path), request_of("b" * 16))


def test_a_mask_of_ones_own_takes_its_codes_out_wherever_they_stand(path):
    mask = r"code: (\w+)"
    live = RecordedModel(path, model=ScriptedModel(lambda request: "x"), mask=mask)
    ask(live, request_of("code: abc\nplease repeat abc"))

    reply = ask(RecordedModel(path, mask=mask), request_of("code: xyz\nplease repeat xyz"))

    assert reply.text == "x"


def test_replies_to_one_request_come_in_turn_and_the_last_stays(path):
    texts = iter(["one", "two"])
    live = RecordedModel(path, model=ScriptedModel(lambda request: next(texts)))
    asyncio.run(live.reply(request_of("a")))
    asyncio.run(live.reply(request_of("a")))

    model = RecordedModel(path)

    assert [ask(model, request_of("a")).text for _ in range(4)] == ["one", "two", "two", "two"]


@pytest.mark.parametrize(
    "error",
    [
        RefusalError("I will not"),
        ContentFilterError("held back", status=400),
        UnsupportedError("no schemas here", feature="json_schema", status=422),
    ],
    ids=lambda error: type(error).__name__,
)
def test_failures_that_last_are_recorded_too(path, error):
    with pytest.raises(type(error)):
        ask(RecordedModel(path, model=ScriptedModel(lambda request: error)), request_of("a"))

    with pytest.raises(type(error), match=str(error)) as raised:
        ask(RecordedModel(path), request_of("a"))

    assert raised.value.status == error.status
    assert getattr(raised.value, "feature", None) == getattr(error, "feature", None)


def test_failures_of_the_moment_are_not_recorded(path):
    said = iter([ModelTimeoutError("too slow"), "at last"])
    model = RecordedModel(path, model=ScriptedModel(lambda request: next(said)))

    with pytest.raises(ModelTimeoutError):
        ask(model, request_of("a"))

    assert ask(model, request_of("a")).text == "at last"
    assert ask(RecordedModel(path), request_of("a")).text == "at last"


def test_a_probability_of_zero_can_be_recorded(path):
    steps = (TokenStep("true", 0.0, (TokenChoice("false", float("-inf")),)),)
    live = ScriptedModel(lambda request: Reply(text="true", steps=steps))
    ask(RecordedModel(path, model=live), request_of("a"))

    reply = ask(RecordedModel(path), request_of("a"))

    assert reply.steps == (TokenStep("true", 0.0, (TokenChoice("false", -9999.0),)),)


def test_many_calls_at_once_leave_whole_lines(path):
    live = RecordedModel(path, model=ScriptedModel(lambda request: "x" * 5_000, delay_s=0.001))

    async def ask_all(model):
        await asyncio.gather(*(model.reply(request_of(str(i))) for i in range(200)))

    asyncio.run(ask_all(live))
    asyncio.run(ask_all(RecordedModel(path)))

    rows = [json.loads(row) for row in path.read_text().splitlines()]
    assert len({row["request"] for row in rows[1:]}) == 200


def test_a_line_that_was_cut_off_is_recorded_anew(path):
    counting = Counting(lambda request: "whole")
    ask(RecordedModel(path, model=counting.model), request_of("a"))
    ask(RecordedModel(path, model=counting.model), request_of("b"))
    path.write_bytes(path.read_bytes()[:-20])

    assert ask(RecordedModel(path), request_of("a")).text == "whole"
    model = RecordedModel(path, model=counting.model)
    assert [ask(model, request_of(content)).text for content in "ab"] == ["whole"] * 2

    assert counting.n_calls == 3
    assert ask(RecordedModel(path), request_of("b")).text == "whole"


def test_another_models_file_is_left_alone(path):
    ask(RecordedModel(path, model=ScriptedModel(lambda request: "x")), request_of("a"))
    before = path.read_bytes()

    with pytest.raises(InputError, match=r"must be the one that .* records, 'scripted'"):
        RecordedModel(path, model=ScriptedModel(lambda request: "y", version="2"))

    assert path.read_bytes() == before


def test_a_missing_file_says_how_to_record_one(path):
    with pytest.raises(InputError, match=r"does not exist\. Record them with"):
        RecordedModel(path)


def test_a_missing_folder_is_known_before_anything_is_asked(path):
    with pytest.raises(InputError, match="Make its folder first"):
        RecordedModel(path.parent / "nowhere" / "x.jsonl", model=ScriptedModel(lambda request: ""))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", r"replies.jsonl:1: must be a line of recorded replies"),
        ('{"schema":"other/1","name":"x","settings":{},"capabilities":{}}\n', "`schema` must be"),
        ("", r"replies.jsonl:1:"),
        (
            '{"schema":"voirdire.recorded/1","name":"x","settings":{},"capabilities":{}}\n{"a":1}\n',
            r"replies.jsonl:2: must be a line",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused(path, content, message):
    path.write_text(content)

    with pytest.raises(InputError, match=message):
        RecordedModel(path)


@pytest.mark.parametrize("mask", ["(", "no group"])
def test_a_mask_is_a_regular_expression_with_a_group(path, mask):
    with pytest.raises(InputError, match="`mask` must"):
        RecordedModel(path, model=ScriptedModel(lambda request: ""), mask=mask)


def test_closing_it_closes_the_model(path):
    class Closing(ScriptedModel):
        async def close(self):
            closed.append(self)

    closed = []
    live = Closing(lambda request: "")

    asyncio.run(RecordedModel(path, model=live).close())

    assert closed == [live]


def test_a_full_disk_is_our_error_and_leaves_whole_lines(path):
    model = RecordedModel(path, model=ScriptedModel(lambda request: "x" * 1_000))
    ask(model, request_of("one"))
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 500, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot be recorded"):
            ask(model, request_of("two"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert path.read_bytes() == before
