"""Defines the local judge: one calibrated text classifier per question."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.judging.local.features import FEATURES_VERSION, describe_items, split_items
from voirdire.judging.local.weights import to_probabilities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource
    from voirdire.judging.local.card import JudgeCard
    from voirdire.judging.local.weights import QuantisedWeights
    from voirdire.records import Item
    from voirdire.stats import Calibrator

__all__ = ["BUNDLED", "LocalJudge", "load_local_judge"]


@dataclass(frozen=True, kw_only=True)
class LocalJudge:
    """Answers boolean questions about items by one linear text classifier each.

    Attributes
    ----------
    name : str
        Its name in verdicts.
    questions : tuple of str
        Ids of the questions that it answers, in the order of its columns.
    card : JudgeCard
        Its training data, figures, and doubts.
    weights : QuantisedWeights
        Of all features.
    calibrators : tuple of Calibrator
        One per question, fitted on scores of items that were held out.
    thresholds : mapping of str to float
        By question: the answer is yes from this probability on. Empty for older judges, whose
        answer is yes from 1/2 on.
    question_texts : mapping of str to mapping
        The wording that it was made for, by question and language; may be empty.
    source : str
        ``"classifier"``.
    """

    name: str
    questions: tuple[str, ...]
    card: JudgeCard = field(repr=False)
    weights: QuantisedWeights = field(repr=False)
    calibrators: tuple[Calibrator, ...] = field(repr=False)
    thresholds: Mapping[str, float] = field(default_factory=dict, repr=False)
    question_texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    source: ProbabilitySource = "classifier"

    @cached_property
    def fingerprint(self) -> str:
        """``sha256:`` and 64 digits over all that answers depend on."""
        digest = hashlib.sha256()
        settings = {
            "name": self.name,
            "questions": list(self.questions),
            "features_version": FEATURES_VERSION,
            "calibrators": [calibrator.to_dict() for calibrator in self.calibrators],
        } | ({"thresholds": dict(self.thresholds)} if self.thresholds else {})
        digest.update(json.dumps(settings, sort_keys=True, ensure_ascii=False).encode())
        for name, values in sorted(vars(self.weights).items()):
            little = values.astype(values.dtype.newbyteorder("<"), copy=False)
            digest.update(f"\n{name} {values.dtype.str[1:]} {values.shape}\n".encode())
            digest.update(np.ascontiguousarray(little).tobytes())
        return f"sha256:{digest.hexdigest()}"

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        return self.weights.table()

    def probabilities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Answer every question about every item.

        Parameters
        ----------
        items : sequence of Item
            Any number; an item's answers do not depend on the others.

        Returns
        -------
        ndarray of float64, shape (n_items, n_questions)
            Calibrated, in [0, 1], never nan. Of a response of more than 65,536 characters the
            first three quarters and the last quarter of so many are read.
        """
        result = np.empty((len(items), len(self.questions)))
        start = 0
        for batch in split_items(items):
            scores = self.weights.scores(describe_items(batch), self._table)
            result[start : start + len(batch)] = self._calibrate(scores)
            start += len(batch)
        return result

    def _calibrate(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        raw = to_probabilities(scores)
        columns = [
            calibrator.apply(raw[:, index]) for index, calibrator in enumerate(self.calibrators)
        ]
        return np.clip(np.column_stack(columns), 0.0, 1.0)

    def save(self, path: str | Path) -> None:
        """Write the judge to one npz file, card included; the same judge gives the same bytes.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced in one step.
        """
        from voirdire.judging.local.storage import write_judge

        write_judge(path, self.header(), self.weights)

    @classmethod
    def load(cls, path: str | Path) -> LocalJudge:
        """Read a judge from a file that `save` wrote; nothing in it is run.

        Parameters
        ----------
        path : str or Path
            The npz file.

        Returns
        -------
        LocalJudge
            With the fingerprint of the one that was saved.

        Raises
        ------
        InputError
            If the file is not such a file, or is damaged, too large, or of a newer version.
        """
        from voirdire.judging.local.storage import read_judge

        return read_judge(path, _assemble)

    def header(self) -> dict[str, Any]:
        """Return everything except the arrays as plain values."""
        return {
            "name": self.name,
            "questions": list(self.questions),
            "features_version": FEATURES_VERSION,
            "calibrators": [calibrator.to_dict() for calibrator in self.calibrators],
            "question_texts": {name: dict(text) for name, text in self.question_texts.items()},
            "thresholds": dict(self.thresholds),
            "card": self.card.to_dict(),
            "fingerprint": self.fingerprint,
        }


def _assemble(header: dict[str, Any], weights: QuantisedWeights) -> LocalJudge:
    from voirdire.judging.local.card import JudgeCard
    from voirdire.judging.local.storage import RefusedError
    from voirdire.stats import calibrator_from_dict

    questions = tuple(header["questions"])
    calibrators = tuple(calibrator_from_dict(row) for row in header["calibrators"])
    if len(calibrators) != len(questions):
        raise RefusedError(f"must have {len(questions)} calibrators, got {len(calibrators)}")
    thresholds = {
        str(name): float(value) for name, value in dict(header.get("thresholds", {})).items()
    }
    if not all(name in questions and 0 < value < 1 for name, value in thresholds.items()):
        raise RefusedError("must have thresholds in (0, 1) for its questions")
    judge = LocalJudge(
        name=str(header["name"]),
        questions=questions,
        card=JudgeCard.from_dict(header["card"]),
        weights=weights,
        calibrators=calibrators,
        thresholds=thresholds,
        question_texts={
            str(name): dict(text) for name, text in dict(header["question_texts"]).items()
        },
    )
    if judge.fingerprint != header["fingerprint"]:
        raise RefusedError(
            "must have the fingerprint of its content, got another one: it was changed"
        )
    return judge


BUNDLED = "local"
"""The judge of the safety rubric's 21 propositions, in English and Chinese."""


def load_local_judge(name_or_path: str | Path = BUNDLED) -> LocalJudge:
    """Load the bundled judge, or one from a file.

    Parameters
    ----------
    name_or_path : str or Path, optional
        ``"local"`` for the bundled one, or a file that `LocalJudge.save` wrote.

    Returns
    -------
    LocalJudge
        Ready to judge.

    Raises
    ------
    InputError
        If there is no such file, or it does not hold a local judge.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> judge = load_local_judge()
    >>> item = Item(id="1", response="I'm sorry, but I can't help with that.")
    >>> p = dict(zip(judge.questions, judge.probabilities([item])[0].tolist(), strict=True))
    >>> p["inability_to_comply"] > 0.5 > p["fully_complies"]
    True
    """
    return _load_bundled() if name_or_path == BUNDLED else LocalJudge.load(name_or_path)


@cache
def _load_bundled() -> LocalJudge:
    with as_file(files("voirdire") / "data" / "local_judge" / "safety.npz") as path:
        return LocalJudge.load(path)
