"""`voirdire serve`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from voirdire.cli.model_judges import UsualAskingOptions, make_judge_or_own
from voirdire.cli.option_groups import option_group, with_spelling
from voirdire.cli.options import (
    Center,
    OtherJudge,
    RequireCertified,
    RewardFile,
    RewardJudge,
    RewardRubric,
)
from voirdire.cli.printing import say_notes, say_warnings
from voirdire.cli.shell import Call, UsageError
from voirdire.judging import LiveSettings, ModelSettings
from voirdire.web import ServerSettings

if TYPE_CHECKING:
    ServerOptions: TypeAlias = ServerSettings
    RequestOptions: TypeAlias = LiveSettings
else:
    ServerOptions = option_group(
        ServerSettings,
        panel=Group("The server", sort_key=3),
        without=("token", "head_s", "body_s", "hosts"),
        max_body=Annotated[
            int,
            Parameter(
                converter=lambda _kind, tokens: int(tokens[0].value) << 20,
                help="MiB that a request may have. Default 16.",
                metavar="MIB",
                show_default=False,
            ),
        ],
        end_tokens=with_spelling("--end-token", list[str], metavar="TOKEN"),
    )
    RequestOptions = option_group(
        LiveSettings,
        panel=Group("Requests", sort_key=4),
        only=("deadline_s", "remembered", "retry_failures"),
    )

__all__ = ["serve_command"]

TOKEN_VARIABLE = "VOIRDIRE_TOKEN"  # noqa: S105  # the name of a variable
DEFAULT_STORE = "voirdire-replies.sqlite"


def serve_command(
    *,
    call: Call,
    reward: RewardFile,
    rubric: RewardRubric = None,
    require_certified: RequireCertified = False,
    center: Center = False,
    judge: RewardJudge = None,
    other_judge: OtherJudge = False,
    asking: UsualAskingOptions = ModelSettings(),
    store: Annotated[str | None, Parameter(metavar="FILE|URL")] = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65_535))] = 8000,
    token: Annotated[str | None, Parameter(name="--token-env", metavar="NAME")] = None,
    json_log: bool = False,
    server: ServerOptions = ServerSettings(),
    requests: RequestOptions = LiveSettings(),
) -> None:
    """Give rewards over HTTP, to whatever trains: POST /v1/rewards, or OpenRLHF's own form.

    Prints its address when it takes requests. No text of a request is ever in the log.

    SIGTERM and Ctrl-C let the requests under way end.

    Parameters
    ----------
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
    live_judge = make_judge_or_own(call, judge, asking)
    with say_warnings():
        from voirdire.rewards.live import LiveReward
        from voirdire.rewards.reward_file import load_reward
        from voirdire.web import serve

        settings = replace(server, token=_read_token(token))
        live = LiveReward(
            load_reward(reward, rubric=rubric, require_certified=require_certified),
            settings=replace(requests, most_waiting=server.queue),
            judge=live_judge,
            other_judge=other_judge,
            store=DEFAULT_STORE if store is None else store,
            center=center,
        )
    say_notes(live.notes)
    serve(live, settings=settings, started=print, host=host, port=port, json_log=json_log)


def _read_token(variable: str | None) -> str | None:
    """Read the token, which is never typed: what is typed is seen in the list of processes."""
    token = os.environ.get(TOKEN_VARIABLE if variable is None else variable, "")
    if not token and variable is not None:
        msg = (  # perhaps it is the token itself: it is not shown
            "`--token-env` must name a variable that is set, got something else. Set the variable, "
            "and leave the token itself there."
        )
        raise UsageError(msg)
    return token or None
