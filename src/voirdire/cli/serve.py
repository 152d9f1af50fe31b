"""`voirdire serve`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire.cli import options as typed
from voirdire.cli.calls import UsageError
from voirdire.cli.models import UsualOptions, make_judge_or_own
from voirdire.cli.printing import say_notes, say_warnings, start_reading
from voirdire.judging import LiveSettings
from voirdire.web import ServerSettings

TOKEN_VARIABLE = "VOIRDIRE_TOKEN"  # noqa: S105  # the name of a variable
DEFAULT_STORE = "voirdire-replies.sqlite"


@typed.group_of("The server", 3, without=("token", "head_s", "body_s", "hosts"))
class ServerOptions(ServerSettings):
    """Who may ask, how much, and how long."""


@typed.group_of("Requests", 4, only=("deadline_s", "remembered", "retry_failures"))
class RequestOptions(LiveSettings):
    """How long a request may take, and what is kept."""


def serve_command(
    *,
    reward: typed.RewardFile,
    rubric: typed.RewardRubric = None,
    require_certified: typed.RequireCertified = False,
    center: bool = False,
    judge: typed.RewardJudge = None,
    other_judge: bool = False,
    asking: UsualOptions = UsualOptions(),
    store: typed.Store = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65_535))] = 8000,
    token: Annotated[str | None, Parameter(name="--token-env", metavar="NAME")] = None,
    json_log: bool = False,
    server: ServerOptions = ServerOptions(),
    requests: RequestOptions = RequestOptions(),
) -> None:
    """Give rewards over HTTP, to whatever trains: POST /v1/rewards, or OpenRLHF's own form.

    Prints its address when it takes requests. No text of a request is ever in the log.

    SIGTERM and Ctrl-C let the requests under way end.

    Parameters
    ----------
    center
        Take off the mean that each behavior's rule rewards had in the fit, so that behaviors
        compare.
    other_judge
        Take another judge than the weights were fitted on; certificates say nothing of that one.
    store
        Where a language model's replies are stored: a file, or postgresql://... Default:
        voirdire-replies.sqlite in this folder.
    host
        Where to listen. Any but this machine's own needs a token.
    port
        Where to listen; 0 takes any that is free.
    token
        The environment variable that holds the token which clients must send. Default:
        VOIRDIRE_TOKEN, where it is set.
    json_log
        Write the log as JSON lines.
    """
    if asking.max_cost is not None:  # each worker keeps the limit by itself
        asking = replace(asking, max_cost=asking.max_cost / server.workers)
    live_judge = make_judge_or_own(judge, asking)
    start_reading()
    # never typed itself: what is typed is seen in the list of processes
    secret = os.environ.get(TOKEN_VARIABLE if token is None else token)
    if not secret and token is not None:
        msg = (  # perhaps it is the token itself: it is not shown
            "`--token-env` must name a variable that is set, got something else. Set the variable, "
            "and leave the token itself there."
        )
        raise UsageError(msg)
    with say_warnings():
        from voirdire.rewards.live import LiveReward
        from voirdire.rewards.reward_file import load_reward
        from voirdire.web import serve

        live = LiveReward(
            load_reward(reward, rubric=rubric, require_certified=require_certified),
            settings=replace(requests, most_waiting=server.queue),
            judge=live_judge,
            other_judge=other_judge,
            store=DEFAULT_STORE if store is None else store,
            center=center,
        )
    say_notes(live.notes)
    settings = replace(server, token=secret or None)
    serve(live, settings=settings, started=print, host=host, port=port, json_log=json_log)
