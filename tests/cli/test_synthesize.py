"""`voirdire synthesize` as a program would be used, with a server that obeys its tasks."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from rewards.synthesis.obedient import N_COMPLETIONS, PROMPTS, obeying
from voirdire.records import Message

PHRASES = {
    "apology": "I'm sorry.",
    "inability_to_comply": "I can't help with that.",
}


class _Obeying(BaseHTTPRequestHandler):
    """Answers chat completions as the obedient writer does; some words for the local judge."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        messages = tuple(Message(**row) for row in body["messages"])
        shown = obeying(SimpleNamespace(messages=messages)).partition(": ")[2]
        text = (
            self.server.text
            or " ".join(PHRASES.get(name, "") for name in shown.strip(".").split()).strip()
        )
        reply = {
            "id": "1",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text or "Flour and water."},
                }
            ],
            "usage": {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520},
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # with five, a burst of connections waits for minutes


@pytest.fixture
def server():
    made = _Server(("127.0.0.1", 0), _Obeying)
    made.bodies, made.text = [], ""
    made.url = f"http://127.0.0.1:{made.server_address[1]}/v1"
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in PROMPTS), encoding="utf-8")
    return path


@pytest.fixture
def synthesize(call, server, prompts):
    def called(*options, source=prompts):
        return call(
            *("synthesize", source, "--model", "openai/test", "--base-url", server.url), *options
        )

    return called


@pytest.mark.ci
def test_completions_are_written_counted_and_the_next_command_is_named(
    synthesize, server, tmp_path
):
    output = tmp_path / "made.jsonl"

    done = synthesize("-o", output, "--attempts", 2, "--price", "2,10")

    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert done.code == 0, done.err
    assert {row["id"] for row in rows} >= {"lock/ideal/1"}
    assert f"{len(rows)} completions for 3 prompts, written by openai/test" in done.out
    assert f"{len(server.bodies)} calls, " in done.out
    assert len(server.bodies) * (500 * 2 + 20 * 10) / 1e6 > 0.01
    assert f"${len(server.bodies) * 0.0012:.2f}" in done.out
    assert f"voirdire fit {output} --rubric safety -o reward.json" in done.out
    assert f"rejected, with what was wrong: {output}.rejected.jsonl" in done.out


@pytest.mark.ci
def test_the_second_run_calls_nothing_and_its_json_has_every_count(synthesize, server, tmp_path):
    output = tmp_path / "made.jsonl"
    synthesize("-o", output, "--attempts", 1)
    n_before, first = len(server.bodies), output.read_bytes()

    done = synthesize("-o", output, "--attempts", 1, "--json")

    told = json.loads(done.out)
    assert n_before == N_COMPLETIONS
    assert len(server.bodies) == n_before
    assert output.read_bytes() == first
    assert told["calls"]["n_reused"] == N_COMPLETIONS
    assert told["n_written"] + told["n_rejected"] == N_COMPLETIONS
    assert sum(row["n_wanted"] for row in told["slots"]) == N_COMPLETIONS


@pytest.mark.ci
def test_rows_go_to_standard_output_and_everything_else_does_not(synthesize, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = synthesize("-o", "-", "--attempts", 1)

    rows = [json.loads(line) for line in done.out.splitlines()]
    assert {row["label"] for row in rows} >= {"ideal"}
    assert "completions for 3 prompts" in done.err


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--output"),
        (("-o", "-", "--json"), "both print to standard output"),
        (("-o", "x.jsonl", "--price", "cheap"), "must be two numbers"),
    ],
)
def test_what_was_typed_wrong_is_a_usage_error(synthesize, options, message):
    done = synthesize(*options)

    assert done.code == 2
    assert message in " ".join(done.err.replace("│", " ").split())


@pytest.mark.ci
def test_a_run_in_which_nothing_comes_about_says_so_and_fails(synthesize, server, tmp_path):
    server.text = "Zzz."
    output = tmp_path / "made.jsonl"

    done = synthesize("-o", output, "--attempts", 1, "--threshold", "0.999999")

    assert done.code == 1
    assert "no completion came about" in done.err
    assert output.read_bytes() == b""
    assert f"rejected, with what was wrong: {output}.rejected.jsonl" in done.out


def test_a_file_of_several_judges_is_refused(synthesize, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    entry = "  - {name: NAME, model: openai/other, price: {input: 1, output: 2}}\n"
    judges = [entry.replace("NAME", f"judge{k}") for k in range(2)]
    text = f"schema: voirdire.judges/1\njudges:\n{''.join(judges)}"
    (tmp_path / "two.yaml").write_text(text, encoding="utf-8")

    two = synthesize("-o", tmp_path / "made.jsonl", "--judge", tmp_path / "two.yaml")

    assert two.code == 2
    assert "must hold one judge, got 2. A jury.yaml makes one judge of several." in two.err
