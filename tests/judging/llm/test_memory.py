"""A run of many items needs no more memory than one of few."""

import json
import subprocess
import sys

import pytest

DRIVER = """
import json
import resource
import sys
from pathlib import Path

from voirdire.judging import LlmJudge, judge_file
from voirdire.testing import ScriptedModel
from voirdire.rubrics import rubric_from_text

RUBRIC = '''
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
'''
folder, n_items = Path(sys.argv[1]), int(sys.argv[2])
with (folder / "items.jsonl").open("w") as file:
    for number in range(n_items):
        # what is there four times is called for once, and is still four items
        response = f"answer {number // 4} " + "word " * 60
        file.write(json.dumps({"id": f"i{number}", "response": response}) + "\\n")
n_calls = 0


def answer(request):
    global n_calls
    n_calls += 1
    return '{"sorry": 0.25}'


summary = judge_file(
    folder / "items.jsonl",
    folder / "out.parquet",
    rubric=rubric_from_text(RUBRIC),
    judge=LlmJudge(model=ScriptedModel(answer, log_probabilities=False), probability="stated"),
)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([summary.n_items, n_calls, peak]))
"""
UNIT = 1 if sys.platform == "darwin" else 1024  # bytes, or kilobytes


def judged(folder, n_items):
    """Judge so many items in a process of its own; give items, calls and its peak in bytes."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(folder), str(n_items)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    n_judged, n_calls, peak = json.loads(done.stdout)
    return n_judged, n_calls, peak * UNIT


@pytest.mark.slow
def test_ten_times_as_many_items_need_no_more_memory(tmp_path):
    few = judged(tmp_path / "few", 20_000)
    many = judged(tmp_path / "many", 200_000)

    assert few[:2] == (20_000, 5_000)
    assert many[:2] == (200_000, 50_000)
    # Kept, items and verdicts would be more than 1 KB each, 180 MB in all. What grows is the
    # record of ids, 60 bytes each, and the room to put the file together.
    assert many[2] - few[2] < 80e6
