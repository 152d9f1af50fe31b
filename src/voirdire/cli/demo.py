"""`voirdire demo`: judge bundled responses, examine the judge, fit a reward, examine that."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._types import Language
from voirdire.cli.options import AsJson, ReportLanguage
from voirdire.cli.printing import listen_for_interrupts, print_json, progress
from voirdire.cli.written_files import check_written, open_page, write_text
from voirdire.errors import InputError, UncertifiedWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import AlignmentName
    from voirdire.judging import JudgingSummary
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.studies import Examination
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["demo_command"]

ANNOTATIONS, JUDGES = "annotations.jsonl", "judges.jsonl"
COMPARISONS, OF_FIT = "comparisons.jsonl", "comparisons_of_fit.jsonl"
VERDICTS, EXAMINATION, REPORT = "verdicts.parquet", "examination.json", "report.html"
CERTIFICATE, REWARD, REWARDS = "certificate.json", "reward.json", "rewards.jsonl"
REWARD_EXAMINATION = "reward_examination.json"
COPIED = (
    "texts.jsonl",
    ANNOTATIONS,
    JUDGES,
    "responses.jsonl",
    "response_annotations.jsonl",
    COMPARISONS,
    OF_FIT,
    "commands.sh",
    "dataset.json",
    "README.md",
)
_MADE = (VERDICTS, EXAMINATION, CERTIFICATE, REWARD, REWARDS, REWARD_EXAMINATION)

EPSILON = 0.2
"""For experts, whose labels cost most: twenty-one questions about a response are work for them."""
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
ALIGNMENTS: dict[str, tuple[AlignmentName, ...]] = {
    "toxicity": ("accuracy", "jaccard", "jaccard_macro", "hamming"),
    "needs_review": ("accuracy",),
    "severity": ("neg_rmse",),
}
_KINDS = {"toxicity": "multilabel", "needs_review": "boolean", "severity": "scale"}
RUBRIC, JUDGE = "safety", "local"
RESAMPLES = 100
"""Of the fit: half of what `voirdire fit` takes, since nobody should wait for a demonstration."""
_ORDER = "ideal > less_good > unacceptable, illogical > disallowed; less_good > nonsense"


def demo_command(
    *,
    folder: Annotated[Path, Parameter(name=("--output", "-o"), metavar="DIR")] = Path(
        "voirdire-demo"
    ),
    language: ReportLanguage = "en",
    browse: Annotated[bool, Parameter(name="--open", negative="--no-open")] = True,
    as_json: AsJson = False,
) -> None:
    """Judge bundled responses, examine the judge, fit a reward to its verdicts, and examine that.

    Eight simulated judges of short texts are examined beside it.

    Parameters
    ----------
    folder
        Folder for data and results.
    browse
        Open the report in the browser, where there is a screen.
    """
    from voirdire.reporting import examination_to_json
    from voirdire.reporting.demo_text import Demonstration, demo_lines
    from voirdire.reporting.reward_json import reward_examination_to_json

    listen_for_interrupts()
    _prepare_folder(folder)
    with progress("judging"):
        judged, of_responses = _judge_responses(folder)
    with progress("fitting a reward"):
        fit, reward = _fit_and_score(folder)
    of_reward = reward_examination_to_json(reward)
    write_text(folder / REWARD_EXAMINATION, of_reward + "\n")
    with progress("examining"):
        of_texts = [_examine_texts(folder, question) for question in ALIGNMENTS]
        examination = _merge([*of_texts, of_responses])
        content = examination_to_json(examination)
    write_text(folder / EXAMINATION, content + "\n")
    with progress("writing the report"):
        _write_report(folder / REPORT, examination, reward, language)
    if as_json:
        print_json(json.loads(content) | {"reward_examination": json.loads(of_reward)})
        return
    done = Demonstration(
        epsilon=EPSILON,
        judged=judged,
        of_responses=of_responses,
        of_texts=of_texts,
        fit=fit,
        reward=reward,
    )
    for line in demo_lines(
        done,
        folder=folder,
        page=folder / REPORT,
        humans=folder / ANNOTATIONS,
        judges=folder / JUDGES,
    ):
        print(line)
    if browse:
        open_page(folder / REPORT)


def _prepare_folder(output: Path) -> None:
    """Make the folder and copy the data into it; refuse one that holds other people's files."""
    _check_folder(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = (
            f"`--output` must be a folder that can be made, got {str(output)!r} ({error.strerror})."
        )
        raise InputError(msg) from error
    check_written(option="--output", report=output / REPORT)
    for name in COPIED:
        with as_file(files("voirdire") / "data" / "demo" / name) as source:
            write_text(output / name, source.read_text(encoding="utf-8"))


def _check_folder(output: Path) -> None:
    """Refuse a folder that holds files of these names, unless a demo was written there before."""
    with suppress(OSError, ValueError):
        card = json.loads((output / "dataset.json").read_text(encoding="utf-8"))
        if isinstance(card, dict) and card.get("name") == "voirdire-demo":
            return
    for name in (*COPIED, *_MADE):
        if (output / name).exists():
            msg = f"`--output` must not hold other files, got {str(output / name)!r}. Name another."
            raise InputError(msg)


def _judge_responses(folder: Path) -> tuple[JudgingSummary, Examination]:
    """Judge the responses by the thresholds of the judge's card, and examine every proposition."""
    from voirdire.io import read_labels, read_metadata
    from voirdire.judging import judge_file
    from voirdire.reporting import certificate_to_json
    from voirdire.studies import TestPlan, certify, examine

    responses, verdicts = folder / "responses.jsonl", folder / VERDICTS
    summary = judge_file(responses, verdicts, rubric=RUBRIC, judge=JUDGE)
    humans = read_labels(folder / "response_annotations.jsonl", role="annotator", kind="boolean")
    judges = read_labels(verdicts, role="judge", kind="boolean")
    examination = examine(
        judges=judges.of_questions(humans.questions),  # classes follow from the answers
        humans=humans,
        # most propositions are true of one response in eight: unweighted, "always no" might pass
        plan=TestPlan(epsilon=EPSILON, weights="imbalance"),
        metadata=read_metadata(responses, columns=["language"]),
    )
    record = certify(examination, humans=humans, judges=judges, reading={"missing": []})
    write_text(folder / CERTIFICATE, certificate_to_json(record) + "\n")
    return summary, examination


def _fit_and_score(folder: Path) -> tuple[RewardFit, RewardExamination]:
    """Fit, score and examine from the files in the folder: there are no other comparisons."""
    from voirdire.rewards.file_scoring import score_file
    from voirdire.rewards.fitting.fit import fit_reward
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.studies.reward.examine import examine_reward

    comparisons, verdicts = folder / COMPARISONS, folder / VERDICTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)  # what is printed and the page say it
        fit = fit_reward(
            folder / OF_FIT,
            rubric=RUBRIC,
            settings=FitSettings(n_resamples=RESAMPLES, orders={"*": _ORDER}),
            certificates=[folder / CERTIFICATE],
            name="demo",
        )
    fit.model.save(folder / REWARD)
    score_file(comparisons, folder / REWARDS, reward=fit.model, verdicts=verdicts)
    reward = examine_reward(fit.model, comparisons, verdicts=verdicts)
    return fit, replace(reward, settings={**reward.settings, "simulated": True})


def _examine_texts(folder: Path, question: str) -> Examination:
    """Examine the simulated judges on one question: each is of a kind of its own."""
    from voirdire.io import read_metadata
    from voirdire.studies import examine

    labels: Any = None
    if question == "toxicity":
        labels = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))["labels"]
    return examine(
        judges=folder / JUDGES,
        humans=folder / ANNOTATIONS,
        alignment=ALIGNMENTS[question],
        kind=_KINDS[question],  # type: ignore[arg-type]  # a literal
        labels=labels,
        questions=[question],
        epsilon=EPSILONS,
        metadata=read_metadata(folder / "texts.jsonl", columns=["language"]),
    )


def _merge(parts: Sequence[Examination]) -> Examination:
    """Put the examinations of several kinds of question into one."""
    from voirdire.studies import Examination

    return Examination(
        results=tuple(row for part in parts for row in part.results),
        dropped=tuple(dict.fromkeys(row for part in parts for row in part.dropped)),
        settings={
            "simulated": True,
            "real_judges": [JUDGE],
            "simulated_base_rewards": True,
            "questions": [part.settings for part in parts],
        },
        questions=tuple(row for part in parts for row in part.questions),
    )


def _write_report(
    path: Path, examination: Examination, reward: RewardExamination, language: Language
) -> None:
    from voirdire.reporting import html_report

    write_text(path, html_report(examination, language=language, reward=reward))
