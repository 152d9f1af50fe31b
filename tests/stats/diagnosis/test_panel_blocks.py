"""Blocks of items, and how many annotators of an item gave the same label."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.stats.diagnosis import panel_blocks as module
from voirdire.stats.diagnosis.panel_blocks import count_same, panel_blocks


def labels_of(seed, n_items, n_annotators, *, missing=0.3, numbers=False, n_codes=4):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, (n_items, n_annotators))
    gone = rng.random(codes.shape) < missing
    return np.where(gone, np.nan, codes / 2) if numbers else np.where(gone, -1, codes)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(1, 20),
    n_annotators=st.integers(1, 40),
    missing=st.sampled_from((0.0, 0.3, 0.9)),
    numbers=st.booleans(),
)
def test_equal_labels_of_an_item_are_counted(seed, n_items, n_annotators, missing, numbers):
    labels = labels_of(seed, n_items, n_annotators, missing=missing, numbers=numbers)

    [block] = panel_blocks(labels)
    same = count_same(block)

    for item, row in enumerate(labels.tolist()):
        known = [label for label in row if label == label and label != -1]
        expected = sorted(known.count(label) for label in known)
        assert sorted(same[:, item][block.present[:, item]].tolist()) == expected
        assert not same[:, item][~block.present[:, item]].any()
        assert block.n_labels[item] == len(known)


def test_slots_keep_the_names_of_their_raters():
    labels = np.full((3, 9), -1)
    labels[0, [2, 7]], labels[1, 4], labels[2, [0, 8]] = [1, 2], 3, [4, 5]

    [block] = panel_blocks(labels)

    found = {
        (item, int(block.raters[slot, item])): int(block.labels[slot, item])
        for slot, item in zip(*np.nonzero(block.present), strict=True)
    }
    assert found == {(0, 2): 1, (0, 7): 2, (1, 4): 3, (2, 0): 4, (2, 8): 5}


@pytest.mark.parametrize("n_items", [0, 1, 999, 1_000, 2_001])
def test_blocks_cover_every_item_once(monkeypatch, n_items):
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 900)
    labels = labels_of(1, n_items, 3)

    rows = [np.arange(n_items)[block.rows] for block in panel_blocks(labels)]

    assert np.concatenate([np.zeros(0, int), *rows]).tolist() == list(range(n_items))


def test_blocks_keep_clusters_whole(monkeypatch):
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 900)
    clusters = np.random.default_rng(0).integers(0, 5, 2_000)

    blocks = [
        clusters[block.rows] for block in panel_blocks(labels_of(1, 2_000, 3), clusters=clusters)
    ]

    assert len(blocks) > 1
    seen = [set(block.tolist()) for block in blocks]
    assert sum(map(len, seen)) == 5
    assert sum(map(len, blocks)) == 2_000
