"""Language models as judges: what is typed about them, and what is made of it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.cli.calls import list_typed, refuse, require
from voirdire.cli.options import group_of
from voirdire.judging import ModelSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging import JudgeLike

_NOT_TYPED = (
    *("model", "name", "key_header", "served_as", "top_logprobs", "both_orders"),
    *("max_attempts", "max_retries", "capabilities", "extra"),
)
"""What is said in Python or in a file of judges only."""

ASKING = tuple(row.name for row in fields(ModelSettings) if row.name not in _NOT_TYPED)
OF_REPLIES = ("store", "retry_failures")
"""What concerns the replies that are kept."""

USUAL = (
    *("mode", "probability", "language", "base_url", "api_key_env"),
    *("concurrency", "timeout_s", "price", "max_cost", "keep_going", "calibration"),
)
"""What every command offers that may ask a language model; a file of judges says the rest."""

OF_EXAMINED = tuple(name for name in USUAL if name not in ("calibration", "language"))
"""What is said of a model that is examined; the other two are said of what is written."""

OF_WRITER = (
    *("base_url", "api_key_env", "reasoning_effort", "concurrency", "timeout_s", "price"),
    *("max_cost", "keep_going", "requests_per_minute", "tokens_per_minute"),
)
"""What a command offers that has a model write."""


@group_of("Language models", 10, without=_NOT_TYPED)
class AskingOptions(ModelSettings):
    """How a judge is asked."""


@group_of("Language models", 10, only=USUAL)
class UsualOptions(ModelSettings):
    """How a judge is asked, where this is not all that a command does."""


def choose_name(
    judge: str | None,
    only: str | None,
    *,
    verdicts: Sequence[str],
    idle: Sequence[str] = (*USUAL, *OF_REPLIES),
) -> str | None:
    """Name who judges, or whose of the stored verdicts count; options are `idle` beside these."""
    rule = "`--judge` must not stand beside `--verdicts`: `--only` says whose of them count."
    require(not verdicts or judge is None, rule)
    rule = "`--only` must stand beside `--verdicts`: it says whose of them count."
    require(verdicts or only is None, rule)
    if verdicts:
        refuse(idle, why="verdicts are not asked for again")
    return only if verdicts else judge


def are_several(name: str, judges: Sequence[object]) -> bool:
    """Return whether these are the judges of a file, each with verdicts of its own."""
    from voirdire.judging import LlmJudge
    from voirdire.judging.judges_file import is_judges_file

    return is_judges_file(name) and isinstance(judges[0], LlmJudge)


def make_judge(
    name: str,
    settings: ModelSettings,
    *,
    options: Sequence[str] = (*USUAL, *OF_REPLIES),
    reads_keys: bool = True,
) -> JudgeLike:
    """Make the one judge that is named."""
    judges = make_judges(name, settings, options=options, reads_keys=reads_keys)
    rule = f"`{shorten(name)}` must hold one judge, got {len(judges)}"
    require(len(judges) == 1, f"{rule}. A jury.yaml makes one judge of several.")
    return judges[0]


def make_judge_or_own(
    name: str | None,
    settings: ModelSettings,
    *,
    verdicts: Sequence[str] = (),
) -> JudgeLike | None:
    """Make the judge that is named; where none is, or the reward's own, options are idle.

    Beside stored verdicts it is the name of one whose verdicts count.
    """
    if verdicts:
        return name
    if name is None or name == "own":
        refuse(USUAL, why="name the `--judge` too")
        return name
    return make_judge(name, settings)


def make_judges(
    name: str, settings: ModelSettings, *, options: Sequence[str], reads_keys: bool = True
) -> Sequence[JudgeLike]:
    """Make the judges of a name or a file.

    `options` are refused where no model is called, or where a file says them.
    """
    from voirdire.judging.judges_file import is_judges_file, open_judges

    typed = {field: option for field, option in list_typed().items() if field in options}
    beside = [option for field, option in typed.items() if field not in ("max_cost", *OF_REPLIES)]
    rule = f"`{shorten(name)}` must say everything about its judges, got {', '.join(beside)} beside"
    require(not beside or not is_judges_file(name), f"{rule} it. Write it into the file.")
    judges = open_judges(name, settings, reads_keys=reads_keys)
    rule = f"`--judge` must name a language model for {', '.join(typed.values())}"
    rule = f"{rule}, such as openai/gpt-4o-mini, got {shorten(name)!r}."
    require(not typed or judges != (name,), rule)
    return judges
