"""The options of `voirdire examine` that say how judges are tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, cast, get_args

import typer

from voirdire._types import AlignmentName, EpsilonMode, Method, Normalization, WeightScheme
from voirdire.cli.options import as_text, as_weights

__all__ = ["PlanOptions"]

TEST = "The test"


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Margins, weights and sizes of the alternative annotator test."""

    alignment: Annotated[
        list[str],
        typer.Option(
            help="How close two labels are; repeatable.",
            metavar=f"[{'|'.join(get_args(AlignmentName))}]",
            rich_help_panel=TEST,
        ),
    ] = field(default_factory=lambda: ["accuracy"])
    epsilon: Annotated[
        list[float],
        typer.Option(
            help="Cost-benefit margin in [0, 1); repeatable. Default .2; experts .2, skilled "
            "annotators .15, crowd workers .1.",
            rich_help_panel=TEST,
            show_default=False,
        ),
    ] = field(default_factory=list)
    epsilon_mode: Annotated[
        EpsilonMode, typer.Option(help="How ε enters.", rich_help_panel=TEST)
    ] = "additive"
    epsilon_reason: Annotated[
        str | None,
        typer.Option(
            help="Why this ε was fixed in advance; goes into report and certificate.",
            metavar="TEXT",
            rich_help_panel=TEST,
        ),
    ] = None
    method: Annotated[
        Method,
        typer.Option(
            help="The t-test, or the exact test for few items or many ties.", rich_help_panel=TEST
        ),
    ] = "t"
    weights: Annotated[
        WeightScheme | None,
        typer.Option(help="Weights for skewed labels.", rich_help_panel=TEST),
    ] = None
    quality: Annotated[
        list[str],
        typer.Option(
            help="Weight of an annotator; repeatable, all or none.",
            metavar="ANNOTATOR=NUMBER",
            rich_help_panel=TEST,
        ),
    ] = field(default_factory=list)
    expert: Annotated[
        str | None,
        typer.Option(
            help="The annotator who stands for the others of everyone else.",
            metavar="ANNOTATOR",
            rich_help_panel=TEST,
        ),
    ] = None
    normalize: Annotated[
        Normalization | None,
        typer.Option(help="Rescale each rater's numbers first (neg_rmse).", rich_help_panel=TEST),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Column of the annotations that names what an item shares its source with.",
            metavar="COLUMN",
            rich_help_panel=TEST,
        ),
    ] = None
    min_items: Annotated[
        int, typer.Option(help="Fewest items of a tested annotator.", rich_help_panel=TEST)
    ] = 30
    min_annotators: Annotated[
        int, typer.Option(help="Fewest annotators on an item.", rich_help_panel=TEST)
    ] = 2
    false_discovery_rate: Annotated[
        float, typer.Option(help="q of Benjamini-Yekutieli.", rich_help_panel=TEST)
    ] = 0.05
    slices: Annotated[
        list[str],
        typer.Option(
            "--slice",
            help="Slice by this column of --items only; repeatable.",
            metavar="COLUMN",
            rich_help_panel=TEST,
        ),
    ] = field(default_factory=list)
    resamples: Annotated[
        int,
        typer.Option(
            help="Bootstrap resamples for the interval of ρ and the stability of ω; 0: none.",
            rich_help_panel=TEST,
        ),
    ] = 1_000
    confidence_level: Annotated[
        float, typer.Option(help="Of every interval, in (0, 1).", rich_help_panel=TEST)
    ] = 0.95
    seed: Annotated[
        int, typer.Option(help="Of the random control and the resamples.", rich_help_panel=TEST)
    ] = 0

    def alignments(self) -> list[AlignmentName]:
        """Check the names of alignments, and leave repeated ones out."""
        for name in self.alignment:
            if name not in get_args(AlignmentName):
                known = ", ".join(get_args(AlignmentName))
                msg = f"`--alignment` must be one of {known}, got {name!r}."
                raise typer.BadParameter(msg)
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
