"""From prompts to verified completions, in memory."""

import math
import re
import threading

import pytest

from rewards.synthesis.obedient import (
    N_COMPLETIONS,
    NO,
    PROMPTS,
    RECIPES,
    SAFETY,
    YES,
    asked_for,
    count_of,
    judge,
    obeying,
    shown,
    writer,
)
from voirdire.errors import (
    AccessError,
    CostLimitReachedError,
    InputError,
    NoDataError,
    RefusalError,
    UncertifiedWarning,
)
from voirdire.judging import LlmJudge, Price, load_local_judge
from voirdire.records import Item, Message, Reply, Usage
from voirdire.rewards import FitSettings, fit_reward, synthesize
from voirdire.rubrics import hard_classes
from voirdire.testing import ScriptedModel


def made_by(model, prompts=PROMPTS, run=synthesize, **settings):
    given = {"model": model, "judge": judge(), "rubric": SAFETY, "recipes": RECIPES}
    return run(prompts, **(given | settings))


def class_of(row):
    """Work out the class of a row's probabilities, with nothing of the synthesis."""
    labels = [[row["probabilities"][name] >= 0.5 for name in SAFETY.propositions]]
    place = hard_classes(SAFETY, row["behavior"], labels=labels)[0]
    return SAFETY.behavior(row["behavior"]).classes[place].name


# Every group is filled -------------------------------------------------------------------------


def test_a_writer_that_obeys_fills_every_group_at_the_first_draft():
    model = writer()

    made = made_by(model)

    assert made.rejected == ()
    assert count_of(made.rows) == {
        ("hard_refuse", "ideal"): 1,
        ("hard_refuse", "less_good"): 1,
        ("hard_refuse", "unacceptable"): 1,
        ("hard_refuse", "disallowed"): 1,
        ("soft_refuse", "ideal"): 1,
        ("soft_refuse", "less_good"): 1,
        ("soft_refuse", "unacceptable"): 1,
        ("soft_refuse", "disallowed"): 1,
        ("comply", "ideal"): 1,
        ("comply", "less_good"): 2,
        ("comply", "unacceptable"): 1,
    }
    assert len(model.calls) == N_COMPLETIONS
    assert {row["attempts"] for row in made.rows} == {1}
    assert made.summary.n_complete == len(PROMPTS)
    assert all(row.n_wanted == row.n_written for row in made.summary.slots)


def test_the_label_of_every_completion_is_the_class_of_what_the_judge_found():
    prompts = [PROMPTS[k % 3] | {"id": f"{k}", "prompt": f"p {k}"} for k in range(60)]

    made = made_by(writer(), prompts)

    assert len(made.rows) == 240
    assert all(row["label"] == row["completion_class"] == class_of(row) for row in made.rows)


def test_every_trait_that_was_asked_for_is_recorded_and_those_that_were_drawn():
    model = writer()

    made = made_by(model)

    told = {frozenset(asked_for(request).items()) for request in model.calls}
    recorded = {frozenset(row["traits"].items()) for row in made.rows}
    assert told == recorded
    for row in made.rows:
        assert row["sampled"].items() <= row["traits"].items()
        assert {name for name, state in row["traits"].items() if state} == shown(row["response"])
    flawed = [
        row for row in made.rows if row["label"] == "unacceptable" and row["behavior"] != "comply"
    ]
    assert flawed
    assert all(row["sampled"] for row in flawed)


def test_rows_say_who_wrote_them_by_what_and_how_sure_the_judge_was():
    made = made_by(writer(), seed=7)

    row = made.rows[0]
    assert (row["id"], row["group"], row["behavior"], row["label"]) == (
        "lock/ideal/1", "lock", "hard_refuse", "ideal"
    )  # fmt: skip
    assert (row["model"], row["judge"], row["seed"]) == ("scripted/writer", "scripted", 7)
    assert row["recipes"] == RECIPES.title
    assert row["recipes"].startswith("safety 1.0 (")
    assert row["judge_fingerprint"] == made.summary.judge_fingerprint
    assert row["probabilities"]["apology"] == YES
    assert row["probabilities"]["judgement"] == NO
    assert set(row["probabilities"]) == set(SAFETY.propositions)


def test_the_same_seed_gives_the_same_completions_and_another_one_others():
    prompts = [{"id": f"{k}", "prompt": f"p {k}", "behavior": "soft_refuse"} for k in range(20)]

    first, again, other = (made_by(writer(), prompts, seed=seed).rows for seed in (1, 1, 2))

    assert first == again
    assert [row["sampled"] for row in first] != [row["sampled"] for row in other]


def test_the_order_of_prompts_changes_no_completion():
    forward = made_by(writer(), PROMPTS).rows
    backward = made_by(writer(), PROMPTS[::-1]).rows

    assert sorted(forward, key=lambda row: row["id"]) == sorted(backward, key=lambda row: row["id"])


def test_sampled_traits_differ_from_prompt_to_prompt():
    prompts = [{"id": f"{k}", "prompt": f"p {k}", "behavior": "hard_refuse"} for k in range(40)]

    rows = made_by(writer(), prompts).rows

    drawn = {tuple(row["sampled"]) for row in rows if row["label"] == "unacceptable"}
    assert {name for row in drawn for name in row} == {
        "judgement", "third_person", "threatening_language", "insulting_language"
    }  # fmt: skip
    assert {len(row) for row in drawn} == {1, 2}


# What is not right is written again ------------------------------------------------------------


def test_a_writer_that_never_obeys_is_asked_so_often_and_everything_is_counted():
    model = writer(lambda request: "This shows: nothing at all.")

    made = made_by(model, n_attempts=4)

    assert len(model.calls) == made.summary.calls.n_calls
    assert len(made.rows) + len(made.rejected) == N_COMPLETIONS
    assert made.summary.n_rejected == len(made.rejected)
    assert all(row["attempts"] == 4 == len(row["failed"]) for row in made.rejected)
    assert len(model.calls) == 4 * len(made.rejected) + len(made.rows)
    ideal = next(row for row in made.rejected if row["id"] == "lock/ideal/1")
    assert ideal["failed"][0].startswith("class must be ideal, got unacceptable")
    assert ideal["response"] == "This shows: nothing at all."
    assert made.summary.n_complete == 0


def test_traits_that_were_wrong_are_named_with_the_draft():
    def without_judgement(request):
        return obeying(request).replace("judgement", "")

    prompts = [{"id": f"{k}", "prompt": f"p {k}", "behavior": "hard_refuse"} for k in range(30)]

    made = made_by(writer(without_judgement), prompts, n_attempts=2)

    wanting = [row for row in made.rejected if row["traits"].get("judgement")]
    assert wanting
    assert made.rejected == tuple(wanting)
    assert all("judgement must be true (p 0.04)" in row["failed"][0] for row in wanting)
    assert all(row["unmet"] == ("judgement",) for row in wanting)


def test_a_further_draft_is_told_what_was_missed_is_warmer_and_has_another_seed():
    def at_the_second(request):
        if "An earlier draft missed" in request.messages[0].content:
            return obeying(request)
        return "This shows: judgement."

    model = writer(at_the_second)

    made = made_by(model, PROMPTS[:1], temperature=0.7)

    ideal = next(row for row in made.rows if row["label"] == "ideal")
    assert ideal["attempts"] == 2
    again = [call for call in model.calls if "An earlier draft missed" in call.messages[0].content]
    once = [call for call in model.calls if call not in again]
    assert {call.temperature for call in once} == {0.7}
    assert {call.temperature for call in again} == {0.8}
    assert len({call.seed for call in model.calls}) == len(model.calls)
    missed = again[0].messages[0].content.partition("An earlier draft missed")[2]
    assert RECIPES.instructions["apology"].when_true["en"] in missed
    assert RECIPES.instructions["third_person"].when_false["en"] not in missed


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(text="   ", finish_reason="stop"), "empty reply"),
        (Reply(text="This shows: apo", finish_reason="length"), "cut off"),
        (Reply(text="<think>hm, how", finish_reason="stop"), "cut off"),
    ],
)
def test_a_reply_without_a_whole_text_is_a_draft_that_failed(reply, reason):
    made = made_by(writer(lambda request: reply), PROMPTS[:1], n_attempts=2)

    assert made.rows == ()
    assert all(row["failed"][0].startswith(reason) for row in made.rejected)
    assert len(made.rejected) == 4


def test_reasoning_is_taken_out_of_a_completion():
    made = made_by(writer(lambda request: f"<think>so</think>\n\n{obeying(request)}"))

    assert made.rejected == ()
    assert all(row["response"].startswith("This shows:") for row in made.rows)


def test_a_model_that_declines_leaves_slots_open_and_nothing_breaks():
    def declines(request):
        wanted = asked_for(request)
        return RefusalError("no") if wanted.get("disallowed_content") else obeying(request)

    made = made_by(writer(declines), PROMPTS[:1])

    assert [row["label"] for row in made.rejected] == ["disallowed"]
    assert made.rejected[0]["failed"][0].startswith("no reply: refusal")
    assert made.rejected[0]["response"] is None


def test_a_verdict_that_is_missing_is_no_trait():
    def unsure(item):
        there = shown(item.response)
        known = {name: YES if name in there else NO for name in SAFETY.propositions}
        return list((known | {"judgement": math.nan}).values())

    prompts = [{"id": f"{k}", "prompt": f"p {k}", "behavior": "hard_refuse"} for k in range(30)]
    made = made_by(writer(), prompts, judge=judge(unsure), n_attempts=1)

    drawn = {row["id"] for row in made.rejected if row["sampled"].get("judgement")}
    unclear = {row["id"]: row["failed"][0] for row in made.rejected if row["id"] not in drawn}
    assert drawn
    failed = [row["failed"] for row in made.rejected if row["id"] in drawn]
    assert failed == [["no verdict about judgement"]] * len(drawn)
    assert unclear["0/ideal/1"] == "class must be ideal, got none"
    assert all(row["probabilities"]["judgement"] is None for row in made.rows)


def test_what_would_fail_every_call_ends_the_run():
    with pytest.raises(AccessError, match="wrong key"):
        made_by(writer(lambda request: AccessError("wrong key")))


def test_a_behavior_whose_worst_label_got_no_completion_is_not_fitted():
    def declines(request):
        wanted = asked_for(request)
        return RefusalError("no") if wanted.get("disallowed_content") else obeying(request)

    prompts = [PROMPTS[0] | {"id": f"{k}", "prompt": f"p {k}"} for k in range(3)]
    made = made_by(writer(declines), [*prompts, PROMPTS[2]])

    settings = FitSettings(n_resamples=0)
    with pytest.raises(InputError, match=r"'hard_refuse' must have .* label 'disallowed'"):
        fit_reward(made.rows, judge=judge(), settings=settings)
    assert "worst label, 'disallowed'" in made.summary.notes[-1]
    rest = [row for row in made.rows if row["behavior"] == "comply"]
    with pytest.warns(UncertifiedWarning):
        fit = fit_reward(rest, judge=judge(), settings=settings)
    assert fit.model.behaviors.keys() == {"comply"}


# What is paid for is kept ----------------------------------------------------------------------


def test_a_second_run_calls_nothing_and_gives_the_same(tmp_path):
    place = tmp_path / "replies.sqlite"
    model, again = writer(), writer()

    first = made_by(model, store=place)
    second = made_by(again, store=place)

    assert len(model.calls) == N_COMPLETIONS
    assert again.calls == []
    assert second.rows == first.rows
    assert second.summary.calls.n_reused == N_COMPLETIONS


def test_drafts_that_were_rejected_are_not_paid_for_again_either(tmp_path):
    place = tmp_path / "replies.sqlite"
    stubborn = {"answer": lambda request: "This shows: judgement."}
    first = made_by(writer(**stubborn), store=place)
    model = writer(**stubborn)

    second = made_by(model, store=place)

    assert model.calls == []
    assert second.rejected == first.rejected


def test_more_attempts_go_on_where_the_drafts_ended(tmp_path):
    place = tmp_path / "replies.sqlite"
    stubborn = {"answer": lambda request: "This shows: judgement."}
    first = made_by(writer(**stubborn), store=place, n_attempts=2)
    model = writer(**stubborn)

    second = made_by(model, store=place, n_attempts=3)

    assert len(model.calls) == len(first.rejected) == len(second.rejected)


def test_a_failed_call_is_made_again_only_where_that_is_asked_for(tmp_path):
    place = tmp_path / "replies.sqlite"
    made_by(writer(lambda request: RefusalError("no")), store=place, n_attempts=1)
    kept, anew = writer(), writer()

    still = made_by(kept, store=place, n_attempts=1)
    now = made_by(anew, store=place, n_attempts=1, retry_failures=True)

    assert (kept.calls, len(still.rows)) == ([], 0)
    assert (len(anew.calls), len(now.rows)) == (N_COMPLETIONS, N_COMPLETIONS)


@pytest.mark.edges
@pytest.mark.parametrize("other", [{"seed": 1}, {"language": "zh"}, {"temperature": 0.5}])
def test_another_run_shares_nothing_with_the_first(tmp_path, other):
    place = tmp_path / "replies.sqlite"
    made_by(writer(), store=place)
    model = writer()

    made_by(model, store=place, n_attempts=1, **other)

    assert len(model.calls) == N_COMPLETIONS


def priced(request):
    return Reply(text=obeying(request), finish_reason="stop", usage=Usage(1_000, 100))


def test_the_run_ends_where_its_money_does_and_goes_on_later(tmp_path):
    place = tmp_path / "replies.sqlite"
    price = Price(input=1.0, output=10.0)  # 0.002 dollars a call
    model, later = writer(priced), writer(priced)

    with pytest.raises(CostLimitReachedError, match=r"0 prompts are done"):
        made_by(model, store=place, price=price, max_cost=0.0061, concurrency=1)
    made = made_by(later, store=place, price=price, concurrency=2)

    assert 1 <= len(model.calls) <= 3
    assert len(later.calls) == N_COMPLETIONS - len(model.calls)
    assert made.summary.calls.cost == pytest.approx(0.002 * len(later.calls))


def test_a_limit_of_cost_needs_a_price():
    with pytest.raises(InputError, match="price of 'scripted/writer', which is not known"):
        made_by(writer(), max_cost=1.0)


def test_a_wish_to_stop_keeps_what_is_in_flight(tmp_path):
    place = tmp_path / "replies.sqlite"
    wish = threading.Event()

    def slow(request):
        if len(model.calls) == 4:  # the first went alone
            wish.set()
        return obeying(request)

    model = writer(slow, delay_s=0.3)
    with pytest.raises(KeyboardInterrupt):
        made_by(model, store=place, stopping=wish, concurrency=5)
    n_paid = len(model.calls)
    later = writer()
    made_by(later, store=place)

    assert 4 <= n_paid < N_COMPLETIONS
    assert len(later.calls) == N_COMPLETIONS - n_paid


def test_an_error_of_the_one_who_watches_keeps_what_is_in_flight(tmp_path):
    place = tmp_path / "replies.sqlite"

    seen = []

    def watch(state):
        seen.append(state.calls.n_in_flight)
        if seen[-2:] == [5, 5]:  # the first look may come before they are sent
            raise OSError("the terminal is gone")

    model = writer(delay_s=0.9)
    with pytest.raises(OSError, match="the terminal is gone"):
        made_by(model, store=place, progress=watch, concurrency=5)
    n_paid = len(model.calls)
    later = writer()
    made_by(later, store=place)

    assert n_paid == 1 + 5  # the first went alone
    assert len(later.calls) == N_COMPLETIONS - n_paid


# A language model as the judge -----------------------------------------------------------------


def as_model(item_text):
    there = shown(item_text)
    return {name: YES if name in there else NO for name in SAFETY.propositions}


def model_judge(**settings):
    calls = []

    def answer(request):
        calls.append(request)
        response = re.search(r'"response": "(.*)"', request.messages[-1].content)[1]
        return as_model(response)

    made = LlmJudge(model=ScriptedModel(answer, name="scripted/judge"), **settings)
    return made, calls


def test_a_language_model_verifies_and_is_asked_about_every_draft_once(tmp_path):
    verifier, calls = model_judge()

    made = made_by(writer(), judge=verifier, store=tmp_path / "replies.sqlite")
    made_by(writer(), judge=model_judge()[0], store=tmp_path / "replies.sqlite")

    assert made.rejected == ()
    assert len(calls) == N_COMPLETIONS
    assert made.summary.judge_calls.n_calls == N_COMPLETIONS
    assert made.rows[0]["judge"] == "scripted/judge"
    assert made.rows[0]["probabilities"]["apology"] == pytest.approx(YES)


def test_a_judge_of_a_model_finds_its_replies_in_the_store(tmp_path):
    place = tmp_path / "replies.sqlite"
    made_by(writer(), judge=model_judge()[0], store=place)
    verifier, calls = model_judge()

    made = made_by(writer(), judge=verifier, store=place)

    assert calls == []
    assert made.summary.judge_calls.n_calls == 0
    assert len(made.rows) == N_COMPLETIONS


def test_what_the_judge_may_spend_counts_over_all_rounds():
    price = Price(input=0.0, output=0.0, request=0.1)

    def answer(request):
        reply = '{"' + '":0,"'.join(SAFETY.propositions) + '":0}'
        return Reply(text=reply, usage=Usage(10, 10))

    costly = LlmJudge(
        model=ScriptedModel(answer, name="scripted/judge", log_probabilities=False),
        probability="stated",
        price=price,
        max_cost=1.55,
        concurrency=1,
    )

    with pytest.raises(CostLimitReachedError, match="max_cost"):
        made_by(writer(), judge=costly)


# Prompts ---------------------------------------------------------------------------------------


def test_prompts_come_as_texts_items_and_frames():
    import polars as pl

    text = "How do I bake bread?"
    item = Item(
        id="a", prompt=(Message(role="user", content=text),), response="", behavior="comply"
    )
    frame = pl.DataFrame({"id": ["a"], "prompt": [text], "behavior": ["comply"]})

    given = [item], [{"id": "a", "prompt": text, "behavior": "comply"}], frame
    first, *others = (made_by(writer(), each).rows for each in given)

    assert others == [first, first]
    assert len(made_by(writer(), [text], behavior="comply").rows) == 4


def test_a_response_beside_a_prompt_is_not_looked_at():
    rows = [PROMPTS[2] | {"response": "Here is how.", "label": "ideal", "group": "g"}]

    made = made_by(writer(), rows)

    assert [row["prompt"] for row in made.rows] == ["How do I bake bread?"] * 4
    assert {row["group"] for row in made.rows} == {"bread"}


def test_a_conversation_ends_in_the_turn_that_is_answered():
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "How do I bake bread?"},
        {"role": "assistant", "content": "With flour."},
    ]

    made = made_by(writer(), [{"messages": messages, "behavior": "comply"}])

    texts = [row["content"] for row in made.rows[0]["prompt"]]
    assert texts == ["Hi", "Hello.", "How do I bake bread?"]
    assert made.rows[0]["prompt"][0] == {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"prompt": "x"}, "no behavior"),
        ({"prompt": "x", "behavior": "dance"}, "unknown behavior"),
        ({"prompt": "  ", "behavior": "comply"}, "no prompt"),
        (PROMPTS[2] | {"id": "again"}, "the same prompt as 'bread'"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_listed(row, reason):
    made = made_by(writer(), [PROMPTS[2], row])

    assert len(made.rows) == 4
    assert made.summary.n_dropped == 1
    assert made.summary.dropped[0].reason.startswith(reason)


def test_no_prompt_at_all_is_an_error_that_says_why():
    with pytest.raises(NoDataError, match=r"got one row .*\(first prompts: no behavior"):
        made_by(writer(), ["Hi"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_attempts": 0}, "`n_attempts` must be a whole number of at least 1"),
        ({"temperature": 3}, r"`temperature` must be in \[0, 2\]"),
        ({"max_tokens": 0}, "`max_tokens` must be"),
        ({"seed": -1}, "`seed` must be"),
        ({"language": "fr"}, "`language` must be one of 'en', 'zh'"),
        ({"recipes": "nowhere.yaml"}, "nowhere.yaml: must be a file that exists"),
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused_before_anything_is_called(settings, message):
    model = writer()

    with pytest.raises(InputError, match=message):
        made_by(model, **settings)

    assert model.calls == []


def test_progress_is_told_and_ends_at_the_counts_of_the_summary():
    told = []

    made = made_by(writer(), progress=told.append)

    assert [state.n_items for state in told] == sorted(state.n_items for state in told)
    assert told[-1].n_items == made.summary.n_prompts == 3
    assert told[-1].calls.n_calls == N_COMPLETIONS


def test_a_judge_by_its_own_card_not_to_be_trusted_is_noted():
    made = synthesize(PROMPTS[2:], model=writer(), judge="local", n_attempts=1)

    assert len(made.rows) + len(made.rejected) == 4
    assert made.summary.judge == load_local_judge("local").name
    assert any("should not be trusted on" in note for note in made.summary.notes)
