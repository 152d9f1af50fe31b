"""A cascade in a YAML file: what it may say, and what is wrong with it, by line and column."""

import re

import numpy as np
import pytest

from judging_files import RUBRIC, make_items
from voirdire.errors import InputError, RubricError
from voirdire.judging import distill_judge, judge, load_judges
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text

WHOLE = """\
schema: voirdire.cascade/1
cascade:
  name: local-then-small
  first: local
  unsure: {default: [0.05, 0.95], apology: [0.2, 0.8]}
  propositions: [apology, fully_complies]
  then:
    model: vllm/small
    base_url: http://127.0.0.1:9/v1
    mode: single
    probability: stated
    concurrency: 7
    max_cost: 2.5
    price: {input: 1, output: 2}
"""
LEAST = """\
schema: voirdire.cascade/1
cascade: {first: local, unsure: [0, 0], then: {model: ollama/x}}
"""
ONE_ITEM = [Item(id="a", response="b")]


def cascade_of(path, **settings):
    (cascade,) = load_judges(path, **settings)
    return cascade


@pytest.fixture
def write(tmp_path):
    """Write a file and give its path."""

    def write(text, name="cascade.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_everything_that_a_file_says_is_taken(write):
    cascade = cascade_of(write(WHOLE))

    then = cascade.then
    assert (cascade.name, cascade.first) == ("local-then-small", "local")
    assert cascade.unsure == {"default": [0.05, 0.95], "apology": [0.2, 0.8]}
    assert cascade.propositions == ["apology", "fully_complies"]
    assert (then.name, then.mode, then.probability) == ("vllm/small", "single", "stated")
    assert (then.concurrency, then.max_cost, then.price.output) == (7, 2.5, 2.0)
    assert cascade_of(write(WHOLE), max_cost=0.5).then.max_cost == 0.5


def test_a_judge_may_be_the_path_of_a_file(write):
    path = write(LEAST)

    found = [judge(ONE_ITEM, judge=given) for given in (path, str(path), cascade_of(path))]

    assert [each.judge for each in found] == ["local+ollama/x"] * 3
    assert len({each.fingerprint for each in found}) == 1


def test_the_first_judge_lies_beside_the_file(tmp_path, write, monkeypatch):
    rows = make_items(60)
    items = [Item(id=row["id"], response=row["response"]) for row in rows]
    labels = np.array([[row["truth"][name] for name in ("sorry", "asks")] for row in rows])
    made = distill_judge(items, labels.astype(float), questions=("sorry", "asks"), n_folds=3)
    (tmp_path / "deep").mkdir()
    made.save(tmp_path / "deep" / "mine.npz")
    write(LEAST.replace("first: local", "first: mine.npz"), "deep/cascade.yml")
    monkeypatch.chdir(tmp_path)

    found = judge(items, rubric=rubric_from_text(RUBRIC), judge="deep/cascade.yml")

    assert np.array_equal(found.probability("sorry"), made.probabilities(items)[:, 0])


@pytest.mark.edges
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("cascade/1", "cascade/2", "1:9: `schema` must be one of voirdire.judges/1, "),
        ("cascade/1", "jury/1", "1:1: a file of judges must have the key `jury`"),
        ("  first: local\n", "", "3:3: `cascade` must have the key `first`"),
        ("first: local", "first: ollama/x", "4:10: `first` must be 'local', a file that"),
        ("unsure: ", "speed: 3\n  unsure: ", "5:3: `cascade` has no key 'speed'"),
        ("[0.05, 0.95]", "[0.95, 0.05]", "5:11: `unsure['default']` must be two finite"),
        ("default: ", "usual: ", "5:11: `unsure` must have the key 'default'"),
        ("[apology, fully_complies]", "apology", "6:17: `propositions` must be a list, got"),
        ("    model: vllm/small\n", "", "8:5: a judge must have the key `model`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write, old, new, problem):
    path = write(WHOLE.replace(old, new))

    with pytest.raises(RubricError, match=re.escape(f"cascade.yaml:{problem}")):
        cascade_of(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.yaml", "schema: voirdire.cascade/1\ncascade: [\n", "must be YAML"),
        (
            "c.yaml",
            "{schema: voirdire.cascade/1, cascade: 3}\n",
            "`cascade` must be a mapping, got",
        ),
        ("c.txt", "cascade: 3\n", "must be a local judge"),
        (
            "c.yaml",
            "{schema: voirdire.judges/1, judges: [{model: vllm/a}, {model: vllm/b}]}\n",
            r"must be one judge, got 2 in .*onto a jury",
        ),
    ],
)
def test_a_file_that_is_no_cascade_is_named(write, name, text, message):
    with pytest.raises(InputError, match=message):
        judge(ONE_ITEM, judge=write(text, name))
    with pytest.raises(InputError, match=r"none\.yaml: must be a file that exists"):
        judge(ONE_ITEM, judge="none.yaml")


def test_a_cascade_has_no_key_sent_that_was_not_allowed(write, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "open-sesame")
    monkeypatch.delenv("VOIRDIRE_KEY_VARIABLES", raising=False)
    named = "    api_key_env: DATABASE_PASSWORD\n    mode: single"
    path = write(WHOLE.replace("    mode: single", named))

    with pytest.raises(
        InputError, match=r"VOIRDIRE_KEY_VARIABLES=DATABASE_PASSWORD@127\.0\.0\.1:9"
    ):
        cascade_of(path)
    assert cascade_of(path, reads_keys=False).name == "local-then-small"
