"""`voirdire demo`."""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire._types import Language
from voirdire.cli.demo_folder import EXAMINATION, REPORT, VERDICTS, prepare_folder
from voirdire.cli.demo_responses import EPSILON, JUDGE, RUBRIC, WEIGHTS, judge_responses
from voirdire.cli.demo_tables import print_judged_responses
from voirdire.cli.demo_texts import examine_texts
from voirdire.cli.printing import print_examination, progress
from voirdire.cli.written_files import write_report, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

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
"""


def demo_command(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for data and results.", metavar="DIR")
    ] = Path("voirdire-demo"),
    language: Annotated[Language, typer.Option(help="Of the report.")] = "en",
    browse: Annotated[
        bool,
        typer.Option(
            "--open/--no-open", help="Open the report in the browser, where there is a screen."
        ),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge bundled responses, and examine that judge and eight simulated ones."""
    from voirdire.reporting import examination_to_json

    prepare_folder(output)
    with progress("judging"):
        judged = judge_responses(output)
    with progress("examining"):
        parts = examine_texts(output)
    whole = _together([*parts, judged.examination])
    write_text(output / EXAMINATION, examination_to_json(whole) + "\n")
    with progress("writing the report"):
        write_report(output / REPORT, whole, language=language)
    if as_json:
        print_examination(whole, as_json=True, details=False)
        return
    typer.echo(f"Report: {output / REPORT}\n")
    typer.echo(_RESPONSES)
    print_judged_responses(judged)
    typer.echo(f"\n{_COLUMNS}\n{_TEXTS}")
    for part in parts:
        print_examination(part, as_json=False, details=False)
    _say_how(output)
    if browse:
        _open_page(output / REPORT)


def _together(parts: Sequence[Examination]) -> Examination:
    """Put the examinations of several kinds of question into one."""
    from voirdire.studies import Examination

    return Examination(
        results=tuple(row for part in parts for row in part.results),
        dropped=tuple(dict.fromkeys(row for part in parts for row in part.dropped)),
        settings={
            "simulated": True,
            "real_judges": [JUDGE],
            "questions": [part.settings for part in parts],
        },
        questions=tuple(row for part in parts for row in part.questions),
    )


def _say_how(output: Path) -> None:
    names = ("annotations", "judges", "texts", "responses", "response_annotations")
    annotations, judges, texts, responses, answers = (
        shlex.quote(str(output / f"{name}.jsonl")) for name in names
    )
    verdicts = shlex.quote(str(output / VERDICTS))
    typer.echo(
        f"\nData and every figure (examination.json) are in {output}/\nThe same from files:\n\n"
        f"  voirdire judge {responses} --rubric {RUBRIC} -o {verdicts}\n"
        f"  voirdire examine --humans {answers} \\\n"
        f"    --judges {verdicts} --kind boolean --epsilon {EPSILON:g} --weights {WEIGHTS} \\\n"
        f"    --items {responses} --slice language --report report.html\n"
        f"  voirdire examine --humans {annotations} \\\n"
        f"    --judges {judges} --question needs_review --kind boolean --epsilon 0.2 \\\n"
        f"    --items {texts} --slice language --report report.html\n"
    )


def _open_page(page: Path) -> None:
    """Show the report, where somebody sits in front of a screen."""
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if sys.stdout.isatty() and has_screen and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())
