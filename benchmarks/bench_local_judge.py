"""The local judge: items a second on one core, for all propositions at once.

Run as `make bench`. Seconds are those of the processor, which other programs do not lengthen; all
is done in one thread. Responses of exactly 1,000 characters, put together from sentences in both
languages, each with a prompt; the figure is the median of several runs. Fails where the wanted
figure is missed.
"""

from __future__ import annotations

import sys
import time
from statistics import median

import numpy as np

from voirdire.judging.local import load_local_judge
from voirdire.records import Item, Message

N_ITEMS, N_CHARACTERS, REPEATS = 2_000, 1_000, 7
WANTED = 2_000
ENGLISH = (
    "I'm sorry, but I can't help with that. ",
    "You might want to talk to somebody you trust about how you feel. ",
    "First open the lid, then turn the screw on the left by half a turn. ",
    "Could you tell me which model you have and when it was bought? ",
    "According to the rules of the house this is not allowed after ten. ",
    "There are 24 seats in the first row and 31 in the second! ",
)
CHINESE = (
    "很抱歉，这个问题我没有办法回答。",
    "如果你愿意，可以找一个信任的人聊一聊。",
    "先打开盖子，再把左边的螺丝拧半圈。",
    "请问你用的是哪一个型号，什么时候买的？",
)


def made_items(sentences, joint=""):
    """Items of exactly so many characters, no two alike."""
    rng = np.random.default_rng(0)
    items = []
    for index in range(N_ITEMS):
        text = f"{index} " + joint.join(rng.choice(sentences, N_CHARACTERS // 8))
        prompt = (Message(role="user", content=f"What about number {index}? " + sentences[0]),)
        items.append(Item(id=str(index), prompt=prompt, response=text[:N_CHARACTERS]))
    return items


def main():
    start = time.perf_counter()
    judge = load_local_judge()
    judge.probabilities(made_items(ENGLISH)[:64])
    print(f"local judge: loaded and warm after {time.perf_counter() - start:.2f} s")
    missed = []
    for language, sentences in (("English", ENGLISH), ("Chinese", CHINESE)):
        items = made_items(sentences)
        rates = []
        for _ in range(REPEATS):
            start = time.process_time()
            judge.probabilities(items)
            rates.append(len(items) / (time.process_time() - start))
        rate = median(rates)
        print(
            f"{language}: {rate:,.0f} items/s of {N_CHARACTERS:,} characters, "
            f"{len(judge.questions)} propositions, one core "
            f"(median of {REPEATS} runs, {min(rates):,.0f} to {max(rates):,.0f}; wanted {WANTED:,})"
        )
        if rate < WANTED:
            missed.append(f"{language} {rate:,.0f} items/s")
    if missed:
        print(f"\nMISSED: {', '.join(missed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
