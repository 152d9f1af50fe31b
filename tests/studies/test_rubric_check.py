"""The check of rubrics finds planted defects, by words, by verdicts and by people."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import voirdire.cli
from voirdire.errors import BadRequestError, InputError, NoDataError
from voirdire.judging import LlmJudge
from voirdire.records import Criterion
from voirdire.reporting import from_json, html_page, to_json
from voirdire.rewards import read_certificate, score_criteria
from voirdire.studies import RubricCheck, check_rubric
from voirdire.testing import ScriptedModel

BY_VERDICTS = ("never_met", "always_met", "separates_nothing", "unstable", "unconfirmed")
BY_TEXT = ("wrong_sign", "duplicate", "near_duplicate", "contradiction", "two_claims")
PATH = Path(__file__).parents[1] / "reference" / "rubrics.jsonl"
PLANTED = [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]
"""Three sets of rubrics with defects, each by an author who had not seen the check."""


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def choose(language, sets="ABC"):
    return [row for row in PLANTED if row["language"] == language and row["set"] in sets]


def write_planted(path, rows):
    return write(path, [{"prompt": row["prompt"], "criteria": criteria_of(*row["criteria"])}
                        for row in rows])  # fmt: skip


def find_by_row(check, rows):
    """List findings and defects as kind, prompt and texts."""
    found, planted = set(), set()
    for row in rows:
        texts = {text for text, _ in row["criteria"]}
        found |= {
            (x.kind, row["prompt"], frozenset({x.text, x.other} - {None}))
            for x in check.findings
            if {x.text, x.other} - {None} <= texts
        }
        planted |= {
            (kind.removesuffix("_negative").removesuffix("_positive"), row["prompt"],
             frozenset({text, other} - {None}))
            for kind, text, other in row["defects"]
        }  # fmt: skip
    return found, planted


def measure(found, planted, kind):
    """Precision and recall of a kind."""
    found, planted = ({x for x in one if x[0] == kind} for one in (found, planted))
    n_right = len(found & planted)
    return n_right / max(len(found), 1), n_right / len(planted)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_repeated_criteria_are_found_by_words_and_little_else_is_claimed(tmp_path, language):
    rows = choose(language)

    check = check_rubric(write_planted(tmp_path / "rows.jsonl", rows), negative="met_is_bad")

    found, planted = find_by_row(check, rows)
    assert min(measure(found, planted, "duplicate")) >= 0.95
    assert measure(found, planted, "wrong_sign")[0] >= 0.9
    assert measure(found, planted, "two_claims")[0] >= 0.8
    assert {kind for kind, _, _ in found} == {"duplicate", "wrong_sign", "two_claims"}


class Reader:
    """Answers about a list of criteria as its author would."""

    SENTENCES: ClassVar = {
        r"Criterion (\d+) describes a fault|第(\d+)条描述的是缺点": "fault",
        r"Criterion (\d+) makes two|第(\d+)条包含两个": "two_claims",
        r"Criterion (\d+) asks for the same|第(\d+)条与它前面的某一条要求": "near_duplicate",
        r"Criterion (\d+) excludes|第(\d+)条与它前面的某一条互相": "contradiction",
        r"Criteria (\d+) and (\d+) ask|第(\d+)条与第(\d+)条要求": "near_duplicate",
        r"Criteria (\d+) and (\d+) exclude|第(\d+)条与第(\d+)条互相": "contradiction",
    }

    def __init__(self, rows):
        self.rows = {row["prompt"]: row for row in rows}
        self.n_calls = 0

    def __call__(self, request):
        self.n_calls += 1
        shown = request.messages[1].content
        content = json.loads(shown[shown.index("{") : shown.rindex("}") + 1])
        row = self.rows[content["conversation"][0]["content"]]
        texts = [line.partition(". ")[2] for line in content["response"].split("\n")]
        asked = re.findall(r'"(c[0-9a-f]{10,11})".*\n.* "(.*)"', request.messages[0].content)
        return {key: 0.9 if self.is_true(sentence, row, texts) else 0.1 for key, sentence in asked}

    def is_true(self, sentence, row, texts):
        pattern = next(x for x in self.SENTENCES if re.search(x, sentence))
        kind = self.SENTENCES[pattern]
        named = [texts[int(x) - 1] for x in re.search(pattern, sentence).groups() if x]
        defects = [(name, {text, other} - {None}) for name, text, other in row["defects"]]
        points = {text.strip(): points for text, points in row["criteria"]}
        if kind == "fault":
            if any(name == "contradiction" and named[0] in own for name, own in defects):
                return False
            wrong = any(name.startswith("wrong") and named[0] in own for name, own in defects)
            return (points[named[0]] < 0) is not wrong
        earlier = set(texts[: texts.index(named[0])]) if len(named) == 1 else {named[0]}
        alike = [own for name, own in defects if name == kind]
        if kind == "two_claims":
            return {named[0]} in alike
        return any({named[-1], x} in alike for x in earlier)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_model_reads_becomes_findings_and_is_paid_once(tmp_path, language):
    rows = choose(language, "B")
    path, reader = write_planted(tmp_path / "rows.jsonl", rows), Reader(rows)
    judge = LlmJudge(model=ScriptedModel(reader), language=language)
    about = {"judge": judge, "store": tmp_path / "replies.sqlite", "negative": "met_is_bad"}

    check = check_rubric(path, **about)
    n_calls = reader.n_calls
    doubled = [[[text, points * 2] for text, points in row["criteria"]] for row in rows]
    write_planted(path, [row | {"criteria": x} for row, x in zip(rows, doubled, strict=True)])
    again = check_rubric(path, **about)

    found, planted = find_by_row(check, rows)
    assert found == planted
    assert (check.asked, check.n_lists, check.n_unread) == ("scripted", len(rows), 0)
    assert n_calls > len(rows)  # a second call about the pairs of some
    assert reader.n_calls == n_calls  # points are no part of a call
    assert again.counts == check.counts
    page = html_page(check, language=language)
    assert "scripted" in page


def test_a_long_list_is_parted_and_an_answer_that_fails_is_said(tmp_path):
    texts = [f"Says fact {k}" for k in range(30)]
    rows = [{"prompt": "p", "criteria": texts}, {"prompt": "q", "criteria": ["Is kind"]}]
    path = write(tmp_path / "rows.jsonl", rows)

    def answer(request):
        if "Is kind" in request.messages[1].content:
            raise BadRequestError("no")
        return dict.fromkeys(json.loads(request.schema)["properties"], 0.1)

    check = check_rubric(path, judge=LlmJudge(model=ScriptedModel(answer)), store=False)

    assert (check.n_lists, check.n_unread, check.findings) == (3, 1, ())
    assert "a defect may be missed there" in html_page(check)
    with pytest.raises(
        InputError, match="`judge` must be a language model, which reads criteria, got 'local'"
    ):
        check_rubric(path, judge="local")


def make_study(folder, *, language="en", seed=0, n_prompts=10, n_responses=6):
    """Write rows, verdicts of two runs and labels of people; return what was planted by kind."""
    rng = np.random.default_rng(seed)
    sound = dict.fromkeys(text for row in choose(language) for text, _ in row["criteria"])
    texts = rng.choice([*sound], 45, replace=False).tolist()
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
    yes = ["Criterion 6 excludes", "Criteria 5 and 6 exclude", "Criterion 3 makes two"]

    def answer(request):
        asked = re.findall(r'"(c[0-9a-f]{10,11})".*\n.* "(.*)"', request.messages[0].content)
        insults = re.findall(r"(\d)[.] Insults", request.messages[1].content)
        told = [*yes, *(f"Criterion {k} describes a fault" for k in insults)]
        return {key: 0.9 if sentence.startswith(tuple(told)) else 0.1 for key, sentence in asked}

    judge = LlmJudge(model=ScriptedModel(answer))
    check = check_rubric(path, judge=judge, store=False, output=tmp_path / "kept.jsonl")
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
    criteria = [f"Says fact {k}" for k in range(9_998)] + ["Uses a table", "1. uses a table"]
    path = write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": criteria}])

    check = check_rubric(path)

    assert [row.kind for row in check.findings] == ["duplicate"]


@pytest.mark.parametrize(
    "texts",
    [
        ("Day 1: has three meals", "Day 2: has three meals"),
        ("The dose is 1.5 mg", "The dose is 15 mg"),
        ("States that x = -1", "States that x = 1"),
        ("(Adults) gives the dose", "(Children) gives the dose"),
        ("Uses C", "Uses C++"),
        ("Says at least ≥ 3", "Says at least ≤ 3"),
        ("Contains no factual errors", "Omits what is not needed"),
    ],
)
def test_criteria_that_differ_in_a_sign_or_a_word_are_kept(tmp_path, texts):
    criteria = criteria_of(*((text, 3) for text in texts))
    path = write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": criteria}])

    assert check_rubric(path).findings == ()


def test_what_to_keep_has_the_names_that_verdicts_have_and_replaces_nothing(tmp_path):
    rows = [
        {"id": None, "prompt": "p", "criteria": ["Is kind", "is kind."]},
        {"prompt": "q", "criteria": ["A"]},
        {"item": "x", "prompt": "r", "criteria": ["A"]},
    ]
    path, kept = write(tmp_path / "rows.jsonl", rows), tmp_path / "kept.jsonl"

    check = check_rubric(path, output=kept)

    written = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [row.get("id") for row in written] == ["rows:1", "rows:2", None]
    assert written[2]["item"] == "x"
    assert (check.n_left_out, written[0]["criteria"]) == (1, ["Is kind"])
    with pytest.raises(InputError, match="must not exist yet"):
        check_rubric(path, output=kept)
    with pytest.raises(InputError, match=r"must end in \.jsonl"):
        check_rubric(path, output=tmp_path / "kept.parquet")


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
    many = [{"id": f"t{k}", "prompt": "?", "response": "x",
             "criteria": [{"criterion": "Says x", "tags": [f"t{k}"], "rule": {"contains": "x"}}]}
            for k in range(201)]  # fmt: skip
    late = write(tmp_path / "late.jsonl", [*many, *map(json.loads, rows.read_text().splitlines())])
    with pytest.warns(UserWarning, match="more than 200 tags"):
        again = score_criteria(late, tmp_path / "l.parquet", verdicts=verdicts, must="tag1",
                               certificates=[certificate], require_certified=True)  # fmt: skip
    refused, _, why = call("score", rows, "--criteria", "--verdicts", verdicts, "-o",
                           tmp_path / "t.parquet", "--require-certified")  # fmt: skip

    outcomes = {key.split(" | ")[0]: x for key, x in read_certificate(certificate).outcomes.items()}
    assert code == 0
    assert (outcomes["tag0"], outcomes["tag1"]) == ("passed", "failed")
    assert scores.n_uncertified == again.n_uncertified == 80 * 22  # of 45 criteria 22 have tag1
    by_item = [pl.read_parquet(tmp_path / x)["score"][-80:] for x in ("s.parquet", "l.parquet")]
    assert by_item[0].to_list() == by_item[1].to_list()  # a must-have that failed decides nothing
    assert [row.tag for row in scores.tags] == ["tag0"]
    assert refused == 1
    assert "--require-certified" in why
    assert "rubric check" in why
    assert "Denied by people" in out
    assert page.read_text().count("<table") >= 3


def test_the_page_has_the_worst_first_in_both_languages_and_nothing_acts(tmp_path):
    criteria = criteria_of(("Avoids <script>alert(1)</script>", -3),
                           ("Names the dose and warns about bleeding", 3))  # fmt: skip
    path = write(tmp_path / "rows.jsonl", [{"prompt": "p", "criteria": criteria}])
    check = check_rubric(path, negative="met_is_bad")

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

    code, _, said = call("rubric", "check", rows, "--judge", "rules")
    idle, _, alone_too = call("rubric", "check", rows, "--mode", "single")

    assert (code, "which reads criteria, got 'rules'" in said) == (1, True)
    assert (idle, "`--judge` is not given" in alone_too) == (2, True)
    assert re.search("go with a file of rows", alone)
