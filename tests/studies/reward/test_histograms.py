"""Centred rewards by label."""

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle

IDEAL, RUDE = [1.0, 0, 0, 0], [1.0, 1, 0, 0]


def _row(prompt, label, p, base=None, behavior="refuse"):
    return {"prompt": prompt, "behavior": behavior, "label": label, "p": p, "base": base}


def _without_best(found):
    told = [note.figures["prompts"] for note in found.notes if note.code == "without_best"]
    return told[0] if told else ()


def test_rewards_are_centred_on_the_mean_of_the_best_of_their_prompt(examine_rows):
    rows = [
        _row("a", "ideal", IDEAL, 1.0),
        _row("a", "ideal", IDEAL, 3.0),
        _row("a", "unacceptable", RUDE, 7.0),
        _row("b", "ideal", IDEAL, 100.0),
        _row("b", "unacceptable", RUDE, 90.0),
    ]

    found = examine_rows(rows, n_bins=4)

    by_place = {(row.signal, row.label): row for row in found.histograms}
    # base: ideal 1 - 2, 3 - 2, 100 - 100; unacceptable 7 - 2 and 90 - 100
    assert by_place["base", "ideal"].mean == 0.0
    assert by_place["base", "unacceptable"].mean == (5 - 10) / 2
    assert by_place["base", "unacceptable"].standard_deviation == 7.5
    # rules: 3 for ideal, 1 for rude
    assert by_place["rules", "unacceptable"].mean == -2.0
    assert by_place["total", "unacceptable"].mean == -2.5 - 2.0
    # four bins from -10 to 5: ideal -1, 1, 0 lie in (-2.5, 1.25), twice at most on an edge
    assert by_place["base", "ideal"].edges == (-10.0, -6.25, -2.5, 1.25, 5.0)
    assert by_place["base", "ideal"].counts == (0, 0, 3, 0)
    assert by_place["base", "unacceptable"].counts == (1, 0, 0, 1)


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(3))
def test_every_completion_of_a_prompt_with_a_best_one_is_counted_once(
    examine_rows, random_rows, reward, seed
):
    rows = random_rows(seed)
    centres = {
        prompt: np.mean(
            [
                x
                for row, x in zip(rows, oracle.signals(rows, reward)["total"], strict=True)
                if row["prompt"] == prompt and row["label"] == "ideal"
            ]
        )
        for prompt in {row["prompt"] for row in rows if row["label"] == "ideal"}
    }
    totals = oracle.signals(rows, reward)["total"]

    found = examine_rows(rows, n_bins=7)

    for row in found.histograms:
        if row.signal == "total":
            expected = [
                x - centres[each["prompt"]]
                for each, x in zip(rows, totals, strict=True)
                if each["prompt"] in centres
                and (each["behavior"], each["label"]) == (row.behavior, row.label)
            ]
            assert sum(row.counts) == len(expected)
            assert row.mean == pytest.approx(np.mean(expected))
    assert set(_without_best(found)) == {str(row["prompt"]) for row in rows} - set(
        map(str, centres)
    )


def test_labels_of_a_signal_share_their_edges_and_the_best_comes_first(examine_rows, random_rows):
    found = examine_rows(random_rows(2), n_bins=9)

    for behavior in ("refuse", "comply"):
        own = [x for x in found.histograms if (x.behavior, x.signal) == (behavior, "total")]
        assert len({row.edges for row in own}) == 1
        assert len(own[0].edges) == 10
        assert own[0].label == "ideal"


def test_a_prompt_without_the_best_label_is_listed(examine_rows):
    rows = [
        _row("a", "ideal", IDEAL),
        _row("a", "unacceptable", RUDE),
        _row("b", "less_good", IDEAL),
        _row("b", "unacceptable", RUDE),
    ]

    found = examine_rows(rows, n_bins=5)

    assert _without_best(found) == ("b",)
    assert sum(sum(row.counts) for row in found.histograms) == 2


def test_rewards_that_are_equal_but_for_rounding_get_bins_around_them(examine_rows):
    rows = [_row(k, label, IDEAL) for k in range(3) for label in ("ideal", "less_good")]

    found = examine_rows(rows, n_bins=40)

    assert [sum(row.counts) for row in found.histograms] == [3, 3]
    assert found.histograms[0].edges[0] == -0.5
