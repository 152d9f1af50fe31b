"""Several processes at one store, and processes that are killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from store.stored_calls import item
from voirdire.errors import InputError
from voirdire.store import open_store

pytestmark = pytest.mark.ci


def start(*arguments):
    program = [sys.executable, str(Path(__file__).with_name("stored_calls.py"))]
    return subprocess.Popen([*program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def promises(output):
    """Read whole lines only: a killed process may end in the middle of one."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {int(number): kept for number, kept in lines}


def kept_calls(place, numbers):
    with open_store(place) as store:
        found = store.get(1, [item(number) for number in numbers])
    return {n: found[item(n)]["joint"][0].decode() for n in numbers if item(n) in found}


def test_four_writers_at_once_lose_nothing_and_change_nothing(place):
    # They open the store at the same time as well: one of them makes the tables.
    writers = [start(place, "put", f"w{k}", 300 * k, 900) for k in range(4)]

    told = [promises(writer.communicate(timeout=120)[0]) for writer in writers]

    assert [writer.returncode for writer in writers] == [0] * 4
    kept = kept_calls(place, range(2_000))
    assert sorted(kept) == list(range(1_800))
    assert [len(each) for each in told] == [900] * 4
    assert all(each == {number: kept[number] for number in each} for each in told)


def test_what_a_killed_writer_was_promised_is_there(place):
    for turn, n_lines in enumerate((1, 155, 760)):
        numbers = range(5_000 * turn, 5_000 * (turn + 1))
        with start(place, "put", f"w{turn}", numbers[0], 5_000) as writer:
            output = "".join(writer.stdout.readline() for _ in range(n_lines))
            writer.kill()
            told = promises(output + writer.stdout.read())

        # A group of ten is there as a whole or not at all, and the last ones were never put.
        kept = kept_calls(place, numbers)
        assert n_lines <= len(kept) < 5_000
        assert len(kept) % 10 == 0
        assert told == {number: kept[number] for number in told}


def test_a_lock_keeps_other_runs_out_until_its_process_is_killed(place):
    with open_store(place) as store, start(place, "lock", "judge, output") as other:
        assert other.stdout.readline() == "held\n"

        with pytest.raises(InputError, match=r"another run .* or name another output"):
            store.lock("judge, output").__enter__()
        with store.lock("judge, another output"):
            other.kill()
        with store.lock("judge, output"), pytest.raises(InputError, match="another run"):
            store.lock("judge, output").__enter__()
        with store.lock("judge, output"):
            pass
