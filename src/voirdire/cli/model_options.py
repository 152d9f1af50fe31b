"""The options of `voirdire judge` that concern language models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from voirdire._types import Language, Mode, ModelSource

__all__ = [
    "ApiKeyEnv",
    "BaseUrl",
    "Concurrency",
    "DryRun",
    "Examples",
    "Judges",
    "LanguageOption",
    "MaxCost",
    "MaxTokens",
    "ModeOption",
    "Orders",
    "PriceOption",
    "Probability",
    "ReasoningEffort",
    "Requests",
    "RetryFailures",
    "Route",
    "Samples",
    "Seed",
    "ShowPrompt",
    "Store",
    "Temperature",
    "Timeout",
    "TokensPerMinute",
]

MODEL, CALLS = "Language models", "Calls to language models"

ModeOption: TypeAlias = Annotated[
    Mode,
    typer.Option(help="One call for all questions, or one per question.", rich_help_panel=MODEL),
]
Probability: TypeAlias = Annotated[
    ModelSource,
    typer.Option(
        help="Where a probability comes from: the log-probabilities of true and false, the number "
        "that the model writes, or a vote of samples.",
        rich_help_panel=MODEL,
    ),
]
LanguageOption: TypeAlias = Annotated[
    Language, typer.Option("--language", help="Of the prompt.", rich_help_panel=MODEL)
]
Samples: TypeAlias = Annotated[int, typer.Option(help="Samples that vote.", rich_help_panel=MODEL)]
Orders: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Orders in which the questions are asked; probabilities are means over them.",
        rich_help_panel=MODEL,
    ),
]
Examples: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Examples of yes and of no to show per question. Default: none in one call for all "
        "questions, all of them in single calls.",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
Seed: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Of the orders, and of samples; another one asks everything anew.",
        rich_help_panel=MODEL,
    ),
]
Temperature: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="In [0, 2]. Default: 1 for votes, else 0, where the model takes one.",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
ReasoningEffort: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="How long a reasoning model may think: low, medium, high.",
        metavar="WORD",
        rich_help_panel=MODEL,
    ),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Tokens of a reply at most. Default: what the answer needs.",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
BaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Another OpenAI-compatible server, such as http://localhost:8000/v1.",
        metavar="URL",
        rich_help_panel=MODEL,
    ),
]
ApiKeyEnv: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Environment variable that holds the key. Default: the provider's.",
        metavar="NAME",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
Route: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--route",
        help="Let the model choose the behavior of prompts whose items have none.",
        rich_help_panel=MODEL,
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
Concurrency: TypeAlias = Annotated[
    int, typer.Option(help="Calls at once, at most.", rich_help_panel=CALLS)
]
Requests: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--requests-per-minute",
        help="Default: what the server says.",
        show_default=False,
        rich_help_panel=CALLS,
    ),
]
TokensPerMinute: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--tokens-per-minute",
        help="Default: what the server says.",
        show_default=False,
        rich_help_panel=CALLS,
    ),
]
Timeout: TypeAlias = Annotated[
    float, typer.Option(help="Seconds for one call.", rich_help_panel=CALLS)
]
PriceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--price",
        help="US dollars per million tokens in and out, for a model whose price is not known.",
        metavar="IN,OUT",
        show_default=False,
        rich_help_panel=CALLS,
    ),
]
MaxCost: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="US dollars that this run may spend; it stops there, and can go on later.",
        show_default=False,
        rich_help_panel=CALLS,
    ),
]
Store: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Where replies are kept: a file, or postgresql://... Default: "
        "voirdire-replies.sqlite beside the verdicts.",
        metavar="FILE|URL",
        show_default=False,
        rich_help_panel=CALLS,
    ),
]
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
