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
from voirdire.judging import Asking, JudgingSettings, Price
from voirdire.rewards.settings import ScoringSettings, SynthesisSettings

ASKING = tuple(row.name for row in fields(Asking))
USUAL = (
    *("mode", "probability", "language", "base_url", "api_key_env"),
    *("concurrency", "timeout_s", "price", "max_cost", "keep_going", "calibration"),
)
"""What every command offers that may ask a language model; a file of judges says the rest."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.judges.jury import JudgeLike

    AskingOptions: TypeAlias = Asking
    UsualAskingOptions: TypeAlias = Asking
    WriterOptions: TypeAlias = Asking
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
    AskingOptions = option_group(
        Asking,
        panel=_MODELS,
        without=("top_logprobs", "capabilities", "extra"),
        **_OWN,
    )
    JudgingOptions = run_options(JudgingSettings)
    ScoringOptions = run_options(ScoringSettings, base=Base)
    SynthesisOptions = run_options(
        SynthesisSettings, language=_OWN["language"], temperature=float, max_tokens=int
    )
    UsualAskingOptions = option_group(Asking, panel=_MODELS, only=USUAL, **_OWN)
    WriterOptions = option_group(
        Asking,
        panel=_MODELS,
        only=(
            *("base_url", "api_key_env", "reasoning_effort", "concurrency", "timeout_s", "price"),
            *("max_cost", "keep_going", "requests_per_minute", "tokens_per_minute"),
        ),
        **_OWN,
    )

__all__ = [
    "ASKING",
    "OF_REPLIES",
    "USUAL",
    "AskingOptions",
    "DryRun",
    "JudgingOptions",
    "Only",
    "ScoringOptions",
    "SynthesisOptions",
    "UsualAskingOptions",
    "WriterOptions",
    "choose_name",
    "is_judges_file",
    "make_judge",
    "make_judge_or_own",
    "make_judges",
    "refuse_idle_options",
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


def is_judges_file(name: str) -> bool:
    """Tell whether a name is a YAML file of judges: one that is no cascade and no jury."""
    from voirdire.judging.judges.cascade_jury_files import detect_kind

    return name.lower().endswith((".yaml", ".yml")) and detect_kind(name) is None


def choose_name(judge: str | None, only: str | None, *, verdicts: Sequence[Any]) -> str | None:
    """Name who judges, or whose of the stored verdicts count."""
    if verdicts and judge is not None:
        msg = "`--judge` must not stand beside `--verdicts`: `--only` says whose of them count."
        raise UsageError(msg)
    if only is not None and not verdicts:
        msg = "`--only` must stand beside `--verdicts`: it says whose of them count."
        raise UsageError(msg)
    return only if verdicts else judge


def make_judges(name: str, asking: Asking, *, reads_keys: bool = True) -> Sequence[JudgeLike]:
    """Make the judges of a file, or the one that is named; a local judge stays as it is."""
    from voirdire.judging import load_llm_judge, load_llm_judges
    from voirdire.judging.judges.cascade_jury_files import load_judge_file
    from voirdire.models import is_model_name

    if is_judges_file(name):
        return load_llm_judges(name, reads_keys=reads_keys)
    judge: Any = load_judge_file(name, reads_keys=reads_keys, max_cost=asking.max_cost)
    if judge is None and is_model_name(name):
        judge = load_llm_judge(name, asking, reads_keys=reads_keys)
    return [name if judge is None else judge]


def make_judge(name: str, asking: Asking, *, reads_keys: bool = True) -> JudgeLike:
    """Make the one judge that is named."""
    judges = make_judges(name, asking, reads_keys=reads_keys)
    if len(judges) > 1:
        rule = f"`{shorten(name)}` must hold one judge, got {len(judges)}"
        msg = f"{rule}. A jury.yaml makes one judge of several."
        raise UsageError(msg)
    return judges[0]


def make_judge_or_own(
    call: Call,
    name: str | None,
    asking: Asking,
    *,
    idle: Sequence[str] = USUAL,
    why: str = "name the `--judge` too",
    reads_keys: bool = True,
) -> JudgeLike | None:
    """Make the judge that is named; where none is, or the reward's own, options are idle."""
    if name is None or name == "own":
        call.refuse(idle, why=why)
        return name
    refuse_idle_options(call, judge=name)
    return make_judge(name, asking, reads_keys=reads_keys)


def refuse_idle_options(call: Call, *, judge: str, names: Sequence[str] = USUAL) -> None:
    """Refuse options of models where none is called, or where a file says them."""
    from voirdire.judging.judges.cascade_jury_files import detect_kind
    from voirdire.models import is_model_name

    kind = detect_kind(judge)
    if kind or is_judges_file(judge):
        of_file = [name for name in names if not (kind and name == "max_cost")]  # this run's
        if typed := call.flags(of_file):
            said = f"`{shorten(judge)}` must say everything about its judges"
            msg = f"{said}, got {typed} beside it. Write it into the file."
            raise UsageError(msg)
    elif not is_model_name(judge) and (typed := call.flags([*names, *OF_REPLIES])):
        msg = f"`--judge` must name a language model for {typed}, such as openai/gpt-4o-mini, got "
        raise UsageError(f"{msg}{shorten(judge)!r}.")
