"""Language models as judges, from options or from a file of judges."""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, TextIO, cast

import typer

from voirdire._validation import shorten

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire._types import Language, Mode, ModelSource
    from voirdire.judging import LlmJudge, Price
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.records import Item

__all__ = ["ModelOptions", "prepare_to_be_stopped", "print_prompt", "refuse_idle_options"]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What was typed about a language model."""

    mode: Mode
    probability: ModelSource
    language: Language
    samples: int
    orders: int
    examples: int | None
    seed: int
    price: str | None
    temperature: float | None
    reasoning_effort: str | None
    max_tokens: int | None
    base_url: str | None
    api_key_env: str | None
    route: bool
    concurrency: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    timeout: float
    max_cost: float | None

    def asked(self, name: str, *, reads_keys: bool = True) -> LlmJudge | CascadeJudge | str:
        """Make a judge of a model's name or of a cascade's file; a local judge stays as it is."""
        from voirdire.judging.cascade.cascade_file import is_cascade_file, load_cascade

        if is_cascade_file(name):
            return load_cascade(name, reads_keys=reads_keys, max_cost=self.max_cost)
        return self.judge(name, reads_keys=reads_keys)

    def judge(self, name: str, *, reads_keys: bool = True) -> LlmJudge | str:
        """Make a judge of a model's name; anything else is a local judge and stays as it is."""
        from voirdire.models import is_model_name, load_model

        if not is_model_name(name):
            return name
        from voirdire.judging import Limits, LlmJudge

        model = load_model(
            name,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            reasoning_effort=self.reasoning_effort,
            max_tokens=self.max_tokens,
            timeout_s=self.timeout,
            connections=max(self.concurrency, 1),
            reads_keys=reads_keys,
        )
        return LlmJudge(
            model=model,
            mode=self.mode,
            probability=self.probability,
            language=self.language,
            n_samples=self.samples,
            n_orders=self.orders,
            n_examples=self.examples,
            seed=self.seed,
            price=_price(self.price),
            temperature=self.temperature,
            route=self.route,
            limits=Limits(
                concurrency=self.concurrency,
                requests_per_minute=self.requests_per_minute,
                tokens_per_minute=self.tokens_per_minute,
                timeout_s=self.timeout,
                max_cost=self.max_cost,
            ),
        )


def refuse_idle_options(context: typer.Context, *, judge: str, judges: Path | None) -> None:
    """Refuse what was typed and would mean nothing, such as a limit of cost that nobody keeps."""
    from voirdire.judging.cascade.cascade_file import is_cascade_file
    from voirdire.models import is_model_name

    if judges is None and is_model_name(judge):
        return
    names = [field.name for field in fields(ModelOptions)]
    is_cascade = judges is None and is_cascade_file(judge)
    if is_cascade:
        names.remove("max_cost")  # of this run, whatever the file says
    elif judges is None:
        names += ["store", "retry_failures"]
    else:
        names += ["judge"]
    sources = {name: context.get_parameter_source(name) for name in names}
    typed = ", ".join(
        f"--{name.replace('_', '-')}"
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    )
    if typed and judges is not None:
        msg = f"`--judges` must say everything about its judges, got {typed} beside it."
        raise typer.BadParameter(f"{msg} Write it into the file.")
    if typed and is_cascade:
        msg = f"`{shorten(judge)}` must say everything about its judges, got {typed} beside it."
        raise typer.BadParameter(f"{msg} Write it into the file.")
    if typed:
        msg = f"`--judge` must name a language model for {typed}, such as openai/gpt-4o-mini, got "
        raise typer.BadParameter(f"{msg}{shorten(judge)!r}.")


def prepare_to_be_stopped(source: str) -> None:
    """Let SIGTERM keep what is paid for, as Ctrl-C does, and let a read that waits be left."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if source == "-":
        _read_input_apart()


def _read_input_apart() -> None:
    """Read standard input through an object that nothing closes when the program ends.

    Items are read in a thread. Python would close `sys.stdin` under it, and abort where it waits.
    """
    try:
        number = sys.stdin.fileno()
    except (OSError, ValueError):  # it is no file
        return
    sys.stdin = cast("TextIO", SimpleNamespace(buffer=os.fdopen(number, "rb", closefd=False)))


def _price(text: str | None) -> Price | None:
    if text is None:
        return None
    from voirdire.judging import Price

    try:
        paid_in, paid_out = (float(number) for number in text.split(","))
    except ValueError as error:
        msg = f"`--price` must be two numbers with a comma between them, got {text!r}."
        raise typer.BadParameter(msg) from error
    return Price(input=paid_in, output=paid_out)


def print_prompt(
    items: str | None,
    options: ModelOptions,
    *,
    judge: str,
    judges: Path | None,
    rubric: str,
    file_format: str | None,
) -> None:
    """Print what a model is asked, or that of a cascade, or each of several judges."""
    from voirdire.judging import load_llm_judges, show_prompt
    from voirdire.judging.cascade.cascade_file import is_cascade_file, load_cascade

    item = None if items is None else _first(items, file_format=file_format)
    is_cascade = judges is None and is_cascade_file(judge)
    if judges is None and not is_cascade:
        shown = show_prompt(
            rubric,
            item=item,
            mode=options.mode,
            probability=options.probability,
            language=options.language,
            n_examples=options.examples,
        )
        typer.echo(shown)
        return
    asked = (
        load_llm_judges(judges, reads_keys=False)
        if judges is not None
        else (load_cascade(judge, reads_keys=False).then,)
    )
    for each in asked:
        shown = show_prompt(
            rubric,
            item=item,
            mode=each.mode,
            probability=each.probability,
            language=each.language,
            n_examples=each.n_examples,
        )
        typer.echo(f"##### {each.name} #####\n\n{shown}\n")


def _first(items: str, *, file_format: str | None) -> Item | None:
    from voirdire.io import stream_items

    for batch in stream_items(items, format=file_format):  # type: ignore[arg-type]  # checked there
        for item in batch.items:
            return item
    return None
