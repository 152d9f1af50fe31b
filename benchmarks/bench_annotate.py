"""The page on which people label: 100 people with an answer a second each, and others beside.

Run as `make bench`, or with the URL of an empty database in PostgreSQL. The study is a large one:
5,000 items, twenty people an item, 96,000 labels that are there already, a judge that is watched.
Every answer is on the disk before it is said to be saved. Each of 100 clients opens its link, and
sends an answer a second for 20 seconds, asking for further items after every twelve; how long an
answer waits is shown, with the server's processor time, which other programs do not lengthen
(clients take as much), and the load of the machine. Then the same again, while another client tries
1,000 wrong links a second, and while the coordinator's page is asked for every three seconds. Fails
where an answer that was said to be saved is not in the store once, or p99 is above what is wanted.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from statistics import quantiles

import aiohttp

from voirdire.annotation import StudySettings, start_study
from voirdire.records import Item, Message
from voirdire.rubrics import rubric_from_text
from voirdire.store import Answer, open_annotations

N_PEOPLE, N_ITEMS, N_CLOSED, PER_ITEM = 100, 5_000, 4_800, 20
LOAD_S, WRONG_A_SECOND, RELOAD_S = 20, 1_000, 3.0
WANTED_P99_MS = 100.0
RUBRIC = """\
schema: voirdire.rubric/1
name: bench
version: "1"
questions:
  - {id: polite, kind: boolean, text: {en: "Is it polite?"}}
"""


def make_study(folder: Path, url: str) -> dict[str, str]:
    """Start a study with labels and a judge of each item; return the secrets of its links."""
    rng = random.Random(0)
    prompt = (Message(role="user", content="Hello?"),)
    items = [
        Item(id=f"i{k}", prompt=prompt, response="word " * 200, metadata={"topic": k % 20})
        for k in range(N_ITEMS)
    ]
    with open_annotations(url) as store:
        study, links = start_study(
            store,
            rubric=rubric_from_text(RUBRIC),
            items=items,
            annotators=[f"p{k}" for k in range(N_PEOPLE)],
            settings=StudySettings(per_item=PER_ITEM),
        )
        judge, rows = ["item,label"], []
        for item, people in zip(study.order, study.people, strict=True):
            truth = rng.random() < 0.5
            judge.append(f"{item},{str(truth ^ (rng.random() < 0.25)).lower()}")
            for seat in people if len(judge) <= N_CLOSED + 1 else ():
                about = {"seat": seat, "item": item, "question": "polite"}
                name = str(uuid.UUID(int=rng.getrandbits(128), version=4))
                rows.append(Answer(uuid=name, value=truth ^ (rng.random() < 0.1), **about))
        store.insert([(study.key, row) for row in rows])
    (folder / "judge.csv").write_text("\n".join(judge) + "\n")
    return links


def start(folder: Path, url: str) -> tuple[subprocess.Popen[str], str]:
    words = ["annotate", "--store", url, "--judges", str(folder / "judge.csv"), "--port", "0"]
    run = [sys.executable, "-c", "from voirdire.cli import run; run()"]
    process = subprocess.Popen([*run, *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = next(line for line in process.stderr if " annotators, at " in line)
    return process, line.split()[-1]


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


async def coordinate(link: str, end: float) -> int:
    """Open the coordinator's page again and again; count how often."""
    n = 0
    address, _, secret = link.partition("/#")
    jar = aiohttp.CookieJar(unsafe=True)
    headers = {"Origin": address}
    async with aiohttp.ClientSession(address, headers=headers, cookie_jar=jar) as client:
        await client.post("/in", json={"secret": secret})
        while time.perf_counter() < end:
            async with client.get("/study") as answer:
                assert answer.status == 200
                await answer.read()
            n += 1
            await asyncio.sleep(RELOAD_S)
    return n


async def load(links: dict[str, str], beside: str) -> tuple[list[float], set[str], int]:
    waits: list[float] = []
    saved: set[str] = set()
    end = time.perf_counter() + LOAD_S
    other = {
        "": lambda: asyncio.sleep(0, 0),
        "wrong links": lambda: guess(links[""].partition("/#")[0], end),
        "views of the coordinator's page": lambda: coordinate(links[""], end),
    }
    people = [link for name, link in links.items() if name]
    n, *_ = await asyncio.gather(
        other[beside](), *(label(link, k, waits, saved) for k, link in enumerate(people))
    )
    return waits, saved, n


def main() -> int:
    is_missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = sys.argv[1] if len(sys.argv) > 1 else str(folder / "study.db")
        secrets = make_study(folder, url)
        process, address = start(folder, url)
        links = {name: f"{address}/#{secret}" for name, secret in secrets.items()}
        saved: set[str] = set()
        try:
            for beside in ("", "wrong links", "views of the coordinator's page"):
                before = cpu_s(process)
                waits, kept, n = asyncio.run(load(links, beside))
                share = (cpu_s(process) - before) / LOAD_S
                saved |= kept
                p50, p99 = quantiles(waits, n=100)[49], quantiles(waits, n=100)[98]
                told = f", beside {n:,} {beside}" if beside else ""
                print(
                    f"annotate: {len(waits):,} answers of {N_PEOPLE} people in {LOAD_S} s{told}: "
                    f"p50 {p50:.1f} ms, p99 {p99:.1f} ms (wanted {WANTED_P99_MS:.0f}), longest "
                    f"{max(waits):.0f} ms, {share:.0%} of a core, load {os.getloadavg()[0]:.1f}"
                )
                is_missed |= p99 > WANTED_P99_MS and beside != "wrong links"
        finally:
            process.kill()
            process.wait()
        with open_annotations(url) as store:
            stored = [row.uuid for row in store.answers(store.studies()[0])]
        lost = saved - set(stored)
        print(f"annotate: {len(saved):,} saved, {len(stored):,} stored, {len(lost)} lost")
    return int(is_missed or bool(lost) or len(stored) != len(set(stored)))


if __name__ == "__main__":
    sys.exit(main())
