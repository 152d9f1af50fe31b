"""`voirdire fit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire._types import Judged, Loss, Orientation
from voirdire._validation import shorten
from voirdire.cli import model_options as models
from voirdire.cli.fit_options import as_margins, as_numbers, as_orders, as_signs
from voirdire.cli.fit_output import caught_warnings, fit_progress, print_fit, print_given
from voirdire.cli.judging_output import say_how_to_go_on
from voirdire.cli.model_judges import ModelOptions, prepare_to_be_stopped
from voirdire.cli.options import as_mapping
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.written_files import check_place
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.rewards.fitting.result import RewardFit
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.model import RewardModel

__all__ = ["fit_command"]

READ, VERDICTS, FITTED, FEATURES, ESTIMATED, WRITTEN = (
    "The comparisons",
    "The verdicts",
    "How it is fitted",
    "Single features",
    "Error rates and intervals",
    "The reward",
)


def fit_command(
    context: typer.Context,
    comparisons: Annotated[
        str | None,
        typer.Argument(
            help="Completions with labels, pairs (prompt, chosen, rejected) or ranked lists: "
            "JSONL, Parquet, CSV; - reads standard input.",
            metavar="COMPARISONS",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The reward.", metavar="FILE.json", rich_help_panel=WRITTEN
        ),
    ] = None,
    rubric: Annotated[
        str,
        typer.Option(
            help="A built-in rubric, or a YAML file.", metavar="NAME|FILE", rich_help_panel=READ
        ),
    ] = "safety",
    base: Annotated[
        str | None,
        typer.Option(
            help="Column of the base reward. Default: base_reward, where there is one.",
            metavar="COLUMN",
            show_default=False,
            rich_help_panel=READ,
        ),
    ] = None,
    no_base: Annotated[
        bool,
        typer.Option("--no-base", help="Leave base rewards out.", rich_help_panel=READ),
    ] = False,
    from_classes: Annotated[
        bool,
        typer.Option(
            "--from-classes",
            help="Take the completion class that the verdicts give for the label.",
            rich_help_panel=READ,
        ),
    ] = False,
    order: Annotated[
        list[str],
        typer.Option(
            help='Which labels are better, such as "ideal > less_good > unacceptable, illogical"; '
            "with BEHAVIOR= before it for one behavior; repeatable. Default: the order of the "
            "rubric's classes.",
            metavar="[BEHAVIOR=]TEXT",
            rich_help_panel=READ,
        ),
    ] = [],  # noqa: B006  # typer copies it
    behavior: Annotated[
        str | None,
        typer.Option(help="The behavior of completions that have none.", rich_help_panel=READ),
    ] = None,
    column: Annotated[
        list[str],
        typer.Option(
            help="Your name for a column, as OURS=YOURS (id, prompt, response, messages, label, "
            "chosen, rejected, chosen_base_reward, rejected_base_reward, margin, ranked, behavior, "
            "group, split); repeatable.",
            metavar="OURS=YOURS",
            rich_help_panel=READ,
        ),
    ] = [],  # noqa: B006
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Instead of the file's ending: jsonl, csv, tsv, json, parquet.",
            rich_help_panel=READ,
        ),
    ] = None,
    verdicts: Annotated[
        list[str],
        typer.Option(
            help="Verdicts of `voirdire judge` on the completions; repeatable. Default: they are "
            "judged now.",
            metavar="FILE",
            rich_help_panel=VERDICTS,
        ),
    ] = [],  # noqa: B006
    judge: Annotated[
        str | None,
        typer.Option(
            help="Who judges: local, a file that `voirdire distill` made, a language model, or the "
            "YAML file of a cascade. With --verdicts the name of the judge whose verdicts count. "
            "Default: local.",
            metavar="local|FILE|MODEL",
            show_default=False,
            rich_help_panel=VERDICTS,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="A proposition is true from this probability on. Fix it beforehand. Default: "
            "what the verdicts or the rubric say.",
            show_default=False,
            rich_help_panel=VERDICTS,
        ),
    ] = None,
    judged: Annotated[
        Judged,
        typer.Option(
            help="What of a response is judged, where it has reasoning or tool turns.",
            rich_help_panel=VERDICTS,
        ),
    ] = "final_answer",
    mode: models.ModeOption = "joint",
    probability: models.Probability = "logprob",
    language: models.LanguageOption = "en",
    base_url: models.BaseUrl = None,
    api_key_env: models.ApiKeyEnv = None,
    concurrency: models.Concurrency = 32,
    timeout: models.Timeout = 120.0,
    price: models.PriceOption = None,
    max_cost: models.MaxCost = None,
    store: models.Store = None,
    retry_failures: models.RetryFailures = False,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Take these weights, in JSON or YAML as behavior: {feature: number}, instead of "
            "fitting any. No COMPARISONS.",
            metavar="FILE",
            rich_help_panel=FITTED,
        ),
    ] = None,
    loss: Annotated[
        Loss, typer.Option(help="What is minimised.", rich_help_panel=FITTED)
    ] = "hinge",
    l2: Annotated[
        float | None,
        typer.Option(
            "--l2",
            help="λ, at least 0. Default: chosen by cross-validation over prompts.",
            show_default=False,
            rich_help_panel=FITTED,
        ),
    ] = None,
    margin: Annotated[
        list[str],
        typer.Option(
            help="How much higher the better one's reward is to be; LABEL=NUMBER where the better "
            "one has that label; repeatable. Default 1.",
            metavar="[LABEL=]NUMBER",
            rich_help_panel=FITTED,
        ),
    ] = [],  # noqa: B006
    equal_prompts: Annotated[
        bool,
        typer.Option(
            "--equal-prompts",
            help="Every prompt counts the same, however many completions it has.",
            rich_help_panel=FITTED,
        ),
    ] = False,
    orientation: Annotated[
        Orientation,
        typer.Option(
            help="Features are the probabilities of propositions (plain), or of their demanded "
            "states: those of required and desired ones (rule), or all (demanded).",
            rich_help_panel=FEATURES,
        ),
    ] = "plain",
    positive: Annotated[
        list[str],
        typer.Option(
            help="Hold the weight of this feature to at least 0; repeatable.",
            metavar="FEATURE",
            rich_help_panel=FEATURES,
        ),
    ] = [],  # noqa: B006
    negative: Annotated[
        list[str],
        typer.Option(
            help="Hold it to at most 0; repeatable.", metavar="FEATURE", rich_help_panel=FEATURES
        ),
    ] = [],  # noqa: B006
    fixed: Annotated[
        list[str],
        typer.Option(
            help="Give it this weight; repeatable.",
            metavar="FEATURE=NUMBER",
            rich_help_panel=FEATURES,
        ),
    ] = [],  # noqa: B006
    ignore: Annotated[
        list[str],
        typer.Option(
            help="Give it no weight; repeatable.", metavar="FEATURE", rich_help_panel=FEATURES
        ),
    ] = [],  # noqa: B006
    folds: Annotated[
        int,
        typer.Option(
            help="Parts of the prompts, of which one after the other is held out.",
            rich_help_panel=ESTIMATED,
        ),
    ] = 5,
    resamples: Annotated[
        int,
        typer.Option(
            help="Bootstrap resamples over prompts; 0 for no intervals.",
            rich_help_panel=ESTIMATED,
        ),
    ] = 200,
    confidence_level: Annotated[
        float,
        typer.Option(
            "--confidence-level",
            "--confidence",
            help="Of intervals, in (0, 1).",
            rich_help_panel=ESTIMATED,
        ),
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(help="Of folds and resamples.", rich_help_panel=ESTIMATED)
    ] = 0,
    certificate: Annotated[
        list[Path],
        typer.Option(
            help="Certificate of an examination of the judge; repeatable.",
            metavar="FILE",
            rich_help_panel=WRITTEN,
        ),
    ] = [],  # noqa: B006
    require_certified: Annotated[
        bool,
        typer.Option(
            "--require-certified",
            help="Fail if a proposition with a weight has no valid certificate.",
            rich_help_panel=WRITTEN,
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            help="What scores call the reward. Default: after the file.",
            show_default=False,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fit the weights of a reward to comparisons of completions.

    One weight per proposition and completion class of a behavior, from completions of the same
    prompt of which one is better. The file holds everything that `voirdire score` needs.
    """
    target = _checked_output(output)
    made: dict[str, Any] = {
        "rubric": rubric,
        "name": name or target.stem,
    }
    if weights is not None:
        _refuse_fitting(context)
        given = _given_weights(weights, orientation=orientation, judge=judge, **made)
        given.save(target)
        print_given(given, target, as_json=as_json)
        return
    if base is not None and no_base:
        msg = "`--base` and `--no-base` must not both be given."
        raise typer.BadParameter(msg)
    if comparisons is None:
        msg = "`COMPARISONS` must be a file of completions. Name one, or give `--weights`."
        raise typer.BadParameter(msg)
    settings = _settings(
        orientation=orientation,
        loss=loss,
        l2=l2,
        **as_margins(margin),
        orders=as_orders(order),
        equal_prompts=equal_prompts,
        signs=as_signs(positive, negative),
        fixed=as_numbers(fixed, option="--fixed"),
        ignored=tuple(ignore),
        use_base=False if no_base else True if base is not None else None,
        n_folds=folds,
        n_resamples=resamples,
        confidence_level=confidence_level,
        seed=seed,
    )
    typed = _model_options(
        mode=mode,
        probability=probability,
        language=language,
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        timeout=timeout,
        price=price,
        max_cost=max_cost,
    )
    asked = _asked(context, typed, judge=judge, has_verdicts=bool(verdicts))
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
        raise typer.BadParameter(msg)
    if output.suffix.lower() != ".json":
        msg = f"`--output` must end in .json, got {str(output)!r}. Rename it."
        raise InputError(msg)
    check_place(output)
    if output.exists() and not is_reward_file(output):
        msg = f"`--output` must not replace {str(output)!r}, which is no reward. Name another."
        raise InputError(msg)
    return output


def _settings(**given: Any) -> FitSettings:
    from voirdire.rewards.fitting.settings import FitSettings

    return FitSettings(**given)


def _model_options(**typed: Any) -> ModelOptions:
    """Leave what a fit does not offer as `voirdire judge` has it by default."""
    return ModelOptions(
        samples=5,
        orders=1,
        examples=None,
        seed=0,
        temperature=None,
        reasoning_effort=None,
        max_tokens=None,
        route=False,
        requests_per_minute=None,
        tokens_per_minute=None,
        **typed,
    )


def _store_beside(target: Path) -> str:
    """Keep replies where `voirdire judge` and `voirdire score` keep them."""
    from voirdire.judging.reply_stores import STORE_NAME

    return str(target.resolve().parent / STORE_NAME)


def _asked(
    context: typer.Context, typed: ModelOptions, *, judge: str | None, has_verdicts: bool
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge; with verdicts its name is only looked up among them."""
    from voirdire.judging.cascade.cascade_file import is_cascade_file
    from voirdire.models import is_model_name

    if not has_verdicts and is_cascade_file(judge or "local"):
        _refuse_idle_options(context, judge=judge, has_verdicts=False, of_run=_OF_RUNS)
        return typed.asked(judge or "local")
    if has_verdicts or not is_model_name(judge or "local"):
        _refuse_idle_options(context, judge=judge, has_verdicts=has_verdicts)
        return judge
    return typed.judge(judge or "local")


_OF_MODELS = (
    "mode",
    "probability",
    "language",
    "base_url",
    "api_key_env",
    "concurrency",
    "timeout",
    "price",
    "max_cost",
    "store",
    "retry_failures",
)


_OF_RUNS = ("max_cost", "store", "retry_failures")
"""What does not stand in the file of a cascade, or may be another for a run."""


def _refuse_idle_options(
    context: typer.Context, *, judge: str | None, has_verdicts: bool, of_run: tuple[str, ...] = ()
) -> None:
    """Refuse what was typed about a language model where none is asked, or where a file says it."""
    names = [name for name in _OF_MODELS if name not in of_run]
    typed = ", ".join(f"--{name.replace('_', '-')}" for name in _typed(context, names))
    if typed and of_run:
        msg = f"`{shorten(judge)}` must say everything about its judges, got {typed} beside it."
        raise typer.BadParameter(f"{msg} Write it into the file.")
    if typed:
        got = "verdicts that there are" if has_verdicts else repr(shorten(judge or "local"))
        msg = f"`--judge` must name a language model for {typed}, got {got}."
        raise typer.BadParameter(msg)


def _typed(context: typer.Context, names: Iterable[str]) -> list[str]:
    """Name the options that were typed."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return [
        name
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    ]


_ALSO_GIVEN = ("rubric", "output", "weights", "orientation", "judge", "name", "as_json")
"""What means something where weights are given by hand."""


def _refuse_fitting(context: typer.Context) -> None:
    known = {parameter.name or "": parameter.opts[0] for parameter in context.command.params}
    typed = [known[name] for name in _typed(context, known) if name not in _ALSO_GIVEN]
    if typed:
        shown = ", ".join("COMPARISONS" if name == "comparisons" else name for name in typed)
        msg = f"`--weights` must stand without {shown}: given weights are not fitted."
        raise typer.BadParameter(msg)


def _given_weights(path: Path, *, judge: str | None, **made: Any) -> RewardModel:
    from voirdire.rewards.given_weights import reward_of_weights

    return reward_of_weights(path, judge=judge or "local", **made)
