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

    def metadata(self) -> Any:
        """Read what is known of the items."""
        from voirdire.io import read_metadata

        item = (self.reading.columns or {}).get("item")
        return None if self.items is None else read_metadata(self.items, item=item)


@dataclass(frozen=True, kw_only=True)
class ResultPage:
    """A page, what a terminal is told of it, and the parts of a run that cannot be read."""

    html: str = field(repr=False)
    view: View
    dropped: tuple[str, ...] = ()


def make_page(asked: PageRequest) -> ResultPage:
    """Make the page of a result: its JSON, a reward, a certificate, verdicts, a run's folder."""
    from voirdire.reporting.pages.frame import render_page

    dropped: tuple[str, ...] = ()
    if asked.file != "-" and "\0" not in asked.file and Path(asked.file).is_dir():
        view, dropped = _lay_out_run(asked)
    else:
        view = _lay_out_file(asked)
    about: dict[str, Any] = {"title": asked.title, "created": asked.created}
    html = render_page(view, language=asked.language, **about)
    return ResultPage(html=html, view=view, dropped=dropped)


def _lay_out_run(asked: PageRequest) -> tuple[View, tuple[str, ...]]:
    """Lay out a training run, and name its parts that cannot be read."""
    from voirdire.reporting import rows
    from voirdire.rewards.training.run_reading import read_training_run

    _refuse_items(asked, "a training run")
    if not (Path(asked.file) / "run.json").exists():
        msg = (
            f"{asked.file}: must be a file, or the folder of a training run, got a folder that "
            "holds no run.json. Name a file in it."
        )
        raise InputError(msg)
    run = read_training_run(asked.file)
    return rows(run, source=asked.file, texts=asked.texts), run.dropped


def _lay_out_file(asked: PageRequest) -> View:
    """Lay out what a file holds, which is told by what is in it."""
    data = _read_result(asked)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower() in (b"<!doctype", b"<html"):
        msg = f"{asked.source}: must be a result, got a page. Open it in a browser directly."
        raise InputError(msg)
    document = _document(data)
    if not isinstance(document, dict) or not document.keys().isdisjoint(("item", "id")):
        return _lay_out_verdicts(data, document, asked)  # one row of a table alone has an item
    schema = str(document.get("schema", "")).partition("/")[0]
    if schema in _DOCUMENTS:
        what, lay_out = _DOCUMENTS[schema]
        _refuse_items(asked, what)
        return lay_out(data, asked.source)
    return _lay_out_result(data, document, asked)


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


def _lay_out_certificate(data: bytes, source: str) -> View:
    from voirdire.documents import document_from_text
    from voirdire.reporting import rows
    from voirdire.rewards.certification import make_certificate

    form: dict[str, Any] = {"what": "a certificate", "layout": "json"}
    return rows(make_certificate(document_from_text(data, source=source, **form)))


def _lay_out_reward(data: bytes, source: str) -> View:
    from voirdire.documents import document_from_text
    from voirdire.reporting import rows
    from voirdire.rewards.reward_file import read_reward_document

    form: dict[str, Any] = {"what": "a reward", "layout": "json"}
    return rows(read_reward_document(document_from_text(data, source=source, **form)))


def _lay_out_fit(data: bytes, source: str) -> View:
    from voirdire.reporting.pages.reward import read_fit_view

    try:
        return read_fit_view(json.loads(data))
    except (AttributeError, LookupError, TypeError) as error:
        msg = f"{source}: must be a fit as `voirdire fit --json` prints it. Write it anew."
        raise InputError(msg) from error


_DOCUMENTS: dict[str, tuple[str, Callable[[bytes, str], View]]] = {
    "voirdire.certificate": ("a certificate", _lay_out_certificate),
    "voirdire.reward": ("a reward", _lay_out_reward),
    "voirdire.reward_fit": ("a fit", _lay_out_fit),
}
"""By its schema what a document is, and what lays it out."""


def _lay_out_result(data: bytes, document: dict[str, Any], asked: PageRequest) -> View:
    from voirdire.judging import JudgingSummary, SeveralJudged
    from voirdire.reporting import from_json, rows
    from voirdire.studies import Examination

    if isinstance(document.get("judged"), list):
        several = SeveralJudged()
        several += [from_json(x, JudgingSummary, source=asked.source) for x in document["judged"]]
        result: Any = several
    else:
        result = from_json(data, source=asked.source)
    if isinstance(result, Examination):
        return rows(result, items=asked.metadata())
    _refuse_items(asked, "a result of this kind")
    return rows(result)


def _lay_out_verdicts(data: bytes, document: Any, asked: PageRequest) -> View:
    from voirdire.io.files import DataFile
    from voirdire.io.verdicts import read_answers
    from voirdire.reporting.pages.verdicts import verdicts_view

    stream = io.BytesIO(data)
    stream.name = asked.source  # for errors
    file = DataFile(stream, format=_format(data, document, asked.file), held="verdict")
    answers = read_answers(file, columns=asked.reading.columns)
    return verdicts_view(answers, name=asked.source, metadata=asked.metadata())


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
