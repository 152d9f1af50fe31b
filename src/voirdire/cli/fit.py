"""`voirdire fit`."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire._validation import shorten
from voirdire.cli.judging_progress import watched
from voirdire.cli.model_judges import (
    OF_REPLIES,
    USUAL,
    Only,
    RetryFailures,
    Store,
    UsualAskingOptions,
    asked_judge,
    named_judge,
    refuse_idle_options,
    typed_flags,
)
from voirdire.cli.option_groups import converted, number_of, option_group, pairs_of, spelled
from voirdire.cli.options import (
    AsJson,
    Base,
    Behavior,
    Columns,
    Confidence,
    File,
    Files,
    Format,
    JudgedPart,
    OptionalJudge,
    Orders,
    Output,
    RequireCertified,
    RubricName,
)
from voirdire.cli.printing import (
    caught_warnings,
    kept_when_stopped,
    listen_for_interrupts,
    print_result,
    say_drops,
    say_notes,
)
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.written_files import check_place
from voirdire.errors import InputError
from voirdire.judging import Asking
from voirdire.rewards.fitting.settings import EVERY_OTHER, FitSettings, Sign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.rewards.fitting.judged_comparisons import FitProgress
    from voirdire.rewards.model import RewardModel

    FittingOptions: TypeAlias = FitSettings
else:

    def _margin(tokens: Sequence[Any]) -> float:
        """Read the one margin; an earlier version took those of labels here too."""
        if len(tokens) > 1 or "=" in tokens[0].value:
            msg = "`--margin` must be one number. For one label: `--margin-of LABEL=NUMBER`."
            raise UsageError(msg)
        return number_of(tokens[0])

    FittingOptions = option_group(
        FitSettings,
        panel=Group("How it is fitted", sort_key=5),
        without=("use_base",),
        orders=Orders,
        margin=converted(_margin, is_repeated=True),
        margins=spelled("--margin-of", pairs_of(float, named="LABEL")),
        signs=spelled(
            ("--sign", "--signs"),
            pairs_of(Sign, named="FEATURE", alone=EVERY_OTHER),
            metavar="[FEATURE=]SIGN",
        ),
        fixed=pairs_of(float, named="FEATURE"),
        ignored=spelled("--ignore", list[str], metavar="FEATURE"),
        veto=spelled("--veto", list[str], metavar="PROPOSITION"),
        caps=spelled("--cap", pairs_of(float, named="PROPOSITION"), metavar="PROPOSITION=NUMBER"),
        features=spelled("--feature", list[str], metavar="QUESTION"),
        confidence_level=Confidence,
    )

__all__ = ["fit_command", "print_given"]


def fit_command(
    comparisons: Annotated[str | None, Parameter(metavar="COMPARISONS")] = None,
    /,
    *,
    call: Call,
    output: Output = None,
    rubric: RubricName = "safety",
    base: Base = None,
    no_base: bool = False,
    from_classes: bool = False,
    behavior: Behavior = None,
    columns: Columns = None,
    format: Format = None,
    verdicts: Files = [],
    only: Only = None,
    judge: OptionalJudge = None,
    threshold: float | None = None,
    judged: JudgedPart = "final_answer",
    asking: UsualAskingOptions = Asking(),
    store: Store = None,
    retry_failures: RetryFailures = False,
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
    base
        Column of the base reward, or a file of reward-model scores in the layout of the authors
        of rule-based rewards. Default: base_reward, where there is one.
    no_base
        Leave base rewards out.
    from_classes
        Take the completion class that the verdicts give for the label.
    columns
        Your name for a column, as OURS=YOURS (id, prompt, response, messages, label, chosen,
        rejected, chosen_base_reward, rejected_base_reward, margin, ranked, behavior, group,
        split); repeatable.
    verdicts
        Verdicts of `voirdire judge` on the completions, or the authors' file of features;
        repeatable. Default: they are judged now.
    judge
        Who judges: local, a file that `voirdire distill` made, a language model, or the YAML file
        of a cascade or a jury. Default: local.
    threshold
        A proposition is true from this probability on. Fix it beforehand. Default: what the
        verdicts, the rubric or the judge say.
    weights
        Take these weights, in JSON or YAML as behavior: {feature: number}, instead of fitting any.
        No COMPARISONS.
    certificates
        Certificate of an examination of the judge; repeatable.
    name
        What scores call the reward. Default: after the file.
    """
    judge = named_judge(judge, only, verdicts=verdicts)
    target = _checked_output(output)
    made: dict[str, Any] = {"rubric": rubric, "name": name or target.stem}
    if weights is not None:
        _refuse_fitting(call)
        from voirdire.rewards.given_weights import reward_of_weights

        judge = judge or "local"
        given = reward_of_weights(
            Path(weights), orientation=fitting.orientation, judge=judge, **made
        )
        given.save(target)
        print_given(given, target, as_json=as_json)
        return
    if base is not None and no_base:
        msg = "`--base` and `--no-base` must not both be given."
        raise UsageError(msg)
    if comparisons is None:
        msg = "`COMPARISONS` must be a file of completions. Name one, or give `--weights`."
        raise UsageError(msg)
    asked = _asked(call, judge, asking, has_verdicts=bool(verdicts))
    listen_for_interrupts()
    stopping: AbstractContextManager[None] = nullcontext()
    if not isinstance(asked, str | None):
        from voirdire.judging.runs.outputs import STORE_NAME

        store = store or str(target.resolve().parent / STORE_NAME)
        stopping = kept_when_stopped(comparisons, store=store)
    reading: dict[str, Any] = {
        "format": format,
        "columns": columns or None,
        "base": base,
        "behavior": behavior,
        "judged": judged,
    }
    use_base = False if no_base else None if base is None else True
    with stopping:
        fit = _fitted(
            comparisons,
            reading=reading,
            judge=asked,
            verdicts=verdicts or None,
            settings=replace(fitting, use_base=use_base),
            from_classes=from_classes,
            certificates=certificates,
            require_certified=require_certified,
            store=store,
            retry_failures=retry_failures,
            threshold=threshold,
            judged=judged,
            **made,
        )
    fit.model.save(target)
    _print_fit(fit, target, as_json=as_json)


def _fitted(comparisons: str, *, reading: dict[str, Any], **asked: Any) -> RewardFit:
    def describe(state: FitProgress, _seconds: float) -> tuple[str, float, float]:
        return "", state.n_done, state.n_total

    with caught_warnings(), watched("fitting", describe) as tell:
        from voirdire.judging.plan import check_behavior
        from voirdire.rewards.comparisons.reading import read_comparisons
        from voirdire.rewards.fitting.fit import fit_reward
        from voirdire.rubrics import load_rubric

        check_behavior(reading["behavior"], load_rubric(asked["rubric"]))
        data = read_comparisons(comparisons, **reading)
        return fit_reward(data, progress=tell, **asked)


def _checked_output(output: Path | None) -> Path:
    """Refuse to replace a file that is no reward, before any work is done."""
    from voirdire.rewards.model import is_reward_file

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


def _asked(
    call: Call, judge: str | None, asking: Asking, *, has_verdicts: bool
) -> JudgeLike | None:
    """Make the judge; with verdicts its name is only looked up among them."""
    from voirdire.judging.judges.cascade_jury_files import detect_kind
    from voirdire.models import is_model_name

    named = judge or "local"
    if not has_verdicts and (detect_kind(named) or is_model_name(named)):
        refuse_idle_options(call, judge=named)
        return asked_judge(named, asking, call=call)
    if typed := typed_flags(call, (*USUAL, *OF_REPLIES)):
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


# What it prints --------------------------------------------------------------------------------


def print_given(model: RewardModel, target: Path, *, as_json: bool) -> None:
    """Print what weights a file of weights gave."""
    from voirdire.rewards.against_demands import paid_against_demands, said_of_demands

    if said := said_of_demands(paid_against_demands(model)):
        say(f"note: {said}")
    weights = {name: dict(row.weights) for name, row in model.behaviors.items()}
    content = {"name": model.name, "content_hash": model.content_hash, "weights": weights}
    counts = [
        f"{name} ({sum(weight != 0 for weight in row.values())} weights)"
        for name, row in weights.items()
    ]
    whereabouts = f"{target}: {', '.join(counts)}\n\n{_how_to_score(model, target)}"
    print_result({"output": str(target), "reward": content}, whereabouts, as_json=as_json)


def _print_fit(fit: RewardFit, target: Path, *, as_json: bool) -> None:
    """Print weights and error rates; what was left out goes to standard error."""
    from voirdire.reporting.reward_json import reward_fit_as_dict
    from voirdire.reporting.reward_tables import RewardFitTables

    say_drops(fit.dropped, output="--json")
    say_notes(fit.notes)
    named = ", ".join(shorten(row.behavior, width=40) for row in fit.behaviors)
    content = {"output": str(target), **reward_fit_as_dict(fit)}
    whereabouts = f"{target}: weights of {named}\n\n{_how_to_go_on(fit.model, target)}"
    print_result(content, RewardFitTables(fit), whereabouts, as_json=as_json)


def _how_to_go_on(model: RewardModel, target: Path) -> str:
    """Name the next commands; an examination on the fit's own prompts says too little."""
    examine = f"  voirdire examine-reward OTHER_COMPARISONS {_with_judge(model, target)}"
    return f"{examine} --report reward.html\n{_how_to_score(model, target)}"


def _how_to_score(model: RewardModel, target: Path) -> str:
    return f"  voirdire score ITEMS {_with_judge(model, target)} -o rewards.jsonl"


def _with_judge(model: RewardModel, target: Path) -> str:
    """Name the reward, and the judge or verdicts that it takes where it asks for them."""
    name = model.judge.made_by.get("judge")
    asked = {"local": "", None: " --verdicts VERDICTS"}.get(name, " --judge own")
    return f"--reward {shlex.quote(str(target))}{asked}"
