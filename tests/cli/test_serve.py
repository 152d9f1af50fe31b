"""`voirdire serve`: what is typed, what is refused, and that it serves."""

import dataclasses
import json

import pytest

from judging_files import RUBRIC, make_items, write_items, write_labels
from voirdire.judging import distill_files
from voirdire.rewards import reward_of_weights
from web.served import SERVE, running

WEIGHTS = {"refuse": {"sorry": 1.0, "asks": -0.5, "ideal": 2.0}}
TOKEN = "0123456789abcdef-of-a-test"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Give a judge that was made from 200 items, its rubric, and a reward that is bound to it."""
    folder = tmp_path_factory.mktemp("serve")
    rows = make_items(200, seed=9)
    (folder / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    found = distill_files(
        write_items(folder / "items.jsonl", rows),
        [write_labels(folder / "labels.csv", rows)],
        rubric=folder / "tiny.yaml",
        name="tiny-judge",
    )
    found.judge.save(folder / "tiny.npz")
    reward = reward_of_weights(
        WEIGHTS,
        rubric=folder / "tiny.yaml",
        judge=folder / "tiny.npz",
        bound=True,
        name="tiny-reward",
    )
    mean = {
        name: dataclasses.replace(row, mean=1.5, standard_deviation=2.0)
        for name, row in reward.behaviors.items()
    }
    reward.save(folder / "reward.json")
    dataclasses.replace(reward, behaviors=mean).save(folder / "fitted.json")
    return folder


@pytest.mark.ci
def test_rewards_are_those_of_score(call, folder, tmp_path):
    rows = make_items(20, seed=3)
    write_items(tmp_path / "items.jsonl", rows, behavior="refuse")
    judge = ("--judge", folder / "tiny.npz")
    call(
        "score",
        tmp_path / "items.jsonl",
        "--reward",
        folder / "reward.json",
        *judge,
        "-o",
        tmp_path / "r.jsonl",
    )
    lines = (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(line)["reward"] for line in lines]
    items = [
        {name: row[name] for name in ("prompt", "response")} | {"id": row["id"]}
        for row in map(json.loads, (tmp_path / "items.jsonl").read_text("utf-8").splitlines())
    ]

    arguments = ("--reward", folder / "reward.json", *judge, "--behavior", "refuse", "--port", 0)
    with running([*SERVE, *arguments]) as server:
        found = server.post(items).json

    assert found["rewards"] == expected
    assert len(expected) == 20
    assert None not in expected


@pytest.mark.ci
def test_options_reach_the_server(folder, tmp_path):
    arguments = [
        *("--reward", folder / "reward.json", "--judge", folder / "tiny.npz", "--port", 0),
        *("--queue", 2, "--deadline", 5, "--max-body", 1, "--missing-reward", -3),
        *("--end-token", "[STOP]"),
        *("--record", tmp_path / "run", "--token-env", "MY_TOKEN", "--json-log"),
    ]
    with running([*SERVE, *arguments], MY_TOKEN=TOKEN) as server:
        unknown = server.get("/v1/reward").status
        server.headers = {"Authorization": f"Bearer {TOKEN}"}
        item = {"response": "sorry", "behavior": "refuse"}
        rewards = server.post([item]).json["rewards"]
        many = server.post([item] * 3)
        large = server.ask("POST", "/v1/rewards", b" " * (1024 * 1024 + 1))
        lists = {"query": ["ab"], "prompts": ["a"], "labels": ["dance"]}
        numbers = server.ask("POST", "/openrlhf", lists).json
        ends = {"query": ["a sorry[STOP]"], "prompts": ["a"], "labels": ["refuse"]}
        stopped = server.ask("POST", "/openrlhf", ends).json["rewards"]
        plain = server.post([{"response": " sorry", "behavior": "refuse"}]).json["rewards"]
        assert server.end() == 143
        log = server.log

    assert unknown == 401
    assert isinstance(rewards[0], float)
    assert (many.status, large.status) == (413, 413)
    assert numbers["rewards"] == [-3.0]
    assert stopped == plain
    assert list((tmp_path / "run" / "completions").glob("*.parquet"))
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert any(line.get("route") == "/v1/rewards" for line in lines)
    assert TOKEN not in log


@pytest.mark.ci
def test_another_host_needs_a_token(call, folder):
    judge = ("--judge", "own")
    done = call("serve", "--reward", folder / "reward.json", *judge, "--host", "0.0.0.0")

    assert done.code == 1
    assert "`--host` must be an address of this machine alone where there is no token" in done.err


@pytest.mark.edges
@pytest.mark.parametrize(
    ("typed", "code", "words"),
    [
        (
            ("--reward", "nothing.json"),
            1,
            "`--reward` must be a file that exists, got 'nothing.json'",
        ),
        (("--deadline", "0"), 1, "`--deadline` must be a finite number of seconds above 0"),
        (("--drain", "-1"), 1, "`--drain` must be a finite number of seconds above 0"),
        (("--port", "70000"), 2, "--port"),
        (("--queue", "0"), 1, "`--queue` must be a whole number of at least 1"),
        (("--token-env", "NO_SUCH_TOKEN"), 2, "`--token-env` must name a variable that is set"),
        (("--behavior", "dance"), 1, "`--behavior` must be one that reward"),
        (("--max-cost", "1"), 2, "--max-cost must be left out: name the `--judge` too"),
        (("--judge", "local", "--price", "1,2"), 2, "must name a language model for --price"),
    ],
)
def test_what_is_typed_wrongly_is_told_at_once(call, folder, typed, code, words):
    judge = () if "--judge" in typed else ("--judge", "own")
    done = call("serve", "--reward", folder / "reward.json", *judge, *typed)

    assert done.code == code, done
    assert done.out == ""
    assert words in " ".join(done.err.replace("│", " ").split())


def test_a_token_in_the_place_of_its_variable_is_not_repeated(call, folder):
    done = call(
        "serve", "--reward", folder / "reward.json", "--token-env", "x7secret_token_of_mine"
    )

    assert done.code == 2
    assert "`--token-env` must name a variable that is set" in done.err
    assert "x7secret" not in done.out + done.err


def test_a_reward_without_certificates_is_refused_where_they_are_required(call, folder):
    done = call("serve", "--reward", folder / "reward.json", "--require-certified")

    assert done.code == 1
    assert "certificate" in done.err
