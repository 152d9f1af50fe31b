"""The folder of a training run: `run.json`, and the names of the parts with its completions."""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import msgspec

from voirdire._messages import shorten
from voirdire.documents import hash_content, read_document, write_whole
from voirdire.errors import InputError
from voirdire.rewards.certification import certified
from voirdire.rewards.given_weights import write_time
from voirdire.rewards.training.run import RunAbout
from voirdire.rewards.training.step_figures import list_class_names, list_paying_by_behavior
from voirdire.rubrics.rubric import question_document

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.rewards.certification import CertificateState
    from voirdire.rewards.model import RewardModel

RUN_FILE = "run.json"
PARTS = "completions"
"""The folder of the parts in that of the run."""

_SCHEMA = "voirdire.training/3"
_EXAMINED_STATES = ("passed", "failed", "no_evidence")
"""States that only an examination of the reward's own judge can give."""

_FRAMEWORKS = ("trl", "verl", "openrlhf")
_PART = re.compile(
    r"(?P<session>(?:r(?P<rank>\d{1,9})of(?P<world>\d{1,9})|p\d{1,12})-(?P<began>\d{1,15})"
    r"-[0-9a-f]{1,32}(?P<counted>-counted)?)"
    r"-(?P<number>\d{6,12})-(?P<first>\d{1,18})-(?P<last>\d{1,18})-(?P<ended>\d{1,15})\.parquet"
)


@dataclass(frozen=True, kw_only=True)
class PartName:
    """What the name of a part says: who wrote it and when, and what it is about.

    Attributes
    ----------
    session : str
        The process that wrote it, from when it first asked the reward.
    rank : int or None
        Of the process among `world`, in a distributed training.
    began, ended : int
        Milliseconds since 1970: when the session began, and when the part's last call ended.
    is_counted : bool
        Whether the session counts its steps itself, from 0.
    number : int
        Of the part in its session.
    first, last : int
        The lowest and the highest step in it.
    """

    session: str
    rank: int | None
    world: int
    began: int
    is_counted: bool
    number: int
    first: int
    last: int
    ended: int

    @staticmethod
    def read(name: str) -> PartName | None:
        """Read the name of a file; None where it is of no part."""
        found = _PART.fullmatch(name)
        if found is None:
            return None
        rank, world = found["rank"], found["world"]
        return PartName(
            session=found["session"],
            rank=None if rank is None else int(rank),
            world=int(world or 1),
            is_counted=found["counted"] is not None,
            **{name: int(found[name]) for name in ("began", "number", "first", "last", "ended")},
        )


def name_session(*, is_counted: bool, after_ms: int = 0) -> str:
    """Name a new session of this process, which begins later than `after_ms`."""
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    writer = f"p{os.getpid()}"
    if rank.isascii() and rank.isdigit():
        writer = f"r{rank}of{world if world.isascii() and world.isdigit() else 1}"
    began = max(int(time.time() * 1_000), after_ms) + 1  # later than all rows before it
    return f"{writer}-{began}-{secrets.token_hex(3)}{'-counted' if is_counted else ''}"


# run.json ---------------------------------------------------------------------------------------


def describe_run(
    reward: RewardModel, *, name: str, framework: str, judge_fingerprint: str
) -> RunAbout:
    """Describe a run before anything is judged."""
    rubric, own = reward.rubric, reward.judge
    framework_names = [framework.lower()] if framework.lower() in _FRAMEWORKS else []
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in ("voirdire", *framework_names):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return RunAbout(
        name=name,
        framework=framework,
        reward_name=reward.name,
        reward_hash=reward.content_hash,
        rubric=f"{rubric.name} {rubric.version}",
        rubric_hash=rubric.content_hash,
        judge=own.name,
        fingerprint=own.fingerprint,
        judge_fingerprint=judge_fingerprint,
        threshold=own.threshold,
        judged=own.judged,
        propositions=reward.columns,
        classes=list_class_names(reward),
        paying=list_paying_by_behavior(reward),
        question_hashes=hash_questions(reward),
        question_texts={
            row.id: {str(x): y for x, y in row.text.items()}
            for row in rubric.questions
            if row.kind == "boolean"
        },
        created=write_time(),
        versions=versions,
        is_centered=False,
        certificates=read_states(reward, fingerprint=own.fingerprint),
    )


def read_states(reward: RewardModel, *, fingerprint: str) -> dict[str, CertificateState]:
    """Read what certificates say of the judge with a fingerprint: of another one, nothing."""
    is_other = fingerprint != reward.judge.fingerprint
    return {
        name: "other_judge" if is_other and row.state in _EXAMINED_STATES else row.state
        for name, row in certified(reward).items()
    }


def hash_questions(reward: RewardModel) -> dict[str, str]:
    """Hash the question of each column that a reward uses: text, examples, labels and ends."""
    hashes: dict[str, str] = {}
    for row in reward.rubric.questions:
        hashed = hash_content(question_document(row))
        names = (row.id,) if row.kind == "boolean" else row.number_names
        hashes |= {name: hashed for name in names if name in reward.columns}
    return hashes


def read_about(folder: Path) -> RunAbout:
    """Read `run.json`; an `InputError` where it is missing, unreadable, or something else."""
    path = folder / RUN_FILE
    if not path.exists():
        msg = (
            f"`run` must be the folder of a training run, got {str(folder)!r}, which holds no "
            f"{RUN_FILE}. Name what was given to its reward as record."
        )
        raise InputError(msg)
    document = read_document(path, what="the record of a training run", layout="json")
    if (schema := document.get(("schema",))) != _SCHEMA:
        rule = f"`schema` must be {_SCHEMA!r}, got {shorten(schema)!r}. Name another."
        raise document.error_at(("schema",), rule)
    try:
        return msgspec.convert(document.value, RunAbout)
    except msgspec.ValidationError as error:
        rule = f"must say what the run is about, got something else ({shorten(str(error))})."
        raise document.error_at((), rule) from error


def write_about(folder: Path, about: RunAbout) -> None:
    """Write `run.json` whole or not at all, for its owner only."""
    document = {"schema": _SCHEMA} | msgspec.to_builtins(about)
    data = msgspec.json.format(msgspec.json.encode(document), indent=1)
    write_whole(folder / RUN_FILE, data + b"\n", mode=0o600)


# The folder -------------------------------------------------------------------------------------


def open_folder(folder: Path, new: RunAbout) -> RunAbout:
    """Make the folder of a run, for its owner only, or go on with that of the same run."""
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        # other processes of the same training may be making it now
        others = [x.name for x in folder.iterdir() if not x.name.startswith(f".{RUN_FILE}.")]
        if others and not (folder / RUN_FILE).exists():
            msg = (
                f"`record` must be an empty folder, or that of the same run, got {str(folder)!r}, "
                "which holds other files. Name another."
            )
            raise InputError(msg)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
        if not others:
            write_about(folder, new)
    except FileExistsError:
        msg = f"`record` must be a folder, got the file {str(folder)!r}. Name another."
        raise InputError(msg) from None
    except OSError as error:
        msg = (
            f"`record` must be a folder that can be written to, got {str(folder)!r} "
            f"({error.strerror}). Name another."
        )
        raise InputError(msg) from error
    about = read_about(folder)
    if (about.reward_hash, about.name) == (new.reward_hash, new.name):
        return about
    what = f"a run under the name {shorten(about.name)!r}"
    if about.reward_hash != new.reward_hash:
        what = f"a run of the reward {shorten(about.reward_name)!r} with other content"
    msg = (
        f"`record` must be a folder of its own, or that of this reward ({shorten(new.name)!r}), "
        f"got {str(folder)!r}, which holds {what}. Name another."
    )
    raise InputError(msg)
