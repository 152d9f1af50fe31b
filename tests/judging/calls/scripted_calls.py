"""A model of a few lines that is asked about numbered items, in time that passes by itself."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import polars as pl

from voirdire.judging import LlmJudge, judge_file, judge_items
from voirdire.models import Capabilities
from voirdire.records import Item, Reply
from voirdire.rubrics import rubric_from_text

RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: one
version: "1"
questions:
  - {id: yes, kind: boolean, text: "Is it so?"}
behaviors:
  any: {demands: {yes: required}, classes: {good: all(required), poor: otherwise}}
"""
)
GOOD = '{"yes": 0.75}'
VALUE = 0.75


def now():
    return asyncio.get_running_loop().time()


def number_of(request):
    """Read off which item a request is about."""
    return int(request.messages[-1].content.partition("item-")[2].split()[0])


def n_characters(request):
    """Count what a request is charged for before anybody knows its tokens."""
    return sum(len(message.content) for message in request.messages) + len(request.schema)


class Model:
    """Replies by a function of how many requests came before.

    Attributes
    ----------
    requests : list of ChatRequest
        The newest last; `times` says when each came.
    most_inside : int
        How many were in flight at once.
    """

    name = "model"

    def __init__(self, answer, *, forms=("json_schema", "json_object", "text"), delay_s=1.0):
        self.answer = answer
        self.capabilities = Capabilities(forms=forms)
        self.delay_s = delay_s
        self.settings = {}
        self.requests, self.times = [], []
        self.n_inside = self.most_inside = 0

    @property
    def items(self):
        return [number_of(request) for request in self.requests]

    async def reply(self, request):
        n = len(self.requests)
        self.requests.append(request)
        self.times.append(now())
        self.n_inside += 1
        self.most_inside = max(self.most_inside, self.n_inside)
        try:
            await asyncio.sleep(self.delay_s)
            said = self.answer(n)
            if asyncio.iscoroutine(said):
                said = await said
        finally:
            self.n_inside -= 1
        return reply_of(said, request)

    async def close(self):
        pass


def reply_of(said, request):
    """Make a reply of what was said, or raise it."""
    if isinstance(said, Exception):
        raise said
    return said if isinstance(said, Reply) else Reply(text=said, form=request.form)


def script(*said):
    """Say one thing after another, the last of them for ever."""
    return lambda n: said[min(n, len(said) - 1)]


def by_item(answer):
    """Answer by the number of an item and how often it was asked about before."""
    asked = {}

    def answered(request):
        number = number_of(request)
        asked[number] = asked.get(number, -1) + 1
        return answer(number, asked[number])

    return answered


def items_of(numbers, *, texts=None):
    """Make items, of which some say more."""
    more = texts or {}
    return [Item(id=f"i{n}", response=f"item-{n} {more.get(n, '')}") for n in numbers]


def judge_of(model, **settings):
    return LlmJudge(model=model, **{"probability": "stated"} | settings)


@dataclass
class Judged:
    """What became of each item: a value or a reason."""

    values: list
    reasons: list


def judged(model, numbers=(0,), *, texts=None, rubric=RUBRIC, **settings):
    """Judge items in memory."""
    batches = judge_items(
        items_of(numbers, texts=texts), judge_of(model, **settings), rubric=rubric
    )
    found = Judged([], [])
    for batch in batches:
        failures = [batch.failures.get((row, 0)) for row in range(len(batch.items))]
        found.values += batch.probabilities[:, 0].tolist()
        found.reasons += [failure and failure.reason for failure in failures]
    return found


class Runs:
    """Runs over a file of items that share a store."""

    def __init__(self, folder, *, rubric=RUBRIC):
        self.folder = folder
        self.rubric = rubric
        self.store = folder / "replies.sqlite"

    def __call__(self, model, numbers=(0,), *, retry_failures=False, **settings):
        """Judge items; give the summary of the calls, and the table with a row per item."""
        rows = [{"id": item.id, "response": item.response} for item in items_of(numbers)]
        pl.DataFrame(rows).write_ndjson(self.folder / "items.jsonl")
        summary = judge_file(
            self.folder / "items.jsonl",
            self.folder / "out.parquet",
            rubric=self.rubric,
            judge=judge_of(model, **settings),
            store=self.store,
            retry_failures=retry_failures,
        )
        frame = pl.read_parquet(self.folder / "out.parquet")
        return summary.calls, frame.filter(question=self.rubric.propositions[0])

    def rows(self):
        """Give what is stored: keys, names, attempts and blobs."""
        with closing(sqlite3.connect(self.store)) as database:
            return database.execute(
                "SELECT judge_id, item, name, attempt, blob FROM voirdire_calls ORDER BY attempt"
            ).fetchall()

    def put(self, blobs):
        """Have the store hold these attempts of the one call that is in it, and no others."""
        judge_id, item, name, *_ = self.rows()[0]
        with closing(sqlite3.connect(self.store)) as database, database:
            database.execute("DELETE FROM voirdire_calls")
            database.executemany(
                "INSERT INTO voirdire_calls VALUES (?, ?, ?, ?, ?)",
                [(judge_id, item, name, attempt, blob) for attempt, blob in enumerate(blobs)],
            )
