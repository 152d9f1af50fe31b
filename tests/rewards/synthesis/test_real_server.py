"""A real server whose model has random weights: it writes nothing of use, and that is bounded."""

import pytest

from rewards.synthesis.obedient import PROMPTS, RECIPES, SAFETY
from voirdire.models import OpenAICompatibleModel
from voirdire.rewards import synthesize

N_ATTEMPTS = 2
MOST_TOKENS = 12


@pytest.mark.slow
def test_a_model_that_writes_at_random_is_rejected_so_often_and_no_more(llama_server, tmp_path):
    settings = {
        "rubric": SAFETY,
        "recipes": RECIPES,
        "judge": "local",
        "n_attempts": N_ATTEMPTS,
        "max_tokens": MOST_TOKENS,
        "store": tmp_path / "replies.sqlite",
        "concurrency": 4,
    }

    def made():
        model = OpenAICompatibleModel(model=llama_server.model, base_url=llama_server.base_url)
        return synthesize(PROMPTS, model=model, **settings)

    first, again = made(), made()

    n_slots = len(first.rows) + len(first.rejected)
    assert n_slots == 12
    assert len(first.rejected) > 0
    assert {row["attempts"] for row in first.rejected} == {N_ATTEMPTS}
    n_drafts = N_ATTEMPTS * len(first.rejected) + sum(row["attempts"] for row in first.rows)
    assert first.summary.calls.n_calls == n_drafts
    assert first.summary.calls.completion_tokens <= MOST_TOKENS * n_drafts
    assert all(reason for row in first.rejected for reason in row["failed"])
    assert again.summary.calls.n_calls == 0
    assert (again.rows, again.rejected) == (first.rows, first.rejected)
