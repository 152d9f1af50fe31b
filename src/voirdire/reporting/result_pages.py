"""The page of a result file: what the file holds is told by what is in it."""

from __future__ import annotations

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
    """A page, what is said of it in the terminal, and the parts of a run that cannot be read."""

    html: str = field(repr=False)
    lines: tuple[str, ...] = ()
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
    from voirdire.reporting.pages.training import training_report
    from voirdire.reporting.training_tables import training_summary
    from voirdire.rewards.training.run_reading import read_training_run

    _refuse_items(asked, "a training run")
    if not (Path(asked.file) / "run.json").exists():
        msg = (
            f"{asked.file}: must be a file, or the folder of a training run, got a folder that "
            "holds no run.json. Name a file in it."
        )
        raise InputError(msg)
    run = read_training_run(asked.file)
    options: dict[str, Any] = {"created": asked.created, "texts": asked.texts}
    page = training_report(run, source=asked.file, **asked.about, **options)
    return ResultPage(html=page, lines=training_summary(run), dropped=run.dropped)


def _read_result(asked: PageRequest) -> bytes:
    """Read a file or standard input, but no more than a page is made of."""
    from voirdire.documents import read_small
    from voirdire.reporting.as_json import MOST_BYTES

    source = asked.source
    try:
        if asked.file == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            data = read_small(source, most_bytes=MOST_BYTES)
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


def _show_examination(data: bytes, _document: dict[str, Any], asked: PageRequest) -> str:
    from voirdire.reporting import html_report

    return html_report(
        data,
        **asked.about,
        created=asked.created,
        source=asked.source,
        items=asked.metadata(),
    )


def _show_certificate(data: bytes, _document: dict[str, Any], asked: PageRequest) -> str:
    from voirdire.documents import document_from_text
    from voirdire.reporting import results_report
    from voirdire.rewards.certification import make_certificate

    _refuse_items(asked, "a certificate")
    form: dict[str, Any] = {"what": "a certificate", "layout": "json"}
    certificate = make_certificate(document_from_text(data, source=asked.source, **form))
    return results_report(certificate, **asked.about, created=asked.created)


def _show_reward_examination(data: bytes, _document: dict[str, Any], asked: PageRequest) -> str:
    from voirdire.reporting import reward_report

    _refuse_items(asked, "the examination of a reward")
    return reward_report(data, **asked.about, created=asked.created, source=asked.source)


_KINDS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[..., str]], ...] = (
    (_has_schema("voirdire.certificate"), _show_certificate),
    (_has_schema("voirdire.reward_examination"), _show_reward_examination),
    (lambda document: document.keys().isdisjoint(("item", "id")), _show_examination),
)
"""How a document is recognized, and its page; one row of a table alone has an item."""


def _show_verdicts(data: bytes, document: Any, asked: PageRequest) -> str:
    from voirdire.io.verdict_rows import read_verdict_rows
    from voirdire.reporting.pages.verdicts import verdicts_page

    rows = read_verdict_rows(
        data,
        name=asked.source,
        format=_format(data, document, asked.file),
        columns=asked.reading.columns,
    )
    return verdicts_page(rows, name=asked.source, metadata=asked.metadata(), **asked.about)


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
