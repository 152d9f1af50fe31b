"""The options of `voirdire fit` that say how the weights are found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire._types import Loss, Orientation
from voirdire.cli.fit_options import as_margins, as_numbers, as_orders, as_signs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.fitting.settings import FitSettings

__all__ = ["FITTED", "FittingOptions"]

FITTED, FEATURES, ESTIMATED = "How it is fitted", "Single features", "Error rates and intervals"


@dataclass(frozen=True, kw_only=True)
class FittingOptions:
    """What is minimised, what is held to what, and how errors are estimated."""

    loss: Annotated[Loss, typer.Option(help="What is minimised.", rich_help_panel=FITTED)] = "hinge"
    l2: Annotated[
        float | None,
        typer.Option(
            "--l2",
            help="λ, at least 0. Default: chosen by cross-validation over prompts.",
            show_default=False,
            rich_help_panel=FITTED,
        ),
    ] = None
    margin: Annotated[
        list[str],
        typer.Option(
            help="How much higher the better one's reward is to be; LABEL=NUMBER where the better "
            "one has that label; repeatable. Default 1.",
            metavar="[LABEL=]NUMBER",
            rich_help_panel=FITTED,
        ),
    ] = field(default_factory=list)
    equal_prompts: Annotated[
        bool,
        typer.Option(
            "--equal-prompts",
            help="Every prompt counts the same, however many completions it has.",
            rich_help_panel=FITTED,
        ),
    ] = False
    refuse_cycles: Annotated[
        bool,
        typer.Option(
            "--refuse-cycles",
            help="Fail where preferences of a prompt go in a cycle, which is otherwise a warning.",
            rich_help_panel=FITTED,
        ),
    ] = False
    orientation: Annotated[
        Orientation,
        typer.Option(
            help="Features are the probabilities of propositions (plain), or of their demanded "
            "states: those of required and desired ones (rule), or all (demanded).",
            rich_help_panel=FEATURES,
        ),
    ] = "plain"
    positive: Annotated[
        list[str],
        typer.Option(
            help="Hold the weight of this feature to at least 0; repeatable.",
            metavar="FEATURE",
            rich_help_panel=FEATURES,
        ),
    ] = field(default_factory=list)
    negative: Annotated[
        list[str],
        typer.Option(
            help="Hold it to at most 0; repeatable.", metavar="FEATURE", rich_help_panel=FEATURES
        ),
    ] = field(default_factory=list)
    fixed: Annotated[
        list[str],
        typer.Option(
            help="Give it this weight; repeatable.",
            metavar="FEATURE=NUMBER",
            rich_help_panel=FEATURES,
        ),
    ] = field(default_factory=list)
    ignore: Annotated[
        list[str],
        typer.Option(
            help="Give it no weight; repeatable.", metavar="FEATURE", rich_help_panel=FEATURES
        ),
    ] = field(default_factory=list)
    folds: Annotated[
        int,
        typer.Option(
            help="Parts of the prompts, of which one after the other is held out.",
            rich_help_panel=ESTIMATED,
        ),
    ] = 5
    resamples: Annotated[
        int,
        typer.Option(
            help="Bootstrap resamples over prompts; 0 for no intervals.",
            rich_help_panel=ESTIMATED,
        ),
    ] = 200
    confidence_level: Annotated[
        float,
        typer.Option(
            "--confidence-level",
            "--confidence",
            help="Of intervals, in (0, 1).",
            rich_help_panel=ESTIMATED,
        ),
    ] = 0.95
    seed: Annotated[
        int, typer.Option(help="Of folds and resamples.", rich_help_panel=ESTIMATED)
    ] = 0

    def settings(self, *, order: Sequence[str], use_base: bool | None) -> FitSettings:
        """Make what the library takes of it, beside the order of labels and the base reward."""
        from voirdire.rewards.fitting.settings import FitSettings

        return FitSettings(
            orientation=self.orientation,
            loss=self.loss,
            l2=self.l2,
            **as_margins(self.margin),
            orders=as_orders(order),
            equal_prompts=self.equal_prompts,
            refuse_cycles=self.refuse_cycles,
            signs=as_signs(self.positive, self.negative),
            fixed=as_numbers(self.fixed, option="--fixed"),
            ignored=tuple(self.ignore),
            use_base=use_base,
            n_folds=self.folds,
            n_resamples=self.resamples,
            confidence_level=self.confidence_level,
            seed=self.seed,
        )
