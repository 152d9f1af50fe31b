"""Files that commands write: whole or not at all, and never over somebody's data."""

import os
from pathlib import Path

import pytest

from voirdire.cli.written_files import (
    check_written,
    write_bytes,
    write_text,
)
from voirdire.errors import InputError

REPORT = '<!doctype html>\n<meta name="generator" content="voirdire 0.1.0">\n'


def test_a_new_file_has_the_mode_that_the_mask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new.txt", "ω")
    finally:
        os.umask(before)

    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "ω"
    assert (tmp_path / "new.txt").stat().st_mode & 0o777 == 0o640


def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text("old")
    path.chmod(0o604)

    write_bytes(path, b"new")

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o604


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)

    write_text(link, "new")

    assert link.is_symlink()
    assert target.read_text() == "new"


def test_nobodys_link_in_the_way_is_followed(tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (tmp_path / ".page.html.partial").symlink_to(victim)

    write_text(tmp_path / "page.html", REPORT)

    assert victim.read_text() == "mine"


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_a_pipe_a_device_or_a_folder_is_never_replaced(tmp_path, make):
    path = tmp_path / "odd.html"
    make(path)

    for kind in ("report", "certificate", "calibration", "card"):
        with pytest.raises(InputError, match=r"must be a (regular )?file"):
            check_written({kind: path})
    with pytest.raises(InputError, match=r"must be a (regular )?file"):
        write_text(path, "x")
    assert not path.is_file()


def test_the_null_device_stays_one():
    with pytest.raises(InputError, match="regular file"):
        write_text(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "<!doctype html><p>my own page", "{}"])
def test_only_a_report_is_replaced_by_a_report(tmp_path, text):
    path = tmp_path / "report.html"
    path.write_text(text)

    with pytest.raises(InputError, match="no HTML page of voirdire"):
        check_written({"report": path})


def test_what_we_wrote_and_what_is_empty_may_be_replaced(tmp_path):
    page, empty = tmp_path / "r.html", tmp_path / "e.html"
    page.write_text(REPORT)
    empty.touch()

    check_written({"report": page})
    check_written({"report": empty})
    check_written({"report": tmp_path / "none.html"})
    check_written({"report": None})


def test_two_results_want_two_files(tmp_path):
    check_written({"report": tmp_path / "a", "certificate": tmp_path / "b"})
    check_written({"report": None, "certificate": None})
    with pytest.raises(InputError, match="`--report` and `--certificate` must be different"):
        check_written({"report": tmp_path / "a", "certificate": tmp_path / "x" / ".." / "a"})


def test_what_fails_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "none" / "x.txt", "x")
    assert list(tmp_path.iterdir()) == []
