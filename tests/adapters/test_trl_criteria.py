"""A model learns from criteria in TRL's own trainer: the wrong way where signs are turned."""

import json
import zlib

import numpy as np
import pytest

from frameworks import require_framework

require_framework("torch", "trl", "datasets")

from adapters.trl_harness import PHRASES, prompts, train  # noqa: E402
from voirdire.adapters.trl import TrlReward  # noqa: E402
from voirdire.errors import InputError  # noqa: E402
from voirdire.judging import LlmJudge  # noqa: E402
from voirdire.models import Capabilities  # noqa: E402
from voirdire.records import Reply  # noqa: E402
from voirdire.rewards import read_training_run, reward_of_criteria  # noqa: E402

pytestmark = [
    pytest.mark.ci,
    pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning"),
]

BAD = "Sure!"
CRITERIA = [
    {"criterion": f"Says {text.strip()}", "points": 1, "tags": ["says"]}
    for text in PHRASES
    if text.strip() != BAD
] + [{"criterion": f"Avoids {BAD}", "points": -9, "tags": ["avoids"]}]


class Reader:
    """A model that reads whether a phrase is there; refuses to judge one response in ten."""

    name, settings, capabilities = "reader", {}, Capabilities()

    async def reply(self, request):
        asked, shown = request.messages[0].content, request.messages[-1].content
        said = {}
        for key in json.loads(request.schema)["properties"]:
            text = asked.partition(f'"{key}": ')[2].partition("\n")[2].partition("\n")[0]
            word, _, phrase = text.partition(': "')[2].removesuffix('"').partition(" ")
            said[key] = float((phrase in shown) == (word == "Says"))
        spoken = "".join(phrase for phrase in PHRASES for _ in range(shown.count(phrase.strip())))
        is_hurt = zlib.crc32(spoken.encode()) % 10 == 0
        return Reply(text="I will not." if is_hurt else json.dumps(said), model="reader")

    async def close(self):
        pass


def trained(folder, negative):
    """Train on criteria of which one in ten has negative points, which mean this."""
    folder.mkdir()
    path = folder / "rows.jsonl"
    path.write_text(json.dumps({"prompt": "?", "criteria": CRITERIA}))
    judge = LlmJudge(model=Reader(), probability="stated", concurrency=16)
    reward = TrlReward(
        reward_of_criteria(path, judge=judge, negative=negative, name=f"of {negative}"),
        judge=judge,
        record=folder / "run",
    )
    run = train(reward, folder / "trl", dataset=prompts(criteria=[CRITERIA] * 256))
    reward.close()
    return run, read_training_run(folder / "run")


def share_bad(step):
    return np.mean([BAD in said for said in step.completions])


def test_turned_signs_teach_the_wrong_way_and_settled_ones_the_right_way(tmp_path):
    with pytest.raises(InputError, match="1 say what a response avoids"):
        trained(tmp_path / "unsettled", None)
    wrong, record = trained(tmp_path / "wrong", "met_is_bad")
    right, other = trained(tmp_path / "right", "met_is_good")

    assert [round(share_bad(run.steps[0]), 1) < 0.7 for run in (wrong, right)] == [True] * 2
    assert share_bad(wrong.steps[-1]) > 0.9
    assert share_bad(right.steps[-1]) < 0.1
    for run, written in ((wrong, record), (right, other)):
        assert run.is_finite
        lost = np.array([np.isnan(step.rewards[:, 0]).mean() for step in run.steps])
        assert 0 < lost.mean() < 0.5
        advantages = np.concatenate([step.advantages for step in run.steps])
        is_lost = np.concatenate([np.isnan(step.rewards[:, 0]) for step in run.steps])
        assert not np.abs(advantages[is_lost]).any()  # a failure teaches nothing
        keys = {frozenset(step.proposition_rates) for step in written.steps}
        assert keys == {frozenset({"score", "tag:says", "tag:avoids"})}
