"""Certificates from files and from inside of rewards, each checked against its own hash."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records import CERTIFICATE_SCHEMA, Certificate
from voirdire.rewards.json_file import content_digest, plain, read_object
from voirdire.rewards.strange_fields import misspelt_schema, strange_fields

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["certificate_document", "certificate_of", "read_certificate"]

_UNHASHED = ("created", "versions", "content_hash")


class _Form(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A certificate as it is written."""

    schema: str
    created: str
    versions: dict[str, str]
    data_hash: str
    gold_hash: str | None
    judges: dict[str, dict[str, Any]]
    rubric_hash: str | None
    settings: dict[str, Any]
    examinations: list[dict[str, Any]]
    outcomes: dict[str, str]
    content_hash: str


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate that `voirdire examine --certificate` wrote.

    Parameters
    ----------
    path : str or path
        A JSON file of at most 64 MiB.

    Returns
    -------
    Certificate
        Undefined figures are None.

    Raises
    ------
    InputError
        If it is no certificate, of a newer form, or was changed after it was written.

    Notes
    -----
    The hash shows that a file was changed, not who wrote it: nothing is signed.
    """
    source = shorten(str(path), width=200)
    return certificate_of(read_object(path, what="a certificate"), source=source)


def certificate_of(content: dict[str, Any], *, source: str) -> Certificate:
    """Make a certificate of what a file says, and check its hash."""
    schema = content.get("schema")
    if schema != CERTIFICATE_SCHEMA:
        msg = (
            f"{source}: must be a certificate of the form {CERTIFICATE_SCHEMA!r}, got "
            f"{shorten(schema) if isinstance(schema, str) else 'no schema'!r}. "
            f"`voirdire examine --certificate` writes one.{misspelt_schema(content)}"
        )
        raise InputError(msg)
    try:
        form = msgspec.convert(content, _Form)
    except msgspec.ValidationError as error:
        why = strange_fields(content, _Form) or shorten(str(error))
        msg = f"{source}: must be a certificate, got one that is damaged ({why})."
        raise InputError(msg) from error
    said = {each.name: getattr(form, each.name) for each in fields(Certificate)}
    expected = content_digest({k: x for k, x in said.items() if k not in _UNHASHED})
    if expected != form.content_hash:
        msg = (
            f"{source}: must be a certificate as it was written, got one that was changed: its "
            f"content_hash is {shorten(form.content_hash, width=19)!r}, its content gives "
            f"{shorten(expected, width=19)!r}. Examine again."
        )
        raise InputError(msg)
    return Certificate(**(said | {"examinations": tuple(form.examinations)}))


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """Give a certificate as plain values, as its own file has them."""
    found: dict[str, Any] = plain(asdict(certificate))
    return found
