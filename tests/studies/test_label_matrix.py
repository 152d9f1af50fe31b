"""The aligned labels of one question."""

import dataclasses

import numpy as np
import pytest

from voirdire.studies.label_matrix import LabelMatrix


def test_the_optional_parts_are_absent_by_default():
    matrix = LabelMatrix(
        items=("x",),
        annotators=("ann",),
        judges=("j",),
        humans=np.zeros((1, 1), np.int32),
        answers=np.zeros((1, 1), np.int32),
        failed=np.zeros((1, 1), bool),
    )

    assert (matrix.gold, matrix.clusters, matrix.label_sets, matrix.universe) == (None,) * 4
    assert (matrix.categories, matrix.dropped, matrix.n_unjudged) == ((), (), {})
    assert not matrix.declared


def test_it_is_frozen_and_keyword_only():
    fields = {field.name: field for field in dataclasses.fields(LabelMatrix)}

    assert LabelMatrix.__dataclass_params__.frozen
    assert all(field.kw_only for field in fields.values())
    with pytest.raises(TypeError, match="positional argument"):
        LabelMatrix(("x",))
