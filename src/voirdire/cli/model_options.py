"""What can be typed about a language model, and about the calls to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from voirdire._types import Language, Mode, ModelSource
from voirdire.cli.option_groups import Offered, offered_names

__all__ = [
    "ALL_OPTIONS",
    "CALLS",
    "MODEL",
    "OF_REPLIES",
    "USUAL_OPTIONS",
    "AskingOptions",
    "CallOptions",
    "DryRun",
    "Judges",
    "RetryFailures",
    "ShowPrompt",
    "Store",
    "UsualAsking",
    "UsualCalls",
    "store_option",
]

MODEL, CALLS = "Language models", "Calls to language models"


@dataclass(frozen=True, kw_only=True)
class AskingOptions:
    """Where a language model is, and how it is asked; `voirdire judge` offers all of this."""

    mode: Annotated[
        Mode,
        typer.Option(
            help="One call for all questions, or one per question.", rich_help_panel=MODEL
        ),
    ] = "joint"
    probability: Annotated[
        ModelSource,
        typer.Option(
            help="Where a probability comes from: the log-probabilities of true and false, the "
            "number that the model writes, or a vote of samples.",
            rich_help_panel=MODEL,
        ),
    ] = "logprob"
    language: Annotated[
        Language, typer.Option("--language", help="Of the prompt.", rich_help_panel=MODEL)
    ] = "en"
    samples: Annotated[int, typer.Option(help="Samples that vote.", rich_help_panel=MODEL)] = 5
    orders: Annotated[
        int,
        typer.Option(
            help="Orders in which the questions are asked; probabilities are means over them.",
            rich_help_panel=MODEL,
        ),
    ] = 1
    examples: Annotated[
        int | None,
        typer.Option(
            help="Examples of yes and of no to show per question. Default: none in one call for "
            "all questions, all of them in single calls.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            help="Of the orders, and of samples; another one asks everything anew.",
            rich_help_panel=MODEL,
        ),
    ] = 0
    temperature: Annotated[
        float | None,
        typer.Option(
            help="In [0, 2]. Default: 1 for votes, else 0, where the model takes one.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None
    reasoning_effort: Annotated[
        str | None,
        typer.Option(
            help="How long a reasoning model may think: low, medium, high.",
            metavar="WORD",
            rich_help_panel=MODEL,
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens of a reply at most. Default: what the answer needs.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Another OpenAI-compatible server, such as http://localhost:8000/v1.",
            metavar="URL",
            rich_help_panel=MODEL,
        ),
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable that holds the key. Default: the provider's.",
            metavar="NAME",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None
    route: Annotated[
        bool,
        typer.Option(
            "--route",
            help="Let the model choose the behavior of prompts whose items have none.",
            rich_help_panel=MODEL,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """How many calls are made, and what they may cost; `voirdire judge` offers all of this."""

    concurrency: Annotated[
        int, typer.Option(help="Calls at once, at most.", rich_help_panel=CALLS)
    ] = 32
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            "--requests-per-minute",
            help="Default: what the server says.",
            show_default=False,
            rich_help_panel=CALLS,
        ),
    ] = None
    tokens_per_minute: Annotated[
        int | None,
        typer.Option(
            "--tokens-per-minute",
            help="Default: what the server says.",
            show_default=False,
            rich_help_panel=CALLS,
        ),
    ] = None
    timeout: Annotated[float, typer.Option(help="Seconds for one call.", rich_help_panel=CALLS)] = (
        120.0
    )
    price: Annotated[
        str | None,
        typer.Option(
            "--price",
            help="US dollars per million tokens in and out, for a model whose price is not known.",
            metavar="IN,OUT",
            show_default=False,
            rich_help_panel=CALLS,
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            help="US dollars that this run may spend; it stops there, and can go on later.",
            show_default=False,
            rich_help_panel=CALLS,
        ),
    ] = None


UsualAsking: TypeAlias = Annotated[
    AskingOptions, Offered(("mode", "probability", "language", "base_url", "api_key_env"))
]
"""What every command offers that may ask a language model as a judge."""

UsualCalls: TypeAlias = Annotated[
    CallOptions, Offered(("concurrency", "timeout", "price", "max_cost"))
]
"""The same of calls."""

ALL_OPTIONS = (*offered_names(AskingOptions), *offered_names(CallOptions))
USUAL_OPTIONS = (*offered_names(UsualAsking), *offered_names(UsualCalls))
OF_REPLIES = ("store", "retry_failures")
"""What concerns the replies that are kept."""


def store_option(default: str, *, kept: str = "replies") -> Any:
    """Make `--store`, whose help says where replies are kept where nobody says so."""
    return typer.Option(
        help=f"Where {kept} are kept: a file, or postgresql://... Default: {default}.",
        metavar="FILE|URL",
        show_default=False,
        rich_help_panel=CALLS,
    )


Store: TypeAlias = Annotated[str | None, store_option("voirdire-replies.sqlite beside the output")]
RetryFailures: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--retry-failures",
        help="Call again where an earlier run failed.",
        rich_help_panel=CALLS,
    ),
]
DryRun: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print how many calls and tokens it would take, and the price; call nothing.",
        rich_help_panel=CALLS,
    ),
]
Judges: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Several judges, in a YAML file; -o names a folder for their verdicts.",
        metavar="FILE",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
ShowPrompt: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--show-prompt",
        help="Print what the model is asked, about the first of ITEMS where there are some.",
        rich_help_panel=MODEL,
    ),
]
