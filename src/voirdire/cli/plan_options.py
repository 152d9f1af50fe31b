"""The options of `voirdire examine` that say how judges are tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, cast, get_args

from cyclopts import Group, Parameter

from voirdire._types import AlignmentName, EpsilonMode, Method, Normalization, WeightScheme
from voirdire.cli.options import as_text, as_weights
from voirdire.cli.shell import UsageError

__all__ = ["PlanOptions"]

TEST = Group("The test", sort_key=3)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Margins, weights and sizes of the alternative annotator test."""

    alignment: Annotated[
        list[str],
        Parameter(
            help=f"How close two labels are: {', '.join(get_args(AlignmentName))}; repeatable. "
            "Default accuracy.",
            metavar="NAME",
            show_default=False,
            group=TEST,
        ),
    ] = field(default_factory=lambda: ["accuracy"])
    epsilon: Annotated[
        list[float],
        Parameter(
            help="Cost-benefit margin in [0, 1); repeatable. Default .2; experts .2, skilled "
            "annotators .15, crowd workers .1.",
            group=TEST,
            show_default=False,
        ),
    ] = field(default_factory=list)
    epsilon_mode: Annotated[EpsilonMode, Parameter(help="How ε enters.", group=TEST)] = "additive"
    epsilon_reason: Annotated[
        str | None,
        Parameter(
            help="Why this ε was fixed in advance; goes into report and certificate.",
            metavar="TEXT",
            group=TEST,
        ),
    ] = None
    method: Annotated[
        Method,
        Parameter(help="The t-test, or the exact test for few items or many ties.", group=TEST),
    ] = "t"
    weights: Annotated[
        WeightScheme | None,
        Parameter(help="Weights for skewed labels.", group=TEST),
    ] = None
    quality: Annotated[
        list[str],
        Parameter(
            help="Weight of an annotator; repeatable, all or none.",
            metavar="ANNOTATOR=NUMBER",
            group=TEST,
        ),
    ] = field(default_factory=list)
    expert: Annotated[
        str | None,
        Parameter(
            help="The annotator who stands for the others of everyone else.",
            metavar="ANNOTATOR",
            group=TEST,
        ),
    ] = None
    normalize: Annotated[
        Normalization | None,
        Parameter(help="Rescale each rater's numbers first (neg_rmse).", group=TEST),
    ] = None
    cluster: Annotated[
        str | None,
        Parameter(
            help="Column of the annotations that names what an item shares its source with.",
            metavar="COLUMN",
            group=TEST,
        ),
    ] = None
    min_items: Annotated[int, Parameter(help="Fewest items of a tested annotator.", group=TEST)] = (
        30
    )
    min_annotators: Annotated[int, Parameter(help="Fewest annotators on an item.", group=TEST)] = 2
    false_discovery_rate: Annotated[
        float, Parameter(help="q of Benjamini-Yekutieli.", group=TEST)
    ] = 0.05
    slices: Annotated[
        list[str],
        Parameter(
            name="--slice",
            help="Slice by this column of --items only; repeatable.",
            metavar="COLUMN",
            group=TEST,
        ),
    ] = field(default_factory=list)
    resamples: Annotated[
        int,
        Parameter(
            help="Bootstrap resamples for the interval of ρ and the stability of ω; 0: none.",
            group=TEST,
        ),
    ] = 1_000
    confidence_level: Annotated[
        float, Parameter(help="Of every interval, in (0, 1).", group=TEST)
    ] = 0.95
    seed: Annotated[int, Parameter(help="Of the random control and the resamples.", group=TEST)] = 0

    def alignments(self) -> list[AlignmentName]:
        """Check the names of alignments, and leave repeated ones out."""
        for name in self.alignment:
            if name not in get_args(AlignmentName):
                known = ", ".join(get_args(AlignmentName))
                msg = f"`--alignment` must be one of {known}, got {name!r}."
                raise UsageError(msg)
        return [cast("AlignmentName", name) for name in dict.fromkeys(self.alignment)]

    def settings(self, *, has_gold: bool) -> dict[str, Any]:
        """Give what `TestPlan` takes of it, with ε as it is by default."""
        return {
            "epsilon": self.epsilon or [0.0 if has_gold else 0.2],
            "epsilon_mode": self.epsilon_mode,
            "method": self.method,
            "weights": self.weights,
            "quality": as_weights(self.quality),
            "epsilon_reason": as_text(self.epsilon_reason, option="--epsilon-reason"),
            "expert": self.expert,
            "normalize": self.normalize,
            "min_items": self.min_items,
            "min_annotators": self.min_annotators,
            "false_discovery_rate": self.false_discovery_rate,
            "n_resamples": self.resamples,
            "confidence_level": self.confidence_level,
            "seed": self.seed,
        }
