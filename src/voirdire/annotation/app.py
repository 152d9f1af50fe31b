"""Serves the pages of a study: who may open them, what a browser gets, and what it sends."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from voirdire._messages import shorten
from voirdire.annotation.coordinator import CoordinatorPages, read_judges
from voirdire.annotation.study import MOST_NOTE, TaskState, check_value
from voirdire.errors import InputError
from voirdire.reporting.colours import theme_css
from voirdire.reporting.pages.frame import LANGUAGE_TAGS, make_environment
from voirdire.reporting.pages.speech import Speaker
from voirdire.store import Answer
from voirdire.store.annotation_store import Action  # noqa: TC001  # rows are read by this type
from voirdire.web.app import is_loopback, is_own_name
from voirdire.web.server import UVICORN, bind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from voirdire._types import Language
    from voirdire.annotation.assignment import Task
    from voirdire.annotation.study import Study
    from voirdire.records import Item
    from voirdire.rubrics import Question
    from voirdire.store import AnnotationStore, Seat

    Endpoint: TypeAlias = "Callable[[Request, Seat], Any]"

_MOST_BODY = 2 << 20
_MOST_TASKS = 25
_REFRESH_S = 1.0
_COOKIE_S = 120 * 24 * 3_600
_MOST_ORIGINS = 20
_SIDES = {"A": "B", "B": "A"}
_PAGES_OF = {"annotator": "/label", "coordinator": "/study/label"}
"""Where whose browser labels; the coordinator's answers about split items are gold labels."""
_UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"
_TYPES = {"js": "text/javascript", "css": "text/css", "csv": "text/csv", "json": "application/json"}


class _Sent(msgspec.Struct, forbid_unknown_fields=True):
    """A row as a browser sends it."""

    uuid: Annotated[str, msgspec.Meta(pattern=_UUID)]
    task: str
    action: Action
    question: str = ""
    value: Any = None
    seconds: Annotated[float, msgspec.Meta(ge=0, le=86_400)] | None = None


_read_rows = msgspec.json.Decoder(Annotated[list[_Sent], msgspec.Meta(max_length=50)]).decode


_get_templates = cache(make_environment)
_speak = cache(Speaker)


class AnnotationApp(Starlette):
    """The pages on which people label one study.

    Parameters
    ----------
    store : AnnotationStore
        Where answers are kept.
    study : Study
        What is labelled.
    judges : sequence of path, optional
        Verdicts of judges to watch; the coordinator's browser alone learns of them.
    public_url : str, optional
        The address before a proxy with TLS; without one the server answers this machine only.

    Notes
    -----
    For one process: it alone writes answers. A link holds a secret after its ``#``, which no log of
    a server sees; the page exchanges it for a cookie that scripts cannot read and other sites
    cannot send.
    """

    def __init__(
        self,
        store: AnnotationStore,
        study: Study,
        *,
        judges: Sequence[str | Path] = (),
        public_url: str | None = None,
    ) -> None:
        self._store, self._study = store, study
        self._pages = CoordinatorPages(store, study, read_judges(study, judges))
        for seat in study.seats:  # nobody is to wait for the lists of the others
            study.task_keys(seat.number)
        self._is_secure = public_url is not None
        self._refreshed = time.monotonic()
        self._origins: tuple[int, list[str]] = (0, [])
        routes = [
            Route("/", self._enter),
            Route("/in", self._exchange, methods=["POST"]),
            Route("/static/{name}", self._static),
        ]
        for name in ("study", "study/labels.csv", "study/stop.json"):
            routes += [self._page(f"/{name}", self._progress, role="coordinator")]
        for role, base in _PAGES_OF.items():
            routes += [
                self._page(base, self._label, role=role),
                self._page(f"{base}/guide", self._guide, role=role),
                self._page(f"{base}/tasks", self._tasks, role=role),
                self._page(f"{base}/answers", self._answers, role=role, method="POST"),
            ]
        guard = Middleware(_Guard, public_url=public_url, images=self._image_origins)
        limit = Middleware(RequestBodyLimitMiddleware, max_body_size=_MOST_BODY)
        refusals: Any = {HTTPException: self._refuse}
        super().__init__(routes=routes, middleware=[guard, limit], exception_handlers=refusals)

    def _page(self, path: str, endpoint: Endpoint, *, role: str, method: str = "GET") -> Route:
        """Make a route for those of a role who show the cookie of their link."""

        async def answer(request: Request) -> Response:
            self._refresh()
            seat = self._study.find_seat(request.cookies.get(f"voirdire_{role}", ""))
            if seat is None or seat.role != role:
                raise HTTPException(401)
            made = endpoint(request, seat)
            return await made if asyncio.iscoroutine(made) else made  # type: ignore[no-any-return]

        return Route(path, answer, methods=[method])

    def _refresh(self) -> None:
        """Read what was added to the study, at most once a second."""
        if time.monotonic() - self._refreshed > _REFRESH_S:
            self._refreshed = time.monotonic()
            self._study.refresh()

    def _speaker(self, request: Request) -> Speaker:
        """Speak the language that the address or the browser asks for."""
        wanted = request.query_params.get("lang") or request.headers.get("accept-language", "")
        return _speak("zh" if wanted.lower().startswith("zh") else "en")

    def _render(
        self, template: str, request: Request, *, status: int = 200, **values: Any
    ) -> Response:
        """Write a page."""
        speaker = self._speaker(request)
        page = _get_templates(__package__).get_template(template)
        tag = LANGUAGE_TAGS[speaker.language]
        text = page.render(t=speaker, language=tag, name=self._study.rubric.name, **values)
        return HTMLResponse(text, status_code=status)

    def _image_origins(self) -> list[str]:
        """List where the items' images are: a browser may get images from nowhere else."""
        if self._origins[0] != len(self._study.items):
            origins: set[str] = set()
            for item in self._study.items.values():
                for image in chain.from_iterable(message.images for message in item.prompt):
                    if image.startswith("https:"):
                        with suppress(ValueError):  # no browser gets an image from there
                            host = urlsplit(image).netloc.encode("idna").decode()
                            origins.add(f"https://{host}")
            names = sorted(name for name in origins if re.fullmatch(r"https://[\w.:-]+", name))
            names = names if len(names) <= _MOST_ORIGINS else ["https:"]
            self._origins = len(self._study.items), names
        return self._origins[1]

    # Who --------------------------------------------------------------------------------------

    def _enter(self, request: Request) -> Response:
        return self._render("message.html.j2", request, key="enter")

    async def _exchange(self, request: Request) -> Response:
        self._refresh()
        try:
            sent = msgspec.json.decode(await request.body(), type=dict[str, str])
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise HTTPException(400) from None
        secret = sent.get("secret", "")
        seat = self._study.find_seat(secret)
        if seat is None or not secret:
            raise HTTPException(401)
        path = "/label" if seat.role == "annotator" else "/study"
        response = JSONResponse({"to": path})
        response.set_cookie(
            f"voirdire_{seat.role}",
            secret,
            max_age=_COOKIE_S,
            path=path,
            secure=self._is_secure,
            httponly=True,
            samesite="strict",
        )
        return response

    async def _refuse(self, request: Request, error: Any) -> Response:
        key = {401: "no_link", 404: "not_found", 413: "too_large"}.get(error.status_code, "refused")
        if request.method == "POST" or request.url.path.startswith(("/label/tasks", "/static")):
            return JSONResponse({"error": key}, status_code=error.status_code)
        return self._render("message.html.j2", request, key=key, status=error.status_code)

    def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ("annotate.js", "annotate.css"):
            raise HTTPException(404)
        text = files(__package__).joinpath("static", name).read_text("utf-8")
        kind = name.rpartition(".")[2]
        return Response(theme_css() * (kind == "css") + text, media_type=_TYPES[kind])

    # What the coordinator's browser gets ----------------------------------------------------------

    async def _progress(self, request: Request, seat: Seat) -> Response:
        """Send the page, or one of its files."""
        del seat
        name = request.url.path.rpartition("/")[2]
        made = await asyncio.to_thread(
            self._pages.make,
            name,
            language=self._speaker(request).language,
            codes="codes" in request.query_params,
        )
        if name == "study":
            return HTMLResponse(made)
        headers = {"content-disposition": f'attachment; filename="{self._study.key}.{name}"'}
        return Response(made, headers=headers, media_type=_TYPES[name.rpartition(".")[2]])

    # What a person's browser gets ---------------------------------------------------------------

    def _label(self, request: Request, seat: Seat) -> Response:
        speaker = self._speaker(request)
        config = {
            "say": {k: x for k, x in speaker.phrases.items() if k.startswith("annotate.say.")},
            "queue": f"{self._study.key}-{seat.number}",
            "questions": {
                row.id: _show_question(row, speaker.language) for row in self._study.questions
            },
        }
        return self._render("label.html.j2", request, config=config, base=_PAGES_OF[seat.role])

    def _guide(self, request: Request, seat: Seat) -> Response:
        language = self._speaker(request).language
        questions = [_show_question(row, language) for row in self._study.questions]
        description = _in_language(self._study.rubric.description, language)
        return self._render(
            "guide.html.j2",
            request,
            base=_PAGES_OF[seat.role],
            questions=questions,
            paragraphs=[description, *re.split(r"\n\s*\n", self._study.guidelines)],
        )

    def _tasks(self, request: Request, seat: Seat) -> Response:
        """Send some tasks of a seat: from a place, or from shortly before the first open one."""
        study = self._study
        tasks = study.tasks(seat.number)
        is_done = [study.is_done(seat.number, task) for task in tasks]
        first_open = is_done.index(False) if False in is_done else len(tasks)
        start = request.query_params.get("from", "")
        n = int(start) if re.fullmatch(r"\d{1,9}", start) else max(first_open - 3, 0)
        sent = [
            self._show_task(seat, tasks[place]) | {"n": place, "done": is_done[place]}
            for place in range(len(tasks))[n : n + _MOST_TASKS]
        ]
        totals = {"total": len(tasks), "open": is_done.count(False), "at": first_open}
        return JSONResponse({"tasks": sent, **totals})

    def _show_task(self, seat: Seat, task: Task) -> dict[str, Any]:
        """Show a task as its own annotator may see it: no ids, points or verdicts."""
        item, key = self._study.items[task.item], self._study.key_of(seat.number, task)
        state = self._study.states.get((seat.number, task.item, task.turn), TaskState())
        is_turned = self._is_turned(key, item)
        responses = [item.response] if item.other is None else [item.response, item.other]
        practice = item.metadata.get("practice")
        feedback = None
        if task.item in self._study.practice:
            right = practice if isinstance(practice, dict) else {}
            feedback = {"right": right, "why": str(item.metadata.get("feedback") or "")}
        sensitive = item.metadata.get("sensitive")
        return {
            "key": key,
            "messages": [[row.role, row.content, row.images] for row in item.prompt],
            "responses": responses[::-1] if is_turned else responses,
            "reference": item.reference if self._study.rubric.of_item else None,
            "questions": [
                [name, row.id, criterion]
                for name, (row, criterion) in self._study.asked[item.id].items()
            ],
            "answers": {name: _turn(row.value, is_turned) for name, row in state.answers.items()},
            "notes": state.notes,
            "flag": state.is_flagged,
            "practice": feedback,
            "sensitive": sensitive if isinstance(sensitive, str) else bool(sensitive),
        }

    def _is_turned(self, key: str, item: Item) -> bool:
        """Whether the two responses of a pair change sides for this person."""
        is_vote = all(row.kind == "pairwise" for row in self._study.questions)
        is_turned = item.other is not None and is_vote and int(key, 16) % 2 == 1
        return is_turned and item.id not in self._study.practice  # its feedback may say A and B

    # What it sends --------------------------------------------------------------------------------

    async def _answers(self, request: Request, seat: Seat) -> Response:
        """Store rows; a uuid that is returned as saved is on the disk."""
        try:
            sent = _read_rows(await request.body())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise HTTPException(400) from None
        read = {row.uuid: self._read(row, seat) for row in sent}
        rows = [row for row in read.values() if row and row.uuid not in self._study.uuids]
        await asyncio.gather(*(self._store.commit((self._study.key, row)) for row in rows))
        for row in rows:
            self._study.apply(row)
        saved = [name for name, row in read.items() if row is not None]
        refused = [name for name, row in read.items() if row is None]
        return JSONResponse({"saved": saved, "refused": refused})

    def _read(self, sent: _Sent, seat: Seat) -> Answer | None:
        """Read a row; None where it is not one that this seat may send."""
        task = self._study.task_keys(seat.number).get(sent.task)
        if task is None:
            return None
        asked = self._study.asked[task.item]
        value = _turn(sent.value, self._is_turned(sent.task, self._study.items[task.item]))
        if sent.action == "flag":
            is_right = isinstance(value, bool) and not sent.question
        elif sent.question not in asked:
            is_right = False
        elif sent.action == "answer":
            is_right = check_value(asked[sent.question][0], value)
        elif sent.action == "note":
            is_right = isinstance(value, str) and len(value) <= MOST_NOTE
        else:
            is_right = value is None
        if not is_right:
            return None
        return Answer(
            uuid=sent.uuid,
            seat=seat.number,
            item=task.item,
            turn=task.turn,
            question=sent.question,
            action=sent.action,
            value=value,
            seconds=sent.seconds,
        )


def _turn(value: Any, is_turned: bool) -> Any:  # noqa: FBT001
    return _SIDES.get(value, value) if is_turned and isinstance(value, str) else value


def _in_language(text: Any, language: Language) -> Any:
    """Return a text in a language, or in the one that there is."""
    return text.get(language) or next(iter(text.values()), "")


def _show_question(row: Question, language: Language) -> dict[str, Any]:
    """Write a question as the page shows it."""
    examples = [_in_language(each, language) or () for each in (row.yes_examples, row.no_examples)]
    labels = row.labels.items() if row.kind != "pairwise" else ()
    return {
        "kind": row.kind,
        "text": _in_language(row.text, language),
        "examples": examples,
        "labels": [[label, _in_language(text, language)] for label, text in labels],
        "range": [row.minimum, row.maximum],
        "levels": [[level, _in_language(text, language)] for level, text in row.levels.items()],
    }


class _Guard:
    """Answers requests by an own name and of an own page only, and bounds what pages may do.

    Another site can let its own name point to this machine (DNS rebinding), and can have a browser
    send requests here; it cannot change which name and which origin the browser states.
    """

    def __init__(
        self, app: ASGIApp, *, public_url: str | None, images: Callable[[], Iterable[str]]
    ) -> None:
        self._app, self._images = app, images
        self._url = None if public_url is None else public_url.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {key: value.decode("latin-1") for key, value in scope["headers"]}
        host, kind = headers.get(b"host", ""), headers.get(b"content-type", "")
        is_ours = self._url == f"https://{host}" or is_own_name(host)
        if scope["method"] not in ("GET", "HEAD"):
            is_ours = is_ours and headers.get(b"origin") == (self._url or f"http://{host}")
            is_ours = is_ours and kind.partition(";")[0].strip().lower() == "application/json"
        style = "'unsafe-inline'" if scope["path"] == "/study" else "'self'"  # it has no script
        policy = (
            f"default-src 'none'; script-src 'self'; style-src {style}; connect-src 'self'; "
            f"img-src 'self' data: {' '.join(self._images())}; base-uri 'none'; "
            "form-action 'self'; frame-ancestors 'none'"
        )

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [
                    (b"content-security-policy", policy.encode("latin-1")),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cache-control", b"no-store"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                ]
            await send(message)

        app = self._app if is_ours else JSONResponse({"error": "refused"}, status_code=403)
        await app(scope, receive, send_guarded)


def serve_study(
    store: AnnotationStore,
    study: Study,
    *,
    judges: Sequence[str | Path] = (),
    host: str = "127.0.0.1",
    port: int = 8765,
    public_url: str | None = None,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve the pages of a study until a signal ends the process.

    What the coordinator sees is made in a second process: a script calls this under
    ``if __name__ == "__main__":``.

    Parameters
    ----------
    store, study, judges
        As for `AnnotationApp`.
    host : str, optional
        Where to listen. Any but this machine's own addresses needs `public_url`.
    port : int, optional
        Where to listen; 0 takes any that is free.
    public_url : str, optional
        As for `AnnotationApp`.
    started : callable, optional
        Told the address that links begin with, when requests are taken.

    Raises
    ------
    InputError
        If the port is taken, `host` needs an address with TLS, or another server uses the store.
    """
    import uvicorn

    parts = urlsplit(public_url or "https://x")
    if parts.scheme != "https" or not parts.netloc or parts.path not in ("", "/"):
        msg = f"`public_url` must be like https://label.example.org, got {shorten(public_url)!r}."
        raise InputError(f"{msg} A proxy with TLS stands before the server.")
    if public_url is None and not is_loopback(host):
        msg = f"`host` must be this machine alone without `public_url`, got {shorten(host)!r}."
        raise InputError(f"{msg} Name the https address of the proxy that stands before it.")
    taken = "another server uses this store. Stop it, or name another place."
    with store.lock(f"annotate {study.key}", taken=taken), bind(host, port) as listening:
        app = AnnotationApp(store, study, judges=judges, public_url=public_url)
        shown = f"[{host}]" if ":" in host else host
        own = f"http://{shown}:{listening.getsockname()[1]}"
        if started is not None:
            started((public_url or own).rstrip("/"))
        more: Any = {"log_config": None, "log_level": "warning", "timeout_graceful_shutdown": 5}
        config = uvicorn.Config(app, lifespan="off", **UVICORN, **more)
        uvicorn.Server(config).run(sockets=[listening])
