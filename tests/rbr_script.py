"""The script that converts files of the authors of rule-based rewards, for tests that read them."""

import importlib.util
import json
from pathlib import Path

from voirdire.records import Item, Message

PATH = Path(__file__).resolve().parents[1] / "scripts" / "convert_rbr.py"
_SPEC = importlib.util.spec_from_file_location("convert_rbr", PATH)
SCRIPT = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(SCRIPT)


def gold_rows(shared_dir):
    """Give their labelled completions as they wrote them."""
    path = shared_dir / "data" / "rbr_gold" / "train.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gold_items(shared_dir):
    """Give the same as items."""
    rows, _ = SCRIPT.convert_gold(gold_rows(shared_dir))
    return [
        Item(
            id=row["id"],
            prompt=tuple(Message(**message) for message in row["prompt"]),
            response=row["response"][-1]["content"],
            behavior=row["behavior"],
        )
        for row in rows
    ]


def write_gold(shared_dir, folder):
    """Write items and labels; give both paths."""
    parts = SCRIPT.convert_gold(gold_rows(shared_dir))
    paths = folder / "items.jsonl", folder / "labels.jsonl"
    for path, rows in zip(paths, parts, strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return paths
