"""`voirdire examine`: every kind of file, every option, every error."""

import json
import re
from importlib.resources import files as package_files

import polars as pl
import pytest

import voirdire
from alt_tests import alt_tests
from voirdire.io import read_labels
from voirdire.reporting import to_json
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine

GATE_NOT_PASSED = 3
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
DATA_SETS = ("wax", "lgbteen", "framing", "cebab_stars")
MARKED = re.compile(r"(\d?\.\d+|–) ([✓○✗?])")


def repeated(option, values):
    return [word for value in values for word in (option, value)]


def by_judge(done):
    return {row["judge"]: row for row in done.json["examinations"]}


def figures(row):
    """Take the figures of a row, without the random control, which is drawn in item order."""
    controls = [each for each in row["controls"] if each["control"] != "random"]
    return row | {"controls": controls}


@pytest.fixture
def write(tmp_path):
    """Write a text or labels into a file, and give its path."""

    def write_file(name, content):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def expected(study):
    """Give the result of the dict face for the study's judges."""

    def examined(**settings):
        return alt_tests(judges=study["judges"], humans=study["humans"], kind="choice", **settings)

    return examined


def assert_is(row, result):
    for name in ("winning_rate", "advantage_probability", "human_advantage", "outcome", "passed"):
        assert row[name] == pytest.approx(getattr(result, name)), name
    assert [person["p_value"] for person in row["annotators"]] == pytest.approx(
        [person.p_value for person in result.annotators]
    )


# The published figures ------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("name", DATA_SETS)
def test_the_published_figures_come_out(call, shared_dir, name):
    published = json.loads((shared_dir / "reference" / "alt_test_published.json").read_text())[name]
    folder = shared_dir / "data" / "alttest" / name

    done = call(
        "examine",
        *("--humans", folder / "human_annotations.json"),
        *("--judges", folder / "llm_annotations.json"),
        *("--alignment", published["alignment"]),
        *repeated("--epsilon", EPSILONS),
        "--json",
    )

    assert (done.code, done.said) == (0, "")
    rows = done.json["examinations"]
    assert len(rows) == 7 * len(published["judges"])
    for row in rows:
        figures = published["judges"][row["judge"]]
        assert row["t_test"]["winning_rate"] == figures["winning_rate"][f"{row['epsilon']:.2f}"]
        assert row["advantage_probability"] == pytest.approx(
            figures["advantage_probability"], abs=1e-6
        )


# Files ----------------------------------------------------------------------------------------


@pytest.fixture
def in_every_shape(study, tmp_path):
    """Write the study in every format and shape."""
    paths = {}
    for name, role in (("humans", "annotator"), ("judges", "judge")):
        rows = [(i, r, x) for r, labels in study[name].items() for i, x in labels.items()]
        long = pl.DataFrame(rows, schema=["item", role, "label"], orient="row")
        wide = long.pivot(on=role, index="item", values="label")
        long.write_csv(tmp_path / f"{name}-long.csv")
        long.write_csv(tmp_path / f"{name}-long.tsv", separator="\t")
        wide.write_csv(tmp_path / f"{name}-wide.csv")
        long.write_ndjson(tmp_path / f"{name}-long.jsonl")
        wide.write_ndjson(tmp_path / f"{name}-wide.jsonl")
        long.write_parquet(tmp_path / f"{name}-long.parquet")
        wide.write_parquet(tmp_path / f"{name}-wide.parquet")
        (tmp_path / f"{name}-pair.json").write_text(json.dumps(study[name]), encoding="utf-8")
        paths[name] = tmp_path / name
    return paths


@pytest.mark.parametrize(
    ("shape", "declared"),
    [("long.csv", "csv"), ("long.tsv", "tsv"), ("wide.jsonl", "jsonl"), ("long.parquet", "parquet"),
     ("pair.json", "json"), ("long.jsonl", None)],
)  # fmt: skip
def test_judges_come_from_standard_input(
    execute, call, in_every_shape, expected, tmp_path, shape, declared
):
    given = in_every_shape["judges"].with_name(f"judges-{shape}").read_bytes()
    humans = f"{in_every_shape['humans']}-{shape}"
    how = [] if declared is None else ["--format", declared]

    done = call("examine", "--humans", humans, "--judges", "-", *how, "--json", stdin=given)

    assert (done.code, done.said) == (0, "")
    for name, result in expected().items():
        assert_is(by_judge(done)[name], result)


# Errors ---------------------------------------------------------------------------------------


def test_files_of_people_may_follow_one_option(call, tmp_path):
    truth = ["yes", "no"] * 20
    for k, name in enumerate(("ann", "bob", "cem", "gpt")):
        rows = [f"{n},{truth[n - (n % 9 == k)]}\n" for n in range(40)]
        (tmp_path / f"{name}.csv").write_text("id,label\n" + "".join(rows))
    ann, bob, cem, gpt = (str(tmp_path / f"{name}.csv") for name in ("ann", "bob", "cem", "gpt"))

    done = call("examine", "--humans", ann, bob, "--humans", cem, "--judges", gpt)

    assert done.code == 0
    assert done.err.startswith("3 annotators (ann, bob, cem), 1 judge (gpt), 40 items, choice")


def test_missing_columns_are_all_named_with_the_option(call, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("text_id,coder,code\n1,ann,yes\n")

    done = call("examine", "--humans", str(path), "--judges", str(path))

    options = "--column item=text_id --column annotator=coder --column label=code"
    assert f"Name them with {options}." in done.said


@pytest.mark.edges
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", "", ["empty.csv", "at least one label"]),
        ("blank.csv", "\n \n", ["blank.csv"]),
        ("header.csv", "item,annotator,label\n", ["header.csv", "no rows"]),
        ("column.csv", "text,annotator,label\n1,a,x\n", ["column.csv", "column `item` must exist"]),
        ("ragged.csv", "item,annotator,label\n1,a\n", ["ragged.csv:2", "3 fields"]),
        ("cut.json", '{"ann": {"i1": "yes", "i', ["cut.json:1", "text must be JSON"]),
        ("cut.jsonl", '{"item": 1, "annotator": "a", "label": 1}\n{"item"', ["cut.jsonl:2"]),
        ("list.jsonl", "[1, 2]\n", ["list.jsonl:1", "must be a JSON object"]),
        ("latin.jsonl", '{"item": 1}\n"é"'.encode("latin-1"), ["latin.jsonl:2", "UTF-8"]),
        ("fake.parquet", "PAR1 but not really", ["fake.parquet", "must be a whole Parquet file"]),
        ("labels.xlsx", "x", ["labels.xlsx", "must be a workbook"]),
        ("labels.txt", "x", ["labels.txt", "must end in one of"]),
        ("none.csv", None, ["none.csv", "must be a file that exists"]),
        ("folder.csv", "folder", ["folder.csv", "got the folder"]),
        (
            "twice.csv",
            "item,annotator,label\n1,a,x\n1,a,y\n",
            ["twice.csv:3", "once per question, item and rater"],
        ),
        (
            "mixed.jsonl",
            '{"item":1,"annotator":"a","label":"x"}\n{"item":2,"annotator":"a","label":3}\n',
            ["mixed.jsonl:2", "values of one type"],
        ),
    ],
)
@pytest.mark.parametrize("option", ["--humans", "--judges"])
def test_a_file_that_cannot_be_used_is_our_error(
    call, files, write, tmp_path, assert_one_line, option, name, content, words
):
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path = write(name, content if option == "--humans" or isinstance(content, bytes)
                     else content.replace("annotator", "judge"))  # fmt: skip
    arguments = dict(zip(files[::2], files[1::2], strict=True)) | {option: path}

    done = call("examine", *(word for pair in arguments.items() for word in pair))

    assert_one_line(done, *words)


def test_nothing_on_standard_input_is_our_error(call, files, assert_one_line):
    done = call("examine", *files[:2], "--judges", "-", "--format", "csv")

    assert_one_line(done, "<stdin>", "empty")


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "2"], ["`--epsilon` must be in the interval [0, 1), got 2.0"]),
        (["--epsilon", "-0.1"], ["`--epsilon`"]),
        (["--epsilon", "nan"], ["`--epsilon` must be a number"]),
        (["--threshold", "2"], ["`--threshold` must be in [0, 1], got 2.0"]),
        (["--threshold", "nan"], ["`--threshold` must be in [0, 1]"]),
        (["--min-items", "0"], ["`--min-items` must be a whole number of at least 2"]),
        (["--min-annotators", "1"], ["`--min-annotators` must be"]),
        (["--false-discovery-rate", "0"], ["`--false-discovery-rate` must be in"]),
        (["--seed", "-1"], ["`--seed` must be"]),
        (["--expert", "zoe"], ["`--expert` must be one of the annotators 'ann'", "'zoe'"]),
        (["--quality", "ann=1"], ["`--quality` must name every annotator", "'bob'"]),
        (["--cluster", "source"], ["humans.csv: column `source` must exist"]),
        (["--column", "item=text"], ["column `text` must exist"]),
        (["--column", "colour=text"], ["'colour'"]),
        (["--rater", "zoe"], ["must hold 'zoe', got 'ann'"]),
        (["--gold", "none.csv"], ["none.csv"]),
        (
            ["--certificate", "none/record.json"],
            ["record.json: must be in a folder that can be written to"],
        ),
        (["--certificate", "."], ["folder"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else "",
)
def test_a_setting_that_breaks_a_rule_is_our_error(
    call, files, assert_one_line, monkeypatch, tmp_path, options, words
):
    monkeypatch.chdir(tmp_path)

    assert_one_line(call("examine", *files, *options), *words)


def test_an_unknown_judge_is_a_usage_error(call, files):
    done = call("examine", *files, "--only", "nobody")

    assert done.code == 2
    assert "`--only` must be one of 'bad', 'good', got 'nobody'" in done.said


def test_no_item_in_common_is_our_error(call, files, write, assert_one_line):
    judges = write("j.json", {"stranger": {"elsewhere": "yes"}})

    assert_one_line(call("examine", *files[:2], "--judges", judges), "none in common", "'stranger'")


# Kinds and alignments -------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    "options",
    [
        ["--alignment", "kappa"],
        ["--kind", "likert"],
        ["--epsilon-mode", "ratio"],
        ["--labels", '["yes"'],
        ["--quality", "ann"],
        ["--quality", "ann=much"],
        ["--column", "item"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_a_usage_error(call, files, options):
    done = call("examine", *files, *options)

    assert done.code == 2
    assert done.out == ""
    assert any(option in done.said for option in options[::2])
    assert "Traceback" not in done.said


@pytest.mark.edges
@pytest.mark.parametrize(
    "options",
    [
        ["--alignment", "jaccard", "--alignment", "neg_rmse"],
        ["--alignment", "similarity", "--alignment", "hamming"],
        ["--alignment", "neg_rmse", "--kind", "choice"],
        ["--alignment", "jaccard", "--kind", "boolean"],
    ],
    ids=" ".join,
)
def test_an_alignment_of_another_kind_is_our_error(call, files, assert_one_line, options):
    assert_one_line(call("examine", *files, *options), "`--alignment` must")


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ([], "choice"),
        (["--alignment", "accuracy", "--alignment", "jaccard"], "multilabel"),
        (["--alignment", "neg_rmse", "--alignment", "accuracy"], "scale"),
        (["--alignment", "similarity"], "text"),
        (["--kind", "boolean"], "boolean"),
        (["--kind", "scale"], "scale"),
    ],
    ids=str,
)
def test_alignments_declare_the_kind(call, write, options, kind):
    labels = {"scale": ["1", "2.5"], "multilabel": ['["a"]', "[]"]}.get(kind, ["yes", "no"])
    rows = [(i, labels[i % 2].replace('"', '""')) for i in range(40)]
    humans = write("h.csv", "item,a,b,c\n" + "".join(f'{i},"{x}","{x}","{x}"\n' for i, x in rows))
    judges = write("j.csv", "item,label\n" + "".join(f'{i},"{x}"\n' for i, x in rows))

    done = call("examine", "--humans", humans, "--judges", judges, *options, "--json")

    assert (done.code, done.said) == (0, "")
    assert done.json["settings"]["kind"] == kind
    assert {row["advantage_probability"] for row in done.json["examinations"]} == {1.0}
    assert done.json["dropped"] == []


# Options --------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["--epsilon", "0.1"], {"epsilon": 0.1}),
        (["--epsilon-mode", "multiplicative"], {"epsilon_mode": "multiplicative"}),
        (["--weights", "imbalance"], {"weights": "imbalance"}),
        (["--expert", "bob"], {"expert": "bob"}),
        (
            ["--quality", "ann=1", "--quality", "bob=2", "--quality", "eve=0.5"],
            {"quality": {"ann": 1.0, "bob": 2.0, "eve": 0.5}},
        ),
        (["--min-items", "61"], {"min_items": 61}),
        (["--min-annotators", "3"], {"min_annotators": 3}),
        (["--false-discovery-rate", "0.2"], {"false_discovery_rate": 0.2}),
        (["--seed", "7"], {"seed": 7}),
        (["--labels", "yes,no"], {"labels": ["yes", "no"]}),
        (["--labels", '["yes", "no", "so"]'], {"labels": ["yes", "no", "so"]}),
        (["--alignment", "similarity", "--kind", "text"], {"alignment": "similarity"}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:ω is undefined")
def test_an_option_is_the_librarys_setting(call, files, expected, options, settings):
    done = call("examine", *files, *options, "--json")

    assert (done.code, done.said) == (0, "")
    results = expected(**{"epsilon": 0.2} | settings)
    for name, result in results.items():
        row = by_judge(done)[name]
        for figure in ("winning_rate", "advantage_probability", "human_advantage"):
            value = getattr(result, figure)
            assert row[figure] == (None if value != value else pytest.approx(value)), figure
        assert row["outcome"] == result.outcome
        assert row["settings"]["seed"] == settings.get("seed", 0)
        p_values = [person.p_value for person in result.annotators]
        assert [person["p_value"] for person in row["annotators"]] == pytest.approx(p_values)


def test_margins_stand_in_the_order_given_in_json(call, files):
    done = call("examine", *files, *repeated("--epsilon", [0.3, 0, 0.1]), "--json")

    assert [row["epsilon"] for row in done.json["examinations"]] == [0.3, 0.0, 0.1] * 2


@pytest.mark.ci
def test_against_gold_the_margin_is_0(call, study, write, files):
    gold = study["judges"]["good"]
    path = write("gold.csv", "item,label\n" + "".join(f"{i},{x}\n" for i, x in gold.items()))

    done = call("examine", *files, "--gold", path, "--json")
    declared = call("examine", *files, "--gold", path, "--epsilon", "0.1", "--json")

    result = voirdire.outperforms_humans(study["judges"]["bad"], study["humans"], gold=gold)
    row = by_judge(done)["bad"]
    assert row["epsilon"] == 0.0
    assert row["settings"]["gold"] is True
    assert_is(row, result)
    assert by_judge(done)["good"]["advantage_probability"] == 1.0
    assert by_judge(declared)["bad"]["epsilon"] == 0.1


def test_labels_outside_the_universe_are_dropped_and_listed(call, study, files, write):
    humans = study["humans"] | {"ann": study["humans"]["ann"] | {"i0": "perhaps"}}
    path = write("h.json", humans)

    done = call("examine", "--humans", path, *files[2:], "--labels", "yes,no", "--json")
    shown = call("examine", "--humans", path, *files[2:], "--labels", "yes,no")

    (drop,) = done.json["dropped"]
    assert (drop["item"], drop["rater"], drop["value"]) == ("i0", "ann", "perhaps")
    assert "unknown label" in drop["reason"]
    assert "set aside: unknown label" in shown.out


# Several questions ----------------------------------------------------------------------------


@pytest.fixture
def two_questions(study, tmp_path):
    """Write files with two questions of different kinds."""
    for name, role in (("humans", "annotator"), ("judges", "judge")):
        rows = [
            {"item": i, role: r, "question": "polite", "label": x}
            for r, labels in study[name].items()
            for i, x in labels.items()
        ]
        rows += [row | {"question": "helpful"} for row in rows]
        rows += [
            row | {"question": "stars", "label": int(row["label"] == "yes")} for row in rows[:60]
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text)
    return ["--humans", tmp_path / "humans.jsonl", "--judges", tmp_path / "judges.jsonl"]


def test_chosen_questions_are_examined_and_pooled(call, two_questions, expected):
    asked = repeated("--question", ["helpful", "polite"])

    done = call("examine", *two_questions, *asked, "--json")

    assert (done.code, done.said) == (0, "")
    assert [row["question"] for row in done.json["examinations"]] == [
        "helpful",
        "helpful",
        "polite",
        "polite",
    ]
    assert [row["n_tests"] for row in done.json["pooled"]] == [6, 6]
    for row in done.json["examinations"]:
        assert_is(row, expected()[row["judge"]])


def test_one_question_among_others_of_another_kind(call, two_questions, expected):
    done = call("examine", *two_questions, "--question", "polite", "--json")

    assert done.code == 0
    assert_is(by_judge(done)["good"], expected()["good"])
    assert done.json["pooled"] == []


def test_an_unknown_question_is_our_error(call, two_questions, assert_one_line):
    assert_one_line(call("examine", *two_questions, "--question", "rude"), "'rude'", "'polite'")


# The certificate ------------------------------------------------------------------------------


def test_a_gate_that_is_not_passed_still_leaves_its_certificate(call, files, tmp_path):
    done = call("examine", *files, "--gate", "--certificate", tmp_path / "record.json")

    assert done.code == GATE_NOT_PASSED == 3
    outcomes = json.loads((tmp_path / "record.json").read_text())["outcomes"]
    assert outcomes["label | bad | accuracy | 0.2"] == "failed"


# What is printed ------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("extra", [[], ["--details"], ["--gate"]])
def test_json_is_alone_on_stdout(call, files, extra):
    done = call("examine", *files, "--json", *extra)

    assert done.said.count("\n") == len(extra[:1]) * (extra == ["--gate"])
    assert done.json.keys() == {
        "examinations",
        "pooled",
        "questions",
        "dropped",
        "cautions",
        "settings",
        "understood",
    }


def test_json_is_what_the_library_writes(call, files):
    humans = read_labels(files[1], role="annotator", kind="choice")
    judges = read_labels(files[3], role="judge", kind="choice")
    found = examine(humans=humans, judges=judges, plan=Plan(epsilon=[0.2]))

    done = call("examine", *files, "--json")

    written = json.loads(to_json(found))
    assert done.json["examinations"] == written["examinations"]


def test_what_was_understood_counts_rows_and_names_the_encoding(call, study, files, write):
    rows = [f"{i},{r},{x}" for r, given in study["humans"].items() for i, x in given.items()]
    text = "\n".join(["item,annotator,label", *rows, "i0,zoé,perhaps"])
    humans = write("latin.csv", text.encode("latin-1"))

    done = call("examine", "--humans", humans, *files[2:], "--labels", "yes,no", "--json")

    assert done.err == (
        "3 annotators (ann, bob, eve), 2 judges (good, bad), 60 items, choice, 2 labels, "
        "1 row set aside "
        f"({humans} was read as Windows-1252, since it is not UTF-8; "
        "declare another encoding if letters look wrong)\n"
    )
    assert [(row["rater"], row["value"]) for row in done.json["dropped"]] == [("zoé", "perhaps")]


@pytest.mark.ci
@pytest.mark.parametrize(
    "name",
    [
        "<script>",
        "[red]x[/]",
        "[/]",
        "\x1b[31mred",
        "a\nb",
        "שלום",
        "中文",
        "x" * 1_000_000,
        "\u202e",
    ],
    ids=lambda name: ascii(name[:9]),
)
def test_hostile_names_and_labels_are_inert(call, study, write, name):
    humans = {f"{name}{n}": {i: {"yes": name, "no": "no"}[x] for i, x in labels.items()}
              for n, labels in study["humans"].items()}  # fmt: skip
    judges = {name: next(iter(humans.values())) | {"i0": "no", "i1": name}}
    arguments = ["--humans", write("h.json", humans), "--judges", write("j.json", judges)]

    shown = call("examine", *arguments, "--details")
    done = call("examine", *arguments, "--json")

    assert shown.code == done.code == 0
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown.out)
    assert max(map(len, shown.out.splitlines())) <= 120
    assert len(shown.out) < 30_000
    assert done.json["examinations"][0]["judge"] == name


# GovTech's table ------------------------------------------------------------------------------


@pytest.fixture
def toxicity():
    """Give the options that read the bundled multi-label data."""
    folder = package_files("voirdire") / "data" / "demo"
    labels = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))["labels"]
    return [
        *("--humans", folder / "annotations.jsonl", "--judges", folder / "judges.jsonl"),
        *("--question", "toxicity", "--labels", ",".join(labels)),
        *repeated("--alignment", ["accuracy", "jaccard", "jaccard_macro", "hamming"]),
        *repeated("--epsilon", [0.3, 0, 0.05, 0.15, 0.1, 0.2, 0.25]),
    ]


@pytest.mark.ci
def test_one_run_prints_the_table_ranked_by_advantage(call, toxicity):
    rows = call("examine", *toxicity, "--json").json["examinations"]

    shown = call("examine", *toxicity, "--details").out

    found = {(row["judge"], row["epsilon"]): row for row in rows if row["alignment"] == "accuracy"}
    lines = [line for line in shown.splitlines() if len(MARKED.findall(line)) == len(EPSILONS)]
    judges = [line.split()[0] for line in lines]
    advantages = [found[judge, 0.0]["advantage_probability"] for judge in judges]
    assert len(judges) == 8
    assert advantages == sorted(advantages, reverse=True)
    for line, judge in zip(lines, judges, strict=True):
        rates = [float(rate) for rate, _ in MARKED.findall(line)]
        assert rates == pytest.approx(
            [found[judge, epsilon]["winning_rate"] for epsilon in EPSILONS], abs=0.005
        )
    for alignment in ("jaccard", "jaccard_macro", "hamming"):
        assert len(re.findall(rf"^{alignment}  ", shown, re.MULTILINE)) == 8


# The report, and what is known about the items -------------------------------------------------


@pytest.fixture
def known(tmp_path, files):
    """Know two things about every item of the annotations."""
    items = read_labels(files[1], role="annotator", kind="choice").frame["item"].unique().to_list()
    rows = [
        json.dumps({"item": item, "language": "en" if place % 2 else "zh", "length": place})
        for place, item in enumerate(sorted(items))
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.ci
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_report_is_one_page_in_the_language_asked_for(call, files, tmp_path, language):
    page = tmp_path / "report.html"

    done = call("examine", *files, "--report", page, "--report-language", language)

    assert (done.code, done.said) == (0, f"report: {page}\n")
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert f'<html lang="{language}' in text
    assert ("标注" in text) == (language == "zh")


def test_items_are_sliced_by_what_is_known_about_them(call, files, known):
    all_columns = call("examine", *files, "--items", known, "--json").json
    one = call("examine", *files, "--items", known, "--slice", "language", "--json").json

    def columns(found):
        [question] = found["questions"][:1]
        return {
            row["column"] for judge in question["diagnosis"]["judges"] for row in judge["slices"]
        }

    assert columns(one) <= {"language"}
    assert columns(all_columns) <= {"language", "length"}
    assert "examinations" in one


def test_a_slice_needs_items(call, files):
    done = call("examine", *files, "--slice", "language")

    assert done.code == 2
    assert "`--items`" in done.said
