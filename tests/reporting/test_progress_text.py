"""What a terminal is told of a run that goes on."""

from voirdire.judging import CallCounts, JudgingProgress
from voirdire.reporting.progress_text import judging_text, synthesis_text
from voirdire.rewards import SynthesisProgress


def test_the_rate_leaves_out_what_an_earlier_run_judged():
    state = JudgingProgress(n_items=3_000, n_reused=1_000, n_dropped=0)

    said = judging_text(state, seconds=2.0)

    assert said == "3,000 items (1,000 from before) · 1,000/s"


def test_the_end_is_said():
    state = JudgingProgress(n_items=1_234, n_reused=0, n_dropped=0, finishing=True)

    assert judging_text(state, seconds=2.0) == "1,234 items · writing the file"


def test_a_run_of_a_writer_says_prompts_completions_calls_and_cost():
    state = SynthesisProgress(
        n_prompts=3, n_prompts_in_all=20, n_written=10, n_rejected=2, is_judging=False,
        calls=CallCounts(n_calls=40, n_in_flight=5, concurrency=32, cost=0.25),
    )  # fmt: skip

    assert synthesis_text(state, seconds=4.0) == (
        "3 of 20 prompts · 10 completions · 2 rejected · 10.0 calls/s · $0.2500 · 5 of 32 in flight"
    )
