"""A PostgreSQL server of its own for a test run: in a temporary folder, on a socket, no port."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BINARIES = Path("/usr/lib/postgresql")


def _binary(name: str) -> str | None:
    """Find a program; Debian keeps those of the server away from PATH."""
    versions = sorted(
        BINARIES.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]), reverse=True
    )
    return str(versions[0]) if versions else shutil.which(name)


def _as_owner(*command: str) -> None:
    """Run as the user who owns the server's files: it refuses to run as root."""
    prefix = ("runuser", "-u", "postgres", "--") if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*prefix, *command], capture_output=True, text=True, check=False, timeout=60, cwd="/"
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server and give the URL of its database; where there is none, skip (in CI: fail)."""
    initdb, pg_ctl = _binary("initdb"), _binary("pg_ctl")
    if initdb is None or pg_ctl is None:
        reason = "PostgreSQL's server is not installed (Debian: the package `postgresql`)"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    # Not pytest's own folder, which other users cannot enter; a socket's path must be short too.
    folder = Path(tempfile.mkdtemp(prefix="voirdire-pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, user="postgres")
        data = str(folder / "db")
        _as_owner(
            *(initdb, "-A", "trust", "-U", "postgres", "--no-sync", "--locale=C.UTF-8"),
            *("-E", "UTF8", "-D", data),
        )
        options = f"-c listen_addresses='' -k {folder} -c fsync=off"
        log = str(folder / "log")
        _as_owner(pg_ctl, "-w", "-D", data, "-l", log, "-o", options, "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            _as_owner(pg_ctl, "-m", "immediate", "-D", data, "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Give the URL of a running server; its database holds what earlier tests left."""
    with running_postgres() as url:
        yield url
