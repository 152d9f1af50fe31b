"""Hashes that hold for ever: what is stored or certified under one is found again under it.

Judges are asked through `voirdire.judge`, and what they stored is read from the tables of the
store's file. A setting that goes stays in what is hashed, as the value that it always has.
"""

import contextlib
import hashlib
import json
import sqlite3
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import voirdire
from golden.inputs import KINDS, PAIRS, RUBRIC, draw, pick, probability
from golden.runs import FILES, Places, call, plain_pipe
from golden.server import running_server
from voirdire.errors import (
    BadRequestError,
    ContentFilterError,
    DegenerateDataWarning,
    ModelTimeoutError,
    RefusalError,
    ServerError,
    UncertifiedWarning,
)
from voirdire.judging import (
    CascadeJudge,
    JuryJudge,
    LlmJudge,
    ScriptedJudge,
    load_calibration,
)
from voirdire.models import Capabilities, load_model
from voirdire.records import Reply, TokenChoice, TokenStep, Usage
from voirdire.rewards import load_reward, read_certificate, reward_of_weights
from voirdire.rubrics import Rubric, load_rubric, rubric_from_text
from voirdire.testing import ScriptedModel

KEPT = FILES.parent / "hashes.json"
LABELS = """
schema: voirdire.rubric/1
name: labels
version: "1"
questions:
  - {id: when, kind: choice, text: "Which?", labels: [yes, no, on, 1:30]}
  - id: which
    kind: multilabel
    text: "Which of them?"
    labels: {yes: "是", no: "否", on: "开", 1:30: "一点半"}
"""
SHORT = 96
"""Bytes that are written whole; of longer ones the SHA-256."""

RUBRICS = {"safety": load_rubric("safety")} | {
    name: rubric_from_text(text)
    for name, text in (("tiny", RUBRIC), ("kinds", KINDS), ("pairs", PAIRS), ("labels", LABELS))
}

ROWS: dict[str, dict[str, Any]] = {
    "text": {"prompt": "2 + 2?", "response": "4"},
    "no prompt": {"response": "4"},
    "empty": {"prompt": "2 + 2?", "response": ""},
    "behavior": {"prompt": "2 + 2?", "response": "5", "behavior": "refuse"},
    "metadata": {"prompt": "2 + 2?", "response": "6", "id": "m", "group": "g", "topic": "sums"},
    "chinese": {"prompt": "二加二？", "response": "等于四。"},
    "messages": {
        "prompt": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "2 + 2?"},
        ],
        "response": "4",
    },
    "conversation": {
        "messages": [
            {"role": "user", "content": "2 + 2?"},
            {"role": "assistant", "content": "4"},
            {"role": "user", "content": "And 3 + 3?"},
            {"role": "assistant", "content": "6"},
        ]
    },
    "sharegpt": {
        "conversations": [{"from": "human", "value": "2 + 2?"}, {"from": "gpt", "value": "four"}]
    },
    "tool": {
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}],
            },
            {"role": "tool", "content": "Sun."},
            {"role": "assistant", "content": "It is sunny."},
        ]
    },
    "reasoning": {"prompt": "2 + 2?", "response": "<think>Two and two.</think>4."},
    "pair": {"prompt": "2 + 2?", "response_a": "4", "response_b": "5"},
    "image": {
        "prompt": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {"type": "image_url", "image_url": {"url": "https://images.test/cat.png"}},
                ],
            }
        ],
        "response": "A cat.",
    },
}


class Model(ScriptedModel):
    """Has the name and settings of a model behind a server, and answers by the question."""

    def __init__(self, name: str, answer: Any = None, **settings: Any) -> None:
        super().__init__(answer or self._by_question, name=name)
        self._settings = load_model(name, reads_keys=False, **settings).settings

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._settings

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(top_logprobs=20, images=True)

    @staticmethod
    def _by_question(request: Any) -> dict[str, Any]:
        asked = json.loads(request.schema)["properties"]
        return {key: _answer(key, form) for key, form in asked.items()}


def _answer(key: str, form: Mapping[str, Any]) -> Any:
    if "enum" in form:
        return pick(form["enum"], "hash", key)
    if form["type"] == "array":
        return form["items"]["enum"][:1]
    if form["type"] == "boolean" or form.get("maximum") == 1:
        return probability("item-1", key)
    return "words" if form["type"] == "string" else form.get("minimum", 1)


def _scripted(rubric: Rubric, name: str, *, version: str = "1") -> ScriptedJudge:
    names = rubric.propositions

    def answer(item: Any) -> list[float]:
        return [round(draw(name, item.response, question), 3) for question in names]

    return ScriptedJudge(name=name, questions=names, answer=answer, version=version)


def judges_of(rubric_name: str, folder: Path) -> dict[str, Any]:
    """Make twelve judges; those whose first judge answers propositions alone, where all are."""
    rubric = RUBRICS[rubric_name]
    mini = Model("openai/gpt-4o-mini")
    qwen = Model("vllm/qwen2.5-7b", base_url="http://gpu.test:8000/v1", max_tokens=512)
    claude = Model("anthropic/claude-haiku-4-5", reasoning_effort="low", extra={"top_k": 4})
    judges: dict[str, Any] = {
        "joint logprob": LlmJudge(model=mini),
        "joint stated": LlmJudge(model=claude, probability="stated", language="zh"),
        "joint vote": LlmJudge(model=qwen, probability="vote", n_samples=3, seed=7),
        "single logprob": LlmJudge(model=qwen, mode="single", top_logprobs=5, temperature=0.5),
        "single stated": LlmJudge(model=claude, mode="single", probability="stated", n_examples=1),
        "single vote": LlmJudge(model=mini, mode="single", probability="vote", n_samples=2),
        "calibrated": LlmJudge(model=mini, calibration=_calibration(rubric, folder)),
    }
    if all(question.kind == "boolean" for question in rubric.questions):
        first = _scripted(rubric, "first")
        name = rubric.propositions[0]
        unsure = {"default": (0.1, 0.9), name: (0.4, 0.6)}
        judges |= {
            "cascade": CascadeJudge(first=first, then=judges["joint stated"], unsure=unsure),
            "jury mean": JuryJudge(judges=(first, judges["joint logprob"]), weights=(1, 2)),
            "jury majority": JuryJudge(
                judges=(first, judges["single vote"], _scripted(rubric, "third")),
                combine="majority",
                name="three",
            ),
            "function": _scripted(rubric, "function", version="2"),
            "local": "local" if rubric_name == "safety" else FILES / "local.npz",
        }
    return judges


def _calibration(rubric: Rubric, folder: Path) -> Any:
    """Write a calibration of the propositions, and load it."""
    verdicts = voirdire.judge([ROWS["text"]], judge=_plain(), rubric=rubric)
    shown = dict.fromkeys(
        ("brier", "calibrated_brier", "calibration_error", "calibrated_error"), 0.25
    )
    calibrators = (
        {"method": "platt", "slope": 0.5, "intercept": -0.25},
        {"method": "temperature", "slope": 0.4, "intercept": 0.0},
    )
    path = folder / "calibration.json"
    content = {
        "schema": "voirdire.calibration/1",
        "judge": verdicts.judge,
        "fingerprint": verdicts.fingerprint,
        "threshold": 0.5,
        "gold_hash": "sha256:0",
        "questions": {
            name: {"calibrator": calibrators[place % 2], "n_items": 40} | shown
            for place, name in enumerate(rubric.propositions)
        },
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return load_calibration(path)


def _plain() -> LlmJudge:
    return LlmJudge(model=Model("openai/gpt-4o-mini"))


def _read(store: Path, query: str) -> list[tuple[Any, ...]]:
    if not store.exists():
        return []
    with contextlib.closing(sqlite3.connect(store)) as connection:
        return connection.execute(query).fetchall()


def _verdicts(folder: Path) -> dict[str, Any]:
    """Give for each rubric and judge the fingerprints of verdicts and replies, and the calls."""
    found: dict[str, Any] = {}
    for rubric_name in ("safety", "tiny", "kinds"):
        rubric = RUBRICS[rubric_name]
        for name, judge in judges_of(rubric_name, folder).items():
            found[f"{rubric_name} | {name}"] = _judged(
                judge, rubric, folder / f"{rubric_name} {name}.sqlite"
            )
    for rubric_name, row in (("labels", "text"), ("pairs", "pair")):
        found[f"{rubric_name} | joint logprob"] = _judged(
            _plain(), RUBRICS[rubric_name], folder / f"{rubric_name}.sqlite", row=row
        )
    for name, settings in (
        ("threshold", {"threshold": 0.7}),
        ("thresholds", {"threshold": {"sorry": 0.3}}),
        ("with reasoning", {"judged": "with_reasoning"}),
        ("whole turn", {"judged": "whole_turn"}),
    ):
        verdicts = voirdire.judge(
            [ROWS["text"]], judge=_plain(), rubric=RUBRICS["tiny"], store=False, **settings
        )
        found[f"tiny | joint logprob | {name}"] = {"verdicts": verdicts.fingerprint}
    return found


def _judged(judge: Any, rubric: Rubric, store: Path, *, row: str = "text") -> dict[str, Any]:
    verdicts = voirdire.judge([ROWS[row]], judge=judge, rubric=rubric, store=store)
    calls = sorted(
        name
        for (name,) in _read(store, "SELECT DISTINCT name FROM voirdire_calls")
        if "/order" not in name
    )
    replies = _read(store, "SELECT fingerprint FROM voirdire_judges ORDER BY fingerprint")
    return {
        "verdicts": verdicts.fingerprint,
        "replies": [fingerprint for (fingerprint,) in replies],
        "calls": calls if len(calls) < 20 else hashlib.sha256(repr(calls).encode()).hexdigest(),
    }


def _items(folder: Path) -> dict[str, Any]:
    """Give for each shape of a row the hashes of its items, and their keys in a store."""
    found = {}
    for name, row in ROWS.items():
        path, store = folder / "row.jsonl", folder / f"item {name}.sqlite"
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
        table = voirdire.read_items(path, images=True)
        rubric = RUBRICS["pairs" if name == "pair" else "tiny"]
        voirdire.judge(table.items, judge=_plain(), rubric=rubric, store=store)
        keys = _read(store, "SELECT DISTINCT item FROM voirdire_calls")
        found[name] = {
            "content": [item.content_hash().hex() for item in table.items],
            "stored": [key.hex() for (key,) in keys],
        }
    return found


def _steps(*tokens: str) -> tuple[TokenStep, ...]:
    both = (TokenChoice(token="true", logprob=-0.25), TokenChoice(token="false", logprob=-1.5))
    return tuple(
        TokenStep(token=token, logprob=-0.25, top=both if token == "true" else ())
        for token in tokens
    )


TEXT = '{"sorry": 0.75, "rude": 0.25, "asks": 0.5}'
SAID = {
    "a reply": TEXT,
    "chinese": '说明：{"sorry": 0.75, "rude": 0.25, "asks": 0.5}',
    "half a character": TEXT + " \ud83d",
    "what the server says": Reply(
        text=TEXT,
        finish_reason="stop",
        model="gpt-4o-mini-2024-07-18",
        usage=Usage(prompt_tokens=100, completion_tokens=10, cached_tokens=64, reasoning_tokens=4),
    ),
    "unreadable": "I cannot say.",
    "cut off": Reply(text='{"sorry": 0.75, "ru', finish_reason="length"),
    "refusal": RefusalError("The model declined to judge."),
    "content filter": ContentFilterError("The filter held it back.", status=400),
    "bad request": BadRequestError("The prompt is too long.", status=400),
    "server error": ServerError("The server failed.", status=503),
    "timeout": ModelTimeoutError("No reply came within 60 s."),
}
TOKENS = _steps('{"sorry": ', "true", ', "rude": ', "true", ',"asks":', "true", "}")


def _stored(folder: Path) -> dict[str, Any]:
    """Give the bytes that are stored of replies and failures."""
    said = SAID | {
        "log-probabilities": Reply(
            text="".join(step.token for step in TOKENS), steps=TOKENS, finish_reason="stop"
        )
    }
    found = {}
    for name, given in said.items():
        judge = LlmJudge(
            model=Model("openai/gpt-4o-mini", lambda _, given=given: given),
            probability="logprob" if name == "log-probabilities" else "stated",
            max_retries=0,
            max_attempts=1,
        )
        store = folder / f"said {name}.sqlite"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            voirdire.judge([ROWS["text"]], judge=judge, rubric=RUBRICS["tiny"], store=store)
        blobs = _read(store, "SELECT blob FROM voirdire_calls WHERE name NOT LIKE '%/order%'")
        found[name] = [_bytes(blob) for (blob,) in blobs]
    return found


def _bytes(blob: bytes) -> str:
    return blob.hex() if len(blob) <= SHORT else f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _contents(folder: Path, inputs: Path) -> dict[str, Any]:
    """Give the hashes of rewards, certificates and labels, and what settings a certificate has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        rewards = {
            name: load_reward(FILES / f"{name}.json").content_hash
            for name in ("first", "second", "reward")
        }
        weights = json.loads((inputs / "weights.json").read_text(encoding="utf-8"))
        made = reward_of_weights(weights, rubric=RUBRICS["tiny"], judge=_plain())
    certificates = {
        name: read_certificate(FILES / f"{name}.json").content_hash
        for name in ("certificate", "judged")
    }
    words = (
        "examine --humans {inputs}/humans.csv --judges {inputs}/judges.csv --gold {inputs}/gold.csv"
        " --question tone --only near --epsilon .1 --certificate made.json --resamples 0"
    )
    with plain_pipe(folder):
        status, _, err = call(Places(inputs=inputs, shared=folder).filled(words))
    assert status == 0, err
    certified = read_certificate(folder / "made.json")
    return {
        **{f"reward {name}": content_hash for name, content_hash in rewards.items()},
        "reward of weights": made.content_hash,
        **{f"certificate {name}": content_hash for name, content_hash in certificates.items()},
        "labels": [certified.data_hash, certified.gold_hash, certified.judges["near"]],
        "certified settings": certified.settings,
    }


def _keys(value: Any, *, path: str = "") -> Iterable[str]:
    """List the keys of JSON; those of a list's rows once."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield f"{path}{name}"
            yield from _keys(part, path=f"{path}{name}/")
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part, path=path)


def _printed(folder: Path, inputs: Path) -> list[str]:
    """List the keys of what `judge --json` prints."""
    words = (
        "judge {inputs}/items.jsonl --rubric {inputs}/tiny.yaml --judge openai/test"
        " --base-url {server} -o out.parquet --json"
    )
    with plain_pipe(folder), running_server() as server:
        places = Places(inputs=inputs, shared=folder, server=server)
        status, out, err = call(places.filled(words))
    assert status == 0, err
    return sorted(set(_keys(json.loads(out))))


def hashes(folder: Path, inputs: Path) -> dict[str, Any]:
    """Gather every hash; `folder` is empty, `inputs` holds the inputs of the golden runs."""
    return {
        "rubrics": {name: rubric.content_hash for name, rubric in RUBRICS.items()},
        "judged": _verdicts(folder),
        "items": _items(folder),
        "stored bytes": _stored(folder),
        "contents": _contents(folder, inputs),
        "printed by judge": _printed(folder, inputs),
    }
