"""Opens and decodes files, and splits their text into lines, records and JSON values.

Every error names its place in the file. `voirdire.io.rows` makes tables and streams of rows from
this text.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import json
import lzma
import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from json import JSONDecodeError
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records import Dropped

if TYPE_CHECKING:
    import polars as pl


class FileRows(NamedTuple):
    """Some rows of a file of JSONL or Parquet, counted from 0."""

    path: Path
    rows: range


Source: TypeAlias = str | Path | IO[bytes]

FORMATS_BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
MAX_ROW_BYTES = 1 << 24
"""Most bytes of a line, or of a record of a delimited file: 16 MiB."""

_TOO_LONG = f"must be at most {MAX_ROW_BYTES >> 20} MiB, got more"
_PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
_PACKED_MARKS = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz"}
_MAX_UNPACKED = 1 << 30
"""Most bytes of a packed file that is held as a whole."""

MAX_COLUMNS = 16_384
_BLOCK_BYTES = 1 << 18
_BOM = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_KINDS = (
    (b"\x1f\x8b", "what gzip wrote. Unpack it, or let its name end in .gz."),
    (b"\xfd7zXZ", "what xz wrote. Unpack it, or let its name end in .xz."),
    (b"PAR1\x15", "Parquet. Declare format='parquet'."),
    (b"PK\x03\x04", "a workbook or a zip archive. Save its table as CSV, or as .xlsx."),
)


# Faults ---------------------------------------------------------------------------------------


class RowError(Exception):
    """A row that cannot be read, while the others can; used only inside of this package.

    Attributes
    ----------
    reason : str
        The rule that the row breaks, in words.
    column : str or None
        The column or key at fault.
    """

    def __init__(self, reason: str, *, column: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column

    def dropped(self, *, source: str, line: int, item: str | None = None) -> Dropped:
        """Make the `Dropped` record with the place of the row."""
        column = None if self.column is None else shorten(self.column)
        return Dropped(reason=self.reason, source=source, line=line, column=column, item=item)


def got(value: object) -> str:
    """Show a refused value, text in quotes."""
    return repr(shorten(value)) if isinstance(value, str) else shorten(value)


def place(source: str, *, line: int | None = None, column: str | None = None) -> str:
    """Write ``source:line: column `x```, with the parts that are known."""
    where = source if line is None else f"{source}:{line}"
    return where if column is None else f"{where}: column `{column}`"


# Bytes ----------------------------------------------------------------------------------------


class DataFile:
    """A file, an open stream or standard input, with its format.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file. A path may end in ``.gz``,
        ``.bz2`` or ``.xz``; that of a workbook may name its sheet, as in ``study.xlsx#Model``.
    format : {"csv", "tsv", "jsonl", "json", "parquet", "xlsx"}, optional
        By default the ending of the name says, JSONL for a stream.
    delimiter : str, optional
        What parts the fields of CSV; by default what its header has most of: the comma, semicolon
        or tab, or the vertical bar where it has none of them.
    encoding : str, optional
        Of text; by default UTF-8, or UTF-16 where its mark says so.
    sheet : str, optional
        Of a workbook; by default the first.
    held : str, optional
        What messages miss in an empty file.
    """

    def __init__(
        self,
        source: Source | FileRows,
        *,
        format: str | None = None,  # noqa: A002  # the word people use for it
        delimiter: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        held: str = "label",
    ) -> None:
        self.rows: range | None = None
        if isinstance(source, FileRows):
            source, self.rows = source
        self.name = _name(source)
        source, named = split_sheet(source)
        sheet = named or sheet
        self.source = source
        self.format = _find_format(source, format)
        self.delimiter = delimiter or ("\t" if self.format == "tsv" else None)
        self.encoding = encoding
        self.sheet = sheet
        self.held = held
        self.parts: Sequence[DataFile] = (self,)  # of a folder, its files
        if not re.fullmatch(r'[^"\r\n\x80-\U0010ffff]', delimiter or ","):
            message = f"`delimiter` must be one ASCII character but the quote, got {delimiter!r}. "
            raise InputError(message + "Write a tab as '\\t'.")
        try:
            "".encode(encoding or "utf-8")
        except (LookupError, ValueError) as error:
            message = f"`encoding` must be one that Python knows, got {encoding!r}. "
            raise InputError(message + "Write 'cp1252'.") from error

    @property
    def stem(self) -> str:
        """Name without folder and endings: ``train.jsonl.gz`` gives ``train``."""
        path = Path(self.name.strip("<>"))  # Python calls standard input <stdin>
        return (path.with_suffix("") if path.suffix.lower() in _PACKED else path).stem

    def fault(self, rule: str, *, line: int | None = None) -> InputError:
        """Make the error of a broken rule, with the place."""
        return InputError(f"{place(self.name, line=line)}: {rule}")

    def no_data(self, found: str) -> NoDataError:
        """Make the error of a file without content."""
        return NoDataError(
            f"{self.name}: must hold at least one {self.held}, got {found}. Fill it."
        )

    def read(self) -> bytes:
        """Return its bytes."""
        return self.join(self._unpack())

    def _unpack(self) -> Iterator[bytes]:
        """Read all blocks, but not more of a packed file than memory should hold."""
        is_plain = isinstance(self.source, str | Path) and Path(self.source).suffix not in _PACKED
        n_bytes = 0
        for block in self.blocks():
            n_bytes += len(block)
            if n_bytes > _MAX_UNPACKED and not is_plain:
                size = _MAX_UNPACKED >> 30
                raise self.fault(f"must unpack to at most {size} GiB, got more. Unpack it first.")
            yield block

    def join(self, blocks: Iterable[bytes]) -> bytes:
        """Join blocks; refuse a file with only white space."""
        data = b"".join(blocks)
        if not data.strip():
            raise self.no_data("an empty file")
        return data

    def blocks(self) -> Iterator[bytes]:
        """Read it in blocks of a useful size, even where it yields little at a time."""
        with _open(self.source) as stream:
            while True:
                pieces: list[bytes] = []
                n_bytes = 0
                while n_bytes < _BLOCK_BYTES and (piece := self._read(stream)):
                    pieces.append(piece)
                    n_bytes += len(piece)
                if not pieces:
                    return
                yield b"".join(pieces)

    def _read(self, stream: IO[bytes]) -> bytes:
        try:
            data: object = stream.read(_BLOCK_BYTES)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            why = shorten(str(error))
            raise self.fault(
                f"must be a file that can be read, got {why!r}. Write it again."
            ) from error
        if not isinstance(data, bytes):
            kind = type(data).__name__
            raise self.fault(f"stream must give bytes, got {kind}. Open it with 'rb'.")
        return data

    def decode(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Decode any encoding to UTF-8 without a byte order mark; refuse other bytes."""
        name, decoder = "", None
        n_bytes = n_lines = 0
        for block in chain(blocks, [b""]):
            is_first = decoder is None
            if decoder is None:
                self.check_kind(block)
                found = "utf-16" if block.startswith(_UTF_16_MARKS) else "utf-8"
                name = codecs.lookup(self.encoding or found).name
                decoder = codecs.getincrementaldecoder(name)()
            pending = decoder.getstate()[0]
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeError as error:
                held, start = pending + block, getattr(error, "start", 0)
                if name == "utf-8":
                    yield held[len(pending) : start]  # the bytes before it are used first
                shown, at = held[start : start + 1].hex(), n_bytes - len(pending) + start
                rule = f"text must be {name.upper()}, got byte 0x{shown} at offset {at}. "
                way_out = "Save it as UTF-8, or declare its `encoding`."
                if name == "utf-8" and (letter := decode_windows_1252(held[start : start + 1])):
                    way_out = f"Save it as UTF-8, or declare encoding='cp1252' for {letter!r}."
                line = n_lines + held.count(b"\n", 0, start) + 1
                raise self.fault(rule + way_out, line=line) from error
            n_bytes += len(block)
            n_lines += block.count(b"\n")
            whole = block if name == "utf-8" else text.encode()
            yield whole.removeprefix(_BOM) if is_first else whole

    def check_kind(self, start: bytes) -> None:
        """Refuse known binary formats by their first bytes, with a message of their own."""
        for mark, kind in _KINDS:
            if start.startswith(mark):
                raise self.fault(f"must be text, got {kind}")


def split_sheet(source: Source) -> tuple[Source, str | None]:
    """Part the path of a workbook from the sheet that it names."""
    path, mark, sheet = str(source).rpartition("#")
    is_sheet = isinstance(source, str | Path) and mark and path.lower().endswith(".xlsx")
    return (path, sheet) if is_sheet and not Path(str(source)).exists() else (source, None)


def _name(source: Source) -> str:
    if isinstance(source, str | Path):
        return "<stdin>" if str(source) == "-" else str(source)
    if not hasattr(source, "read"):
        message = (
            f"`source` must be a path or an open binary file, got {type(source).__name__}. "
            "Read a data frame by `items_from_frame`."
        )
        raise InputError(message)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def _find_format(source: Source, declared: str | None) -> str:
    if not isinstance(source, str | Path) or str(source) == "-":
        return declared or "jsonl"
    path = Path(source)
    suffix = (path.with_suffix("") if path.suffix.lower() in _PACKED else path).suffix.lower()
    found = declared or FORMATS_BY_SUFFIX.get(suffix)
    if found is None:
        with _open(source):
            pass  # a missing file or a folder has an error of its own
        known = ", ".join(FORMATS_BY_SUFFIX)
        message = f"`source` must end in one of {known}, got {str(source)!r}. Declare its `format`."
        raise InputError(message)
    return found


@contextmanager
def _open(source: Source) -> Iterator[IO[bytes]]:
    """Open a path; return standard input and open files as they are, to stay open."""
    if not isinstance(source, str | Path):
        yield source
    elif str(source) == "-":
        start = sys.stdin.buffer.peek(6) if hasattr(sys.stdin.buffer, "peek") else b""
        ending = next((_PACKED_MARKS[mark] for mark in _PACKED_MARKS if start.startswith(mark)), "")
        unpack = _PACKED.get(ending, lambda file: file)
        yield cast("IO[bytes]", unpack(sys.stdin.buffer))
    else:
        try:
            file = Path(source).open("rb")  # noqa: SIM115
        except (OSError, ValueError) as error:
            raise InputError(_explain_unreadable(source, error)) from error
        with file:
            unpack = _PACKED.get(Path(source).suffix.lower(), lambda file: file)
            yield cast("IO[bytes]", unpack(file))


def _explain_unreadable(source: str | Path, error: Exception) -> str:
    name = str(source)
    if re.match(r"[a-z]\w+:/", name):
        way_out = "Download it." if name.startswith("http") else "Copy it, or mount the bucket."
        return f"`source` must be on a disk, got {name!r}. {way_out}"
    if isinstance(error, FileNotFoundError):
        return f"`source` must be a file that exists, got {name!r}. Check the path."
    if isinstance(error, IsADirectoryError):
        return f"`source` must be a file, got the folder {name!r}. Name a file in it."
    why = getattr(error, "strerror", None) or str(error)
    return f"`source` must be a file that can be read, got {name!r} ({why}). Check the path."


def files_of(source: str | Path, *, held: str = "verdicts") -> list[str | Path]:
    """List the files of a folder, sorted by name; return another source itself.

    Hidden files, lists of dropped rows, and stores of replies are left out; of items there may be
    files of all formats, and packed ones. Verdicts of two runs over one file, or of some parts of a
    file, are refused.
    """
    folder = Path(source)
    endings = r"(?:parquet|jsonl|ndjson|csv)"
    if held != "verdicts":
        endings = r"(?:parquet|xlsx|(?:jsonl?|ndjson|csv|tsv)(?:\.gz|\.bz2|\.xz)?)"
    name = re.compile(rf"(?!\.)(?!.*\.dropped\.).*\.{endings}", re.I)
    try:
        if str(source) == "-" or not folder.is_dir():
            return [source]
        found = sorted(x for x in folder.iterdir() if name.fullmatch(x.name) and x.is_file())
    except (OSError, ValueError) as error:
        raise InputError(_explain_unreadable(source, error)) from error
    if not found:
        argument = "judges" if held == "verdicts" else "source"
        msg = (
            f"`{argument}` must be files of {held}, or a folder with some (.parquet, .jsonl, "
            f".csv), got the folder {str(folder)!r} without any. Name the files themselves."
        )
        raise NoDataError(msg)
    if held == "verdicts":
        _check_one_run(found)
    return [*found]


_KEYED = re.compile(r"(.+?)(?:\.(\d+)-of-(\d+))?\.([0-9a-f]{16})\.\w+")
"""What `voirdire judge` calls the verdicts on a file of a folder, or on a part of one."""


def _check_one_run(paths: Sequence[Path]) -> None:
    """Refuse verdicts of two runs on one file, and on some parts of a file only."""
    runs: dict[str, dict[tuple[str, str | None], list[Path]]] = {}
    for path in paths:
        if named := _KEYED.fullmatch(path.name):
            name, _, of, key = named.groups()
            runs.setdefault(name, {}).setdefault((key, of), []).append(path)
    for name, found in runs.items():
        if len(found) > 1:
            (first, *_), (second, *_) = list(found.values())[:2]
            raise InputError(
                f"{first.parent}: must hold the verdicts of one run on {shorten(name)!r}, got "
                f"{first.name!r} and {second.name!r}. Move those of one run away."
            )
        ((_, of), parts) = next(iter(found.items()))
        if of is not None and len(parts) < int(of):
            raise InputError(
                f"{parts[0].parent}: must hold all {of} parts of {shorten(name)!r}, got "
                f"{len(parts)}. Judge the other shards first."
            )


# Lines and records ----------------------------------------------------------------------------


def numbered_lines(
    blocks: Iterable[bytes], *, first: int = 1
) -> Iterator[tuple[int, bytes | None]]:
    """Yield every line without its newline; None for one beyond `MAX_ROW_BYTES`."""
    number = first
    pieces: list[bytes] = []  # of the line that the last block left unfinished
    held = 0
    for block in blocks:
        *whole, rest = block.split(b"\n")
        for line in whole:
            if held or len(line) > MAX_ROW_BYTES:
                pieces.append(line)
                is_long = held + len(line) > MAX_ROW_BYTES
                yield number, None if is_long else b"".join(pieces)
                pieces.clear()
                held = 0
            else:
                yield number, line
            number += 1
        held += len(rest)
        if held > MAX_ROW_BYTES:
            pieces.clear()
        elif rest:
            pieces.append(rest)
    if held:
        yield number, None if held > MAX_ROW_BYTES else b"".join(pieces)


def decode_windows_1252(data: bytes) -> str | None:
    """Decode Windows-1252 text; None for bytes that look like damaged UTF-8 or are not text."""
    beyond = None if data.isascii() else re.search(rb"[\x80-\xff]+", data)
    if beyond is None or data.startswith(_UTF_16_MARKS):
        return None
    with suppress(UnicodeDecodeError):  # some bytes are not letters in Windows-1252 either
        try:
            beyond[0][:4].decode()
        except UnicodeDecodeError as error:
            # damaged UTF-8 has valid letters before the error
            return data.decode("cp1252") if error.start == 0 else None
    return None


def find_delimiter(header: bytes) -> str:
    """Find the delimiter of a header: the most frequent of three, else the bar."""
    bare = re.sub(r'"[^"]*(?:"|$)', "", header.decode())
    most = max(",;\t", key=bare.count)
    return "|" if most not in bare and "|" in bare else most


def check_header(header: Sequence[str], *, file: DataFile, line: int) -> None:
    """Refuse repeated column names, NUL in them, and more columns than a table has."""
    if len(header) > MAX_COLUMNS:
        rule = f"a table must have at most {MAX_COLUMNS:,} columns, got {len(header):,}. "
        raise file.fault(rule + "Write a row for each label.", line=line)
    if any("\0" in name for name in header):
        rule = "a header must hold no NUL, which UTF-16 without its mark has. "
        raise file.fault(rule + "Declare encoding='utf-16-le'.", line=line)
    twice = next((name for name, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        rule = f"column `{shorten(twice)}` must appear once, got it twice. Rename one."
        raise file.fault(rule, line=line)


def csv_rows(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Iterator[list[str]]:
    """Split lines into fields; a cell may be as long as a row."""
    csv.field_size_limit(max(csv.field_size_limit(), 2 * MAX_ROW_BYTES))
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def split_records(
    lines: Iterable[tuple[int, bytes | None]], *, delimiter: str, file: DataFile
) -> Iterator[tuple[int, list[str], int]]:
    """Yield the first line, fields and size of every record; a blank line has no fields."""
    start = size = 0
    texts: list[str] = []  # of the record so far

    def feed() -> Iterator[str]:
        nonlocal start, size
        for number, line in lines:
            start = start or number
            size += MAX_ROW_BYTES + 1 if line is None else len(line) + 1
            if line is None or size > MAX_ROW_BYTES + 1:
                rule = f"row {_TOO_LONG}. Close the quote that is left open, or shorten it."
                raise file.fault(rule, line=start)
            texts.append(f"{line.decode()}\n")
            yield texts[-1]

    mark = re.escape(delimiter)
    cell = rf'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\r\n{mark}]*+)'
    well_quoted = re.compile(rf"(?:{cell}(?:{mark}|\r?\n))*+")
    try:
        for fields in csv_rows(feed(), delimiter, strict=True):
            if any('"' in field for field in fields):  # the reader accepts them anywhere
                _check_quotes("".join(texts), well_quoted, file=file, line=start)
            yield start, fields, size
            start = size = 0
            texts.clear()
    except csv.Error as error:
        if "end of data" in str(error):
            rule = "a quote must be closed, got the end of the file. Close it."
        elif "new-line" in str(error):
            rule = "lines must end in a newline, got carriage returns. Save it again."
        else:
            _check_quotes("".join(texts), well_quoted, file=file, line=start)
            rule = f"row must be well-formed, got {error}. Write it again with a CSV writer."
        raise file.fault(rule, line=start) from error


def _check_quotes(text: str, pattern: re.Pattern[str], *, file: DataFile, line: int) -> None:
    match = pattern.match(text)
    at = match.end() if match else 0
    if at < len(text):
        shown = shorten(text[max(0, at - 20) : at + 20].strip("\n"))
        rule = f"quotes must enclose a whole field, got {shown!r}. "
        way_out = "Quote the whole field and double the quotes in it."
        raise file.fault(rule + way_out, line=line)


# JSON -----------------------------------------------------------------------------------------

_DECODER = msgspec.json.Decoder()


def decode_json(text: bytes | str, *, what: str = "line", column: str | None = None) -> Any:
    """Decode one JSON value, fast where it is strict; `what` names it in a `RowError`."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        whole = text if isinstance(text, str) else text.decode()
    with _json_faults(whole, what=what, column=column):
        value = plain_value(json.loads(whole))
        msgspec.json.encode(value)
    return value


def json_lines(file: DataFile) -> Iterator[tuple[int, Any, int]]:
    """Yield line, value and size of every line that is not blank; a `Dropped` for invalid JSON."""
    rows = file.rows or range(sys.maxsize)
    for number, text in islice(numbered_lines(file.decode(file.blocks())), rows.start, rows.stop):
        try:
            if text is None:
                raise RowError(f"line {_TOO_LONG}")
            if text and not text.isspace():
                yield number, decode_json(text), len(text)
        except RowError as error:
            yield number, error.dropped(source=file.name, line=number), len(text or b"")


def read_document(file: DataFile) -> Any:
    """Decode a whole JSON file; refuse a key that repeats within an object."""
    text = file.join(file.decode([file.read()])).decode()
    try:
        with _json_faults(text, what="text"):
            return json.loads(
                text,
                parse_constant=lambda word: None if word == "NaN" else float(word),
                object_pairs_hook=check_keys,
            )
    except RowError as error:
        why = error.__cause__
        line = f":{why.lineno}:{why.colno}" if isinstance(why, JSONDecodeError) else ""
        raise InputError(f"{file.name}{line}: {error.reason}. Correct it.") from why


def check_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of the pairs of JSON; refuse a key that repeats."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise RowError(f"keys of an object must differ, got {got(twice)} twice")
    return found


@contextmanager
def _json_faults(text: str, *, what: str, column: str | None = None) -> Iterator[None]:
    """Turn errors of a JSON decoder into a `RowError`."""
    try:
        yield
    except JSONDecodeError as error:
        found = text[error.pos : error.pos + 20]
        shown = got(found) if found else "the end"
        at = "" if what == "text" else f" at character {error.pos + 1}"  # the place has the line
        reason = f"{what} must be JSON, got {shown}{at} ({error.msg})"
        raise RowError(reason, column=column) from error
    except UnicodeEncodeError as error:
        reason = "text must be Unicode, got half a surrogate pair"
        raise RowError(reason, column=column) from error
    except (RecursionError, ValueError, OverflowError) as error:
        reason = f"{what} must be JSON of sensible depth and numbers, got {got(str(error))}"
        raise RowError(reason, column=column) from error


def is_unicode(value: Any) -> bool:
    """Whether all text in a value is valid Unicode, without lone surrogates."""
    try:
        msgspec.json.encode(value, enc_hook=str)
    except UnicodeEncodeError:
        return False
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass  # not as JSON, which may hold them
    return True


def plain_value(value: Any) -> Any:
    """Convert a nested value to JSON values; NaN becomes None."""
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)  # another class, such as NumPy's
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: plain_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return None if isinstance(value, float) and math.isnan(value) else value


# Tables that are written --------------------------------------------------------------------------

_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that begin a formula in spreadsheets, in some languages also in full width."""


_PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def escape_cell(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula, and end lines by LF.

    A carriage return within quotes is a new row to some programs. A number is no formula.
    """
    if _PLAIN_NUMBER.fullmatch(text):
        return text
    begins_so = text.startswith(("\t", "\r")) or text.lstrip().startswith(_FORMULA_STARTS)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if begins_so else text


def write_csv(frame: pl.DataFrame) -> str:
    """Write a table as CSV in which no text is a formula; what is null is empty."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    escaped = (pl.col(name).map_elements(escape_cell, return_dtype=pl.String) for name in texts)
    return frame.with_columns(escaped).rename(escape_cell).write_csv()
