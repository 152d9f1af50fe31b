"""Loads and saves the calibration of a language model: one calibrator per question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.documents import hash_content, write_json
from voirdire.errors import InputError
from voirdire.stats import Calibrator, calibrator_from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from voirdire._types import Threshold

CALIBRATION_SCHEMA = "voirdire.calibration/1"


@dataclass(frozen=True, kw_only=True)
class QuestionCalibration:
    """The calibrator of one question, with figures of its effect.

    The figures are of items that the calibrator was not fitted to.

    Attributes
    ----------
    calibrator : Calibrator
        Fitted to all items with a gold label.
    n_items : int
        Number of these items.
    brier, calibrated_brier : float
        Brier score before and after, in [0, 1].
    calibration_error, calibrated_error : float
        Root mean square distance of probabilities from shares, before and after, in [0, 1].
    """

    calibrator: Calibrator
    n_items: int
    brier: float
    calibrated_brier: float
    calibration_error: float
    calibrated_error: float


@dataclass(frozen=True, kw_only=True)
class JudgeCalibration:
    """The calibrators of one judge.

    Attributes
    ----------
    judge : str
        Name of the judge in the verdicts that it was fitted to.
    fingerprint : str
        Of these verdicts: judge, prompt, rubric and what is judged.
    threshold : float, or mapping of str to float
        Thresholds of yes in these verdicts; part of the fingerprint.
    gold_hash : str
        SHA-256 over the gold labels.
    questions : mapping of str to QuestionCalibration
        By proposition; the probabilities of others are not changed.
    """

    judge: str
    fingerprint: str
    threshold: Threshold
    gold_hash: str
    questions: Mapping[str, QuestionCalibration]

    @cached_property
    def content_hash(self) -> str:
        """Hash of the calibrators, which calibrated verdicts depend on."""
        return hash_content(
            {name: row.calibrator.to_dict() for name, row in self.questions.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the content of its file."""
        questions = {
            name: vars(row) | {"calibrator": row.calibrator.to_dict()}
            for name, row in self.questions.items()
        }
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {"schema": CALIBRATION_SCHEMA, **own, "questions": questions}

    def save(self, path: str | Path) -> None:
        """Write it to a JSON file, atomically.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_json(path, self.to_dict())


def load_calibration(path: str | Path) -> JudgeCalibration:
    """Load the calibration of a judge from its file.

    Parameters
    ----------
    path : str or path
        A JSON file that ``voirdire examine --gold ... --calibration`` wrote.

    Returns
    -------
    JudgeCalibration
        For `LlmJudge`.

    Raises
    ------
    InputError
        If the file cannot be read or breaks a rule; the message begins with the file.
    """
    from voirdire.documents import read_document

    content = read_document(path, what="a calibration", layout="json").value
    return read_calibration(content, source=str(path))


def read_calibration(content: Mapping[str, Any], *, source: str) -> JudgeCalibration:
    """Make a calibration from the content of a file."""
    from voirdire.records.thresholds import threshold_from_cell

    try:
        fields = {**content, "threshold": threshold_from_cell(content["threshold"])}
        if fields.pop("schema") != CALIBRATION_SCHEMA:
            raise ValueError(f"`schema` must be {CALIBRATION_SCHEMA}")
        questions = {}
        for name, row in content["questions"].items():
            calibrator = calibrator_from_dict(row["calibrator"])
            questions[name] = QuestionCalibration(**row | {"calibrator": calibrator})
        return JudgeCalibration(**fields | {"questions": questions})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        why = shorten(str(error))
        msg = f"{source}: a calibration must be as `save` writes it, got something else ({why})."
        raise InputError(msg) from error
