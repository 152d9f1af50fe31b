"""Real servers of decision models: one is examined beside the demo's people, llama.cpp is asked."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.resources import files

import pytest

import voirdire
from judging.test_decision_models import ITEMS, KINDS, rubric
from servers.llama_server import running_llama_server

pytestmark = pytest.mark.ci
DEMO = files("voirdire") / "data" / "demo"


@pytest.fixture(scope="module")
def address():
    """Serve sparrow-decider on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "sparrow_decider.cli", "serve", "--port", str(port)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(url, timeout=10).close()
            except OSError:
                time.sleep(0.1)
            else:
                break
        yield url
    finally:
        process.kill()
        process.wait()


def test_a_real_decision_model_is_examined_in_one_run(address, tmp_path):
    words = [sys.executable, "-m", "voirdire", "examine"]
    words += ["--humans", DEMO / "response_annotations.jsonl", "--kind", "boolean"]
    words += ["--items", DEMO / "responses.jsonl", "--judge", "systemone/sparrow"]
    words += ["--base-url", address, "--json"]

    done = subprocess.run([*map(str, words)], cwd=tmp_path, capture_output=True, check=True)

    found = json.loads(done.stdout)["examinations"]
    assert {row["judge"] for row in found} == {"systemone/sparrow"}
    assert len(found) == 21
    assert {row["outcome"] for row in found} <= {"failed", "no_evidence"}
    assert sum(row["outcome"] == "failed" for row in found) > 10
    assert (tmp_path / "voirdire-replies.sqlite").exists()


def test_what_llama_cpp_answers_is_what_is_read(tmp_path):
    """A tiny model of random weights: every kind of question, and the server's own numbers."""
    for needed in ("gguf", "xllamacpp"):
        pytest.importorskip(needed)
    from servers.tiny_gguf import write_tiny_gguf

    model = write_tiny_gguf(tmp_path / "tiny.gguf", decides=True)
    choice = {"tone": {"type": "choice", "instructions": "Which tone?"}}
    choice["tone"]["criteria"] = {"kind": "friendly", "rude": None}
    state = {"conversation": [{"role": "user", "content": "ask 0"}], "response": "say 0"}
    with running_llama_server(model, log=tmp_path / "server.log") as server:
        about = {"judge": "systemone/tiny", "base_url": server.base_url, "store": False}
        found = voirdire.judge(ITEMS, rubric=rubric(KINDS), **about)
        body = {"model": "tiny", "state": state, "questions": choice}
        raw = server.post("/v1/systemone", body)["answers"]["tone"]

    assert found.missing == {}
    assert found.source == "decision"
    assert all(0 < p < 1 for p in found.probability("sorry"))
    assert len({*found.probability("sorry").tolist()}) == len(ITEMS)
    assert found.answers("tone")[0] == raw["choice"]
    assert all(1 < value < 3 for value in found.answers("help"))
