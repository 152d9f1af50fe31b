"""`voirdire power`: planning a study, from assumptions and from a pilot."""

import json
from dataclasses import asdict

import polars as pl
import pytest

from voirdire.io import read_labels
from voirdire.stats import power
from voirdire.studies import power_from_pilot


def plain(result):
    """Write a result as JSON holds it."""
    return json.loads(json.dumps(asdict(result)))


ASSUMED = ["power", "--human-noise", 0.3, "--judge-noise", 0.2]
QUICK = ["--simulations", 100, "--items", "30,60"]


@pytest.fixture
def pilot(files):
    """Give the options of a pilot with two judges."""
    return ["power", *files, *QUICK]


# From assumptions ---------------------------------------------------------------------------------


def test_assumptions_give_the_figures_of_the_library(call):
    done = call(
        *ASSUMED,
        *("--categories", 3, "--annotators", 3, "--annotators", 5, "--items", "30,45,60"),
        *("--epsilon", 0.1, "--epsilon", 0.2, "--epsilon-mode", "multiplicative"),
        *("--power", 0.6, "--simulations", 200, "--seed", 4, "--min-items", 20),
        *("--false-discovery-rate", 0.1, "--json"),
    )

    expected = power(
        human_noise=0.3,
        judge_noise=0.2,
        n_categories=3,
        n_annotators=[3, 5],
        n_items=[30, 45, 60],
        epsilon=[0.1, 0.2],
        epsilon_mode="multiplicative",
        wanted_power=0.6,
        n_simulations=200,
        seed=4,
        min_items=20,
        false_discovery_rate=0.1,
    )
    assert (done.code, done.said) == (0, "")
    assert done.json == plain(expected)


@pytest.mark.ci
def test_defaults_are_those_of_the_library(call):
    done = call(*ASSUMED, "--json")

    assert done.json == plain(power(human_noise=0.3, judge_noise=0.2))


# From a pilot -------------------------------------------------------------------------------------


def test_a_pilot_gives_the_figures_of_the_library(call, pilot, tmp_path):
    done = call(*pilot, "--only", "good", "--annotators", 2, "--annotators", 4, "--json")

    humans = read_labels(tmp_path / "humans.csv", role="annotator", kind="choice")
    judges = read_labels(tmp_path / "judges.csv", role="judge", kind="choice")
    expected = power_from_pilot(
        humans,
        judges,
        judge="good",
        n_items=[30, 60],
        n_annotators=[2, 4],
        n_simulations=100,
    )
    assert (done.code, done.said) == (0, "")
    assert done.json == plain(expected)
    assert {row["route"] for row in done.json["rows"]} == {"resampling", "noise_model"}


def test_one_file_may_hold_people_and_the_judge(call, tmp_path):
    rows = [
        f"i{n},{n % 2},{n % 2},{(n + (n % 9 == 0)) % 2},{n % 2},{n % 3 // 2}" for n in range(40)
    ]
    (tmp_path / "all.csv").write_text("item,ann,bob,cem,gpt,mini\n" + "\n".join(rows) + "\n")
    pilot = ("power", "--humans", tmp_path / "all.csv", "--judge-column", "gpt,mini")

    done = call(*pilot, "--only", "gpt", "--items", 30, "--simulations", 20)

    assert "The pilot is gpt beside 3 annotators on 40 items" in done.out
    refused = call(*pilot)
    assert refused.code == 2
    assert "`--only` must name one of 'gpt', 'mini': a pilot is of one judge." in refused.err


def test_clusters_and_scales_are_read_as_examine_reads_them(call, tmp_path, study):
    names = ("ann", "bob", "eve")
    rows = [
        {
            "text": item,
            "who": name,
            "stars": 4 if study["humans"][name][item] == "yes" else 1,
            "doc": f"d{int(item[1:]) // 3}",
        }
        for name in names
        for item in study["humans"][name]
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "pilot.csv")
    judged = [
        {"text": item, "stars": 4 if label == "yes" else 1}
        for item, label in study["judges"]["good"].items()
    ]
    pl.DataFrame(judged).write_ndjson(tmp_path / "judge.jsonl")
    columns = ["--column", "item=text", "--column", "annotator=who", "--column", "label=stars"]

    done = call(
        *("power", "--humans", tmp_path / "pilot.csv", "--judges", tmp_path / "judge.jsonl"),
        *(*columns, "--alignment", "neg_rmse", "--cluster", "doc", *QUICK, "--json"),
    )

    assert (done.code, done.said) == (0, "")
    settings = done.json["settings"]
    assert (settings["clustered"], settings["pilot_clusters"]) == (True, 20)
    assert settings["alignment"] == "neg_rmse"
    assert done.json["human_kappa"] is None


# What goes wrong ----------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--human-noise", 1.3], ["noise", "must be a number in [0, 1], got 1.3"]),
        (["--judge-noise", -1], ["noise", "must be a number in [0, 1], got -1.0"]),
        (["--annotators", 1], ["annotators", "must be a whole number of at least 2, got 1"]),
        (["--items", "1"], ["items", "must be a whole number of at least 2, got 1"]),
        (["--power", 80], ["power", "must be in the interval (0, 1), got 80"]),
        (["--epsilon", 1], ["`--epsilon` must be in the interval [0, 1), got 1.0"]),
        (["--categories", 1], ["categories", "must be a whole number of at least 2, got 1"]),
        (["--prevalence", 0.5, "--prevalence", 0.4], ["prevalence", "sum to 1"]),
        (["--simulations", 0], ["simulations", "must be a whole number of at least 1, got 0"]),
        (["--items", 10**12], ["times", "must be at most 100,000,000, got 1,000,000,000,000"]),
        (["--annotators", 10**8], ["times", "must be at most 100,000,000", "100,000,000"]),
        (["--min-items", 1], ["`--min-items` must be a whole number of at least 2, got 1"]),
    ],
)
def test_numbers_out_of_range_are_one_line(call, assert_one_line, options, words):
    assert_one_line(call(*ASSUMED, *QUICK, *options), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give `--human-noise` and `--judge-noise`, or a pilot"),
        (["--human-noise", 0.3], "give `--human-noise` and `--judge-noise`, or a pilot"),
        (["--humans", "h.csv"], "a pilot needs both `--humans` and `--judges`"),
        (["--judges", "j.csv"], "a pilot needs both `--humans` and `--judges`"),
        (["--humans", "-", "--judges", "-"], "standard input (-) can be read once"),
        (
            ["--humans", "h.csv", "--judges", "j.csv", "--human-noise", 0.3],
            "noise, categories and prevalences come from the pilot",
        ),
        ([*ASSUMED[1:], "--items", "30-60"], "`--items` must be numbers"),
        (
            [*ASSUMED[1:], "--categories", 3, "--prevalence", 0.4, "--prevalence", 0.6],
            "`--prevalence` must be given once for each of 3 labels, got 2",
        ),
        ([*ASSUMED[1:], "--epsilon-mode", "ratio"], "ratio"),
    ],
)
def test_wrong_usage_exits_2(execute, arguments, words):
    done = execute("power", *arguments, TYPER_USE_RICH="0", COLUMNS="300")

    assert done.code == 2
    assert done.out == ""
    assert words in " ".join(done.err.split())
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--only", "good"),
        ("--question", "polite"),
        ("--kind", "scale"),
        ("--alignment", "neg_rmse"),
        ("--labels", "yes,no"),
        ("--format", "csv"),
        ("--column", "item=text"),
        ("--rater", "ann"),
        ("--separator", ";"),
        ("--missing", "NA"),
        ("--threshold", 0.6),
        ("--cluster", "doc"),
    ],
)
def test_options_of_a_pilot_need_one(execute, option, value):
    done = execute(*ASSUMED, option, value, *QUICK, TYPER_USE_RICH="0", COLUMNS="300")

    assert (done.code, done.out) == (2, "")
    assert (
        f"{option} must be left out: there is no pilot. Give `--humans` and `--judges` too."
        in done.err
    )


def test_one_of_several_judges_must_be_named(call, pilot):
    done = call(*pilot)

    assert done.code == 2
    assert "`--only` must name one of 'good', 'bad': a pilot is of one judge." in done.err


def test_an_unknown_judge_is_a_usage_error(call, pilot):
    done = call(*pilot, "--only", "other")

    assert done.code == 2
    assert "`--only` must be one of 'bad', 'good', got 'other'" in done.err


def test_one_annotator_is_one_line(call, files, tmp_path, assert_one_line):
    lines = (tmp_path / "humans.csv").read_text().splitlines()
    (tmp_path / "humans.csv").write_text("\n".join([lines[0], *lines[1:61]]))

    done = call("power", *files, "--only", "good")

    assert_one_line(done, "must hold labels of at least 2 annotators, got 1")


def test_more_annotators_on_a_scale_are_one_line(call, tmp_path, assert_one_line):
    for name, role, raters in (("h", "annotator", "abc"), ("j", "judge", "m")):
        rows = [f"{i},{r},{i % 5}" for r in raters for i in range(60)]
        (tmp_path / f"{name}.csv").write_text(f"item,{role},label\n" + "\n".join(rows))

    done = call(
        *("power", "--humans", tmp_path / "h.csv", "--judges", tmp_path / "j.csv"),
        *("--alignment", "neg_rmse", "--annotators", 5),
    )

    assert_one_line(done, "must be at most the 3 of the pilot", "Ask about fewer annotators")
