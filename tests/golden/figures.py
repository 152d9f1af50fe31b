"""Figures of a run, keyed by what they are of: read from JSON and tables, written compactly."""

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

NAMES = (
    *("schema", "question", "judge", "judge_a", "judge_b", "alignment", "epsilon", "epsilon_mode"),
    *("method", "annotator", "control", "coefficient", "weights", "role", "name", "reward"),
    *("behavior", "signal", "against", "kind", "feature", "class", "best", "next", "step"),
    *(
        "policy",
        "subset",
        "column",
        "value",
        "id",
        "item",
        "state",
        "code",
        "n_annotators",
        "label",
    ),
)
"""What may tell the rows of a list apart."""

UNKEPT = {
    *("settings", "sentence", "warnings", "notes", "reasons", "outcome_reasons", "opposed"),
    *("versions", "created", "seconds", "duration_s", "elapsed_s", "items_per_second", "folder"),
    *("source", "path", "output", "text", "examples", "prompt_hashes", "model", "store"),
    *("prompt", "command", "next_command", "loose", "cautions_text", "certificates_text"),
}
"""Words, places, times and what was given: no figures."""

WORD = re.compile(r"[A-Za-z0-9_.+-]{1,32}")


def figures_of(value: Any) -> Any:
    """Keep numbers, truth values and short names; rows of a list are named by what they are of."""
    if isinstance(value, dict):
        found = {name: figures_of(part) for name, part in value.items() if _is_kept(name)}
        return {
            name: part for name, part in found.items() if part is not None or value[name] is None
        }
    if isinstance(value, list | tuple):
        return _rows(list(value))
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, str):
        return value if WORD.fullmatch(value) and not value.startswith("sha256") else None
    return value


def _is_kept(name: str) -> bool:
    return name not in UNKEPT and not name.endswith(
        ("hash", "hashes", "fingerprint", "fingerprints")
    )


def _rows(rows: list[Any]) -> Any:
    if not all(isinstance(row, dict) for row in rows) or not rows:
        return [figures_of(row) for row in rows]
    found: dict[str, Any] = {}
    for row in rows:
        known = [row[name] for name in NAMES if isinstance(row.get(name), str | float | int)]
        # of a label that is a sentence, the first word: texts of data sets stay out of goldens
        words = [(str(value).split() or ["-"])[0] for value in known]
        name = "|".join(words)
        n_before = sum(other.partition("#")[0] == name for other in found)
        found[f"{name}#{n_before + 1}" if n_before else name] = figures_of(row)
    return found


def _rounded(value: float) -> float | str:
    return float(f"{value:.13g}") if math.isfinite(value) else str(value)


def figures_of_table(path: Path) -> dict[str, Any]:
    """Keep the columns, their types, the number of rows, and every number and label of a table."""
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
    elif path.suffix == ".csv":
        frame = pl.read_csv(path, infer_schema_length=None)
    else:
        frame = pl.read_ndjson(path, infer_schema_length=None)
    kept = [
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() or kind == pl.Boolean or name == "label"
    ]
    return {
        "n_rows": frame.height,
        "columns": {name: str(kind) for name, kind in frame.schema.items()},
        "n_null": {name: frame[name].null_count() for name in frame.columns},
        "rows": {name: figures_of(frame[name].to_list()) for name in kept},
    }


def shape_of(path: Path) -> dict[str, Any]:
    """Keep what kind of file it is; of a table the columns and rows, of JSON the keys."""
    if path.suffix in {".parquet", ".csv", ".jsonl"}:
        whole = figures_of_table(path)
        return {name: whole[name] for name in ("n_rows", "columns", "n_null")}
    if path.suffix == ".json":
        return {"keys": sorted(json.loads(path.read_text(encoding="utf-8")))}
    return {"starts": path.read_bytes()[:15].decode("latin-1")}


def figures_of_page(path: Path) -> dict[str, Any]:
    """Keep the language of a page, and which numbers stand in the cells of its tables how often."""
    page = path.read_text(encoding="utf-8")
    cells = re.findall(r"<td[^>]*>\s*([-−+.\d]+%?)\s*</td>", page)
    language = re.search(r'<html lang="([a-zA-Z-]+)"', page)
    return {"language": language and language[1], "numbers": dict(sorted(Counter(cells).items()))}


# Written compactly ----------------------------------------------------------------------------


def packed(value: Any) -> Any:
    """Write rows with the same names as a table: names once, then the values of each row."""
    if not isinstance(value, dict):
        return value
    parts = list(value.values())
    if (
        len(parts) > 1
        and all(isinstance(part, dict) and part for part in parts)
        and len({tuple(part) for part in parts}) == 1
    ):
        names = list(parts[0])
        return {
            "of": names,
            "is": {key: [packed(part[name]) for name in names] for key, part in value.items()},
        }
    return {name: packed(part) for name, part in value.items()}


def unpacked(value: Any) -> Any:
    """Undo `packed`."""
    if not isinstance(value, dict):
        return value
    if set(value) == {"of", "is"}:
        return {
            key: dict(zip(value["of"], map(unpacked, row), strict=True))
            for key, row in value["is"].items()
        }
    return {name: unpacked(part) for name, part in value.items()}


def flat(value: Any, *, path: str = "") -> dict[str, Any]:
    """Give every figure under its whole key."""
    if isinstance(value, dict):
        parts = ((f"{path}/{name}" if path else str(name), part) for name, part in value.items())
    elif isinstance(value, list):
        parts = ((f"{path}[{place}]", part) for place, part in enumerate(value))
    else:
        return {path: value}
    found: dict[str, Any] = {f"{path}/n": len(value)} if isinstance(value, list) else {}
    for name, part in parts:
        found |= flat(part, path=name)
    return found


def read_golden(path: Path) -> Any:
    return unpacked(json.loads(path.read_text(encoding="utf-8")))


def golden_text(value: Any) -> str:
    """Write a golden: one line per row of the outer tables, so that a change can be read."""
    text = json.dumps(packed(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub(r'(\],|\},)(?=")', r"\1\n", text) + "\n"
