"""Language models as judges, from options or from a file of judges."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TextIO, cast

from voirdire.cli.idle_options import refuse_idle_options, refuse_typed
from voirdire.cli.model_options import (
    USUAL_OPTIONS,
    AskingOptions,
    CallOptions,
    ServerOptions,
    UsualCalls,
)
from voirdire.cli.shell import Call, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voirdire.judging import LlmJudge, Price
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.records import Item

__all__ = [
    "asked_judge",
    "is_judges_file",
    "judge_or_own",
    "llm_judge",
    "named_judge",
    "prepare_to_be_stopped",
    "print_prompt",
]


def is_judges_file(name: str) -> bool:
    """Tell whether a name is a YAML file of judges: one that is no cascade."""
    from voirdire.judging.cascade.cascade_file import is_cascade_file

    return name.lower().endswith((".yaml", ".yml")) and not is_cascade_file(name)


def named_judge(judge: str | None, only: str | None, *, verdicts: Sequence[Any]) -> str | None:
    """Name who judges, or whose of the stored verdicts count."""
    if verdicts and judge is not None:
        msg = "`--judge` beside `--verdicts` is now `--only`: it says whose verdicts count."
        raise UsageError(msg)
    if only is not None and not verdicts:
        msg = "`--only` must stand beside `--verdicts`: it says whose of them count."
        raise UsageError(msg)
    return only if verdicts else judge


def asked_judge(
    name: str, *, asking: ServerOptions, calls: UsualCalls, reads_keys: bool = True
) -> LlmJudge | CascadeJudge | str:
    """Make a judge of a model's name or of a cascade's file; a local judge stays as it is."""
    from voirdire.judging.cascade.cascade_file import is_cascade_file, load_cascade

    if is_cascade_file(name):
        return load_cascade(name, reads_keys=reads_keys, max_cost=calls.max_cost)
    return llm_judge(name, asking=asking, calls=calls, reads_keys=reads_keys)


def judge_or_own(
    call: Call,
    name: str | None,
    *,
    asking: ServerOptions,
    calls: UsualCalls,
    idle: Sequence[str] = USUAL_OPTIONS,
    why: str = "name the `--judge` too",
    reads_keys: bool = True,
) -> LlmJudge | CascadeJudge | str | None:
    """Make the judge that is named; where none is, or the reward's own, options are idle."""
    if name is None or name == "own":
        refuse_typed(call, idle, why=why)
        return name
    refuse_idle_options(call, judge=name)
    return asked_judge(name, asking=asking, calls=calls, reads_keys=reads_keys)


def llm_judge(
    name: str, *, asking: ServerOptions, calls: UsualCalls, reads_keys: bool = True
) -> LlmJudge | str:
    """Make a judge of a model's name; anything else is a local judge and stays as it is."""
    from voirdire.models import is_model_name, load_model

    if not is_model_name(name):
        return name
    from voirdire.judging import Limits, LlmJudge

    asking, calls = AskingOptions(**vars(asking)), CallOptions(**vars(calls))
    model = load_model(
        name,
        base_url=asking.base_url,
        api_key_env=asking.api_key_env,
        reasoning_effort=asking.reasoning_effort,
        max_tokens=asking.max_tokens,
        timeout_s=calls.timeout,
        connections=max(calls.concurrency, 1),
        reads_keys=reads_keys,
    )
    return LlmJudge(
        model=model,
        mode=asking.mode,
        probability=asking.probability,
        language=asking.language,
        n_samples=asking.samples,
        n_orders=asking.orders,
        n_examples=asking.examples,
        seed=asking.seed,
        price=_price(calls.price),
        temperature=asking.temperature,
        route=asking.route,
        limits=Limits(
            concurrency=calls.concurrency,
            requests_per_minute=calls.requests_per_minute,
            tokens_per_minute=calls.tokens_per_minute,
            timeout_s=calls.timeout,
            max_cost=calls.max_cost,
        ),
    )


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
        raise UsageError(msg) from error
    return Price(input=paid_in, output=paid_out)


def print_prompt(
    items: str | None,
    asking: AskingOptions,
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
            mode=asking.mode,
            probability=asking.probability,
            language=asking.language,
            n_examples=asking.examples,
        )
        print(shown)
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
        print(f"##### {each.name} #####\n\n{shown}\n")


def _first(items: str, *, file_format: str | None) -> Item | None:
    from voirdire.io import stream_items

    for batch in stream_items(items, format=file_format):  # type: ignore[arg-type]  # checked there
        for item in batch.items:
            return item
    return None
