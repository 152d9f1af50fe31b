"""The words that hint at something, which are data: none of them may be written in vain."""

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from voirdire.judging import load_local_judge
from voirdire.records import Item
from voirdire.stats import Calibrator

PHRASES = json.loads(
    (files("voirdire") / "data" / "local_judge" / "cue_phrases.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def judge():
    """A judge that says yes to the question named like a hint where it finds one of its phrases."""
    bundled, n = load_local_judge(), len(PHRASES)
    cues = np.zeros((2, bundled.weights.cues.shape[1], n), dtype=np.float32)
    cues[:, np.arange(n), np.arange(n)] = 2  # the first columns are whether a hint is there
    weights = replace(
        bundled.weights,
        columns=np.zeros(0, dtype=np.int32),
        ngrams=np.zeros((0, n), dtype=np.int8),
        scales=np.ones(n, dtype=np.float32),
        cues=cues,
        intercepts=np.full((2, n), -1, dtype=np.float32),
    )
    same = Calibrator(method="platt", slope=1.0, intercept=0.0)
    return replace(bundled, questions=tuple(PHRASES), weights=weights, calibrators=(same,) * n)


@pytest.mark.ci
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_phrase_is_found_and_hints_at_what_it_is_listed_for(judge, language):
    pairs = [(name, phrase) for name, row in PHRASES.items() for phrase in row[language]]
    items = [Item(id=str(n), response=f"xx {phrase} yy") for n, (_, phrase) in enumerate(pairs)]

    p = judge.probabilities(items)

    missed = [pair for pair, row in zip(pairs, p, strict=True)
              if row[judge.questions.index(pair[0])] < 0.5]  # fmt: skip
    assert len(pairs) > 300
    assert missed == []
    assert judge.probabilities([Item(id="0", response="xx yy")]).max() < 0.5
