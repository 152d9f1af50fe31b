"""What a terminal is told of a run that goes on: what is done, rate, cost, calls in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.reporting.number_formats import counted

if TYPE_CHECKING:
    from voirdire.judging import JudgingProgress
    from voirdire.rewards import SynthesisProgress

__all__ = ["count_answered", "judging_text", "synthesis_text"]


def count_answered(state: JudgingProgress) -> int:
    """Count items with an answer, those of calls that are not written yet too."""
    return max(state.n_items, 0 if state.calls is None else state.calls.n_answered)


def judging_text(state: JudgingProgress, *, seconds: float) -> str:
    """Describe a run of a judge; of a model's calls cost, flight and failures too."""
    if state.finishing:
        return f"{state.n_items:,} items · writing the file"
    calls, n_items = state.calls, count_answered(state)
    rate = (n_items - state.n_reused) / seconds if seconds > 0 else 0.0
    parts = [f"{n_items:,} items"]
    if calls is None:
        parts[0] += f" ({state.n_reused:,} from before)" if state.n_reused else ""
        return " · ".join([*parts, *([f"{rate:,.0f}/s"] if rate > 0 else [])])
    parts += [f"{rate:,.1f}/s"] if rate > 0 else []
    parts += [] if calls.cost is None else [f"${calls.cost:,.4f}"]
    parts += [f"{calls.n_in_flight} of {calls.concurrency} in flight"]
    parts += [f"{calls.n_retries:,} tried again"] if calls.n_retries else []
    parts += [f"{calls.n_failures:,} failed"] if calls.n_failures else []
    return " · ".join(parts)


def synthesis_text(state: SynthesisProgress, *, seconds: float) -> str:
    """Describe a run of a writer: prompts, completions, calls, rate, cost."""
    parts = [f"{state.n_prompts:,} of {counted(state.n_prompts_in_all, 'prompt')}"]
    parts += [f"{state.n_written:,} completions"]
    parts += [f"{state.n_rejected:,} rejected"] if state.n_rejected else []
    parts += [f"{state.n_calls / seconds:,.1f} calls/s"] if seconds > 0 and state.n_calls else []
    parts += [] if state.cost is None else [f"${state.cost:,.4f}"]
    parts.append(
        "verifying" if state.is_judging else f"{state.n_in_flight} of {state.concurrency} in flight"
    )
    return " · ".join(parts)
