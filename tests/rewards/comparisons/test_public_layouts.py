"""Comparisons as public data sets hold them, from the row to the fit."""

import json

import pytest

from voirdire.errors import CyclicComparisonsWarning, InputError, UncertifiedWarning
from voirdire.judging import ScriptedJudge, judge_file
from voirdire.rewards import LabelOrder, fit_reward, pairs_of, read_comparisons
from voirdire.rubrics import rubric_from_text

ASKED = [{"role": "user", "content": "Hi"}]
TURNS = "\n\nHuman: Hi\n\nAssistant: "
RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: tone
version: "1"
questions:
  - {id: kind, kind: boolean, text: "Is it kind?"}
behaviors:
  answer:
    demands: {kind: required}
    classes: {good: kind, bad: otherwise}
"""
)
JUDGE = ScriptedJudge(
    questions=("kind",), answer=lambda item: [0.9 if item.response.startswith("k") else 0.1]
)


def talk(reply):
    return [*ASKED, {"role": "assistant", "content": reply}]


def better_texts(data):
    return [
        (data.items[high].response, data.items[low].response)
        for high, low in zip(data.better, data.worse, strict=True)
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"chosen": f"{TURNS}b", "rejected": f"{TURNS}a"}, [("b", "a")]),
        (
            {"prompt": "Hi", "response_0": "a", "response_1": "b", "better_response_id": 1},
            [("b", "a")],
        ),
        (
            {"prompt": "Hi", "response_1": "a", "response_2": "b", "preference_strength": -1},
            [("a", "b")],
        ),
        (
            {"context": ASKED, "response1": "a", "response2": "b", "overall_preference": 2},
            [("b", "a")],
        ),
        ({"context": ASKED, "response1": "a", "response2": "b", "overall_preference": 0}, []),
        ({"context": ASKED, "response1": "a", "response2": "b"}, []),  # nobody has said
        ({"history": "Hi", "human_ref_A": "a", "human_ref_B": "b", "labels": 1}, [("a", "b")]),
        ({"history": "Hi", "human_ref_A": "a", "human_ref_B": "b", "labels": 0.0}, [("b", "a")]),
        (
            {"conversation_a": talk("a"), "conversation_b": talk("b"), "winner": "model_b"},
            [("b", "a")],
        ),
        ({"conversation_a": talk("a"), "conversation_b": talk("b"), "winner": "tie"}, []),
        (
            {
                "instruction": "Hi",
                "completions": [
                    {"response": "a", "overall_score": 2},
                    {"response": "b", "overall_score": 7.5},
                    {"response": "c", "overall_score": 7.5},
                ],
            },
            [("b", "a"), ("c", "a")],
        ),
        (
            {"prompt": TURNS, "answers": [{"answer": "a", "rank": 2}, {"answer": "b", "rank": 1}]},
            [("b", "a")],
        ),
        (
            {"prompt": "Hi", "chosen": ["a", "b"], "rejected": ["c"]},
            [("a", "c"), ("b", "c")],
        ),
    ],
)
def test_a_row_says_which_responses_are_better(row, expected):
    data = read_comparisons([row], behavior="answer")

    assert better_texts(data) == expected
    assert {item.prompt[0].content for item in data.items} == {"Hi"}


@pytest.mark.parametrize(
    ("keys", "better"),
    [
        (("response_0", "response_1"), 0),
        (("response_1", "response_2"), 1),
        (("response_1", "response_2"), "response_1"),
    ],
)
def test_another_column_says_which_is_better_by_the_keys_or_their_ends(keys, better):
    row = {"prompt": "Hi", **dict(zip(keys, "ab", strict=True)), "better_response_id": 1}

    data = read_comparisons(
        [{**row, "safer": better}], behavior="answer", columns={"preferred": "safer"}
    )

    assert better_texts(data) == [("a", "b")]


def test_scores_beside_a_pair_are_base_rewards():
    row = {"prompt": "Hi", "chosen": "a", "rejected": "b"}

    data = read_comparisons([{**row, "score_chosen": 8.5, "score_rejected": 3}], behavior="answer")

    assert data.base_rewards.tolist() == [8.5, 3.0]


def test_a_function_makes_comparisons_of_rows_of_any_other_form():
    rows = [{"q": "Hi", "best": "a", "worst": "b"}]

    def make(row):
        return {"prompt": row["q"], "ranked": [row["best"], row["worst"]]}

    assert better_texts(read_comparisons(rows, behavior="answer", make_item=make)) == [("a", "b")]


def test_parts_in_a_folder_are_one_table_of_comparisons(tmp_path):
    row = {"prompt": "Hi", "response": "a", "label": "good"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + '\n{"prompt": "Ho"}\n')
    (tmp_path / "b.jsonl").write_text(json.dumps({**row, "response": "b", "label": "bad"}))

    data = read_comparisons(tmp_path, behavior="answer")

    assert [item.id for item in data.items] == ["a:1", "b:1"]
    assert data.dropped[0].place() == f"{tmp_path / 'a.jsonl'}:2"


def test_completions_that_are_desired_or_not_are_fitted_as_they_are():
    rows = [
        {"prompt": [{"role": "user", "content": f"{k}"}], "completion": text, "label": label}
        for k in range(12)
        for text, label in (("kind", True), ("rude", False))
    ]

    with pytest.warns(UncertifiedWarning):
        fit = fit_reward(rows, rubric=RUBRIC, judge=JUDGE)

    assert fit.behaviors[0].n_pairs == 12
    assert fit.behaviors[0].error_rate.value == 0


def test_items_are_judged_and_fitted_under_the_same_ids(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [
        {"prompt": f"{k}", "response_0": "rude", "response_1": "kind", "better_response_id": 1}
        for k in range(12)
    ]
    for name, part in (("a", rows[:6]), ("b", rows[6:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))

    summary = judge_file(folder, tmp_path / "v.parquet", rubric=RUBRIC, judge=JUDGE)
    with pytest.warns(UncertifiedWarning):
        fit = fit_reward(folder, rubric=RUBRIC, verdicts=tmp_path / "v.parquet")

    assert summary.n_items == 24
    assert (fit.behaviors[0].n_pairs, fit.dropped) == (12, ())


# A crowd that disagrees --------------------------------------------------------------------------

CROWD = [
    {"prompt": f"{k}", "chosen": high, "rejected": low}
    for k in range(12)
    for high, low in (("kind", "rude"), ("rude", "kind"), ("kinder", "rude"))
]


@pytest.mark.parametrize(
    ("contradictions", "n_pairs", "done"), [("keep", 36, "are kept"), ("drop", 12, "are left out")]
)
@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
@pytest.mark.filterwarnings("ignore::voirdire.errors.CyclicComparisonsWarning")
def test_comparisons_that_contradict_others_are_counted_and_kept_or_dropped(
    contradictions, n_pairs, done
):
    fit = fit_reward(CROWD, rubric=RUBRIC, judge=JUDGE, contradictions=contradictions)

    assert fit.behaviors[0].n_pairs == n_pairs
    assert f"24 comparisons contradict others and {done}" in fit.notes
    assert fit.model.settings.get("contradictions", "keep") == contradictions


@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
def test_kept_contradictions_are_cycles():
    with pytest.warns(CyclicComparisonsWarning, match="24 comparisons go in"):
        fit_reward(CROWD, rubric=RUBRIC, judge=JUDGE)


def test_a_pair_against_its_labels_contradicts_them():
    rows = [
        {"prompt": "Hi", "response": "a", "label": "good"},
        {"prompt": "Hi", "response": "b", "label": "bad"},
        {"prompt": "Hi", "chosen": "b", "rejected": "a"},
    ]
    data = read_comparisons(rows, behavior="answer")
    order = LabelOrder.of("good > bad")

    kept = pairs_of(data, behavior="answer", order=order)
    left = pairs_of(data, behavior="answer", order=order, contradictions="drop")

    assert (kept.n_pairs, kept.n_contradictory) == (2, 2)
    assert (left.n_pairs, left.n_contradictory) == (0, 2)


def test_what_becomes_of_contradictions_is_one_of_two_words():
    with pytest.raises(InputError, match="`contradictions` must be one of 'keep', 'drop', got 'x'"):
        fit_reward(CROWD, rubric=RUBRIC, contradictions="x")
