"""`voirdire demo`."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from voirdire._types import Language
from voirdire.cli.demo_reward_tables import print_reward, said_of_certificates, said_of_nonsense
from voirdire.cli.demo_steps import (
    EPSILON,
    EXAMINATION,
    JUDGE,
    REPORT,
    examine_texts,
    judge_responses,
    prepare_folder,
    reward_responses,
    same_from_files,
)
from voirdire.cli.demo_tables import print_judged_responses
from voirdire.cli.options import AsJson, ReportLanguage
from voirdire.cli.printing import (
    listen_for_interrupts,
    print_examination,
    print_text,
    progress,
)
from voirdire.cli.written_files import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.cli.demo_steps import DemoReward, JudgedResponses
    from voirdire.studies import Examination

__all__ = ["demo_command"]

_TEXTS = """\
SIMULATED DATA: 50 short texts in English and Chinese, six simulated annotators (one of them
careless), eight simulated judges (one always gives the same answer). May a judge replace the
annotators? Cells show ω, the share of annotators that the judge may replace, at each margin ε:
✓ passed, ✗ failed, ? no evidence.
"""
_RESPONSES = f"""\
A REAL JUDGE, SIMULATED ANNOTATORS: the local judge of this package (no key, no network) has judged
90 bundled responses, English and Chinese, on the 21 propositions of the safety rubric. Four
simulated annotators, one of them careless, labelled them too. May the judge replace them? Margin
ε = {EPSILON:g}, as for experts; most propositions are true of one response in eight, so that labels
weigh by their rarity: a judge that always says no must not pass.
"""
_COLUMNS = """\
annotators, judge: of how many of the 90 it is true, by the majority of the annotators and by the
judge. Below, per behavior, the share of the responses that the judge puts into each completion
class (and the mean probability); they were written so that each class has a fifth of them.

The judge passes where words give the answer away, such as an apology or a refusal, and not where
somebody must understand: it counts words, and the annotators agree with each other nearly always.
"""
_REWARD = """\
A REWARD FROM THESE VERDICTS: the 90 responses once more, each with the completion class that it was
written for and with a SIMULATED base reward, of a model that likes help even where it should be
refused. Below the ideal and the less good ones stands NONSENSE, which no reward should like: an
empty response, the prompt itself, shuffled words, all words that the judge looks for. The better of
two responses to a prompt is to get the higher reward: the base reward plus weighted verdicts on
its propositions and classes. The weights are fitted to that.
"""
_REWARD_COLUMNS = """\
base alone, base + rules: comparisons that are ranked the wrong way (95% interval), base + rules on
prompts that its fit has not seen; not tested: on those that it has seen. Below, the mean reward of
the responses by their class (and the mean base reward), then what does most to the rankings: its
share, its weight, and how its judge did above. ! is a weight against the behavior's demand. Six
prompts a behavior are few: intervals are too narrow, and nobody should train with this reward.
"""


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
    listen_for_interrupts()
    prepare_folder(folder)
    with progress("judging"):
        judged = judge_responses(folder)
    with progress("fitting a reward"):
        reward = reward_responses(folder)
    with progress("examining"):
        parts = examine_texts(folder)
        whole = _together([*parts, judged.examination])
        content = _written(folder, whole)
    with progress("writing the report"):
        _write_report(folder / REPORT, content, reward, language=language)
    if as_json:
        _print_json(content, reward)
        return
    _print_all(folder, judged, reward, parts)
    if browse:
        _open_page(folder / REPORT)


def _written(output: Path, whole: Examination) -> str:
    """Write all figures of the examinations, and give what was written."""
    from voirdire.reporting import examination_to_json

    content = examination_to_json(whole)
    write_text(output / EXAMINATION, content + "\n")
    return content


def _write_report(path: Path, content: str, reward: DemoReward, *, language: Language) -> None:
    from voirdire.reporting import html_report

    write_text(path, html_report(content, language=language, reward=reward.examination))


def _print_json(content: str, reward: DemoReward) -> None:
    """Print the examination of the judges, with that of the reward as one key more."""
    from voirdire.reporting.reward_json import reward_examination_to_json

    both = json.loads(content)
    both["reward_examination"] = json.loads(reward_examination_to_json(reward.examination))
    print_text(json.dumps(both, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def _print_all(
    output: Path, judged: JudgedResponses, reward: DemoReward, parts: Sequence[Examination]
) -> None:
    print(f"Report: {output / REPORT}\n")
    print(_RESPONSES)
    print_judged_responses(judged)
    print(f"\n{_COLUMNS}\n{_REWARD}")
    print_reward(reward)
    print(f"\n{_REWARD_COLUMNS}{said_of_certificates(reward)}\n{said_of_nonsense(reward)}\n")
    print(_TEXTS)
    for part in parts:
        print_examination(part, as_json=False, details=False)
    print(same_from_files(output))


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


def _open_page(page: Path) -> None:
    """Show the report, where somebody sits in front of a screen."""
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if sys.stdout.isatty() and has_screen and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())
