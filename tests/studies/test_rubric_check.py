"""The check of rubrics finds planted defects, by words, by verdicts and by people."""

import json
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

import held_out_rubrics
import planted_rubrics
import voirdire.cli
from voirdire.errors import InputError, NoDataError
from voirdire.records import Criterion
from voirdire.reporting import from_json, html_page, to_json
from voirdire.rewards import read_certificate, score_criteria
from voirdire.studies import RubricCheck, check_rubric

FINDINGS = {
    "avoids_negative": "wrong_sign",
    "fault_positive": "wrong_sign",
    "same": "duplicate",
    "near": "near_duplicate",
    "contradiction": "contradiction",
    "two_claims": "two_claims",
}
BY_VERDICTS = ("never_met", "always_met", "separates_nothing", "unstable", "unconfirmed")


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def compare(check, kind, planted):
    """Precision and recall of one kind of finding."""
    found = {x for row in check.findings if row.kind == kind for x in (row.text, row.other) if x}
    n_right = len(found & planted)
    return n_right / max(len(found), 1), n_right / len(planted)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", FINDINGS)
@pytest.mark.parametrize(
    ("words", "least_precision", "least_recall"),
    [(planted_rubrics, 0.9, 0.9), (held_out_rubrics, 0.9, 0.7)],
    ids=["planted", "held out"],
)
def test_planted_defects_of_words_are_found(
    tmp_path, language, kind, words, least_precision, least_recall
):
    rows, planted = planted_rubrics.make_rows(
        words.SENTENCES, words.CLEAN, words.FAULTS, language=language, kind=kind
    )

    check = check_rubric(write(tmp_path / "rows.jsonl", rows))

    precision, recall = compare(check, FINDINGS[kind], {text for _, text in planted})
    assert precision >= least_precision
    assert recall >= least_recall


def make_study(folder, *, language="en", seed=0, n_prompts=10, n_responses=6):
    """Write rows, verdicts of two runs and labels of people; return what was planted by kind."""
    rng = np.random.default_rng(seed)
    texts = rng.choice(planted_rubrics.CLEAN[language], 45, replace=False).tolist()
    kinds = dict(zip(texts, [kind for kind in BY_VERDICTS for _ in range(3)], strict=False))
    rows, verdicts, again, people = [], [], [], []
    of_prompt = rng.random((len(texts), n_prompts)) < 0.5
    share = rng.uniform(0.3, 0.7, len(texts))
    for i in range(n_prompts):
        criteria = [{"criterion": x, "points": 2, "tags": [f"tag{k % 2}"]}
                    for k, x in enumerate(texts)]  # fmt: skip
        for j in range(n_responses):
            name = f"p{i}r{j}"
            rows.append({"id": name, "prompt": f"Prompt {i}", "response": f"Response {j}.",
                         "criteria": criteria})  # fmt: skip
            for k, text in enumerate(texts):
                kind = kinds.get(text)
                fixed = {"never_met": False, "always_met": True}
                fixed["separates_nothing"] = of_prompt[k, i]
                truth = fixed.get(kind, rng.random() < share[k])
                item = f"{name}:{Criterion(text=text).key}"
                noise = 0.02 if kind not in ("never_met", "always_met", "separates_nothing") else 0
                said = bool(truth) ^ (rng.random() < noise)
                flips = 0.35 if kind == "unstable" else 0.02
                verdicts.append((item, said))
                again.append((item, said ^ (rng.random() < flips)))
                denied = said ^ (rng.random() < 0.5) if kind == "unconfirmed" else bool(truth)
                people += [(item, who, denied ^ (rng.random() < 0.06)) for who in "abc"]
    write(folder / "rows.jsonl", rows)
    for name, labels in {"v": verdicts, "again": again}.items():
        pl.DataFrame(labels, ["item", "label"], orient="row").select(
            "item", judge=pl.lit("gpt"), question=pl.lit("is_met"), label="label",
            probability=pl.col("label").cast(pl.Float64), fingerprint=pl.lit(f"sha256:{name[0]}"),
        ).write_parquet(folder / f"{name}.parquet")  # fmt: skip
    pl.DataFrame(people, ["item", "annotator", "label"], orient="row").write_csv(folder / "h.csv")
    return {kind: {text for text, own in kinds.items() if own == kind} for kind in BY_VERDICTS}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_planted_defects_of_verdicts_are_found(tmp_path, language):
    planted = make_study(tmp_path, language=language)

    check = check_rubric(
        tmp_path / "rows.jsonl",
        verdicts=tmp_path / "v.parquet",
        again=[tmp_path / "again.parquet"],
        humans=tmp_path / "h.csv",
    )

    found = {(row.kind, row.text) for row in check.findings if row.kind in BY_VERDICTS}
    expected = {(kind, text) for kind, texts in planted.items() for text in texts}
    assert len(found & expected) / len(found) >= 0.9
    assert len(found & expected) / len(expected) >= 0.9
    assert [row.tag for row in check.tags] == ["is_met", "tag0", "tag1"]
    assert {row.finding for row in check.tags} == {"no_evidence"}  # ten prompts are ten units
    assert check.n_answered == 45


@pytest.mark.slow
def test_planted_defects_of_verdicts_are_found_in_twenty_studies(tmp_path):
    n_found, n_right, n_planted = Counter(), Counter(), Counter()
    for seed in range(20):
        planted = make_study(tmp_path, seed=seed)
        check = check_rubric(
            tmp_path / "rows.jsonl",
            verdicts=tmp_path / "v.parquet",
            again=[tmp_path / "again.parquet"],
            humans=tmp_path / "h.csv",
        )
        for kind in BY_VERDICTS:
            found = {row.text for row in check.findings if row.kind == kind}
            n_found[kind] += len(found)
            n_right[kind] += len(found & planted[kind])
            n_planted[kind] += len(planted[kind])

    for kind in BY_VERDICTS:
        assert n_right[kind] / n_found[kind] >= 0.9, (kind, n_found, n_right)
        assert n_right[kind] / n_planted[kind] >= 0.9, (kind, n_found, n_right)


def criteria_of(*rows):
    return [{"criterion": text, "points": points} for text, points in rows]


def test_the_worst_is_first_and_what_to_keep_is_written(tmp_path):
    criteria = criteria_of(
        ("Cites a source", 2), ("cites a source.", 5),
        ("Names the dose and warns about bleeding", 3),
        ("Insults the reader", 9), ("Uses a table", 1), ("Uses no table", 1), ("Is kind", 4),
        ("Is kind", 4),
    )  # fmt: skip
    rows = [
        {"id": "a", "prompt": "p", "rubrics": json.dumps(criteria), "more": 1},
        {"id": "b", "prompt": "q", "rubrics": criteria_of(("Uses a table", 1))},
        {"id": "c", "prompt": "r", "rubrics": criteria_of(("Insults the reader", 9))},
        {"id": "d", "prompt": "s"},
    ]
    path = write(tmp_path / "rows.jsonl", rows)

    check = check_rubric(path, output=tmp_path / "kept.jsonl")
    kept = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]

    kinds = ["wrong_sign", "contradiction", "duplicate", "duplicate", "two_claims"]
    assert [row.kind for row in check.findings] == kinds
    assert [row["id"] for row in kept] == ["a", "b"]
    assert [x["criterion"] for x in kept[0]["rubrics"]] == [
        "Cites a source", "Names the dose and warns about bleeding", "Is kind",
    ]  # fmt: skip
    assert kept[0]["more"] == 1
    assert (check.n_rows, check.n_dropped, check.n_prompts) == (4, 1, 3)
    assert check.dropped[0].reason == "no criteria"


def test_the_same_claim_that_is_paid_and_fined_is_no_contradiction(tmp_path):
    criteria = criteria_of(("Recommends rest", 3), ("Does not recommend rest", -3))
    path = write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": criteria}])

    check = check_rubric(path, negative="met_is_good")

    assert [row.kind for row in check.findings] == ["near_duplicate"]


def test_which_signs_are_wrong_goes_by_what_negative_points_are_said_to_mean(tmp_path):
    criteria = criteria_of(("Avoids jargon", -1), ("Avoids slang", -1), ("Insults the reader", -1))
    path = write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": criteria}])

    found = {
        negative: sorted(row.text for row in check_rubric(path, negative=negative).findings)
        for negative in (None, "met_is_good", "met_is_bad")
    }

    assert found[None] == found["met_is_good"] == ["Insults the reader"]
    assert found["met_is_bad"] == ["Avoids jargon", "Avoids slang"]


def test_ten_thousand_criteria_in_a_row_are_checked(tmp_path):
    criteria = [f"Says fact {k}" for k in range(9_998)] + ["Uses a table", "Uses no table"]
    path = write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": criteria}])

    check = check_rubric(path)

    assert [row.kind for row in check.findings] == ["contradiction"]


def test_too_few_answers_say_nothing(tmp_path):
    make_study(tmp_path, n_prompts=1, n_responses=6)

    check = check_rubric(tmp_path / "rows.jsonl", verdicts=tmp_path / "v.parquet")

    assert not {row.kind for row in check.findings} & {"never_met", "always_met"}
    assert check.n_answered == 0


def test_mistakes_are_named(tmp_path):
    path = write(tmp_path / "rows.jsonl", [{"prompt": "p"}])
    with pytest.raises(NoDataError, match="no criteria"):
        check_rubric(path)
    with pytest.raises(InputError, match="`verdicts` must be given"):
        check_rubric(path, humans="h.csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    make_study(folder, n_prompts=40, n_responses=2)
    return folder


@pytest.fixture
def call(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr("sys.argv", ["voirdire", *map(str, words)])
        try:
            voirdire.cli.run()
            code = 0
        except SystemExit as stopped:
            code = stopped.code or 0
        return code, *capsys.readouterr()

    return call


def test_a_certificate_by_tag_says_which_criteria_pay(study, tmp_path, call):
    rows, verdicts = study / "rows.jsonl", study / "v.parquet"
    people = pl.read_csv(study / "h.csv")
    keys = {Criterion(text=x["criterion"]).key: x["tags"][0]
            for x in json.loads(rows.read_text().splitlines()[0])["criteria"]}  # fmt: skip
    tags = people["item"].str.split(":").list.last().replace_strict(keys)
    turned = pl.col("label") ^ pl.Series(tags == "tag1")  # people deny the judge on tag1
    people.with_columns(turned).write_csv(tmp_path / "h.csv")
    certificate, page = tmp_path / "c.json", tmp_path / "page.html"

    people = ["--humans", tmp_path / "h.csv", "--certificate", certificate, "--report", page]
    code, out, _ = call("rubric", "check", rows, "--verdicts", verdicts, *people)
    scores = score_criteria(rows, tmp_path / "s.parquet", verdicts=verdicts,
                            certificates=[certificate], require_certified=True)  # fmt: skip
    refused, _, why = call("score", rows, "--criteria", "--verdicts", verdicts, "-o",
                           tmp_path / "t.parquet", "--require-certified")  # fmt: skip

    outcomes = {key.split(" | ")[0]: x for key, x in read_certificate(certificate).outcomes.items()}
    assert code == 0
    assert (outcomes["tag0"], outcomes["tag1"]) == ("passed", "failed")
    assert scores.n_uncertified == 80 * 22  # of 45 criteria 22 have tag1
    assert [row.tag for row in scores.tags] == ["tag0"]
    assert refused == 1
    assert "--require-certified" in why
    assert "rubric check" in why
    assert "Denied by people" in out
    assert page.read_text().count("<table") >= 3


def test_the_page_has_the_worst_first_in_both_languages_and_nothing_acts(tmp_path):
    texts = ["Insults <script>alert(1)</script>", "Names the dose and warns about bleeding"]
    criteria = criteria_of(*((text, 3) for text in texts))
    check = check_rubric(write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": criteria}]))

    pages = [html_page(check, language=language) for language in ("en", "zh")]

    for page, (first, second) in zip(
        pages, [("Wrong sign", "Two claims"), ("正负号相反", "一条两意")], strict=True
    ):
        assert page.index(first) < page.index(second)
        assert "<script>alert" not in page
    back = from_json(to_json(check))
    assert isinstance(back, RubricCheck)
    assert to_json(back) == to_json(check)


def test_files_of_rubrics_are_checked_as_before_and_rows_stand_alone(tmp_path, call):
    rows = write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": ["Is kind"]}])

    code, out, _ = call("rubric", "check", rows)
    both, _, why = call("rubric", "check", rows, "safety")
    other, _, alone = call("rubric", "check", "safety", "--humans", rows)

    assert (code, both, other) == (0, 2, 2)
    assert "Nothing was found" in out
    assert "only FILE" in why
    assert re.search("go with a file of rows", alone)
