"""The page of a result file: what the file holds is told by what is in it."""

from __future__ import annotations

import io
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.io.declared import Reading
from voirdire.reporting.as_json import MOST_BYTES, from_json
from voirdire.reporting.layout import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.reporting.pages.view import View

_BEFORE = b"\xef\xbb\xbf \t\r\n"
"""What may stand before the first character of a text."""


def view_of_file(
    file: str,
    *,
    items: str | None = None,
    columns: Mapping[str, str] | None = None,
    texts: bool = False,
) -> View:
    """Lay out the JSON of a result, a reward, a certificate, verdicts or the folder of a run.

    `columns` has the file's own names for columns of verdicts and of `items`.
    """
    source, columns = "<stdin>" if file == "-" else file, Reading(columns=columns).columns
    if file != "-" and "\0" not in file and Path(file).is_dir():
        if not (Path(file) / "run.json").exists():
            msg = (
                f"{file}: must be a file, or the folder of a training run, got a folder that holds "
                "no run.json. Name a file in it."
            )
            raise InputError(msg)
        from voirdire.rewards.training.run_reading import read_training_run

        _refuse_items(items)
        return rows(read_training_run(file), source=file, texts=texts)
    data = _read_result(source)
    start = data.lstrip(_BEFORE)[:9].lower()
    if start.startswith((b"<!doctype", b"<html")):
        msg = f"{source}: must be a result, got a page. Open it in a browser directly."
        raise InputError(msg)
    document: Any = None  # where it is a table, or nothing that can be read
    if start[:1] in (b"{", b"["):
        with suppress(ValueError, RecursionError):
            document = json.loads(data.decode("utf-8-sig"))
    if isinstance(document, dict) and document.keys().isdisjoint(("item", "id")):
        _refuse_items(items)
        return _lay_out_document(data, document, source)
    from voirdire.io import read_metadata
    from voirdire.io.files import DataFile
    from voirdire.io.verdicts import read_answers
    from voirdire.reporting.pages.verdicts import verdicts_view

    table = DataFile(io.BytesIO(data) if file == "-" else file, held="verdict")
    answers = read_answers(table, columns=columns)
    name = (columns or {}).get("item")
    metadata = None if items is None else read_metadata(items, item=name)
    return verdicts_view(answers, name=source, metadata=metadata)


def _refuse_items(items: str | None) -> None:
    if items is not None:
        msg = f"`items` must be left out, got {items!r}: texts stand beside verdicts alone. "
        raise InputError(f"{msg}Give them to `voirdire examine`.")


def _read_result(source: str) -> bytes:
    """Read a file or standard input, but no more than a page is made of."""
    from voirdire.documents import open_regular

    try:
        if source == "<stdin>":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open_regular(source) as file:
                data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"{source}: must be a file that can be read ({why}). Name another."
        raise InputError(msg) from error
    if len(data) > MOST_BYTES:
        msg = f"{source}: must have at most {MOST_BYTES >> 20} MiB, got more. View a part of it."
        raise InputError(msg)
    if not data.strip():
        msg = f"{source}: must hold a result, got an empty file. Name another."
        raise InputError(msg)
    return data


def _lay_out_document(data: bytes, document: dict[str, Any], source: str) -> View:
    """Lay out an object of JSON: a document by its schema, a result by its keys."""
    from voirdire.documents import document_from_text
    from voirdire.judging import JudgingSummary, SeveralJudged
    from voirdire.reporting.pages.reward import read_fit_view
    from voirdire.rewards.certification import make_certificate
    from voirdire.rewards.reward_file import read_reward_document

    schema = str(document.get("schema", "")).partition("/")[0]
    if schema == "voirdire.reward_fit":
        try:
            return read_fit_view(document)
        except (AttributeError, LookupError, TypeError) as error:
            msg = f"{source}: must be a fit as `voirdire fit --json` prints it. Write it anew."
            raise InputError(msg) from error
    readers: dict[str, Any] = {
        "voirdire.certificate": ("a certificate", make_certificate),
        "voirdire.reward": ("a reward", read_reward_document),
    }
    if schema in readers:
        what, read = readers[schema]
        return rows(read(document_from_text(data, source=source, what=what, layout="json")))
    if isinstance(document.get("judged"), list):
        judged = SeveralJudged()
        judged += [from_json(x, JudgingSummary, source=source) for x in document["judged"]]
        return rows(judged)
    return rows(from_json(data, source=source))
