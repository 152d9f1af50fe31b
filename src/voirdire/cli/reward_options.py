"""The options about a fitted reward."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Group, Parameter

__all__ = ["REWARD", "Center", "RequireCertified", "Reward", "RewardRubric"]

REWARD = Group("The reward", sort_key=1)

Reward: TypeAlias = Annotated[
    Path,
    Parameter(help="What `voirdire fit` wrote.", metavar="FILE.json", group=REWARD),
]
RewardRubric: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="The rubric that the reward must belong to. Default: the one that it was made "
        "from, where that is still found.",
        metavar="NAME|FILE",
        show_default=False,
        group=REWARD,
    ),
]
RequireCertified: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--require-certified",
        help="Fail if a proposition with a weight has no valid certificate.",
        group=REWARD,
    ),
]
Center: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--center",
        help="Take each behavior's mean off its rule rewards, so that behaviors compare.",
        group=REWARD,
    ),
]
