"""Power from a pilot study: drawn from its labels, or simulated from noise fitted to it."""

import math

import numpy as np
import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels
from voirdire.stats import power
from voirdire.studies import power_from_pilot


@pytest.fixture
def pilot(make_survey, table):
    """Give the tables of a survey whose first judge is the only one."""

    def tables(kind="choice", *, cluster=None, **survey):
        made = make_survey(kind, judges=(0.2,), **survey)
        humans = table(made.humans, "annotator", kind, cluster=cluster)
        return made, humans, table(made.judges, "judge", kind)

    return tables


def codes(labels, items):
    return [labels[item] for item in items]


# Drawn from the pilot -----------------------------------------------------------------------------


def test_clusters_cost_power(pilot):
    every_tenth = {f"i{row}": f"doc{row // 10}" for row in range(60)}
    _, humans, judges = pilot(cluster=every_tenth, humans=(0.3, 0.3, 0.3))
    plan = {"n_items": [60, 120], "epsilon": 0.1, "n_simulations": 200}

    alone = power_from_pilot(humans, judges, **plan)
    clustered = power_from_pilot(humans, judges, clustered=True, **plan)

    # items do not depend on each other here, but six clusters leave five degrees of freedom
    assert clustered.rows[0].power < alone.rows[0].power
    assert clustered.settings["pilot_clusters"] == 6
    said = [caution.sentence for caution in clustered.cautions]
    assert "the pilot has 6 clusters: its own error is larger than shown" in said


def test_a_small_pilot_allows_many_powers_and_a_large_one_few(pilot):
    plan = {"n_items": [60, 120], "epsilon": 0.2, "n_simulations": 200}
    widths = []
    for n_items in (30, 300):
        _, humans, judges = pilot(humans=(0.2, 0.2, 0.2), n_items=n_items)
        [size] = power_from_pilot(humans, judges, **plan).smallest_plans
        assert 0 <= size.low <= size.power <= size.high <= 1
        widths.append(size.high - size.low)

    assert widths[1] < widths[0]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("kind", "alignment"),
    [
        ("scale", "neg_rmse"),
        ("multilabel", "jaccard"),
        ("multilabel", "hamming"),
        ("text", "similarity"),
        ("boolean", "accuracy"),
    ],
)
def test_every_alignment_can_be_drawn(pilot, kind, alignment):
    _, humans, judges = pilot(kind)

    result = power_from_pilot(
        humans, judges, alignment=alignment, n_items=[30, 100], epsilon=0.2, n_simulations=50
    )

    small, large = result.rows
    assert 0 <= small.power <= large.power <= 1
    assert large.power > 0.5
    assert large.n_annotators == 4
    assert math.isnan(result.human_kappa) == (kind != "boolean")


def test_items_that_the_judge_was_not_asked_about_are_left_out(make_survey, table):
    survey = make_survey(judges=(0.2,))
    humans = table(survey.humans, "annotator", "choice")
    some = {"judge0": dict(list(survey.judges["judge0"].items())[:40])}

    result = power_from_pilot(
        humans, table(some, "judge", "choice"), n_items=30, epsilon=0.1, n_simulations=20
    )

    assert result.settings["pilot_items"] == 40
    [caution] = result.cautions
    assert caution.sentence == (
        "the pilot has 40 items: its own error is larger than the figures show"
    )


def test_gaps_and_failures_are_told(make_survey, table):
    survey = make_survey(judges=(0.2,))
    del survey.humans["ann0"]["i3"]
    survey.judges["judge0"]["i5"] = None

    result = power_from_pilot(
        table(survey.humans, "annotator", "choice"),
        table(survey.judges, "judge", "choice"),
        n_items=30,
        epsilon=0.1,
        n_simulations=20,
    )

    gaps, failures = (caution.sentence for caution in result.cautions)
    # 239 of 240 labels: never 100%
    assert gaps == (
        "annotators of the pilot labelled 99% of its items on average, and studies have as many "
        "gaps"
    )
    assert failures.startswith("the judge failed on 1 of 60 items")


@pytest.fixture
def every_fourth_missing(pilot):
    """Give the tables of a pilot of 400 items by four people, each of whom labelled 300."""

    def tables(**survey):
        made, humans, judges = pilot(n_items=400, humans=(0.2,) * 4, **survey)
        item = pl.col("item").str.slice(1).cast(pl.Int64)
        person = pl.col("rater").cast(pl.String).str.slice(3).cast(pl.Int64)
        kept = humans.frame.select((item + person) % 4 != 0).to_series().to_numpy()
        return made, humans.where(kept), judges

    return tables


@pytest.mark.ci
def test_labels_that_nobody_gives_are_not_counted(every_fourth_missing):
    _, humans, judges = every_fourth_missing()

    result = power_from_pilot(
        humans, judges, n_items=[60, 101], n_annotators=[3, 4, 6], epsilon=0.1, n_simulations=200
    )

    assert {row.label_share for row in result.rows} == {0.75}
    # 101 * 3 * .75 = 227.25
    labels = {(row.n_annotators, row.n_items): row.n_labels for row in result.rows}
    assert labels == {(3, 60): 135, (3, 101): 227, (4, 60): 180, (4, 101): 303} | {
        (6, 60): 270,
        (6, 101): 454,
    }
    assert (
        "annotators of the pilot labelled 75% of its items on average, and studies have as many "
        "gaps; where noise is simulated, they are at random"
    ) in [caution.sentence for caution in result.cautions]


@pytest.mark.ci
def test_simulated_studies_have_as_many_gaps_as_the_pilot(every_fourth_missing):
    _, humans, judges = every_fourth_missing()
    plan = {"n_items": [30, 60], "n_annotators": [4, 5], "epsilon": 0.1, "n_simulations": 400}

    result = power_from_pilot(humans, judges, **plan)

    drawn = result.curve(n_annotators=4, epsilon=0.1)
    simulated = result.curve(n_annotators=5, epsilon=0.1)
    # nobody labels all of 30 items, of which everyone labels three quarters
    assert (drawn[0].power, simulated[0].power) == (0, 0)
    assert simulated[1].power > 0.2
    assert simulated[1].power == pytest.approx(drawn[1].power, abs=0.15)


@pytest.mark.ci
def test_simulated_judges_fail_as_often_as_the_pilots(make_survey, table):
    survey = make_survey(judges=(0.2,), n_items=400, humans=(0.2,) * 3)
    for item in list(survey.judges["judge0"])[::4]:
        survey.judges["judge0"][item] = None

    result = power_from_pilot(
        table(survey.humans, "annotator", "choice"),
        table(survey.judges, "judge", "choice"),
        n_items=[30, 60],
        n_annotators=4,
        epsilon=0.2,
        n_simulations=100,
    )

    few, enough = result.rows
    # a judge that answers three quarters of 30 items is compared on fewer than 30
    assert few.power == 0
    assert enough.power > 0.5
    # annotators have to label those items all the same
    assert (few.label_share, few.n_labels) == (1.0, 120)


def test_a_pilot_without_gaps_has_none_in_its_studies(pilot):
    _, humans, judges = pilot(n_items=400, humans=(0.3, 0.3, 0.3))

    result = power_from_pilot(humans, judges, n_items=40, n_annotators=[3, 5], n_simulations=20)

    assert {row.label_share for row in result.rows} == {1.0}
    assert not any(caution.code == "pilot_gaps" for caution in result.cautions)


# Simulated from fitted noise ----------------------------------------------------------------------


def test_more_annotators_are_simulated_from_the_fitted_noise(pilot):
    _, humans, judges = pilot(n_items=400, humans=(0.3, 0.3, 0.3))

    result = power_from_pilot(
        humans, judges, n_items=[40, 80], n_annotators=[3, 6], epsilon=0.1, n_simulations=400
    )

    assert [row.route for row in result.rows] == ["resampling"] * 2 + ["noise_model"] * 2
    assert result.human_noise == pytest.approx(0.3, abs=0.08)
    assert result.judge_noise == pytest.approx(0.2, abs=0.08)
    assert result.human_kappa == pytest.approx((1 - result.human_noise) ** 2)
    shares = np.unique(
        [label for row in humans.frame["label"].to_list() for label in [row]], return_counts=True
    )[1]
    assumed = power(
        human_noise=result.human_noise,
        judge_noise=result.judge_noise,
        prevalences=shares / shares.sum(),
        n_items=[40, 80],
        n_annotators=6,
        epsilon=0.1,
        n_simulations=400,
        seed=1,
    )
    for fitted, given in zip(result.rows[2:], assumed.rows, strict=True):
        assert fitted.power == pytest.approx(given.power, abs=0.12)
    assert "independent errors" in result.cautions[-1].sentence


@pytest.mark.ci
def test_where_the_noise_model_holds_both_ways_agree(pilot):
    _, humans, judges = pilot(n_items=2_000, humans=(0.3, 0.3, 0.3, 0.3))
    plan = {"n_items": [40, 80, 160], "epsilon": [0.1, 0.2]}

    drawn = power_from_pilot(humans, judges, n_annotators=4, **plan)
    fitted = power(
        human_noise=drawn.human_noise,
        judge_noise=drawn.judge_noise,
        prevalences=[1 / 3] * 3,
        n_annotators=4,
        **plan,
    )

    for one, other in zip(drawn.rows, fitted.rows, strict=True):
        assert one.power == pytest.approx(other.power, abs=0.08)


@pytest.mark.parametrize(
    ("kind", "alignment"), [("scale", "neg_rmse"), ("multilabel", "jaccard"), ("text", "accuracy")]
)
def test_more_annotators_need_a_question_with_one_label_of_several(pilot, kind, alignment):
    _, humans, judges = pilot(kind)

    with pytest.raises(InputError, match=r"`n_annotators` must be at most the 4 .* only boolean"):
        power_from_pilot(humans, judges, alignment=alignment, n_annotators=[4, 5])


def test_more_annotators_need_independent_items(pilot):
    _, humans, judges = pilot(cluster={f"i{row}": f"d{row // 2}" for row in range(60)})

    with pytest.raises(InputError, match=r"must be at most the 4 .* clusters are not simulated"):
        power_from_pilot(humans, judges, clustered=True, n_annotators=5)


def test_annotators_who_agree_by_chance_have_no_noise_model(pilot):
    _, humans, judges = pilot(n_items=30, humans=(1.0, 1.0), seed=3)

    result = power_from_pilot(humans, judges, n_items=30, n_simulations=20)

    assert result.human_kappa < 0
    assert math.isnan(result.human_noise)
    with pytest.raises(InputError, match="agree by more than chance"):
        power_from_pilot(humans, judges, n_annotators=3)


# What is asked ------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_figures_whatever_else_is_asked(pilot):
    _, humans, judges = pilot()
    plan = {"n_items": 50, "epsilon": 0.1, "n_simulations": 50}

    alone = power_from_pilot(humans, judges, n_annotators=3, **plan)
    together = power_from_pilot(humans, judges, n_annotators=[2, 3, 4], **plan)

    assert alone.rows[0] in together.rows
    assert alone.rows != power_from_pilot(humans, judges, n_annotators=3, seed=1, **plan).rows


def test_one_of_several_judges_and_questions_must_be_named(make_survey, table):
    survey = make_survey()
    humans = table(survey.humans, "annotator", "choice", question="polite")
    judges = table(survey.judges, "judge", "choice", question="polite")
    plan = {"n_items": 30, "n_simulations": 20}

    with pytest.raises(InputError, match=r"`judge` must name one of 'judge0', 'judge1', got 2"):
        power_from_pilot(humans, judges, **plan)
    with pytest.raises(InputError, match=r"`judge` must be one of 'judge0', .*, got 'other'"):
        power_from_pilot(humans, judges, judge="other", **plan)
    with pytest.raises(InputError, match=r"`question` must be one of 'polite', got 'rude'"):
        power_from_pilot(humans, judges, judge="judge0", question="rude", **plan)
    result = power_from_pilot(humans, judges, judge="judge1", **plan)
    assert (result.settings["judge"], result.settings["question"]) == ("judge1", "polite")


def test_kinds_and_alignments_must_fit(pilot):
    _, humans, judges = pilot()
    _, _, scales = pilot("scale")

    with pytest.raises(InputError, match=r"`humans` and `judges` must be of one kind"):
        power_from_pilot(humans, scales)
    with pytest.raises(InputError, match=r"`alignment` must suit a choice question"):
        power_from_pilot(humans, judges, alignment="jaccard")


def test_one_annotator_is_no_pilot(pilot):
    _, humans, judges = pilot(humans=(0.1,))

    with pytest.raises(InputError, match=r"`humans` must hold labels of at least 2 annotators"):
        power_from_pilot(humans, judges)


def test_nothing_in_common_is_no_pilot(make_survey, table):
    survey = make_survey(judges=(0.1,))
    other = {"judge0": {f"x{item}": label for item, label in survey.judges["judge0"].items()}}

    with pytest.raises(NoDataError, match="share items"):
        power_from_pilot(
            table(survey.humans, "annotator", "choice"), table(other, "judge", "choice")
        )


@pytest.mark.ci
def test_a_published_data_set_can_be_a_pilot(shared_dir):
    folder = shared_dir / "data" / "alttest" / "framing"
    humans = read_labels(folder / "human_annotations.json", role="annotator", kind="choice")
    judges = read_labels(folder / "llm_annotations.json", role="judge", kind="choice")

    result = power_from_pilot(
        humans, judges, judge="gpt-4o", n_items=[60, 150], epsilon=0.15, n_simulations=200
    )

    # ω is 1 in the whole data set, of which everyone labelled a part
    assert result.rows[0].power < result.rows[1].power
    assert result.rows[1].power > 0.9
    assert result.settings["pilot_annotators"] == 4
    # each item of the data set has labels of three of its four annotators
    assert [row.n_labels for row in result.rows] == [180, 450]
