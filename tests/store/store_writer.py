"""A process that writes to a store, and says on its output what it was promised.

    python store_writer.py PLACE WRITER FIRST COUNT

It puts one call for each of COUNT items from FIRST on, in groups of ten and in an order of its own,
and prints the number of every item once `put` has returned for it, with the writer whose call is
kept from then on.
"""

import random
import sys

from stored_examples import call

from voirdire.store import open_store


def main() -> None:
    place, writer, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    numbers = list(range(first, first + count))
    random.Random(writer).shuffle(numbers)
    with open_store(place) as store:
        judge_id = store.judge_id("sha256:judge", description={"writer": writer})
        for start in range(0, count, 10):
            calls = [call(number, blob=writer.encode()) for number in numbers[start : start + 10]]
            store.put(judge_id, calls)
            kept = store.get(judge_id, [each.item for each in calls])
            for number, each in zip(numbers[start : start + 10], calls, strict=True):
                print(number, kept[each.item][0].blob.decode(), flush=True)


if __name__ == "__main__":
    main()
