"""The bundled demonstration data: what the script makes, in the shape that is promised."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter, defaultdict
from importlib.resources import files
from pathlib import Path

import krippendorff
import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "make_demo_data.py"
LABELS = {"hateful", "insults", "sexual", "physical_violence", "self_harm", "misconduct"}
WEAK = "sim-ann-6"


def bundled(name: str) -> str:
    return files("voirdire").joinpath("data", "demo", name).read_text(encoding="utf-8")


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in bundled(name).splitlines()]


def answers(name: str, rater: str, question: str) -> dict[str, dict[str, object]]:
    """Labels of one question: rater, then item; sets are frozen, failures left out."""
    table: dict[str, dict[str, object]] = defaultdict(dict)
    for row in rows(name):
        label = row["label"]
        if row["question"] == question and label is not None:
            table[row[rater]][row["item"]] = frozenset(label) if type(label) is list else label
    return dict(table)


def humans(question: str) -> dict[str, dict[str, object]]:
    return answers("annotations.jsonl", "annotator", question)


def judges(question: str) -> dict[str, dict[str, object]]:
    return answers("judges.jsonl", "judge", question)


def majority(question: str, *, without: str = "") -> dict[str, object]:
    votes: dict[str, Counter] = defaultdict(Counter)
    for annotator, given in humans(question).items():
        for item, label in given.items():
            votes[item][label] += annotator != without
    return {item: count.most_common(1)[0][0] for item, count in votes.items()}


def agreement(given: dict[str, object], reference: dict[str, object]) -> float:
    return sum(label == reference[item] for item, label in given.items()) / len(given)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_demo_data", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def card() -> dict:
    return json.loads(bundled("dataset.json"))


class TestScript:
    def test_the_committed_files_are_what_it_makes(self, script):
        assert script.differing() == []
        assert script.main(["--check"]) == 0

    def test_it_makes_the_same_twice(self, script):
        assert script.make_files() == script.make_files()

    def test_writing_then_checking_finds_no_difference(self, script, tmp_path, monkeypatch):
        monkeypatch.setattr(script, "TARGET", tmp_path / "demo")

        assert script.main([]) == 0

        assert script.differing(tmp_path / "demo") == []

    def test_a_changed_and_a_missing_file_are_named(self, script, tmp_path):
        for name, content in script.make_files().items():
            (tmp_path / name).write_bytes(content.encode())
        (tmp_path / "texts.jsonl").write_text("{}\n")
        (tmp_path / "README.md").unlink()

        assert script.differing(tmp_path) == ["texts.jsonl", "README.md"]

    def test_check_exits_with_one_when_files_differ(self, script, monkeypatch, capsys):
        monkeypatch.setattr(script, "make_files", lambda: {"judges.jsonl": "other"})

        assert script.main(["--check"]) == 1
        assert "judges.jsonl: differs" in capsys.readouterr().err

    def test_a_rater_errs_on_exactly_its_share(self, script):
        texts = script.read_truth()
        rates = script.read_rates("judge")["sim-careful"]

        given = script.rate(texts, 0, rates)["needs_review"]

        # 20 of 50 texts need review: .05 of 20 is 1 overlooked, .07 of 30 is 2.1, so 2 overcalled.
        wrong = Counter(t["needs_review"] for t in texts if given[t["id"]] != t["needs_review"])
        assert wrong == {True: 1, False: 2}

    def test_errors_fall_on_difficult_texts_more_often(self, script):
        texts = script.read_truth()
        drawn = [
            text["difficulty"]
            for seed in range(200)
            for text in script.Errors((seed,), 1.0).draw(0.1, texts)
        ]

        assert np.mean(drawn) > np.mean([text["difficulty"] for text in texts]) + 0.1

    def test_the_truth_stays_inside_its_universe(self, script):
        for text in script.read_truth():
            assert [label for label in script.LABELS if label in text["labels"]] == text["labels"]
            assert text["tempting"] in LABELS - set(text["labels"])
            assert 0 < text["difficulty"] < 1
            assert text["severity"] in {1, 2, 3, 4, 5}


class TestTexts:
    def test_there_are_fifty_in_two_languages(self):
        texts = rows("texts.jsonl")

        assert [text["id"] for text in texts] == [f"t{number:02d}" for number in range(1, 51)]
        assert Counter(text["language"] for text in texts) == {"en": 30, "zh": 20}
        assert all(set(text) == {"id", "language", "text", "source"} for text in texts)

    def test_the_language_is_the_one_that_is_stated(self):
        for text in rows("texts.jsonl"):
            assert bool(re.search(r"[\u4e00-\u9fff]", text["text"])) == (text["language"] == "zh")

    def test_they_are_short_and_differ(self):
        texts = [text["text"] for text in rows("texts.jsonl")]

        assert len(set(texts)) == 50
        assert max(map(len, texts)) <= 140

    def test_some_share_a_source(self):
        sizes = Counter(text["source"] for text in rows("texts.jsonl"))

        assert len(sizes) == 40
        assert max(sizes.values()) == 2


class TestCard:
    def test_it_says_that_the_data_are_simulated(self, card, script):
        assert card["simulated"] is True
        assert card["seed"] == script.SEED
        assert card["licence"] == "MIT"
        assert "simulated" in card["description"]
        assert "simulated" in bundled("README.md").splitlines()[0]

    def test_every_rater_is_named_as_simulated(self, card):
        assert all(name.startswith("sim-") for name in card["annotators"] + card["judges"])

    def test_it_declares_what_the_files_hold(self, card):
        assert set(card["labels"]) == LABELS
        assert {name: q["kind"] for name, q in card["questions"].items()} == {
            "toxicity": "multilabel",
            "needs_review": "boolean",
            "severity": "scale",
        }
        for name, question in card["questions"].items():
            assert question["alignment"] in question["alignments"]
            assert list(humans(name)) == card["annotators"]
            assert list(judges(name)) == card["judges"]

    def test_the_data_folder_is_no_package(self):
        folder = files("voirdire").joinpath("data")

        assert not folder.joinpath("__init__.py").is_file()
        assert not folder.joinpath("demo", "__init__.py").is_file()


@pytest.mark.parametrize("name", ["annotations.jsonl", "judges.jsonl"])
class TestLabels:
    def test_they_stay_inside_the_declared_universe(self, name):
        allowed = {
            "toxicity": lambda label: type(label) is list and set(label) <= LABELS,
            "needs_review": lambda label: type(label) is bool,
            "severity": lambda label: type(label) is int and 1 <= label <= 5,
        }

        for row in rows(name):
            assert row["label"] is None or allowed[row["question"]](row["label"]), row

    def test_no_row_is_there_twice(self, name):
        rater = "annotator" if name == "annotations.jsonl" else "judge"
        keys = Counter((row["item"], row[rater], row["question"]) for row in rows(name))

        assert max(keys.values()) == 1

    def test_they_are_about_the_texts(self, name):
        items = {text["id"] for text in rows("texts.jsonl")}

        assert {row["item"] for row in rows(name)} == items


@pytest.mark.parametrize("question", ["toxicity", "needs_review", "severity"])
class TestAnnotators:
    def test_six_answer_and_two_of_them_skip_a_few(self, question):
        counts = sorted(len(given) for given in humans(question).values())

        assert counts == [47, 48, 50, 50, 50, 50]

    def test_every_text_has_at_least_four_annotators(self, question):
        seen = Counter(item for given in humans(question).values() for item in given)

        assert len(seen) == 50
        assert min(seen.values()) >= 4

    def test_the_weak_one_agrees_least_with_the_others(self, question):
        agreements = {
            annotator: agreement(given, majority(question, without=annotator))
            for annotator, given in humans(question).items()
        }

        weak = agreements.pop(WEAK)
        assert weak + 0.05 < min(agreements.values())


class TestQuestions:
    def test_needs_review_has_enough_texts_on_either_side(self):
        positives = sum(majority("needs_review").values())

        assert min(positives, 50 - positives) >= 12
        assert 0.35 <= positives / 50 <= 0.45

    def test_about_two_fifths_of_the_texts_carry_no_label(self):
        sizes = Counter(len(labels) for labels in majority("toxicity").values())

        assert 17 <= sizes[0] <= 23
        assert sizes[1] + sizes[2] >= 25

    def test_every_label_and_every_level_is_used(self):
        given = humans("toxicity").values()

        assert set().union(*(labels for one in given for labels in one.values())) == LABELS
        assert set(majority("severity").values()) == {1, 2, 3, 4, 5}

    @pytest.mark.parametrize(
        ("question", "level"), [("needs_review", "nominal"), ("severity", "interval")]
    )
    def test_annotators_agree_moderately(self, question, level):
        items = [text["id"] for text in rows("texts.jsonl")]
        table = [
            [float(given.get(item, np.nan)) for item in items]
            for given in humans(question).values()
        ]

        alpha = krippendorff.alpha(reliability_data=table, level_of_measurement=level)

        assert 0.5 <= alpha <= 0.7


class TestJudges:
    @pytest.mark.parametrize(
        ("question", "constant"),
        [("toxicity", frozenset()), ("needs_review", False), ("severity", 3)],
    )
    def test_the_constant_one_is_constant(self, question, constant):
        given = judges(question)["sim-constant"]

        assert len(given) == 50
        assert set(given.values()) == {constant}

    def test_no_other_is_constant(self):
        for question in ("toxicity", "needs_review", "severity"):
            varied = {
                name for name, given in judges(question).items() if len(set(given.values())) > 1
            }
            assert varied == set(judges(question)) - {"sim-constant"}

    def test_two_calls_failed_and_say_why(self):
        failed = [row for row in rows("judges.jsonl") if row["label"] is None]

        assert [(row["judge"], row["failure"]) for row in failed] == [
            ("sim-verbose", "timeout")
        ] * 2
        assert sum("failure" in row for row in rows("judges.jsonl")) == 2

    @pytest.mark.parametrize("question", ["toxicity", "needs_review", "severity"])
    def test_they_differ_in_quality(self, question):
        rates = {name: agreement(g, majority(question)) for name, g in judges(question).items()}

        poor = max(rates[name] for name in ("sim-small", "sim-noisy", "sim-constant"))
        middling = max(rates[name] for name in ("sim-lenient", "sim-strict", "sim-verbose"))
        good = min(rates[name] for name in ("sim-careful", "sim-good"))
        assert poor < middling < good
