"""llama.cpp's own OpenAI-compatible server, in a process of its own, with a tiny model.

`from servers.llama_server import llama_server` makes the fixture known to a conftest. Run as a
program, with the path of a model, it serves until its standard input is closed, so that it never
outlives whoever started it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

__all__ = ["LlamaServer", "llama_server", "running_llama_server", "words_of_safety"]

MODEL_NAME = "tiny"
N_SLOTS, CONTEXT_PER_SLOT = 4, 40_960
NEEDED = ("gguf", "xllamacpp")


@dataclass(frozen=True, kw_only=True)
class LlamaServer:
    """Where the server is.

    Attributes
    ----------
    base_url : str
        What an OpenAI client wants, with ``/v1``.
    model : str
        What the server calls its model.
    address : str
        The same without ``/v1``, for what only llama.cpp knows: ``/tokenize``, ``/completion``.
    """

    base_url: str
    model: str
    address: str

    def post(self, path, body):
        """Send JSON to a path such as ``"/v1/chat/completions"``, with no client of ours."""
        request = urllib.request.Request(
            self.address + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def control_tokens(self, messages):
        """List the control tokens in a conversation as the model sees it, those of turns included.

        More of them than turns have means that some text was taken for a part of the template.
        """
        from servers.tiny_gguf import CONTROL_TOKENS

        prompt = self.post("/apply-template", {"messages": messages})["prompt"]
        tokens = self.post("/tokenize", {"content": prompt, "parse_special": True})["tokens"]
        first = 1  # token 0 is the unknown one
        names = dict(enumerate(CONTROL_TOKENS, start=first))
        return [names[token] for token in tokens if token in names]


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory):
    """Serve a tiny model for the whole run; skip where llama.cpp is not installed, unless in CI."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        reason = f"a real server needs {' and '.join(missing)}, which this Python cannot import"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from servers.tiny_gguf import write_tiny_gguf

    folder = tmp_path_factory.mktemp("llama_server")
    model = write_tiny_gguf(folder / "tiny.gguf", words=words_of_safety())
    with running_llama_server(model, log=folder / "server.log") as server:
        yield server


def words_of_safety():
    """Ids and labels of the safety rubric, which the tiny model then has as one token each."""
    from voirdire.rubrics import load_rubric

    rubric = load_rubric("safety")
    words = {row.id for row in (*rubric.behaviors, *rubric.questions)}
    return sorted(words.union(*(question.labels for question in rubric.questions)))


@contextmanager
def running_llama_server(model, *, log):
    """Start a server for a model file, give its place, and end it."""
    with Path(log).open("wb") as log_file:
        process = subprocess.Popen(
            [sys.executable, __file__, str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log_file,
            text=True,
        )
    with process:
        address = process.stdout.readline().strip()
        if not address:
            process.kill()
            tail = Path(log).read_text(encoding="utf-8", errors="replace")[-2_000:]
            message = f"llama.cpp's server did not start:\n{tail}"
            raise RuntimeError(message)
        try:
            yield LlamaServer(base_url=f"{address}/v1", model=MODEL_NAME, address=address)
        finally:
            process.kill()  # it has nothing to save


def main(model):
    """Serve a model until standard input is closed."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = model
    settings.model_alias = {MODEL_NAME}
    settings.port = 0
    settings.n_parallel = N_SLOTS
    settings.n_ctx = N_SLOTS * CONTEXT_PER_SLOT
    settings.cache_ram_mib = 64
    settings.warmup = False
    settings.verbosity = 0
    # More threads only wait for each other: the matrices are 64 wide.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads would be waited for


if __name__ == "__main__":
    main(sys.argv[1])
