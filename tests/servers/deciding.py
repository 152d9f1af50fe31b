"""A server of a decision model, in both dialects, over real HTTP, whose answers a test decides."""

import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["DecidingServer", "running_decider"]


class DecidingServer:
    """What the server answers, and what it was asked.

    Attributes
    ----------
    chance : callable
        Takes the state, the name of a question and an option, and gives its probability; the option
        of a predicate is None.
    refuses : callable
        Takes the state and the name of a question, and tells whether it declines.
    change : callable
        Takes the body of an answer and how often its state was asked about before, and returns what
        is sent: a body, or a status with one.
    bodies : list of dict
        The requests.
    paths : list of str
        Where they went.
    """

    def __init__(self):
        self.chance = lambda state, name, option: 0.75
        self.refuses = lambda state, name: False
        self.change = lambda body, n_before: body
        self.bodies = []
        self.paths = []
        self.url = ""
        self._asked = Counter()
        self._lock = threading.Lock()

    def answer(self, path, body):
        """Answer a request."""
        with self._lock:
            self.bodies.append(body)
            self.paths.append(path)
            shown = json.dumps(body.get("state", body.get("input")), sort_keys=True)
            n_before = self._asked[shown]
            self._asked[shown] += 1
        if path.endswith("/systemone"):
            asked = body["questions"].items()
            answers = {name: self._systemone(body["state"], name, row) for name, row in asked}
            usage = {"input_tokens": 90, "output_tokens": 0}
        else:
            told = body["input"]
            told = told if isinstance(told, str) else told[0]["content"][0]["text"]
            state = json.loads(told)
            answers = [self._decisions(state, row["name"], row) for row in body["questions"]]
            usage = {"input_tokens": 90, "output_tokens": 3, "total_tokens": 93}
            usage |= {"input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0}}
        return self.change({"model": "d-1", "answers": answers, "usage": usage}, n_before)

    def _systemone(self, state, name, row):
        if self.refuses(state, name):
            return {"type": "refusal"}
        if row["type"] == "noul":
            return {"type": "noul", "noul": self.chance(state, name, None)}
        if row["type"] == "choice":
            found = {option: self.chance(state, name, option) for option in row["criteria"]}
            best = max(found, key=found.__getitem__)
            return {"type": "choice", "choice": best, "confidence": 0.5, "probabilities": found}
        levels = [str(place) for place in range(len(row["criteria"]))]
        found = {level: self.chance(state, name, level) for level in levels}
        legend = dict(zip(levels, row["criteria"], strict=True))
        mean = sum(int(level) * share for level, share in found.items())
        return {"type": "score", "score": mean, "legend": legend, "probabilities": found}

    def _decisions(self, state, name, row):
        if self.refuses(state, name):
            return {"type": "refusal", "name": name}
        told = {"type": row["type"], "name": name}
        if row["type"] == "predicate":
            return told | {"probability": self.chance(state, name, None)}
        if row["type"] == "choice":
            options = [choice["value"] for choice in row["choices"]]
            found = {option: self.chance(state, name, option) for option in options}
            rows = [{"value": each, "probability": share} for each, share in found.items()]
            best = max(found, key=found.__getitem__)
            return told | {"choice": best, "confidence": 0.5, "probabilities": rows}
        rows = [
            {"value": n, "label": level["label"], "probability": self.chance(state, name, str(n))}
            for n, level in enumerate(row["levels"])
        ]
        return told | {"score": 1.0, "confidence": 0.5, "probabilities": rows}


@contextmanager
def running_decider():
    """Run a server on a free port."""
    decider = DecidingServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told = decider.answer(self.path, body)
            status, told = told if isinstance(told, tuple) else (200, told)
            sent = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256  # with five, a burst of connections waits for minutes

    server = Server(("127.0.0.1", 0), Handler)
    decider.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield decider
    finally:
        server.shutdown()
        server.server_close()
