"""What a terminal is told of a run that goes on."""

from voirdire.judging import JudgingProgress
from voirdire.reporting.progress_text import judging_text


def test_the_rate_leaves_out_what_an_earlier_run_judged():
    state = JudgingProgress(n_items=3_000, n_reused=1_000, n_dropped=0)

    said = judging_text(state, seconds=2.0)

    assert said == "3,000 items (1,000 from before) · 1,000/s"


def test_the_end_is_said():
    state = JudgingProgress(n_items=1_234, n_reused=0, n_dropped=0, finishing=True)

    assert judging_text(state, seconds=2.0) == "1,234 items · writing the file"
