from hypothesis import given
from hypothesis import strategies as st

from voirdire.models.in_process.prefix_groups import PrefixGroup, prefix_groups

SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=12)


def shared_by(sequences):
    return next(
        (i for i, tokens in enumerate(zip(*sequences, strict=False)) if len(set(tokens)) > 1),
        min(map(len, sequences)),
    )


@given(SEQUENCES)
def test_every_sequence_is_in_one_group_and_shares_its_beginning(sequences):
    groups = prefix_groups(sequences)

    assert sorted(i for group in groups for i in group.members) == list(range(len(sequences)))
    for group in groups:
        members = [sequences[i] for i in group.members]
        assert group.length == min(shared_by(members), min(map(len, members)) - 1)


def test_questions_about_several_items_are_grouped_by_item():
    system = [1] * 50
    items = [[item] * 500 for item in (2, 3, 4)]
    sequences = [system + item + [question] * 20 for question in range(10, 15) for item in items]

    groups = prefix_groups(sequences)

    assert groups == [
        PrefixGroup(length=550, members=(0, 3, 6, 9, 12)),
        PrefixGroup(length=550, members=(1, 4, 7, 10, 13)),
        PrefixGroup(length=550, members=(2, 5, 8, 11, 14)),
    ]


def test_a_lone_item_does_not_undo_the_sharing_of_another():
    system, long = [1] * 50, [3] * 500
    sequences = [system + [2] * 500, *(system + long + [q] for q in range(10))]

    groups = prefix_groups(sequences)

    assert [(group.length, len(group.members)) for group in groups] == [(549, 1), (550, 10)]


def test_items_behind_one_rubric_run_together():
    sequences = [[1] * 1_500 + [item] * 200 for item in range(10, 40)]

    (group,) = prefix_groups(sequences)

    assert group.length == 1_500


def test_sequences_that_share_nothing_run_together():
    (group,) = prefix_groups([[1, 2], [3], [4, 5, 6]])

    assert group.length == 0


def test_equal_sequences_keep_a_token_of_their_own():
    assert prefix_groups([[1, 2, 3]] * 2) == [PrefixGroup(length=2, members=(0, 1))]


def test_no_sequences_make_no_groups():
    assert prefix_groups([]) == []


@given(st.integers(200, 600))
def test_deep_nesting_ends(depth):
    sequences = [[1] * (i * 70) + [2] for i in range(1, depth // 10)]

    groups = prefix_groups(sequences)

    assert sum(len(group.members) for group in groups) == len(sequences)
