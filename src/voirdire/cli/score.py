"""`voirdire score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import ModelOptions, prepare_to_be_stopped, refuse_idle_options
from voirdire.cli.options import as_mapping
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.scoring_output import print_scoring, say_how_to_go_on, scoring_progress

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.rewards.scoring.score_summary import ScoringSummary

__all__ = ["score_command"]

READ, REWARD, VERDICTS, WRITTEN = "The items", "The reward", "The verdicts", "The rewards"


def score_command(
    context: typer.Context,
    items: Annotated[
        str,
        typer.Argument(
            help="Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.",
            metavar="ITEMS",
        ),
    ],
    reward: Annotated[
        Path,
        typer.Option(
            help="What `voirdire fit` wrote.", metavar="FILE.json", rich_help_panel=REWARD
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The rewards: .parquet, .jsonl or .csv; - prints JSONL.",
            metavar="FILE",
            rich_help_panel=WRITTEN,
        ),
    ],
    verdicts: Annotated[
        list[str],
        typer.Option(
            help="Verdicts of `voirdire judge` on the items, in any order; repeatable. Default: "
            "the items are judged now.",
            metavar="FILE",
            rich_help_panel=VERDICTS,
        ),
    ] = [],  # noqa: B006  # typer copies it
    judge: Annotated[
        str | None,
        typer.Option(
            help="Who judges: local, a file that `voirdire distill` made, a language model, the "
            "YAML file of a cascade, or own: the judge that the reward was fitted on, wherever "
            "that is. With --verdicts the name of the judge whose verdicts count. Default: own "
            "where that is local.",
            metavar="local|own|FILE|MODEL",
            show_default=False,
            rich_help_panel=VERDICTS,
        ),
    ] = None,
    other_judge: Annotated[
        bool,
        typer.Option(
            "--other-judge",
            help="Take verdicts of another judge than the weights were fitted on; certificates "
            "say nothing of that one.",
            rich_help_panel=VERDICTS,
        ),
    ] = False,
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
    rubric: Annotated[
        str | None,
        typer.Option(
            help="The rubric that the reward must belong to. Default: the one that it was made "
            "from, where that is still found.",
            metavar="NAME|FILE",
            show_default=False,
            rich_help_panel=REWARD,
        ),
    ] = None,
    require_certified: Annotated[
        bool,
        typer.Option(
            "--require-certified",
            help="Fail if a proposition with a weight has no valid certificate.",
            rich_help_panel=REWARD,
        ),
    ] = False,
    center: Annotated[
        bool,
        typer.Option(
            "--center",
            help="Take each behavior's mean off its rule rewards, so that behaviors compare.",
            rich_help_panel=REWARD,
        ),
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(
            help="Column of the base reward, which is added. Default: base_reward, where the "
            "reward was fitted beside one.",
            metavar="COLUMN",
            show_default=False,
            rich_help_panel=READ,
        ),
    ] = None,
    behavior: Annotated[
        str | None,
        typer.Option(help="The behavior of items that have none.", rich_help_panel=READ),
    ] = None,
    column: Annotated[
        list[str],
        typer.Option(
            help="Your name for a column, as OURS=YOURS (id, prompt, response, messages, chosen, "
            "rejected, behavior, group, cluster); repeatable.",
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
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Add a column per feature: what it adds to the reward.",
            rich_help_panel=WRITTEN,
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            help="Processes of a local judge; 0: one per core, at most 8, where there are more "
            "than 20,000 items.",
            rich_help_panel=WRITTEN,
        ),
    ] = 0,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Throw away what an interrupted run left.",
            rich_help_panel=WRITTEN,
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Give responses their rewards: base reward plus weighted verdicts, to a file.

    An item without a reward says why; it never gets 0. A run that judges and was interrupted goes
    on where it was when the same command is given again.
    """
    if str(output) == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise typer.BadParameter(msg)
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
    listen_for_interrupts()
    settings: dict[str, Any] = {
        "verdicts": verdicts or None,
        "judge": _asked(context, typed, judge=judge, has_verdicts=bool(verdicts)),
        "store": store,
        "base": base,
        "columns": as_mapping(column, option="--column") or None,
        "format": file_format,
        "behavior": behavior,
        "explain": explain,
        "center": center,
        "other_judge": other_judge,
        "retry_failures": retry_failures,
        "restart": restart,
        "workers": workers or "auto",
    }
    if not verdicts:
        prepare_to_be_stopped(items)
    loading = {"rubric": rubric, "require_certified": require_certified}
    summary = _scored(items, output, reward=reward, loading=loading, settings=settings)
    print_scoring(summary, as_json=as_json)
    if not summary.n_scored:
        typer.echo("voirdire: no item got a reward.", err=True)
        raise typer.Exit(1)


def _scored(
    items: str, output: Path, *, reward: Path, loading: dict[str, Any], settings: dict[str, Any]
) -> ScoringSummary:
    try:
        with caught_warnings(), scoring_progress(items) as tell:
            from voirdire.rewards.model_file import load_reward
            from voirdire.rewards.scoring.score_file import score_file

            model = load_reward(reward, **loading)
            return score_file(items, output, reward=model, progress=tell, **settings)
    except KeyboardInterrupt:
        if settings["verdicts"] is None:
            say_how_to_go_on(output, source=items)
        raise


def _model_options(**typed: Any) -> ModelOptions:
    """Leave what is not offered here as `voirdire judge` has it by default."""
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


def _asked(
    context: typer.Context, typed: ModelOptions, *, judge: str | None, has_verdicts: bool
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; with verdicts its name is only looked up among them."""
    if has_verdicts or judge in (None, "own"):
        _refuse_idle(context, has_verdicts=has_verdicts)
        return judge
    refuse_idle_options(context, judge=judge, judges=None)
    return typed.asked(judge)


def _refuse_idle(context: typer.Context, *, has_verdicts: bool) -> None:
    """Refuse options of calls where nobody is called, or where the reward says how."""
    kept = () if has_verdicts else ("store", "retry_failures")
    idle = ("mode", "probability", "language", "base_url", "api_key_env", "concurrency")
    names = (*idle, "timeout", "price", "max_cost", "store", "retry_failures")
    typed = [
        f"--{name.replace('_', '-')}"
        for name in names
        if name not in kept
        and (source := context.get_parameter_source(name)) is not None
        and source.name == "COMMANDLINE"
    ]
    if typed:
        why = "verdicts are not asked for again" if has_verdicts else "name the `--judge` too"
        msg = f"{', '.join(typed)} must be left out: {why}."
        raise typer.BadParameter(msg)
