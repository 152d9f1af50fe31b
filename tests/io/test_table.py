import dataclasses

import polars as pl
import pytest

from voirdire.errors import InputError
from voirdire.io import LabelTable, join_tables, table_from_frame


def table(labels, *, kind="choice", rater="ann", name="f", role="annotator"):
    frame = pl.DataFrame({"item": [f"{n}" for n in range(len(labels))], rater: labels})
    return table_from_frame(frame, role=role, kind=kind, raters=[rater], source_name=name)


def test_tables_join_in_their_order():
    joined = join_tables([table(["x", "y"]), table(["x"], rater="bob", name="g")])

    assert joined.kind == "choice"
    assert joined.frame.select("rater", "item", "label", "source").rows() == [
        ("ann", "0", "x", "f"),
        ("ann", "1", "y", "f"),
        ("bob", "0", "x", "g"),
    ]


@pytest.mark.parametrize(
    ("kind", "labels"),
    [("multilabel", [["a"], []]), ("scale", [1, 2]), ("boolean", [True, False])],
)
def test_tables_of_every_kind_join(kind, labels):
    joined = join_tables([table(labels, kind=kind), table(labels, kind=kind, rater="bob")])

    assert joined.frame.height == 4


def test_drops_are_kept_and_repeats_across_tables_listed():
    first = table(["x", "can't tell"], name="f.csv")
    second = table(["x", "y"], name="g.csv")

    joined = join_tables(iter([first, second]))

    assert joined.frame.select("item", "label", "source").rows() == [
        ("0", "x", "f.csv"),
        ("1", "y", "g.csv"),
    ]
    assert [(drop.reason, drop.place()) for drop in joined.dropped] == [
        ("can't tell", "f.csv:2: column `ann`"),
        ("duplicate row", "g.csv:1"),
    ]


def test_a_contradiction_across_tables_is_refused_with_both_places():
    with pytest.raises(InputError, match=r"g:1: `label` must be .* got 'y' after 'x' in f:1"):
        join_tables([table(["x"], name="f"), table(["y"], name="g")])


def test_tables_of_two_kinds_do_not_join():
    with pytest.raises(InputError, match=r"must be of one kind .* got \['choice', 'text'\]"):
        join_tables([table(["x"]), table(["x"], kind="text")])


def test_no_tables_do_not_join():
    with pytest.raises(InputError, match=r"`tables` must hold at least one table, got none"):
        join_tables([])


def test_a_judges_failures_join():
    joined = join_tables([table([None], role="judge"), table([None], role="judge", name="g")])

    assert joined.frame.select("label", "failure").rows() == [(None, "missing label")]
    assert joined.dropped[0].value is None


def test_a_table_is_frozen_and_keyword_only():
    made = LabelTable(frame=table(["x"]).frame, kind="choice")

    assert made.dropped == ()
    with pytest.raises(dataclasses.FrozenInstanceError, match="kind"):
        made.kind = "text"
    with pytest.raises(TypeError, match="positional"):
        LabelTable(made.frame, "choice")
