"""The text of a rubric file: small, UTF-8, and without characters that nobody sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from voirdire.rubrics.given_file import NotRegularError, read_small
from voirdire.rubrics.problems import Problem, problem_error

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.errors import RubricError

__all__ = ["MOST_BYTES", "UNSEEN", "decode_rubric", "name_character", "read_rubric_file"]

MOST_BYTES = 256 * 1024

UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""Control characters, line ends that no editor shows, byte order marks, halves of characters."""


def read_rubric_file(path: Path) -> str:
    """Read a file, or a pipe of the shell, no more of it than a rubric may hold."""
    source = str(path)
    try:
        data = read_small(path, most_bytes=MOST_BYTES)
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from error
    if len(data) > MOST_BYTES:
        raise _too_large(source, f"{size:,}" if size > MOST_BYTES else "more")
    return decode_rubric(data, source=source)


def decode_rubric(data: bytes | str, *, source: str) -> str:
    """Check size, encoding and characters, and take off a byte order mark.

    Parameters
    ----------
    data : bytes or str
        A whole file, or text that is in memory.
    source : str
        What to call it.
    """
    n_bytes = len(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    if n_bytes > MOST_BYTES:
        raise _too_large(source, f"{n_bytes:,}" if isinstance(data, str) else "more")
    text = data if isinstance(data, str) else _decoded(data, source=source)
    text = text.removeprefix("\ufeff")
    found = UNSEEN.search(text)
    if found is not None:
        message = (
            f"text must be without control characters, got {name_character(found[0])}. Delete it."
        )
        raise _at(source, text, found.start(), message)
    if not text.strip():
        message = "a rubric must hold at least one question, got an empty file. Fill it."
        raise problem_error(Problem(source=source, message=message))
    return text


def name_character(character: str) -> str:
    """Show a character that cannot be seen, such as ``U+0007``."""
    return f"U+{ord(character):04X}"


def _decoded(data: bytes, *, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"text must be UTF-8, got byte 0x{data[error.start]:02x}. Save the file as UTF-8."
        before = data[: error.start].decode("utf-8")
        raise _at(source, before, len(before), message) from error


def _at(source: str, text: str, offset: int, message: str) -> RubricError:
    before = re.split(r"\r\n|\r|\n", text[:offset])
    problem = Problem(source=source, line=len(before), column=len(before[-1]) + 1, message=message)
    return problem_error(problem)


def _too_large(source: str, size: str) -> RubricError:
    message = f"a rubric must be at most {MOST_BYTES:,} bytes (256 KiB), got {size}. Shorten it."
    return problem_error(Problem(source=source, message=message))


def _unreadable(source: str, error: Exception) -> RubricError:
    if isinstance(error, FileNotFoundError):
        message = "must be a file that exists. Check the path."
    elif isinstance(error, IsADirectoryError):
        message = "must be a file, got a folder. Name a file in it."
    elif isinstance(error, NotRegularError):
        message = f"must be a regular file, got {error.kind}. Name a file."
    else:
        why = getattr(error, "strerror", None) or error
        message = f"must be a file that can be read ({why}). Check the path."
    return problem_error(Problem(source=source, message=message))
