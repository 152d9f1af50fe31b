"""Runs of `voirdire judge` as programs of their own, against a server that counts its calls."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import polars as pl

from voirdire.store import open_store

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
"""
PROGRAM = (sys.executable, "-c", "import voirdire.cli as c; c.run()")
TELLING = (
    sys.executable,
    "-c",
    """
import os, pathlib, threading, voirdire.cli as c, voirdire.cli.progress as p
note = p.ProgressLines.note
def told(self, *args, **more):
    note(self, *args, **more)
    told = pathlib.Path(os.environ["TOLD"])
    mine = told.with_suffix(f".{threading.get_ident()}")
    mine.write_text(str(sum(self._in_flight.values())))
    mine.replace(told)
p.ProgressLines.note = told
c.run()
""",
)
"""The same program, which writes down how many calls it knows to be in flight."""
CONCURRENCY = 8


def probability(item, key):
    """Give every item and question a probability of its own."""
    return round(random.Random(f"{item}/{key}").random(), 6)


def number_of(item):
    """Give the number of an item's name."""
    return int(item.partition("-")[2])


def item_line(number, *, n_more=0):
    """Write an item as JSON that a `FaultyServer` knows by name."""
    response = f"I am item-{number}, judge me." + "." * n_more
    return json.dumps({"id": f"item-{number}", "response": response}) + "\n"


def write_items(path, n_items):
    """Write items to a file."""
    path.write_text("".join(map(item_line, range(n_items))), encoding="utf-8")
    return path


class Programs:
    """Programs that one server judges for, and that end with the test.

    Those that make it start programs of their own, and note each in `_begun`.
    """

    def __init__(self, server):
        self.server = server
        self._begun = []

    def finish(self, process, *, code=0):
        """Wait for a program, and give what it printed on either stream."""
        out, err = process.communicate(timeout=300)
        assert process.returncode == code, out + err
        assert "Traceback" not in err
        return out, err

    def close(self):
        """End what is still running."""
        for process in self._begun:
            process.kill()
            process.communicate()

    @property
    def n_served(self):
        """How many calls the server was asked for."""
        return sum(self.server.served.values())


class Runs(Programs):
    """Programs that judge the same items, one after another or at once.

    Attributes
    ----------
    folder : path
        With the items, their rubric, and where the verdicts go.
    server : FaultyServer
        Who answers and counts.
    store : str or path
        Where the replies are kept.
    """

    def __init__(self, folder, server, *, n_items, store=None):
        super().__init__(server)
        self.folder = folder
        self.n_items = n_items
        self.store = folder / "replies.sqlite" if store is None else store
        self.items = write_items(folder / "items.jsonl", n_items)
        (folder / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
        server.answer = lambda item, key, form: probability(item, key)

    def start(
        self,
        output="out.parquet",
        *options,
        store=None,
        stdin=False,
        stderr=subprocess.PIPE,
        program=PROGRAM,
    ):
        """Start a program, which is killed with the test at the latest."""
        return self._start(
            *("--judge", "openai/test", "--base-url", self.server.url),
            *("--probability", "stated", "--concurrency", CONCURRENCY),
            *("--store", self.store if store is None else store),
            *("-o", output if output == "-" else self.folder / output, *options),
            stdin=stdin,
            stderr=stderr,
            program=program,
        )

    def start_several(self, *, program=PROGRAM):
        """Start a program with the judges that were written."""
        return self._start(
            *("--judge", self.folder / "judges.yaml"),
            *("--store", self.store, "-o", self.folder / "several"),
            program=program,
        )

    def write_judges(self, *names):
        """Write a file of judges that differ in what they are called and in their seed."""
        rows = [
            {"name": name, "model": "openai/test", "base_url": self.server.url, "seed": seed}
            | {"probability": "stated", "concurrency": CONCURRENCY}
            for seed, name in enumerate(names)
        ]
        text = "".join(f"  - {json.dumps(row)}\n" for row in rows)
        path = self.folder / "judges.yaml"
        path.write_text(f"schema: voirdire.judges/1\njudges:\n{text}", encoding="utf-8")

    def _start(self, *options, stdin=False, stderr=subprocess.PIPE, program=PROGRAM):
        items = "-" if stdin else self.items
        words = ["judge", items, "--rubric", self.folder / "tiny.yaml", *options]
        process = subprocess.Popen(
            [*program, *map(str, words)],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=os.environ | {"TOLD": str(self.folder / "told")},
        )
        self._begun.append(process)
        return process

    def give(self, process, *, n_items, n_more=0):
        """Hand items to a program that reads them from standard input, which stays open."""
        lines = [item_line(number, n_more=n_more) for number in range(n_items)]
        process.stdin.write("".join(lines))
        process.stdin.flush()

    def has_served(self, n_calls):
        """Say whether the server was asked for so many."""
        return self.n_served >= n_calls

    def hold(self, n_calls=0):
        """Let the server answer so many calls and keep the others waiting, until `let_go`."""
        self.server.n_allowed = len(self.server.log) + n_calls

    def let_go(self):
        """Let the server answer every call again."""
        self.server.n_allowed = math.inf

    def told_in_flight(self):
        """How many calls a program that is `TELLING` knows to be in flight."""
        path = self.folder / "told"
        return int(path.read_text()) if path.exists() else 0

    def stored(self):
        """Count the attempts that the store holds."""
        with open_store(self.store) as store:
            return sum(sum(1 for _ in store.scan(row.id)) for row in store.judges())

    @property
    def is_written(self):
        """Whether the parts of the file are being put together."""
        parts = self.folder.glob(".out.parquet.*/part-*")
        return any(parts) or (self.folder / "out.parquet").exists()

    def has_begun(self):
        """Whether a program works for the output."""
        return any(self.folder.glob(".out.parquet.*"))

    def left_over(self):
        """List what should be gone when a run is over."""
        return [path.name for path in [*self.folder.glob(".*"), *self.folder.glob("*-lock-*")]]

    def verdicts(self, output="out.parquet"):
        """Read the probabilities that were written."""
        return pl.read_parquet(self.folder / output).pivot(
            "question", index="item", values="probability", maintain_order=True
        )


def expected_verdicts(n_items, *, failed=lambda number: False):
    """Give the table that a run must end in."""
    rows = [
        {
            "item": f"item-{n}",
            **{
                key: None if failed(n) else probability(f"item-{n}", key)
                for key in ("sorry", "rude")
            },
        }
        for n in range(n_items)
    ]
    return pl.DataFrame(rows)


def wait_until(condition, *, seconds=120.0):
    """Wait for something to happen, for so long at most."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.002)


def stopping_line(process):
    """Read on standard error that calls in flight are waited for, after what else is there."""
    while not (line := process.stderr.readline()).startswith("stopping"):
        assert line
    return line


def interrupt(process, name="SIGINT"):
    """Press Ctrl-C, or ask a program to end."""
    os.kill(process.pid, signal.Signals[name])
