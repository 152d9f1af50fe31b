"""`voirdire serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from voirdire.cli import model_options as models
from voirdire.cli.fit_output import caught_warnings
from voirdire.cli.model_judges import judge_or_own
from voirdire.cli.reading_options import behavior_option
from voirdire.cli.reward_options import REWARD, Center, RequireCertified, Reward, RewardRubric
from voirdire.cli.shell import Call, UsageError, say

if TYPE_CHECKING:
    from voirdire.web import ServerSettings

__all__ = ["serve_command"]

JUDGE = Group("The judge", sort_key=2)
SERVER = Group("The server", sort_key=3)
REQUESTS = Group("Requests", sort_key=4)
RECORD = Group("The record", sort_key=5)
TOKEN_VARIABLE = "VOIRDIRE_TOKEN"  # noqa: S105  # the name of a variable
DEFAULT_STORE = "voirdire-replies.sqlite"
MIB = 1024 * 1024


def serve_command(
    *,
    call: Call,
    reward: Reward,
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    center: Center = False,
    behavior: Annotated[str | None, behavior_option("items", panel=REWARD)] = None,
    missing_reward: Annotated[
        float | None,
        Parameter(
            help="What OpenRLHF is given where there is no reward. Default: the mean of the "
            "behavior over the completions of the fit.",
            show_default=False,
            group=REWARD,
        ),
    ] = None,
    end_token: Annotated[
        list[str],
        Parameter(
            help="A special token at the end of what OpenRLHF sends, beside the known ones; "
            "repeatable.",
            metavar="TOKEN",
            group=REWARD,
        ),
    ] = [],
    judge: Annotated[
        str | None,
        Parameter(
            help="Who judges: local, a file that `voirdire distill` made, a language model, the "
            "YAML file of a cascade, or own: the judge that the reward was fitted on, wherever "
            "that is. Default: own where that is local.",
            metavar="local|own|FILE|MODEL",
            show_default=False,
            group=JUDGE,
        ),
    ] = None,
    other_judge: Annotated[
        bool,
        Parameter(
            name="--other-judge",
            help="Take another judge than the weights were fitted on; certificates say nothing of "
            "that one.",
            group=JUDGE,
        ),
    ] = False,
    asking: models.UsualAsking = models.UsualAsking(),
    calls: models.UsualCalls = models.UsualCalls(),
    store: Annotated[
        str | None,
        models.store_option(f"{DEFAULT_STORE} in this folder", kept="a language model's replies"),
    ] = None,
    retry_failures: models.RetryFailures = False,
    host: Annotated[
        str,
        Parameter(help="Where to listen. Any but this machine's own needs a token.", group=SERVER),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        Parameter(
            help="Where to listen; 0 takes any that is free.",
            group=SERVER,
            validator=Number(gte=0, lte=65_535),
        ),
    ] = 8000,
    token_env: Annotated[
        str | None,
        Parameter(
            help="The environment variable that holds the token which clients must send. Default: "
            f"{TOKEN_VARIABLE}, where it is set.",
            metavar="NAME",
            show_default=False,
            group=SERVER,
        ),
    ] = None,
    connections: Annotated[
        int, Parameter(help="Connections at once, at most.", group=SERVER, validator=Number(gte=1))
    ] = 4_096,
    drain: Annotated[
        float,
        Parameter(
            help="Seconds that requests under way get when the server is to end.", group=SERVER
        ),
    ] = 30.0,
    json_log: Annotated[
        bool,
        Parameter(name="--json-log", help="Write the log as JSON lines.", group=SERVER),
    ] = False,
    queue: Annotated[
        int,
        Parameter(
            help="Items that all requests together may hold; beyond them 503 and Retry-After.",
            metavar="ITEMS",
            group=REQUESTS,
            validator=Number(gte=1),
        ),
    ] = 20_000,
    deadline: Annotated[
        float,
        Parameter(
            help="Seconds after which a request is answered with what there is; it may ask for "
            "fewer.",
            group=REQUESTS,
        ),
    ] = 60.0,
    max_body: Annotated[
        int, Parameter(help="MiB that a request may have.", group=REQUESTS, validator=Number(gte=1))
    ] = 16,
    remembered: Annotated[
        int,
        Parameter(
            help="Items whose verdicts are kept in memory.", group=REQUESTS, validator=Number(gte=0)
        ),
    ] = 100_000,
    record: Annotated[
        Path | None,
        Parameter(
            help="A folder for figures and completions, texts included, as of a training run.",
            metavar="FOLDER",
            show_default=False,
            group=RECORD,
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        Parameter(
            help="The folder of an earlier run, which alarms compare with.",
            metavar="FOLDER",
            show_default=False,
            group=RECORD,
        ),
    ] = None,
) -> None:
    """Give rewards over HTTP, to whatever trains: POST /v1/rewards, or OpenRLHF's own form.

    Prints its address when it takes requests. No text of a request is ever in the log.

    SIGTERM and Ctrl-C let the requests under way end.
    """
    asked = judge_or_own(call, judge, asking=asking, calls=calls)
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
        say(f"note: {note}")
    serve(live, settings=settings, started=_tell, **listening)


def _tell(url: str) -> None:
    print(url)


def _token(variable: str | None) -> str | None:
    """Read the token, which is never typed: what is typed is seen in the list of processes."""
    found = os.environ.get(TOKEN_VARIABLE if variable is None else variable, "")
    if not found and variable is not None:
        msg = (  # perhaps it is the token itself: it is not shown
            "`--token-env` must name a variable that is set, got something else. Set the variable, "
            "and leave the token itself there."
        )
        raise UsageError(msg)
    return found or None
