"""A server that answers chat completions at once, so that only the client is measured.

It is a process of its own, on a core of its own where there are two. It reads no request beyond its
length: each path has one answer, the same bytes every time. Nothing of HTTP is here that a client
on loopback does not need.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["InstantServer", "joint_completion", "on_core", "running_instant_server"]

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
# What large providers send with every reply, so that reading it is measured too.
_HEADERS = (
    "content-type: application/json",
    "x-request-id: req_0123456789abcdef0123456789abcdef",
    "openai-processing-ms: 12",
    "x-ratelimit-limit-requests: 1000000",
    "x-ratelimit-limit-tokens: 1000000000",
    "x-ratelimit-remaining-requests: 999999",
    "x-ratelimit-remaining-tokens: 999999999",
    "x-ratelimit-reset-requests: 6ms",
    "x-ratelimit-reset-tokens: 0s",
)


@dataclass(frozen=True, kw_only=True)
class InstantServer:
    """Where the server is.

    Attributes
    ----------
    address : str
        Without a path.
    """

    address: str

    def base_url(self, name):
        """Give what an OpenAI client wants, for the answer of this name."""
        return f"{self.address}/{name}/v1"

    def n_served(self):
        """Count the answers given so far, by name."""
        with urllib.request.urlopen(f"{self.address}/served", timeout=10) as answer:
            return json.load(answer)


def joint_completion(keys, *, n_top=None):
    """Make a chat completion that answers a question per key: with `n_top`, by its tokens.

    Without, values are numbers in [0, 1]; with, they are true or false, and every token comes with
    so many likely ones and with bytes, as OpenAI writes them.
    """
    steps, values = [], {}
    for place, key in enumerate(keys):
        likely = 0.02 + 0.96 * place / len(keys)
        values[key] = round(likely, 2) if n_top is None else likely >= 0.5
        word, other = ("true", "false") if likely >= 0.5 else ("false", "true")
        taken, rest = max(likely, 1 - likely), min(likely, 1 - likely)
        steps += map(_sure, ("," if place else "{", '"', *_pieces(key), '":'))
        tops = [word, other, f" {word}", f" {other}", "null"]
        steps.append(_step(tops, [0.9 * taken, 0.9 * rest, 0.09 * taken, 0.09 * rest, 0.01]))
    steps.append(_sure("}"))
    logprobs = None
    if n_top is not None:
        logprobs = {"content": [_first(step, n_top) for step in steps], "refusal": None}
    text = json.dumps(values, separators=(",", ":"))
    usage = {
        "prompt_tokens": 2_000,
        "completion_tokens": len(steps),
        "total_tokens": 2_000 + len(steps),
        "prompt_tokens_details": {"cached_tokens": 1_536, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-0123456789",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "instant-2025-01-01",
        "choices": [choice],
        "usage": usage,
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
    }


def _pieces(key):
    """Cut a key as tokenizers would: at its underscores."""
    return re.findall(r"_?[^_]+", key)


def _sure(token):
    return _step([token, " ", "\n", "Z", "Q"], [0.99, 0.004, 0.003, 0.002, 0.001])


def _step(tokens, chances):
    tops = [
        {"token": token, "logprob": math.log(chance), "bytes": list(token.encode())}
        for token, chance in zip(tokens, chances, strict=True)
    ]
    return tops[0] | {"top_logprobs": tops}


def _first(step, n_top):
    return step | {"top_logprobs": step["top_logprobs"][:n_top]}


def on_core(number):
    """Keep this process on one of the cores that it may use, counted from 0, if there are two."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            os.sched_setaffinity(0, {cores[number % len(cores)]})


@contextmanager
def running_instant_server(completions, *, core=1):
    """Start a server for completions by name, give its place, and end it."""
    bodies = {name: json.dumps(value) for name, value in completions.items()}
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            process.stdin.write(json.dumps({"bodies": bodies, "core": core}) + "\n")
            process.stdin.flush()
            yield InstantServer(address=process.stdout.readline().strip())
        finally:
            process.kill()


class _Connection(asyncio.Protocol):
    """One client: answers whatever is complete, in order."""

    def __init__(self, answers, served):
        self._answers, self._served = answers, served
        self._waiting = b""

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, data):
        waiting = self._waiting + data if self._waiting else data
        while (end := waiting.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(waiting, 0, end)
            done = end + 4 + (int(length[1]) if length else 0)
            if len(waiting) < done:
                break
            self._answer(waiting.split(b" ", 2)[1].decode())
            waiting = waiting[done:]
        self._waiting = waiting

    def _answer(self, path):
        name = path.split("/")[1]
        if name == "served":
            self._transport.write(_answer_of(json.dumps(self._served)))
            return
        self._served[name] += 1
        self._transport.write(self._answers[name])


def _answer_of(text):
    body = text.encode()
    head = "\r\n".join(["HTTP/1.1 200 OK", *_HEADERS, f"content-length: {len(body)}", "", ""])
    return head.encode() + body


async def _serve(bodies):
    served = dict.fromkeys(bodies, 0)
    answers = {name: _answer_of(body) for name, body in bodies.items()}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(answers, served), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main():
    """Serve what the first line of standard input says, until that is closed."""
    told = json.loads(sys.stdin.readline())
    on_core(told["core"])

    def leave_with_whoever_started_it():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=leave_with_whoever_started_it, daemon=True).start()
    asyncio.run(_serve(told["bodies"]))


if __name__ == "__main__":
    main()
