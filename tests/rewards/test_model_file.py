"""The file of a reward: what comes back, and what is refused."""

import dataclasses
import json
import math
import os
import stat

import pytest

from rewards.reward_cases import TINY, WEIGHTS, tiny_reward
from voirdire.errors import InputError
from voirdire.rewards import BehaviorReward, load_reward, reward_of_weights
from voirdire.rubrics import load_rubric

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")


@pytest.fixture
def path(tmp_path):
    """Save a reward and give its file."""
    tiny_reward().save(tmp_path / "reward.json")
    return tmp_path / "reward.json"


@pytest.fixture
def change(path):
    """Give a function that changes the file with a function of its content."""

    def changed(edit):
        content = json.loads(path.read_text(encoding="utf-8"))
        edit(content)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return changed


def test_a_saved_reward_is_the_same_when_it_is_loaded(tmp_path):
    reward = dataclasses.replace(tiny_reward(), settings={"use_base": True, "l2": {0.1: 2.0}})
    reward = dataclasses.replace(
        reward,
        behaviors={
            "chat": BehaviorReward(
                behavior="chat",
                weights=reward.behaviors["chat"].weights,
                mean=0.25,
                standard_deviation=2.0,
                figures={"n": 3, "rate": float("nan")},
            )
        },
    )

    reward.save(tmp_path / "r.json")
    found = load_reward(tmp_path / "r.json")

    assert found.content_hash == reward.content_hash
    assert found.rubric == reward.rubric
    assert found.behaviors["chat"].weights == reward.behaviors["chat"].weights
    assert list(found.behaviors["chat"].weights) == list(reward.feature_set("chat").names)
    assert (found.behaviors["chat"].mean, found.behaviors["chat"].figures["n"]) == (0.25, 3)
    assert math.isnan(found.behaviors["chat"].mean_ideal)
    assert found.uses_base
    assert (found.created, found.versions) == (reward.created, reward.versions)


def test_the_same_reward_gives_the_same_bytes_but_for_the_time(tmp_path):
    reward = tiny_reward()
    again = dataclasses.replace(tiny_reward(), created=reward.created)

    reward.save(tmp_path / "a.json")
    again.save(tmp_path / "b.json")

    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_reward_is_replaced_and_keeps_its_mode(path):
    path.chmod(0o640)

    tiny_reward(name="other").save(path)

    assert load_reward(path).name == "other"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in path.parent.iterdir()] == ["reward.json"]


@pytest.mark.parametrize("content", ['{"schema": "voirdire.certificate/1"}', "my notes", "[1]"])
def test_nothing_but_a_reward_is_replaced(tmp_path, content):
    path = tmp_path / "mine.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(InputError, match="holds something else"):
        tiny_reward().save(path)

    assert path.read_text(encoding="utf-8") == content


def test_a_newer_reward_is_known_as_a_reward_but_not_read(change):
    path = change(lambda content: content.update(schema="voirdire.reward/2"))

    with pytest.raises(InputError, match=r"got 'voirdire.reward/2'\. A newer voirdire wrote it"):
        load_reward(path)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda c: c["behaviors"]["chat"]["weights"].update(rude=7.0), "that was changed"),
        (lambda c: c["settings"].update(use_base=True), "that was changed"),
        (lambda c: c["judge"].update(fingerprint="sha256:1"), "that was changed"),
        (lambda c: c.update(name="better"), "that was changed"),
        (lambda c: c["rubric"].update(text=c["rubric"]["text"].replace("rude?", "nice?")), "its r"),
        (lambda c: c["behaviors"]["chat"]["weights"].pop("rude"), "every feature .* 'rude'"),
        (lambda c: c["behaviors"]["chat"]["weights"].update(x=1.0), "difference in 'x'"),
        (
            lambda c: c["behaviors"]["chat"]["weights"].update(rude="7"),
            r"rude` must be a number, got '7'",
        ),
        (
            lambda c: c["behaviors"]["chat"]["weights"].update(rude=None),
            "must be a number, got nothing",
        ),
        (
            lambda c: c["behaviors"]["chat"]["weights"].update(rude=True),
            "must be a number, got true",
        ),
        (lambda c: c["behaviors"].update(dance=c["behaviors"]["chat"]), "'dance'"),
        (lambda c: c.update(surprise=1), "no key 'surprise'"),
        (lambda c: c["judge"].update(api_key="x"), "`judge` has no key 'api_key'"),
        (lambda c: c["judge"].update(threshold=1.5), r"threshold must be in \(0, 1\)"),
        (lambda c: c.update(orientation="sideways"), "orientation"),
        (lambda c: c.pop("judge"), "must have the key `judge`"),
        (lambda c: c.pop("schema"), "without the schema"),
        (lambda c: c["rubric"].update(text="- a\n- b\n"), "its rubric"),
        (lambda c: c["certificates"].append({"schema": "x"}), "certificate 1"),
    ],
)
def test_a_file_that_was_changed_or_damaged_is_refused(change, edit, words):
    path = change(edit)

    with pytest.raises(InputError, match=words):
        load_reward(path)


def test_every_field_that_is_not_known_is_named_before_the_ones_that_are_missing(change):
    def misspell(content):
        content["behaviours"] = content.pop("behaviors")
        content["judge"]["threshholld"] = content["judge"].pop("threshold")
        content["rubric"]["x" * 100] = 1

    with pytest.raises(InputError, match="no key 'behaviours'") as caught:
        load_reward(change(misspell))

    told = str(caught.value)
    assert "a reward has no key 'behaviours'. Did you mean `behaviors`?" in told
    assert "`judge` has no key 'threshholld'. Did you mean `threshold`?" in told
    assert "x" * 50 in told
    assert "x" * 90 not in told
    assert "must have" not in told


def test_a_field_of_one_behavior_is_named_with_it(change):
    def misspell(content):
        content["behaviors"]["chat"]["weightss"] = content["behaviors"]["chat"].pop("weights")

    with pytest.raises(
        InputError, match=r"`behaviors\.chat` has no key 'weightss'\. Did you mean `weights`\?"
    ):
        load_reward(change(misspell))


def test_a_behavior_with_the_name_of_a_field_is_still_a_behavior(change):
    def misspell(content):
        content["behaviors"]["mean"] = content["behaviors"]["refuse"]
        content["behaviors"]["chat"]["more"] = 1

    with pytest.raises(InputError, match=r"`behaviors\.chat` has no key 'more'"):
        load_reward(change(misspell))


def test_a_misspelt_schema_is_named(change):
    def misspell(content):
        content["shcema"] = content.pop("schema")

    with pytest.raises(InputError, match=r"Was `shcema` meant for `schema`\?"):
        load_reward(change(misspell))


@pytest.mark.edges
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b"null", "got nothing"),
        (b"[]", "got an empty list"),
        (b"{", "something else"),
        (b"\xff\xfe{}", "must be UTF-8"),
        (b'{"schema": "voirdire.reward/1", "x": NaN}', "NaN is no number"),
        (b'{"schema": "voirdire.reward/1", "x": Infinity}', "Infinity is no number"),
        (b'{"schema": "voirdire.reward/1", "x": 1e999}', "too large a number"),
        (b'{"schema": "voirdire.reward/1", "x": ' + b"9" * 5_000 + b"}", "something else"),
        (b"[" * 100_000, "nested too deeply|something else"),
        (b'{"schema": "voirdire.examination/1"}', "another JSON object"),
        (b'{"schema": 7}', "another JSON object"),
    ],
)
def test_what_is_no_reward_is_refused_in_one_line(tmp_path, data, words):
    path = tmp_path / "r.json"
    path.write_bytes(data)

    with pytest.raises(InputError, match=words) as caught:
        load_reward(path)

    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_a_folder_and_a_pipe_are_refused(tmp_path):
    with pytest.raises(InputError, match="must be a file that exists"):
        load_reward(tmp_path / "none.json")
    with pytest.raises(InputError, match="must be a file, got a folder"):
        load_reward(tmp_path)
    with pytest.raises(InputError, match="regular file"):
        load_reward(os.devnull)


@pytest.mark.ci
def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "r.json"
    with path.open("wb") as file:
        file.truncate(65 * 1024 * 1024)

    with pytest.raises(InputError, match="at most 67,108,864 bytes"):
        load_reward(path)


# The rubric -----------------------------------------------------------------------------------


def test_a_reward_is_refused_under_another_version_of_its_rubric(path, tmp_path):
    other = tmp_path / "tiny.yaml"
    other.write_text(TINY.replace('version: "1"', 'version: "2"'), encoding="utf-8")

    with pytest.raises(InputError, match=r"rubric 'tiny' version '1' .* got 'tiny' version '2'"):
        load_reward(path, rubric=other)
    with pytest.raises(InputError, match="got 'safety' version"):
        load_reward(path, rubric="safety")


def test_the_rubric_that_it_was_made_for_may_be_named(path, tmp_path):
    same = tmp_path / "renamed.yaml"
    same.write_text("# a comment\n" + TINY, encoding="utf-8")

    assert load_reward(path, rubric=same).name == "reward"


def test_a_rubric_file_that_was_edited_after_the_fit_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY, encoding="utf-8")
    reward_of_weights(WEIGHTS, rubric="tiny.yaml").save("reward.json")
    assert load_reward("reward.json").rubric.name == "tiny"

    (tmp_path / "tiny.yaml").write_text(TINY.replace("Is it rude?", "Is it bad?"), encoding="utf-8")

    with pytest.raises(InputError, match=r"was made for rubric 'tiny' .* in tiny\.yaml"):
        load_reward("reward.json")


@pytest.mark.parametrize("content", [None, "no rubric at all: [", TINY.replace("tiny", "huge")])
def test_a_rubric_file_that_is_gone_or_is_another_one_says_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    rubric = tmp_path / "tiny.yaml"
    rubric.write_text(TINY, encoding="utf-8")
    reward_of_weights(WEIGHTS, rubric="tiny.yaml").save("reward.json")

    if content is None:
        rubric.unlink()
    else:
        rubric.write_text(content, encoding="utf-8")

    assert load_reward("reward.json").rubric.name == "tiny"


def test_a_rubric_on_another_machine_is_not_looked_for(tmp_path):
    """A name that begins with two slashes is a server's, which would be told who asks."""
    rubric = tmp_path / "tiny.yaml"
    rubric.write_text(TINY, encoding="utf-8")
    reward = reward_of_weights(WEIGHTS, rubric=rubric)
    elsewhere = dataclasses.replace(reward.rubric, source=f"/{rubric}")
    dataclasses.replace(reward, rubric=elsewhere).save(tmp_path / "reward.json")
    rubric.write_text(TINY.replace("Is it rude?", "Is it bad?"), encoding="utf-8")
    assert rubric.samefile(f"/{rubric}")  # here the name leads to the file

    assert load_reward(tmp_path / "reward.json").rubric.name == "tiny"


@pytest.mark.edges
@pytest.mark.parametrize("place", ["settings", "made_by", "figures"])
@pytest.mark.parametrize("depth", [100, 500, 900, 100_000])
def test_a_reward_of_many_levels_is_refused_in_one_line(tmp_path, place, depth):
    tiny_reward().save(tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_bytes())
    found = {
        "settings": content["settings"],
        "made_by": content["judge"]["made_by"],
        "figures": content["behaviors"]["chat"]["figures"],
    }
    found[place]["x"] = "@"
    nested = json.dumps(content).replace('"@"', "[" * depth + "]" * depth)
    (tmp_path / "r.json").write_text(nested, encoding="utf-8")

    with pytest.raises(InputError, match="nested too deeply"):
        load_reward(tmp_path / "r.json")


def test_a_pipe_in_the_place_of_the_rubric_file_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rubric = tmp_path / "tiny.yaml"
    rubric.write_text(TINY, encoding="utf-8")
    reward_of_weights(WEIGHTS, rubric="tiny.yaml").save("reward.json")
    rubric.unlink()
    os.mkfifo(rubric)

    assert load_reward("reward.json").rubric.name == "tiny"


def test_a_built_in_rubric_of_another_version_is_noticed(tmp_path):
    safety = load_rubric("safety")
    older = dataclasses.replace(safety, version="0.1")  # read from what is built in, as it says
    assert older.source == "built-in safety"
    reward_of_weights({"comply": {"fully_complies": 1}}, rubric=older).save(tmp_path / "r.json")

    with pytest.raises(InputError, match=r"version '0\.1' .* in built-in safety"):
        load_reward(tmp_path / "r.json")


def test_a_reward_of_a_built_in_rubric_is_loaded(tmp_path):
    reward = reward_of_weights({"comply": {"fully_complies": 1}}, rubric="safety")

    reward.save(tmp_path / "r.json")

    assert load_reward(tmp_path / "r.json", rubric="safety").content_hash == reward.content_hash
