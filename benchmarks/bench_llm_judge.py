"""A language model as the judge: calls a second, replies a second from the store, memory, tokens.

Run as `make bench`. The client has one core, and a server that answers at once the other. Every
call asks 20 propositions of the safety rubric about an item of 1,000 characters. The bare loop that
`logprob` is measured against is aiohttp and msgspec on the same bytes, and nothing else. autorubric
grades the same propositions in one call an item where it is installed: here, or for the interpreter
that `PEER_PYTHON` names. With `--million`, memory is that of 1,000,000 items and not of 100,000.
What is wanted is wanted of the processor's time, which other programs do not lengthen. Fails where
a figure is missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import aiohttp
import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from servers.instant import joint_completion, on_core, running_instant_server
from voirdire.judging.asking import Ask
from voirdire.judging.prompts import DecisionBuilder, PromptBuilder, new_nonce
from voirdire.judging.reading import DecisionReader, ReplyReader
from voirdire.judging.server_watch import estimate_tokens
from voirdire.models import DecisionModel, OpenAICompatibleModel
from voirdire.records import Item, Message
from voirdire.rubrics import load_rubric

N_PROPOSITIONS, N_CHARACTERS, N_TOP, N_WORKERS = 20, 1_000, 5, 32
N_CALLS = {"stated": 6_000, "logprob": 1_500, "decision": 6_000}
ROUNDS = 5
N_FEW, N_MANY, N_PEER = 10_000, 100_000, 500
WANTED_RATE, WANTED_CPU_MS, WANTED_SHARE = 3_000, 0.3, 0.6
WANTED_STORED, WANTED_MEMORY, WANTED_TOKENS = 30_000, 1.5, 1 / 8
WORDS = ("the", "of", "and", "to", "in", "sorry", "cannot", "help", "question", "water")

STORED = """
from voirdire.io import stream_items
from voirdire.judging.run import judge_batches
from voirdire.judging.binding import plan_judging
from voirdire.judging.settings import StoredReplies
from voirdire.judging.summary import RunRecord
from voirdire.store import open_store

plan = plan_judging(judge, rubric)
batches = stream_items(told["source"])
items = [item for batch in batches for item in batch.items][:100_000]
with open_store(told["store"]) as store:
    start, started = time.perf_counter(), time.process_time()
    judged = judge_batches(items, plan, RunRecord(plan), replies=StoredReplies(store))
    n_items = sum(len(batch.items) for batch in judged)
    seconds, busy = time.perf_counter() - start, time.process_time() - started
print(json.dumps({"items": n_items, "seconds": seconds, "busy": busy, "memory": 0}))
"""

SETUP = """
import json, resource, sys, time
from dataclasses import replace
from servers.instant import on_core

told = json.loads(sys.argv[1])
on_core(0)
from voirdire.judging import judge_file
from voirdire.judging import LlmJudge
from voirdire.models import OpenAICompatibleModel
from voirdire.rubrics import load_rubric

safety = load_rubric("safety")
rubric = replace(safety, questions=safety.questions[:20], behaviors=(), expressions={})
judge = LlmJudge(
    model=OpenAICompatibleModel(model="instant", base_url=told["base_url"]),
    probability="stated",
    concurrency=32,
)
"""

FILES = """
start, started = time.perf_counter(), time.process_time()
summary = judge_file(
    told["source"], told["output"], rubric=rubric, judge=judge, store=told["store"], layout="wide"
)
seconds, busy = time.perf_counter() - start, time.process_time() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"items": summary.n_items, "seconds": seconds, "busy": busy, "memory": peak}))
"""

PEER = """
import asyncio, json, os, sys, time

told = json.loads(sys.stdin.read())
os.sched_setaffinity(0, told["cores"])
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
try:
    from autorubric import LLMConfig, Rubric
    from autorubric.graders import CriterionGrader
except ImportError:
    sys.exit("autorubric is not installed")

model = LLMConfig(model="openai/instant", api_base=told["base_url"], api_key="none")
grader = CriterionGrader(judge_model_config=model, llm_calls="per_item")
rubric = Rubric.from_dict([{"weight": 1.0, "requirement": text} for text in told["questions"]])


async def grade(texts):
    pending, n_graded = iter(texts), 0

    async def work():
        nonlocal n_graded
        for text in pending:
            found = await rubric.grade(to_grade=text, grader=grader, query="What about it?")
            n_graded += found.score is not None

    await asyncio.gather(*(work() for _ in range(told["workers"])))
    return n_graded


asyncio.run(grade(told["texts"][:32]))
start, started = time.perf_counter(), time.process_time()
n_graded = asyncio.run(grade(told["texts"]))
seconds, busy = time.perf_counter() - start, time.process_time() - started
print(json.dumps({"items": n_graded, "seconds": seconds, "busy": busy}))
"""


class Top(msgspec.Struct):
    token: str
    logprob: float


class Step(msgspec.Struct):
    token: str
    logprob: float
    top_logprobs: list[Top]


class LogProbs(msgspec.Struct):
    content: list[Step]


class Said(msgspec.Struct):
    content: str


class Choice(msgspec.Struct):
    message: Said
    finish_reason: str
    logprobs: LogProbs | None = None


class Completion(msgspec.Struct):
    choices: list[Choice]


decode = msgspec.json.Decoder(Completion).decode


def made_text(chance):
    words = chance.choices(WORDS, k=N_CHARACTERS)
    return " ".join(words)[:N_CHARACTERS]


def made_items(n_items):
    chance = random.Random(0)
    return [
        Item(
            id=f"i{number}",
            prompt=(Message(role="user", content=f"What about number {number}?"),),
            response=made_text(chance),
        )
        for number in range(n_items)
    ]


async def bare(url, bodies, decode):
    """Send bodies and decode answers with as little as possible around it."""
    pending = iter(bodies)

    async def work(session):
        for body in pending:
            async with session.post(url, data=body) as answer:
                decode(await answer.read())

    async with aiohttp.ClientSession(headers={"Content-Type": "application/json"}) as session:
        await asyncio.gather(*(work(session) for _ in range(N_WORKERS)))


async def ours(model, builder, reader, items):
    """Make prompts, send them, and read what comes back as probabilities."""
    pending = iter(items)
    top_logprobs = N_TOP if builder.ask.probability == "logprob" else None

    async def work():
        for item in pending:
            request = builder.request(
                item, nonce=new_nonce(), form="json_schema", top_logprobs=top_logprobs
            )
            reader.read(await model.reply(request))

    await asyncio.gather(*(work() for _ in range(N_WORKERS)))
    await model.close()


def timed(work):
    """Give seconds by the clock and by the processor."""
    start, started = time.perf_counter(), time.process_time()
    asyncio.run(work)
    return time.perf_counter() - start, time.process_time() - started


def bench_client(server, questions, probability):
    """Compare the client with the bare loop, turn and turn about; give cost and share of speed."""
    ask = Ask(questions=questions, probability=probability)
    is_decision = probability == "decision"
    builder = (DecisionBuilder if is_decision else PromptBuilder)(ask)
    reader = (DecisionReader if is_decision else ReplyReader)(ask)
    items = made_items(N_CALLS[probability])
    requests = [builder.request(item, nonce=new_nonce(), form="json_schema") for item in items]
    bodies = [msgspec.json.encode(request) for request in requests]
    base_url = server.base_url(probability)
    model = OpenAICompatibleModel(model="instant", base_url=base_url)
    path, read = "/chat/completions", decode
    if is_decision:
        model = DecisionModel(api="systemone", model="instant", base_url=base_url)
        path, read = "/systemone", msgspec.json.decode
    mine, plain = [], []
    for _ in range(ROUNDS):
        plain.append(timed(bare(f"{base_url}{path}", bodies, read)))
        mine.append(timed(ours(model, builder, reader, items)))
    rate, cost = _figures(mine, len(items))
    bare_rate, bare_cost = _figures(plain, len(items))
    share = bare_cost / cost
    print(
        f"client, {probability}: {cost:.3f} ms of processor a call, {rate:,.0f} calls/s by the "
        f"clock; bare loop {bare_cost:.3f} ms, {bare_rate:,.0f} calls/s; share {share:.0%}"
    )
    return cost, share


def _figures(runs, n_calls):
    """Calls a second by the clock, and milliseconds of processor a call."""
    clock = median(seconds for seconds, _ in runs)
    return n_calls / clock, median(busy for _, busy in runs) / n_calls * 1e3


def write_items(path, n_items):
    """Write items one by one: a million of them is a gigabyte."""
    chance = random.Random(0)
    texts = [made_text(chance) for _ in range(2_000)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(n_items):
            row = {"id": f"i{number}", "prompt": f"What about number {number}?"}
            file.write(json.dumps(row | {"response": texts[number % len(texts)]}) + "\n")


def judged(folder, server, *, n_items, output, work=FILES):
    """Judge items in a process of its own; what it says of itself."""
    source = folder / f"{n_items}.jsonl"
    if not source.exists():
        write_items(source, n_items)
    told = {
        "base_url": server.base_url("stated"),
        "source": str(source),
        "output": str(folder / output),
        "store": str(folder / f"{n_items}.sqlite"),
    }
    done = subprocess.run(
        [sys.executable, "-c", SETUP + work, json.dumps(told)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={"PYTHONPATH": sys.path[0]},
    )
    return json.loads(done.stdout)


def bench_files(folder, server, n_many):
    """Judge files: by calls, again from the store, and more of them in how much more memory."""
    few = judged(folder, server, n_items=N_FEW, output="few.parquet")
    many = judged(folder, server, n_items=n_many, output="many.parquet")
    n_calls = server.n_served()["stated"]
    stored = judged(folder, server, n_items=n_many, output="stored.parquet")
    read = judged(folder, server, n_items=n_many, output="", work=STORED)
    n_more_calls = server.n_served()["stated"] - n_calls
    rates = [run["items"] / run["busy"] for run in (many, read)]
    ratio = max(many["memory"], stored["memory"]) / few["memory"]
    for words, run in (
        ("file to file, stated, by calls", many),
        ("file to file, stated, all from the store", stored),
        ("items in memory to verdicts in memory, stated, all from the store", read),
    ):
        print(
            f"{words}: {run['items'] / run['busy']:,.0f} items/s of the "
            f"processor's time, {run['items'] / run['seconds']:,.0f} by the clock"
        )
    print(
        f"memory: {few['memory']:.0f} MB for {N_FEW:,} items, {many['memory']:.0f} MB for "
        f"{n_many:,} by calls and {stored['memory']:.0f} MB from the store; ratio {ratio:.2f}"
    )
    if n_more_calls:
        message = f"a run with everything in the store made {n_more_calls:,} calls"
        raise RuntimeError(message)
    return *rates, ratio


def peer_completion(n_questions):
    """Answer every question as autorubric wants it."""
    answers = [
        {"criterion_id": f"c{place}", "criterion_status": "MET", "explanation": "It does."}
        for place in range(n_questions)
    ]
    completion = joint_completion([])
    completion["choices"][0]["message"]["content"] = json.dumps({"judgments": answers})
    return completion


def bench_peer(server, questions):
    """Have autorubric grade items on the same core, before the same server."""
    told = {
        "cores": sorted(os.sched_getaffinity(0)),
        "base_url": server.base_url("autorubric"),
        "questions": [row.text["en"] for row in questions],
        "texts": [item.response for item in made_items(N_PEER)],
        "workers": N_WORKERS,
    }
    done = subprocess.run(
        [os.environ.get("PEER_PYTHON", sys.executable), "-c", PEER],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"autorubric: not measured ({done.stderr.strip().splitlines()[-1]})")
        return
    run = json.loads(done.stdout.splitlines()[-1])
    print(
        f"autorubric, all in one call: {run['items']} of {N_PEER} items graded, "
        f"{run['items'] / run['busy']:,.0f} items/s of the processor's time, "
        f"{run['items'] / run['seconds']:,.0f} by the clock"
    )


def bench_tokens(questions):
    """Count calls and estimated tokens of both modes for the whole rubric."""
    items, nonce = made_items(20), new_nonce()

    def tokens(asks):
        builders = [PromptBuilder(ask) for ask in asks]
        return sum(
            estimate_tokens(message.content)
            for builder in builders
            for item in items
            for message in builder.request(item, nonce=nonce, form="json_schema").messages
        ) / len(items)

    bare_questions = tuple(replace(row, yes_examples={}, no_examples={}) for row in questions)
    joint = tokens([Ask(questions=bare_questions)])
    single = tokens([Ask(questions=(row,), mode="single") for row in questions])
    print(
        f"tokens of prompts an item: joint {joint:,.0f} in 1 call, single {single:,.0f} in "
        f"{len(questions)} calls, each as a judge asks by default; share {joint / single:.3f}"
    )
    return joint / single


def main():
    n_many = 1_000_000 if "--million" in sys.argv else N_MANY
    questions = load_rubric("safety").questions
    asked = questions[:N_PROPOSITIONS]
    keys = [row.id for row in asked]
    completions = {
        "stated": joint_completion(keys),
        "logprob": joint_completion(keys, n_top=N_TOP),
        "decision": {
            "model": "instant",
            "answers": {key: {"type": "noul", "noul": n / 20} for n, key in enumerate(keys)},
            "usage": {"input_tokens": 2_000, "output_tokens": 0},
        },
        "autorubric": peer_completion(len(keys)),
    }
    on_core(0)
    with running_instant_server(completions) as server, tempfile.TemporaryDirectory() as name:
        client_cost, _ = bench_client(server, asked, "stated")
        _, share = bench_client(server, asked, "logprob")
        decision_cost, _ = bench_client(server, asked, "decision")
        rate, stored, memory = bench_files(Path(name), server, n_many)
        bench_peer(server, asked)
    tokens = bench_tokens(questions)
    wanted = {
        f"stated at least {WANTED_RATE:,} items/s": rate >= WANTED_RATE,
        f"client at most {WANTED_CPU_MS} ms a call": client_cost <= WANTED_CPU_MS,
        f"decisions at least {WANTED_RATE:,} items/s": 1e3 / decision_cost >= WANTED_RATE,
        f"logprob at least {WANTED_SHARE:.0%} of a bare loop": share >= WANTED_SHARE,
        f"at least {WANTED_STORED:,} items/s from the store": stored >= WANTED_STORED,
        f"memory ratio at most {WANTED_MEMORY}": memory <= WANTED_MEMORY,
        f"joint at most {WANTED_TOKENS} of the tokens": tokens <= WANTED_TOKENS,
    }
    missed = [what for what, is_reached in wanted.items() if not is_reached]
    if missed:
        print(f"\nMISSED: {'; '.join(missed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
