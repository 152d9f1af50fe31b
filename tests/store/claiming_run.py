"""A process that makes calls it has claimed, and says on its output which ones it paid for.

    python claiming_run.py PLACE COUNT CLAIM_S [hold]

It goes through COUNT calls with twenty workers as a run does: look up, claim, pay, put. With `hold`
it claims them all, says so, and keeps them until it is killed.
"""

import asyncio
import sys

from stored_examples import call, claim, item

from voirdire.store import GroupCommit, open_store


async def make_calls(store, judge_id, *, count: int, claim_s: float) -> None:
    numbers = iter(range(count))

    async def work(group: GroupCommit) -> None:
        for number in numbers:
            while not store.get(judge_id, [item(number)]):
                if await claim(group, number):
                    print(number, flush=True)
                    await asyncio.sleep(0.002)
                    await group.put(call(number))
                else:
                    await asyncio.sleep(0.005)

    async with GroupCommit(store, judge_id, claim_s=claim_s) as group:
        await asyncio.gather(*(work(group) for _ in range(20)))


async def hold_calls(store, judge_id, *, count: int, claim_s: float) -> None:
    async with GroupCommit(store, judge_id, claim_s=claim_s) as group:
        claimed = await asyncio.gather(*(claim(group, n) for n in range(count)))
        print(sum(claimed), flush=True)
        await asyncio.sleep(600)


def main() -> None:
    place, count, claim_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with open_store(place) as store:
        judge_id = store.judge_id("sha256:judge", description={})
        if "hold" not in sys.argv:
            print("ready", flush=True)
            input()  # so that two of them begin together
        run = hold_calls if "hold" in sys.argv else make_calls
        asyncio.run(run(store, judge_id, count=count, claim_s=claim_s))


if __name__ == "__main__":
    main()
