"""A real server of llama.cpp with a tiny random model, probed whole over HTTP."""

import pytest

from studies.probing.constructed import make_items
from voirdire.judging import LlmJudge
from voirdire.models import load_model
from voirdire.rubrics import rubric_from_text
from voirdire.studies import ProbeSettings, estimate_probing, probe_judge

pytestmark = pytest.mark.ci

TWO = rubric_from_text(
    """
schema: voirdire.rubric/1
name: two
version: "1"
questions:
  - {id: apology, kind: boolean, text: {en: "Does it apologise?", zh: "是否道歉？"}}
  - {id: disclaimer, kind: boolean, text: {en: "Does it disclaim?", zh: "是否有免责声明？"}}
"""
)


def test_a_real_server_is_probed_whole_and_pays_nothing_twice(llama_server, tmp_path):
    model = load_model(f"openai/{llama_server.model}", base_url=llama_server.base_url)
    judge = LlmJudge(model=model, concurrency=4)
    chosen = ProbeSettings(n_items=8, n_swaps=999, without=["steering"])
    asked = {"rubric": TWO, "settings": chosen, "store": tmp_path / "replies.sqlite"}

    n_versions, estimates = estimate_probing(make_items(8), judge, **asked)
    report = probe_judge(make_items(8), judge, **asked)
    again = probe_judge(make_items(8), judge, **asked)

    assert report.n_judged == n_versions
    assert sum(row.n_calls for row in report.calls) >= sum(row.n_calls for row in estimates)
    assert sum(row.n_calls for row in again.calls) == 0
    families = {row.family for row in report.probes}
    assert families >= {"authority", "style", "verbosity", "bandwagon", "prompt"}
    # the random code of the fence is another one in each call, and a random model hears it
    assert report.stability.mean_difference > 0
    assert all(0 <= row.adjusted_p_value <= 1 for row in report.probes if row.n_items)
    assert [row.shift for row in again.probes] == pytest.approx(
        [row.shift for row in report.probes], nan_ok=True
    )
