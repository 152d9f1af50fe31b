"""The reward server: items a second from store and memory, and what one item waits for its reward.

Run as `make bench`. `voirdire serve` has one core, the client the other. Requests of 256 items of
1,000 characters come on several connections at once, and are answered from the store, with nothing
remembered, and then from memory; the judge is a language model whose replies are all stored. Items
a second are wanted of the processor's time of the server, which other programs do not lengthen;
those by the clock stand beside them. Items that nobody has seen go to the local judge in the same
requests. Requests of one item come one after the other, in turn with the same body to a bare server
of Starlette and msgspec that sends it back: the difference is what a reward costs. 200 clients at
once ask for one remembered item each, of one worker, of the bare server and of two workers, for 20
seconds: wanted are the processor's time that a request takes, a share of the bare server's
requests in as much time, and more requests of two workers than of one. Fails where a figure is
missed. Then requests of one item are sent beside a client that posts bodies of almost 16 MiB one
after the other: how many times as long they take is shown, and nothing wanted.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from servers.instant import joint_completion, on_core, running_instant_server
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import load_rubric

PATHS = os.pathsep.join(filter(None, (sys.path[0], os.environ.get("PYTHONPATH"))))
N_ITEMS, N_CHARACTERS, N_BATCH, N_CONNECTIONS = 10_240, 1_000, 256, 8
ROUNDS, N_ONES = 5, 2_000
N_LARGE, BESIDE_S = 14_500, 10.0
N_CLIENTS, LOAD_S, WARM_S = 200, 20.0, 3.0
WANTED_RATE, WANTED_FRESH, WANTED_REMEMBERED = 5_000, 7_000, 50_000
WANTED_MS, WANTED_CPU_MS, WANTED_SHARE = 3.0, 0.4, 0.6
WORDS = ("the", "of", "and", "to", "in", "sorry", "cannot", "help", "question", "water")
WEIGHTS = {"hard_refuse": {"apology": 1.0, "judgement": -2.0, "ideal": 3.0, "unacceptable": -3.0}}

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

HEAD = (
    b"POST /v1/rewards HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n"
)

SERVE = "from servers.instant import on_core; on_core(0); from voirdire.cli import run; run()"
SERVE_ANYWHERE = """
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, range(os.cpu_count()))
from voirdire.cli import run
run()
"""
ECHO = """
import socket
from servers.instant import on_core
on_core(0)
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

class Asked(msgspec.Struct):
    items: list[dict[str, str]]

async def echo(request):
    asked = msgspec.json.decode(await request.body(), type=Asked)
    return Response(msgspec.json.encode(asked), media_type="application/json")

# with its protocol, without which asyncio leaves the delay of small packets on
listening = socket.socket(proto=socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen(4096)
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
app = Starlette(routes=[Route("/v1/rewards", echo, methods=["POST"])])
config = uvicorn.Config(app, http="h11", log_level="warning", access_log=False)
uvicorn.Server(config).run([listening])
"""


POST = """
import asyncio, sys
from pathlib import Path
from bench_serve import Connection

async def post(url, body):
    connection = await Connection().open(url)
    while True:
        await connection.post(body)
        print(len(body), flush=True)

asyncio.run(post(sys.argv[1], Path(sys.argv[2]).read_bytes()))
"""


def made_bodies(seed=0):
    """Requests of so many items, no two alike."""
    chance = random.Random(seed)
    items = [
        {
            "prompt": f"What about number {number} of {seed}?",
            "response": " ".join(chance.choices(WORDS, k=N_CHARACTERS))[:N_CHARACTERS],
            "behavior": "hard_refuse",
            "group": str(number // 8),
        }
        for number in range(N_ITEMS)
    ]
    batches = [items[first : first + N_BATCH] for first in range(0, N_ITEMS, N_BATCH)]
    ones = [[item] for item in items[:N_ONES]]
    return [
        [json.dumps({"items": batch}).encode() for batch in batches],
        [json.dumps({"items": batch}).encode() for batch in ones],
    ]


class Connection:
    """As little of HTTP as a client on loopback needs, so that the server is what is measured."""

    async def open(self, url):
        host, port = url.removeprefix("http://").split(":")
        self.reader, self.writer = await asyncio.open_connection(host, int(port), limit=2**24)
        return self

    async def post(self, body):
        head = (
            "POST /v1/rewards HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        answer = await self.reader.readexactly(int(_LENGTH.search(head)[1]))
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer)
        return answer

    def close(self):
        self.writer.close()


async def post_all(url, bodies):
    """Send all requests on several connections; give the answers' number of rewards."""
    pending = iter(bodies)
    n_rewards = 0

    async def work():
        nonlocal n_rewards
        connection = await Connection().open(url)
        for body in pending:
            answer = json.loads(await connection.post(body))
            n_rewards += sum(reward is not None for reward in answer["rewards"])
        connection.close()

    await asyncio.gather(*(work() for _ in range(N_CONNECTIONS)))
    return n_rewards


async def waits(url, echo_url, bodies):
    """Milliseconds of single requests to both servers, turn and turn about."""
    connections = [await Connection().open(place) for place in (url, echo_url)]
    found = ([], [])
    for body in bodies:
        for connection, mine in zip(connections, found, strict=True):
            start = time.perf_counter()
            await connection.post(body)
            mine.append((time.perf_counter() - start) * 1e3)
    for connection in connections:
        connection.close()
    return found


def busy_seconds(process):
    """Processor's time that a server has used; by the clock where the system does not say."""
    try:
        folder = Path(f"/proc/{process.pid}/task/{process.pid}")
        workers = (folder / "children").read_text(encoding="ascii").split()
        paths = [Path(f"/proc/{pid}/stat") for pid in (process.pid, *workers)]
        texts = [path.read_text(encoding="ascii") for path in paths]
    except OSError:
        return time.perf_counter()
    fields = [text.rpartition(")")[2].split() for text in texts]
    return sum(int(row[11]) + int(row[12]) for row in fields) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(code, *arguments, **variables):
    """Run a server in a process of its own, which prints its address first."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"} | variables,
    )
    with process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def running_rewards(folder, model_url, *, remembered, workers=1):
    """Serve rewards by a language model; by the local judge where there is no address of one."""
    judge = (
        *("--judge", "vllm/instant", "--base-url", model_url, "--probability", "stated"),
        *("--store", folder / "replies.sqlite"),
    )
    with running(
        SERVE if workers == 1 else SERVE_ANYWHERE,
        *("serve", "--workers", workers, "--reward", folder / "reward.json", "--port", 0),
        *("--remembered", remembered),
        *(judge if model_url else ("--judge", "local", "--other-judge")),
    ) as found:
        yield found


def rate(process, url, several, what):
    """Items a second of the processor's time, as the median of some rounds of requests."""
    rates, clocks = [], []
    for bodies in several:
        start, busy = time.perf_counter(), busy_seconds(process)
        n_rewards = asyncio.run(post_all(url, bodies))
        clocks.append(n_rewards / (time.perf_counter() - start))
        rates.append(n_rewards / (busy_seconds(process) - busy))
        if n_rewards != N_ITEMS:
            message = f"{N_ITEMS - n_rewards} of {N_ITEMS} rewards are missing"
            raise RuntimeError(message)
    print(
        f"{what}: {median(rates):,.0f} items/s of the processor's time, "
        f"{median(clocks):,.0f} by the clock (requests of {N_BATCH}, {N_CONNECTIONS} connections)"
    )
    return median(rates)


def bench_ones(url, ones, what):
    """Compare single requests with a bare server; give the milliseconds that a reward adds."""
    with running(ECHO) as (_, echo_url):
        asyncio.run(waits(url, echo_url, ones[:200]))
        mine, bare = asyncio.run(waits(url, echo_url, ones))
    p50, p99 = median(mine), quantiles(mine, n=100)[98]
    bare_p50, bare_p99 = median(bare), quantiles(bare, n=100)[98]
    print(
        f"one item, {what}: p50 {p50:.2f} ms, p99 {p99:.2f} ms; a bare server sends it back in "
        f"{bare_p50:.2f} and {bare_p99:.2f} ms; ratio of p50 {p50 / bare_p50:.1f}"
    )
    return p50 - bare_p50


def load(url, bodies, *, seconds=LOAD_S):
    """Send single requests on many connections for so long; give how many were answered.

    A loop over sockets takes a tenth of a server's time: one process loads two workers.
    """
    host, port = url.removeprefix("http://").split(":")
    requests = itertools.cycle(HEAD % len(body) + body for body in bodies)
    pending, n_answered = {}, 0
    with selectors.DefaultSelector() as selector:
        for _ in range(N_CLIENTS):
            client = socket.create_connection((host, int(port)))
            selector.register(client, selectors.EVENT_READ)
            client.sendall(next(requests))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for key, _ in selector.select(1):
                client = key.fileobj
                found = pending.pop(client, b"") + client.recv(65_536)
                head = found.find(b"\r\n\r\n")
                if head < 0 or len(found) < head + 4 + int(_LENGTH.search(found)[1]):
                    pending[client] = found
                    continue
                if not found.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(found)
                n_answered += 1
                client.sendall(next(requests))
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return n_answered


def bench_many(process, url, ones, *, workers, what="one item from memory"):
    """Give the processor's milliseconds that a request takes, and how many a second."""
    for _ in range(2 * workers):  # until every worker remembers
        load(url, ones, seconds=WARM_S)
    start, busy = time.perf_counter(), busy_seconds(process)
    n_answered = load(url, ones)
    seconds, busy = time.perf_counter() - start, busy_seconds(process) - busy
    print(
        f"{what}, {N_CLIENTS} clients, {workers} worker(s): "
        f"{busy / n_answered * 1e3:.3f} ms of the processor's time each, "
        f"{n_answered / seconds:,.0f} a second"
    )
    return busy / n_answered * 1e3, n_answered / seconds


async def alone(url, bodies, *, seconds):
    """Milliseconds of single requests, one after the other, for so long."""
    connection = await Connection().open(url)
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        await connection.post(bodies[len(found) % len(bodies)])
        found.append((time.perf_counter() - start) * 1e3)
    connection.close()
    return found


def bench_beside(url, batches, ones, what, *, folder):
    """Compare single requests alone with those beside a client that posts large bodies."""
    quiet = asyncio.run(alone(url, ones, seconds=2.0))
    items = [item for body in batches for item in json.loads(body)["items"]]
    path = folder / "large.json"
    path.write_text(json.dumps({"items": (items * 2)[:N_LARGE]}), encoding="utf-8")
    with running(POST, url, path, PYTHONPATH=f"{PATHS}{os.pathsep}{Path(__file__).parent}") as (
        poster,
        _,
    ):
        beside = asyncio.run(alone(url, ones, seconds=BESIDE_S))
        poster.kill()
        n_large = len(poster.stdout.read().split())
    p50, p99 = median(beside), quantiles(beside, n=100)[98]
    quiet_p50, quiet_p99 = median(quiet), quantiles(quiet, n=100)[98]
    print(
        f"one item, {what}, beside bodies of {path.stat().st_size / 2**20:.1f} MiB ({n_large} in "
        f"{BESIDE_S:g} s): p50 {p50:.2f} ms, p99 {p99:.2f} ms; alone {quiet_p50:.2f} and "
        f"{quiet_p99:.2f} ms; ratios {p50 / quiet_p50:.1f} and {p99 / quiet_p99:.1f}"
    )


def main():
    on_core(1)
    batches, ones = made_bodies()
    keys = load_rubric("safety").propositions
    completions = {"stated": joint_completion(keys)}
    with tempfile.TemporaryDirectory() as name, running_instant_server(completions) as model:
        folder, model_url = Path(name), model.base_url("stated")
        reward_of_weights(WEIGHTS, rubric="safety", name="bench").save(folder / "reward.json")
        with running_rewards(folder, model_url, remembered=0) as (process, url):
            start = time.perf_counter()
            asyncio.run(post_all(url, batches))
            print(f"by calls: {N_ITEMS / (time.perf_counter() - start):,.0f} items/s by the clock")
            stored = rate(process, url, [batches] * ROUNDS, "from the store, nothing remembered")
            stored_ms = bench_ones(url, ones, "from the store")
            bench_beside(url, batches, ones, "from the store", folder=folder)
            n_calls = model.n_served()["stated"]
        with running_rewards(folder, model_url, remembered=100_000) as (process, url):
            asyncio.run(post_all(url, batches))
            remembered = rate(process, url, [batches] * ROUNDS, "from memory")
            memory_ms = bench_ones(url, ones, "from memory")
            many_ms, by_one = bench_many(process, url, ones, workers=1)
            with running(ECHO) as (echo, echo_url):
                bare_ms, _ = bench_many(echo, echo_url, ones, workers=1, what="sent back")
            print(f"one item from memory: {bare_ms / many_ms:.0%} of the requests of a bare server")
            bench_beside(url, batches, ones, "from memory", folder=folder)
            if model.n_served()["stated"] != n_calls:
                message = "a server with everything in the store made calls"
                raise RuntimeError(message)
        with running_rewards(folder, model_url, remembered=100_000, workers=2) as (process, url):
            _, by_two = bench_many(process, url, ones, workers=2)
        with running_rewards(folder, None, remembered=100_000) as (process, url):
            several = [made_bodies(seed)[0] for seed in range(1, 1 + ROUNDS)]
            fresh = rate(process, url, several, "never seen, by the local judge")
    wanted = {
        f"one item of many at most {WANTED_CPU_MS} ms of the processor": many_ms <= WANTED_CPU_MS,
        f"at least {WANTED_SHARE:.0%} of a bare server": bare_ms / many_ms >= WANTED_SHARE,
        f"at least {WANTED_RATE:,} items/s from the store": stored >= WANTED_RATE,
        f"at least {WANTED_REMEMBERED:,} items/s from memory": remembered >= WANTED_REMEMBERED,
        f"at least {WANTED_FRESH:,} items/s never seen": fresh >= WANTED_FRESH,
        "two workers answer more than one": by_two > by_one,
        f"one item from the store at most {WANTED_MS} ms more": stored_ms <= WANTED_MS,
        f"one item from memory at most {WANTED_MS} ms more": memory_ms <= WANTED_MS,
    }
    missed = [what for what, is_reached in wanted.items() if not is_reached]
    if missed:
        print(f"\nMISSED: {'; '.join(missed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
