"""Certificates from files and from inside of rewards, each checked against its own hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from voirdire._validation import shorten
from voirdire.documents import Form, closest, content_digest, plain_json, read_document
from voirdire.records import CERTIFICATE_SCHEMA, Certificate

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.documents import Document
    from voirdire.documents import Path as Keys

__all__ = ["certificate_document", "certificate_of", "misspelt_schema", "read_certificate"]

_UNHASHED = ("created", "versions", "content_hash")
_OPTIONAL = ("population", "against_majority")


class _Form(Form):
    """A certificate as it is written."""

    schema_: Annotated[str, Field(alias="schema")]
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
    population: str | None = None
    against_majority: dict[str, dict[str, Any]] | None = None


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
    return certificate_of(read_document(path, what="a certificate", layout="json"))


def certificate_of(
    document: Document, path: Keys = (), *, what: str = "a certificate"
) -> Certificate:
    """Make a certificate of what a file says at a path, and check its hash."""
    schema = document.get((*path, "schema"))
    if schema != CERTIFICATE_SCHEMA:
        got = shorten(schema) if isinstance(schema, str) else "no schema"
        message = (
            f"{what} must be of the form {CERTIFICATE_SCHEMA!r}, got {got!r}. "
            f"`voirdire examine --certificate` writes one.{misspelt_schema(document.get(path))}"
        )
        raise document.error_at((*path, "schema"), message)
    form = document.read(_Form, path, what=what)
    if form is None:
        raise document.error()
    fields = _Form.model_fields.items()
    said = {field.alias or name: getattr(form, name) for name, field in fields}
    said = {k: x for k, x in said.items() if x is not None or k not in _OPTIONAL}
    expected = content_digest({k: x for k, x in said.items() if k not in _UNHASHED})
    if expected != form.content_hash:
        message = (
            f"{what} must be as it was written, got one that was changed: its "
            f"content_hash is {shorten(form.content_hash, width=19)!r}, its content gives "
            f"{shorten(expected, width=19)!r}. Examine again."
        )
        raise document.error_at((*path, "content_hash"), message)
    return Certificate(**(said | {"examinations": tuple(form.examinations)}))


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """Give a certificate as plain values, as its own file has them."""
    found: dict[str, Any] = plain_json(certificate.as_content())
    return found


def misspelt_schema(content: Any) -> str:
    """Name the field that was perhaps meant for `schema`, as a sentence with a space before it."""
    is_there = not isinstance(content, dict) or "schema" in content
    word = None if is_there else closest("schema", content)
    return "" if word is None else f" Was `{shorten(word)}` meant for `schema`?"
