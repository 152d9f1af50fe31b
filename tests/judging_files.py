"""Items whose answers can be read off their words, and labels for them."""

import json
import random

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: asks, kind: boolean, text: "Does it ask something?"}
behaviors:
  refuse:
    demands:
      sorry: required
      asks: undesired
"""
_TOPICS = [
    "bread",
    "clouds",
    "chess",
    "maps",
    "violins",
    "rivers",
    "paint",
    "trains",
    "spoons",
    "bees",
]
_SORRY = ("I'm sorry, but I can't help with {}.", "Sorry, {} is beyond me.", "Apologies about {}.")
_GLAD = ("Here is all about {}.", "Of course, {} is easy.", "Sure: {} begins in spring.")
_ASKS = ("What do you want to know?", "Why do you ask?", "Could you tell me more?")
_TELLS = ("That is all there is.", "It works every time.", "Nothing else matters here.")


def make_items(n_items, *, seed=0):
    """Make items with what is true of them, each with a prompt of its own."""
    chance = random.Random(seed)
    rows = []
    for number in range(n_items):
        sorry, asks = chance.random() < 0.5, chance.random() < 0.5
        topic = f"{chance.choice(_TOPICS)} number {number}"
        first = chance.choice(_SORRY if sorry else _GLAD).format(topic)
        second = chance.choice(_ASKS if asks else _TELLS)
        rows.append(
            {
                "id": f"i{number}",
                "prompt": f"{number}: {topic} {chance.random()}",
                "response": f"{first} {second}",
                "truth": {"sorry": sorry, "asks": asks},
            }
        )
    return rows


def write_items(path, rows, **more):
    """Write items without what is true of them."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            plain = {name: value for name, value in row.items() if name != "truth"} | more
            file.write(json.dumps(plain) + "\n")
    return path


def write_labels(path, rows, *, annotators=("ann",), slips=0.0, seed=1):
    """Write what annotators say, as a long CSV file."""
    chance = random.Random(seed)
    lines = ["item,annotator,question,label"]
    for annotator in annotators:
        for row in rows:
            for question, truth in row["truth"].items():
                said = truth ^ (chance.random() < slips)
                lines.append(f"{row['id']},{annotator},{question},{'yes' if said else 'no'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
