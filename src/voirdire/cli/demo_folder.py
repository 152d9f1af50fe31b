"""The folder of the demonstration: made once, overwritten again, nobody else's files touched."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from voirdire.cli.written_files import check_report, write_text
from voirdire.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "CERTIFICATE",
    "COMPARISONS",
    "COPIED",
    "EXAMINATION",
    "REPORT",
    "REWARD",
    "REWARDS",
    "REWARD_EXAMINATION",
    "VERDICTS",
    "prepare_folder",
]

COMPARISONS = "comparisons.jsonl"

COPIED = (
    "texts.jsonl",
    "annotations.jsonl",
    "judges.jsonl",
    "responses.jsonl",
    "response_annotations.jsonl",
    COMPARISONS,
    "dataset.json",
    "README.md",
)
VERDICTS, EXAMINATION, REPORT = "verdicts.parquet", "examination.json", "report.html"
CERTIFICATE, REWARD, REWARDS = "certificate.json", "reward.json", "rewards.jsonl"
REWARD_EXAMINATION = "reward_examination.json"
_MADE = (VERDICTS, EXAMINATION, CERTIFICATE, REWARD, REWARDS, REWARD_EXAMINATION)
_DATASET = "voirdire-demo"


def prepare_folder(output: Path) -> None:
    """Make the folder and copy the data into it; refuse one that holds other people's files."""
    _check_folder(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = (
            f"`--output` must be a folder that can be made, got {str(output)!r} ({error.strerror})."
        )
        raise InputError(msg) from error
    check_report(output / REPORT, option="--output")
    for name in COPIED:
        with as_file(files("voirdire") / "data" / "demo" / name) as source:
            write_text(output / name, source.read_text(encoding="utf-8"))


def _check_folder(output: Path) -> None:
    """Refuse a folder that holds files of these names, unless a demo was written there before."""
    with suppress(OSError, ValueError):
        card = json.loads((output / "dataset.json").read_text(encoding="utf-8"))
        if isinstance(card, dict) and card.get("name") == _DATASET:
            return
    for name in (*COPIED, *_MADE):
        if (output / name).exists():
            msg = f"`--output` must not hold other files, got {str(output / name)!r}. Name another."
            raise InputError(msg)
