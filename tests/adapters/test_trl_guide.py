"""The program in the guide to TRL runs as it stands there, with a tiny model."""

import re
from pathlib import Path

import pytest

from frameworks import require_framework
from voirdire.rewards import read_training_run

require_framework("torch", "trl", "datasets")

from adapters.trl_harness import phrase_tokenizer, tiny_model  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # the guide leaves TRL's defaults alone, one of which is for machines with a GPU
    pytest.mark.filterwarnings(
        "ignore:'pin_memory' argument is set as true:UserWarning:torch.utils.data.dataloader"
    ),
]

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "training-trl.md"
MODEL = "Qwen/Qwen2.5-0.5B-Instruct"


@pytest.fixture(scope="module")
def program():
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if "trainer.train()" in block)


def test_the_program_of_the_guide_trains(program, tmp_path, monkeypatch):
    tokenizer = phrase_tokenizer()
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    tokenizer.save_pretrained(tmp_path / "tiny")
    tiny_model(tokenizer, seed=0).save_pretrained(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    code = program.replace(MODEL, str(tmp_path / "tiny"))
    code = code.replace("max_steps=200", "max_steps=3")
    code = code.replace("max_completion_length=128", "max_completion_length=8")
    assert code.count("tiny") == 1
    assert "max_steps=3," in code
    assert "max_completion_length=8," in code

    names = {"__name__": "__main__"}
    exec(compile(code, str(GUIDE), "exec"), names)

    assert names["trainer"].state.global_step == 3
    recorded = read_training_run("runs/first")
    assert [step.n for step in recorded.steps] == [16] * 3
    assert [step.missing_share for step in recorded.steps] == [0.0] * 3


def test_the_program_of_the_guide_has_as_many_lines_as_it_says(program):
    written = [line for line in program.splitlines() if line.strip()]

    assert len(written) <= 40
