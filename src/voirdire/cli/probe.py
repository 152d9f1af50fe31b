"""`voirdire probe`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from voirdire._validation import shorten
from voirdire.cli.options import AsJson
from voirdire.cli.printing import print_json, print_tables

if TYPE_CHECKING:
    from voirdire.models import ProbeReport
    from voirdire.models.probing import ProbeStep

__all__ = ["probe_command"]


def probe_command(
    model: str,
    /,
    *,
    base_url: Annotated[str | None, Parameter(metavar="URL")] = None,
    api_key_env: Annotated[str | None, Parameter(metavar="NAME")] = None,
    timeout_s: float = 60.0,
    as_json: AsJson = False,
) -> None:
    """Ask a model's server what it can do: forms of reply, log-probabilities.

    A handful of short calls, of a few tokens each.

    Parameters
    ----------
    model
        A language model, such as openai/gpt-4o-mini or vllm/NAME.
    base_url
        Another OpenAI-compatible server.
    api_key_env
        Environment variable that holds the key. Default: the provider's.
    timeout_s
        Seconds for one call.
    """
    from voirdire.models import load_model, probe

    asked = load_model(model, base_url=base_url, api_key_env=api_key_env, timeout_s=timeout_s)

    async def probed() -> ProbeReport:
        try:
            return await probe(asked)
        finally:
            await asked.close()

    report = asyncio.run(probed())
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(report))
        return
    print_tables(f"{shorten(asked.name)}:", *(f"  {_line(step)}" for step in report.steps))


def _line(step: ProbeStep) -> str:
    said = {True: "yes", False: "no", None: "not known"}[step.works]
    why = "" if step.error is None else f" ({shorten(step.error, width=160)})"
    return f"{step.feature}: {said}{why}"
