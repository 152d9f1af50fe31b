"""Several processes at one store, and processes that are killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from store.stored_examples import item
from voirdire.store import open_store

WRITER = Path(__file__).with_name("store_writer.py")


def start_writer(place: str, writer: str, *, first: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WRITER), place, writer, str(first), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def promises(output: str) -> dict[int, str]:
    """Read whole lines only: a killed process may end in the middle of one."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {int(number): kept for number, kept in lines}


def kept_calls(place: str, *, numbers: range) -> dict[int, str]:
    with open_store(place) as store:
        (judge,) = store.judges()
        found = store.get(judge.id, [item(number) for number in numbers])
    assert all(len(calls) == 1 for calls in found.values())
    return {
        number: found[item(number)][0].blob.decode() for number in numbers if item(number) in found
    }


@pytest.mark.slow
def test_four_writers_at_once_lose_nothing_and_change_nothing(shared_place):
    # They open the store at the same time as well: one of them makes the tables.
    writers = [
        start_writer(shared_place, f"w{number}", first=300 * number, count=900)
        for number in range(4)
    ]

    outputs = [writer.communicate(timeout=120) for writer in writers]

    assert [writer.returncode for writer in writers] == [0] * 4, outputs
    kept = kept_calls(shared_place, numbers=range(2_000))
    assert sorted(kept) == list(range(1_800))
    for output, _ in outputs:
        told = promises(output)
        assert len(told) == 900
        assert told == {number: kept[number] for number in told}
    # Overlapping ranges were really written by several.
    assert set(kept.values()) == {"w0", "w1", "w2", "w3"}


@pytest.mark.slow
def test_what_a_killed_writer_was_promised_is_there(shared_place):
    told: dict[int, str] = {}

    for turn, n_lines in enumerate((1, 40, 155, 420, 760)):
        numbers = range(5_000 * turn, 5_000 * (turn + 1))
        with start_writer(shared_place, f"w{turn}", first=numbers[0], count=5_000) as writer:
            lines = [writer.stdout.readline() for _ in range(n_lines)]
            writer.kill()
            rest = writer.stdout.read()
        assert writer.returncode == -9
        told |= promises("".join(lines) + rest)

        # A group of ten is there as a whole or not at all, and the last ones were never put.
        kept = kept_calls(shared_place, numbers=numbers)
        assert n_lines <= len(kept) < 5_000
        assert len(kept) % 10 == 0

    kept = kept_calls(shared_place, numbers=range(25_000))
    assert len(told) >= 1_376
    assert told == {number: kept[number] for number in told}


@pytest.mark.slow
def test_a_store_that_many_open_at_once_is_made_once(shared_place):
    script = (
        "import sys; from voirdire.store import open_store\n"
        "with open_store(sys.argv[1]) as s: print(s.judge_id('sha256:judge', description={}))"
    )

    starters = [
        subprocess.Popen(
            [sys.executable, "-c", script, shared_place],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    outputs = [starter.communicate(timeout=60) for starter in starters]

    assert [starter.returncode for starter in starters] == [0] * 6, outputs
    assert len({output for output, _ in outputs}) == 1
