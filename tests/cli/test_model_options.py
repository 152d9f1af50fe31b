"""The options of language models: those of every command, all made use of, refused where idle."""

from dataclasses import fields, replace

import pytest

from voirdire.cli.model_judges import llm_judge
from voirdire.cli.model_options import ALL_OPTIONS, OF_REPLIES, AskingOptions, CallOptions
from voirdire.errors import InputError

# of every option another value than it has by default
TYPED = {
    "mode": "single",
    "probability": "stated",
    "language": "zh",
    "samples": 7,
    "orders": 2,
    "examples": 1,
    "seed": 4,
    "temperature": 0.5,
    "reasoning_effort": "low",
    "max_tokens": 99,
    "base_url": "http://127.0.0.1:1/v1",
    "api_key_env": "VOIRDIRE_NO_SUCH_KEY",
    "route": True,
    "concurrency": 3,
    "requests_per_minute": 60,
    "tokens_per_minute": 999,
    "timeout": 7.0,
    "price": "1,2",
    "max_cost": 5.0,
}
USUAL = ("mode", "probability", "language", "base_url", "api_key_env")
USUAL += ("concurrency", "timeout", "price", "max_cost")
# what a command needs so that its options are looked at at all; none of these files is there
CALLED = {
    "fit": ("comparisons.jsonl", "-o", "reward.json"),
    "replay": ("run", "--reward", "reward.json"),
    "score": ("items.jsonl", "--reward", "reward.json", "-o", "rewards.jsonl"),
    "serve": ("--reward", "reward.json"),
}
FLAGS = {option: f"--{option.replace('_', '-')}" for option in USUAL}
FLAGS["language"] = "--prompt-language"
ALL_TYPED = [word for option, flag in FLAGS.items() for word in (flag, TYPED[option])]
NAMED = ", ".join(FLAGS.values())
LOCAL_JUDGE = {name: (*words, "--judge", "local") for name, words in CALLED.items()}
LOCAL_JUDGE["judge"] = ("items.jsonl", "-o", "verdicts.csv")


def look(option):
    """Say how an option of a command is declared, as far as a user can tell."""
    parameter = option.parameter
    return parameter.help, parameter.group[0].name, parameter.metavar, parameter.show_default


def made(asking, calls):
    """Say everything of the judge that comes of options; an error, where none does."""
    try:
        judge = llm_judge("vllm/tiny", asking=asking, calls=calls)
    except InputError as error:
        return str(error)
    return f"{judge!r} {judge.model.settings}"


def said(done):
    """Give what a call wrote beside its result, on one line."""
    return " ".join(done.err.split())


@pytest.mark.parametrize("option", ALL_OPTIONS)
def test_every_option_makes_another_judge(option):
    asking, calls = AskingOptions(), CallOptions()
    group = asking if option in {field.name for field in fields(asking)} else calls
    changed = replace(group, **{option: TYPED[option]})

    other = made(changed, calls) if group is asking else made(asking, changed)

    assert getattr(group, option) != TYPED[option]
    assert other != made(asking, calls)


@pytest.mark.parametrize("command", sorted(CALLED))
def test_an_option_is_the_same_in_every_command(options_of, command):
    found, judge = options_of(command), options_of("judge")

    for flag in FLAGS.values():
        assert look(found[flag]) == look(judge[flag])
        assert found[flag].field_info.default == judge[flag].field_info.default


@pytest.mark.parametrize(
    ("command", "place"),
    [
        *((command, "beside the output") for command in ("fit", "judge", "score", "synthesize")),
        ("examine-reward", "beside the reward"),
        ("replay", "in the run's folder"),
        ("serve", "in this folder"),
    ],
)
def test_every_store_is_offered_alike_and_says_where_it_is_by_default(options_of, command, place):
    text, *others = look(options_of(command)["--store"])

    assert text.endswith(f" replies are kept: a file, or postgresql://... Default: "
                         f"voirdire-replies.sqlite {place}.")  # fmt: skip
    assert others == ["Calls to language models", "FILE|URL", False]


def test_the_judge_command_offers_every_option_of_models(options_of):
    offered = {each.field_info.name for each in options_of("judge").values()}

    assert {*ALL_OPTIONS, *OF_REPLIES} <= offered
    assert set(TYPED) == set(ALL_OPTIONS)


@pytest.mark.parametrize("command", sorted(LOCAL_JUDGE))
def test_options_of_models_are_refused_beside_a_local_judge(call, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)

    done = call(command, *LOCAL_JUDGE[command], *ALL_TYPED)

    assert done.code == 2
    assert f"`--judge` must name a language model for {NAMED}, " in said(done)


@pytest.mark.parametrize("command", ["replay", "score", "serve"])
def test_options_of_models_are_refused_where_the_reward_has_its_own_judge(
    call, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)

    done = call(command, *CALLED[command], "--judge", "own", *ALL_TYPED)

    assert done.code == 2
    assert f"{NAMED} must be left out: " in said(done)


def test_several_options_are_named_in_the_order_of_the_help(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed = ("--price", "1,2", "--mode", "single", "--base-url", "http://x")

    done = call("score", *LOCAL_JUDGE["score"], *typed)

    assert "for --mode, --base-url, --price, such as openai/gpt-4o-mini" in said(done)


def test_a_cascade_in_a_folder_that_is_called_as_a_provider_says_everything_itself(
    call, tmp_path, monkeypatch
):
    (tmp_path / "openai").mkdir()
    file = tmp_path / "openai" / "two.yaml"
    file.write_text("cascade:\n  first: local\n  then: {model: vllm/tiny}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    done = call("judge", "i.jsonl", "-o", "v.csv", "--judge", "openai/two.yaml", "--mode", "single")

    assert done.code == 2
    assert "must say everything about its judges, got --mode beside it" in said(done)
