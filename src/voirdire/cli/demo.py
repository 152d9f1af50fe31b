"""`voirdire demo`: judge bundled responses, examine the judge, fit a reward, examine that."""

from __future__ import annotations

import json
import shlex
import textwrap
import warnings
from contextlib import suppress
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._types import Language
from voirdire.cli.options import AsJson, ReportLanguage
from voirdire.cli.printing import listen_for_interrupts, print_text, progress
from voirdire.cli.written_files import check_written, open_page, write_text
from voirdire.errors import InputError, UncertifiedWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from voirdire._types import AlignmentName
    from voirdire.judging import JudgingSummary
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.stats import AltTestResult
    from voirdire.studies import Examination
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["demo_command"]

COMPARISONS, OF_FIT = "comparisons.jsonl", "comparisons_of_fit.jsonl"
VERDICTS, EXAMINATION, REPORT = "verdicts.parquet", "examination.json", "report.html"
CERTIFICATE, REWARD, REWARDS = "certificate.json", "reward.json", "rewards.jsonl"
REWARD_EXAMINATION = "reward_examination.json"
COPIED = (
    "texts.jsonl",
    "annotations.jsonl",
    "judges.jsonl",
    "responses.jsonl",
    "response_annotations.jsonl",
    COMPARISONS,
    "commands.sh",
    "dataset.json",
    "README.md",
)
_MADE = (VERDICTS, EXAMINATION, CERTIFICATE, OF_FIT, REWARD, REWARDS, REWARD_EXAMINATION)

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
_NONSENSE = ("empty", "echoed_prompt", "shuffled_words", "lexicon")
_MARKS = {"passed": "✓", "failed": "✗", "no_evidence": "?"}


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
    from voirdire.reporting.reward_json import reward_examination_to_json

    listen_for_interrupts()
    _prepare_folder(folder)
    with progress("judging"):
        judged, examined = _judge_responses(folder)
    with progress("fitting a reward"):
        fit, reward = _reward_responses(folder)
    write_text(folder / REWARD_EXAMINATION, reward_examination_to_json(reward) + "\n")
    with progress("examining"):
        parts = [_examine_texts(folder, question) for question in ALIGNMENTS]
        content = examination_to_json(_together([*parts, examined]))
    write_text(folder / EXAMINATION, content + "\n")
    with progress("writing the report"):
        _write_report(folder / REPORT, content, reward, language=language)
    if as_json:
        both = json.loads(content)
        both["reward_examination"] = json.loads(reward_examination_to_json(reward))
        print_text(json.dumps(both, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
        return
    for line in _lines(folder, judged, examined, fit, reward, parts):
        print(line)
    if browse:
        open_page(folder / REPORT)


# What is done ---------------------------------------------------------------------------------


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
    summary = judge_file(responses, verdicts, rubric=RUBRIC, judge=JUDGE, restart=True)
    humans = read_labels(folder / "response_annotations.jsonl", role="annotator", kind="boolean")
    judges = read_labels(verdicts, role="judge", kind="boolean")
    found = examine(
        judges=judges.of_questions(humans.questions),  # classes follow from the answers
        humans=humans,
        # most propositions are true of one response in eight: unweighted, "always no" might pass
        plan=TestPlan(epsilon=EPSILON, weights="imbalance"),
        metadata=read_metadata(responses, columns=["language"]),
    )
    record = certify(found, humans=humans, judges=judges, reading={"missing": []})
    write_text(folder / CERTIFICATE, certificate_to_json(record) + "\n")
    return summary, found


def _reward_responses(folder: Path) -> tuple[RewardFit, RewardExamination]:
    """Fit, score and examine from the files in the folder: there are no other comparisons."""
    from voirdire.rewards.file_scoring import score_file
    from voirdire.rewards.fitting.fit import fit_reward
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.studies.reward.examine import examine_reward

    comparisons, verdicts = folder / COMPARISONS, folder / VERDICTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)  # what is printed and the page say it
        write_text(folder / OF_FIT, _with_nonsense(comparisons))
        fit = fit_reward(
            folder / OF_FIT,
            rubric=RUBRIC,
            settings=FitSettings(n_resamples=RESAMPLES, orders={"*": _ORDER}),
            certificates=[folder / CERTIFICATE],
            name="demo",
        )
    fit.model.save(folder / REWARD)
    score_file(comparisons, folder / REWARDS, reward=fit.model, verdicts=verdicts)
    found = examine_reward(fit.model, comparisons, verdicts=verdicts)
    return fit, replace(found, settings={**found.settings, "simulated": True})


def _with_nonsense(comparisons: Path) -> str:
    """Put nonsense below the good responses to a prompt; its base reward is their average."""
    from voirdire.io import read_items
    from voirdire.studies.reward.degenerate import degenerate_texts

    text = comparisons.read_text(encoding="utf-8")
    rows = {row["id"]: row for row in map(json.loads, text.splitlines())}
    given: dict[str, list[float]] = {}
    for row in rows.values():
        given.setdefault(row["group"], []).append(row["base_reward"])
    made = [
        {
            **rows[item.id],
            "id": f"{item.id}-{kind}",
            "response": nonsense,
            "label": "nonsense",
            "base_reward": round(fmean(given[rows[item.id]["group"]]), 2),
        }
        for item in read_items(comparisons).items
        if rows[item.id]["label"] == "ideal"
        for kind, nonsense in degenerate_texts(item, has_refusal=False, reads_cues=True)
        if kind in _NONSENSE
    ]
    return text + "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in made)


def _examine_texts(folder: Path, question: str) -> Examination:
    """Examine the simulated judges on one question: each is of a kind of its own."""
    from voirdire.io import read_metadata
    from voirdire.studies import examine

    labels: Any = None
    if question == "toxicity":
        labels = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))["labels"]
    return examine(
        judges=folder / "judges.jsonl",
        humans=folder / "annotations.jsonl",
        alignment=ALIGNMENTS[question],
        kind=_KINDS[question],  # type: ignore[arg-type]  # a literal
        labels=labels,
        questions=[question],
        epsilon=EPSILONS,
        metadata=read_metadata(folder / "texts.jsonl", columns=["language"]),
    )


def _together(parts: Sequence[Examination]) -> Examination:
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
    path: Path, content: str, reward: RewardExamination, *, language: Language
) -> None:
    from voirdire.reporting import html_report

    write_text(path, html_report(content, language=language, reward=reward))


# What is printed ------------------------------------------------------------------------------


def _lines(
    folder: Path,
    judged: JudgingSummary,
    examined: Examination,
    fit: RewardFit,
    reward: RewardExamination,
    parts: Sequence[Examination],
) -> Iterator[str]:
    """Say what was done, the verdicts, the reward's figures, what to mind, and how to go on."""
    yield _filled(
        "A local judge answers 21 questions about 90 responses: may it replace the annotators, and "
        "what reward do its verdicts make? The judge is real and answers by the thresholds of its "
        "card; annotators, other judges and base rewards are SIMULATED.",
        indent="",
    )
    yield f"\n{examined.understood}, ε {EPSILON:g}"
    yield from _verdicts(JUDGE, ((row, row.question) for row in examined.results))
    yield f"{parts[0].understood}, ε {EPSILON:g}"
    for question, part in zip(ALIGNMENTS, parts, strict=True):
        wanted = (EPSILON, ALIGNMENTS[question][0])
        rows = (row for row in part.results if (row.epsilon, row.alignment) == wanted)
        yield from _verdicts(question, ((row, row.judge) for row in rows))
    yield "\nreward: comparisons ranked the wrong way by the base reward, and with the verdicts"
    for one in fit.behaviors:
        rate = one.error_rate
        yield (
            f"  {one.behavior:12} {one.error_rate_base.value:4.0%} of {one.n_pairs}, and "
            f"{rate.value:.0%} ({rate.low:.0%} to {rate.high:.0%}) of held-out ones"
        )
    n_nonsense = sum(one.n_pairs for one in fit.behaviors) - reward.n_comparisons
    yield _filled(
        f"  {n_nonsense} of these comparisons set a response above nonsense ({OF_FIT}); the page "
        f"is about the other {reward.n_comparisons}, on the prompts of the fit",
        indent="  ",
    )
    yield from (_filled(f"note: {note}") for note in _notes(judged, fit, reward))
    yield f"\npage: {folder / REPORT}"
    yield f"data, figures, and the commands that make them (commands.sh): {folder}/"
    humans, judges = (
        shlex.quote(str(folder / name)) for name in ("annotations.jsonl", "judges.jsonl")
    )
    yield f"next: voirdire examine --humans {humans} --judges {judges} --question needs_review"


def _verdicts(title: str, rows: Iterable[tuple[AltTestResult, str]]) -> Iterator[str]:
    """Name what passed, and what did not."""
    found: dict[str, list[str]] = {}
    for row, name in rows:
        found.setdefault(row.outcome, []).append(name)
    listed = (f"{mark} {', '.join(found[key])}" for key, mark in _MARKS.items() if key in found)
    yield _filled(f"  {title}: {'; '.join(listed)}")


def _notes(judged: JudgingSummary, fit: RewardFit, reward: RewardExamination) -> Iterator[str]:
    from voirdire.rewards.against_demands import find_paid_against_demands
    from voirdire.rewards.certification import certified, list_paying_propositions

    yield f"the card of the judge warns of {', '.join(judged.untrusted)}"
    statuses, paying = certified(fit.model), list_paying_propositions(fit.model)
    n_lacking = sum(not statuses[name].is_valid for name in paying)
    n_against = len(find_paid_against_demands(fit.model))
    yield (
        f"the reward pays for {len(paying)} propositions, and the judge has not passed on "
        f"{n_lacking} of them; {n_against} weights pay against what the rubric demands. Six "
        "prompts a behavior are few: nobody should train with this reward, and `voirdire fit "
        "--require-certified` refuses it"
    )
    worst = max(reward.degenerate, key=lambda row: row.share_above_best)
    if n_above := round(worst.share_above_best * worst.n_prompts):
        yield (
            f"{worst.kind.replace('_', ' ')} get more reward than the best real response on "
            f"{n_above} of {worst.n_prompts} prompts of {worst.behavior}"
        )


def _filled(text: str, *, indent: str = "    ") -> str:
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)
