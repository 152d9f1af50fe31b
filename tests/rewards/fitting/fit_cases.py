"""Small comparisons with verdicts, and the rubric that they belong to."""

from dataclasses import dataclass

import numpy as np

from voirdire.records import Verdicts
from voirdire.rubrics import rubric_from_text

RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: manners
version: "1"
questions:
  - {id: polite, kind: boolean, text: {en: "Is the response polite?"}}
  - {id: useful, kind: boolean, text: {en: "Is the response useful?"}}
  - {id: rude, kind: boolean, text: {en: "Is the response rude?"}}
  - {id: long, kind: boolean, text: {en: "Is the response long?"}}
behaviors:
  answer:
    demands: {polite: desired, useful: required, rude: unacceptable, long: allowed}
    classes: {ideal: useful and not rude, poor: otherwise}
  refuse:
    demands: {polite: required, rude: unacceptable}
    classes: {ideal: polite and not rude, poor: otherwise}
"""
)
PROPOSITIONS = RUBRIC.propositions
PUSH = np.array([1.0, 2.0, -1.5, 0.0])
"""How the propositions make a label better in `labelled_rows`."""


@dataclass(frozen=True)
class Case:
    """Rows of comparisons, and the verdicts on them."""

    rows: list
    judged: Verdicts


def judged_of(probabilities, *, failures=None):
    """Give verdicts on items `i0`, `i1`, … by their probabilities, one row each."""
    values = np.asarray(probabilities, dtype=float)
    return Verdicts(
        items=tuple(f"i{k}" for k in range(len(values))),
        questions=PROPOSITIONS[: values.shape[1]],
        probabilities=values,
        behaviors=(None,) * len(values),
        judge="hand",
        fingerprint="sha256:" + "0" * 64,
    ).with_reasons(failures or {})


def row_of(place, prompt, label, **further):
    """Give one row of a file of completions."""
    return {
        "id": f"i{place}",
        "prompt": f"prompt {prompt}",
        "response": f"response {place}",
        "label": label,
        "behavior": "answer",
    } | further


def labelled_case(seed, *, n_prompts=12, n_each=4, noise=0.7, base=False, behavior="answer"):
    """Draw completions whose label follows from their propositions, with some noise."""
    rng = np.random.default_rng(seed)
    probabilities = rng.random((n_prompts * n_each, 4))
    merit = probabilities @ PUSH + noise * rng.normal(size=len(probabilities))
    rows = []
    for place, value in enumerate(merit):
        label = "ideal" if value > 1.2 else "less_good" if value > 0.4 else "poor"
        row = row_of(place, place // n_each, label, behavior=behavior)
        if base:
            row["base_reward"] = float(rng.normal() + 0.5 * value)
        rows.append(row)
    return Case(rows, judged_of(probabilities))
