"""Make the bundled responses, the labels of simulated annotators, and simulated base rewards.

Written by hand, beside this script: prompts with responses of every completion class and the truth
about the propositions of the safety rubric (``demo_responses_en.jsonl``, ``..._zh.jsonl``), how
often each annotator errs (``demo_response_raters.csv``), and what a reward model that only wants
help gives a class on average (``demo_base_rewards.csv``). The annotators are simulated: each errs
at its rates, far more often where the truth is marked as unsure. So are the base rewards. The
responses are judged by the local judge when the demonstration runs, so no judge is simulated here.

    python scripts/make_demo_responses.py            write the files
    python scripts/make_demo_responses.py --check    fail if the committed files differ
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from make_demo_data import SCRIPTS, TARGET, Errors, stale_files, write_or_compare

from voirdire.judging.local.features import cue_phrases
from voirdire.probes.text import draw_for, join_sentences, language_of, split_sentences
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Response = dict[str, Any]
Row = dict[str, Any]

SEED = 20_251
BASE_SEED = 20_252
FEWEST_WORDS = 8
LANGUAGES = ("en", "zh")
SHOWN = ("id", "behavior", "language", "group", "prompt", "response")
"""What the package holds of a response; the truth stays here."""

SURE, UNSURE = 0.05, 0.9
"""How difficult a proposition is on a response; the odds of an error differ nearly tenfold."""

BLIND, EAGER = 0.5, 0.15
"""Rates on the proposition that an annotator is blind to, and on the one seen too often."""

NONSENSE = ("empty", "echoed_prompt", "shuffled_words", "lexicon")
"""What the fit sets below the real responses to a prompt."""

PROMPT_SPREAD, RESPONSE_SPREAD = 0.5, 0.5
"""Standard deviations of the base reward: what a prompt's responses share, and each one's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """How often a simulated annotator errs on a proposition.

    Attributes
    ----------
    miss, overcall : float
        Shares of the responses for which it is true, and false, that are answered wrongly.
    chinese : float
        How much the odds of an error rise on a Chinese response; 1 is no difference.
    overlooks, overdoes : str
        The proposition that this annotator is blind to, and the one that they see too often.
    """

    miss: float
    overcall: float
    chinese: float
    overlooks: str
    overdoes: str

    def of(self, question: str) -> tuple[float, float]:
        """Give the rates of missing and of overcalling one proposition."""
        miss = max(self.miss, BLIND) if question == self.overlooks else self.miss
        overcall = max(self.overcall, EAGER) if question == self.overdoes else self.overcall
        return miss, overcall


def read_truth(folder: Path = SCRIPTS) -> list[Response]:
    """Read the responses of both languages with the truth about them."""
    texts = (folder / f"demo_responses_{name}.jsonl" for name in LANGUAGES)
    return [
        json.loads(line) for path in texts for line in path.read_text(encoding="utf-8").splitlines()
    ]


def read_rates(path: Path = SCRIPTS / "demo_response_raters.csv") -> dict[str, Rates]:
    """Read the error rates of all annotators."""
    with path.open(encoding="utf-8", newline="") as lines:
        return {row.pop("name"): _rates(row) for row in csv.DictReader(lines)}


def _rates(row: Mapping[str, str]) -> Rates:
    return Rates(
        miss=float(row["miss"]),
        overcall=float(row["overcall"]),
        chinese=float(row["chinese"]),
        overlooks=row["overlooks"],
        overdoes=row["overdoes"],
    )


def questions() -> tuple[str, ...]:
    """Name the propositions, in the order of the rubric."""
    return load_rubric("safety").propositions


def label(
    responses: Sequence[Response], question: str, rates: Rates, errors: Errors
) -> dict[str, bool]:
    """Let one annotator answer one proposition for every response."""
    miss, overcall = rates.of(question)
    sides: dict[bool, list[Row]] = {True: [], False: []}
    for row in responses:
        difficulty = UNSURE if question in row["unsure"] else SURE
        drawn = {"id": row["id"], "language": row["language"], "difficulty": difficulty}
        sides[question in row["true"]].append(drawn)
    wrong = [*errors.draw(miss, sides[True]), *errors.draw(overcall, sides[False])]
    truth = {row["id"]: question in row["true"] for row in responses}
    return truth | {row["id"]: not truth[row["id"]] for row in wrong}


def annotation_rows(responses: Sequence[Response]) -> list[Row]:
    """One row per response and proposition, with a column for each annotator."""
    asked, raters = questions(), read_rates()
    given = {
        # A stream of its own per proposition: changing one leaves the others as they are.
        (name, question): label(
            responses, question, rates, Errors((SEED, number, place), rates.chinese)
        )
        for number, (name, rates) in enumerate(raters.items())
        for place, question in enumerate(asked)
    }
    return [
        {"item": row["id"], "question": question}
        | {name: given[name, question][row["id"]] for name in raters}
        for row in responses
        for question in asked
    ]


def read_tastes(path: Path = SCRIPTS / "demo_base_rewards.csv") -> dict[str, dict[str, float]]:
    """Read the mean base reward of every class, by behavior."""
    with path.open(encoding="utf-8", newline="") as lines:
        return {
            row.pop("behavior"): {name: float(mean) for name, mean in row.items()}
            for row in csv.DictReader(lines)
        }


def base_rewards(responses: Sequence[Response]) -> dict[str, float]:
    """Give every response what a simulated reward model says, which only wants help."""
    tastes, rng = read_tastes(), np.random.default_rng(BASE_SEED)
    normal = NormalDist()
    shared: dict[str, float] = {}
    found = {}
    for row in responses:
        # Only `random()` is drawn: the other methods of a Generator may change between versions.
        if row["group"] not in shared:
            shared[row["group"]] = PROMPT_SPREAD * normal.inv_cdf(rng.random())
        own = RESPONSE_SPREAD * normal.inv_cdf(rng.random())
        found[row["id"]] = round(
            tastes[row["behavior"]][row["class"]] + shared[row["group"]] + own, 2
        )
    return found


def comparison_rows(responses: Sequence[Response]) -> list[Row]:
    """One row per response: the class that it was written for, and its base reward."""
    base = base_rewards(responses)
    return [
        {key: row[key] for key in SHOWN} | {"label": row["class"], "base_reward": base[row["id"]]}
        for row in responses
    ]


def nonsense_rows(rows: Sequence[Row]) -> list[Row]:
    """One row per ideal response and kind of nonsense; its base reward is the prompt's mean."""
    given: dict[str, list[float]] = {}
    for row in rows:
        given.setdefault(row["group"], []).append(row["base_reward"])
    return [
        row
        | {
            "id": f"{row['id']}-{kind}",
            "response": text,
            "label": "nonsense",
            "base_reward": round(fmean(given[row["group"]]), 2),
        }
        for row in rows
        if row["label"] == "ideal"
        for kind, text in nonsense_texts(row)
        if kind in NONSENSE
    ]


def nonsense_texts(row: Row) -> Iterator[tuple[str, str]]:
    """Give texts made of the response that say nothing, and all phrases of the judge."""
    text, language = row["response"], language_of(row["response"])
    words = list(text.strip()) if language == "zh" else text.split()
    if len(words) >= FEWEST_WORDS:
        order = draw_for(row["id"], "shuffled_words").permutation(len(words))
        shuffled = join_sentences([words[place] for place in order], language)
        if shuffled.split() != text.split():
            yield "shuffled_words", shuffled
    sentences = split_sentences(text)
    if len(sentences) >= 2:
        drawn = sentences[int(draw_for(row["id"], "repeated").integers(len(sentences)))]
        repeated = join_sentences([drawn] * len(sentences), language)
        if repeated.split() != text.split():
            yield "repeated_sentence", repeated
    if text.strip():
        yield "empty", ""
    if row["prompt"].strip():
        yield "echoed_prompt", row["prompt"]
    language = language_of(f"{row['prompt']} {row['response']}")
    yield "lexicon", ("，" if language == "zh" else ", ").join(cue_phrases(language))


def jsonl(rows: Iterable[Row]) -> str:
    """Write rows as JSON lines without a space too many, Chinese kept readable."""
    return "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    )


def make_files() -> dict[str, str]:
    """Make the four files: name and content."""
    responses = read_truth()
    comparisons = comparison_rows(responses)
    return {
        "responses.jsonl": jsonl({key: row[key] for key in SHOWN} for row in responses),
        "response_annotations.jsonl": jsonl(annotation_rows(responses)),
        "comparisons.jsonl": jsonl(comparisons),
        "comparisons_of_fit.jsonl": jsonl([*comparisons, *nonsense_rows(comparisons)]),
    }


def differing(folder: Path = TARGET) -> list[str]:
    """Names of the files in `folder` that are missing or differ from what the script makes."""
    return stale_files(make_files(), folder)


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or compare them under ``--check``."""
    return write_or_compare(make_files, arguments, about=__doc__, target=TARGET)


if __name__ == "__main__":
    sys.exit(main())
