"""Options from a file, and the file that a run leaves beside its output."""

import json

import pytest
import yaml

PASSWORD = "hunter" + "2" * 8


def written(path, **settings):
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


@pytest.mark.ci
def test_a_file_gives_options_and_the_command_line_counts_before_it(call, files, tmp_path):
    settings = written(
        tmp_path / "study.yaml",
        humans=str(files[1]),
        judges=[str(files[3])],
        epsilon=[0.1, 0.3],
        quality={"ann": 2, "bob": 1, "eve": 1},
        **{"min-items": 20, "resamples": 0, "json": True},
    )
    typed = [word for x in (0.1, 0.3) for word in ("--epsilon", x)]
    weights = [word for x in ("ann=2", "bob=1", "eve=1") for word in ("--quality", x)]
    same = call("examine", *files, *typed, *weights, "--min-items", 20, "--resamples", 0, "--json")

    by_file = call("examine", "--settings", settings)
    over_it = call("examine", f"--settings={settings}", "--epsilon", 0.2)

    assert by_file.code == 0
    assert by_file.json == same.json
    assert {row["epsilon"] for row in over_it.json["examinations"]} == {0.2}


@pytest.mark.ci
def test_a_run_leaves_its_settings_beside_its_output_and_they_do_the_same_again(
    call, files, tmp_path
):
    first = tmp_path / "first.json"
    call("examine", *files, "--certificate", first, "--epsilon", 0.15, "--resamples", 0)
    settings = tmp_path / "first.json.settings.yaml"

    again = call("examine", "--settings", settings, "--certificate", tmp_path / "second.json")

    assert again.code == 0
    mine, its = (json.loads(path.read_text()) for path in (first, tmp_path / "second.json"))
    assert {name for name in mine if mine[name] != its[name]} <= {"created", "content_hash"}
    said = yaml.safe_load(settings.read_text(encoding="utf-8"))
    assert (said["command"], said["epsilon"], said["resamples"]) == ("examine", [0.15], 0)
    assert "#   min_items: 30" in settings.read_text(encoding="utf-8")


@pytest.mark.ci
def test_a_gate_that_is_not_passed_leaves_its_settings_too(call, files, tmp_path):
    done = call("examine", *files, "--gate", "--report", tmp_path / "r.html", "--resamples", 0)

    assert done.code == 3
    assert yaml.safe_load((tmp_path / "r.html.settings.yaml").read_text())["gate"] is True


@pytest.mark.edges
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("epsilonn: 0.1", "study.yaml:1:1: `epsilonn` is no option of `voirdire examine`. Did you"),
        ("seed: 1\ncommand: fit", "study.yaml:2:10: `command` must be examine, got 'fit'."),
        ("gate: maybe", "study.yaml:1:7: `gate` must be true or false, got 'maybe'."),
        ("- epsilon", "study.yaml:1:1: a settings file must be a mapping of options."),
        ("api: sk-proj-" + "a1" * 20, "must be without keys"),
    ],
)
def test_a_wrong_file_is_our_error_with_its_place(call, files, tmp_path, text, said):
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")

    done = call("examine", *files, "--settings", tmp_path / "study.yaml")

    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert "a1a1" not in done.err


def test_a_value_of_another_kind_is_refused_with_the_line_of_the_file(call, files, tmp_path):
    file = written(tmp_path / "study.yaml", epsilon="a fifth")

    wrong_number = call("examine", *files, "--settings", file)
    written(file, method="z")
    wrong_word = call("examine", *files, "--settings", file)

    assert wrong_number.code == wrong_word.code == 2
    assert "study.yaml:1: `--epsilon` must be a number, got 'a fifth'." in wrong_number.err
    assert "study.yaml:1: `--method` must be one of t, exact, got 'z'." in wrong_word.err


@pytest.mark.parametrize(
    "secret", [f"postgresql://ada:{PASSWORD}@127.0.0.1:1/x", f"http://h/v1?api_key={PASSWORD}"]
)
def test_what_holds_a_password_is_left_out_of_what_a_run_leaves(call, files, tmp_path, secret):
    call("examine", *files, "--certificate", tmp_path / "c.json", "--epsilon-reason", secret)

    left = (tmp_path / "c.json.settings.yaml").read_text(encoding="utf-8")

    assert PASSWORD not in left
    assert "epsilon_reason: left out, for it holds a password or a key" in left


def test_a_key_for_a_strangers_address_is_refused_where_a_file_names_it(
    call, tmp_path, monkeypatch
):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    (tmp_path / "items.csv").write_text("id,prompt,response\n1,hi,I can't help\n")
    file = written(
        tmp_path / "study.yaml",
        judge="openai/gpt-4o-mini",
        base_url="http://127.0.0.1:9/v1",
        api_key_env="DATABASE_PASSWORD",
    )

    done = call("judge", tmp_path / "items.csv", "-o", tmp_path / "v.csv", "--settings", file)

    assert done.code == 1
    assert "VOIRDIRE_KEY_VARIABLES=DATABASE_PASSWORD@" in done.err
    assert PASSWORD not in done.err


def test_nothing_of_somebody_is_replaced_and_nothing_is_left_by_a_look(call, files, tmp_path):
    mine = tmp_path / "c.json.settings.yaml"
    mine.write_text("mine: true\n")

    done = call("examine", *files, "--certificate", tmp_path / "c.json", "--resamples", 0)
    look = call("judge", files[1], "-o", tmp_path / "v.csv", "--show-prompt")
    call("examine", "--humans", "none.csv", "--judges", "none.csv", "--report", tmp_path / "r.html")

    assert done.code == 0
    assert "is no settings file and stays" in done.err
    assert mine.read_text() == "mine: true\n"
    assert look.code in (0, 1)
    assert [path.name for path in tmp_path.glob("*.settings.yaml")] == [mine.name]


def test_a_settings_option_without_a_file_is_a_usage_error(call, files):
    nothing = call("examine", *files, "--settings")
    none_there = call("examine", *files, "--settings", "none.yaml")

    assert nothing.code == 2
    assert "`--settings` needs a file." in nothing.err
    assert none_there.code == 1
    assert "none.yaml: must be a file that exists" in none_there.err
