"""The options of `voirdire fit` that say how the weights are found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from voirdire._types import Loss, Orientation
from voirdire.cli.fit_options import as_margins, as_numbers, as_orders, as_signs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.fitting.settings import FitSettings

__all__ = ["FITTED", "FittingOptions"]

FITTED = Group("How it is fitted", sort_key=5)
FEATURES = Group("Single features", sort_key=6)
ESTIMATED = Group("Error rates and intervals", sort_key=7)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FittingOptions:
    """What is minimised, what is held to what, and how errors are estimated."""

    loss: Annotated[Loss, Parameter(help="What is minimised.", group=FITTED)] = "hinge"
    l2: Annotated[
        float | None,
        Parameter(
            name="--l2",
            help="λ, at least 0. Default: chosen by cross-validation over prompts.",
            show_default=False,
            group=FITTED,
        ),
    ] = None
    margin: Annotated[
        list[str],
        Parameter(
            help="How much higher the better one's reward is to be; LABEL=NUMBER where the better "
            "one has that label; repeatable. Default 1.",
            metavar="[LABEL=]NUMBER",
            group=FITTED,
        ),
    ] = field(default_factory=list)
    equal_prompts: Annotated[
        bool,
        Parameter(
            name="--equal-prompts",
            help="Every prompt counts the same, however many completions it has.",
            group=FITTED,
        ),
    ] = False
    refuse_cycles: Annotated[
        bool,
        Parameter(
            name="--refuse-cycles",
            help="Fail where preferences of a prompt go in a cycle, which is otherwise a warning.",
            group=FITTED,
        ),
    ] = False
    orientation: Annotated[
        Orientation,
        Parameter(
            help="Features are the probabilities of propositions (plain), or of their demanded "
            "states: those of required and desired ones (rule), or all (demanded).",
            group=FEATURES,
        ),
    ] = "plain"
    positive: Annotated[
        list[str],
        Parameter(
            help="Hold the weight of this feature to at least 0; repeatable.",
            metavar="FEATURE",
            group=FEATURES,
        ),
    ] = field(default_factory=list)
    negative: Annotated[
        list[str],
        Parameter(help="Hold it to at most 0; repeatable.", metavar="FEATURE", group=FEATURES),
    ] = field(default_factory=list)
    fixed: Annotated[
        list[str],
        Parameter(
            help="Give it this weight; repeatable.", metavar="FEATURE=NUMBER", group=FEATURES
        ),
    ] = field(default_factory=list)
    ignore: Annotated[
        list[str],
        Parameter(help="Give it no weight; repeatable.", metavar="FEATURE", group=FEATURES),
    ] = field(default_factory=list)
    folds: Annotated[
        int,
        Parameter(
            help="Parts of the prompts, of which one after the other is held out.", group=ESTIMATED
        ),
    ] = 5
    resamples: Annotated[
        int,
        Parameter(help="Bootstrap resamples over prompts; 0 for no intervals.", group=ESTIMATED),
    ] = 200
    confidence_level: Annotated[
        float,
        Parameter(
            name=("--confidence-level", "--confidence"),
            help="Of intervals, in (0, 1).",
            group=ESTIMATED,
        ),
    ] = 0.95
    seed: Annotated[int, Parameter(help="Of folds and resamples.", group=ESTIMATED)] = 0

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
