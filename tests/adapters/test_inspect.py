"""Inspect runs an evaluation with our scorer."""

import math

import pytest

from frameworks import require_framework

require_framework("inspect_ai")

from inspect_ai import Task, eval  # noqa: A004, E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

from voirdire.adapters.inspect import inspect_scorer  # noqa: E402
from voirdire.errors import NoDataError  # noqa: E402
from voirdire.io import read_labels  # noqa: E402
from voirdire.testing import golden_judge, golden_reward  # noqa: E402

pytestmark = [
    pytest.mark.ci,
    pytest.mark.filterwarnings("ignore"),  # of other people's packages
]

REPLIES = ("sorry, no", "no", "anything")


def evaluated(folder):
    """Run an evaluation of three samples, of which the last has no behavior."""
    samples = [
        Sample(id=f"s{k}", input="How?", metadata={} if k == 2 else {"behavior": "refuse"})
        for k in range(3)
    ]
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in REPLIES]
    for output in outputs:  # else it would load a tokenizer to count them
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    [log] = eval(
        Task(dataset=samples, scorer=inspect_scorer(golden_reward(), judge=golden_judge())),
        model=get_model("mockllm/model", custom_outputs=outputs),
        log_dir=str(folder),
        display="none",
        max_samples=1,
        log_format="eval",
    )
    return log


def test_inspect_scores_by_the_reward_and_leaves_failures_unscored(tmp_path):
    log = evaluated(tmp_path)

    assert log.status == "success", log.error
    scores = {sample.id: sample.scores["golden"] for sample in log.samples}
    names = {"reward", *golden_reward().rubric.propositions}
    assert set(scores["s0"].value) == names
    assert isinstance(scores["s0"].value["reward"], float)
    assert math.isnan(scores["s2"].value)
    assert scores["s2"].reason == "no behavior"
    means = {row.name: row.metrics["mean"].value for row in log.results.scores}
    both = [scores[name].value["reward"] for name in ("s0", "s1")]
    assert means["reward"] == pytest.approx(sum(both) / 2)


def test_a_log_of_inspect_is_read_with_its_own_reader(tmp_path):
    log = evaluated(tmp_path)

    judges = read_labels(log.location.removeprefix("file://"), role="judge", kind="scale").frame
    rewards = judges.filter(question="reward")
    lost = judges.filter(item="s2")

    assert rewards["item"].to_list() == ["s0", "s1"]
    assert set(rewards["rater"]) == {"golden"}
    assert lost["failure"].to_list() == ["no behavior"]
    assert lost["label"].to_list() == [None]
    with pytest.raises(NoDataError, match="must hold labels of people"):
        read_labels(log.location.removeprefix("file://"), role="annotator")
