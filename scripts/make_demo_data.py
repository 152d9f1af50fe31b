"""Make the bundled demonstration data: simulated annotators and judges on 50 texts.

Written by hand, beside this script: the texts and the truth about them (``demo_texts.jsonl``),
the error rates of each rater (``demo_raters.csv``) and the words of the README. Annotators and
judges are simulated: each errs at its rates, more often on the texts marked as difficult.

    python scripts/make_demo_data.py            write the files
    python scripts/make_demo_data.py --check    fail if the committed files differ
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Answer = Any
Text = dict[str, Any]
Row = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
TARGET = ROOT / "src" / "voirdire" / "data" / "demo"

SEED = 20_250
LABELS = ("hateful", "insults", "sexual", "physical_violence", "self_harm", "misconduct")
LEVELS = (1, 2, 3, 4, 5)

QUESTIONS: dict[str, dict[str, Any]] = {
    "toxicity": {
        "kind": "multilabel",
        "text": "Which of the six labels apply to this text? None may apply.",
        "text_zh": "这段文字属于下列六类中的哪几类？可以一类都不属于。",
        "labels": list(LABELS),
        "alignment": "jaccard",
        "alignments": ["accuracy", "jaccard", "jaccard_macro", "hamming"],
    },
    "needs_review": {
        "kind": "boolean",
        "text": "Should a moderator look at this text?",
        "text_zh": "这段文字需要版主过目吗？",
        "alignment": "accuracy",
        "alignments": ["accuracy"],
    },
    "severity": {
        "kind": "scale",
        "text": "How unpleasant is this text, from 1 (friendly) to 5 (beyond the forum's rules)?",
        "text_zh": "这段文字有多不客气？1 为友善，5 为超出论坛规定。",
        "minimum": LEVELS[0],
        "maximum": LEVELS[-1],
        "alignment": "neg_rmse",
        "alignments": ["neg_rmse", "accuracy"],
    },
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """How often a simulated rater errs: shares of the texts on which that error is possible.

    Attributes
    ----------
    miss : float
        Toxicity: leaves out one label of a labelled text.
    confuse : float
        Toxicity: puts the text's tempting label in the place of one of its labels.
    extra : float
        Toxicity: adds the text's tempting label.
    overlook, overcall : float
        Needs review: answers false where true is right, and the reverse.
    lower, higher : float
        Severity: one step too low, one step too high.
    far : float
        Severity: two steps off, up from 1 and 2, else down.
    chinese : float
        How much the odds of an error rise on a Chinese text; 1 is no difference.
    skipped : int
        Texts left unanswered altogether.
    """

    miss: float
    confuse: float
    extra: float
    overlook: float
    overcall: float
    lower: float
    higher: float
    far: float
    chinese: float
    skipped: int


CONSTANT_JUDGE = "sim-constant"
CONSTANT_ANSWERS: dict[str, Answer] = {"toxicity": [], "needs_review": False, "severity": 3}
TIMEOUTS = {("sim-verbose", "toxicity", "t20"), ("sim-verbose", "toxicity", "t39")}


class Errors:
    """Chooses on which texts a rater errs: an exact share, hard texts more often."""

    def __init__(self, seed: tuple[int, ...], chinese: float) -> None:
        self._rng = np.random.default_rng(seed)
        self._chinese = chinese

    def draw(self, share: float, texts: Iterable[Text]) -> list[Text]:
        """Choose the nearest whole number to `share` of `texts`, hard ones more often."""
        texts = list(texts)
        return self.draw_number(int(share * len(texts) + 0.5), texts)

    def draw_number(self, count: int, texts: Iterable[Text]) -> list[Text]:
        """Choose `count` of `texts` without replacement (Efraimidis and Spirakis 2006, A-Res)."""
        # Only `random()` is drawn: the other methods of a Generator may change between versions.
        keyed = [(self._rng.random() ** (1 / self._odds(text)), text["id"], text) for text in texts]
        return [text for _, _, text in sorted(keyed, reverse=True)[:count]]

    def _odds(self, text: Text) -> float:
        language = self._chinese if text["language"] == "zh" else 1.0
        return language * (0.05 + float(text["difficulty"]))


def read_truth(path: Path = SCRIPTS / "demo_texts.jsonl") -> list[Text]:
    """Read the texts with the truth about them."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_rates(role: str, path: Path = SCRIPTS / "demo_raters.csv") -> dict[str, Rates]:
    """Read the error rates of all annotators or of all judges."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row.pop("role") == role]
    return {row.pop("name"): Rates(skipped=int(row.pop("skipped")), **_floats(row)) for row in rows}


def _floats(row: dict[str, str]) -> dict[str, float]:
    return {name: float(rate) for name, rate in row.items()}


def toxicity(texts: list[Text], rates: Rates, errors: Errors) -> dict[str, list[str]]:
    """Answer the toxicity question for every text, as a list in the order of `LABELS`."""
    labelled = [text for text in texts if text["labels"]]
    answers = {text["id"]: set(text["labels"]) for text in texts}
    confused = errors.draw(rates.confuse, labelled)
    for text in confused:
        answers[text["id"]].remove(text["labels"][-1])
        answers[text["id"]].add(text["tempting"])
    for text in _draw_rest(errors, rates.miss, labelled, confused):
        answers[text["id"]].remove(text["labels"][0])
    for text in _draw_rest(errors, rates.extra, texts, confused):
        answers[text["id"]].add(text["tempting"])
    return {item: [label for label in LABELS if label in given] for item, given in answers.items()}


def needs_review(texts: list[Text], rates: Rates, errors: Errors) -> dict[str, bool]:
    """Answer the boolean question for every text."""
    answers = {text["id"]: text["needs_review"] for text in texts}
    wrong = errors.draw(rates.overlook, (text for text in texts if text["needs_review"]))
    wrong += errors.draw(rates.overcall, (text for text in texts if not text["needs_review"]))
    return answers | {text["id"]: not text["needs_review"] for text in wrong}


def severity(texts: list[Text], rates: Rates, errors: Errors) -> dict[str, int]:
    """Answer the 1-to-5 question for every text."""
    answers = {text["id"]: text["severity"] for text in texts}
    far = errors.draw(rates.far, texts)
    lower = _draw_rest(errors, rates.lower, [t for t in texts if t["severity"] > LEVELS[0]], far)
    below_top = [t for t in texts if t["severity"] < LEVELS[-1]]
    higher = _draw_rest(errors, rates.higher, below_top, far + lower)
    answers |= {text["id"]: text["severity"] + (2 if text["severity"] <= 2 else -2) for text in far}
    answers |= {text["id"]: text["severity"] - 1 for text in lower}
    return answers | {text["id"]: text["severity"] + 1 for text in higher}


def _draw_rest(errors: Errors, share: float, texts: list[Text], taken: list[Text]) -> list[Text]:
    """Draw `share` of `texts` among those that have not erred in another way yet."""
    used = {text["id"] for text in taken}
    count = int(share * len(texts) + 0.5)
    return errors.draw_number(count, (text for text in texts if text["id"] not in used))


ANSWER: dict[str, Callable[[list[Text], Rates, Errors], Mapping[str, Answer]]] = {
    "toxicity": toxicity,
    "needs_review": needs_review,
    "severity": severity,
}


def rate(texts: list[Text], number: int, rates: Rates) -> dict[str, Mapping[str, Answer]]:
    """Let one simulated rater answer every question; skipped texts are left out."""
    # A stream of its own per question: changing a rate of one leaves the others as they are.
    streams = [Errors((SEED, number, stream), rates.chinese) for stream in range(len(ANSWER) + 1)]
    skipped = {text["id"] for text in streams.pop().draw_number(rates.skipped, texts)}
    answers = {
        question: answer(texts, rates, errors)
        for (question, answer), errors in zip(ANSWER.items(), streams, strict=True)
    }
    return {
        question: {item: label for item, label in given.items() if item not in skipped}
        for question, given in answers.items()
    }


def annotation_rows(texts: list[Text]) -> list[Row]:
    """One row per item, annotator and question."""
    return [
        {"item": item, "annotator": name, "question": question, "label": label}
        for number, (name, rates) in enumerate(read_rates("annotator").items())
        for question, given in rate(texts, number, rates).items()
        for item, label in given.items()
    ]


def judge_rows(texts: list[Text]) -> list[Row]:
    """One row per item, judge and question; a call that failed has no label but a reason."""
    raters = {
        name: rate(texts, 100 + number, rates)
        for number, (name, rates) in enumerate(read_rates("judge").items())
    }
    raters[CONSTANT_JUDGE] = {
        question: dict.fromkeys((text["id"] for text in texts), answer)
        for question, answer in CONSTANT_ANSWERS.items()
    }
    return [
        _judge_row(item, name, question, label)
        for name, answers in raters.items()
        for question, given in answers.items()
        for item, label in given.items()
    ]


def _judge_row(item: str, name: str, question: str, label: Answer) -> Row:
    row: Row = {"item": item, "judge": name, "question": question, "label": label}
    if (name, question, item) in TIMEOUTS:
        row |= {"label": None, "failure": "timeout"}
    return row


def card() -> dict[str, Any]:
    """Describe the data set for programs: what it is, that it is simulated, and its questions."""
    return {
        "name": "voirdire-demo",
        "simulated": True,
        "seed": SEED,
        "licence": "MIT",
        "description": (
            "50 short forum remarks, 30 in English and 20 in Chinese, written for voirdire. "
            "All annotators and judges are simulated: no person and no model gave these labels."
        ),
        "languages": ["en", "zh"],
        "cluster": "source",
        "labels": list(LABELS),
        "questions": QUESTIONS,
        "annotators": list(read_rates("annotator")),
        "judges": [*read_rates("judge"), CONSTANT_JUDGE],
    }


def readme(texts: list[Text], annotations: list[Row], judgements: list[Row]) -> str:
    """Describe the data set for people."""
    languages = Counter(text["language"] for text in texts)
    template = (SCRIPTS / "demo_readme.md").read_text(encoding="utf-8")
    return template.format(
        n_texts=len(texts),
        n_en=languages["en"],
        n_zh=languages["zh"],
        n_sources=len({text["source"] for text in texts}),
        n_annotations=len(annotations),
        n_judgements=len(judgements),
        n_failures=len(TIMEOUTS),
        labels=", ".join(f"`{label}`" for label in LABELS),
        profiles=_profiles(),
        constant=CONSTANT_JUDGE,
    )


def _profiles() -> str:
    """Tabulate the error rates of all raters."""
    names = ("miss", "confuse", "extra", "overlook", "overcall", "lower", "higher", "far")
    lines = ["| rater | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for rater, rates in (read_rates("annotator") | read_rates("judge")).items():
        shares = (f"{getattr(rates, name):.2f}" for name in names)
        lines.append(f"| `{rater}` | " + " | ".join(shares) + " |")
    return "\n".join(lines)


def jsonl(rows: Iterable[Row]) -> str:
    """Write rows as JSON lines, Chinese kept readable."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def make_files() -> dict[str, str]:
    """Make every file of the data set: its name and its content."""
    texts = read_truth()
    public = [{key: text[key] for key in ("id", "language", "text", "source")} for text in texts]
    annotations, judgements = annotation_rows(texts), judge_rows(texts)
    return {
        "texts.jsonl": jsonl(public),
        "annotations.jsonl": jsonl(annotations),
        "judges.jsonl": jsonl(judgements),
        "dataset.json": json.dumps(card(), ensure_ascii=False, indent=2) + "\n",
        "README.md": readme(texts, annotations, judgements),
    }


def differing(folder: Path = TARGET) -> list[str]:
    """Names of the files in `folder` that are missing or differ from what the script makes."""
    return stale_files(make_files(), folder)


def stale_files(files: Mapping[str, str], folder: Path) -> list[str]:
    """Names of the files in `folder` that are missing or differ from `files`."""
    return [
        name
        for name, content in files.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content.encode()
    ]


def write_or_compare(
    make: Callable[[], Mapping[str, str]],
    arguments: list[str] | None,
    *,
    about: str,
    target: Path,
) -> int:
    """Write what `make` gives, or compare it under ``--check``."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if files differ")
    if parser.parse_args(arguments).check:
        stale = stale_files(make(), target)
        for name in stale:
            print(f"{target / name}: differs from what the script makes", file=sys.stderr)
        return 1 if stale else 0
    target.mkdir(parents=True, exist_ok=True)
    for name, content in make().items():
        (target / name).write_bytes(content.encode())
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or compare them under ``--check``."""
    return write_or_compare(make_files, arguments, about=__doc__, target=TARGET)


if __name__ == "__main__":
    sys.exit(main())
