"""`voirdire fit`."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire._messages import shorten
from voirdire.cli.judging_progress import watch_run
from voirdire.cli.model_judges import (
    OF_REPLIES,
    USUAL,
    Only,
    UsualAskingOptions,
    choose_name,
    make_judge,
)
from voirdire.cli.option_groups import (
    option_group,
    pairs_of,
    with_spelling,
)
from voirdire.cli.options import (
    AsJson,
    Base,
    Confidence,
    File,
    Files,
    OptionalJudge,
    Orders,
    Output,
    RequireCertified,
    RubricName,
    run_options,
)
from voirdire.cli.printing import (
    keep_when_stopped,
    listen_for_interrupts,
    print_result,
    say_drops,
    say_notes,
    say_warnings,
)
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.written_files import check_output
from voirdire.judging import ModelSettings
from voirdire.rewards.fitting.settings import EVERY_OTHER, FitSettings, Sign
from voirdire.rewards.settings import ComparisonSettings

if TYPE_CHECKING:
    from voirdire.judging.jury import JudgeLike
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.rewards.fitting.judged_comparisons import FitProgress
    from voirdire.rewards.model import RewardModel

    FittingOptions: TypeAlias = FitSettings
    ReadingOptions: TypeAlias = ComparisonSettings
else:
    FittingOptions = option_group(
        FitSettings,
        panel=Group("How it is fitted", sort_key=5),
        without=("use_base",),
        orders=Orders,
        margins=with_spelling("--margin-of", pairs_of(float, named="LABEL")),
        signs=with_spelling(
            ("--sign", "--signs"),
            pairs_of(Sign, named="FEATURE", alone=EVERY_OTHER),
            metavar="[FEATURE=]SIGN",
        ),
        fixed=pairs_of(float, named="FEATURE"),
        ignored=with_spelling("--ignore", list[str], metavar="FEATURE"),
        veto=with_spelling("--veto", list[str], metavar="PROPOSITION"),
        features=with_spelling("--feature", list[str], metavar="QUESTION"),
        confidence_level=Confidence,
    )

    ReadingOptions = run_options(ComparisonSettings, base=Base)

__all__ = ["fit_command", "print_weights"]


def fit_command(
    comparisons: Annotated[str | None, Parameter(metavar="COMPARISONS")] = None,
    /,
    *,
    call: Call,
    output: Output = None,
    rubric: RubricName = "safety",
    reading: ReadingOptions = ComparisonSettings(),
    no_base: bool = False,
    verdicts: Files = [],
    only: Only = None,
    judge: OptionalJudge = None,
    asking: UsualAskingOptions = ModelSettings(),
    weights: File = None,
    fitting: FittingOptions = FitSettings(),
    certificates: Annotated[list[Path], Parameter(name="--certificate", metavar="FILE")] = [],
    require_certified: RequireCertified = False,
    name: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Fit the weights of a reward to comparisons of completions.

    One weight per proposition and completion class of a behavior, from completions of the same
    prompt of which one is better. The file holds everything that `voirdire score` needs.

    Parameters
    ----------
    comparisons
        Completions with labels, pairs (prompt, chosen, rejected) or ranked lists: JSONL, Parquet,
        CSV; - reads standard input.
    output
        The reward, a .json file.
    no_base
        Leave base rewards out.
    verdicts
        Verdicts of `voirdire judge` on the completions; repeatable. Default: they are judged now.
    judge
        Who judges: local, a file that `voirdire distill` made, a language model, or the YAML file
        of a cascade or a jury. Default: local.
    weights
        Take these weights, in JSON or YAML as behavior: {feature: number}, instead of fitting any.
        No COMPARISONS.
    certificates
        Certificate of an examination of the judge; repeatable.
    name
        What scores call the reward. Default: after the file.
    """
    judge = choose_name(judge, only, verdicts=verdicts)
    if output is None:
        msg = "`--output` must name the file of the reward: -o reward.json."
        raise UsageError(msg)
    from voirdire.rewards.model import is_reward_file

    check_output(output, ending=".json", what="reward", is_one=is_reward_file)
    about: dict[str, Any] = {"rubric": rubric, "name": name or output.stem}
    if weights is not None:
        idle = [name for name in call.options if name not in _ALSO_GIVEN]
        call.refuse(idle, why="`--weights` are given, and nothing is fitted")
        from voirdire.rewards.given_weights import reward_of_weights

        judge = judge or "local"
        model = reward_of_weights(
            Path(weights), orientation=fitting.orientation, judge=judge, **about
        )
        model.save(output)
        print_weights(model, output, as_json=as_json)
        return
    if reading.base is not None and no_base:
        msg = "`--base` and `--no-base` must not both be given."
        raise UsageError(msg)
    if comparisons is None:
        msg = "`COMPARISONS` must be a file of completions. Name one, or give `--weights`."
        raise UsageError(msg)
    asked = _asked(call, judge, asking, has_verdicts=bool(verdicts))
    listen_for_interrupts()
    stopping: AbstractContextManager[None] = nullcontext()
    if not isinstance(asked, str | None):
        from voirdire.judging.outputs import STORE_NAME

        reading = replace(reading, store=reading.store or output.resolve().parent / STORE_NAME)
        stopping = keep_when_stopped(comparisons, store=reading.store)
    use_base = False if no_base else True if reading.base is not None else None
    with stopping, say_warnings(), watch_run("fitting", _described) as tell:
        from voirdire.rewards.fitting.fit import fit_reward

        fit = fit_reward(
            comparisons,
            reading=reading,
            judge=asked,
            verdicts=verdicts or None,
            settings=replace(fitting, use_base=use_base),
            certificates=certificates,
            require_certified=require_certified,
            progress=tell,
            **about,
        )
    fit.model.save(output)
    _print_fit(fit, output, as_json=as_json)


def _described(state: FitProgress, _seconds: float) -> tuple[str, float, float]:
    return "", state.n_done, state.n_total


def _asked(
    call: Call, judge: str | None, asking: ModelSettings, *, has_verdicts: bool
) -> JudgeLike | None:
    """Make the judge; with verdicts its name is only looked up among them."""
    if not has_verdicts:
        made = make_judge(judge or "local", asking, call=call)
        return judge and made
    if typed := call.flags((*USUAL, *OF_REPLIES)):
        msg = f"`--judge` must name a language model for {typed}, got verdicts that there are."
        raise UsageError(msg)
    return judge


_ALSO_GIVEN = ("rubric", "output", "weights", "orientation", "judge", "name", "as_json")
"""What means something where weights are given by hand."""
# What it prints --------------------------------------------------------------------------------


def print_weights(model: RewardModel, target: Path, *, as_json: bool) -> None:
    """Print what weights a file of weights gave."""
    from voirdire.rewards.against_demands import (
        describe_paid_against_demands,
        find_paid_against_demands,
    )

    if note := describe_paid_against_demands(find_paid_against_demands(model)):
        say(f"note: {note}")
    weights = {name: dict(row.weights) for name, row in model.behaviors.items()}
    content = {"name": model.name, "content_hash": model.content_hash, "weights": weights}
    counts = [
        f"{name} ({sum(weight != 0 for weight in row.values())} weights)"
        for name, row in weights.items()
    ]
    whereabouts = f"{target}: {', '.join(counts)}\n\n{_write_score_command(model, target)}"
    print_result({"output": str(target), "reward": content}, whereabouts, as_json=as_json)


def _print_fit(fit: RewardFit, target: Path, *, as_json: bool) -> None:
    """Print weights and error rates; what was left out goes to standard error."""
    from voirdire.reporting.reward_json import reward_fit_as_dict
    from voirdire.reporting.reward_tables import RewardFitTables

    say_drops(fit.dropped, output="--json")
    say_notes(fit.notes)
    names = ", ".join(shorten(row.behavior, width=40) for row in fit.behaviors)
    content = {"output": str(target), **reward_fit_as_dict(fit)}
    whereabouts = f"{target}: weights of {names}\n\n{_list_next_commands(fit.model, target)}"
    print_result(content, RewardFitTables(fit), whereabouts, as_json=as_json)


def _list_next_commands(model: RewardModel, target: Path) -> str:
    """Name the next commands; an examination on the fit's own prompts says too little."""
    examine = f"  voirdire examine-reward OTHER_COMPARISONS {_write_reward_options(model, target)}"
    return f"{examine} --report reward.html\n{_write_score_command(model, target)}"


def _write_score_command(model: RewardModel, target: Path) -> str:
    return f"  voirdire score ITEMS {_write_reward_options(model, target)} -o rewards.jsonl"


def _write_reward_options(model: RewardModel, target: Path) -> str:
    """Name the reward, and the judge or verdicts that it takes where it asks for them."""
    name = model.judge.made_by.get("judge")
    asked = {"local": "", None: " --verdicts VERDICTS"}.get(name, " --judge own")
    return f"--reward {shlex.quote(str(target))}{asked}"
