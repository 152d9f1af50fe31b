"""The examination of a reward as its JSON, simulated once and kept in a file."""

import copy
import functools
import json
import re
from pathlib import Path

import pytest
from markupsafe import Markup

from sketched_figures import are_drawn, drawn, sketched_figures  # noqa: F401  # fixtures
from voirdire.reporting import reward_report

JSON = Path(__file__).with_name("examination.json").read_text(encoding="utf-8")


@pytest.fixture
def content():
    """Give the JSON object, free to change."""
    return json.loads(JSON)


@pytest.fixture
def light(content):
    """Give the same of one behavior: figures are what takes time."""
    parts = ("error_rates", "refusals", "drives")
    kept = {
        part: [row for row in content[part] if row["behavior"] in (None, "comply")]
        for part in parts
    }
    return content | kept


@pytest.fixture
def without_base(light):
    """Take the base reward away, as an examination of rules alone writes it."""
    nothing = {"value": None, "low": None, "high": None, "n": 0, "n_prompts": 0}
    changed = copy.deepcopy(light)
    for part, name in (("error_rates", "rate"), ("refusals", "rate"), ("bench", "accuracy")):
        for row in changed[part]:
            if row["signal"] == "base":
                row[name] = dict(nothing)
    return changed


@pytest.fixture
def minimal():
    """Give the fewest keys that are allowed."""
    return {
        "schema": "voirdire.reward_examination/1",
        "reward": {"name": "by hand"},
        "n_items": 0,
        "n_prompts": 0,
        "n_comparisons": 0,
        "is_held_out": True,
    }


@functools.cache
def _rendered(text, options, _drawn):
    return reward_report(text, **dict(options))


@pytest.fixture
def rendered():
    """Render a page, the same one only once: figures take time."""
    return lambda content, **options: _rendered(
        json.dumps(content), tuple(options.items()), are_drawn()
    )


@pytest.fixture
def page_text(rendered):
    """Render a page and give its words."""

    def render(content, **options):
        page = rendered(content, **options)
        body = re.sub(r"<(style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
        apart = r'<span class="sub">|<span class="chip|</(?:span|td|th|p|li|h\d|caption|dt|dd)>'
        body = re.sub(apart, lambda tag: f" {tag.group()}", body)
        text = Markup(body).striptags().replace("\N{NO-BREAK SPACE}", " ")
        return " ".join(text.split())

    return render


@pytest.fixture
def verdict_of(rendered):
    """Read the verdict of a page: its state, and its words in short and in whole."""

    def read(content, **options):
        page = rendered(content, **options)
        told = re.search(r'<p class="headline">(.*?)</p>', page, flags=re.DOTALL)[1]
        chip = r'<span class="chip (\w+)">(.*?)</td>'
        state, chip = re.search(chip, page, flags=re.DOTALL).groups()
        short, told = (
            Markup(each).striptags().replace("\N{NO-BREAK SPACE}", " ") for each in (chip, told)
        )
        return state, short.partition(" ")[2], told

    return read
