"""Files that people give: what is no file is refused."""

import os
import socket
from pathlib import Path

import pytest

from voirdire.documents import NotRegularError, open_regular, write_whole
from voirdire.errors import InputError, RubricError
from voirdire.judging import load_judges, load_local_judge
from voirdire.rewards import load_recipes, load_reward, read_certificate
from voirdire.rubrics import load_rubric

LOADERS = {
    "rubric": load_rubric,
    "judges": load_judges,
    "recipes": lambda path: load_recipes(path, rubric=load_rubric("safety")),
    "reward": load_reward,
    "certificate": read_certificate,
    "local judge": load_local_judge,
}
KINDS = {
    "pipe": "regular file",
    "socket": "regular file|cannot|can be read",
    "folder": "folder|directory",
}


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make what is no file, and give its name; the working folder is its own."""
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    held = []

    def make(kind, name="x.yaml"):
        if kind == "pipe":
            os.mkfifo(name)
        elif kind == "socket":
            held.append(socket.socket(socket.AF_UNIX))
            held[-1].bind(name)
        else:
            Path(name).mkdir()
        return name

    yield make
    for one in held:
        one.close()


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loader", LOADERS)
def test_what_is_no_file_is_refused_and_not_waited_for(make, kind, loader):
    path = make(kind)

    with pytest.raises((InputError, RubricError), match=f"(?i){KINDS[kind]}"):
        LOADERS[loader](path)


def test_only_a_regular_file_is_opened_as_one(make, tmp_path):
    (tmp_path / "whole").write_bytes(b"x")

    with open_regular("whole") as file:
        assert file.read() == b"x"
    with pytest.raises(NotRegularError, match="no regular file"):
        open_regular("/dev/null")
    with pytest.raises(NotRegularError, match="no regular file"):
        open_regular(make("pipe"))
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)


def test_a_file_is_written_through_a_link_and_keeps_its_mode(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")

    write_whole(tmp_path / "link", b"new")

    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path, monkeypatch, step):
    (tmp_path / "x").write_bytes(b"old")

    def refuse(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync" if step == "fsync" else "pathlib.Path.replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "x", b"new")

    assert (tmp_path / "x").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
