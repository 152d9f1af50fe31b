"""Make the bundled local judge: weights, calibrators and card in `src/voirdire/data/local_judge`.

The gold set is not part of this repository: `--data` names the folder that holds
`rbr_gold/train.jsonl`. Our own examples are beside this script, in `local_judge/`. The same data,
seed and versions of the libraries give the same arrays. Takes a few minutes on one core.

    python scripts/train_local_judge.py            write the files
    python scripts/train_local_judge.py --check    fail if the committed judge is another one
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from local_judge.training_data import gold_items, nonsense_items, own_items, piece_items
from threadpoolctl import threadpool_limits

from voirdire.judging.local import LocalJudge, distill_judge
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from local_judge.training_data import Labelled

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "scripts" / "local_judge"
TARGET = ROOT / "src" / "voirdire" / "data" / "local_judge"
GOLD_FILE = Path("rbr_gold") / "train.jsonl"

SEED = 0
GOLD_WEIGHT = 2.0
OWN_WEIGHT = 0.3
ANSWER_WEIGHT = 1.0
PIECE_WEIGHT = 0.1
N_PIECE_TEXTS = 200
NONSENSE_WEIGHT = 0.05


def labelled_sets(data: Path, questions: tuple[str, ...]) -> list[Labelled]:
    """Read every source; the first decides how far a proposition is trusted."""
    own = EXAMPLES / "examples_en.jsonl", EXAMPLES / "examples_zh.jsonl"
    pieces = EXAMPLES / "pieces_en.jsonl", EXAMPLES / "pieces_zh.jsonl"
    sets = [
        gold_items(data / GOLD_FILE, questions, weight=GOLD_WEIGHT),
        own_items(own[0], questions, name="own-en", weight=OWN_WEIGHT, informs_only=True),
        own_items(
            EXAMPLES / "examples_answers.jsonl",
            questions,
            name="own-answers",
            weight=ANSWER_WEIGHT,
            informs_only=False,
        ),
        own_items(
            EXAMPLES / "examples_tone.jsonl",
            questions,
            name="own-tone",
            weight=ANSWER_WEIGHT,
            informs_only=True,
        ),
        own_items(own[1], questions, name="own-zh", weight=OWN_WEIGHT, informs_only=False),
        *(
            piece_items(
                path, questions, name=name, weight=PIECE_WEIGHT, n_items=N_PIECE_TEXTS, seed=SEED
            )
            for path, name in zip(pieces, ("pieces-en", "pieces-zh"), strict=True)
        ),
    ]
    return [*sets, nonsense_items(sets, questions, weight=NONSENSE_WEIGHT, seed=SEED)]


def make_judge(data: Path, *, seed: int) -> LocalJudge:
    """Train on everything, on one thread: sums in another order would be other sums."""
    rubric = load_rubric("safety")
    questions = rubric.propositions
    sets = labelled_sets(data, questions)
    with threadpool_limits(limits=1):
        return distill_judge(
            [item for part in sets for item in part.items],
            np.vstack([part.labels for part in sets]),
            questions=questions,
            weights=np.repeat([part.weight for part in sets], [len(part.items) for part in sets]),
            sources=[part.about.name for part in sets for _ in part.items],
            about=[part.about for part in sets],
            seed=seed,
            name="local",
            rubric_name=rubric.name,
            question_texts={row.id: dict(row.text) for row in rubric.questions},
            progress=lambda done, total: print(f"fold {done} of {total}", file=sys.stderr),
        )


def same_judge(one: LocalJudge, other: LocalJudge) -> bool:
    """Compare fingerprints (weights, calibrators, questions) and the figures of the cards."""
    return one.fingerprint == other.fingerprint and one.card.figures == other.card.figures


def main() -> int:
    """Write the judge, or compare it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not (options.data / GOLD_FILE).is_file():
        print(
            f"{options.data / GOLD_FILE}: no such file. Name the folder that holds "
            f"{GOLD_FILE} with --data.",
            file=sys.stderr,
        )
        return 1
    judge = make_judge(options.data, seed=options.seed)
    if options.check:
        same = same_judge(judge, LocalJudge.load(TARGET / "safety.npz"))
        print("the committed judge is current" if same else "the committed judge is another one")
        return 0 if same else 1
    judge.save(TARGET / "safety.npz")
    card = json.dumps(judge.card.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    (TARGET / "card.json").write_text(card + "\n", encoding="utf-8")
    print(f"{judge.fingerprint}\n{(TARGET / 'safety.npz').stat().st_size} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
