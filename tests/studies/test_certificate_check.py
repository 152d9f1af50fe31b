"""A certificate holds while labels, judges, rubric and settings are what they were."""

import random
from dataclasses import replace

import pytest

from voirdire.errors import InputError
from voirdire.io import Reading
from voirdire.reporting import to_json
from voirdire.rewards import read_certificate
from voirdire.studies import TestPlan as Plan
from voirdire.studies import certify, check_certificate, examine, recorded_reading


@pytest.fixture(scope="module")
def survey(make_survey):
    return make_survey()


@pytest.fixture(scope="module")
def tables(survey, table):
    """The labels of both sides, the annotators' or the judges' changed."""

    def make(humans=None, judges=None):
        return {
            "humans": table(humans or survey.humans, "annotator", "choice"),
            "judges": table(judges or survey.judges, "judge", "choice"),
        }

    return make


@pytest.fixture(scope="module")
def certificate(tables, tmp_path_factory):
    """A certificate as it comes back from its file."""
    path = tmp_path_factory.mktemp("record") / "certificate.json"
    sides = tables()
    found = examine(**sides, plan=Plan(epsilon=[0.1, 0.2], n_resamples=200, epsilon_reason="crowd"))
    path.write_text(to_json(certify(found, **sides, rubric_hash="sha256:1")))
    return read_certificate(path)


def changed(labels, rater, item, label):
    return {**labels, rater: {**labels[rater], item: label}}


def changed_parts(changes):
    return [row.what for row in changes]


def test_it_holds_for_the_labels_it_was_made_of(certificate, tables):
    assert check_certificate(certificate, **tables(), rubric_hash="sha256:1") == ()


def test_the_order_of_rows_and_raters_changes_nothing(certificate, survey, tables):
    rng = random.Random(3)

    def shuffled(raters):
        names = rng.sample(sorted(raters), len(raters))
        return {
            name: dict(rng.sample([*raters[name].items()], len(raters[name]))) for name in names
        }

    assert (
        check_certificate(certificate, **tables(shuffled(survey.humans), shuffled(survey.judges)))
        == ()
    )


def test_one_label_of_a_person_shows(certificate, survey, tables):
    rater = next(iter(survey.humans))
    item = next(iter(survey.humans[rater]))
    other = "no" if survey.humans[rater][item] == "yes" else "yes"

    found = check_certificate(certificate, **tables(changed(survey.humans, rater, item, other)))

    assert changed_parts(found)[0] == "data"
    assert found[0].certified == certificate.data_hash != found[0].found


def test_one_label_of_a_judge_shows_and_is_that_judges(certificate, survey, tables):
    rater = list(survey.judges)[1]
    item = next(iter(survey.judges[rater]))
    other = "no" if survey.judges[rater][item] == "yes" else "yes"

    found = check_certificate(
        certificate, **tables(judges=changed(survey.judges, rater, item, other))
    )

    assert changed_parts(found)[0] == f"judge {rater}"
    assert "data" not in changed_parts(found)


def test_a_judge_without_labels_shows(certificate, survey, tables):
    first, *others = survey.judges
    rest = {name: survey.judges[name] for name in others}

    found = check_certificate(certificate, **tables(judges=rest))

    assert f"judge {first}" in changed_parts(found)
    assert any(what.startswith("outcome") and first in what for what in changed_parts(found))
    everyone = {"stranger": survey.judges[first]}
    alone = check_certificate(certificate, **tables(judges=everyone))
    assert changed_parts(alone) == [f"judge {name}" for name in certificate.judges]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"epsilon": 0.2}, "setting epsilon"),
        ({"epsilon": [0.1, 0.2], "epsilon_reason": "experts"}, "setting epsilon_reason"),
        ({"min_items": 20}, "setting min_items"),
        ({"seed": 1}, "setting seed"),
    ],
)
def test_another_setting_shows(certificate, tables, settings, what):
    (change,) = check_certificate(certificate, **tables(), settings=settings)

    assert change.what == what
    same = {"epsilon": [0.1, 0.2], "epsilon_reason": "crowd", "n_resamples": 200}
    assert check_certificate(certificate, **tables(), settings=same) == ()


def test_another_rubric_shows(certificate, tables):
    (change,) = check_certificate(certificate, **tables(), rubric_hash="sha256:2")

    assert (change.what, change.certified, change.found) == ("rubric", "sha256:1", "sha256:2")


def test_a_figure_that_the_labels_do_not_give_shows(certificate, tables):
    first, *others = certificate.examinations
    forged = {**first, "advantage_probability": first["advantage_probability"] + 0.01}
    changed_figures = replace(certificate, examinations=(forged, *others))

    (change,) = check_certificate(changed_figures, **tables())

    assert change.what.startswith("figures label | ")
    assert change.certified == pytest.approx(change.found + 0.01)


def test_another_wording_of_an_earlier_version_changes_nothing(certificate, tables):
    reworded = [
        row | {"because": row["because"] | {"sentence": "As it was said before."}}
        for row in certificate.examinations
    ]

    assert check_certificate(replace(certificate, examinations=tuple(reworded)), **tables()) == ()


def test_an_outcome_that_the_labels_do_not_give_shows(certificate, tables):
    place, outcome = next(iter(certificate.outcomes.items()))
    other = "passed" if outcome != "passed" else "failed"
    forged = replace(certificate, outcomes={**certificate.outcomes, place: other})

    (change,) = check_certificate(forged, **tables())

    assert (change.what, change.certified, change.found) == (f"outcome {place}", other, outcome)


def test_labels_are_read_as_the_certificate_says(certificate):
    read = recorded_reading(certificate, Reading(columns={"item": "id"}, threshold=0.9))

    assert (read.kind, read.columns, read.threshold) == ("choice", {"item": "id"}, None)
    declared = {**certificate.settings, "threshold": 0.3, "missing": ["-"], "labels": ["a", "b"]}
    read = recorded_reading(replace(certificate, settings=declared), Reading())
    assert (read.threshold, list(read.missing), list(read.labels)) == (0.3, ["-"], ["a", "b"])


def test_what_cannot_be_run_again_is_refused(certificate, tables):
    settings = dict(certificate.settings)
    with pytest.raises(InputError, match="with a known name, got the function 'cosine'"):
        check_certificate(
            replace(certificate, settings={**settings, "similarity": "cosine"}), **tables()
        )
    del settings["alignments"]
    with pytest.raises(InputError, match="must say its alignments, got none"):
        check_certificate(replace(certificate, settings=settings), **tables())
