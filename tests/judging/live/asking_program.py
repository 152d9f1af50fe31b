"""A program that asks a live judge about a file of items, group by group, and says what it got.

Told as JSON: where the items, the rubric, the store and the server are. A line is written for each
group whose verdicts are there, so that whoever kills it knows what was used.
"""

import asyncio
import json
import sys
from pathlib import Path

from voirdire.io import read_items
from voirdire.judging import LlmJudge
from voirdire.models import load_model
from voirdire.rewards import LiveReward, reward_of_weights
from voirdire.rubrics import rubric_from_text

GROUP = 4
BEHAVIORS = """
behaviors:
  comply: {demands: {sorry: required}, classes: {good: all(required), poor: otherwise}}
"""


async def main(told, rubric):
    model = load_model("openai/test", base_url=told["base_url"])
    judge = LlmJudge(model=model, probability="stated", concurrency=told["concurrency"])
    items = list(read_items(told["items"]).items)
    reward = reward_of_weights({"comply": {"sorry": 1.0}}, rubric=rubric)
    live = LiveReward(reward, judge=judge, store=told["store"])
    await live.start()

    async def ask(group):
        found = await live.rewards(group)
        said = zip(group, found.judged.probabilities.tolist(), strict=True)
        why = found.judged.missing
        lines = [[item.id, numbers, why.get(item.id)] for item, numbers in said]
        print(json.dumps({"verdicts": lines, "n_stored": found.n_stored}), flush=True)

    groups = [items[start : start + GROUP] for start in range(0, len(items), GROUP)]
    await asyncio.gather(*map(ask, groups))
    await live.close()


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    text = Path(told["rubric"]).read_text(encoding="utf-8")
    asyncio.run(main(told, rubric_from_text(text + BEHAVIORS)))
