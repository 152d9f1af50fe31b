"""A fit as tables for a terminal."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from rewards.fitting.fit_cases import labelled_case
from rewards.fitting.test_fit import fit
from rewards.fitting.test_fit_cycles import Case
from voirdire.errors import CyclicComparisonsWarning
from voirdire.reporting import RewardFitTables


def printed(found, *, width=80):
    """Print as the command does, without colour."""
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False, markup=False).print(RewardFitTables(found))
    return stream.getvalue()


@pytest.fixture(scope="module")
def found():
    """Fit with everything that a table can show."""
    return fit(
        labelled_case(2, n_prompts=25, base=True),
        n_resamples=50,
        l2=None,
        fixed={"polite": 1.5},
        ignored=["long"],
    )


def line_of(text, start):
    return next(line for line in text.splitlines() if line.startswith(start))


def test_weights_stand_with_their_intervals(found):
    text = printed(found)

    row = next(one for one in found.behaviors[0].weights if one.feature == "useful")
    low, high = row.weight.low, row.weight.high
    assert f"{row.weight.value:.3f}" in line_of(text, "useful")
    assert f"{low:.3f} to {high:.3f}" in line_of(text, "useful")


def test_given_and_ignored_weights_have_no_interval(found):
    text = printed(found)

    assert line_of(text, "polite").split() == ["polite", "1.500", "given"]
    assert line_of(text, "long").split() == ["long", "0.000", "ignored"]


def test_error_rates_stand_side_by_side(found):
    text = " ".join(printed(found).split())

    row = found.behaviors[0]
    rate = f"{row.error_rate.value:.1%} of held-out comparisons (95%: "
    assert f"ranked the wrong way: {rate}" in text
    assert f"held out: each of the {row.n_prompts} prompts once, from the fit that ranked" in text
    fitted = f"of which {row.error_rate_fitted:.1%} are ranked the wrong way"
    assert f"not tested: the comparisons of the fit, {fitted}" in text
    assert f"by the base reward alone: {row.error_rate_base.value:.1%}" in text
    assert f"λ {row.l2:g} by cross-validation" in text


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_their_width(found, width):
    lines = printed(found, width=width).splitlines()

    assert max(cell_len(line.rstrip()) for line in lines) <= width


def test_without_resamples_no_column_is_empty():
    text = printed(fit(labelled_case(2, n_prompts=25)))

    assert "interval" not in text.splitlines()[1]
    assert "95%" not in text


def test_one_prompt_shows_what_is_known_and_that_it_is_too_low():
    text = printed(fit(labelled_case(18, n_prompts=1, n_each=6)))

    assert "never held out: the only prompt" in text
    assert "not tested: the comparisons of the fit, of which 0% are" in " ".join(text.split())
    assert "held-out" not in text
    assert "nan" not in text


def test_prompts_marked_test_are_counted_beside_those_of_the_fit():
    case = labelled_case(2, n_prompts=25)
    for place, row in enumerate(case.rows):
        row["split"] = "test" if place // 4 < 6 else "train"

    found = fit(case)

    assert found.behaviors[0].n_test_prompts == 6
    text = " ".join(printed(found).split())
    assert "held out: 6 prompts marked test; never held out: 16 prompts of the fit" in text


def test_comparisons_that_go_in_cycles_are_counted_below_the_weights():
    with pytest.warns(CyclicComparisonsWarning):
        found = fit(Case("ab", "bc", "ca", "ad"))

    text = " ".join(printed(found).split())

    assert "3 comparisons go in cycles" in text


def test_without_a_cycle_nothing_is_said_of_cycles(found):
    assert "cycles" not in printed(found)
