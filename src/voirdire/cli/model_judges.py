"""Language models as judges: what is typed about them, and what is made of it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire._messages import shorten
from voirdire._types import Language
from voirdire.cli.option_groups import called, option_group, with_reader
from voirdire.cli.options import Base, File, run_options
from voirdire.cli.shell import Call, UsageError
from voirdire.judging import JudgingSettings, ModelSettings, Price
from voirdire.rewards.settings import ScoringSettings, SynthesisSettings

_NOT_TYPED = (
    *("model", "name", "key_header", "served_as", "top_logprobs", "both_orders"),
    *("max_attempts", "max_retries", "capabilities", "extra"),
)
"""What is said in Python or in a file of judges only."""

ASKING = tuple(row.name for row in fields(ModelSettings) if row.name not in _NOT_TYPED)
USUAL = (
    *("mode", "probability", "language", "base_url", "api_key_env"),
    *("concurrency", "timeout_s", "price", "max_cost", "keep_going", "calibration"),
)
"""What every command offers that may ask a language model; a file of judges says the rest."""

OF_WRITER = (
    *("base_url", "api_key_env", "reasoning_effort", "concurrency", "timeout_s", "price"),
    *("max_cost", "keep_going", "requests_per_minute", "tokens_per_minute"),
)
"""What a command offers that has a model write."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging import JudgeLike

    AskingOptions: TypeAlias = ModelSettings
    UsualAskingOptions: TypeAlias = ModelSettings
    WriterOptions: TypeAlias = ModelSettings
    JudgingOptions: TypeAlias = JudgingSettings
    ScoringOptions: TypeAlias = ScoringSettings
    SynthesisOptions: TypeAlias = SynthesisSettings
else:

    def _read_price(tokens: Sequence[Any]) -> Price:
        """Read a price: US dollars per million tokens in and out."""
        try:
            paid_in, paid_out = map(float, tokens[0].value.split(","))
        except ValueError as error:
            rule = "must be two numbers with a comma between them"
            msg = f"{called(tokens[0])} {rule}, got {tokens[0].value!r}."
            raise UsageError(msg) from error
        return Price(input=paid_in, output=paid_out)

    _MODELS = Group("Language models", sort_key=10)
    _OWN = {
        "language": Annotated[Language, Parameter(name="--prompt-language")],
        "calibration": File,
        "price": with_reader(_read_price, metavar="IN,OUT"),
    }
    AskingOptions = option_group(ModelSettings, panel=_MODELS, only=ASKING, **_OWN)
    JudgingOptions = run_options(JudgingSettings)
    ScoringOptions = run_options(ScoringSettings, base=Base)
    SynthesisOptions = run_options(
        SynthesisSettings, language=_OWN["language"], temperature=float, max_tokens=int
    )
    UsualAskingOptions = option_group(ModelSettings, panel=_MODELS, only=USUAL, **_OWN)
    WriterOptions = option_group(ModelSettings, panel=_MODELS, only=OF_WRITER, **_OWN)

__all__ = [
    "ASKING",
    "OF_REPLIES",
    "OF_WRITER",
    "USUAL",
    "AskingOptions",
    "DryRun",
    "JudgingOptions",
    "Only",
    "ScoringOptions",
    "SynthesisOptions",
    "UsualAskingOptions",
    "WriterOptions",
    "are_several",
    "choose_name",
    "make_judge",
    "make_judge_or_own",
    "make_judges",
]

OF_REPLIES = ("store", "retry_failures")
"""What concerns the replies that are kept."""


DryRun: TypeAlias = Annotated[
    bool,
    Parameter(help="Print how many calls and tokens it would take, and the price; call nothing."),
]
Only: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="Whose verdicts count, where `--verdicts` are of several judges.", metavar="JUDGE"
    ),
]


def choose_name(judge: str | None, only: str | None, *, verdicts: Sequence[Any]) -> str | None:
    """Name who judges, or whose of the stored verdicts count."""
    if verdicts and judge is not None:
        msg = "`--judge` must not stand beside `--verdicts`: `--only` says whose of them count."
        raise UsageError(msg)
    if only is not None and not verdicts:
        msg = "`--only` must stand beside `--verdicts`: it says whose of them count."
        raise UsageError(msg)
    return only if verdicts else judge


def are_several(name: str, judges: Sequence[object]) -> bool:
    """Return whether these are the judges of a file, each with verdicts of its own."""
    from voirdire.judging import LlmJudge
    from voirdire.judging.judges_file import is_judges_file

    return is_judges_file(name) and isinstance(judges[0], LlmJudge)


def make_judge(
    name: str, settings: ModelSettings, *, call: Call | None = None, reads_keys: bool = True
) -> JudgeLike:
    """Make the one judge that is named."""
    judges = make_judges(name, settings, call=call, reads_keys=reads_keys)
    if len(judges) > 1:
        rule = f"`{shorten(name)}` must hold one judge, got {len(judges)}"
        msg = f"{rule}. A jury.yaml makes one judge of several."
        raise UsageError(msg)
    return judges[0]


def make_judge_or_own(
    call: Call,
    name: str | None,
    settings: ModelSettings,
    *,
    idle: Sequence[str] = USUAL,
    why: str = "name the `--judge` too",
) -> JudgeLike | None:
    """Make the judge that is named; where none is, or the reward's own, options are idle."""
    if name is None or name == "own":
        call.refuse(idle, why=why)
        return name
    return make_judge(name, settings, call=call)


def make_judges(
    name: str, settings: ModelSettings, *, call: Call | None = None, reads_keys: bool = True
) -> Sequence[JudgeLike]:
    """Make the judges of a name or a file.

    Options of a `call` are refused where no model is called, or where a file says them.
    """
    from voirdire.judging.judges_file import is_judges_file, open_judges

    of_file = [each for each in ASKING if each != "max_cost"]  # that is this run's
    if call and is_judges_file(name) and (flags := call.flags(of_file)):
        said = f"`{shorten(name)}` must say everything about its judges"
        msg = f"{said}, got {flags} beside it. Write it into the file."
        raise UsageError(msg)
    judges = open_judges(name, settings, reads_keys=reads_keys)
    if call and judges == (name,) and (flags := call.flags([*ASKING, *OF_REPLIES])):
        msg = f"`--judge` must name a language model for {flags}, such as openai/gpt-4o-mini, got "
        raise UsageError(f"{msg}{shorten(name)!r}.")
    return judges
