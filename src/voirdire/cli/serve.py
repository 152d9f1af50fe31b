"""`voirdire serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import ModelOptions, refuse_idle_options

if TYPE_CHECKING:
    from voirdire.judging import LlmJudge
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.web import ServerSettings

__all__ = ["serve_command"]

REWARD, JUDGE, SERVER, REQUESTS = "The reward", "The judge", "The server", "Requests"
RECORD = "The record"
TOKEN_VARIABLE = "VOIRDIRE_TOKEN"  # noqa: S105  # the name of a variable
DEFAULT_STORE = "voirdire-replies.sqlite"
MIB = 1024 * 1024


def serve_command(
    context: typer.Context,
    reward: Annotated[
        Path,
        typer.Option(
            help="What `voirdire fit` wrote.", metavar="FILE.json", rich_help_panel=REWARD
        ),
    ],
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
    behavior: Annotated[
        str | None,
        typer.Option(help="The behavior of items that have none.", rich_help_panel=REWARD),
    ] = None,
    missing_reward: Annotated[
        float | None,
        typer.Option(
            help="What OpenRLHF is given where there is no reward. Default: the mean of the "
            "behavior over the completions of the fit.",
            show_default=False,
            rich_help_panel=REWARD,
        ),
    ] = None,
    end_token: Annotated[
        list[str],
        typer.Option(
            help="A special token at the end of what OpenRLHF sends, beside the known ones; "
            "repeatable.",
            metavar="TOKEN",
            rich_help_panel=REWARD,
        ),
    ] = [],  # noqa: B006  # typer copies it
    judge: Annotated[
        str | None,
        typer.Option(
            help="Who judges: local, a file that `voirdire distill` made, a language model, the "
            "YAML file of a cascade, or own: the judge that the reward was fitted on, wherever "
            "that is. Default: own where that is local.",
            metavar="local|own|FILE|MODEL",
            show_default=False,
            rich_help_panel=JUDGE,
        ),
    ] = None,
    other_judge: Annotated[
        bool,
        typer.Option(
            "--other-judge",
            help="Take another judge than the weights were fitted on; certificates say nothing of "
            "that one.",
            rich_help_panel=JUDGE,
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
    store: Annotated[
        str | None,
        typer.Option(
            help="Where a language model's replies are kept: a file, or postgresql://... Default: "
            f"{DEFAULT_STORE} in this folder.",
            metavar="FILE|URL",
            show_default=False,
            rich_help_panel="Calls to language models",
        ),
    ] = None,
    retry_failures: models.RetryFailures = False,
    host: Annotated[
        str,
        typer.Option(
            help="Where to listen. Any but this machine's own needs a token.",
            rich_help_panel=SERVER,
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help="Where to listen; 0 takes any that is free.",
            rich_help_panel=SERVER,
        ),
    ] = 8000,
    token_env: Annotated[
        str | None,
        typer.Option(
            help="The environment variable that holds the token which clients must send. Default: "
            f"{TOKEN_VARIABLE}, where it is set.",
            metavar="NAME",
            show_default=False,
            rich_help_panel=SERVER,
        ),
    ] = None,
    connections: Annotated[
        int, typer.Option(min=1, help="Connections at once, at most.", rich_help_panel=SERVER)
    ] = 4_096,
    drain: Annotated[
        float,
        typer.Option(
            help="Seconds that requests under way get when the server is to end.",
            rich_help_panel=SERVER,
        ),
    ] = 30.0,
    json_log: Annotated[
        bool,
        typer.Option("--json-log", help="Write the log as JSON lines.", rich_help_panel=SERVER),
    ] = False,
    queue: Annotated[
        int,
        typer.Option(
            min=1,
            help="Items that all requests together may hold; beyond them 503 and Retry-After.",
            metavar="ITEMS",
            rich_help_panel=REQUESTS,
        ),
    ] = 20_000,
    deadline: Annotated[
        float,
        typer.Option(
            help="Seconds after which a request is answered with what there is; it may ask for "
            "fewer.",
            rich_help_panel=REQUESTS,
        ),
    ] = 60.0,
    max_body: Annotated[
        int, typer.Option(min=1, help="MiB that a request may have.", rich_help_panel=REQUESTS)
    ] = 16,
    remembered: Annotated[
        int,
        typer.Option(
            min=0, help="Items whose verdicts are kept in memory.", rich_help_panel=REQUESTS
        ),
    ] = 100_000,
    record: Annotated[
        Path | None,
        typer.Option(
            help="A folder for figures and completions, texts included, as of a training run.",
            metavar="FOLDER",
            show_default=False,
            rich_help_panel=RECORD,
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="The folder of an earlier run, which alarms compare with.",
            metavar="FOLDER",
            show_default=False,
            rich_help_panel=RECORD,
        ),
    ] = None,
) -> None:
    """Give rewards over HTTP, to whatever trains: POST /v1/rewards, or OpenRLHF's own form.

    Prints its address when it takes requests. No text of a request is ever in the log.

    SIGTERM and Ctrl-C let the requests under way end.
    """
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
    asked = _asked(context, typed, judge=judge)
    _serve(
        reward,
        loading={"rubric": rubric, "require_certified": require_certified},
        rewarding={
            "judge": asked,
            "other_judge": other_judge,
            "store": DEFAULT_STORE if store is None else store,
            "center": center,
        },
        living={
            "deadline_s": deadline,
            "most_waiting": queue,
            "remembered": remembered,
            "retry_failures": retry_failures,
        },
        serving={
            "token": _token(token_env),
            "max_body": max_body * MIB,
            "queue": queue,
            "connections": connections,
            "behavior": behavior,
            "missing_reward": missing_reward,
            "end_tokens": tuple(end_token),
            "record": record,
            "reference": reference,
            "drain_s": drain,
        },
        listening={"host": host, "port": port, "json_log": json_log},
    )


def _serve(
    reward: Path,
    *,
    loading: dict[str, Any],
    rewarding: dict[str, Any],
    living: dict[str, Any],
    serving: dict[str, Any],
    listening: dict[str, Any],
) -> None:
    with caught_warnings():
        from voirdire.rewards.live import LiveReward, LiveSettings
        from voirdire.rewards.model_file import load_reward
        from voirdire.web import ServerSettings, serve

        settings: ServerSettings = ServerSettings(**serving)
        model = load_reward(reward, **loading)
        live = LiveReward(model, settings=LiveSettings(**living), **rewarding)
    for note in live.notes:
        typer.echo(f"note: {note}", err=True)
    serve(live, settings=settings, started=_tell, **listening)


def _tell(url: str) -> None:
    typer.echo(url)


def _token(variable: str | None) -> str | None:
    """Read the token, which is never typed: what is typed is seen in the list of processes."""
    found = os.environ.get(TOKEN_VARIABLE if variable is None else variable, "")
    if not found and variable is not None:
        msg = (  # perhaps it is the token itself: it is not shown
            "`--token-env` must name a variable that is set, got something else. Set the variable, "
            "and leave the token itself there."
        )
        raise typer.BadParameter(msg)
    return found or None


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
    context: typer.Context, typed: ModelOptions, *, judge: str | None
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; the reward says how its own is made."""
    if judge not in (None, "own"):
        refuse_idle_options(context, judge=judge, judges=None)
        return typed.asked(judge)
    idle = ("mode", "probability", "language", "base_url", "api_key_env", "concurrency")
    names = (*idle, "timeout", "price", "max_cost")
    sources = {name: context.get_parameter_source(name) for name in names}
    said = [
        f"--{name.replace('_', '-')}"
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    ]
    if said:
        msg = f"{', '.join(said)} must be left out: name the `--judge` too."
        raise typer.BadParameter(msg)
    return judge
