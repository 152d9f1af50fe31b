"""`voirdire fit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from voirdire._types import Judged
from voirdire._validation import shorten
from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings, fit_progress, print_fit, print_given
from voirdire.cli.fitting_options import FITTED, FittingOptions
from voirdire.cli.idle_options import refuse_idle_options, typed_flags
from voirdire.cli.judging_output import say_how_to_go_on
from voirdire.cli.model_judges import asked_judge, named_judge, prepare_to_be_stopped
from voirdire.cli.model_options import Only
from voirdire.cli.options import as_mapping
from voirdire.cli.output_options import AsJson
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.reading_options import (
    behavior_option,
    column_option,
    format_option,
    judged_option,
)
from voirdire.cli.reward_options import REWARD, RequireCertified
from voirdire.cli.shell import Call, UsageError
from voirdire.cli.written_files import check_place
from voirdire.errors import InputError

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.rewards.fitting.result import RewardFit
    from voirdire.rewards.model import RewardModel

__all__ = ["fit_command"]

READ = Group("The comparisons", sort_key=1)
VERDICTS = Group("The verdicts", sort_key=2)
_COLUMNS = (
    "id, prompt, response, messages, label, chosen, rejected, chosen_base_reward, "
    "rejected_base_reward, margin, ranked, behavior, group, split"
)


def fit_command(
    comparisons: Annotated[
        str | None,
        Parameter(
            help="Completions with labels, pairs (prompt, chosen, rejected) or ranked lists: "
            "JSONL, Parquet, CSV; - reads standard input.",
            metavar="COMPARISONS",
            show_default=False,
        ),
    ] = None,
    /,
    *,
    call: Call,
    output: Annotated[
        Path | None,
        Parameter(name=("--output", "-o"), help="The reward.", metavar="FILE.json", group=REWARD),
    ] = None,
    rubric: Annotated[
        str,
        Parameter(help="A built-in rubric, or a YAML file.", metavar="NAME|FILE", group=READ),
    ] = "safety",
    base: Annotated[
        str | None,
        Parameter(
            help="Column of the base reward. Default: base_reward, where there is one.",
            metavar="COLUMN",
            show_default=False,
            group=READ,
        ),
    ] = None,
    no_base: Annotated[
        bool,
        Parameter(name="--no-base", help="Leave base rewards out.", group=READ),
    ] = False,
    from_classes: Annotated[
        bool,
        Parameter(
            name="--from-classes",
            help="Take the completion class that the verdicts give for the label.",
            group=READ,
        ),
    ] = False,
    order: Annotated[
        list[str],
        Parameter(
            help='Which labels are better, such as "ideal > less_good > unacceptable, illogical"; '
            "with BEHAVIOR= before it for one behavior; repeatable. Default: the order of the "
            "rubric's classes.",
            metavar="[BEHAVIOR=]TEXT",
            group=READ,
        ),
    ] = [],
    behavior: Annotated[str | None, behavior_option("completions", panel=READ)] = None,
    column: Annotated[list[str], column_option(_COLUMNS, panel=READ)] = [],
    file_format: Annotated[str | None, format_option(panel=READ)] = None,
    verdicts: Annotated[
        list[str],
        Parameter(
            help="Verdicts of `voirdire judge` on the completions; repeatable. Default: they are "
            "judged now.",
            metavar="FILE",
            group=VERDICTS,
        ),
    ] = [],
    only: Only = None,
    judge: Annotated[
        str | None,
        Parameter(
            help="Who judges: local, a file that `voirdire distill` made, a language model, or the "
            "YAML file of a cascade. "
            "Default: local.",
            metavar="local|FILE|MODEL",
            show_default=False,
            group=VERDICTS,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        Parameter(
            help="A proposition is true from this probability on. Fix it beforehand. Default: "
            "what the verdicts or the rubric say.",
            show_default=False,
            group=VERDICTS,
        ),
    ] = None,
    judged: Annotated[Judged, judged_option(panel=VERDICTS)] = "final_answer",
    asking: models.UsualAsking = models.UsualAsking(),
    calls: models.UsualCalls = models.UsualCalls(),
    store: models.Store = None,
    retry_failures: models.RetryFailures = False,
    weights: Annotated[
        Path | None,
        Parameter(
            help="Take these weights, in JSON or YAML as behavior: {feature: number}, instead of "
            "fitting any. No COMPARISONS.",
            metavar="FILE",
            group=FITTED,
        ),
    ] = None,
    fitting: FittingOptions = FittingOptions(),
    certificate: Annotated[
        list[Path],
        Parameter(
            help="Certificate of an examination of the judge; repeatable.",
            metavar="FILE",
            group=REWARD,
        ),
    ] = [],
    require_certified: RequireCertified = False,
    name: Annotated[
        str | None,
        Parameter(
            help="What scores call the reward. Default: after the file.",
            show_default=False,
            group=REWARD,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit the weights of a reward to comparisons of completions.

    One weight per proposition and completion class of a behavior, from completions of the same
    prompt of which one is better. The file holds everything that `voirdire score` needs.
    """
    judge = named_judge(judge, only, verdicts=verdicts)
    target = _checked_output(output)
    made: dict[str, Any] = {
        "rubric": rubric,
        "name": name or target.stem,
    }
    if weights is not None:
        _refuse_fitting(call)
        given = _given_weights(weights, orientation=fitting.orientation, judge=judge, **made)
        given.save(target)
        print_given(given, target, as_json=as_json)
        return
    if base is not None and no_base:
        msg = "`--base` and `--no-base` must not both be given."
        raise UsageError(msg)
    if comparisons is None:
        msg = "`COMPARISONS` must be a file of completions. Name one, or give `--weights`."
        raise UsageError(msg)
    settings = fitting.settings(
        order=order, use_base=False if no_base else True if base is not None else None
    )
    asked = _asked(call, judge, asking=asking, calls=calls, has_verdicts=bool(verdicts))
    listen_for_interrupts()
    asks_a_model = not isinstance(asked, str) and asked is not None
    if asks_a_model:
        prepare_to_be_stopped(comparisons)
        store = _store_beside(target) if store is None else store
    named = as_mapping(column, option="--column")
    reading: dict[str, Any] = {
        "format": file_format,
        "columns": (named | ({} if base is None else {"base_reward": base})) or None,
        "behavior": behavior,
        "judged": judged,
    }
    try:
        fit = _fitted(
            comparisons,
            reading=reading,
            judge=asked,
            verdicts=verdicts or None,
            settings=settings,
            from_classes=from_classes,
            certificates=certificate,
            require_certified=require_certified,
            store=store,
            retry_failures=retry_failures,
            threshold=threshold,
            judged=judged,
            **made,
        )
    except KeyboardInterrupt:
        if asks_a_model:
            say_how_to_go_on(str(target), store=store, asks_a_model=True)
        raise
    fit.model.save(target)
    print_fit(fit, target, as_json=as_json)


def _fitted(comparisons: str, *, reading: dict[str, Any], **asked: Any) -> RewardFit:
    with caught_warnings(), fit_progress() as tell:
        from voirdire.judging.plan import check_behavior
        from voirdire.rewards.comparisons.reading import read_comparisons
        from voirdire.rewards.fitting.fit import fit_reward
        from voirdire.rubrics import load_rubric

        check_behavior(reading["behavior"], load_rubric(asked["rubric"]))
        data = read_comparisons(comparisons, **reading)
        return fit_reward(data, progress=tell, **asked)


def _checked_output(output: Path | None) -> Path:
    """Refuse to replace a file that is no reward, before any work is done."""
    from voirdire.rewards.model_file import is_reward_file

    if output is None:
        msg = "`--output` must name the file of the reward: -o reward.json."
        raise UsageError(msg)
    if output.suffix.lower() != ".json":
        msg = f"`--output` must end in .json, got {str(output)!r}. Rename it."
        raise InputError(msg)
    check_place(output)
    if output.exists() and not is_reward_file(output):
        msg = f"`--output` must not replace {str(output)!r}, which is no reward. Name another."
        raise InputError(msg)
    return output


def _store_beside(target: Path) -> str:
    """Keep replies where `voirdire judge` and `voirdire score` keep them."""
    from voirdire.judging.reply_stores import STORE_NAME

    return str(target.resolve().parent / STORE_NAME)


def _asked(
    call: Call,
    judge: str | None,
    *,
    asking: models.UsualAsking,
    calls: models.UsualCalls,
    has_verdicts: bool,
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge; with verdicts its name is only looked up among them."""
    from voirdire.judging.cascade.cascade_file import is_cascade_file
    from voirdire.models import is_model_name

    named = judge or "local"
    if not has_verdicts and (is_cascade_file(named) or is_model_name(named)):
        refuse_idle_options(call, judge=named, names=models.USUAL_OPTIONS)
        return asked_judge(named, asking=asking, calls=calls)
    idle = (*models.USUAL_OPTIONS, *models.OF_REPLIES)
    if typed := typed_flags(call, idle):
        got = "verdicts that there are" if has_verdicts else repr(shorten(named))
        msg = f"`--judge` must name a language model for {typed}, got {got}."
        raise UsageError(msg)
    return judge


_ALSO_GIVEN = ("rubric", "output", "weights", "orientation", "judge", "name", "as_json")
"""What means something where weights are given by hand."""


def _refuse_fitting(call: Call) -> None:
    shown = typed_flags(call, [name for name in call.options if name not in _ALSO_GIVEN])
    if shown:
        msg = f"`--weights` must stand without {shown}: given weights are not fitted."
        raise UsageError(msg)


def _given_weights(path: Path, *, judge: str | None, **made: Any) -> RewardModel:
    from voirdire.rewards.given_weights import reward_of_weights

    return reward_of_weights(path, judge=judge or "local", **made)
