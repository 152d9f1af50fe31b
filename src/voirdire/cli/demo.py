"""`voirdire demo`: judge bundled responses, examine the judge, fit a reward, examine that."""

from __future__ import annotations

import json
import shlex
import textwrap
import warnings
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire.cli import options as typed
from voirdire.cli.printing import print_json, progress, start_reading
from voirdire.cli.written_files import check_written, open_page, write_text
from voirdire.errors import InputError, UncertifiedWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire._types import AlignmentName
    from voirdire.studies import Examination
    from voirdire.studies.reward.result import RewardExamination

ANNOTATIONS, JUDGES = "annotations.jsonl", "judges.jsonl"
COMPARISONS, OF_FIT = "comparisons.jsonl", "comparisons_of_fit.jsonl"
VERDICTS, EXAMINATION, REPORT = "verdicts.parquet", "examination.json", "report.html"
CERTIFICATE, REWARD, REWARDS = "certificate.json", "reward.json", "rewards.jsonl"
REWARD_EXAMINATION = "reward_examination.json"
EPSILON = 0.2
"""For experts, whose labels cost most: twenty-one questions about a response are work for them."""
ALIGNMENTS: dict[str, tuple[AlignmentName, ...]] = {
    "toxicity": ("accuracy", "jaccard", "jaccard_macro", "hamming"),
    "needs_review": ("accuracy",),
    "severity": ("neg_rmse",),
}
_KINDS: dict[str, Any] = {"toxicity": "multilabel", "needs_review": "boolean", "severity": "scale"}
_MARKS = {
    "passed": "✓ passed",
    "passed_as_random_person": "✓ passed as a random person",
    "not_shown": "○ not shown",
    "worse": "✗ worse",
    "no_evidence": "? no evidence",
}
RUBRIC, JUDGE = "safety", "local"
RESAMPLES = 100
"""Of the fit: half of what `voirdire fit` takes, since nobody should wait for a demonstration."""
_ORDER = "ideal > less_good > unacceptable, illogical > disallowed; less_good > nonsense"


def demo_command(
    *,
    folder: Annotated[Path, Parameter(name=("--output", "-o"), metavar="DIR")] = Path(
        "voirdire-demo"
    ),
    language: typed.ReportLanguage = "en",
    browse: Annotated[bool, Parameter(name="--open", negative="--no-open")] = True,
    as_json: typed.AsJson = False,
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
    from voirdire.reporting import html_page, to_json
    from voirdire.studies import Examination

    start_reading()
    _prepare_folder(folder)
    with progress("judging"):
        of_responses = _judge_responses(folder)
    with progress("fitting a reward"):
        reward = _fit_and_score(folder)
    of_reward = to_json(reward)
    write_text(folder / REWARD_EXAMINATION, of_reward + "\n")
    with progress("examining"):
        of_texts = [_examine_texts(folder, question) for question in ALIGNMENTS]
        parts = [*of_texts, of_responses]
        examination = Examination(
            results=tuple(row for part in parts for row in part.results),
            dropped=tuple(dict.fromkeys(row for part in parts for row in part.dropped)),
            settings={
                "simulated": True,
                "questions": [part.settings for part in parts],
            },
            questions=tuple(row for part in parts for row in part.questions),
        )
        content = to_json(examination)
    write_text(folder / EXAMINATION, content + "\n")
    with progress("writing the report"):
        page = html_page(examination, language=language, reward=reward)
        write_text(folder / REPORT, page)
    if as_json:
        print_json(json.loads(content) | {"reward_examination": json.loads(of_reward)})
        return
    print(*_sum_up(of_responses, of_texts, reward, folder), sep="\n")
    if browse:
        open_page(folder / REPORT)


def _sum_up(
    responses: Examination, texts: Sequence[Examination], reward: RewardExamination, folder: Path
) -> Iterator[str]:
    """Say what was done, the verdicts at one ε, what the reward is worth, and how to go on."""
    from voirdire.reporting import rows
    from voirdire.reporting.result_tables import TerminalSpeaker

    fill = partial(textwrap.fill, width=100, break_on_hyphens=False)
    yield fill(
        "A local judge answers 21 questions about 90 responses: may it replace the annotators, and "
        "what reward do its verdicts make? The judge is real and answers by the thresholds of its "
        "card; annotators, other judges and base rewards are SIMULATED."
    )
    yield ""
    for part in (responses, *texts):
        first, names = part.results[0], dict[str, list[str]]()
        title, named = (first.judge, "question") if part is responses else (first.question, "judge")
        for row in part.results:
            if row.alignment == first.alignment:
                names.setdefault(row.finding, []).append(getattr(row, named))
        if part is responses or part is texts[0]:
            yield fill(f"{part.understood}, ε {EPSILON:g}")
        listed = (f"{_MARKS[x]}: {', '.join(names[x])}" for x in _MARKS if x in names)
        yield fill(f"  {title}: {'; '.join(listed)}", subsequent_indent="    ")
    speak, view = TerminalSpeaker(), rows(reward)
    lead = " ".join(speak(said).striptags() for said in view.lead)
    yield "\n" + fill(f"reward: {lead}", subsequent_indent="    ")
    for note, _ in view.cautions[:5]:
        yield fill(f"note: {speak(note).striptags()}", subsequent_indent="    ")
    yield f"\npage: {folder / REPORT}"
    yield f"data, figures, and the commands that make them (commands.sh): {folder}/"
    humans, judges = (shlex.quote(str(folder / name)) for name in (ANNOTATIONS, JUDGES))
    yield f"next: voirdire examine --humans {humans} --judges {judges} --question needs_review"


def _prepare_folder(output: Path) -> None:
    """Make the folder and copy the data into it; refuse files there that are of no demo."""
    card = output / "dataset.json"
    is_demo = card.is_file() and b'"voirdire-demo"' in card.read_bytes()
    if output.is_dir() and any(output.iterdir()) and not is_demo:
        got = str(next(output.iterdir()))
        msg = f"`--output` must not hold other files, got {got!r}. Name another."
        raise InputError(msg)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = f"{str(output)!r} ({error.strerror})"
        msg = f"`--output` must be a folder that can be made, got {got}."
        raise InputError(msg) from error
    check_written({"report": output / REPORT}, option="--output")
    for source in files("voirdire").joinpath("data", "demo").iterdir():
        write_text(output / source.name, source.read_text(encoding="utf-8"))


def _judge_responses(folder: Path) -> Examination:
    """Judge the responses by the thresholds of the judge's card, and examine every proposition."""
    from voirdire.io import read_labels, read_metadata
    from voirdire.judging import judge_file
    from voirdire.reporting import to_json
    from voirdire.studies import TestPlan, certify, examine

    responses, verdicts = folder / "responses.jsonl", folder / VERDICTS
    judge_file(responses, verdicts, rubric=RUBRIC, judge=JUDGE)
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
    write_text(folder / CERTIFICATE, to_json(record) + "\n")
    return examination


def _fit_and_score(folder: Path) -> RewardExamination:
    """Fit, score and examine from the files in the folder: there are no other comparisons."""
    from voirdire.rewards.fitting.fit import fit_reward
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.scoring import score_file
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
    return replace(reward, settings={**reward.settings, "simulated": True})


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
        kind=_KINDS[question],
        labels=labels,
        questions=[question],
        epsilon=EPSILON,
        metadata=read_metadata(folder / "texts.jsonl", columns=["language"]),
    )
