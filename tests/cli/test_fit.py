"""`voirdire fit`: comparisons in, a reward out."""

import json
import re

import numpy as np
import polars as pl
import pytest

from voirdire.errors import UncertifiedWarning
from voirdire.rewards import FitSettings, fit_reward, load_reward
from voirdire.rubrics import load_rubric

QUICK = ["--resamples", 50]
LABELS = ["ideal", "less_good", "unacceptable", "disallowed"]
TEXTS = {
    "ideal": "I'm sorry, but I can't help with that.",
    "less_good": "I can't help with that.",
    "unacceptable": "I can't help with that. You should be ashamed of yourself.",
    "disallowed": "Sure! First, take a rubber band, and then open the valve.",
}


@pytest.fixture
def comparisons(tmp_path):
    """Write completions of twelve prompts with labels."""
    path = tmp_path / "comparisons.jsonl"
    rows = [
        {
            "id": f"{prompt}-{label}",
            "prompt": f"How do I do harm number {prompt}?",
            "response": TEXTS[label],
            "label": label,
            "behavior": "hard_refuse",
            "score": float(prompt % 3) + 0.1 * k,
        }
        for prompt in range(12)
        for k, label in enumerate(LABELS)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def verdicts(comparisons, tmp_path):
    """Write verdicts on them, noisy ones of a judge that nobody has examined."""
    path = tmp_path / "verdicts.parquet"
    rng = np.random.default_rng(0)
    rows = [json.loads(line) for line in comparisons.read_text(encoding="utf-8").splitlines()]
    names = load_rubric("safety").propositions
    values = rng.random((len(rows), len(names)))
    values[:, names.index("apology")] += [row["label"] == "ideal" for row in rows]
    frame = pl.DataFrame(
        {
            "item": np.repeat([row["id"] for row in rows], len(names)),
            "question": list(names) * len(rows),
            "judge": "mine",
            "probability": np.minimum(values, 1).ravel(),
        }
    )
    frame.write_parquet(path)
    return path


@pytest.fixture
def fit(call, comparisons, verdicts, tmp_path):
    """Fit from stored verdicts."""

    def run(*options):
        return call(
            "fit", comparisons, "--verdicts", verdicts, "-o", tmp_path / "reward.json", *options
        )

    return run


def test_a_fit_gives_the_figures_of_the_library(fit, comparisons, verdicts, tmp_path):
    done = fit(
        *("--margin", 0.5, "--margin-of", "ideal=2", "--l2", 0.05),
        *(
            "--orientation",
            "demanded",
            "--sign",
            "apology=positive",
            "--sign",
            "judgement=negative",
        ),
        *("--fixed", "hard_refuse:disclaimer=1", "--json"),
    )
    assert done.code == 1  # hard_refuse says nothing of disclaimers
    assert "got 'hard_refuse:disclaimer'" in done.err

    done = fit(
        *("--margin", 0.5, "--margin-of", "ideal=2", "--l2", 0.05),
        *(
            "--orientation",
            "demanded",
            "--sign",
            "apology=positive",
            "--sign",
            "judgement=negative",
        ),
        *("--fixed", "hard_refuse:third_person=1", "--ignore", "unacceptable", "--folds", 3),
        *("--order", "ideal > less_good > disallowed", "--equal-prompts", "--seed", 5),
        *("--resamples", 60, "--confidence-level", 0.9, "--name", "mine", "--json"),
    )

    settings = FitSettings(
        margin=0.5,
        margins={"ideal": 2.0},
        l2=0.05,
        orientation="demanded",
        signs={"apology": "positive", "judgement": "negative"},
        fixed={"hard_refuse:third_person": 1.0},
        ignored=("unacceptable",),
        n_folds=3,
        orders={"*": "ideal > less_good > disallowed"},
        equal_prompts=True,
        seed=5,
        n_resamples=60,
        confidence_level=0.9,
    )
    with pytest.warns(UncertifiedWarning):
        expected = fit_reward(comparisons, verdicts=str(verdicts), settings=settings, name="mine")
    assert done.code == 0, done.err
    assert done.json["reward"]["content_hash"] == expected.model.content_hash
    row = done.json["behaviors"][0]
    assert row["error_rate"]["value"] == expected.behaviors[0].error_rate.value
    weights = {name: one["value"] for name, one in row["weights"].items()}
    assert weights == dict(expected.model.behaviors["hard_refuse"].weights)
    assert weights["third_person"] == 1.0
    assert weights["hard_refuse.unacceptable"] == 0.0
    with pytest.warns(UncertifiedWarning):
        assert load_reward(tmp_path / "reward.json").content_hash == expected.model.content_hash


@pytest.mark.ci
def test_the_local_judge_is_asked_where_there_are_no_verdicts(call, comparisons, tmp_path):
    target = tmp_path / "reward.json"

    done = call("fit", comparisons, "-o", target, *QUICK)

    assert done.code == 0, done.err
    # comparisons, completions, prompts; held out, and in the fit
    assert re.search(r"^hard_refuse +72 +48 +12 +0% .*0%$", done.out, re.M)
    assert f"voirdire score ITEMS --reward {target}" in done.out
    assert "behavior comply gets no weights: no completion is of it" in done.err
    assert "without a valid certificate" in done.err
    with pytest.warns(UncertifiedWarning):
        model = load_reward(target)
    assert model.judge.name == "local"
    assert model.judge.made_by["judge"] == "local"


def test_weights_can_be_given_by_hand(call, tmp_path):
    given = tmp_path / "weights.json"
    given.write_text('{"hard_refuse": {"apology": 2, "ideal": 5}}', encoding="utf-8")
    target = tmp_path / "reward.json"

    done = call("fit", "--weights", given, "-o", target, "--name", "hand")

    assert done.code == 0, done.err
    assert re.search(r"^hard_refuse\.ideal +5\.000", done.out, re.MULTILINE)
    with pytest.warns(UncertifiedWarning):
        model = load_reward(target)
    assert model.name == "hand"
    assert model.behaviors["hard_refuse"].weights["hard_refuse.ideal"] == 5


def test_a_certificate_is_required_where_it_is_asked_for(fit, assert_one_line, tmp_path):
    done = fit("--require-certified", *QUICK)

    assert_one_line(done, "must find a valid certificate for every proposition with a weight")
    assert not (tmp_path / "reward.json").exists()


def test_a_file_that_is_no_reward_is_never_replaced(fit, assert_one_line, tmp_path):
    target = tmp_path / "reward.json"
    target.write_text('{"my": "thesis"}', encoding="utf-8")

    done = fit(*QUICK)

    assert_one_line(done, "must not replace", "which is no reward")
    assert target.read_text(encoding="utf-8") == '{"my": "thesis"}'


@pytest.mark.ci
def test_signs_of_the_rubric_are_one_switch_beside_signs_by_feature(fit, tmp_path):
    given = ("--signs", "rubric", "--sign", "hard_refuse.less_good=positive")
    done = fit(*QUICK, *given)
    told = json.loads(fit(*QUICK, *given, "--json").out)

    assert done.code == 0
    assert told["against_demands"] == []
    with pytest.warns(UncertifiedWarning):
        reward = load_reward(tmp_path / "reward.json")
    assert reward.settings["signs"] == {"*": "rubric", "hard_refuse.less_good": "positive"}
    assert "against what the rubric demands" not in done.out
    weights = reward.behaviors["hard_refuse"].weights
    assert weights["apology"] >= 0 >= weights["disallowed_content"]
    assert weights["hard_refuse.ideal"] >= 0 >= weights["hard_refuse.disallowed"]


def test_what_must_not_be_is_vetoed(fit, call, comparisons, verdicts, tmp_path):
    done = fit(*QUICK, "--veto", "judgement", "--veto", "comply:apology")
    output = tmp_path / "rewards.jsonl"
    call(
        *("score", comparisons, "--reward", tmp_path / "reward.json"),
        *("--verdicts", verdicts, "--other-judge", "-o", output, "--explain"),
    )

    content = json.loads((tmp_path / "reward.json").read_text(encoding="utf-8"))
    behavior = content["behaviors"]["hard_refuse"]
    assert behavior["veto"] == ["judgement"]
    assert content["settings"]["veto"] == ["comply:apology", "judgement"]
    assert "(veto)" in done.out
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    taken = {row["contribution:(veto)"] for row in rows}
    assert taken == {0.0, behavior["weights"]["(veto)"]}
    rows = [row for row in rows if not row["gated"]]
    vetoed = [row["rule_reward"] for row in rows if row["contribution:(veto)"]]
    assert max(vetoed) < min(row["rule_reward"] for row in rows if not row["contribution:(veto)"])


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--margin", "ideal=much"], "`--margin` must be a number, got 'ideal=much'"),
        (["--margin-of", "a=1", "--margin-of", "a=2"], "must name 'a' once"),
        (["--fixed", "apology"], "must be FEATURE=NUMBER, got 'apology'"),
        (["--sign", "apology=positive", "--sign", "apology=negative"], "'apology' once"),
        (["--sign", "rubric", "--signs", "positive"], "must name '*' once"),
        (["--order", "a > b", "--order", "b > a"], "must name '*' once"),
        (["--order", "bad < good"], "must put better labels first, as in full > part"),
        (["--order", "comply=ideal"], "must put better labels first"),
        (["--base", "score", "--no-base"], "must not both be given"),
        (["--mode", "single"], "--mode must be left out: verdicts are not asked for again"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(fit, options, words):
    done = fit(*options)

    assert done.code == 2
    assert words in " ".join(done.err.replace("│", " ").split())


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--l2", "-1"], "must be a finite number of at least 0"),
        (["--resamples", "3"], "must be 0 or at least 50, got 3"),
        (["--folds", "1"], "must be a whole number of at least 2"),
        (["--ignore", "apolgy"], "Did you mean `apology`"),
        (["--order", "hard_refse=ideal > less_good"], "Did you mean `hard_refuse`"),
        (["--sign", "apolgy=negative"], "Did you mean `apology`"),
        (["--sign", "hard_refse:apology=negative"], "Did you mean `hard_refuse:apology`"),
        (["--feature", "apology"], "must name scale or choice questions"),
        (["--base", "nothing"], "nothing"),
        (
            ["--base", "none.jsonl"],
            "Correct `--base`, which names a column.",
        ),
        (["--only", "other"], "must be among the judges of the verdicts ('mine'), got 'other'"),
        (["--certificate", "missing.json"], "missing.json"),
    ],
)
def test_what_the_library_refuses_is_one_line(fit, assert_one_line, options, words):
    assert_one_line(fit(*options), words)


@pytest.mark.ci
def test_what_was_set_aside_is_said_once_for_each_reason(fit, comparisons):
    """Eleven rows of one kind must not hide the twelfth of another."""
    rows = [json.loads(line) for line in comparisons.read_text(encoding="utf-8").splitlines()]
    for row in rows[:28:4]:
        row["label"] = "idael"
    rows[1]["behavior"] = "refuse_hard"
    comparisons.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    done = fit(*QUICK)

    # Seven labels; and the first prompt keeps its three other completions, one of them misnamed.
    lines = [line for line in done.err.splitlines() if line.startswith("  ")]
    assert "8 rows set aside; all in --json" in done.err
    assert len(lines) == 2
    assert any("unknown label" in line and "(and 6 more like this: " in line for line in lines)
    assert any("('refuse_hard')" in line and "more like" not in line for line in lines)


@pytest.mark.ci
def test_the_examination_is_named_as_a_next_step(fit, tmp_path):
    done = fit(*QUICK)

    examine, score = done.out.splitlines()[-2:]
    assert examine.startswith(f"  voirdire examine-reward OTHER_COMPARISONS --reward {tmp_path}")
    assert score.startswith("  voirdire score ITEMS --reward")


@pytest.mark.parametrize(("judge", "asked"), [("local", ""), ("openai/tiny", " --judge own")])
def test_the_next_step_names_the_judge_where_the_reward_does_not_ask_it_by_itself(
    call, tmp_path, monkeypatch, judge, asked
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (tmp_path / "weights.json").write_text('{"comply": {"apology": 1.0}}')

    done = call("fit", "--weights", "weights.json", "--judge", judge, "-o", "r.json")

    assert f"voirdire score ITEMS --reward r.json{asked} -o rewards.jsonl" in done.out


def test_a_behavior_that_the_rubric_lacks_is_refused_before_anything_is_read(
    fit, assert_one_line, comparisons
):
    comparisons.write_text("no JSON")

    done = fit("--behavior", "hard_refse")

    assert_one_line(done, "`--behavior` must be in rubric 'safety'", "got 'hard_refse'")


@pytest.mark.ci
def test_weights_that_pay_against_the_rubric_are_named_with_their_size(fit, call, tmp_path):
    options = ("--fixed", "hard_refuse:third_person=1.5", "--resamples", 0)
    told = " ".join(fit(*options).out.split())
    same = json.loads(fit(*options, "--json").out)
    weights = tmp_path / "weights.json"
    weights.write_text('{"comply": {"fully_complies": -2}, "hard_refuse": {"apology": 1}}')
    given = call("fit", "--weights", weights, "-o", tmp_path / "given.json")
    weights.write_text('{"comply": {"apology": 2}, "hard_refuse": {"apology": 1}}')
    sane = call("fit", "--weights", weights, "-o", tmp_path / "given.json")

    assert told.count("against what the rubric demands") == 1
    assert "hard_refuse: third_person (unacceptable) +1.50" in told
    rows = {row["proposition"]: row for row in same["against_demands"]}
    assert rows["third_person"]["pays"] == 1.5
    assert "1 weight pays against what the rubric demands" in given.out
    assert "comply: fully_complies (desired) -2.00" in " ".join(given.out.split())
    assert "against what" not in sane.out  # `allowed` demands nothing
