"""A judge, and people who follow what it sees on one question and guess on the other."""

import random

from rewards.reward_cases import tiny_judge, tiny_rubric
from voirdire.judging import judge

N_ITEMS = 80


def write_study(folder):
    """Write what an examination reads: `verdicts.parquet`, and `humans.csv` of three people."""
    chance = random.Random(0)
    rows = [
        {"id": f"i{k}", "response": f"{k % 2} {k // 2 % 2}", "behavior": "refuse"}
        for k in range(N_ITEMS)
    ]
    found = judge(rows, judge=tiny_judge(), rubric=tiny_rubric())
    found.frame().write_parquet(folder / "verdicts.parquet")
    lines = ["item,annotator,question,label"]
    for annotator in ("ann", "bob", "eve"):
        for row in rows:
            truths = (int(word) for word in row["response"].split())
            for question, truth, slips in zip(("sorry", "rude"), truths, (0.05, 0.5), strict=True):
                said = truth ^ (chance.random() < slips)
                lines.append(f"{row['id']},{annotator},{question},{'yes' if said else 'no'}")
    (folder / "humans.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
