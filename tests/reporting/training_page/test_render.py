"""The whole page of a run: its form, its numbers, and names that would like to act."""

import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from made_training_run import made_run
from voirdire.errors import InputError, NoDataError
from voirdire.reporting import training_report

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}",
    "{0.__class__}",
    "</style></svg><script>alert(2)</script>",
    "a\u202eb\u2066c\u2069",
    "\ud800",
    "\x00\x1b[31m",
    "' onmouseover='alert(3)",
    "标注员 שלום",
    "<!--",
    "x" * 100_000,
)


@pytest.fixture(params=["en", "zh"])
def language(request):
    return request.param


def written(value, digits=2):
    """Write a figure as the English page does."""
    text = f"{value:.{digits}f}".replace("-", "−")
    return re.sub(r"^(−?)0\.", r"\1.", text)


def mean(values):
    return float(np.nanmean(np.array(list(values), dtype=float)))


def test_the_page_is_well_formed(seen, language):
    page = seen(made_run(), language=language)

    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(page.ids)


def test_the_page_needs_nothing_from_elsewhere(rendered, seen, language):
    page = seen(made_run(), language=language)

    assert not {"script", "iframe", "object", "embed", "form", "img"} & set(page.elements)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    sources = [
        value
        for tag, name, value in page.attributes
        if name in ("src", "srcset", "xlink:href", "data") or (name == "href" and tag != "a")
    ]
    assert all(value.startswith(("data:", "#")) for value in sources)
    assert not re.search(r"url\((?!#)|@import", rendered(made_run(), language=language))


def hostile_run():
    names = {"propositions": HOSTILE, "behaviors": HOSTILE[:3], "classes": HOSTILE[3:9]}
    run = made_run(12, name=HOSTILE[0], folder=f"{HOSTILE[1]}/run", **names)
    return replace(
        run,
        framework=HOSTILE[4],
        judge=HOSTILE[2],
        fingerprint=HOSTILE[5],
        rubric=HOSTILE[6],
        created=HOSTILE[7],
        versions={HOSTILE[0]: HOSTILE[1]},
        dropped=HOSTILE,
        alarms=tuple(replace(alarm, text=HOSTILE[0]) for alarm in run.alarms),
    )


def test_hostile_text_stays_text(rendered, seen):
    options = {"language": "zh", "title": HOSTILE[0], "created": HOSTILE[1]}
    text = rendered(hostile_run(), **options)
    page = seen(hostile_run(), **options)

    assert page.open == []
    assert not {"script", "img"} & set(page.elements)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(1)" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "x" * 500 not in text
    text.encode("utf-8")


def test_no_word_is_left_in_braces_or_as_a_key(page_text, language):
    text = page_text(made_run(gone={3}), language=language)

    assert not re.search(r"[{}]|\b(training|reward)\.[a-z]+\.|Undefined|None\b(?! began)", text)
    assert not re.search(r"\bnan\b", text)


def test_the_story_has_the_numbers_of_the_run(page_text):
    run = made_run(40)

    text = page_text(run)

    first, last = run.steps[:10], run.steps[-10:]
    start, end = (mean(step.reward_mean for step in steps) for steps in (first, last))
    assert f"The mean reward rose from {written(start)} to {written(end)}, from the first" in text
    share = sum(step.n_missing for step in run.steps) / (40 * 32)
    assert f"{100 * share:.1f}% of all completions got no reward" in text
    assert f"{40 * 32:,} completions in 40 steps" in text


def test_of_what_did_not_move_nothing_is_listed(rendered):
    assert "<li></li>" not in rendered(made_run(1))


def test_every_alarm_is_in_the_table_and_every_kind_has_advice(page_text, seen):
    run = made_run(40)

    table = seen(run).tables[0]
    text = page_text(run)

    assert [row[:2] for row in table[1:]] == [[str(alarm.step), alarm.kind] for alarm in run.alarms]
    assert [row[2] for row in table[1:]] == [
        "31% of the rewards are missing",
        "responses have a mean length of 97, 41 before",
        "93% of the groups have rewards that are all equal",
        "34% of the responses are nonsense, 2% before",
    ]
    assert "4 alarms began" in text
    assert text.count("voirdire sample runs/first -o sample") == 3  # of the kinds but missing calls
    assert text.count("voirdire sample runs/first -n 60 -o sample") == 1  # next


def test_every_section_has_its_figure(rendered):
    page = rendered(made_run())

    assert page.count("<svg") == 5
    for kind in ("reward", "propositions", "classes", "length", "missing"):
        assert page.count(f'class="plot training_{kind}"') == 1


def test_the_sample_command_can_be_pasted_into_a_shell(rendered, page_text):
    folder = "runs/it's first; rm -rf"

    text = page_text(made_run(folder=folder))

    command = text[text.index("voirdire sample") :].split(" -o sample")[0]
    assert shlex.split(command) == ["voirdire", "sample", folder]


def test_the_source_is_what_commands_say(page_text):
    assert "voirdire sample ./-odd -o sample" in page_text(made_run(), source="-odd")


@pytest.mark.ci
def test_many_steps_are_thinned_and_it_is_said(page_text):
    run = made_run(1_000, alarms=False)

    assert "Each point is the mean of 5 steps." in page_text(run)


def test_many_alarms_and_lines_are_cut_and_it_is_said(page_text):
    run = made_run(2)
    run = replace(run, alarms=run.alarms * 50, dropped=tuple(map(str, range(300))))

    text = page_text(run)

    assert "100 rows of 200 are shown" in text
    assert "The first 200 are shown." in text
    assert "300 pieces left out" in text


def test_what_could_not_be_read_is_listed(page_text):
    text = page_text(made_run(dropped=("steps-a.jsonl:7: half a line",)))

    assert "1 piece left out" in text
    assert "steps-a.jsonl:7: half a line" in text


def test_what_paid_is_named(page_text):
    run = made_run(is_centered=True)

    text = page_text(run)

    for words in (run.reward_hash, run.fingerprint, "safety 1.0", "trl",
                  "each behavior’s mean is taken off its rule rewards"):  # fmt: skip
        assert words in text


def test_of_a_cascade_it_is_told_how_much_came_to_whom(page_text, language):
    run = made_run(2, alarms=False)
    told = ({"quick": 0.9, "asked": 0.1}, {"quick": 0.4})
    steps = [
        replace(step, n=n, answered_by=shares)
        for step, n, shares in zip(run.steps, (10, 40), told, strict=True)
    ]

    text = page_text(replace(run, steps=tuple(steps)), language=language)

    # (9 + 16) and 1 of 50 completions
    expected = {"en": ("quick: 50%", "asked: 2%"), "zh": ("quick：50%", "asked：2%")}
    assert all(words in text.replace("\xa0", " ") for words in expected[language])


def test_of_one_judge_there_are_no_shares(page_text):
    assert "cascade" not in page_text(made_run())


@pytest.mark.parametrize(("language", "n_steps"), [("en", 1), ("zh", 2)])
def test_a_run_of_a_few_steps_does_not_claim_to_be_quiet(page_text, seen, language, n_steps):
    run = made_run(n_steps, alarms=False)

    text = page_text(run, language=language)

    assert {"en": "too short to tell", "zh": "太短，无法判断"}[language] in text
    assert seen(run, language=language).open == []


def test_a_run_without_a_single_reward_is_told_as_that(page_text, language):
    run = made_run(12, gone=range(12), alarms=False)

    text = page_text(run, language=language)

    assert {"en": "No completion has a reward.", "zh": "没有任何回复得到奖励。"}[language] in text
    assert "100" in text


def test_the_same_run_gives_the_same_bytes():
    first = training_report(made_run(4), language="zh")

    assert first == training_report(made_run(4), language="zh")


@pytest.mark.ci
def test_titles_and_dates_are_shown(page_text):
    text = page_text(made_run(), title="My run", created="2026-03-04")

    assert "My run" in text
    assert "2026-03-04" in text
    assert "What did the model learn" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"title": " "}, "`title` must be text"),
        ({"created": 7}, "`created` must be text"),
        ({"source": ""}, "`source` must be text"),
        ({"language": "fr"}, "`language` must be"),
    ],
)
def test_options_that_break_a_rule_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        training_report(made_run(2), **options)


def test_a_run_without_steps_is_refused():
    with pytest.raises(NoDataError, match="`run` must hold at least one step, got none in 'runs/"):
        training_report(made_run(steps=()))
