"""`voirdire serve`."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire.cli import options as typed
from voirdire.cli.calls import UsageError, is_source, require
from voirdire.cli.models import UsualOptions, make_judge_or_own
from voirdire.cli.printing import say_notes, say_warnings, start_reading
from voirdire.judging import LiveSettings, ModelSettings
from voirdire.web import ServerSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards import LiveReward

TOKEN_VARIABLE = "VOIRDIRE_TOKEN"  # noqa: S105  # the name of a variable
DEFAULT_STORE = "voirdire-replies.sqlite"


@typed.group_of("The server", 3, without=("token", "body_s"))
class ServerOptions(ServerSettings):
    """Who may ask, how much, and how long."""


@typed.group_of("Requests", 4, only=("deadline_s", "remembered", "retry_failures"))
class RequestOptions(LiveSettings):
    """How long a request may take, and what is kept."""


def _open_reward(
    *,
    reward: Path | None,
    rubric: str | None,
    certificates: Sequence[Path],
    require_certified: bool,
    judge: str | None,
    asking: ModelSettings,
    **about: Any,
) -> LiveReward:
    """Read the reward and make the judge; each worker does, since keys and connections stay."""
    from voirdire.rewards import LiveReward, load_reward
    from voirdire.rewards.certification import read_certificate
    from voirdire.rewards.given_weights import reward_without_weights

    made = make_judge_or_own(judge, asking)
    if reward is not None:
        served = load_reward(reward, rubric=rubric, require_certified=require_certified)
    else:
        records = [read_certificate(path) for path in certificates]
        rubric = rubric or "safety"
        served = reward_without_weights(made or "local", rubric=rubric, certificates=records)
    return LiveReward(served, judge=made, **about)


def _open_quietly(**about: Any) -> LiveReward:
    """Warn of nothing again that was said when the command read the reward."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _open_reward(**about)


def serve_command(
    *,
    reward: Annotated[Path | None, Parameter(validator=is_source, metavar="FILE.json")] = None,
    rubric: typed.RewardRubric = None,
    certificates: Annotated[list[Path], Parameter(name="--certificate", metavar="FILE")] = [],
    require_certified: typed.RequireCertified = False,
    center: bool = False,
    base_column: str | None = None,
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
    """Give rewards over HTTP to whatever trains, and a judge to whatever asks a decision model.

    Rewards: POST /v1/rewards, or the forms of OpenRLHF (/openrlhf), NeMo Gym (/verify) and slime
    (/slime). The judge, also without a reward: POST /v1/systemone and /v1/decisions. Prints its
    address when it takes requests. No text of a request is ever in the log.

    SIGTERM and Ctrl-C let the requests under way end.

    Parameters
    ----------
    reward
        The reward, as `voirdire fit` writes it. Without one the judge alone is served.
    certificates
        Certificate of an examination of a judge that is served alone; repeatable.
    center
        Take off the mean that each behavior's rule rewards had in the fit, so that behaviors
        compare.
    base_column
        Add base rewards although the reward was fitted without one: `base_reward` of an item, and
        this key of OpenRLHF's labels.
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
    rule = "`--reward` must name a reward, or `--judge` a judge that is served alone."
    require(reward is not None or judge not in (None, "own"), rule)
    rule = "`--certificate` must be left out beside `--reward`, which has its own."
    require(reward is None or not certificates, rule)
    if asking.max_cost is not None:  # each worker keeps the limit by itself
        asking = replace(asking, max_cost=asking.max_cost / server.workers)
    start_reading()
    # never typed itself: what is typed is seen in the list of processes
    secret = os.environ.get(TOKEN_VARIABLE if token is None else token)
    if not secret and token is not None:
        msg = (  # perhaps it is the token itself: it is not shown
            "`--token-env` must name a variable that is set, got something else. Set the variable, "
            "and leave the token itself there."
        )
        raise UsageError(msg)
    about: dict[str, Any] = {
        "reward": reward,
        "rubric": rubric,
        "certificates": certificates,
        "require_certified": require_certified,
        "center": center,
        "base_column": base_column,
        "judge": judge,
        "other_judge": other_judge,
        "asking": asking,
        "store": DEFAULT_STORE if store is None else store,
        "settings": replace(requests, most_waiting=server.queue),
    }
    with say_warnings():
        from voirdire.web import serve

        live = _open_reward(**about)
    say_notes(live.notes)
    serve(
        live if server.workers == 1 else partial(_open_quietly, **about),
        settings=replace(server, token=secret or None),
        started=print,
        host=host,
        port=port,
        json_log=json_log,
    )
