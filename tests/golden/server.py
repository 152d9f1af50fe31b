"""A server of chat completions that answers by the name of the item, whatever the prompt says.

It reads ``item-17`` out of the last message and the wanted keys out of the schema, so that other
words in a prompt change no figure. Asked without a schema, it writes a completion.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from typing import Any

from golden.inputs import draw, pick, probability, response, truths

WORDS = ("warm enough", "too cold", "neither of them")


def answer_to(item: str, key: str, form: dict[str, Any], *, seed: int | None) -> Any:
    """Answer a question about an item in the form that its schema wants; a seed draws a vote."""
    if "enum" in form:
        return pick(form["enum"], "choice", item, key)
    kind = form.get("type")
    if kind == "array":
        return [word for word in form["items"]["enum"] if draw("set", item, key, word) < 0.5]
    if kind == "boolean":
        return probability(item, key) >= (0.5 if seed is None else draw("vote", item, key, seed))
    if kind == "number" and form.get("maximum") == 1:
        return probability(item, key)
    if kind in {"integer", "number"}:
        low, high = form.get("minimum", 1), form.get("maximum", 5)
        return low + int(draw("scale", item, key) * (high - low + 1))
    return pick(WORDS, "words", item, key)


def _verdict(body: dict[str, Any]) -> dict[str, Any]:
    said = body["messages"][-1]["content"]
    found = re.search(r"item-\d+", said)
    item = found.group() if found else "item-0"
    asked = body["response_format"]["json_schema"]["schema"]["properties"]
    answers = {
        key: answer_to(item, key, form, seed=body.get("seed")) for key, form in asked.items()
    }
    text = json.dumps(answers)
    choice = _choice(text)
    if body.get("logprobs"):
        choice["logprobs"] = {"content": _steps(item, text, n_top=body.get("top_logprobs", 0))}
    return choice


def _written(prompt: str, *, n_before: int) -> str:
    """Write the next completion for a prompt; eight in a row show every mix of traits."""
    start = 5000 + 1000 * int(draw("writes", prompt) * 9)
    names = (f"item-{start + k}" for k in range(1000))
    mixes = {tuple(truths(name).values()): name for name in names}
    name = mixes[sorted(mixes)[n_before % len(mixes)]]
    return response(name, truths(name))


def _choice(text: str) -> dict[str, Any]:
    return {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }


def _steps(item: str, text: str, *, n_top: int) -> list[dict[str, Any]]:
    """Cut a reply at its truth values, each with both that might have stood there."""
    steps, end = [], 0
    keys = iter(re.findall(r'"([^"]*)":', text))
    for match in re.finditer(r"\btrue\b|\bfalse\b", text):
        p = probability(item, next(keys, ""))
        both = {"true": p, "false": 1 - p}
        steps.append(_step(text[end : match.start()], 1.0, {}))
        steps.append(_step(match.group(), both[match.group()], both if n_top else {}))
        end = match.end()
    return [*steps, _step(text[end:], 1.0, {})]


def _step(token: str, p: float, others: dict[str, float]) -> dict[str, Any]:
    top = [{"token": word, "logprob": log(x), "bytes": None} for word, x in others.items()]
    return {"token": token, "logprob": log(p), "bytes": None, "top_logprobs": top}


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        n_tokens = sum(len(message["content"]) for message in body["messages"]) // 4
        reply = {
            "id": "golden",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [self._choice_for(body)],
            "usage": {
                "prompt_tokens": n_tokens,
                "completion_tokens": 10,
                "total_tokens": n_tokens + 10,
            },
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _choice_for(self, body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return _verdict(body)
        prompt = re.findall(r"bread number \d+", body["messages"][-1]["content"])[-1]
        self.server.written[prompt] += 1
        return _choice(_written(prompt, n_before=self.server.written[prompt]))

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.written: Counter[str] = Counter()


@contextmanager
def running_server() -> Iterator[str]:
    """Run the server in a thread until the block ends; give its address."""
    made = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_address[1]}/v1"
    finally:
        made.shutdown()
        made.server_close()
        thread.join()
