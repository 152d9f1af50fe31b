"""The bundled responses: written by hand, mild, and labelled by simulated annotators."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter, defaultdict
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from voirdire.io import read_items, read_labels
from voirdire.rewards import default_order, pairs_of, read_comparisons
from voirdire.rubrics import hard_classes, load_rubric

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
DATA = Path(str(files("voirdire") / "data" / "demo"))
BEHAVIORS = ("hard_refuse", "soft_refuse", "comply")
CLASSES = ("ideal", "less_good", "unacceptable", "illogical", "disallowed")
ANNOTATORS = ("sim-ann-a", "sim-ann-b", "sim-ann-c", "sim-ann-d")
HAN = re.compile(r"[\u4e00-\u9fff]")
N_WORDS, N_HAN = 8, 12
"""A run of so many words, or Chinese characters, is a sentence that was used before."""


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "make_demo_responses", SCRIPTS / "make_demo_responses.py"
    )
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))  # it takes `Errors` from the script beside it
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module
    sys.modules.pop("make_demo_data", None)


@pytest.fixture(scope="module")
def truth(script) -> list[dict]:
    return script.read_truth()


@pytest.fixture(scope="module")
def rubric():
    return load_rubric("safety")


def runs(text: str) -> set[str]:
    """Give every run of eight words, and of twelve Chinese characters with nothing between."""
    words = re.findall(r"[a-z0-9']+", text.lower())
    found = {" ".join(words[k : k + N_WORDS]) for k in range(len(words) - N_WORDS + 1)}
    han = "".join(HAN.findall(text))
    return found | {han[k : k + N_HAN] for k in range(len(han) - N_HAN + 1)}


class TestScript:
    def test_the_committed_files_are_what_it_makes(self, script):
        assert script.differing() == []
        assert script.main(["--check"]) == 0

    def test_writing_then_checking_finds_no_difference(self, script, tmp_path, monkeypatch):
        monkeypatch.setattr(script, "TARGET", tmp_path / "demo")

        assert script.main([]) == 0

        assert script.differing(tmp_path / "demo") == []

    def test_a_changed_and_a_missing_file_are_named(self, script, tmp_path):
        (tmp_path / "responses.jsonl").write_text("{}\n")

        assert script.differing(tmp_path) == [
            "responses.jsonl",
            "response_annotations.jsonl",
            "comparisons.jsonl",
            "comparisons_of_fit.jsonl",
        ]

    def test_check_exits_with_one_when_files_differ(self, script, monkeypatch, capsys):
        monkeypatch.setattr(script, "make_files", lambda: {"responses.jsonl": "other"})

        assert script.main(["--check"]) == 1
        assert "responses.jsonl: differs" in capsys.readouterr().err

    def test_an_annotator_errs_on_exactly_their_share(self, script, truth):
        rates = script.Rates(
            miss=0.25, overcall=0.1, chinese=1.0, overlooks="apology", overdoes="judgement"
        )
        is_true = {row["id"]: "disallowed_content" in row["true"] for row in truth}

        given = script.label(truth, "disallowed_content", rates, script.Errors((1,), 1.0))

        # 18 of 90 are true: .25 of 18 is 4.5, so 5 missed; .1 of 72 is 7.2, so 7 seen wrongly.
        wrong = Counter(is_true[item] for item, label in given.items() if label != is_true[item])
        assert wrong == {True: 5, False: 7}

    def test_an_annotator_has_a_blind_spot_and_one_that_is_seen_too_often(self, script):
        rates = script.Rates(
            miss=0.25, overcall=0.1, chinese=1.0, overlooks="apology", overdoes="judgement"
        )

        assert rates.of("apology") == (0.5, 0.1)
        assert rates.of("judgement") == (0.25, 0.15)
        assert rates.of("disclaimer") == (0.25, 0.1)

    def test_errors_fall_on_what_is_marked_as_unsure(self, script, truth):
        unsure = {row["id"] for row in truth if "prescribes_solutions" in row["unsure"]}
        rates = script.Rates(miss=0.2, overcall=0.05, chinese=1.0, overlooks="", overdoes="")

        wrong = [
            row["id"]
            for seed in range(100)
            for given in [
                script.label(truth, "prescribes_solutions", rates, script.Errors((seed,), 1.0))
            ]
            for row in truth
            if given[row["id"]] != ("prescribes_solutions" in row["true"])
        ]

        assert np.mean([item in unsure for item in wrong]) > 2 * len(unsure) / len(truth)

    def test_the_readme_has_their_rates(self, script):
        readme = (DATA / "README.md").read_text(encoding="utf-8")

        for name, rates in script.read_rates().items():
            cells = [f"{rates.miss:.2f}", f"{rates.overcall:.2f}", f"`{rates.overlooks}`"]
            cells += [f"`{rates.overdoes}` |" if rates.overdoes else "|"]
            assert f"| `{name}` | {' | '.join(cells)}\n" in readme
        assert tuple(script.read_rates()) == ANNOTATORS


class TestResponses:
    def test_there_is_one_of_every_class_for_three_prompts_of_every_behavior_and_language(
        self, truth
    ):
        cells = Counter((row["language"], row["behavior"], row["class"]) for row in truth)
        groups = defaultdict(set)
        for row in truth:
            groups[row["group"]].add((row["language"], row["behavior"], row["prompt"]))

        assert cells == dict.fromkeys(product(("en", "zh"), BEHAVIORS, CLASSES), 3)
        assert len(groups) == 18
        assert all(len(shared) == 1 for shared in groups.values())
        assert len({row["prompt"] for row in truth}) == 18
        assert [row["id"] for row in truth] == [f"r{number:02d}" for number in range(1, 91)]

    @pytest.mark.parametrize("behavior", BEHAVIORS)
    def test_the_truth_puts_each_into_the_class_it_was_written_for(self, truth, rubric, behavior):
        given = [row for row in truth if row["behavior"] == behavior]
        labels = [[name in row["true"] for name in rubric.propositions] for row in given]

        found = hard_classes(rubric, behavior, labels=np.array(labels))

        names = [part.name for part in rubric.behavior(behavior).classes]
        assert [names[place] for place in found] == [row["class"] for row in given]

    def test_the_truth_names_propositions_in_the_order_of_the_rubric(self, truth, rubric):
        for row in truth:
            for key in ("true", "unsure"):
                assert [name for name in rubric.propositions if name in row[key]] == row[key]

    def test_a_full_answer_is_also_a_partial_one(self, truth):
        for row in truth:
            assert "fully_complies" not in row["true"] or "partially_complies" in row["true"]

    def test_every_proposition_is_true_of_at_least_ten_and_false_of_at_least_ten(
        self, truth, rubric
    ):
        counts = Counter(name for row in truth for name in row["true"])

        assert set(counts) == set(rubric.propositions)
        assert min(counts.values()) >= 10
        assert max(counts.values()) <= 80

    def test_they_are_about_as_long_as_an_assistant_writes(self, truth):
        for row in truth:
            size = len(row["response"]) if row["language"] == "zh" else len(row["response"].split())
            most = 220 if row["language"] == "zh" else 120
            is_brief = "additional_content" not in row["true"] or size < 40
            assert size <= most, row["id"]
            assert not is_brief or "inability_to_comply" in row["true"], row["id"]

    def test_the_language_is_the_one_that_is_stated(self, truth):
        for row in truth:
            for text in (row["prompt"], row["response"]):
                assert bool(HAN.search(text)) == (row["language"] == "zh")

    def test_no_address_in_them_is_a_real_one(self, truth):
        for row in truth:
            for host in re.findall(r"\b(?:[\w-]+\.)+(?:com|org|net|cn|io)\b", row["response"]):
                assert host == "www.example.org"
            for number in re.findall(r"\d[\d-]{5,}", row["response"]):
                assert re.fullmatch(r"555-01\d\d", number), number

    def test_none_of_it_is_among_what_the_local_judge_was_made_from(self, truth):
        taught = set()
        for path in sorted((SCRIPTS / "local_judge").glob("*_??.jsonl")):
            for row in rows(path):
                prompt = row.get("prompt", "")
                turns = [prompt] if isinstance(prompt, str) else [x["content"] for x in prompt]
                for text in (*turns, row.get("response", ""), row.get("text", "")):
                    taught |= runs(text)

        assert len(taught) > 10_000
        for row in truth:
            assert not runs(row["prompt"]) & taught, row["id"]
            assert not runs(row["response"]) & taught, row["id"]

    def test_none_of_it_is_an_example_of_the_rubric(self, truth, rubric):
        shown = set()
        for question in rubric.questions:
            for examples in (question.yes_examples, question.no_examples):
                shown |= {
                    run for texts in examples.values() for text in texts for run in runs(text)
                }

        for row in truth:
            assert not runs(row["response"]) & shown, row["id"]


class TestFiles:
    def test_the_responses_are_items_that_can_be_judged(self, truth):
        table = read_items(DATA / "responses.jsonl")

        assert table.dropped == ()
        assert [item.id for item in table.items] == [row["id"] for row in truth]
        for item, row in zip(table.items, truth, strict=True):
            assert item.response == row["response"]
            assert [(said.role, said.content) for said in item.prompt] == [("user", row["prompt"])]
            assert (item.behavior, item.group) == (row["behavior"], row["group"])

    def test_the_truth_is_not_in_the_package(self):
        for row in rows(DATA / "responses.jsonl"):
            assert set(row) == {"id", "behavior", "language", "group", "prompt", "response"}

    def test_every_annotator_answers_every_proposition_of_every_response(self, truth, rubric):
        table = read_labels(DATA / "response_annotations.jsonl", role="annotator", kind="boolean")

        keys = set(table.frame.select("item", "question", "rater").iter_rows())
        expected = product((row["id"] for row in truth), rubric.propositions, ANNOTATORS)
        assert table.dropped == ()
        assert keys == set(expected)
        assert table.frame.height == len(keys) == 90 * 21 * 4

    def test_the_careless_one_errs_most(self, truth):
        is_true = {(row["id"], name) for row in truth for name in row["true"]}
        wrong = Counter(
            name
            for row in rows(DATA / "response_annotations.jsonl")
            for name in ANNOTATORS
            if row[name] != ((row["item"], row["question"]) in is_true)
        )

        shares = [wrong[name] / (90 * 21) for name in ANNOTATORS]
        assert shares == sorted(shares)
        assert shares[3] > 2 * shares[2]
        assert 0 < shares[0] < 0.05

    def test_they_are_small(self):
        names = ("responses.jsonl", "response_annotations.jsonl", "comparisons.jsonl")

        assert sum((DATA / name).stat().st_size for name in names) < 350_000


class TestComparisons:
    def test_they_are_the_responses_with_the_class_each_was_written_for(self, truth):
        given = rows(DATA / "comparisons.jsonl")

        responses = [
            {key: row[key] for key in row if key not in ("label", "base_reward")} for row in given
        ]
        assert responses == rows(DATA / "responses.jsonl")
        assert [row["label"] for row in given] == [row["class"] for row in truth]

    def test_they_can_be_compared_nine_times_within_every_prompt(self, rubric):
        data = read_comparisons(DATA / "comparisons.jsonl")

        pairs = {
            behavior: pairs_of(data, behavior=behavior, order=default_order(rubric, behavior))
            for behavior in BEHAVIORS
        }

        assert data.dropped == ()
        assert len(set(data.prompts.tolist())) == 18
        # Of 5 * 4 / 2 pairs one, unacceptable and illogical, has no order; six prompts each.
        assert [row.better.size for row in pairs.values()] == [54, 54, 54]
        assert np.isfinite(data.base_rewards).all()

    def test_the_base_reward_is_its_mean_and_two_deviations(self, script, truth):
        tastes, given = script.read_tastes(), rows(DATA / "comparisons.jsonl")

        left = [row["base_reward"] - tastes[row["behavior"]][row["label"]] for row in given]

        by_prompt = np.array(left).reshape(18, 5)
        own = by_prompt - by_prompt.mean(axis=1, keepdims=True)
        # Three standard errors of a deviation of .5, from 72 and from 17 degrees of freedom;
        # a prompt's mean holds a fifth of the variance of its responses.
        assert np.sqrt((own**2).sum() / 72) == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(144))
        expected = np.sqrt(0.25 + 0.25 / 5)
        spread = 3 * expected / np.sqrt(34)
        assert by_prompt.mean(axis=1).std(ddof=1) == pytest.approx(expected, abs=spread)
        assert abs(by_prompt.mean()) < 3 * expected / np.sqrt(18)
        assert all(row["base_reward"] == round(row["base_reward"], 2) for row in given)

    def test_the_readme_has_the_means_and_says_that_they_are_simulated(self, script):
        readme = (DATA / "README.md").read_text(encoding="utf-8")

        for behavior, means in script.read_tastes().items():
            assert tuple(means) == CLASSES
            cells = " | ".join(f"{means[name]:.1f}" for name in CLASSES)
            assert f"| `{behavior}` | {cells} |\n" in readme
        assert tuple(script.read_tastes()) == BEHAVIORS
        deviations = {script.PROMPT_SPREAD, script.RESPONSE_SPREAD}
        assert deviations == {0.5}
        assert "standard deviations of 0.5 each" in readme
        assert "**base reward is simulated**" in readme
