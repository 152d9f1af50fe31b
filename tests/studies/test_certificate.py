"""The record of an examination: what its hashes cover, and what they do not."""

import hashlib
import json
import re
from dataclasses import asdict, replace
from importlib.metadata import version

import polars as pl
import pytest
from sklearn.metrics import matthews_corrcoef

import voirdire
from voirdire.errors import DegenerateDataWarning
from voirdire.io import read_labels
from voirdire.records import CERTIFICATE_SCHEMA, Certificate, Failure, as_plain
from voirdire.reporting import to_json
from voirdire.studies import TestPlan as Plan
from voirdire.studies import certify, examine

COLUMNS = ("question", "item", "rater", "label", "failure", "cluster")
OUTSIDE_THE_HASH = {"created", "versions", "content_hash"}


@pytest.fixture(scope="module")
def survey(make_survey):
    return make_survey()


@pytest.fixture(scope="module")
def record(survey, table):
    """Certify a survey, with anything about it changed."""

    def make(humans=None, judges=None, *, alignments=("accuracy",), **plan):
        people = table(humans or survey.humans, "annotator", "choice")
        machines = table(judges or survey.judges, "judge", "choice")
        found = examine(humans=people, judges=machines, alignment=alignments, plan=Plan(**plan))
        return certify(found, humans=people, judges=machines)

    return make


@pytest.fixture(scope="module")
def hashed(survey, table):
    """Hash labels as a record of any examination does."""
    machines = table(survey.judges, "judge", "choice")
    found = examine(
        humans=table(survey.humans, "annotator", "choice"), judges=machines, around=False
    )

    def data_hash(labels):
        return certify(found, humans=labels, judges=machines).data_hash

    return data_hash


def sha256(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# Hashes recomputed ----------------------------------------------------------------------------


def test_the_content_hash_is_sha_256_over_the_canonical_json_of_the_file(record, canonical):
    written = json.loads(to_json(record(epsilon=[0.1, 0.2], epsilon_reason="skilled")))

    covered = {name: value for name, value in written.items() if name not in OUTSIDE_THE_HASH}

    assert written["content_hash"] == sha256(canonical(covered))
    assert written["schema"] == CERTIFICATE_SCHEMA == "voirdire.certificate/1"


def test_the_data_hash_is_sha_256_over_the_sorted_labels(record, survey, canonical):
    certificate = record()

    def lines(raters):
        rows = sorted(
            (["label", item, name, label, None, None])
            for name, labels in raters.items()
            for item, label in labels.items()
        )
        return b"".join(canonical(row) + b"\n" for row in sorted(rows, key=lambda row: row[:3]))

    assert certificate.data_hash == sha256(lines(survey.humans))
    assert set(certificate.judges) == {"judge0", "judge1"}
    for name, labels in survey.judges.items():
        assert certificate.judges[name] == {
            "labels_hash": sha256(lines({name: labels})),
            "fingerprint": None,
        }


def test_labels_with_separators_do_not_collide(table, hashed):
    first = table({"ann": {"i1": 'a","b'}}, "annotator", "choice")
    second = table({"ann": {"i1": "a", "b": "x"}}, "annotator", "choice")
    third = table({"ann": {"i1": ["a", "b"]}}, "annotator", "multilabel")
    fourth = table({"ann": {"i1": ["a\x1fb"]}}, "annotator", "multilabel")

    assert len({hashed(each) for each in (first, second, third, fourth)}) == 4


# What changes the record, and what does not -------------------------------------------------


def test_the_same_labels_in_another_file_give_the_same_record(survey, rows_of, tmp_path):
    people, machines = rows_of(survey.humans), rows_of(survey.judges)
    humans = pl.DataFrame(people, schema=["item", "annotator", "label"], orient="row")
    judges = pl.DataFrame(machines, schema=["item", "judge", "label"], orient="row")
    shuffled = [humans.sample(fraction=1, shuffle=True, seed=seed) for seed in range(4)]
    humans.write_csv(tmp_path / "h.csv")
    shuffled[0].write_csv(tmp_path / "shuffled.csv")
    shuffled[1].write_ndjson(tmp_path / "h.jsonl")
    shuffled[2].write_parquet(tmp_path / "h.parquet")
    shuffled[3].pivot(on="annotator", index="item", values="label").write_csv(tmp_path / "wide.csv")
    (tmp_path / "h.json").write_text(json.dumps(survey.humans), encoding="utf-8")
    judges.write_csv(tmp_path / "j.csv")
    judges.sample(fraction=1, shuffle=True, seed=9).write_parquet(tmp_path / "j.parquet")

    def certified(human_file, judge_file):
        people = read_labels(tmp_path / human_file, role="annotator", kind="choice")
        machines = read_labels(tmp_path / judge_file, role="judge", kind="choice")
        return certify(examine(humans=people, judges=machines), humans=people, judges=machines)

    first = certified("h.csv", "j.csv")
    files = ["shuffled.csv", "h.jsonl", "h.parquet", "wide.csv", "h.json"]
    others = [certified(name, "j.parquet") for name in files]

    assert {other.data_hash for other in others} == {first.data_hash}
    assert all(other.judges == first.judges for other in others)
    assert {other.outcomes == first.outcomes for other in others} == {True}
    assert {other.content_hash for other in others} == {first.content_hash}


def test_the_same_numbers_and_sets_in_another_format_hash_the_same(tmp_path, hashed):
    (tmp_path / "scale.csv").write_text("item,annotator,label\n1,a,3\n2,a,4.5\n")
    (tmp_path / "scale.jsonl").write_text(
        '{"item": 2, "annotator": "a", "label": 4.5}\n'
        '{"item": "1", "annotator": "a", "label": 3.0}\n'
    )
    (tmp_path / "sets.csv").write_text("item,annotator,label\n1,a,y|x\n2,a,z\n")
    (tmp_path / "sets.jsonl").write_text(
        '{"item": 2, "annotator": "a", "label": ["z"]}\n'
        '{"item": 1, "annotator": "a", "label": ["x", "y", "x"]}\n'
    )

    def of_file(name, kind, **declared):
        return hashed(read_labels(tmp_path / name, role="annotator", kind=kind, **declared))

    assert of_file("scale.csv", "scale") == of_file("scale.jsonl", "scale")
    assert of_file("sets.csv", "multilabel", separator="|") == of_file("sets.jsonl", "multilabel")


def test_the_same_run_twice_gives_the_same_record(record):
    first, again = record(epsilon=[0.1, 0.2]), record(epsilon=[0.1, 0.2])

    assert replace(first, created="", versions={}) == replace(again, created="", versions={})


@pytest.mark.edges
@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 0.15},
        {"epsilon": [0.2, 0.3]},
        {"epsilon_mode": "multiplicative"},
        {"seed": 1},
        {"weights": "imbalance"},
        {"min_items": 31},
        {"min_annotators": 3},
        {"false_discovery_rate": 0.1},
        {"epsilon_reason": "skilled annotators"},
        {"epsilon_reason": ""},
        {"alignments": ["similarity"]},
    ],
    ids=str,
)
def test_every_setting_is_covered(record, changed):
    default, other = record(), record(**changed)

    assert other.content_hash != default.content_hash
    assert other.data_hash == default.data_hash
    if changed == {"seed": 1}:  # which changes no figure that decides
        assert other.outcomes == default.outcomes


def test_a_changed_label_changes_its_side_and_the_content(record, survey):
    humans = survey.humans | {"ann0": survey.humans["ann0"] | {"i0": "anything"}}
    judges = survey.judges | {"judge1": survey.judges["judge1"] | {"i0": "anything"}}

    default, of_person, of_judge = record(), record(humans=humans), record(judges=judges)

    assert len({each.content_hash for each in (default, of_person, of_judge)}) == 3
    assert of_person.data_hash != default.data_hash == of_judge.data_hash
    assert of_person.judges == default.judges
    assert of_judge.judges["judge0"] == default.judges["judge0"]
    assert of_judge.judges["judge1"] != default.judges["judge1"]


def test_a_label_that_changes_no_figure_is_covered(record, survey):
    def with_answer_to_nobodys_item(label):
        return survey.judges | {"judge0": survey.judges["judge0"] | {"elsewhere": label}}

    first, second = (record(judges=with_answer_to_nobodys_item(label)) for label in ("yes", "no"))

    assert first.examinations == second.examinations
    assert first.content_hash != second.content_hash


def test_a_failure_is_not_a_label(survey, table, hashed):
    judges = {"j": survey.judges["judge0"] | {"i0": None}}
    failed = table(judges, "judge", "choice")
    is_first = pl.col("item") == "i0"
    late = failed.frame.with_columns(failure=pl.when(is_first).then(pl.lit("timeout")))
    skipped = failed.frame.filter(~is_first)

    frames = (failed.frame, late, skipped)

    tables = [read_labels(frame, role="judge", kind="choice") for frame in frames]
    assert len({hashed(each) for each in tables}) == 3


def test_gold_labels_are_covered(survey, table, hashed):
    people = table(survey.humans, "annotator", "choice")
    machines = table(survey.judges, "judge", "choice")

    def certified(label):
        # Nobody gives either label, so the figures are the same.
        golden = survey.humans["ann0"] | {"i0": label}
        gold = table({"gold": golden}, "judge", "choice")
        found = examine(humans=people, judges=machines, gold=gold)
        return certify(found, humans=people, judges=machines, gold=gold), gold

    (first, gold), (second, _) = certified("this"), certified("that")

    assert first.examinations == second.examinations
    assert first.gold_hash == hashed(gold) != second.gold_hash
    assert first.content_hash != second.content_hash


@pytest.mark.edges
@pytest.mark.parametrize(
    ("declared", "recorded"),
    [({}, "none"), ({"label": (0.6,)}, 0.6), ({"label": (0.5, 0.6), "other": (0.1,)}, [0.5, 0.6])],
)
def test_the_threshold_is_recorded_without_being_told(survey, table, declared, recorded):
    people = table(survey.humans, "annotator", "choice")
    machines = replace(table(survey.judges, "judge", "choice"), thresholds=declared)
    found = examine(humans=people, judges=machines)

    plain = certify(found, humans=people, judges=machines)
    told = certify(found, humans=people, judges=machines, reading={"threshold": 0.7})
    silent = certify(found, humans=people, judges=machines, reading={"threshold": None})

    assert plain.settings["threshold"] == silent.settings["threshold"] == recorded
    assert told.settings["threshold"] == 0.7
    assert told.content_hash != plain.content_hash


def test_clusters_are_covered(survey, table):
    def certified(size):
        clusters = {f"i{row}": f"c{row // size}" for row in range(60)}
        people = table(survey.humans, "annotator", "choice", cluster=clusters)
        machines = table(survey.judges, "judge", "choice")
        found = examine(humans=people, judges=machines, clusters=True)
        return certify(found, humans=people, judges=machines)

    assert certified(2).data_hash != certified(3).data_hash
    assert certified(2).content_hash == certified(2).content_hash


def test_time_and_versions_are_not_covered(record, monkeypatch):
    default = record()
    monkeypatch.setattr("platform.python_version", lambda: "9.9")

    other = record()

    assert other.versions["python"] == "9.9" != default.versions["python"]
    assert other.content_hash == default.content_hash


def test_fingerprints_that_came_with_the_labels_are_recorded(survey, table):
    people = table(survey.humans, "annotator", "choice")
    machines = replace(
        table(survey.judges, "judge", "choice"),
        fingerprints={"judge0": ("sha256:1",), "judge1": ("sha256:2", "sha256:3")},
    )
    found = examine(humans=people, judges=machines)

    record = certify(found, humans=people, judges=machines)

    assert record.judges["judge0"]["fingerprint"] == "sha256:1"
    assert record.judges["judge1"]["fingerprint"] == ["sha256:2", "sha256:3"]


def test_fingerprints_and_the_rubric_are_covered(survey, table):
    people = table(survey.humans, "annotator", "choice")
    machines = table(survey.judges, "judge", "choice")
    marked = replace(machines, fingerprints={"judge0": ("sha256:1",)})
    found = examine(humans=people, judges=machines)

    plain, of_rubric, of_judge = (
        certify(found, humans=people, judges=judges, rubric_hash=rubric_hash)
        for judges, rubric_hash in ((machines, None), (machines, "sha256:2"), (marked, None))
    )

    assert of_rubric.rubric_hash == "sha256:2"
    assert of_judge.judges["judge1"]["fingerprint"] is None
    assert len({each.content_hash for each in (plain, of_rubric, of_judge)}) == 3


# What it holds --------------------------------------------------------------------------------


def test_it_says_what_was_fixed_beforehand(record):
    certificate = record(epsilon=[0.1, 0.2], seed=7, epsilon_reason="skilled annotators")

    assert certificate.settings["epsilon"] == [0.1, 0.2]
    assert certificate.settings["epsilon_mode"] == "additive"
    assert certificate.settings["epsilon_reason"] == "skilled annotators"
    assert certificate.settings["alignments"] == ["accuracy"]
    assert certificate.settings["kind"] == "choice"
    assert certificate.settings["seed"] == 7


def test_it_says_when_and_with_what(record):
    certificate = record()

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", certificate.created)
    assert certificate.versions.keys() == {"python", "voirdire", "numpy", "scipy", "polars"}
    assert certificate.versions["polars"] == version("polars")
    assert certificate.versions["voirdire"] == voirdire.__version__


def test_it_has_one_outcome_per_question_judge_alignment_and_epsilon(record):
    certificate = record(epsilon=[0.1, 0.25])

    assert list(certificate.outcomes) == [
        "label | judge0 | accuracy | 0.1",
        "label | judge0 | accuracy | 0.25",
        "label | judge1 | accuracy | 0.1",
        "label | judge1 | accuracy | 0.25",
    ]
    outcomes = [row["outcome"] for row in certificate.examinations]
    assert list(certificate.outcomes.values()) == outcomes


def test_close_margins_keep_their_own_outcome(record):
    certificate = record(epsilon=[0.1, 0.1000000001])

    assert len(certificate.outcomes) == 4


def test_it_holds_every_figure_of_the_examination(survey, table):
    people = table(survey.humans, "annotator", "choice")
    machines = table(survey.judges, "judge", "choice")
    found = examine(humans=people, judges=machines)

    certificate = certify(found, humans=people, judges=machines)

    assert isinstance(certificate, Certificate)
    assert certificate.examinations == tuple(as_plain(row) for row in found.results)


def test_undefined_figures_are_null_in_the_file_and_in_its_hash(make_survey, table, canonical):
    small = make_survey(n_items=12)
    people, machines = (
        table(small.humans, "annotator", "choice"),
        table(small.judges, "judge", "choice"),
    )
    with pytest.warns(DegenerateDataWarning, match="no annotator has 30 items"):
        found = examine(humans=people, judges=machines)

    text = to_json(certify(found, humans=people, judges=machines))

    def refuse(word):
        raise AssertionError(word)

    written = json.loads(text, parse_constant=refuse)
    assert written["examinations"][0]["winning_rate"] is None
    assert set(written["outcomes"].values()) == {"no_evidence"}
    assert written.keys() == certify(found, humans=people, judges=machines).as_dict().keys()
    covered = {name: value for name, value in written.items() if name not in OUTSIDE_THE_HASH}
    assert written["content_hash"] == sha256(canonical(covered))


def test_every_figure_of_a_result_stands_under_its_own_name(survey):
    judge = survey.judges["judge0"] | {"i0": Failure()}
    result = voirdire.alt_test(judge, survey.humans)

    found = as_plain(result)

    named = {name for name in vars(result) if name != "dropped"}
    assert found.keys() == named | {"warnings"}
    assert found["uncertainty"] == asdict(result.uncertainty)
    assert [row["sentence"] for row in found["cautions"]] == found["warnings"]
    assert found["because"] == asdict(result.because)
    plain = {"question", "judge", "alignment", "epsilon", "epsilon_mode", "n_items"}
    plain |= {"n_annotators", "winning_rate", "winning_rate_bh", "passed", "outcome"}
    plain |= {"finding", "n_within", "n_shown", "advantage_probability", "human_advantage"}
    assert all(found[name] == getattr(result, name) for name in plain)
    for row, person in zip(found["annotators"], result.annotators, strict=True):
        assert all(value == getattr(person, name) for name, value in row.items())
    for row, control in zip(found["controls"], result.controls, strict=True):
        assert row == asdict(control)
    assert found["worst_case"] == asdict(result.worst_case)
    assert found["human_agreement"]["alpha"] == result.human_agreement.alpha


def test_a_table_with_one_judges_rows_is_hashed_for_that_judge_only(survey, table, hashed):
    people = table(survey.humans, "annotator", "choice")
    machines = table(survey.judges, "judge", "choice")
    alone = table({"judge1": survey.judges["judge1"]}, "judge", "choice")

    certificate = certify(examine(humans=people, judges=alone), humans=people, judges=machines)

    assert list(certificate.judges) == ["judge1"]
    assert certificate.judges["judge1"]["labels_hash"] == hashed(alone)


def test_where_labels_stood_is_not_part_of_their_hash(hashed):
    frame = pl.DataFrame({"item": ["1", "2"], "ann": ["x", "y"]})

    first, second = (
        read_labels(rows, role="annotator", kind="choice", source_name=name)
        for rows, name in ((frame, "here"), (frame.reverse(), "there"))
    )

    assert hashed(first) == hashed(second)
    assert set(COLUMNS) < set(first.frame.columns)


# What it says of the judge ------------------------------------------------------------------------


def test_figures_beside_the_majority_and_the_population_are_certified(make_survey, table):
    survey = make_survey("boolean")
    people, machines = (
        table(survey.humans, "annotator", "boolean"),
        table(survey.judges, "judge", "boolean"),
    )
    found = examine(humans=people, judges=machines)

    record = certify(found, humans=people, judges=machines, population="refusals of model x")
    unsaid = certify(found, humans=people, judges=machines)

    assert record.population == "refusals of model x"
    assert record.content_hash != unsaid.content_hash
    assert "population" not in json.loads(to_json(unsaid))
    judge = next(iter(survey.judges))
    majority, said = [], []
    for item in survey.judges[judge]:
        labels = [own[item] for own in survey.humans.values() if own.get(item) is not None]
        if labels and 2 * sum(labels) != len(labels):
            majority.append(2 * sum(labels) > len(labels))
            said.append(survey.judges[judge][item])
    beside = record.against_majority[f"label | {judge}"]
    assert beside["mcc"][0] == pytest.approx(matthews_corrcoef(majority, said))
    assert beside["mcc"][1] < beside["mcc"][0] < beside["mcc"][2]
