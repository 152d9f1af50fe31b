"""The page of a result file: what the file holds is told by what is in it."""

from __future__ import annotations

import io
import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.io.declared import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire._types import Language
    from voirdire.reporting.pages.view import View

__all__ = ["PageRequest", "ResultPage", "make_page"]


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """What a page is made of, and how: with texts of a run.

    `reading` has the file's own names for columns of verdicts and of `items`.
    """

    file: str
    language: Language
    title: str | None
    created: str | None = None
    items: str | None = None
    reading: Reading = field(default_factory=Reading)
    texts: bool = False

    @property
    def source(self) -> str:
        """How errors name the file."""
        return "<stdin>" if self.file == "-" else self.file

    @property
    def about(self) -> dict[str, Any]:
        """What every page takes."""
        return {"language": self.language, "title": self.title}

    def metadata(self) -> Any:
        """Read what is known of the items."""
        from voirdire.io import read_metadata

        item = (self.reading.columns or {}).get("item")
        return None if self.items is None else read_metadata(self.items, item=item)


@dataclass(frozen=True, kw_only=True)
class ResultPage:
    """A page, what a terminal is told of it, and the parts of a run that cannot be read."""

    html: str = field(repr=False)
    view: View | None = None
    dropped: tuple[str, ...] = ()


def make_page(asked: PageRequest) -> ResultPage:
    """Make the page of a result: the JSON of an examination, verdicts, a reward, a run's folder."""
    if asked.file != "-" and "\0" not in asked.file and Path(asked.file).is_dir():
        return _show_run(asked)
    data = _read_result(asked)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower() in (b"<!doctype", b"<html"):
        msg = f"{asked.source}: must be a result, got a page. Open it in a browser directly."
        raise InputError(msg)
    document = _document(data)
    for is_kind, show in _KINDS:
        if isinstance(document, dict) and is_kind(document):
            return ResultPage(html=show(data, document, asked))
    return ResultPage(html=_show_verdicts(data, document, asked))


def _show_run(asked: PageRequest) -> ResultPage:
    """Make the page of a training run."""
    from voirdire.reporting.pages.frame import render_page
    from voirdire.reporting.pages.training import training_view
    from voirdire.rewards.training.run_reading import read_training_run

    _refuse_items(asked, "a training run")
    if not (Path(asked.file) / "run.json").exists():
        msg = (
            f"{asked.file}: must be a file, or the folder of a training run, got a folder that "
            "holds no run.json. Name a file in it."
        )
        raise InputError(msg)
    run = read_training_run(asked.file)
    view = training_view(run, source=asked.file, texts=asked.texts)
    page = render_page(view, **asked.about, created=asked.created)
    return ResultPage(html=page, view=view, dropped=run.dropped)


def _read_result(asked: PageRequest) -> bytes:
    """Read a file or standard input, but no more than a page is made of."""
    from voirdire.documents import open_regular
    from voirdire.reporting.as_json import MOST_BYTES

    source = asked.source
    try:
        if asked.file == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open_regular(source) as file:
                data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        rule = "a file that can be read"
        if isinstance(error, FileNotFoundError):
            rule = "a file that exists, or the folder of a training run"
        why = getattr(error, "strerror", None) or error
        msg = f"{source}: must be {rule} ({why}). Name another."
        raise InputError(msg) from error
    if len(data) > MOST_BYTES:
        msg = f"{source}: must have at most {MOST_BYTES >> 20} MiB, got more. View a part of it."
        raise InputError(msg)
    if not data.strip():
        msg = f"{source}: must hold a result, got an empty file. Name another."
        raise InputError(msg)
    return data


def _document(data: bytes) -> Any:
    """Read JSON; None where it is a table, or nothing that can be read."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return None
    with suppress(ValueError, RecursionError):
        return json.loads(data.decode("utf-8-sig"))
    return None


def _has_schema(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda document: str(document.get("schema", "")).startswith(f"{name}/")


def _show_result(data: bytes, _document: dict[str, Any], asked: PageRequest) -> str:
    from voirdire.reporting import from_json, html_page, html_report
    from voirdire.studies import Examination

    result = from_json(data, source=asked.source)
    about: dict[str, Any] = asked.about | {"created": asked.created}
    if isinstance(result, Examination):
        return html_report(result, **about, source=asked.source, items=asked.metadata())
    _refuse_items(asked, "a result of this kind")
    return html_page(result, **about)


def _show_certificate(data: bytes, _document: dict[str, Any], asked: PageRequest) -> str:
    from voirdire.documents import document_from_text
    from voirdire.reporting import html_page
    from voirdire.rewards.certification import make_certificate

    _refuse_items(asked, "a certificate")
    form: dict[str, Any] = {"what": "a certificate", "layout": "json"}
    certificate = make_certificate(document_from_text(data, source=asked.source, **form))
    return html_page(certificate, **asked.about, created=asked.created)


_KINDS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[..., str]], ...] = (
    (_has_schema("voirdire.certificate"), _show_certificate),
    (lambda document: document.keys().isdisjoint(("item", "id")), _show_result),
)
"""How a document is recognized, and its page; one row of a table alone has an item."""


def _show_verdicts(data: bytes, document: Any, asked: PageRequest) -> str:
    from voirdire.io.files import DataFile
    from voirdire.reporting.pages.frame import render_page
    from voirdire.reporting.pages.verdicts import read_answers, verdicts_view

    stream = io.BytesIO(data)
    stream.name = asked.source  # for errors
    file = DataFile(stream, format=_format(data, document, asked.file), held="verdict")
    rows = read_answers(file, columns=asked.reading.columns)
    view = verdicts_view(rows, name=asked.source, metadata=asked.metadata())
    return render_page(view, **asked.about)


def _format(data: bytes, document: Any, name: str) -> str:
    """Tell how a table is written by how it begins."""
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        return "xlsx"
    is_row = isinstance(document, dict) and not document.keys().isdisjoint(("item", "id"))
    if document is not None and not is_row:  # a row alone is JSON Lines
        return "json"
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "jsonl"
    return "tsv" if name.lower().endswith(".tsv") else "csv"


def _refuse_items(asked: PageRequest, what: str) -> None:
    if asked.items is not None:
        msg = f"`items` must be left out for {what}, got {asked.items!r}: its page shows no items"
        raise InputError(f"{msg} of a file.")
