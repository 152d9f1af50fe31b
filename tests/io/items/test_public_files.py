"""The public data sets are read as they were published."""

import csv

import pytest

from voirdire.io import read_items


@pytest.mark.edges
@pytest.mark.parametrize("model", ["gpt4", "mistralinstruct"])
@pytest.mark.parametrize("judge", ["gpteval", "streval"])
def test_xstest_is_read_as_it_is(shared_dir, model, judge):
    path = shared_dir / "data" / "xstest" / f"xstest_v2_completions_{model}_{judge}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    table = read_items(path)

    assert table.dropped == ()
    assert len(table.items) == 450
    for item, row in zip(table.items, rows, strict=True):
        assert item.id == row.pop("id")
        assert item.prompt[0].content == row.pop("prompt")
        assert item.response == row.pop("completion")
        assert item.metadata == row
