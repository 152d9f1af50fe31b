"""Where replies are kept: never in a file that the run itself writes."""

import json

import pytest

from voirdire.errors import InputError
from voirdire.judging import LlmJudge, judge_file
from voirdire.testing import ScriptedModel

ITEMS = [{"id": "a", "prompt": "p", "response": "r"}, {"id": "b", "prompt": "p"}]


@pytest.fixture
def judge():
    model = ScriptedModel(lambda request: AssertionError("nothing is called"))
    return LlmJudge(model=model, probability="stated", concurrency=1)


@pytest.mark.parametrize("name", ["out.parquet", "link.parquet", "out.parquet.dropped.jsonl"])
def test_a_store_is_no_file_that_the_run_writes(name, judge, tmp_path):
    source, output = tmp_path / "items.jsonl", tmp_path / "out.parquet"
    source.write_text("".join(json.dumps(row) + "\n" for row in ITEMS))
    (tmp_path / "link.parquet").symlink_to(output)

    with pytest.raises(InputError, match="`store` must be a file of its own"):
        judge_file(source, output, judge=judge, store=tmp_path / name)

    assert not output.exists()
