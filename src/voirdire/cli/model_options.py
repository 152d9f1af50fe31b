"""What can be typed about a language model, and about the calls to it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire._types import Language, Mode, ModelSource

__all__ = [
    "ALL_OPTIONS",
    "CALLS",
    "MODEL",
    "OF_REPLIES",
    "USUAL_OPTIONS",
    "AskingOptions",
    "CallOptions",
    "DryRun",
    "Only",
    "ReasoningEffort",
    "RetryFailures",
    "ServerOptions",
    "ShowPrompt",
    "Store",
    "UsualAsking",
    "UsualCalls",
    "WriterOptions",
    "store_option",
]

MODEL = Group("Language models", sort_key=10)
CALLS = Group("Calls to language models", sort_key=11)

ReasoningEffort: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="How long a reasoning model may think: low, medium, high.",
        metavar="WORD",
        group=MODEL,
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Where a language model is, and who asks."""

    base_url: Annotated[
        str | None,
        Parameter(
            help="Another OpenAI-compatible server, such as http://localhost:8000/v1.",
            metavar="URL",
            group=MODEL,
        ),
    ] = None
    api_key_env: Annotated[
        str | None,
        Parameter(
            help="Environment variable that holds the key. Default: the provider's.",
            metavar="NAME",
            show_default=False,
            group=MODEL,
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WriterOptions(ServerOptions):
    """Where the model is that writes, and how long it may think."""

    reasoning_effort: ReasoningEffort = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class UsualAsking(ServerOptions):
    """How a language model is asked: what every command offers that may ask one."""

    mode: Annotated[
        Mode,
        Parameter(help="One call for all questions, or one per question.", group=MODEL),
    ] = "joint"
    probability: Annotated[
        ModelSource,
        Parameter(
            help="Where a probability comes from: the log-probabilities of true and false, the "
            "number that the model writes, or a vote of samples.",
            group=MODEL,
        ),
    ] = "logprob"
    language: Annotated[
        Language, Parameter(name="--prompt-language", help="Of the prompt.", group=MODEL)
    ] = "en"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskingOptions(UsualAsking):
    """All of how a language model is asked."""

    samples: Annotated[int, Parameter(help="Samples that vote.", group=MODEL)] = 5
    orders: Annotated[
        int,
        Parameter(
            help="Orders in which the questions are asked; probabilities are means over them.",
            group=MODEL,
        ),
    ] = 1
    examples: Annotated[
        int | None,
        Parameter(
            help="Examples of yes and of no to show per question. Default: none in one call for "
            "all questions, all of them in single calls.",
            show_default=False,
            group=MODEL,
        ),
    ] = None
    seed: Annotated[
        int,
        Parameter(
            help="Of the orders, and of samples; another one asks everything anew.", group=MODEL
        ),
    ] = 0
    temperature: Annotated[
        float | None,
        Parameter(
            help="In [0, 2]. Default: 1 for votes, else 0, where the model takes one.",
            show_default=False,
            group=MODEL,
        ),
    ] = None
    reasoning_effort: ReasoningEffort = None
    max_tokens: Annotated[
        int | None,
        Parameter(
            help="Tokens of a reply at most. Default: what the answer needs.",
            show_default=False,
            group=MODEL,
        ),
    ] = None
    route: Annotated[
        bool,
        Parameter(
            name="--route",
            help="Let the model choose the behavior of prompts whose items have none.",
            group=MODEL,
        ),
    ] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class UsualCalls:
    """How many calls are made, and what they may cost."""

    concurrency: Annotated[int, Parameter(help="Calls at once, at most.", group=CALLS)] = 32
    timeout: Annotated[float, Parameter(help="Seconds for one call.", group=CALLS)] = 120.0
    price: Annotated[
        str | None,
        Parameter(
            name="--price",
            help="US dollars per million tokens in and out, for a model whose price is not known.",
            metavar="IN,OUT",
            show_default=False,
            group=CALLS,
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        Parameter(
            help="US dollars that this run may spend; it stops there, and can go on later.",
            show_default=False,
            group=CALLS,
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CallOptions(UsualCalls):
    """All limits of calls."""

    requests_per_minute: Annotated[
        int | None,
        Parameter(
            name="--requests-per-minute",
            help="Default: what the server says.",
            show_default=False,
            group=CALLS,
        ),
    ] = None
    tokens_per_minute: Annotated[
        int | None,
        Parameter(
            name="--tokens-per-minute",
            help="Default: what the server says.",
            show_default=False,
            group=CALLS,
        ),
    ] = None


USUAL_OPTIONS = (
    *("mode", "probability", "language", "base_url", "api_key_env"),
    *("concurrency", "timeout", "price", "max_cost"),
)
"""What every command offers that may ask a language model, in the order in which it is told."""

_ALL = (row.name for kind in (AskingOptions, CallOptions) for row in fields(kind))
ALL_OPTIONS = tuple(dict.fromkeys((*USUAL_OPTIONS, *_ALL)))
OF_REPLIES = ("store", "retry_failures")
"""What concerns the replies that are kept."""


def store_option(default: str, *, kept: str = "replies") -> Any:
    """Make `--store`, whose help says where replies are kept where nobody says so."""
    return Parameter(
        help=f"Where {kept} are kept: a file, or postgresql://... Default: {default}.",
        metavar="FILE|URL",
        show_default=False,
        group=CALLS,
    )


Store: TypeAlias = Annotated[str | None, store_option("voirdire-replies.sqlite beside the output")]
RetryFailures: TypeAlias = Annotated[
    bool,
    Parameter(name="--retry-failures", help="Call again where an earlier run failed.", group=CALLS),
]
DryRun: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--dry-run",
        help="Print how many calls and tokens it would take, and the price; call nothing.",
        group=CALLS,
    ),
]
Only: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="Whose verdicts count, where `--verdicts` are of several judges.",
        metavar="JUDGE",
        show_default=False,
    ),
]
ShowPrompt: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--show-prompt",
        help="Print what the model is asked, about the first of ITEMS where there are some.",
        group=MODEL,
    ),
]
