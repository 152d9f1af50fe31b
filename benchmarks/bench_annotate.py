"""The page on which people label: 100 people with an answer a second each, and wrong links beside.

Run as `make bench`. `voirdire annotate` keeps its study in SQLite, and every answer is on the disk
before it is said to be saved. Each of 100 clients opens its link, and sends an answer a second for
20 seconds, asking for further items after every twelve; how long an answer waits is shown, with the
server's processor time, which other programs do not lengthen (clients take as much). Then the same
again, while another client tries 1,000 wrong links a second. Fails where an answer that was
said to be saved is not in the store once, or p99 is above what is wanted.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from statistics import quantiles

import aiohttp

from voirdire.store import open_annotations

N_PEOPLE, N_ITEMS, LOAD_S, WRONG_A_SECOND = 100, 200, 20, 1_000
WANTED_P99_MS = 100.0
RUBRIC = """\
schema: voirdire.rubric/1
name: bench
version: "1"
questions:
  - {id: polite, kind: boolean, text: {en: "Is it polite?"}}
"""


def start(folder: Path) -> tuple[subprocess.Popen[str], list[str]]:
    rows = [{"id": f"i{k}", "prompt": "Hello?", "response": "word " * 200} for k in range(N_ITEMS)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rubric.yaml").write_text(RUBRIC)
    names = ",".join(f"p{k}" for k in range(N_PEOPLE))
    words = ["annotate", "items.jsonl", "--rubric", "rubric.yaml", "--annotators", names]
    run = [sys.executable, "-c", "from voirdire.cli import run; run()"]
    process = subprocess.Popen(
        [*run, *words, "--store", "study.db", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(N_PEOPLE + 1)]
    return process, [line.split()[1] for line in lines[1:]]


def cpu_s(process: subprocess.Popen[str]) -> float:
    """Return the processor time of a process, where the system tells it."""
    path = Path(f"/proc/{process.pid}/stat")
    ticks = path.read_text().rpartition(")")[2].split()[11:13] if path.exists() else ()
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") if ticks else math.nan


async def label(link: str, number: int, waits: list[float], saved: set[str]) -> None:
    """Label as one person, whose second begins where it likes."""
    address, _, secret = link.partition("/#")
    headers = {"Origin": address}
    jar = aiohttp.CookieJar(unsafe=True)  # of an address
    async with aiohttp.ClientSession(address, headers=headers, cookie_jar=jar) as client:
        await client.post("/in", json={"secret": secret})
        await asyncio.sleep(number / N_PEOPLE)
        tasks: list[dict[str, str]] = []
        for k in range(LOAD_S):
            begun = time.perf_counter()
            if k % 12 == 0:
                async with client.get("/label/tasks") as answer:
                    tasks = (await answer.json())["tasks"]
            task = tasks[3 + k % 12]
            row = {"uuid": str(uuid.uuid4()), "task": task["key"], "action": "answer"}
            row |= {"question": "polite", "value": True}
            sent = time.perf_counter()
            async with client.post("/label/answers", json=[row]) as answer:
                saved.update((await answer.json())["saved"])
            waits.append((time.perf_counter() - sent) * 1e3)
            await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - begun)))


async def guess(address: str, end: float) -> int:
    """Try wrong links; count them."""
    n = 0
    async with aiohttp.ClientSession(address, headers={"Origin": address}) as client:
        while time.perf_counter() < end:
            begun = time.perf_counter()
            tries = [client.post("/in", json={"secret": f"x{n + k}"}) for k in range(50)]
            for answer in await asyncio.gather(*tries):
                assert answer.status == 401
                answer.release()
            n += 50
            pause = 50 / WRONG_A_SECOND - (time.perf_counter() - begun)
            await asyncio.sleep(max(0.0, pause))
    return n


async def load(links: list[str], *, wrong: bool) -> tuple[list[float], set[str], int]:
    waits: list[float] = []
    saved: set[str] = set()
    end = time.perf_counter() + LOAD_S
    guessing = guess(links[0].partition("/#")[0], end) if wrong else asyncio.sleep(0, 0)
    people = (label(link, k, waits, saved) for k, link in enumerate(links))
    n, *_ = await asyncio.gather(guessing, *people)
    return waits, saved, n


def main() -> int:
    is_missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process, links = start(folder)
        saved: set[str] = set()
        try:
            for wrong in (False, True):
                before = cpu_s(process)
                waits, kept, n = asyncio.run(load(links, wrong=wrong))
                share = (cpu_s(process) - before) / LOAD_S
                saved |= kept
                p50, p99 = quantiles(waits, n=100)[49], quantiles(waits, n=100)[98]
                beside = f", beside {n / LOAD_S:,.0f} wrong links a second" if wrong else ""
                print(
                    f"annotate: {len(waits):,} answers of {N_PEOPLE} people in {LOAD_S} s{beside}: "
                    f"p50 {p50:.1f} ms, p99 {p99:.1f} ms (wanted {WANTED_P99_MS:.0f}), "
                    f"{share:.0%} of a core"
                )
                is_missed |= p99 > WANTED_P99_MS and not wrong
        finally:
            process.kill()
            process.wait()
        with open_annotations(folder / "study.db") as store:
            stored = [row.uuid for row in store.answers(store.studies()[0])]
        lost = saved - set(stored)
        print(f"annotate: {len(saved):,} saved, {len(stored):,} stored, {len(lost)} lost")
    return int(is_missed or bool(lost) or len(stored) != len(set(stored)))


if __name__ == "__main__":
    sys.exit(main())
