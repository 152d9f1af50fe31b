"""`voirdire serve`."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire.cli import options as typed
from voirdire.cli.calls import UsageError, is_source, require
from voirdire.cli.models import UsualOptions, make_judge_or_own
from voirdire.cli.printing import say_notes, say_warnings, start_reading
from voirdire.judging import LiveSettings, ModelSettings
from voirdire.web import ServerSettings

if TYPE_CHECKING:
    from voirdire.rewards import LiveReward

TOKEN_VARIABLE = "VOIRDIRE_TOKEN"  # noqa: S105  # the name of a variable
DEFAULT_STORE = "voirdire-replies.sqlite"


@typed.group_of("The server", 3, without=("token", "body_s"))
class ServerOptions(ServerSettings):
    """Who may ask, how much, and how long."""


@typed.group_of("Requests", 4, only=("deadline_s", "remembered", "retry_failures"))
class RequestOptions(LiveSettings):
    """How long a request may take, and what is kept."""


@dataclass(frozen=True, kw_only=True)
class _Served:
    """What is served; each worker makes it anew, since keys and connections do not travel."""

    reward: Path | None
    rubric: str | None
    certificates: tuple[Path, ...]
    require_certified: bool
    center: bool
    base_column: str | None
    judge: str | None
    other_judge: bool
    asking: ModelSettings
    store: str
    requests: LiveSettings

    def __call__(self) -> LiveReward:
        with warnings.catch_warnings():  # said once, when the command read the reward
            warnings.simplefilter("ignore")
            return self.open()

    def open(self) -> LiveReward:
        """Read the reward, make the judge, and warn of what its certificates lack."""
        from voirdire.rewards import LiveReward, load_reward
        from voirdire.rewards.certification import read_certificate
        from voirdire.rewards.given_weights import reward_without_weights

        judge = make_judge_or_own(self.judge, self.asking)
        if self.reward is not None:
            certified = self.require_certified
            reward = load_reward(self.reward, rubric=self.rubric, require_certified=certified)
        else:
            reward = reward_without_weights(
                judge or "local",
                rubric=self.rubric or "safety",
                certificates=[read_certificate(path) for path in self.certificates],
            )
        return LiveReward(
            reward,
            settings=self.requests,
            judge=judge,
            other_judge=self.other_judge,
            store=self.store,
            center=self.center,
            base_column=self.base_column,
        )


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

    Rewards: POST /v1/rewards, or OpenRLHF's own form. The judge, also without a reward: POST
    /v1/systemone and /v1/decisions. Prints its address when it takes requests. No text of a request
    is ever in the log.

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
    make = _Served(
        reward=reward,
        rubric=rubric,
        certificates=tuple(certificates),
        require_certified=require_certified,
        center=center,
        base_column=base_column,
        judge=judge,
        other_judge=other_judge,
        asking=asking,
        store=DEFAULT_STORE if store is None else store,
        requests=replace(requests, most_waiting=server.queue),
    )
    with say_warnings():
        from voirdire.web import serve

        live = make.open()
    say_notes(live.notes)
    serve(
        live if server.workers == 1 else make,
        settings=replace(server, token=secret or None),
        started=print,
        host=host,
        port=port,
        json_log=json_log,
    )
