"""The files of a training run: what they are called, and what `run.json` says."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.documents import open_regular, write_whole
from voirdire.errors import InputError
from voirdire.judging.fingerprint import hash_content
from voirdire.records.plain import without_nan
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.certification import CertificateState, certified
from voirdire.rewards.training.completion_rows import WHOLE, RowLayout
from voirdire.rewards.training.parquet_part import parquet_bytes
from voirdire.rewards.training.run import CertifiedExamination, PropositionCertificate
from voirdire.rewards.training.step_figures import asked_of, class_names, used_propositions
from voirdire.rubrics.rubric import question_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from voirdire.rewards.certification import CertificateStatus
    from voirdire.rewards.model import RewardModel
    from voirdire.rewards.training.parquet_part import Column

__all__ = [
    "OLD_SCHEMA",
    "PARTS",
    "REFERENCE_FILE",
    "RUN_FILE",
    "RUN_SCHEMA",
    "SESSION_NAME",
    "describe_run",
    "is_part_of_run",
    "layout_of",
    "new_session",
    "open_folder",
    "question_hashes",
    "read_document",
    "read_json",
    "run_document",
    "with_nan",
    "write_document",
    "write_part",
]

RUN_SCHEMA, OLD_SCHEMA = "voirdire.training/2", "voirdire.training/1"
RUN_FILE, REFERENCE_FILE = "run.json", "reference.json"
PARTS = "completions"
"""The folder of the parts in that of the run."""

SESSION_NAME = re.compile(
    r"(?:r(\d{1,9})of(\d{1,9})|p\d{1,12})-(\d{1,15})-[0-9a-f]{1,32}(-counted)?"
)
"""Rank and number of ranks, milliseconds since 1970, and whether it counts its steps itself."""

_FRAMEWORKS = ("trl", "verl", "openrlhf")
_MOST_BYTES = 1 << 24


def run_document(
    reward: RewardModel,
    *,
    name: str,
    framework: str,
    judge_fingerprint: str,
) -> dict[str, Any]:
    """Say what a run is about, before anything is judged."""
    rubric, own = reward.rubric, reward.judge
    return {
        "schema": RUN_SCHEMA,
        "name": name,
        "framework": framework,
        "reward": {
            "name": reward.name,
            "content_hash": reward.content_hash,
            "propositions": list(used_propositions(reward)),
            "behaviors": {key: list(value) for key, value in asked_of(reward).items()},
            "classes": {key: list(value) for key, value in class_names(reward).items()},
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
        "certificates": certificates_document(reward),
        "propositions": list(reward.columns),
        "question_hashes": question_hashes(reward),
        "questions": {row.id: dict(row.text) for row in rubric.questions if row.kind == "boolean"},
        "is_centered": False,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(framework),
        "reference": None,
    }


def question_hashes(reward: RewardModel) -> dict[str, str]:
    """Hash what is asked for each column that a reward takes: text, examples, labels and ends."""
    hashes: dict[str, str] = {}
    for row in reward.rubric.questions:
        hashed = hash_content(question_document(row))
        names = (row.id,) if row.kind == "boolean" else row.number_names
        hashes |= {name: hashed for name in names if name in reward.columns}
    return hashes


def open_folder(folder: Path) -> None:
    """Make the folder of a run, for its owner only, or check the one that is there.

    Raises
    ------
    InputError
        If it is a file, holds something else, or cannot be written to.
    """
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
    """Read ``run.json``.

    Raises
    ------
    InputError
        If it is not there, cannot be read, or is of something else.
    """
    path = folder / RUN_FILE
    try:
        found = read_json(path)
    except FileNotFoundError:
        msg = (
            f"`run` must be the folder of a training run, got {str(folder)!r}, which holds no "
            f"{RUN_FILE}. Train with `record=` to get one."
        )
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}). Name the folder of a training run."
        raise InputError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{path}: must be JSON, got something else. Take the run's copy from elsewhere."
        raise InputError(msg) from error
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema not in (RUN_SCHEMA, OLD_SCHEMA):
        msg = f"{path}: `schema` must be {RUN_SCHEMA!r}, got {shorten(schema)!r}. Name another."
        raise InputError(msg)
    return dict(found)


def read_json(path: Path) -> Any:
    """Read a JSON file; where it is none, an `OSError`, a `ValueError` or a `RecursionError`."""
    with open_regular(path) as file:
        return json.loads(file.read(_MOST_BYTES))


def with_nan(content: Any) -> Any:
    """Undo `without_nan`: None is nan again, all the way down."""
    if isinstance(content, dict):
        return {key: with_nan(value) for key, value in content.items()}
    if isinstance(content, list):
        return [with_nan(value) for value in content]
    return math.nan if content is None else content


def write_document(folder: Path, name: str, content: Any) -> None:
    """Write a JSON file of the run whole or not at all; an `OSError` where the disk refuses."""
    plain = without_nan(content)
    text = json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    write_whole(folder / name, data, mode=0o600)  # for its owner only


def layout_of(document: Mapping[str, Any]) -> RowLayout:
    """Say which columns the rows of a run have; a `KeyError` or so where `run.json` is damaged."""
    classes = document["reward"]["classes"]
    return RowLayout(
        propositions=tuple(map(str, document["propositions"])),
        classes={name: tuple(map(str, names)) for name, names in classes.items()},
    )


def describe_run(document: Mapping[str, Any]) -> dict[str, Any]:
    """Take what `run.json` says of the run as it is."""
    reward, rubric, judge = document["reward"], document["rubric"], document["judge"]
    list(reward["propositions"]), document["reference"]  # needed later
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
        "paying": {name: tuple(asked) for name, asked in reward["behaviors"].items()},
        "question_hashes": dict(document["question_hashes"]),
        "question_texts": dict(document["questions"]),
        "behaviors": tuple(reward["classes"]),
        "created": str(document["created"]),
        "versions": dict(document["versions"]),
        "is_centered": bool(document["is_centered"]),
        "certificates": read_certificates(
            document.get("certificates"), fingerprint=str(judge["fingerprint"])
        ),
    }


def is_part_of_run(path: Path, folder: Path) -> bool:
    """Tell whether a file, written or not, would be read as one of the run's."""
    parent = path.absolute().parent.resolve()
    is_old = path.name.startswith(("steps-", "completions-")) and path.suffix == ".jsonl"
    return parent == (folder / PARTS).resolve() or (parent == folder.resolve() and is_old)


def new_session(*, is_counted: bool, after_ms: int = 0) -> str:
    """Name a session of this process; it began later than `after_ms`."""
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    writer = f"p{os.getpid()}"
    if rank.isascii() and rank.isdigit():
        writer = f"r{rank}of{world if world.isascii() and world.isdigit() else 1}"
    began = max(int(time.time() * 1_000), after_ms) + 1  # later than all rows before it
    return f"{writer}-{began}-{secrets.token_hex(3)}{'-counted' if is_counted else ''}"


def write_part(folder: Path, session: str, number: int, rows: Mapping[str, Column]) -> None:
    """Write rows of a session whole, for their owner only; an `OSError` where the disk refuses."""
    path = folder / PARTS / f"{session}-{number:06d}.parquet"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_whole(path, parquet_bytes(rows, whole=WHOLE), mode=0o600)


def _is_begun(folder: Path) -> bool:
    """Tell whether other processes of the same training are just making the folder."""
    return all(path.name.startswith(f".{RUN_FILE}.") for path in folder.iterdir())


def _versions(framework: str) -> dict[str, str]:
    names = ["voirdire", *(name for name in _FRAMEWORKS if name == framework.lower())]
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


# Certificates ------------------------------------------------------------------------------------

_FOUND: tuple[CertificateState, ...] = ("passed", "failed", "no_evidence")
"""What only an examination of the reward's own judge can say."""
_OTHER = "examined for another judge or other settings of it than judged this run"
_MOST_EXAMINATIONS = 10


def certificates_document(reward: RewardModel) -> dict[str, Any]:
    """Say for `run.json` what the certificates of a reward are about, and what they say.

    Parameters
    ----------
    reward : RewardModel
        What pays.

    Returns
    -------
    dict
        `fingerprint`, of the verdicts that certificates are about; `propositions`, by id the
        fields of `PropositionCertificate`.
    """
    return {
        "fingerprint": reward.judge.fingerprint,
        "propositions": {
            name: {
                "state": status.state,
                "reason": status.reason,
                "certificate": status.certificate,
                "examinations": [asdict(row) for row in _examinations(reward, status)],
            }
            for name, status in certified(reward).items()
        },
    }


def read_certificates(
    found: Mapping[str, Any] | None, *, fingerprint: str
) -> dict[str, PropositionCertificate] | None:
    """Take what `certificates_document` gave.

    Parameters
    ----------
    found : mapping or None
        As `run.json` has it; None in a run that an earlier version began.
    fingerprint : str
        Of the verdicts of the run.

    Returns
    -------
    dict of str to PropositionCertificate, or None
        By proposition; None where it was not recorded.

    Notes
    -----
    Certificates say nothing of another judge than the reward's own, whatever they say of that one.
    Anything else than what was written raises what reading it raises.
    """
    if found is None:
        return None
    is_other = str(found["fingerprint"]) != fingerprint
    rows = {
        name: msgspec.convert(
            row | {"examinations": with_nan(row["examinations"])}, PropositionCertificate
        )
        for name, row in found["propositions"].items()
    }
    return {
        name: replace(row, state="other_judge", reason=_OTHER, examinations=())
        if is_other and row.state in _FOUND
        else row
        for name, row in rows.items()
    }


def _examinations(reward: RewardModel, status: CertificateStatus) -> Iterable[CertifiedExamination]:
    """Find what the state of a proposition rests on."""
    if status.state not in _FOUND:
        return
    certificate = next(row for row in reward.certificates if row.content_hash == status.certificate)
    own = {
        name
        for name, about in certificate.judges.items()
        if about.get("fingerprint") == reward.judge.fingerprint
    }
    rows = [
        row
        for row in certificate.examinations
        if row.get("question") == status.proposition and row.get("judge") in own
    ]
    yield from map(_examination, rows[:_MOST_EXAMINATIONS])


def _examination(row: Mapping[str, Any]) -> CertifiedExamination:
    return CertifiedExamination(
        epsilon=_number(row.get("epsilon")),
        alignment=shorten(str(row.get("alignment"))),
        outcome=shorten(str(row.get("outcome"))),
        winning_rate=_number(row.get("winning_rate")),
        advantage_probability=_number(row.get("advantage_probability")),
        n_items=_count(row.get("n_items")),
        n_annotators=_count(row.get("n_annotators")),
    )


def _number(value: Any) -> float:
    """Give a figure; nan where there is none: a certificate may be a stranger's."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.nan


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
