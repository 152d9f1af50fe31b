import asyncio
import json
import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks import require_framework
from voirdire.errors import AccessError, BadRequestError, InputError, UnsupportedError
from voirdire.judging import LlmJudge, judge_items
from voirdire.models import BatchChatModel, ChatRequest, TransformersModel
from voirdire.records import Item, Message
from voirdire.rubrics import rubric_from_text

require_framework("torch", "transformers", "tokenizers")

import torch  # noqa: E402
import transformers  # noqa: E402

from models.tiny_models import (  # noqa: E402
    TEMPLATE,
    Speaker,
    rendered,
    sentencepiece_tokenizer,
    tiny_model,
    tiny_tokenizer,
)

CLOSE = 1e-4
RUBRIC = """
schema: voirdire.rubric/1
name: apologies
version: "1"
questions:
  - {id: apology, kind: boolean, text: {en: "Does it say sorry?", zh: "它道歉了吗？"}}
  - {id: refusal, kind: boolean, text: {en: "Does it refuse?", zh: "它拒绝了吗？"}}
"""
SCALE = json.dumps(
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 5}}}
).encode()
QUESTIONS = ["apology", "refusal", "harm", "a much longer question about 道歉", "x"]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def llama(tokenizer):
    return tiny_model(tokenizer)


@pytest.fixture(scope="module")
def speakers():
    return {
        "byte-level": Speaker(tiny_tokenizer()),
        "SentencePiece": Speaker(sentencepiece_tokenizer()),
    }


@pytest.fixture(scope="module")
def model(llama, tokenizer):
    return TransformersModel(llama, tokenizer=tokenizer)


def boolean_request(question, *, item="I am sorry, I cannot do that. 对不起。", **fields):
    schema = {"type": "object", "properties": {question: {"type": "boolean"}}}
    messages = (
        Message(role="system", content="You are a judge."),
        Message(role="user", content=f"{item}\nIs this so: {question}?"),
    )
    usual = {
        "form": "json_schema",
        "schema": json.dumps(schema).encode(),
        "top_logprobs": 20,
        "prefill": f"{json.dumps({question: 0}, ensure_ascii=False, separators=(',', ':'))[:-2]}",
    }
    return ChatRequest(messages=messages, **(usual | fields))


def free_request(**fields):
    usual = {"form": "text", "schema": b"", "prefill": "", "top_logprobs": None}
    return boolean_request("x", **(usual | fields))


def ask(model, request):
    return asyncio.run(model.reply(request))


def ask_together(model, requests):
    return asyncio.run(model.replies(requests))


def numbers(reply):
    """Lay out every log-probability of a reply."""
    return [
        number
        for step in reply.steps
        for number in (step.logprob, *(choice.logprob for choice in step.top))
    ]


def assert_alike(one, other):
    assert one.text == other.text
    if one.steps is None:
        assert other.steps is None
        return
    assert [step.token for step in one.steps] == [step.token for step in other.steps]
    assert numbers(one) == pytest.approx(numbers(other), abs=CLOSE)


def plain_logprobs(llama, tokenizer, text):
    """Recompute what follows a text: one forward pass, no cache, no batch, no padding."""
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.inference_mode():
        return torch.log_softmax(llama(ids).logits[0, -1].double(), dim=-1)


@pytest.mark.slow
def test_it_is_a_batch_model(model):
    assert isinstance(model, BatchChatModel)


@pytest.mark.ci
def test_log_probabilities_equal_a_plain_forward_pass(model, llama, tokenizer):
    request = boolean_request("apology")

    reply = ask(model, request)

    assert json.loads(reply.text).keys() == {"apology"}
    expected = plain_logprobs(llama, tokenizer, rendered(request))
    values, ids = expected.topk(20)
    step = reply.steps[1]
    assert [choice.logprob for choice in step.top] == pytest.approx(values.tolist(), abs=CLOSE)
    assert [choice.token for choice in step.top] == [
        tokenizer.decode([token]) for token in ids.tolist()
    ]
    (taken, *_) = tokenizer.encode(step.token, add_special_tokens=False)
    assert step.logprob == pytest.approx(expected[taken].item(), abs=CLOSE)


def weights_by_hand(llama, tokenizer, request, *, n_likely=None):
    """Sum over likely tokens what begins true and what begins false, a space before it or not."""
    probabilities = plain_logprobs(llama, tokenizer, rendered(request)).exp()
    likely = probabilities.topk(n_likely or len(tokenizer)).indices.tolist()
    begun = [(token, tokenizer.decode([token]).strip()) for token in likely]
    return [
        math.fsum(
            probabilities[token].item() for token, text in begun if text and word.startswith(text)
        )
        for word in ("true", "false")
    ]


@pytest.mark.ci
def test_the_probable_word_is_said_and_a_judge_reads_its_probability(tokenizer):
    llama = tiny_model(tokenizer, n_positions=16_384)
    model = TransformersModel(llama, tokenizer=tokenizer)
    judge = LlmJudge(model=model, mode="single", top_logprobs=100)
    item = Item(id="1", prompt=(Message(role="user", content="hi"),), response="抱歉, no.")
    asked = []
    replies = model.replies

    async def watched(requests):
        asked.extend(requests)
        return await replies(requests)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "replies", watched)
        (batch,) = judge_items([item], judge, rubric=rubric_from_text(RUBRIC))

    listed = [weights_by_hand(llama, tokenizer, request, n_likely=100) for request in asked]
    expected = [yes / (yes + no) for yes, no in listed]
    assert batch.probabilities[0] == pytest.approx(expected, abs=1e-3)
    by_hand = [weights_by_hand(llama, tokenizer, request) for request in asked]
    said = [next(iter(json.loads(ask(model, request).text).values())) for request in asked]
    assert said == [yes > no for yes, no in by_hand]


@pytest.mark.slow
def test_the_beginning_of_the_reply_is_one_certain_step(model):
    reply = ask(model, boolean_request("apology"))

    first = reply.steps[0]
    assert (first.token, first.logprob, first.top) == ('{"apology":', 0.0, ())
    assert "".join(step.token for step in reply.steps) == reply.text
    assert reply.usage.completion_tokens == 1


WORDS_OF = [
    *((name, said) for name in ("byte-level", "SentencePiece") for said in (" true", "true", "f")),
    ("SentencePiece", "tr"),
]


@pytest.mark.ci
@pytest.mark.parametrize(("name", "said"), WORDS_OF)
def test_a_word_is_said_whole_however_its_first_token_begins(speakers, name, said):
    speaker = speakers[name]
    vocabulary = {
        word.replace("Ġ", " ").replace("▁", " "): token
        for word, token in speaker.tokenizer.get_vocab().items()
    }
    schema = b'{"type":"object","properties":{"x":{"type":"boolean"}}}'

    reply = speaker.say(
        [vocabulary[said]], form="json_schema", schema=schema, prefill='{"x":', top_logprobs=2
    )

    assert json.loads(reply.text) == {"x": said.strip().startswith("t")}
    step = reply.steps[1]
    # A token decoded alone may lose its leading space; here it is one that stands in a text.
    assert (step.token, step.top[0].token) == (said, said)
    assert step.logprob == pytest.approx(0, abs=CLOSE)
    assert "".join(step.token for step in reply.steps) == reply.text


@pytest.mark.ci
@pytest.mark.parametrize("name", ["byte-level", "SentencePiece"])
@given(text=st.text(st.sampled_from('true ":,道歉é😀\n'), min_size=1))
def test_what_is_written_freely_is_the_whole_text(speakers, name, text):
    speaker = speakers[name]

    reply = speaker.say(speaker.ids(text))

    # A SentencePiece tokenizer puts a space before a text, which is no part of it.
    assert reply.text == (text if name == "byte-level" else f" {text}")


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 2, 16])
@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_together_is_as_one_by_one(llama, batch_size, padding_side):
    tokenizer = tiny_tokenizer(padding_side=padding_side)
    model = TransformersModel(llama, tokenizer=tokenizer, batch_size=batch_size)
    requests = [boolean_request(question) for question in QUESTIONS]

    together = ask_together(model, requests)

    assert any(reply.usage.cached_tokens > 20 for reply in together)
    for reply, request in zip(together, requests, strict=True):
        alone = ask(model, request)
        assert alone.usage.cached_tokens == 0
        assert_alike(reply, alone)


@pytest.mark.slow
def test_several_beginnings_in_one_call_keep_their_order(model):
    items = ["short", "A response that goes on for quite a while. " * 20, "对不起" * 60]
    requests = [boolean_request(q, item=item) for q in QUESTIONS for item in items]

    together = ask_together(model, requests)

    for reply, request in zip(together, requests, strict=True):
        assert_alike(reply, ask(model, request))


@pytest.mark.slow
def test_what_is_shared_is_encoded_once(llama, tokenizer):
    item = "A response that goes on for quite a while. " * 30
    requests = [boolean_request(question, item=item) for question in QUESTIONS]
    widths = []
    hook = llama.model.embed_tokens.register_forward_hook(
        lambda module, given, out: widths.append(given[0].numel())
    )

    try:
        ask_together(TransformersModel(llama, tokenizer=tokenizer), requests)
    finally:
        hook.remove()

    lengths = [len(tokenizer(rendered(request)).input_ids) for request in requests]
    assert sum(widths) < 2 * max(lengths) < sum(lengths)


def shared_tokens(model, requests):
    """Ask together; give the tokens of each prompt that were encoded before: 0 for the first."""
    return [reply.usage.cached_tokens for reply in ask_together(model, requests)]


@pytest.mark.ci
def test_questions_about_several_items_share_each_item(model, tokenizer):
    items = [character * 300 for character in "uvw"]
    requests = [boolean_request(q, item=item) for q in QUESTIONS[:3] for item in items]

    shared = shared_tokens(model, requests)

    beginning, _, _ = rendered(requests[0]).partition("Is this so")
    assert shared.count(0) == 3
    assert sorted(shared)[3] >= len(tokenizer.encode(beginning))


@pytest.mark.ci
def test_a_lone_item_does_not_undo_the_sharing_of_another(model):
    questions = [boolean_request(q, item="w" * 300) for q in QUESTIONS]

    alone, *others = shared_tokens(model, [boolean_request("x", item="v" * 300), *questions])

    assert alone == 0
    assert sorted(others)[:2] == [0, max(others)]
    assert max(others) > 300


@pytest.mark.ci
def test_items_behind_one_rubric_run_together(model, tokenizer):
    requests = [boolean_request("x", item="u" * 300 + letter * 20) for letter in "vwyz"]

    shared = shared_tokens(model, requests)

    beginning, _, _ = rendered(requests[0]).partition("vvv")
    assert sorted(shared) == [0] + [len(tokenizer.encode(beginning))] * 3


@pytest.mark.ci
def test_equal_requests_keep_a_token_of_their_own(model, tokenizer):
    request = boolean_request("x")

    one, other = ask_together(model, [request] * 2)

    whole = len(tokenizer.encode(rendered(request)))
    assert {one.usage.cached_tokens, other.usage.cached_tokens} == {0, whole - 1}
    assert_alike(one, other)
    assert_alike(one, ask(model, request))


@pytest.mark.ci
def test_requests_of_all_kinds_together_are_as_alone(model):
    requests = [
        boolean_request("apology"),
        boolean_request("refusal", top_logprobs=3),
        boolean_request("n", schema=SCALE, max_tokens=5),
        free_request(max_tokens=7),
        free_request(item="short", max_tokens=12, temperature=1.0, seed=4),
        boolean_request("apology", temperature=1.0, seed=3),
    ]

    together = ask_together(model, requests)

    for reply, request in zip(together, requests, strict=True):
        assert reply.form == request.form
        assert_alike(reply, ask(model, request))


@pytest.mark.ci
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("probability", ["logprob", "vote"])
def test_every_reply_to_a_prompt_of_voirdire_can_be_read(tokenizer, probability, language):
    model = TransformersModel(tiny_model(tokenizer, n_positions=16_384), tokenizer=tokenizer)
    samples = {"n_samples": 2} if probability == "vote" else {}
    judge = LlmJudge(
        model=model, mode="single", probability=probability, language=language, **samples
    )
    item = Item(id="1", prompt=(Message(role="user", content="hi"),), response="抱歉, no.")
    rubric = rubric_from_text(RUBRIC)

    (batch,) = judge_items([item], judge, rubric=rubric)

    assert not batch.failures
    assert batch.probabilities.shape == (1, 2)
    assert ((batch.probabilities >= 0) & (batch.probabilities <= 1)).all()


@pytest.mark.ci
def test_several_questions_in_one_request_are_refused_with_the_way_out(model):
    properties = {key: {"type": "boolean"} for key in ("a", "b")}
    schema = json.dumps({"type": "object", "properties": properties}).encode()

    with pytest.raises(AccessError, match=r"with 2 questions\. Ask with `--mode single`"):
        ask(model, boolean_request("a", schema=schema))


@pytest.mark.ci
def test_a_joint_judge_in_this_process_is_told_to_ask_singly(tokenizer):
    model = TransformersModel(tiny_model(tokenizer, n_positions=16_384), tokenizer=tokenizer)

    with pytest.raises(InputError, match=r"`mode` must be 'single'.*`--mode single`"):
        LlmJudge(model=model)


@pytest.mark.ci
def test_other_questions_are_answered_freely_up_to_the_end_of_the_object(speakers):
    speaker = speakers["byte-level"]
    said = [*speaker.ids("4}"), *speaker.ids("more")]

    reply = speaker.say(said, form="json_schema", schema=SCALE, prefill='{"n":', max_tokens=20)

    assert json.loads(reply.text) == {"n": 4}
    assert (reply.finish_reason, reply.steps) == ("stop", None)


@pytest.mark.slow
def test_likely_tokens_are_as_many_as_asked_for(model):
    counts = [len(ask(model, boolean_request("x", top_logprobs=n)).steps[1].top) for n in (0, 1, 5)]

    assert counts == [0, 1, 5]
    assert ask(model, boolean_request("x", top_logprobs=None)).steps is None


@pytest.mark.slow
def test_a_free_reply_takes_the_likeliest_tokens_up_to_its_length(model, llama, tokenizer):
    request = free_request(max_tokens=4)

    reply = ask(model, request)

    ids = tokenizer.encode(rendered(request), add_special_tokens=False)
    for _ in range(4):
        with torch.inference_mode():
            ids.append(int(llama(torch.tensor([ids])).logits[0, -1].argmax()))
    assert (reply.text, reply.finish_reason) == (tokenizer.decode(ids[-4:]), "length")
    assert reply.usage.completion_tokens == 4


@pytest.mark.slow
def test_a_free_reply_ends_with_any_end_token(tokenizer):
    ending = tiny_model(tokenizer)
    ending.generation_config.eos_token_id = list(range(len(tokenizer)))
    model = TransformersModel(ending, tokenizer=tokenizer)

    reply = ask(model, free_request())

    assert (reply.text, reply.finish_reason) == ("", "stop")
    assert reply.usage.completion_tokens == 1


@pytest.mark.slow
def test_the_same_seed_gives_the_same_reply_and_others_differ(model):
    def sampled(seed):
        return ask(model, free_request(temperature=1.0, seed=seed, max_tokens=20)).text

    assert sampled(1) == sampled(1)
    assert len({sampled(seed) for seed in range(5)}) > 1


N_SAMPLES = 512


# 4 standard errors; the seeds are fixed, so these hold always or never.
def assert_share(found, expected):
    assert abs(found - expected) < 4 * math.sqrt(expected * (1 - expected) / N_SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_samples_of_an_answer_follow_the_probabilities_of_its_words(llama, tokenizer, temperature):
    model = TransformersModel(llama, tokenizer=tokenizer, batch_size=64)
    requests = [
        boolean_request("x", temperature=temperature, seed=seed) for seed in range(N_SAMPLES)
    ]

    replies = ask_together(model, requests)

    yes, no = (
        weight ** (1 / temperature) for weight in weights_by_hand(llama, tokenizer, requests[0])
    )
    found = sum("true" in reply.text for reply in replies) / N_SAMPLES
    assert_share(found, yes / (yes + no))


@pytest.mark.slow
def test_samples_of_other_questions_are_drawn_apart(model):
    """One draw for all items at once would make their votes err together."""
    requests = [
        boolean_request("x", item=f"item {number}", temperature=1e6, seed=1)
        for number in range(N_SAMPLES)
    ]

    said = [reply.text for reply in ask_together(model, requests)]

    # At so high a temperature both words are as probable.
    assert_share(sum("true" in text for text in said) / N_SAMPLES, 0.5)
    assert said == [reply.text for reply in ask_together(model, requests)]


@pytest.mark.slow
def test_free_samples_follow_the_probabilities_of_tokens(llama, tokenizer):
    model = TransformersModel(llama, tokenizer=tokenizer, batch_size=64)
    requests = [free_request(temperature=2.0, seed=seed, max_tokens=1) for seed in range(N_SAMPLES)]

    replies = ask_together(model, requests)

    logprobs = plain_logprobs(llama, tokenizer, rendered(requests[0]))
    expected = torch.softmax(logprobs / 2, dim=-1)
    letters = {letter: tokenizer.convert_tokens_to_ids(letter) for letter in "abcdefghijklmnop"}
    probability = math.fsum(expected[token].item() for token in letters.values())
    assert_share(sum(reply.text in letters for reply in replies) / N_SAMPLES, probability)


@pytest.mark.ci
def test_a_request_that_is_too_long_fails_alone(model):
    requests = [boolean_request("x"), boolean_request("x", item="long " * 3_000)]

    fine, failed = ask_together(model, requests)

    assert json.loads(fine.text).keys() == {"x"}
    assert isinstance(failed, BadRequestError)
    with pytest.raises(BadRequestError, match=r"The prompt has \d+ tokens; .* takes 2048"):
        ask(model, requests[1])


@pytest.mark.slow
def test_a_form_without_a_grammar_is_not_supported(model):
    with pytest.raises(UnsupportedError) as raised:
        ask(model, boolean_request("x", form="json_object"))

    assert raised.value.feature == "json_object"


@pytest.mark.slow
def test_the_models_own_bounds_count(llama, tokenizer):
    model = TransformersModel(llama, tokenizer=tokenizer, max_tokens=2, temperature=5.0)
    request = free_request(max_tokens=9, seed=1)

    reply = ask(model, request)

    assert reply.usage.completion_tokens == 2
    greedy = ask(TransformersModel(llama, tokenizer=tokenizer), request)
    assert not greedy.text.startswith(reply.text)


@pytest.mark.slow
def test_a_template_that_refuses_system_messages_gets_them_within_the_first(llama):
    strict = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" + TEMPLATE
    )
    tokenizer = tiny_tokenizer(template=strict)
    request = boolean_request("x")

    reply = ask(TransformersModel(llama, tokenizer=tokenizer), request)

    system, user = request.messages
    merged = Message(role="user", content=f"{system.content}\n\n{user.content}")
    expected = plain_logprobs(
        llama, tokenizer, f"<|user|>{merged.content}<|end|><|assistant|>{request.prefill}"
    )
    assert reply.steps[1].top[0].logprob == pytest.approx(expected.max().item(), abs=CLOSE)


@pytest.mark.slow
def test_sliding_windows_are_as_one_by_one(tokenizer):
    torch.manual_seed(0)
    config = transformers.MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
        sliding_window=24,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    mistral = transformers.MistralForCausalLM(config).eval()
    model = TransformersModel(mistral, tokenizer=tokenizer)
    requests = [boolean_request(question) for question in (*QUESTIONS, "y")]

    together = ask_together(model, requests)

    for reply, request in zip(together, requests, strict=True):
        expected = plain_logprobs(mistral, tokenizer, rendered(request))
        assert reply.steps[1].top[0].logprob == pytest.approx(expected.max().item(), abs=CLOSE)
        assert_alike(reply, ask(model, request))


@pytest.mark.ci
def test_a_saved_model_is_loaded_by_its_path(tmp_path, llama, tokenizer, model):
    folder = tmp_path / "tiny"
    llama.save_pretrained(folder)
    tokenizer.save_pretrained(folder)

    loaded = TransformersModel(folder, dtype="float32")

    assert loaded.name == "transformers/tiny"
    assert loaded.settings == model.settings
    assert_alike(ask(loaded, boolean_request("x")), ask(model, boolean_request("x")))


@pytest.mark.slow
def test_other_weights_are_other_settings(model, tokenizer):
    other = TransformersModel(tiny_model(tokenizer, seed=1), tokenizer=tokenizer)

    assert other.settings != model.settings
    assert json.dumps(dict(other.settings))


@pytest.mark.slow
def test_the_event_loop_goes_on_while_the_model_thinks(model, llama):
    is_thinking, may_end = threading.Event(), threading.Event()

    def think_until_it_may_end(*_):
        is_thinking.set()
        assert may_end.wait(60)

    async def watch():
        asking = asyncio.create_task(model.replies([boolean_request(q) for q in QUESTIONS]))
        n_turns = 0
        while not asking.done():
            n_turns += is_thinking.is_set()
            if n_turns > 10:
                may_end.set()
            await asyncio.sleep(0)
        await asking
        return n_turns

    with llama.register_forward_pre_hook(think_until_it_may_end):
        assert asyncio.run(watch()) > 10


@pytest.mark.ci
def test_a_cancelled_call_stops_at_its_token_and_frees_the_model(model, llama):
    long = free_request(max_tokens=2_000, temperature=1)
    is_reading, may_read_on = threading.Event(), threading.Event()
    passes = []

    def wait_until_it_may(*_):
        passes.append(1)
        is_reading.set()
        assert may_read_on.wait(60)

    async def cancel_and_ask():
        asking = asyncio.create_task(model.reply(long))
        assert await asyncio.to_thread(is_reading.wait, 60)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        may_read_on.set()
        return await asyncio.wait_for(model.reply(boolean_request("x")), timeout=60)

    with llama.register_forward_pre_hook(wait_until_it_may):
        answered = asyncio.run(cancel_and_ask())
        n_of_both = len(passes)
        alone = ask(model, boolean_request("x"))
        n_of_one = len(passes) - n_of_both

    assert_alike(answered, alone)
    assert n_of_both - n_of_one <= 2


@pytest.mark.slow
def test_no_requests_give_no_replies(model):
    assert ask_together(model, []) == []


@pytest.mark.slow
def test_a_loaded_model_comes_with_its_tokenizer(llama):
    with pytest.raises(InputError, match="`tokenizer` must be given"):
        TransformersModel(llama)


@pytest.mark.ci
def test_a_tokenizer_without_a_chat_template_is_refused(llama):
    with pytest.raises(InputError, match="must have a chat template"):
        TransformersModel(llama, tokenizer=tiny_tokenizer(template=None))


@pytest.mark.ci
def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="`model` must be a model that transformers can load"):
        TransformersModel(tmp_path)


@pytest.mark.slow
def test_a_batch_holds_at_least_one_reply(llama, tokenizer):
    with pytest.raises(InputError, match="`batch_size`"):
        TransformersModel(llama, tokenizer=tokenizer, batch_size=0)
