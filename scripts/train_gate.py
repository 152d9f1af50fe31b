"""Make the gate of rewards, `src/voirdire/data/gate/english.npz`, from texts of this repository.

The texts of `local_judge/` and `gate/texts.txt` are language; their words in a wrong order are not.
A climb then looks for strings of words that the gate takes for language, which are learned too, and
that several times over. No text is judged by counts that it is part of. Takes some minutes.

    python scripts/train_gate.py            write the file
    python scripts/train_gate.py --check    fail if the committed gate is another one
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from voirdire.records import Item
from voirdire.rewards.gate import (
    N_CLASSES,
    Gate,
    LanguageModel,
    is_too_short,
    list_stems,
    measure_language,
    name_class,
    split_words,
)
from voirdire.rewards.search import join_units, list_units, search_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
TARGET = ROOT / "src" / "voirdire" / "data" / "gate" / "english.npz"

SEED = 0
N_FOLDS = 5
N_NONSENSE = 3_000
N_ROUNDS = 6
N_CLIMBS = 16
N_UNITS = 2_000
N_WORDS = 1_500
KIND_WEIGHTS = {"list": 6.0, "verse": 12.0, "short": 3.0, "code": 4.0, "fact": 4.0, "prose": 2.0}
"""There are few of these, and they are to count."""
REGULARISATION = 0.1
GENERAL_SHARE = 0.03
"""Words of so many of our prompts' answers are general."""


def read_texts() -> list[tuple[str, str, str]]:
    """Read kind, group and text of everything that is language."""
    rows = []
    for name in ("examples_en", "examples_answers", "examples_tone"):
        for line in (SCRIPTS / "local_judge" / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            rows.append(("answer", f"{name} {row['group']}", row["response"]))
    pieces = (SCRIPTS / "local_judge" / "pieces_en.jsonl").read_text("utf-8").splitlines()
    order = np.random.default_rng(SEED).permutation(len(pieces)).tolist()
    sentences = [json.loads(pieces[place])["text"] for place in order]
    rows += [
        ("piece", f"piece {place}", " ".join(sentences[place : place + 3]))
        for place in range(0, len(sentences), 3)
    ]
    for part in re.split(r"^# ", (SCRIPTS / "gate" / "texts.txt").read_text("utf-8"), flags=re.M)[
        1:
    ]:
        kind, _, body = part.partition("\n")
        texts = re.split(r"\n\n+", body.strip())
        rows += [(kind, f"{kind} {place}", text) for place, text in enumerate(texts)]
    return [row for row in rows if row[2].isascii() or not re.search("[一-鿿]", row[2])]


def list_general(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """List the stems that say nothing: of phrases, and of answers to many prompts."""
    groups = defaultdict(set)
    for kind, group, text in rows:
        if kind == "answer":
            groups[group] |= set(list_stems(text))
    counts = Counter(stem for stems in groups.values() for stem in stems)
    common = {stem for stem, n in counts.items() if n >= GENERAL_SHARE * len(groups)}
    phrases = (SCRIPTS / "gate" / "phrases.txt").read_text("utf-8")
    return sorted(common | set(list_stems(phrases)))


def write_nonsense(  # noqa: C901  # a kind of nonsense a case
    texts: Sequence[str], n: int, rng: np.random.Generator
) -> Iterator[str]:
    """Write words in a wrong order: drawn, shuffled, exchanged, chained by twos."""
    documents = [words for text in texts if len(words := list_units([text], "tokens")) >= 6]
    words = [word for document in documents for word in document]
    vocabulary, following = sorted(set(words)), defaultdict(list)
    for document in documents:
        for one, other in pairwise(document):
            following[one].append(other)

    def draw(among: Sequence[str], size: int) -> list[str]:
        return [among[place] for place in rng.integers(len(among), size=size)]

    for place in range(n):
        size = int(np.exp(rng.uniform(np.log(6), np.log(180))))
        document = list(documents[rng.integers(len(documents))])
        match place % 8:
            case 0:
                document = draw(words, size)
            case 1:
                document = draw(vocabulary, size)
            case 2:
                document = draw(draw(words, int(rng.integers(2, 12))), size)
            case 3:
                rng.shuffle(document)
            case 4:
                start = int(rng.integers(max(1, len(document) // 2)))
                part = document[start : start + max(8, len(document) // 2)]
                rng.shuffle(part)
                document[start : start + len(part)] = part
            case 5:
                for _ in range(max(4, len(document) // 3)):
                    document[rng.integers(len(document))] = draw(words, 1)[0]
            case 6:
                document = draw(words, 1)
                while len(document) < size:
                    document += draw(following[document[-1]] or words, 1)
            case _:
                document = []
                while len(document) < size:
                    other = documents[rng.integers(len(documents))]
                    start = int(rng.integers(len(other)))
                    document += other[start : start + int(rng.integers(1, 4))]
        text = join_units(document)
        yield text.lower() if rng.random() < 0.3 else text


def learn_language(texts: Sequence[str]) -> LanguageModel:
    """Count the trigrams of texts."""
    documents = [split_words(text) for text in texts]
    counts = Counter(word for words in documents for word in words)
    words = [word for word, _ in counts.most_common(N_WORDS)]
    classes: Counter[str] = Counter()
    for word in counts.keys() - set(words):
        classes[name_class(word)] += counts[word]
    names = sorted(classes, key=lambda name: (-classes[name], name))[: N_CLASSES - 1]
    one = np.zeros(1, dtype=np.int64)
    about = {"words": words, "classes": names}
    empty = LanguageModel(**about, pairs=one, n_pairs=one, triples=one, n_triples=one)
    codes = np.concatenate([empty.encode(document) for document in documents])
    pairs, triples = empty.number_runs(codes)
    different_pairs, n_pairs = np.unique(pairs, return_counts=True)
    different_triples, n_triples = np.unique(triples, return_counts=True)
    return LanguageModel(
        **about,
        pairs=different_pairs,
        n_pairs=n_pairs,
        triples=different_triples,
        n_triples=n_triples,
    )


class Training:
    """Texts in folds, each with the counts of the other folds."""

    def __init__(self, rows: Sequence[tuple[str, str, str]]) -> None:
        self.rng = np.random.default_rng(SEED)
        groups = sorted({group for _, group, _ in rows})
        folds = dict(zip(groups, self.rng.permutation(len(groups)) % N_FOLDS, strict=True))
        self.folds = [[row for row in rows if folds[row[1]] == fold] for fold in range(N_FOLDS)]
        self.models = [
            learn_language([text for _, group, text in rows if folds[group] != fold])
            for fold in range(N_FOLDS)
        ]
        self.general = list_general(rows)
        self.whole = learn_language([text for *_, text in rows])
        real, nonsense, weights = [], [], []
        for fold, model in zip(self.folds, self.models, strict=True):
            texts = [text for *_, text in fold]
            beginnings = [
                " ".join(re.split(r"(?<=[.!?])\s", text)[: self.rng.integers(1, 3)])
                for kind, _, text in fold
                if kind in {"answer", "prose"} and self.rng.random() < 0.5
            ]
            beginnings = [text for text in beginnings if not is_too_short(text)]
            real.append(measure_language(model, [*texts, *beginnings]))
            weights += [KIND_WEIGHTS.get(kind, 1.0) for kind, *_ in fold] + [1.0] * len(beginnings)
            salads = [*write_nonsense(texts, N_NONSENSE // N_FOLDS, self.rng)]
            nonsense.append(measure_language(model, salads))
        self.real, self.nonsense, self.weights = (
            np.vstack(real),
            np.vstack(nonsense),
            np.array(weights),
        )
        both = np.vstack([self.real, self.nonsense])
        self.center, self.scale = both.mean(axis=0), both.std(axis=0) + 1e-9

    def fit(self, model: LanguageModel) -> bytes:
        """Fit the weights of the figures, both sides counting the same; write it with counts."""
        figures = (np.vstack([self.real, self.nonsense]) - self.center) / self.scale
        figures = np.clip(figures, -5, 5)
        n_real, n_nonsense = len(self.real), len(self.nonsense)
        weights = self.weights * n_nonsense / self.weights.sum()
        regression = LogisticRegression(C=REGULARISATION, max_iter=5_000).fit(
            np.hstack([figures, figures**2]),
            np.repeat([0, 1], [n_real, n_nonsense]),
            sample_weight=np.concatenate([weights, np.ones(n_nonsense)]),
        )
        coefficients, squares = np.split(regression.coef_[0], 2)
        # rounded, so that another machine writes the same file
        figures = np.array([self.center, self.scale, coefficients]).astype(np.float32)
        file = io.BytesIO()
        np.savez_compressed(
            file,
            words=np.array("\0".join(model.words)),
            classes=np.array("\0".join(model.classes)),
            general=np.array("\0".join(self.general)),
            pairs=np.diff(model.pairs, prepend=0).astype(np.uint32),
            n_pairs=np.minimum(model.n_pairs, 65_535).astype(np.uint16),
            triples=np.diff(model.triples, prepend=0).astype(np.uint32),
            n_triples=np.minimum(model.n_triples, 65_535).astype(np.uint16),
            figures=figures,
            squares=squares.astype(np.float32),
            intercept=np.float32(regression.intercept_[0]),
        )
        return file.getvalue()

    def harden(self) -> None:
        """Climb for strings that pass, and learn them."""
        prompts = [Item(id=str(place), response="") for place in range(N_CLIMBS)]
        found = []
        for fold, model in zip(self.folds, self.models, strict=True):
            gate = Gate(self.fit(model))
            for unit in ("words", "bigrams"):
                for shortest in (3, 14):
                    units = list_units([text for *_, text in fold], unit)
                    units = [units[at] for at in self.rng.permutation(len(units))[:N_UNITS]]
                    passing = search_texts(
                        prompts,
                        units,
                        score=lambda items, gate=gate: (
                            -gate.measure_margins([item.response for item in items])
                        ),
                        shortest=shortest,
                        rng=self.rng,
                    )
                    found.append(measure_language(model, [item.response for item in passing]))
        self.nonsense = np.vstack([self.nonsense, *found])


def make_gate() -> bytes:
    """Train on everything, on one thread."""
    with threadpool_limits(limits=1):
        training = Training([row for row in read_texts() if not is_too_short(row[2])])
        for place in range(N_ROUNDS):
            print(f"round {place + 1} of {N_ROUNDS}", file=sys.stderr)
            training.harden()
        return training.fit(training.whole)


def main() -> int:
    """Write the gate, or compare it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    gate = make_gate()
    if options.check:
        one, other = (np.load(io.BytesIO(data)) for data in (gate, TARGET.read_bytes()))
        same = all(
            np.allclose(one[name], other[name], atol=1e-3)
            if one[name].dtype == np.float32
            else np.array_equal(one[name], other[name])
            for name in one.files
        )
        print("the committed gate is current" if same else "the committed gate is another one")
        return 0 if same else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(gate)
    print(f"{Gate(gate).fingerprint}\n{len(gate)} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
