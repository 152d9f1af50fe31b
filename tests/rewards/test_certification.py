"""Certificates of a reward's propositions, from examinations that are really made."""

import dataclasses
import json
import re
import warnings

import pytest

from rewards.made_study import write_study
from rewards.reward_cases import tiny_judge, tiny_reward, tiny_rubric
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.io import read_labels
from voirdire.reporting import to_json
from voirdire.rewards import (
    certified,
    check_certified,
    load_reward,
    read_certificate,
    reward_of_weights,
)
from voirdire.studies import TestPlan as Plan
from voirdire.studies import certify, examine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write verdicts, and labels of people who agree on one question and guess on the other."""
    folder = tmp_path_factory.mktemp("study")
    write_study(folder)
    return folder


@pytest.fixture(scope="module")
def make_certificate(folder):
    """Give a function that examines, writes a certificate and reads it again."""

    def made(*, epsilon=0.2, rubric_hash=None, name="certificate.json"):
        humans = read_labels(folder / "humans.csv", role="annotator", kind="boolean")
        judges = read_labels(folder / "verdicts.parquet", role="judge", kind="boolean")
        plan = Plan(epsilon=epsilon)
        found = examine(humans=humans, judges=judges, kind="boolean", plan=plan, around=False)
        record = certify(found, humans=humans, judges=judges, rubric_hash=rubric_hash)
        (folder / name).write_text(to_json(record), encoding="utf-8")
        return read_certificate(folder / name)

    return made


@pytest.fixture(scope="module")
def certificate(make_certificate):
    return make_certificate()


def reward(*certificates, weights=None, version="1"):
    """Give a reward that is bound to the judge of the certificates."""
    made = reward_of_weights(
        {"refuse": {"sorry": 1, "rude": -1}} if weights is None else weights,
        rubric=tiny_rubric(),
        judge=tiny_judge(version=version),
        bound=True,
    )
    return dataclasses.replace(made, certificates=certificates)


def test_a_proposition_that_passed_is_certified_and_one_that_did_not_is_not(certificate):
    found = certified(reward(certificate))

    assert list(found) == ["sorry", "rude"]
    assert (found["sorry"].state, found["sorry"].is_valid) == ("passed", True)
    assert found["sorry"].certificate == certificate.content_hash
    assert found["rude"].state in ("failed", "no_evidence")
    assert not found["rude"].is_valid
    assert "at ε 0.2" in found["rude"].reason


def test_another_version_of_the_judge_is_another_judge(certificate):
    found = certified(reward(certificate, version="2"))

    assert {row.state for row in found.values()} == {"other_judge"}


def test_a_certificate_of_another_rubric_is_none(make_certificate):
    own = make_certificate(rubric_hash=tiny_rubric().content_hash, name="own.json")
    other = make_certificate(rubric_hash="sha256:" + "0" * 64, name="other.json")

    assert certified(reward(own))["sorry"].state == "passed"
    assert certified(reward(other))["sorry"].state == "other_rubric"


def test_without_certificates_nothing_was_examined():
    assert {row.state for row in certified(reward()).values()} == {"none"}


def test_weights_for_any_judge_cannot_be_certified(certificate):
    free = dataclasses.replace(tiny_reward(), certificates=(certificate,))

    assert {row.state for row in certified(free).values()} == {"no_judge"}


def test_every_epsilon_of_a_certificate_must_have_passed(make_certificate):
    several = make_certificate(epsilon=(0.0, 0.2), name="several.json")
    outcomes = {row["epsilon"]: row["outcome"] for row in several.examinations}
    assert outcomes[0.0] != "passed"

    assert not certified(reward(several))["sorry"].is_valid


def test_a_certificate_against_it_outweighs_one_for_it(certificate, make_certificate):
    against = make_certificate(epsilon=0.0, name="against.json")

    found = certified(reward(certificate, against))["sorry"]

    assert not found.is_valid
    assert found.certificate == against.content_hash


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"refuse": {"sorry": 1}}, ("sorry",)),
        ({"refuse": {"good": 1}}, ("sorry", "rude")),
        ({"chat": {"good": 1}}, ("rude",)),  # this class does not look at `sorry`
        ({"refuse": {"rude": 0}}, ()),
    ],
)
def test_propositions_pay_by_themselves_and_through_classes(weights, expected):
    lacking = ""
    try:
        check_certified(reward(weights=weights), required=True)
    except InputError as error:
        lacking = str(error)

    assert tuple(re.findall(r"(\w+): never examined", lacking)) == expected


def test_requiring_certificates_lists_all_that_lack_one(certificate):
    with pytest.raises(InputError, match=r"lacks 1 \(rude: ") as caught:
        check_certified(reward(certificate), required=True)

    assert "sorry:" not in str(caught.value)
    with pytest.raises(InputError, match=r"lacks 2 \(sorry: never examined; rude: never"):
        check_certified(reward(), required=True)


def test_without_the_requirement_there_is_one_warning(certificate):
    with pytest.warns(UncertifiedWarning, match=r"pays for 1 proposition .*: rude\.") as caught:
        check_certified(reward(certificate), required=False)

    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_certified_reward_is_loaded_without_a_word(certificate, tmp_path):
    reward(certificate, weights={"refuse": {"sorry": 1}}).save(tmp_path / "r.json")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = load_reward(tmp_path / "r.json", require_certified=True)

    assert found.certificates == (certificate,)


def test_loading_warns_or_refuses(certificate, tmp_path):
    reward(certificate).save(tmp_path / "r.json")

    with pytest.warns(UncertifiedWarning) as caught:
        load_reward(tmp_path / "r.json")
    assert caught[0].filename == __file__
    with pytest.raises(InputError, match="`require_certified` must find"):
        load_reward(tmp_path / "r.json", require_certified=True)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda c: c["outcomes"].update({next(iter(c["outcomes"])): "failed"}), "was changed"),
        (lambda c: c["examinations"][0].update(outcome="passed", epsilon=0.9), "was changed"),
        (lambda c: c.update(schema="voirdire.certificate/2"), "of the form"),
        (lambda c: c.pop("schema"), "no schema"),
        (lambda c: c.update(examinations={}), "`examinations` must be a list"),
        (lambda c: c.update(more=1), "a certificate has no key 'more'"),
    ],
)
def test_a_certificate_that_was_changed_is_refused(certificate, folder, tmp_path, edit, words):
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    edit(content)
    (tmp_path / "c.json").write_text(json.dumps(content), encoding="utf-8")

    with pytest.raises(InputError, match=words):
        read_certificate(tmp_path / "c.json")


def test_an_examination_under_another_threshold_does_not_count(certificate):
    looked_for = dataclasses.replace(certificate, settings={"threshold": 0.55})
    declared = dataclasses.replace(certificate, settings={"threshold": 0.5})

    found = certified(reward(looked_for))["sorry"]

    assert (found.state, found.is_valid) == ("other_judge", False)
    assert "the threshold 0.55 instead of 0.5" in found.reason
    assert certified(reward(declared))["sorry"].is_valid


def test_one_question_of_our_run_does_not_certify_another_of_another_run(certificate):
    mixed = ["sha256:another", next(iter(certificate.judges.values()))["fingerprint"]]
    judges = {name: {**about, "fingerprint": mixed} for name, about in certificate.judges.items()}

    found = certified(reward(dataclasses.replace(certificate, judges=judges)))["sorry"]

    assert (found.state, found.is_valid) == ("other_judge", False)
    assert "verdicts of other runs" in found.reason


@pytest.mark.edges
@pytest.mark.parametrize(
    "row",
    [
        {"question": "sorry"},
        {"question": ["sorry"], "judge": {}, "outcome": 1},
        {"question": "sorry", "judge": ["scripted"], "outcome": "passed"},
        {"question": "sorry", "judge": "scripted", "outcome": ["passed"], "epsilon": "x" * 9_999},
        {"question": "sorry", "judge": "scripted", "outcome": "failed", "epsilon": "\x1b[2J\n"},
        {"question": "sorry", "judge": "scripted", "outcome": "failed", "epsilon": [0.2]},
        {"question": "sorry", "judge": "scripted", "outcome": "failed", "epsilon": {"a": 1}},
    ],
)
def test_strange_rows_of_a_certificate_certify_nothing(certificate, row):
    strange = dataclasses.replace(certificate, examinations=(row,))

    found = certified(reward(strange))["sorry"]

    assert not found.is_valid
    assert len(found.reason) < 500
    assert found.reason.isprintable()


# The margin -----------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    ("epsilon", "meaning"),
    [
        (0.2, "advised where annotators are experts"),
        (0.15, "advised where annotators are skilled"),
        (0.1, "advised where annotators are a crowd"),
        (0.05, "stricter than advised for any annotators"),
        (0.12, "a margin that is advised for no annotators"),
        (0.3, "a margin that is advised for no annotators"),
    ],
)
def test_what_a_margin_means_stands_beside_the_certificate(make_certificate, epsilon, meaning):
    certificate = make_certificate(epsilon=epsilon, name="margin.json")

    (row, *_) = certified(reward(certificate)).values()

    assert f"at ε {epsilon:g} (accuracy; {meaning})" in row.reason


def test_a_margin_that_nobody_advises_is_a_warning(make_certificate):
    lax = make_certificate(epsilon=0.3, name="lax.json")
    advised = make_certificate(epsilon=0.2, name="advised.json")
    weights = {"refuse": {"sorry": 1}}

    with pytest.warns(UncertifiedWarning, match=r"0\.2 for experts.* for sorry\. A judge passes"):
        check_certified(reward(lax, weights=weights), required=True)
    check_certified(reward(advised, weights=weights), required=True)  # warnings are errors


def test_a_margin_above_three_tenths_certifies_nothing(make_certificate):
    wide = make_certificate(epsilon=0.31, name="wide.json")

    found = certified(reward(wide))["sorry"]

    assert (found.state, found.is_valid) == ("no_evidence", False)
    assert (
        "passed at ε 0.31 (accuracy; a margin above 0.3, which certifies nothing)" in found.reason
    )
    with pytest.raises(InputError, match=r"lacks 1 .*which certifies nothing"):
        check_certified(reward(wide, weights={"refuse": {"sorry": 1}}), required=True)


# The hash -------------------------------------------------------------------------------------


def test_the_same_examination_at_another_time_gives_the_same_reward(certificate):
    later = dataclasses.replace(certificate, created="2099-01-01T00:00:00+00:00", versions={})
    other = dataclasses.replace(certificate, content_hash="sha256:" + "0" * 64)

    assert reward(later).content_hash == reward(certificate).content_hash
    assert reward(other).content_hash != reward(certificate).content_hash
