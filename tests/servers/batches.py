"""A server of chat completions with a batch endpoint of the published shapes, over real HTTP.

A batch goes on by one state each time that it is asked for. What becomes of each request is told by
`fate`; results come out of order.
"""

import json
import random
import re
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

STATES = ("validating", "in_progress", "finalizing")


def name_of(body):
    """Read off which item a request is about."""
    return re.search(r"item-\d+", body["messages"][-1]["content"])[0]


class BatchServer:
    """What it was asked, live and by batches, and what it is told to do.

    Attributes
    ----------
    fate : callable
        Takes an item and how often batches asked about it before; gives
        "ok", "expired", "bad" (400), "busy" (429), "unreadable" or "twice".
    reply : callable
        Takes a request's body, and gives the text of its reply.
    live, batched : Counter
        Requests by their item.
    batches : list of dict
        As the server describes them.
    has_batches, has_more : bool
        Whether the routes are there, and whether the list of batches always has another page.
    """

    def __init__(self):
        self.fate = lambda text, n_before: "ok"
        self.reply = lambda body: "{}"
        self.live, self.batched = Counter(), Counter()
        self.files, self.batches, self.live_bodies = {}, [], []
        self.has_batches, self.has_more = True, False
        self.n_uploads = 0
        self.usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        self.refused = None  # what is wrong with every batch
        self.breaks = ""  # whether the connection breaks before or after the next submission
        self.url = ""

    def completion(self, body):
        return {
            "id": "c", "object": "chat.completion", "model": "served",
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": self.reply(body)}}],
            "usage": self.usage,
        }  # fmt: skip

    def advance(self, batch):
        """Take a batch to its next state; write its results at the end."""
        if batch["status"] not in (*STATES, "cancelling"):
            return
        if self.refused:
            batch |= {"status": "failed", "errors": {"data": [{"message": self.refused}]}}
            return
        if batch["status"] in STATES[:-1]:
            batch["status"] = STATES[STATES.index(batch["status"]) + 1]
            n = self.files[batch["input_file_id"]].count("\n")
            n_done = {"validating": 0, "in_progress": n // 4, "finalizing": n}[batch["status"]]
            batch["request_counts"] = {"total": n, "completed": n_done, "failed": 0}
            return
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        outputs, failed, statuses = [], [], Counter()
        for line in lines:
            text = name_of(line["body"])
            fate = self.fate(text, self.batched[text])
            self.batched[text] += 1
            statuses[fate] += 1
            row = {"id": "r", "custom_id": line["custom_id"], "response": None, "error": None}
            if fate == "expired":
                failed.append(row | {"error": {"code": "batch_expired", "message": "expired"}})
                continue
            status = {"bad": 400, "busy": 429}.get(fate, 200)
            body = self.completion(line["body"])
            if status != 200:
                body = {"error": {"message": f"HTTP {status}", "code": str(status)}}
            if fate == "unreadable":
                body["choices"][0]["message"]["content"] = "no"
            row["response"] = {"status_code": status, "request_id": "q", "body": body}
            (outputs if status == 200 else failed).extend([row] * (1 + (fate == "twice")))
        random.Random(1).shuffle(outputs)
        for kind, rows in (("output_file_id", outputs), ("error_file_id", failed)):
            if rows:
                batch[kind] = self.keep("".join(json.dumps(row) + "\n" for row in rows))
        is_late = statuses["expired"] > 0
        batch["status"] = "expired" if is_late else "completed"
        batch["request_counts"] = {"total": len(lines), "completed": len(outputs),
                                   "failed": len(failed)}  # fmt: skip

    def keep(self, text):
        name = f"file-{len(self.files)}"
        self.files[name] = text
        return name


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def read(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        made, path = self.server.made, self.path.removeprefix("/v1").partition("?")[0]
        if not made.has_batches:
            self.send(404, {"error": {"message": "no such route"}})
        elif path == "/batches":
            self.send(
                200, {"object": "list", "data": made.batches[::-1], "has_more": made.has_more}
            )
        elif path.startswith("/batches/"):
            batch = next(row for row in made.batches if row["id"] == path.split("/")[2])
            made.advance(batch)
            self.send(200, batch)
        else:
            self.send(200, made.files[unquote(path.split("/")[2])])

    def do_POST(self):
        made, path, data = self.server.made, self.path.removeprefix("/v1"), self.read()
        if path == "/chat/completions":
            body = json.loads(data)
            made.live[name_of(body)] += 1
            made.live_bodies.append(body)
            self.send(200, made.completion(body))
        elif not made.has_batches:
            self.send(404, {"error": {"message": "no such route"}})
        elif path == "/files":
            made.n_uploads += 1
            mark = data.split(b"\r\n", 1)[0]
            part = next(x for x in data.split(mark) if b'name="file"' in x)
            content = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
            self.send(200, {"id": made.keep(content.decode()), "object": "file"})
        elif path == "/batches":
            asked = json.loads(data)
            assert asked["endpoint"] == "/v1/chat/completions"
            assert asked["completion_window"] == "24h"
            batch = asked | {"id": f"batch-{len(made.batches)}", "status": "validating"}
            breaks, made.breaks = made.breaks, ""
            if breaks != "before":
                made.batches.append(batch)
            if breaks:
                self.close_connection = True
            else:
                self.send(200, batch)
        else:
            batch = next(row for row in made.batches if row["id"] == path.split("/")[2])
            batch["status"] = "cancelling"
            self.send(200, batch)


@contextmanager
def running_batch_server():
    """Start one on this machine."""
    made = BatchServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.made, server.daemon_threads = made, True
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
