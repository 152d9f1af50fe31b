"""The files of a training run: their names, and the content of `run.json`."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.documents import hash_content, open_regular, write_whole
from voirdire.errors import InputError
from voirdire.records.plain import without_nan
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.certification import CertificateState, certified
from voirdire.rewards.training.completion_rows import WHOLE, RowLayout
from voirdire.rewards.training.parquet_part import encode_parquet
from voirdire.rewards.training.step_figures import (
    find_paying_once,
    list_class_names,
    list_paying_by_behavior,
)
from voirdire.rubrics.rubric import question_document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.parquet_part import Column

__all__ = [
    "PARTS",
    "RUN_FILE",
    "RUN_SCHEMA",
    "SESSION_NAME",
    "describe_run",
    "hash_questions",
    "is_part_of_run",
    "make_run_document",
    "name_session",
    "open_folder",
    "read_document",
    "read_layout",
    "write_document",
    "write_part",
]

RUN_SCHEMA = "voirdire.training/2"
RUN_FILE = "run.json"
PARTS = "completions"
"""The folder of the parts in that of the run."""

SESSION_NAME = re.compile(
    r"(?:r(\d{1,9})of(\d{1,9})|p\d{1,12})-(\d{1,15})-[0-9a-f]{1,32}(-counted)?"
)
"""Rank and number of ranks, milliseconds since 1970, and whether it counts its steps itself."""

_FRAMEWORKS = ("trl", "verl", "openrlhf")
_MOST_BYTES = 1 << 24


def make_run_document(
    reward: RewardModel,
    *,
    name: str,
    framework: str,
    judge_fingerprint: str,
) -> dict[str, Any]:
    """Make the content of `run.json`, before anything is judged."""
    rubric, own = reward.rubric, reward.judge
    return {
        "schema": RUN_SCHEMA,
        "name": name,
        "framework": framework,
        "reward": {
            "name": reward.name,
            "content_hash": reward.content_hash,
            "propositions": list(find_paying_once(reward)),
            "behaviors": {
                key: list(value) for key, value in list_paying_by_behavior(reward).items()
            },
            "classes": {key: list(value) for key, value in list_class_names(reward).items()},
        },
        "rubric": {
            "name": rubric.name,
            "version": rubric.version,
            "content_hash": rubric.content_hash,
            "class_rule": rubric.class_rule,
        },
        "judge": {
            "name": own.name,
            "fingerprint": own.fingerprint,
            "judge_fingerprint": judge_fingerprint,
            "threshold": own.threshold,
            "judged": own.judged,
        },
        "certificates": {
            "fingerprint": own.fingerprint,
            "propositions": {
                name: {"state": status.state, "reason": status.reason}
                for name, status in certified(reward).items()
            },
        },
        "propositions": list(reward.columns),
        "question_hashes": hash_questions(reward),
        "questions": {row.id: dict(row.text) for row in rubric.questions if row.kind == "boolean"},
        "is_centered": False,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _list_versions(framework),
    }


def hash_questions(reward: RewardModel) -> dict[str, str]:
    """Hash the question of each column that a reward uses: text, examples, labels and ends."""
    hashes: dict[str, str] = {}
    for row in reward.rubric.questions:
        hashed = hash_content(question_document(row))
        names = (row.id,) if row.kind == "boolean" else row.number_names
        hashes |= {name: hashed for name in names if name in reward.columns}
    return hashes


def open_folder(folder: Path) -> None:
    """Make the folder of a run, for its owner only, or check that an existing one can be used."""
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        is_new = not any(folder.iterdir())
    except FileExistsError:
        msg = f"`record` must be a folder, got the file {str(folder)!r}. Name another."
        raise InputError(msg) from None
    except OSError as error:
        msg = (
            f"`record` must be a folder that can be written to, got {str(folder)!r} "
            f"({error.strerror}). Name another."
        )
        raise InputError(msg) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        msg = (
            f"`record` must be a folder that can be written to, got {str(folder)!r}. Name another."
        )
        raise InputError(msg)
    if not is_new and not (folder / RUN_FILE).exists() and not _is_begun(folder):
        msg = (
            f"`record` must be an empty folder, or that of the same run, got {str(folder)!r}, "
            "which holds other files. Name another."
        )
        raise InputError(msg)


def read_document(folder: Path) -> dict[str, Any]:
    """Read ``run.json``; an `InputError` where it is missing, unreadable, or something else."""
    path = folder / RUN_FILE
    try:
        with open_regular(path) as file:
            content = json.loads(file.read(_MOST_BYTES))
    except FileNotFoundError:
        msg = (
            f"`run` must be the folder of a training run, got {str(folder)!r}, which holds no "
            f"{RUN_FILE}. Name what was given to its reward as record."
        )
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}). Name the folder of a training run."
        raise InputError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{path}: must be JSON, got something else. Take the run's copy from elsewhere."
        raise InputError(msg) from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != RUN_SCHEMA:
        msg = f"{path}: `schema` must be {RUN_SCHEMA!r}, got {shorten(schema)!r}. Name another."
        raise InputError(msg)
    return dict(content)


def write_document(folder: Path, content: Any) -> None:
    """Write `run.json` whole or not at all; an `OSError` where writing fails."""
    plain = without_nan(content)
    text = json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    write_whole(folder / RUN_FILE, data, mode=0o600)  # for its owner only


def read_layout(document: Mapping[str, Any]) -> RowLayout:
    """Read which columns the rows have; a `KeyError` or similar where `run.json` is damaged."""
    classes = document["reward"]["classes"]
    return RowLayout(
        propositions=tuple(map(str, document["propositions"])),
        classes={name: tuple(map(str, names)) for name, names in classes.items()},
    )


def describe_run(document: Mapping[str, Any]) -> dict[str, Any]:
    """Read the fields of `TrainingRun` that `run.json` holds."""
    reward, rubric, judge = document["reward"], document["rubric"], document["judge"]
    return {
        "name": str(document["name"]),
        "framework": str(document["framework"]),
        "reward_name": str(reward["name"]),
        "reward_hash": str(reward["content_hash"]),
        "rubric": f"{rubric['name']} {rubric['version']}",
        "rubric_hash": str(rubric["content_hash"]),
        "class_rule": str(rubric["class_rule"]),
        "judge": str(judge["name"]),
        "fingerprint": str(judge["fingerprint"]),
        "judge_fingerprint": str(judge["judge_fingerprint"]),
        "threshold": threshold_from_cell(judge["threshold"]),
        "judged": str(judge["judged"]),
        "propositions": tuple(map(str, document["propositions"])),
        "paying": {name: tuple(propositions) for name, propositions in reward["behaviors"].items()},
        "question_hashes": dict(document["question_hashes"]),
        "question_texts": dict(document["questions"]),
        "behaviors": tuple(reward["classes"]),
        "created": str(document["created"]),
        "versions": dict(document["versions"]),
        "is_centered": bool(document["is_centered"]),
        "certificates": _read_certificates(document),
    }


def _read_certificates(document: Mapping[str, Any]) -> dict[str, CertificateState]:
    """Read the states of propositions, which hold for no other judge than the reward's own."""
    found = document["certificates"]
    is_other = found["fingerprint"] != document["judge"]["fingerprint"]
    states: dict[str, CertificateState] = {
        name: msgspec.convert(row["state"], CertificateState)
        for name, row in found["propositions"].items()
    }
    return {
        name: "other_judge" if is_other and state in _EXAMINED_STATES else state
        for name, state in states.items()
    }


def is_part_of_run(path: Path, folder: Path) -> bool:
    """Tell whether a file of this name would be read as one of the run's."""
    return path.absolute().parent.resolve() == (folder / PARTS).resolve()


def name_session(*, is_counted: bool, after_ms: int = 0) -> str:
    """Name a new session of this process, which begins later than `after_ms`."""
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    writer = f"p{os.getpid()}"
    if rank.isascii() and rank.isdigit():
        writer = f"r{rank}of{world if world.isascii() and world.isdigit() else 1}"
    began = max(int(time.time() * 1_000), after_ms) + 1  # later than all rows before it
    return f"{writer}-{began}-{secrets.token_hex(3)}{'-counted' if is_counted else ''}"


def write_part(folder: Path, session: str, number: int, rows: Mapping[str, Column]) -> None:
    """Write rows of a session whole, for their owner only; an `OSError` where writing fails."""
    path = folder / PARTS / f"{session}-{number:06d}.parquet"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_whole(path, encode_parquet(rows, whole=WHOLE), mode=0o600)


def _is_begun(folder: Path) -> bool:
    """Tell whether other processes of the same training are making the folder now."""
    return all(path.name.startswith(f".{RUN_FILE}.") for path in folder.iterdir())


def _list_versions(framework: str) -> dict[str, str]:
    names = ["voirdire", *(name for name in _FRAMEWORKS if name == framework.lower())]
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


_EXAMINED_STATES: tuple[CertificateState, ...] = ("passed", "failed", "no_evidence")
"""States that only an examination of the reward's own judge can give."""
