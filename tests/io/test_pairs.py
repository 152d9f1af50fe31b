"""Votes between two responses: A and B mean the same in every row and file."""

import json

import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.io import Reading, read_labels
from voirdire.studies import examine_gold, rate

N_ITEMS = 40
TRUTH = ["m1" if n % 2 else "m2" for n in range(N_ITEMS)]
"""Which model is better."""


def votes(by, *, wrong=(), swapped=(), words=("A", "B")):
    """Write the votes of one rater, who sees some pairs with the sides exchanged."""
    rows = []
    for n, better in enumerate(TRUTH):
        shown = ("m2", "m1") if n in swapped else ("m1", "m2")
        vote = words[shown.index(better) ^ (n in wrong)]
        rows.append(
            {"item": n, "model_a": shown[0], "model_b": shown[1], "rater": by, "label": vote}
        )
    return rows


def written(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def panel(tmp_path, **more):
    people = [row for k, by in enumerate("abc") for row in votes(by, wrong=range(k, 40, 9), **more)]
    return written(tmp_path / "people.jsonl", people)


def omega(judge, people, **more):
    found = voirdire.examine(judges=judge, humans=people, around=False, **more)
    return found.results[0].winning_rate, round(found.results[0].advantage_probability, 3)


WRONG = (3, 17)


@pytest.mark.parametrize("kind", [None, "pairwise", "choice"])
@pytest.mark.parametrize("swapped", [(), range(0, 40, 2), range(40)])
def test_a_judge_may_have_seen_the_sides_in_the_other_order(tmp_path, kind, swapped):
    rows = votes("gpt", wrong=WRONG, swapped=swapped)
    judge = written(tmp_path / "judge.jsonl", rows)

    found = omega(judge, panel(tmp_path), kind=kind)

    assert found == omega(written(tmp_path / "j.jsonl", votes("gpt", wrong=WRONG)), panel(tmp_path))
    assert found[0] == 1


@pytest.mark.parametrize(
    ("sides", "label"),
    [
        (("a", "b"), "label"),
        (("first", "second"), "preference"),
        (("Option A", "Option B"), "winner"),
        (("model_left", "model_right"), "vote"),
        (("response_a_model", "response_b_model"), "label"),
    ],
)
def test_sides_have_many_names(tmp_path, sides, label):
    names = dict(zip(("model_a", "model_b", "label"), (*sides, label), strict=True))
    rows = [
        {names.get(key, key): value for key, value in row.items()}
        for k, by in enumerate("abc")
        for row in votes(by, wrong=range(k, 40, 9), swapped=range(k, 40, 2))
    ]
    people = written(tmp_path / "named.jsonl", rows)
    judge = written(tmp_path / "j.jsonl", votes("gpt", wrong=WRONG))

    found = omega(judge, people, kind="pairwise", reading=Reading(columns={"label": label}))

    assert found == omega(judge, panel(tmp_path), kind="pairwise")


@pytest.mark.parametrize(
    "words", [("model_a", "model_b"), ("left", "right"), ("Model A", "Model B"), ("a", "b")]
)
def test_sides_have_several_words(tmp_path, words):
    judge = written(tmp_path / "judge.jsonl", votes("gpt", wrong=WRONG, words=words))

    assert omega(judge, panel(tmp_path))[0] == 1


def test_a_vote_may_be_the_name_of_a_model(read, labels_of):
    text = (
        "item,model_a,model_b,annotator,winner\n1,m2,m1,ann,m1\n1,m1,m2,bob,m1\n2,m1,m2,ann,tie\n"
    )

    table = read(text, kind=None)

    assert table.kind == "pairwise"
    assert labels_of(table) == {("1", "ann"): "A", ("1", "bob"): "A", ("2", "ann"): "tie"}
    note = "1 of 3 pairs of <stream> were exchanged, so that A is the first of"
    assert table.notes == (f"{note} `model_a` and `model_b` by name",)


def test_raters_may_have_columns(read, labels_of):
    text = "item,model_a,model_b,ann,bob\n1,m2,m1,A,tie\n2,m1,m2,B,\n"

    table = read(text, kind=None)

    assert labels_of(table) == {("1", "ann"): "B", ("1", "bob"): "tie", ("2", "ann"): "B"}


def test_other_labels_beside_two_models_are_left_alone(read, labels_of):
    text = "item,model_a,model_b,annotator,label\n1,m2,m1,ann,good\n2,m1,m2,ann,A\n"

    table = read(text, kind=None)

    assert table.kind == "choice"
    assert labels_of(table) == {("1", "ann"): "good", ("2", "ann"): "A"}


@pytest.mark.parametrize("swapped", [(), range(0, 40, 3)])
def test_a_judge_without_names_of_models_saw_what_people_saw(tmp_path, swapped):
    people = panel(tmp_path, swapped=swapped)
    shown = votes("gpt", wrong=WRONG, swapped=swapped)
    judge = {str(row["item"]): row["label"] for row in shown}

    assert omega(judge, people)[0] == 1


def test_a_judge_without_names_of_models_is_refused_where_people_saw_both_orders(tmp_path):
    rows = [*votes("ann"), *votes("bob", swapped=[7]), *votes("cem")]
    people = written(tmp_path / "people.jsonl", rows)
    judge = {str(row["item"]): row["label"] for row in votes("gpt", wrong=WRONG)}

    with pytest.raises(InputError, match=r"judges: columns .* `model_a` .* 1 items, such as '7', "):
        voirdire.examine(judges=judge, humans=people, around=False)


@pytest.mark.parametrize(("named", "hits"), [(False, (19, 19)), (True, (18, 20))])
def test_gold_and_a_judge_without_names_of_models_are_of_the_same_sides(tmp_path, named, hits):
    gold = written(tmp_path / "gold.jsonl", votes("gold", swapped=range(0, 40, 3)))
    shown = votes("gpt", wrong=WRONG, swapped=(1, 2) if named else range(0, 40, 3))
    judge = written(tmp_path / "judge.jsonl", shown)
    if not named:
        judge = {str(row["item"]): row["label"] for row in shown}

    measured = examine_gold(judges=judge, gold=gold).results[0].classification
    share = rate(judges=judge, humans=gold, label="A").results[0].result

    # of 20 A and 20 B
    assert measured.figures["accuracy"].estimate == sum(hits) / 40
    found = share.sensitivity.estimate, share.specificity.estimate
    assert found == (hits[0] / 20, hits[1] / 20)


def ratings(by, ends, *, swapped=(), wrong=()):
    """Write how much better the second side is, on a scale with these ends."""
    words = tuple(map(float, ends))
    return [{**row, "rater": by} for row in votes(by, wrong=wrong, swapped=swapped, words=words)]


@pytest.mark.parametrize(
    ("ends", "labels"), [((-3, 3), None), ((2, -2), None), ((1, 7), [1, 4, 7]), ((100, 0), None)]
)
def test_ratings_between_two_sides_are_turned_with_them(tmp_path, ends, labels):
    def paths(name, **more):
        people = [row for k, by in enumerate("abc") for row in ratings(by, ends, wrong=[k], **more)]
        return written(tmp_path / name, people)

    judge = written(tmp_path / "judge.jsonl", ratings("gpt", ends, wrong=WRONG))
    mixed = paths("mixed.jsonl", swapped=range(0, 40, 3))
    settings = {"kind": "scale", "labels": labels}
    if ends == (100, 0):
        with pytest.raises(InputError, match=r"14 items, such as '0', stand in both .*'0', '100'"):
            omega(judge, mixed, **settings)
        settings["labels"] = [0, 100]

    assert omega(judge, mixed, **settings) == omega(judge, paths("plain.jsonl"), kind="scale")
    of_one_order = paths("all.jsonl", swapped=range(40))
    unnamed = {
        str(row["item"]): row["label"]
        for row in ratings("gpt", ends, wrong=WRONG, swapped=range(40))
    }
    assert omega(unnamed, of_one_order, kind="scale") == omega(judge, mixed, **settings)


def test_two_raters_named_like_sides_are_raters(read):
    assert read("item,first,second\n1,4,3.5\n2,2,1\n", kind="scale").raters == ["first", "second"]


def mt_bench(by, *, swapped=(), **more):
    rows = votes(by, swapped=swapped, words=("model_a", "model_b"), **more)
    return [
        {"question_id": 81 + row["item"] // 2, "turn": 1 + row["item"] % 2, "judge": by,
         "model_a": row["model_a"], "model_b": row["model_b"], "winner": row["label"],
         "conversation_a": [], "conversation_b": []}
        for row in rows
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [None, {"item": "question_id,model_a,model_b,turn"}])
def test_mt_bench_is_by_question_pair_and_turn(tmp_path, columns):
    people = [
        row for k, by in enumerate("abc") for row in mt_bench(f"expert_{by}", wrong=range(k, 40, 9))
    ]
    judged = mt_bench("gpt4_pair", wrong=WRONG, swapped=range(0, 40, 3))
    judged[4] |= {"winner": "tie (inconsistent)"}
    files = written(tmp_path / "human.jsonl", people), written(tmp_path / "gpt4.jsonl", judged)

    table = read_labels(files[0], role="annotator", columns=columns)
    reading = voirdire.io.Reading(columns=columns)
    found = voirdire.examine(humans=files[0], judges=files[1], reading=reading, around=False)

    assert table.frame.select("item", "rater", "label").row(0) == ("81|m1|m2|1", "expert_a", "A")
    assert [(row.judge, row.winning_rate) for row in found.results] == [("gpt4_pair", 1)]


def test_people_and_a_judge_in_one_file_of_votes(tmp_path):
    rows = [row for k, by in enumerate("abc") for row in mt_bench(by, wrong=range(k, 40, 9))]
    rows += mt_bench("gpt4_pair", wrong=WRONG, swapped=range(0, 40, 3))
    path = written(tmp_path / "votes.jsonl", rows)
    reading = voirdire.io.Reading(judge_columns=["gpt4_pair"])

    found = voirdire.examine(humans=path, judges=path, reading=reading, around=False)

    assert [(row.judge, row.winning_rate) for row in found.results] == [("gpt4_pair", 1)]
    assert len(found.results[0].annotators) == 3


@pytest.mark.parametrize("item", [None, "question_id,model_a,model_b,turn"])
def test_what_is_known_of_items_of_several_columns_has_the_ids_of_their_labels(tmp_path, item):
    rows = [row | {"topic": "maths"} for row in mt_bench("expert_a", swapped=range(0, 40, 3))]
    path = written(tmp_path / "human.jsonl", rows)

    known = voirdire.io.read_metadata(path, item=item, columns=["topic"])

    labels = read_labels(path, role="annotator")
    assert known["item"].to_list() == labels.frame["item"].cast(str).to_list()
