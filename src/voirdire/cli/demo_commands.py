"""The commands that do from files what the demonstration did."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from voirdire.cli.demo_folder import (
    CERTIFICATE,
    COMPARISONS,
    REWARD,
    REWARDS,
    VERDICTS,
)
from voirdire.cli.demo_responses import EPSILON, RUBRIC, WEIGHTS
from voirdire.cli.demo_reward import NAME, RESAMPLES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["same_from_files"]


def same_from_files(output: Path) -> str:
    """Say where everything is, and how to get it from the files again.

    Parameters
    ----------
    output : Path
        The folder of the demonstration.

    Returns
    -------
    str
        Commands that can be pasted, whatever the folder is called.
    """

    def at(name: str) -> str:
        return shlex.quote(str(output / name))

    responses, verdicts, certificate = at("responses.jsonl"), at(VERDICTS), at(CERTIFICATE)
    comparisons, reward = at(COMPARISONS), at(REWARD)
    return (
        f"\nData and every figure (examination.json, reward_examination.json) are in {output}/\n"
        "The same from files:\n\n"
        f"  voirdire judge {responses} --rubric {RUBRIC} -o {verdicts}\n"
        f"  voirdire examine --humans {at('response_annotations.jsonl')} \\\n"
        f"    --judges {verdicts} --kind boolean --epsilon {EPSILON:g} --weights {WEIGHTS} \\\n"
        f"    --items {responses} --slice language --report report.html \\\n"
        f"    --certificate {certificate}\n"
        f"  voirdire fit {comparisons} --rubric {RUBRIC} \\\n"
        f"    --verdicts {verdicts} --certificate {certificate} \\\n"
        f"    --resamples {RESAMPLES} --name {NAME} -o {reward}\n"
        f"  voirdire score {comparisons} --reward {reward} \\\n"
        f"    --verdicts {verdicts} -o {at(REWARDS)}\n"
        f"  voirdire examine-reward {comparisons} --reward {reward} \\\n"
        f"    --verdicts {verdicts} --report reward.html\n"
        f"  voirdire examine --humans {at('annotations.jsonl')} \\\n"
        f"    --judges {at('judges.jsonl')} --question needs_review --kind boolean "
        "--epsilon 0.2 \\\n"
        f"    --items {at('texts.jsonl')} --slice language --report report.html\n"
    )
