"""Several judges in one file: what is read, what is refused, and that no key is ever repeated."""

import contextlib
import random
import re
import string
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import RubricError
from voirdire.judging import LlmJudge, ModelSettings, Price, load_judges
from voirdire.models import Capabilities

SEVERAL = """\
schema: voirdire.judges/1

defaults:
  mode: joint
  probability: stated   # most of these servers give no log-probabilities
  max_cost: 5

judges:
  # one model, two efforts: only the name and the effort differ
  - {name: o3-mini-low, model: openai/o3-mini, reasoning_effort: low}
  - {name: o3-mini-high, model: openai/o3-mini, reasoning_effort: high, max_cost: 20}
  - name: llama-3.1-8b
    model: vllm/meta-llama/Llama-3.1-8B-Instruct
    base_url: http://localhost:8000/v1
    probability: logprob   # vLLM gives them
  - model: openrouter/anthropic/claude-3.5-haiku
    price: {input: 0.8, cached_input: 0.2, output: 3.2}
"""

HEAD = "schema: voirdire.judges/1\njudges:\n"


def one(lines):
    """Give a file of one judge, with further lines."""
    return f"{HEAD}  - name: j\n    model: openai/m\n    {lines}\n"


def judges_of(text):
    """Read the judges of a file in the folder where we are, so that its name is short."""
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("judges.yaml").write_bytes(content)
        return load_judges("judges.yaml", reads_keys=False)


def problems_of(text):
    with pytest.raises(RubricError) as caught:
        judges_of(text)
    return [str(problem) for problem in caught.value.problems]


# what is read


def test_a_file_of_several_judges_is_read_in_its_order():
    judges = judges_of(SEVERAL)

    assert [row.chat_model.name for row in judges] == re.findall(r"model: ([^\s,]+)", SEVERAL)
    names = ["o3-mini-low", "o3-mini-high", "llama-3.1-8b", "openrouter/anthropic/claude-3.5-haiku"]
    assert [row.name for row in judges] == names
    efforts = [row.asking["model"].get("reasoning_effort") for row in judges]
    assert efforts == ["low", "high", None, None]
    assert [row.max_cost for row in judges] == [5, 20, 5, 5]
    assert [row.probability for row in judges] == ["stated", "stated", "logprob", "stated"]


def test_everything_that_a_judge_may_say_arrives(tmp_path, monkeypatch):
    monkeypatch.setenv("VOIRDIRE_KEY_VARIABLES", "JUDGE_KEY@judge.example.com")
    monkeypatch.setenv("JUDGE_KEY", "open-sesame")
    plain = {
        "name": "法官-1",
        "model": "openai/my/model:v2",
        "mode": "single",
        "language": "zh",
        "base_url": "https://judge.example.com/v1",
        "api": "chat",
        "api_key_env": "JUDGE_KEY",
        "key_header": "api-key",
        "served_as": "ours",
        "reasoning_effort": "low",
        "temperature": 0.7,
        "max_tokens": 512,
        "probability": "vote",
        "both_orders": False,
        "top_logprobs": 10,
        "seed": 7,
        "concurrency": 3,
        "requests_per_minute": 60,
        "tokens_per_minute": 1e5,
        "timeout_s": 30,
        "max_attempts": 2,
        "max_retries": 0,
        "max_cost": 1.5,
        "keep_going": True,
        "extra": {"top_k": 9, "list": [1, "a", None]},
    }
    prices, abilities = {"input": 2, "output": 8}, {"forms": ["text", "json_object"]}
    entry = plain | {"samples": 5, "examples": 2, "price": prices, "capabilities": abilities}
    path = tmp_path / "judges.yaml"
    path.write_text(yaml.safe_dump({"schema": "voirdire.judges/1", "judges": [entry]}))

    (judge,) = load_judges(path)

    expected = LlmJudge(
        **plain | {"tokens_per_minute": 100_000, "n_samples": 5, "n_examples": 2},
        price=Price(**prices),
        capabilities=Capabilities(forms=("json_object", "text")),
    )
    own = {"price", "capabilities", "calibration", "n_samples", "n_examples"}  # or in other words
    assert {*plain} | own == {*ModelSettings.__dataclass_fields__}
    assert judge == replace(expected, model=judge.model)
    assert judge.asking == expected.asking
    assert judge.chat_model.capabilities == expected.chat_model.capabilities


def test_null_takes_a_default_back_and_mappings_are_taken_whole():
    text = """
schema: voirdire.judges/1
defaults:
  model: openai/m
  temperature: 0
  extra: {top_p: 0.9, user: u}
  capabilities: {top_logprobs: 5}
judges:
  - name: a
  - {name: b, temperature: null, extra: {top_k: 3}, capabilities: {forms: [text]}}
"""

    first, second = judges_of(text)

    assert (first.temperature, second.temperature) == (0.0, None)
    assert first.chat_model.settings["extra"] == {"top_p": 0.9, "user": "u"}
    assert second.chat_model.settings["extra"] == {"top_k": 3}
    assert first.chat_model.capabilities == Capabilities(top_logprobs=5)
    assert second.chat_model.capabilities.forms == ("text",)


# what is refused


HAS = "a file of judges must have the key"
ENTRY = "judges: [{name: j, model: openai/m}]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (one("temperature: true"), "5:18: `temperature` must be in [0, 2], got True."),
        (one(f"temperature: 0x{'f' * 290}"), "5:18: `temperature` must be in [0, 2], got "),
        (one("max_tokens: 0"), "5:17: `max_tokens` must be a whole number of at least 1, got 0."),
        (one("samples: '3'"), "5:14: `n_samples` must be a whole number of at least 1, got '3'"),
        (one("timeout_s: []"), "5:16: `timeout_s` must be a finite number of seconds above 0, got"),
        (one("base_url: 'http://[::1'"), "5:15: `base_url` must be an address such as 'http://lo"),
        (one("price: 3"), "5:12: `price` must be a mapping, got the number 3."),
        (one("extra: text"), "5:12: `extra` must be a mapping, got 'text'."),
        (one("mode: [joint]"), "5:11: `mode` must be one of 'joint', 'single', got ['joint']."),
        (one("keep_going: 1.5"), "5:17: `keep_going` must be true or false, got 1.5."),
        (
            one("temperature: 0\n    probability: vote"),
            "5:18: `temperature` must be in (0, 2]",
        ),
        (one("calibration: none.json"), "3:5: none.json: must be a file that exists. Check the"),
        (one("modde: x"), "5:5: a judge has no key 'modde'. Did you mean `mode`?"),
        (  # by its letters it is nearer to `mode`, which is there
            f"{HEAD}  - name: j\n    modde: openai/m\n    mode: joint\n",
            "4:5: a judge has no key 'modde'. Did you mean `model`?",
        ),
        (one("price: {input: 1}"), "5:12: `price` must have the key `output`. Add it."),
        (one("price: {input: -1, output: 1}"), "5:20: `input` must be a finite number of at"),
        (one("capabilities: {forms: [xml]}"), "5:28: an entry of `capabilities.forms` must be"),
        (one("extra: {a: 1, temperature: 1}"), "5:12: `extra` must"),
        (f"{HEAD}  - {{name: '../j', model: openai/m}}", "3:12: `name` must be letters, digits"),
        (f"{HEAD}  - {{name: j, model: gpt-4o}}", "3:22: `model` must be '<provider>/<model>'"),
        (f"{HEAD}  - {{name: j}}", "3:5: a judge must have the key `model`. Add it, or add it to"),
        (f"{HEAD}  - o3-mini", "3:5: a judge must be a mapping, got 'o3-mini'."),
        (f"schema: voirdire.judges/2\n{ENTRY}", "1:9: `schema` must be one of voirdire.judges/1, "),
        (ENTRY, f"1:1: {HAS} `schema`. Add it."),
        ("schema: voirdire.judges/1", f"1:1: {HAS} `judges`. Add it."),
        ("schema: voirdire.judges/1\njudges: []", "2:9: `judges` must hold at least one entry"),
        ("- name: j", "1:1: a file of judges must be a mapping, got a list."),
        (f"schema: voirdire.judges/1\ndefaults: [1]\n{ENTRY}", "2:11: `defaults` must be a map"),
        ("", " a file of judges must hold keys and values, got an empty file. Check the path."),
        ("a: !x b", "1:4: a file of judges must be without tags, got '!x'. Delete it."),
    ],
)
def test_what_is_wrong_is_named_at_its_place(text, expected):
    (problem,) = problems_of(text)

    assert problem.startswith(f"judges.yaml:{expected}")


def test_all_problems_are_named_at_once_in_the_order_of_the_file():
    text = f"""{HEAD}\
  - {{name: a, model: openai/m, mode: x}}
  - {{name: c, model: openai/m, price: {{input: x, output: y}}}}
  - {{name: b}}
"""

    places = [row.partition(": ")[0] for row in problems_of(text)]

    assert places == [f"judges.yaml:{place}" for place in ("3:38", "4:47", "5:5")]


# keys


def random_key(alphabet, n_characters, *, seed=0):
    return "".join(random.Random(seed).choices(alphabet, k=n_characters))


MIXED = string.ascii_letters + string.digits
LENGTHS = {"sk-": 48, "sk-proj-": 120, "sk-ant-api03-": 90, "gsk_": 52, "xai-": 80, "AIza": 35}
KEYS = [
    *(prefix + random_key(MIXED, length) for prefix, length in LENGTHS.items()),
    "sk-or-v1-" + random_key("0123456789abcdef", 64),
    "hf_" + random_key(string.ascii_letters, 34),
    "AKIA" + random_key(string.ascii_uppercase + string.digits, 16),
    "eyJ" + ".".join(random_key(MIXED, length) for length in (20, 30, 30)),
    random_key(MIXED, 32, seed=4),  # as Mistral makes them: no prefix
]
PLACES = [
    "api_key_env: KEY",
    "api_key: KEY",
    "extra: {user: KEY}",
    "extra: {api-key: 'KEY'}",
    "extra: {KEY: 1}",
    "reasoning_effort: KEY",
    "base_url: https://user:KEY@host/v1",
    "base_url: https://host/v1?api_key=KEY",
    "mode: joint  # the key is KEY",
    "nonsense: [KEY",
    "extra: {headers: {Authorization: Bearer KEY}}",
]


FIELDS = ["api_key", "API-Key", "apikey", "token", "password", "x-api-key", "authorization"]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("key", "lines"),
    [
        *((key, place.replace("KEY", key)) for key in KEYS for place in PLACES),
        *(("hunter2hunter2", f"{name}: hunter2hunter2") for name in FIELDS),
        *(("hunter2hunter2", f"extra: {{a: [{{{name}: hunter2hunter2}}]}}") for name in FIELDS),
    ],
    ids=range(len(KEYS) * len(PLACES) + 2 * len(FIELDS)),
)
def test_a_key_is_refused_wherever_it_stands_and_never_repeated(key, lines):
    with pytest.raises(RubricError, match="environment variable") as caught:
        judges_of(one(lines))

    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert key[:12] not in told + repr(caught.value.problems)


def test_every_key_in_a_file_is_placed():
    text = f"{HEAD}  - name: j\n    api_key_env: {KEYS[0]}\n    # {KEYS[4]}\n"

    found = problems_of(text)

    assert [row.split(":")[1:3] for row in found] == [["4", "18"], ["5", "7"]]


@pytest.mark.parametrize(
    "lines",
    [
        "api_key_env: OPENAI_API_KEY",
        "extra: {provider: {order: [a]}, prompt_cache_key: run1, max_output: 3}",
        "base_url: http://user-host.example.com:8000/v1",
        "base_url: http://[::1]:8000/v1",
        "mode: joint  # https://docs.example.com/a?page=2 needs no key: none at all",
        "api_key_env: null",
        "served_as: openrouter/meta-llama/llama-4-maverick-17b-128e-instruct:free",
        "served_as: vllm/Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4",
        "served_as: ollama/llama3.3:70b-instruct-q4_K_M",
        "served_as: openai/ft:gpt-4o-mini-2024-07-18:my-org:judge:AbC123xY",
        "served_as: vllm/model@0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_what_is_no_key_is_taken(lines):
    # the name of a model is looked at wherever it stands
    assert len(judges_of(one(lines))) == 1
    assert len(judges_of(one(lines).replace("openai/m\n    served_as: ", ""))) == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    st.sampled_from([*ModelSettings.__dataclass_fields__, "samples", "orders"]),
)
def test_any_value_of_any_key_is_taken_or_refused_in_our_words(value, name):
    judge = {"name": "j", "model": "openai/m"} | {name: value}
    text = yaml.safe_dump({"schema": "voirdire.judges/1", "judges": [judge]}, allow_unicode=True)

    try:
        judges, told = judges_of(text), []
    except RubricError as error:
        judges, told = (), [row.message for row in error.problems]

    assert judges or told
    assert all(re.search("must|has no key", message) for message in told)
