"""`voirdire examine --gold` without `--humans`: how often judges are right."""

import json
import re

import pytest


@pytest.fixture
def files(tmp_path):
    """Gold labels of 60 items on two questions, and a judge with probabilities."""
    gold, judged = [], []
    for question, every in (("apologises", 3), ("refuses", 30)):
        for item in range(60):
            is_true = item % every == 0
            name = f"i{item}"
            gold.append({"question": question, "item": name, "label": is_true})
            stated = 0.9 if is_true and item else 0.2 + 0.005 * item
            row = {"question": question, "item": name, "judge": "mine", "probability": stated}
            judged.append(row | {"threshold": 0.5})
    for name, rows in (("gold", gold), ("judged", judged)):
        text = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return ["--gold", tmp_path / "gold.jsonl", "--judges", tmp_path / "judged.jsonl"]


def test_every_question_has_a_row_and_what_is_thin_a_note(call, files):
    done = call("examine", *files)

    assert done.code == 0
    assert done.err == (
        "1 judge, 2 questions, 60 items with gold labels, boolean, nothing set aside\n"
    )
    first, second = [
        line for line in done.out.splitlines() if re.match("(apol|refu)[a-z]+ +60 ", line)
    ]
    assert first.split()[1:3] == ["60", ".98"]  # one of 20 positives is missed
    assert first.split()[-1] == ".67"  # always no
    assert " .95 " in first
    assert second.split()[1] == "60"
    assert "note: refuses by mine: only 2 items have the gold label “true”" in done.out


def test_json_has_every_figure_and_null_for_what_is_none(call, files):
    done = call("examine", *files, "--json")

    first, second = done.json["gold"]
    assert (first["question"], first["judge"], first["labels"]) == (
        "apologises",
        "mine",
        ["false", "true"],
    )
    found = first["classification"]
    assert found["table"] == [[40, 0], [1, 19]]
    assert found["figures"]["sensitivity"]["estimate"] == 0.95
    assert found["figures"]["specificity"]["estimate"] == 1
    assert found["worst_case"]["accuracy"] == pytest.approx(59 / 60)
    assert sum(each["n_items"] for each in first["calibration"]) == 60
    assert second["classification"]["reason"] is not None


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gate"], "--gate must be left out: there are no `--humans`"),
        (["--epsilon", "0.1"], "--epsilon must be left out: there are no `--humans`"),
        (["--certificate", "c.json"], "--certificate must be left out: there are no `--humans`"),
    ],
)
def test_what_needs_people_is_refused(call, files, options, message):
    done = call("examine", *files, *options)

    assert done.code == 2
    assert message in done.err


def test_a_gold_file_of_scales_says_what_to_do(call, tmp_path, assert_one_line):
    path = tmp_path / "gold.csv"
    path.write_text("item,label\n" + "".join(f"{n},{n % 5 + 1}\n" for n in range(40)))

    done = call("examine", "--gold", path, "--judges", path, "--kind", "scale")

    assert_one_line(done, "must answer a boolean or a choice, got a scale question")


def test_gold_labels_that_no_judge_answered_are_named(call, files):
    gold = files[1]
    row = {"question": "misspelt", "item": "i0", "label": True}
    gold.write_text(f"{gold.read_text(encoding='utf-8')}\n{json.dumps(row)}", encoding="utf-8")

    done = call("examine", *files)

    assert done.code == 0
    assert done.err == (
        "1 judge, 2 questions, 60 items with gold labels, boolean, nothing set aside; "
        "no judge answered 'misspelt'\n"
    )
