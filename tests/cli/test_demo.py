"""`voirdire demo`: one command, no data of one's own."""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.resources import files as package_files

import pytest

from voirdire.cli.demo import ALIGNMENTS, EPSILON
from voirdire.errors import UncertifiedWarning
from voirdire.rewards import load_reward
from voirdire.rewards.certification import certified, list_paying_propositions, read_certificate
from voirdire.rubrics import load_rubric

WRITTEN = {
    "verdicts.parquet",
    "examination.json",
    "certificate.json",
    "reward.json",
    "rewards.jsonl",
    "reward_examination.json",
    "report.html",
}
COPIED = {
    "texts.jsonl",
    "annotations.jsonl",
    "judges.jsonl",
    "responses.jsonl",
    "response_annotations.jsonl",
    "comparisons.jsonl",
    "comparisons_of_fit.jsonl",
    "commands.sh",
    "dataset.json",
    "README.md",
}
BETTER = (
    ("ideal", "less_good"),
    ("less_good", "unacceptable"),
    ("less_good", "illogical"),
    ("unacceptable", "disallowed"),
    ("illogical", "disallowed"),
    ("ideal", "unacceptable"),
    ("ideal", "illogical"),
    ("ideal", "disallowed"),
    ("less_good", "disallowed"),
)
BEHAVIORS = ("hard_refuse", "soft_refuse", "comply")
COMMANDS = re.compile(r"^(voirdire \w.*?[^\\])$", re.DOTALL | re.MULTILINE)


def commands(folder):
    """Find the commands that make everything in the folder, each as its words."""
    text = (folder / "commands.sh").read_text(encoding="utf-8")
    return [shlex.split(found.replace("\\\n", " ")) for found in COMMANDS.findall(text)]


pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory, program, environment):
    """Run the program once, in a folder of its own."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [*program, "demo"], cwd=folder, env=environment, capture_output=True, check=False
    )
    return folder, done


def test_it_writes_its_folder_where_it_is_run(demonstration):
    folder, done = demonstration

    assert (done.returncode, done.stderr) == (0, b"")
    assert [path.name for path in folder.iterdir()] == ["voirdire-demo"]
    written = {path.name for path in (folder / "voirdire-demo").iterdir()}
    assert written == COPIED | WRITTEN
    for name in COPIED:
        bundled = (package_files("voirdire") / "data" / "demo" / name).read_bytes()
        assert (folder / "voirdire-demo" / name).read_bytes() == bundled


def test_it_says_in_a_few_lines_who_is_simulated_and_where_everything_is(demonstration):
    folder, done = demonstration

    text = done.stdout.decode()
    lines = text.splitlines()
    assert len(lines) <= 48
    assert max(len(line) for line in lines if not line.startswith("next: ")) <= 100
    assert "annotators, other judges and base rewards are SIMULATED" in text
    assert "page: voirdire-demo/report.html" in lines
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())
    assert written["settings"]["simulated"] is True
    assert "\x1b" not in text


def test_the_next_command_that_it_names_runs(demonstration, environment, program):
    folder, done = demonstration
    [line] = [x for x in done.stdout.decode().splitlines() if x.startswith("next: voirdire ")]

    words = shlex.split(line)[2:]
    run = subprocess.run(
        [*program, *words], cwd=folder, env=environment, capture_output=True, check=False
    )

    assert run.returncode == 0
    assert "sim-careful" in run.stdout.decode()


def test_it_examines_every_judge_by_every_margin(demonstration):
    folder, _ = demonstration

    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())

    n_alignments = sum(map(len, ALIGNMENTS.values()))
    simulated = [row for row in written["examinations"] if row["judge"] != "local"]
    assert len(simulated) == 8 * n_alignments
    assert {row["question"] for row in simulated} == set(ALIGNMENTS)
    outcomes = {row["outcome"] for row in simulated}
    assert outcomes >= {"passed", "failed"}
    constant = [row for row in written["examinations"] if row["judge"] == "sim-constant"]
    assert "passed" not in {row["outcome"] for row in constant}


def test_the_local_judge_is_examined_on_every_proposition(demonstration):
    folder, _ = demonstration

    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())

    found = [row for row in written["examinations"] if row["judge"] == "local"]
    propositions = load_rubric("safety").propositions
    assert [row["question"] for row in found] == list(propositions)
    assert {(row["epsilon"], row["alignment"]) for row in found} == {(EPSILON, "accuracy")}
    assert {(row["n_items"], row["n_annotators"]) for row in found} == {(90, 4)}
    order = [row["question"] for row in written["questions"]]
    assert order == [*ALIGNMENTS, *propositions]
    assert not [row for row in written["dropped"] if row["rater"] == "local"]


def test_it_prints_the_verdict_of_every_judge_and_question(demonstration):
    folder, done = demonstration
    text = " ".join(done.stdout.decode().split())
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())

    expected = {}
    for row in written["examinations"]:
        is_local = row["judge"] == "local"
        title, name = ("local", row["question"]) if is_local else (row["question"], row["judge"])
        if (row["epsilon"], row["alignment"]) == (EPSILON, ALIGNMENTS.get(title, ["accuracy"])[0]):
            expected.setdefault(title, {}).setdefault(row["finding"], []).append(name)
    assert set(expected) == {"local", *ALIGNMENTS}
    for title, outcomes in expected.items():
        passed, others, worse = (
            ", ".join(outcomes[key]) for key in ("passed", "not_shown", "worse")
        )
        said = f"{title}: ✓ passed: {passed}; ○ not shown: {others}; ✗ worse: {worse}"
        assert said in text


def test_the_certificate_says_what_the_examination_says(demonstration):
    folder, _ = demonstration
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())

    found = read_certificate(folder / "voirdire-demo" / "certificate.json")

    own = [row for row in written["examinations"] if row["judge"] == "local"]
    outcomes = {row["question"]: row["outcome"] for row in own}
    assert {key.split(" | ")[0]: value for key, value in found.outcomes.items()} == outcomes
    assert set(outcomes.values()) == {"passed", "failed"}


def test_the_reward_holds_the_certificate_and_pays_for_what_it_does_not_cover(demonstration):
    folder, done = demonstration
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())
    passed = {
        row["question"]
        for row in written["examinations"]
        if (row["judge"], row["outcome"]) == ("local", "passed")
    }

    with pytest.warns(UncertifiedWarning):
        model = load_reward(folder / "voirdire-demo" / "reward.json")

    statuses = certified(model)
    assert {name for name in statuses if statuses[name].is_valid} == passed
    paid = set(list_paying_propositions(model))
    said = (
        f"No valid certificate vouches for {len(paid - passed)} propositions that the reward pays"
    )
    assert said in " ".join(done.stdout.decode().split())


def wrong_share(rows, key):
    """Count by hand how often the worse of two responses to a prompt gets the higher reward."""
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], {})[row["label"]] = row[key]
    pairs = [(group[x], group[y]) for group in groups.values() for x, y in BETTER]
    return len(pairs), sum((x < y) + (x == y) / 2 for x, y in pairs) / len(pairs)


def scored_completions(folder):
    """Give the completions with their rewards."""
    rewards = {row["item"]: row for row in read_lines(folder / "rewards.jsonl")}
    rows = read_lines(folder / "comparisons.jsonl")
    assert list(rewards) == [row["id"] for row in rows]
    return [row | rewards[row["id"]] for row in rows]


@pytest.mark.parametrize(
    ("signal", "key"),
    [("base", "base_reward"), ("total", "reward"), ("rules", "rule_reward")],
)
def test_the_examined_error_rates_are_those_of_the_rewards_in_the_file(demonstration, signal, key):
    folder, _ = demonstration
    rows = scored_completions(folder / "voirdire-demo")
    found = json.loads((folder / "voirdire-demo" / "reward_examination.json").read_text())

    rates = {
        row["behavior"]: row["rate"]
        for row in found["error_rates"]
        if (row["signal"], row["against"]) == (signal, "all")
    }

    assert set(rates) == {None, *BEHAVIORS}
    for behavior, rate in rates.items():
        own = [row for row in rows if behavior in (None, row["behavior"])]
        expected = wrong_share(own, key)
        assert (rate["n"], rate["value"]) == (expected[0], pytest.approx(expected[1], abs=1e-12))
    assert rates[None]["n"] == found["n_comparisons"] == 162


def test_it_says_that_the_reward_was_examined_on_the_prompts_of_its_fit(demonstration):
    folder, done = demonstration

    found = json.loads((folder / "voirdire-demo" / "reward_examination.json").read_text())

    assert found["is_held_out"] is False
    assert found["settings"]["simulated"] is True
    assert "few_prompts" in {note["code"] for note in found["notes"]}
    text = " ".join(done.stdout.decode().split())
    assert "reward: On prompts that the fit has seen, the reward ranks" in text
    (against,) = (row for row in found["notes"] if row["code"] == "contradictory_features")
    n_against = len(found["reward"]["against_demands"])  # which `voirdire fit` counts
    assert f"{n_against} weights pay against what the rubric demands" in text
    assert against["figures"]["n"] == n_against


def test_no_searched_text_is_paid_more_than_the_best_real_responses(demonstration):
    """A tie is what the cap makes of many; the gate knows no Chinese."""
    folder, done = demonstration

    found = json.loads((folder / "voirdire-demo" / "reward_examination.json").read_text())

    rows = {row["kind"]: row for row in found["nonsense"]}
    assert {"words", "bigrams", "pieces", "templates", "wraps"} <= rows.keys()
    assert rows["words"]["n_prompts"] == 16
    assert [row["kind"] for row in found["nonsense"] if row["n_above_best"]] == []
    assert (rows["templates"]["n_best"], rows["wraps"]["n_above_median"]) == (0, 0)
    n = found["n_nonsense_best"]
    assert f"paid at least as much as the best real response on {n} of 16 prompts" in " ".join(
        done.stdout.decode().split()
    )


def test_the_report_holds_the_examination_and_the_reward(demonstration):
    folder, _ = demonstration

    page = (folder / "voirdire-demo" / "report.html").read_text(encoding="utf-8")

    assert page.count("<!doctype html>") == 1
    assert '<article id="reward"' in page
    assert page.index('id="q1"') < page.index('id="reward"')
    assert len(page.encode()) < 800_000
    assert "base rewards are simulated too" in " ".join(page.split())
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_every_command_of_the_folder_does_the_same_from_the_files(
    demonstration, environment, program
):
    folder, _ = demonstration
    own = folder / "voirdire-demo"
    written = json.loads((own / "examination.json").read_text())
    rewarded = json.loads((own / "reward_examination.json").read_text())
    names = ("verdicts.parquet", "rewards.jsonl", "reward.json", "certificate.json")
    before = {name: (own / name).read_bytes() for name in names}
    judging, examining, fitting, scoring, of_reward, of_texts = commands(own)

    def call(words):
        line = [*program, *words[1:], "--json"]
        done = subprocess.run(line, cwd=own, env=environment, capture_output=True, check=True)
        return json.loads(done.stdout)

    assert [words[1] for words in (judging, fitting, scoring, of_reward)] == [
        "judge",
        "fit",
        "score",
        "examine-reward",
    ]
    assert call(judging)["n_items"] == 90
    assert (own / "verdicts.parquet").read_bytes() == before["verdicts.parquet"]
    chosen = [lambda row: row["judge"] == "local", is_needs_review]
    for words, wanted, count in zip((examining, of_texts), chosen, (21, 8), strict=True):
        expected = [row for row in written["examinations"] if wanted(row)]
        assert without_classes(call(words)["examinations"]) == without_classes(expected)
        assert len(expected) == count
    certificates = [json.loads(x) for x in (before["certificate.json"], read(own, "certificate"))]
    assert certificates[0]["outcomes"] == certificates[1]["outcomes"]
    assert certificates[0]["judges"] == certificates[1]["judges"]
    call(fitting)
    rewards = [json.loads(x) for x in (before["reward.json"], read(own, "reward"))]
    assert rewards[0]["behaviors"] == rewards[1]["behaviors"]
    assert rewards[0]["judge"] == rewards[1]["judge"]
    assert call(scoring)["n_scored"] == 90
    assert (own / "rewards.jsonl").read_bytes() == before["rewards.jsonl"]
    found = call(of_reward)
    for key in ("error_rates", "refusals", "drives", "notes"):
        assert found[key] == rewarded[key]
    for page in ("judge.html", "texts.html", "reward.html"):
        assert (own / page).read_text(encoding="utf-8").startswith("<!doctype html>")


def read(folder, name):
    return (folder / f"{name}.json").read_bytes()


def is_needs_review(row):
    return (row["question"], row["epsilon"]) == ("needs_review", 0.2)


def without_classes(rows):
    """Leave out what was set aside: by hand that includes the completion classes."""
    return [{key: row[key] for key in row if key != "dropped"} for row in rows]


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_json_is_alone_on_stdout_and_what_the_files_hold(call, tmp_path):
    done = call("demo", "--json", "--output", tmp_path / "made" / "here")

    assert (done.code, done.err) == (0, "")
    assert done.json["settings"]["simulated"] is True
    folder, found = tmp_path / "made" / "here", done.json
    of_reward = found.pop("reward_examination")
    assert found == json.loads((folder / "examination.json").read_text(encoding="utf-8"))
    assert of_reward == json.loads((folder / "reward_examination.json").read_text(encoding="utf-8"))


@pytest.fixture
def brief(monkeypatch):
    """Examine at one margin only, without resamples, where figures are not what is tested."""
    monkeypatch.setattr("voirdire.cli.demo.RESAMPLES", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_a_second_run_overwrites(call, tmp_path):
    call("demo", "--output", tmp_path, "--json")
    first = contents(tmp_path)
    (tmp_path / "annotations.jsonl").write_text("broken")
    (tmp_path / "notes.txt").write_text("mine")

    done = call("demo", "-o", tmp_path, "--json")

    second = contents(tmp_path)
    assert done.code == 0
    assert second.pop("notes.txt") == b"mine"
    assert second == first


TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


def contents(folder):
    """Give what is in the files, but for when reward and certificate were made.

    The reward's hash covers its certificates with their times.
    """
    own_hash = json.loads(read(folder, "reward"))["content_hash"].encode()
    return {
        path.name: TIME.sub(b"", path.read_bytes()).replace(own_hash, b"")
        for path in folder.iterdir()
    }


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_what_is_printed_can_be_pasted_whatever_the_folder(call, tmp_path):
    folder = tmp_path / "my demo's folder"

    done = call("demo", "--output", folder)

    assert (done.code, done.err) == (0, "")
    assert f"page: {folder}/report.html" in done.out
    [line] = [x for x in done.out.splitlines() if x.startswith("next: voirdire examine ")]
    named = [word for word in shlex.split(line) if word.startswith(str(folder))]
    assert named == [f"{folder}/annotations.jsonl", f"{folder}/judges.jsonl"]


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_our_error(call, tmp_path, assert_one_line, place):
    (tmp_path / "file").write_text("x")

    done = call("demo", "--output", tmp_path / place)

    assert_one_line(done, "`--output` must be a folder that can be made", tmp_path / place)
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize("name", ["reward.json", "mine.txt"])
def test_nobodys_files_are_replaced(call, tmp_path, assert_one_line, name):
    (tmp_path / name).write_text("mine")

    assert_one_line(call("demo", "--output", tmp_path), "`--output` must not", name)

    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.usefixtures("brief")
def test_the_folder_we_are_in_will_do_and_the_report_speaks_chinese_if_asked(
    call, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    done = call("demo", "--output", ".", "--report-language", "zh")

    assert done.code == 0
    assert {path.name for path in tmp_path.iterdir()} == COPIED | WRITTEN
    assert "(commands.sh): ./" in done.out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<html lang="zh' in page
    assert "gentle_encouragement" in page
    assert '<article id="reward"' in page
    assert "基础奖励也是模拟的" in page


HELD = """
import time, voirdire.cli as c, voirdire.cli.demo as demo
def never(*args, **more):
    while True:
        time.sleep(0.01)
demo.open_page = never
c.run()
"""


def test_an_interrupted_run_leaves_nothing_half_written(tmp_path, environment):
    with subprocess.Popen(
        [sys.executable, "-c", HELD, "demo", "-o", str(tmp_path / "made")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        wait_for(tmp_path / "made" / "reward.json", running)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)

    assert (running.returncode, out) == (130, b"")
    assert err.decode().strip().endswith("voirdire: interrupted")
    assert b"Traceback" not in err
    left = {path.name for path in (tmp_path / "made").iterdir()}
    assert left < COPIED | WRITTEN
    assert "report.html" not in left


def wait_for(path, running):
    """Wait until a file is there, five minutes at most."""
    for _ in range(3_000):
        if path.exists() or running.poll() is not None:
            return
        time.sleep(0.1)
