"""A program that asks a live judge about a file of items, group by group, and says what it got.

Told as JSON: where the items, the rubric, the store and the server are. A line is written for each
group whose verdicts are there, so that whoever kills it knows what was used.
"""

import asyncio
import json
import sys

from voirdire.io import read_items
from voirdire.judging import Limits, LiveSettings, LlmJudge
from voirdire.judging.live.live_judge import LiveJudge
from voirdire.judging.plan import plan_judging
from voirdire.models import load_model

GROUP = 4


async def main(told):
    model = load_model("openai/test", base_url=told["base_url"])
    limits = Limits(concurrency=told["concurrency"])
    judge = LlmJudge(model=model, probability="stated", limits=limits)
    items = list(read_items(told["items"]).items)
    live = LiveJudge(
        plan_judging(judge, told["rubric"]), store=told["store"], settings=LiveSettings()
    )
    await live.start()

    async def ask(group):
        found = await live.ask(group)
        said = zip(group, found.probabilities.tolist(), found.failures, strict=True)
        lines = [[item.id, numbers, why] for item, numbers, why in said]
        print(json.dumps({"verdicts": lines, "n_stored": found.n_stored}), flush=True)

    groups = [items[start : start + GROUP] for start in range(0, len(items), GROUP)]
    await asyncio.gather(*map(ask, groups))
    await live.close()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
