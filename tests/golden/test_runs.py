"""Every command leaves the figures that it left when its golden was written."""

import pytest

from golden.adapters import figures_of_adapters
from golden.commands import RUNS
from golden.comparing import differences
from golden.figures import read_golden
from golden.inputs import write_inputs
from golden.runs import KEPT, Places, Run, figures_of_run

ADAPTERS = Run("adapters", words="")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def marked(run):
    return pytest.param(run, id=run.name, marks=() if run.quick else pytest.mark.ci)


@pytest.mark.parametrize("run", [marked(run) for run in RUNS])
def test_a_command_leaves_its_golden_figures(run, inputs, tmp_path, request):
    shared = request.getfixturevalue("shared_dir") if run.needs_shared else None
    places = Places(inputs=inputs, shared=shared)

    found = figures_of_run(run, places, tmp_path)

    told = differences(read_golden(KEPT / f"{run.name}.json"), found, run=run)
    assert not told, f"{len(told)} figures differ:\n" + "\n".join(told[:40])


def test_every_adapter_gives_its_golden_rewards():
    told = differences(read_golden(KEPT / "adapters.json"), figures_of_adapters(), run=ADAPTERS)

    assert not told, "\n".join(told[:40])


def test_every_golden_has_its_run():
    names = [run.name for run in (*RUNS, ADAPTERS)]

    assert sorted(path.stem for path in KEPT.glob("*.json")) == sorted(names)
