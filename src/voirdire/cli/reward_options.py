"""The options about a fitted reward."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["REWARD", "Center", "RequireCertified", "Reward", "RewardRubric"]

REWARD = "The reward"

Reward: TypeAlias = Annotated[
    Path,
    typer.Option(help="What `voirdire fit` wrote.", metavar="FILE.json", rich_help_panel=REWARD),
]
RewardRubric: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The rubric that the reward must belong to. Default: the one that it was made "
        "from, where that is still found.",
        metavar="NAME|FILE",
        show_default=False,
        rich_help_panel=REWARD,
    ),
]
RequireCertified: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--require-certified",
        help="Fail if a proposition with a weight has no valid certificate.",
        rich_help_panel=REWARD,
    ),
]
Center: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--center",
        help="Take each behavior's mean off its rule rewards, so that behaviors compare.",
        rich_help_panel=REWARD,
    ),
]
