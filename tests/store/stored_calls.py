"""Calls to put into a store; as a program, a process that puts them or holds a lock.

    python stored_calls.py PLACE put WRITER FIRST COUNT
    python stored_calls.py PLACE lock KEY

The first puts a call for each of COUNT items from FIRST on, in groups of ten and in an order of its
own; once they are committed it prints their numbers, each with the writer whose call is kept. The
second prints a line once it has the lock, and keeps it.
"""

import hashlib
import random
import sys
import time

from voirdire.store import StoredCall, open_store


def item(number):
    return hashlib.sha256(str(number).encode()).digest()


def call(number, *, name="joint", attempt=0, blob=b"reply"):
    return StoredCall(item(number), name, attempt, blob)


def put(store, writer, first, count):
    numbers = list(range(int(first), int(first) + int(count)))
    random.Random(writer).shuffle(numbers)
    judge_id = store.judge_id("sha256:judge", description={"writer": writer})
    for start in range(0, len(numbers), 10):
        part = numbers[start : start + 10]
        store.put_now(judge_id, [call(number, blob=writer.encode()) for number in part])
        kept = store.get(judge_id, [item(number) for number in part])
        for number in part:
            print(number, kept[item(number)]["joint"][0].decode(), flush=True)


def lock(store, key):
    with store.lock(key):
        print("held", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    with open_store(sys.argv[1]) as opened:
        {"put": put, "lock": lock}[sys.argv[2]](opened, *sys.argv[3:])
