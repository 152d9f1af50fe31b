"""`voirdire serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import judge_or_own
from voirdire.cli.option_groups import takes_groups
from voirdire.cli.reading_options import behavior_option
from voirdire.cli.reward_options import REWARD, Center, RequireCertified, Reward, RewardRubric

if TYPE_CHECKING:
    from voirdire.web import ServerSettings

__all__ = ["serve_command"]

JUDGE, SERVER, REQUESTS, RECORD = "The judge", "The server", "Requests", "The record"
TOKEN_VARIABLE = "VOIRDIRE_TOKEN"  # noqa: S105  # the name of a variable
DEFAULT_STORE = "voirdire-replies.sqlite"
MIB = 1024 * 1024


@takes_groups
def serve_command(
    context: typer.Context,
    *,
    reward: Reward,
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    center: Center = False,
    behavior: Annotated[str | None, behavior_option("items", panel=REWARD)] = None,
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
    asking: models.UsualAsking,
    calls: models.UsualCalls,
    store: Annotated[
        str | None,
        models.store_option(f"{DEFAULT_STORE} in this folder", kept="a language model's replies"),
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
    asked = judge_or_own(context, judge, asking=asking, calls=calls)
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
