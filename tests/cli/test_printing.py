"""Results on standard output, files whole or not at all."""

import json
import sys
import warnings

import pytest

from alt_tests import alt_tests
from voirdire.cli.printing import Printed, print_json, print_tables, progress
from voirdire.cli.written_files import write_text
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.reporting import ResultTables
from voirdire.studies import Examination


@pytest.fixture(scope="module")
def examination(study):
    results = alt_tests(judges=study["judges"], humans=study["humans"], epsilon=[0, 0.1, 0.2, 0.3])
    return Examination(results=tuple(row for rows in results.values() for row in rows))


def test_json_goes_to_stdout_alone(examination, capsys):
    Printed(as_json=True).print({"examinations": examination.results})

    out, err = capsys.readouterr()
    assert len(json.loads(out)["examinations"]) == 8
    assert out.endswith("}\n")
    assert err == ""


def test_a_name_that_is_no_utf_8_is_printed_and_read_back(capsys):
    print_json({"file": "r\udcffsum\u00e9"})

    assert json.loads(capsys.readouterr().out) == {"file": "r\udcffsum\u00e9"}


def test_a_line_of_text_is_not_broken_and_has_no_markup(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    line = "[bold] :smile: " * 40

    print_tables(line, stream=sys.stderr)

    assert capsys.readouterr() == ("", line + "\n")


def test_without_a_terminal_tables_are_120_wide_and_plain(examination, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)

    print_tables(ResultTables(examination))

    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert 80 < max(map(len, out.splitlines())) <= 120
    assert err == ""


@pytest.mark.parametrize("columns", ["80", "100", "160"])
def test_a_declared_width_is_kept(examination, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)

    print_tables(ResultTables(examination, details=True))

    assert max(map(len, capsys.readouterr().out.splitlines())) <= int(columns)


def test_progress_is_silent_without_a_terminal(capsys):
    with progress("reading"):
        pass

    assert capsys.readouterr() == ("", "")


def test_progress_hides_what_the_result_says_and_nothing_else():
    with progress("examining"):
        warnings.warn("ω is undefined", DegenerateDataWarning, stacklevel=1)
        with pytest.raises(UserWarning, match="something else"):
            warnings.warn("something else", UserWarning, stacklevel=1)

    with pytest.raises(DegenerateDataWarning, match="again"):
        warnings.warn("again", DegenerateDataWarning, stacklevel=1)


# Files ----------------------------------------------------------------------------------------


def test_a_failed_write_keeps_what_was_there(tmp_path, monkeypatch):
    (tmp_path / "out.json").write_text("before")

    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)

    with pytest.raises(
        InputError, match=r"out\.json: cannot be written \(No space left on device\)"
    ):
        write_text(tmp_path / "out.json", "after")
    assert (tmp_path / "out.json").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
