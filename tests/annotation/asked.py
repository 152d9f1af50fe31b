"""An application asked in this process, as a browser with a link asks it."""

import asyncio
import json
import uuid
from dataclasses import dataclass, field

HOST = "127.0.0.1:8765"


@dataclass
class Client:
    """Somebody's browser."""

    app: object
    cookie: str = ""
    headers: dict = field(default_factory=dict)

    def ask(self, method, path, body=None, **headers):
        """Send a request; return the status, the headers and the body."""
        path, _, query = path.partition("?")
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"host": HOST, **self.headers}
        if method == "POST":
            sent |= {"origin": f"http://{HOST}", "content-type": "application/json"}
        if self.cookie:
            sent["cookie"] = self.cookie
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in sent.items() if v is not None],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8765),
            "scheme": "http",
            "root_path": "",
        }
        told = []

        async def receive():
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message):
            told.append(message)

        asyncio.run(self.app(scope, receive, send))
        heads = {k.decode(): v.decode() for k, v in told[0]["headers"]}
        return told[0]["status"], heads, b"".join(x.get("body", b"") for x in told[1:])

    def enter(self, secret):
        """Open a link."""
        status, headers, _ = self.ask("POST", "/in", {"secret": secret})
        self.cookie = headers.get("set-cookie", "").partition(";")[0]
        return status, headers.get("set-cookie", "")

    def tasks(self, query=""):
        return json.loads(self.ask("GET", f"/label/tasks{query}")[2])

    def send(self, *rows):
        return json.loads(self.ask("POST", "/label/answers", list(rows))[2])


def row(task, value, question="polite", **more):
    made = {"uuid": str(uuid.uuid4()), "task": task["key"], "action": "answer"}
    return made | {"question": question, "value": value} | more
