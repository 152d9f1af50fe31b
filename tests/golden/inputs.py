"""The inputs of the golden runs: small made-up files, drawn from hashes, the same for ever."""

import hashlib
import itertools
import json
from pathlib import Path

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: {en: "Does it say sorry?", zh: "是否道歉？"}}
  - {id: rude, kind: boolean, text: {en: "Is it rude?", zh: "是否粗鲁？"}}
  - {id: asks, kind: boolean, text: {en: "Does it ask something?", zh: "是否提问？"}}
behaviors:
  refuse:
    demands:
      sorry: required
      rude: unacceptable
      asks: undesired
    classes:
      bad: any(unacceptable)
      good: all(required) and not asks
      poor: otherwise
  chat:
    demands:
      asks: desired
      rude: undesired
    classes:
      good: not rude
      poor: otherwise
"""
RECIPES = """
schema: voirdire.recipes/1
name: tiny
version: "1"
rubric: tiny
recipes:
  refuse:
    - label: good
    - label: poor
      sampled: {from: [required, undesired]}
    - label: bad
      sampled: {from: [unacceptable]}
  chat:
    - label: good
    - label: poor
      demands: {rude: true}
"""
KINDS = """
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold, neither]}
  - {id: topics, kind: multilabel, text: "Which topics?", labels: [food, travel, work]}
  - {id: stars, kind: scale, text: "How many stars?", minimum: 1, maximum: 5}
  - {id: why, kind: text, text: "Why?"}
"""
PAIRS = """
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: "Which is better?"}
"""
BROKEN = """
schema: voirdire.rubric/1
name: broken
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
behaviors:
  refuse: {demands: {absent: required}, classes: {good: all(wanted), poor: otherwise}}
"""
JUDGES = """
schema: voirdire.judges/1
defaults: {{model: openai/test, base_url: "{server}"}}
judges:
  - {{name: whole, price: {{input: 1.0, output: 4.0}}}}
  - {{name: each, mode: single, probability: stated, price: {{input: 1.0, output: 4.0}}}}
"""
ONE_JUDGE = """
schema: voirdire.judges/1
judges:
  - {{name: test, model: openai/test, base_url: "{server}", seed: 0, concurrency: 1}}
"""
CASCADE = """
schema: voirdire.cascade/1
cascade:
  name: both
  first: {first}
  unsure: [0.2, 0.8]
  then: {{model: openai/test, base_url: "{server}", probability: stated}}
"""
LABELS = ("good", "poor", "bad")
SORRY = ("I'm sorry, but not that.", "Sorry, no.", "My apologies, I cannot.")
GLAD = ("Here it is.", "Of course.", "That is easily done.")
RUDE = ("Only a fool wants that.", "How stupid of you.")
KIND = ("Take care.", "All the best.")
ASKS = ("What is it for?", "Shall I go on?")
TELLS = ("That is all.", "So it goes.")


def draw(*parts: object) -> float:
    """Draw a number in [0, 1) that hangs on the parts alone."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def pick(options, *parts):
    return options[int(draw(*parts) * len(options))]


def write_csv(path: Path, header: str, rows) -> None:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_jsonl(path: Path, rows) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


# Labels of annotators and judges ----------------------------------------------------------------

ANNOTATORS = {"ann": 0.1, "bob": 0.2, "cy": 0.3, "dee": 0.45}
"""How often an annotator's label is a blind guess."""
RATERS = {"near": 0.08, "noisy": 0.4, "failing": 0.1}
"""The same for judges; `failing` also gives no answer on some items, and `same` always one."""
QUESTIONS = {"tone": ("warm", "cold", "flat"), "topic": ("food", "work")}


def _label(question, rater, noise, item):
    labels = QUESTIONS[question]
    skewed = (*labels[:1] * 4, *labels[1:])
    truth = pick(skewed, "truth", question, item)
    return (
        pick(skewed, "guess", question, rater, item)
        if draw("slip", question, rater, item) < noise
        else truth
    )


def write_choices(folder: Path, *, n_items: int = 72) -> None:
    """Write choices about items that share a source by threes; one annotator skips some."""
    items = [f"i{number}" for number in range(n_items)]
    human = [
        (item, name, question, _label(question, name, noise, item), f"s{place // 3}")
        for question in QUESTIONS
        for name, noise in ANNOTATORS.items()
        for place, item in enumerate(items)
        if not (name == "dee" and place % 4 == 0)
    ]
    write_csv(folder / "humans.csv", "item,annotator,question,label,source", human)
    judge = [
        (item, name, question, *_answer(question, name, noise, item))
        for question in QUESTIONS
        for name, noise in RATERS.items()
        for item in items
    ]
    judge += [
        (item, "same", question, labels[0], "")
        for question, labels in QUESTIONS.items()
        for item in items
    ]
    write_csv(folder / "judges.csv", "item,judge,question,label,failure", judge)
    gold = [
        (item, question, pick((labels[0], *labels), "truth", question, item))
        for question, labels in QUESTIONS.items()
        for item in items
    ]
    write_csv(folder / "gold.csv", "item,question,label", gold)
    write_csv(
        folder / "known.csv",
        "item,language,length",
        [
            (item, pick(("en", "zh"), "language", item), int(draw("length", item) * 90))
            for item in items
        ],
    )


def _answer(question, name, noise, item):
    if name == "failing" and draw("failure", question, item) < 0.15:
        return "", "no_reply"
    return _label(question, name, noise, item), ""


def write_scales(folder: Path, *, n_items: int = 60) -> None:
    """Write stars from 1 to 5."""

    def stars(rater, noise, item):
        truth = 1 + int(draw("stars", item) * 5)
        shift = round((draw("shift", rater, item) - 0.5) * 6 * noise)
        return min(5, max(1, truth + shift))

    for name, role, raters in (("humans", "annotator", ANNOTATORS), ("judges", "judge", RATERS)):
        rows = [
            (f"i{k}", rater, stars(rater, noise + 0.1 * (role == "judge"), k))
            for rater, noise in raters.items()
            for k in range(n_items)
        ]
        write_csv(folder / f"scale_{name}.csv", f"item,{role},label", rows)


def write_sets(folder: Path, *, n_items: int = 50) -> None:
    """Write sets of labels, some of them empty."""
    words = ("insult", "threat", "slur")

    def chosen(rater, noise, item):
        return [
            word
            for word in words
            if (draw("set", word, item) < 0.3) ^ (draw("set slip", word, rater, item) < noise / 2)
        ]

    for name, role, raters in (("humans", "annotator", ANNOTATORS), ("judges", "judge", RATERS)):
        rows = [
            {"item": f"i{k}", role: rater, "label": chosen(rater, noise, k)}
            for rater, noise in raters.items()
            for k in range(n_items)
        ]
        write_jsonl(folder / f"sets_{name}.jsonl", rows)


def write_texts(folder: Path, *, n_items: int = 40) -> None:
    """Write answers in words."""
    words = ("the", "reply", "is", "kind", "rude", "short", "long", "clear")

    def answer(rater, noise, item):
        return " ".join(
            pick(words, "guess", rater, item, place)
            if draw("text slip", rater, item, place) < noise
            else pick(words, "text", item, place)
            for place in range(6)
        )

    for name, role, raters in (("humans", "annotator", ANNOTATORS), ("judges", "judge", RATERS)):
        rows = [
            {"item": f"i{k}", role: rater, "label": answer(rater, noise, k)}
            for rater, noise in raters.items()
            for k in range(n_items)
        ]
        write_jsonl(folder / f"texts_{name}.jsonl", rows)


def write_booleans(folder: Path, *, n_items: int = 60) -> None:
    """Write yes or no of people, and probabilities of judges."""
    truth = {k: draw("boolean", k) < 0.4 for k in range(n_items)}
    rows = [
        (f"i{k}", name, "yes" if truth[k] ^ (draw("boolean slip", name, k) < noise / 2) else "no")
        for name, noise in ANNOTATORS.items()
        for k in range(n_items)
    ]
    write_csv(folder / "boolean_humans.csv", "item,annotator,label", rows)
    rows = [
        (
            f"i{k}",
            name,
            round((0.55 + 0.4 * truth[k] - 0.5 * draw("p", name, k) * (0.6 + noise)), 3),
        )
        for name, noise in RATERS.items()
        for k in range(n_items)
    ]
    write_csv(folder / "boolean_judges.csv", "item,judge,probability", rows)


# Responses, comparisons and prompts --------------------------------------------------------------


def truths(item: str) -> dict[str, bool]:
    """Say what is true of an item."""
    return {name: draw("true", name, item) < 0.5 for name in ("sorry", "rude", "asks")}


def response(item: str, true: dict[str, bool]) -> str:
    """Write a response of which this is true, with the item's name in it."""
    said = (
        pick(SORRY if true["sorry"] else GLAD, "first", item),
        pick(RUDE if true["rude"] else KIND, "second", item),
        pick(ASKS if true["asks"] else TELLS, "third", item),
    )
    return f"{' '.join(said)} ({item})"


def probability(item: str, question: str) -> float:
    """Give the probability that the scripted model sees; items ending in 9 leave it in doubt."""
    spread = 0.5 if item.endswith("9") else 0.15
    noise = spread * draw("p", item, question)
    return round(
        1 - noise if truths(item).get(question, draw("other", item, question) < 0.5) else noise, 4
    )


def write_items(folder: Path, *, n_items: int = 24) -> None:
    """Write prompts with responses, for judges that answer by item."""
    rows = [
        {
            "id": f"r{k}",
            "prompt": f"Question number {k % 8}?",
            "response": response(f"item-{k}", truths(f"item-{k}")),
            "behavior": ("refuse", "chat")[k % 2],
            "group": f"g{k % 8}",
        }
        for k in range(n_items)
    ]
    write_jsonl(folder / "items.jsonl", rows)
    write_csv(
        folder / "item_labels.csv",
        "item,annotator,question,label",
        [
            (
                row["id"],
                name,
                question,
                "yes" if true ^ (draw("said", name, row["id"], question) < 0.1) else "no",
            )
            for name in ("ann", "bob", "cy")
            for row in rows
            for question, true in truths(row["response"].rpartition("(")[2][:-1]).items()
        ],
    )
    pairs = [
        {
            "id": f"p{k}",
            "prompt": "Which?",
            "response_a": f"First (item-{k}).",
            "response_b": "Second.",
        }
        for k in range(6)
    ]
    write_jsonl(folder / "pairs.jsonl", pairs)
    rules = {"Names a price": {"contains": "$"}, "1. names a PRICE.": {"contains": "$"},
             "Avoids slang": {"contains": "gonna", "negated": True},
             "Ignores what was asked": {"words": {"at_most": 1}}}  # fmt: skip
    points = dict(zip(rules, (3, 2, -1, 4), strict=True))
    criteria = [{"criterion": text, "points": points[text], "rule": rule, "tags": ["made"]}
                for text, rule in rules.items()]  # fmt: skip
    write_jsonl(folder / "criteria.jsonl", [
        {"id": f"c{n}", "prompt": f"What is item {n}?", "response": text, "criteria": criteria}
        for n, text in enumerate(("It is $4.", "Gonna look.", "No"))
    ])  # fmt: skip


def write_comparisons(folder: Path, *, n_prompts: int = 24) -> None:
    """Write completions with labels and base rewards, and the same as chosen and rejected."""
    rows = []
    for prompt in range(n_prompts):
        behavior = ("refuse", "chat")[prompt % 2]
        labels = LABELS if behavior == "refuse" else LABELS[:2]
        for place, label in enumerate((*labels, labels[prompt % len(labels)])):
            item = f"item-{1000 + 10 * prompt + place}"
            rows.append(
                {
                    "id": f"c{prompt}-{place}",
                    "prompt": f"How is number {prompt} done?",
                    "response": response(item, truths(item)),
                    "label": label,
                    "behavior": behavior,
                    "base_reward": round(draw("base", item) - 0.3 * labels.index(label), 3),
                }
            )
    write_jsonl(folder / "comparisons.jsonl", rows)
    pairs = [
        {
            "prompt": better["prompt"],
            "chosen": better["response"],
            "rejected": worse["response"],
            "behavior": better["behavior"],
            "subset": "ab"[place % 2],
        }
        for place, (better, worse) in enumerate(itertools.pairwise(rows))
        if better["prompt"] == worse["prompt"] and better["label"] != worse["label"]
    ]
    write_jsonl(folder / "chosen.jsonl", pairs)


def write_prompts(folder: Path, *, n_prompts: int = 4) -> None:
    """Write prompts that completions are wanted for."""
    rows = [
        {
            "id": f"q{k}",
            "prompt": f"How is bread number {k} baked?",
            "behavior": ("refuse", "chat")[k % 2],
        }
        for k in range(n_prompts)
    ]
    write_jsonl(folder / "prompts.jsonl", rows)


def write_documents(folder: Path) -> None:
    """Write rubrics and weights."""
    for name, text in (("tiny", RUBRIC), ("kinds", KINDS), ("pairs", PAIRS), ("broken", BROKEN)):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "recipes.yaml").write_text(RECIPES, encoding="utf-8")
    (folder / "weights.json").write_text(
        json.dumps(
            {
                "refuse": {"sorry": 1.0, "rude": -2.0, "bad": -3.0, "good": 4.0, "poor": 0.5},
                "chat": {"rude": -1.0, "asks": 0.5, "good": 2.0},
            }
        ),
        encoding="utf-8",
    )


def write_judges(folder: Path, *, server: str, first: str) -> None:
    """Write the files that name several judges, and a cascade of two."""
    for name, text in (("judges", JUDGES), ("judge", ONE_JUDGE), ("cascade", CASCADE)):
        (folder / f"{name}.yaml").write_text(text.format(server=server, first=first), "utf-8")


def write_inputs(folder: Path) -> Path:
    """Write every input into a folder."""
    write_choices(folder)
    write_scales(folder)
    write_sets(folder)
    write_texts(folder)
    write_booleans(folder)
    write_items(folder)
    write_comparisons(folder)
    write_prompts(folder)
    write_documents(folder)
    return folder
