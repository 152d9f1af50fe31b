"""`voirdire examine` on labels of a crowd, and where nobody shares an item."""

import random

import pytest


@pytest.fixture
def crowd(tmp_path):
    """Write labels of sixty people, so many an item, and of a good judge and a coin."""

    def write(per_item):
        rng = random.Random(0)
        people, judges = tmp_path / "people.csv", tmp_path / "judges.csv"
        labels, answers = ["item,rater,label"], ["item,rater,label"]
        for item in range(200):
            truth, other = rng.sample(["ok", "bad"], 2)
            for person in rng.sample(range(60), per_item):
                label = other if rng.random() < 0.15 else truth
                labels.append(f"t{item},p{person},{label}")
            answers.append(f"t{item},good,{other if rng.random() < 0.05 else truth}")
            answers.append(f"t{item},coin,{rng.choice(['ok', 'bad'])}")
        people.write_text("\n".join(labels) + "\n")
        judges.write_text("\n".join(answers) + "\n")
        return ["--humans", people, "--judges", judges, "--kind", "choice"]

    return write


def test_a_crowd_has_an_outcome_and_words_of_its_own(call, crowd):
    files = crowd(2)

    said, found = call("examine", *files, "--gate"), call("examine", *files, "--json")

    rows = {row["judge"]: row for row in found.json["examinations"]}
    assert rows["good"]["outcome"] == "passed_as_random_person"
    assert (rows["coin"]["finding"], rows["coin"]["passed"]) == ("worse", False)
    assert rows["good"]["crowd"]["n_people"] == 60
    assert "1 of 2 judges passed as a random person of this crowd at ε = .1: good." in said.out
    assert "ω" not in said.out
    assert said.code == 3
    assert "good: passed as random person" in said.said


@pytest.mark.parametrize(("language", "words"), [("en", "a random one of"), ("zh", "随机一人")])
def test_its_page_speaks_both_languages_and_has_no_table_of_annotators(
    call, crowd, tmp_path, language, words
):
    page = tmp_path / "page.html"

    call("examine", *crowd(2), "--report", page, "--report-language", language)

    text = page.read_text(encoding="utf-8")
    assert words in text
    assert "q1-agreement" in text
    assert "q1-annotators" not in text
    assert "q1-paper" not in text


def test_where_nobody_shares_an_item_second_labels_are_asked_for(call, crowd):
    done = call("examine", *crowd(1))

    assert "no item has labels of two annotators" in " ".join(done.out.split())
    assert "Collect second labels, by other people, on a hundred of these items" in done.out
    assert "answered" not in done.out
