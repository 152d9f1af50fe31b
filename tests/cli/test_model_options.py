"""The options of language models: those of every command, all made use of, refused where idle."""

import re

import pytest

from voirdire.errors import InputError
from voirdire.judging import LlmJudge, ModelSettings, Price

# of every setting another value than it has by default
TYPED = {
    "mode": ("single", "single"),
    "probability": ("stated", "stated"),
    "language": ("zh", "zh"),
    "base_url": ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
    "api_key_env": ("VOIRDIRE_NO_SUCH_KEY", "VOIRDIRE_NO_SUCH_KEY"),
    "concurrency": (3, 3),
    "timeout_s": (7.0, 7.0),
    "price": ("1,2", Price(input=1, output=2)),
    "max_cost": (5.0, 5.0),
    "calibration": ("no-such.json", "no-such.json"),
    "n_samples": (7, 7),
    "n_examples": (1, 1),
    "seed": (4, 4),
    "temperature": (0.5, 0.5),
    "reasoning_effort": ("low", "low"),
    "max_tokens": (99, 99),
    "requests_per_minute": (60, 60),
    "tokens_per_minute": (999, 999),
}
USUAL = ("mode", "probability", "language", "base_url", "api_key_env")
USUAL += ("concurrency", "timeout_s", "price", "max_cost", "calibration")
# what a command needs so that its options are looked at at all; these files are empty
CALLED = {
    "fit": ("comparisons.jsonl", "-o", "new.json"),
    "score": ("items.jsonl", "--reward", "reward.json", "-o", "rewards.jsonl"),
    "serve": ("--reward", "reward.json"),
}
FLAGS = {name: f"--{name.removesuffix('_s').replace('_', '-')}" for name in USUAL}
FLAGS["language"] = "--prompt-language"
ALL_TYPED = [word for name, flag in FLAGS.items() for word in (flag, TYPED[name][0])]
NAMED = ", ".join(FLAGS.values())
LOCAL_JUDGE = {name: (*words, "--judge", "local") for name, words in CALLED.items()}
LOCAL_JUDGE["judge"] = ("items.jsonl", "-o", "verdicts.csv")


def made(**settings):
    """Say everything of the judge that comes of settings; an error, where none does."""
    try:
        judge = LlmJudge(model="vllm/tiny", **settings)
    except InputError as error:
        return str(error)
    return f"{judge!r} {judge.model.settings}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder that holds what calls name."""
    monkeypatch.chdir(tmp_path)
    for name in ("comparisons.jsonl", "items.jsonl", "reward.json", "run"):
        (tmp_path / name).touch()
    return tmp_path


def said(done):
    """Give what a call wrote beside its result, on one line."""
    return " ".join(done.err.split())


@pytest.mark.parametrize("name", TYPED)
def test_every_setting_makes_another_judge(name):
    assert getattr(ModelSettings(), name) != TYPED[name][1]
    assert made(**{name: TYPED[name][1]}) != made()


@pytest.mark.edges
@pytest.mark.parametrize("command", ["judge", *sorted(CALLED)])
def test_a_command_that_asks_offers_the_usual_settings_and_judge_all(list_options, command):
    offered = {each.field_info.name for each in list_options(command).values()}

    assert {*USUAL, "store", "retry_failures"} <= offered
    assert ({*TYPED} <= offered) is (command == "judge")


@pytest.mark.edges
@pytest.mark.parametrize(
    ("command", "place"),
    [
        *((command, "beside the output") for command in ("fit", "judge", "score", "synthesize")),
        ("examine-reward", "beside the reward"),
        ("serve", "in this folder"),
    ],
)
def test_every_store_says_where_it_is_by_default(call, command, place):
    shown = " ".join(call(command, "--help-all").out.split())

    assert re.search(
        r"--store FILE\|URL Where (a language model's )?replies are stored: a file, or "
        rf"postgresql://\.\.\. Default: voirdire-replies\.sqlite {place}\.",
        shown,
    )


@pytest.mark.edges
@pytest.mark.parametrize("command", sorted(LOCAL_JUDGE))
def test_options_of_models_are_refused_beside_a_local_judge(call, folder, command):
    done = call(command, *LOCAL_JUDGE[command], *ALL_TYPED)

    assert done.code == 2
    assert f"`--judge` must name a language model for {NAMED}, " in said(done)


@pytest.mark.edges
@pytest.mark.parametrize("command", ["score", "serve"])
def test_options_of_models_are_refused_where_the_reward_has_its_own_judge(call, folder, command):
    done = call(command, *CALLED[command], "--judge", "own", *ALL_TYPED)

    assert done.code == 2
    assert f"{NAMED} must be left out: " in said(done)


def test_a_cascade_in_a_folder_that_is_called_as_a_provider_says_everything_itself(call, folder):
    (folder / "openai").mkdir()
    file = folder / "openai" / "two.yaml"
    file.write_text("cascade:\n  first: local\n  then: {model: vllm/tiny}\n", encoding="utf-8")

    done = call(
        "judge", "items.jsonl", "-o", "v.csv", "--judge", "openai/two.yaml", "--mode", "single"
    )

    assert done.code == 2
    assert "must say everything about its judges, got --mode beside it" in said(done)
