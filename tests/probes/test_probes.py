"""The probes that ship: what they change, and that their controls change nothing but length."""

import csv
import json
import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from voirdire.probes import attacks, probes
from voirdire.records import Item, Message
from voirdire.rubrics import load_rubric

ALL = {probe.id: probe for probe in probes()}
CONTROLLED = {name: probe for name, probe in ALL.items() if probe.control is not None}
ADDING = {
    name: probe
    for name, probe in CONTROLLED.items()
    if name not in {"style/markdown", "style/emoji"}
}
ENGLISH = (
    "Boil water in a pan, e.g. a small one. Put the egg in with a spoon. Wait for eight minutes."
)
CHINESE = "先在小锅里把水烧开。再用勺子把鸡蛋放进去。等八分钟左右就熟了。"
HAN = re.compile("[\u4e00-\u9fff]")


def item(response, name="a", **fields):
    return Item(id=name, response=response, **fields)


def added(made, original):
    """Give what a probe put below a response."""
    assert made.response.startswith(f"{original.response}\n\n")
    return made.response.removeprefix(f"{original.response}\n\n")


def changes_and_controls(items, chosen):
    for name, probe in chosen.items():
        for one in items:
            changed, control = probe.change(one), probe.control(one)
            assert (changed is None) is (control is None), name
            if changed is not None:
                yield name, changed.response, control.response


@pytest.fixture(scope="module")
def real_items(shared_dir):
    texts = []
    for model in ("gpt4", "mistralinstruct"):
        path = shared_dir / "data" / "xstest" / f"xstest_v2_completions_{model}_gpteval.csv"
        with path.open(encoding="utf-8", newline="") as file:
            texts += [row["completion"] for row in csv.DictReader(file)]
    gold = (shared_dir / "data" / "rbr_gold" / "train.jsonl").read_text(encoding="utf-8")
    texts += [json.loads(line)["completion"][-1]["content"] for line in gold.splitlines()]
    return [item(text, f"{number}") for number, text in enumerate(texts) if text.strip()]


def test_every_family_is_there_and_ids_begin_with_it():
    families = Counter(probe.family for probe in ALL.values())

    assert list(families) == [
        "verbosity",
        "authority",
        "style",
        "bandwagon",
        "steering",
    ]
    assert len(ALL) == len(probes())
    for name, probe in ALL.items():
        assert re.fullmatch(rf"{probe.family}/[a-z_]+", name)
        assert probe.summary
        assert not probe.summary.endswith(".")


def test_a_steering_probe_has_the_aim_of_its_attacks():
    aims = {name: probe.aim for name, probe in ALL.items() if probe.aim is not None}

    assert aims == {"steering/any_true": True, "steering/any_false": False}


def test_only_verbosity_has_no_control():
    without = {name for name in ALL if name not in CONTROLLED}

    assert without == {"verbosity/padding", "verbosity/trimmed"}


def test_what_is_touched_are_propositions_of_the_safety_rubric():
    known = {question.id for question in load_rubric("safety").questions}

    for probe in ALL.values():
        assert probe.touches <= known
    assert ALL["authority/citation"].touches >= {"provides_resources", "reference_safety_policy"}
    assert "additional_content" in ALL["verbosity/padding"].touches


@pytest.mark.edges
@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("response", [ENGLISH, CHINESE])
def test_changes_are_the_same_in_every_run(name, response):
    again = next(probe for probe in probes() if probe.id == name)

    assert again.change(item(response)) == ALL[name].change(item(response))
    if again.control is not None:
        assert again.control(item(response)) == ALL[name].control(item(response))


def test_items_of_other_ids_draw_other_texts():
    drawn = {ALL["bandwagon/majority"].change(item(ENGLISH, str(n))).response for n in range(20)}

    assert len(drawn) == 2  # the texts of this probe in English


@pytest.mark.edges
@pytest.mark.parametrize("name", sorted(ADDING))
def test_a_changed_item_keeps_everything_but_its_response(name):
    one = Item(
        id="a",
        prompt=(Message(role="user", content="Hi"),),
        response=ENGLISH,
        other="Hey.",
        behavior="comply",
        group="g",
        metadata={"k": 1},
    )

    changed, control = ALL[name].change(one), ALL[name].control(one)

    assert (changed.id, control.id) == (f"a+{name}", f"a+{name}/control")
    kept = ("prompt", "other", "behavior", "group", "metadata")
    for made in (changed, control):
        assert made.cluster == "a"
        assert all(getattr(made, field) == getattr(one, field) for field in kept)
    assert ALL[name].change(item(ENGLISH, cluster="c")).cluster == "c"


@pytest.mark.edges
@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("response", ["", " \n "])
def test_a_response_that_says_nothing_is_not_changed(name, response):
    assert ALL[name].change(item(response)) is None
    assert name not in CONTROLLED or ALL[name].control(item(response)) is None


def test_attacks_stand_in_the_change_and_never_in_the_control():
    texts = {attack.response for attack in attacks() if attack.family != "size"}

    for probe in ALL.values():
        if probe.family == "steering":
            one = item(ENGLISH)
            assert added(probe.change(one), one) in texts
            assert added(probe.control(one), one) not in texts


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("authority/citation", r"\(20(19|21)\)|20(19|21)年"),
        ("authority/credential", "board-certified|professor|专家|教授"),
        ("bandwagon/majority", "94%|out of ten|十个里有九个"),
        ("style/confident", "no room for doubt|beyond all question|毫无|没有任何"),
        ("style/hedged", "may or may not|Perhaps|未必|大概"),
        ("style/emoji", "[✨📌🌟🎈]"),
        ("style/markdown", r"^- \*\*"),
    ],
)
@pytest.mark.parametrize("response", [ENGLISH, CHINESE])
def test_what_is_suspected_is_in_the_change_and_not_in_the_control(name, sign, response):
    for number in range(6):
        one = item(response, str(number))
        assert re.search(sign, ALL[name].change(one).response)
        assert not re.search(sign, ALL[name].control(one).response)


def test_filler_speaks_of_lines_and_of_nothing_else():
    words = set()
    for probe in ADDING.values():
        for number in range(8):
            one = item(ENGLISH, str(number))
            words |= set(re.findall(r"[a-z]+", added(probe.control(one), one).lower()))

    assert not words & {
        *("answer", "response", "reader", "you", "i", "we", "sorry", "feel", "glad", "happy"),
        *("must", "rule", "policy", "cannot", "true", "false", "not", "expert", "source", "judge"),
    }


@pytest.mark.edges
@pytest.mark.parametrize("name", sorted(ADDING))
def test_chinese_responses_get_chinese_text(name):
    one = item(CHINESE)

    change, control = added(ALL[name].change(one), one), added(ALL[name].control(one), one)

    assert HAN.search(control)
    assert HAN.search(change)
    if not name.startswith("steering/"):
        assert not HAN.search(added(ALL[name].change(item(ENGLISH)), item(ENGLISH)))


def is_as_long(changed, control, *, counts_words):
    n_words, n_control = len(changed.split()), len(control.split())
    return abs(len(changed) - len(control)) <= 2 and (
        not counts_words or abs(n_words - n_control) <= 1
    )


@pytest.mark.ci
def test_controls_of_real_responses_are_as_long_as_changes(real_items):
    counts = Counter()

    for name, changed, control in changes_and_controls(real_items, CONTROLLED):
        counts_words = name != "style/markdown" and not HAN.search(changed)
        assert is_as_long(changed, control, counts_words=counts_words), (name, changed, control)
        counts[name] += 1

    assert min(counts[name] for name in ADDING) == len(real_items)
    assert counts["style/markdown"] > len(real_items) / 3
    assert counts["style/emoji"] > len(real_items) * 0.9


@given(st.text(max_size=200), st.text(max_size=5))
@example("1.  Two spaces.\n2.\nA line", "a")
@example("1.\n。2.\n。", "a")
def test_controls_of_any_text_are_as_long_as_changes(response, name):
    for probe_id, changed, control in changes_and_controls([item(response, name)], CONTROLLED):
        counts_words = probe_id != "style/markdown" and not HAN.search(changed + control)
        assert is_as_long(changed, control, counts_words=counts_words), probe_id


@pytest.mark.parametrize("response", [ENGLISH, CHINESE])
def test_padding_about_doubles_a_short_response(response):
    text = added(ALL["verbosity/padding"].change(item(response)), item(response))

    size = (lambda text: len(text.split())) if response is ENGLISH else len
    assert 0.4 < size(text) / size(response) <= 1.1


@pytest.mark.parametrize(("response", "most"), [(ENGLISH * 50, 120), (CHINESE * 50, 200)])
def test_padding_of_a_long_response_has_a_limit(response, most):
    text = added(ALL["verbosity/padding"].change(item(response)), item(response))

    n_units = len(text.split()) if most == 120 else len(text)
    assert 0.75 * most < n_units <= most
    assert len(set(re.split("(?<=[.。])", text))) > 5


@pytest.mark.parametrize(
    ("response", "trimmed"),
    [
        (f"Certainly! Here is how to do it:\n\n{ENGLISH} I hope this helps!", ENGLISH),
        (f"Sure, b{ENGLISH[1:]}", ENGLISH),
        (f"Of course. Great question! {ENGLISH}", ENGLISH),
        (f"{ENGLISH}\n\nLet me know if you have any questions. Good luck!", ENGLISH),
        (f"{ENGLISH} If you have any other questions, feel free to ask.", ENGLISH),
        (f"当然可以！以下是做法：\n{CHINESE}希望对您有帮助。", CHINESE),
        (f"好的，{CHINESE}如果您还有其他问题，请随时告诉我。", CHINESE),
        (ENGLISH, None),
        (CHINESE, None),
        ("Sure!", None),
        ("I hope this helps.", None),
        (f"{ENGLISH} Of course, stoves differ.", None),
        (f"{ENGLISH} If you have any allergies, it is best to ask a doctor.", None),
    ],
)
def test_phrases_around_an_answer_are_trimmed(response, trimmed):
    made = ALL["verbosity/trimmed"].change(item(response))

    assert (made and made.response) == trimmed


def test_the_sentences_become_a_list_with_bold_first_words():
    changed = ALL["style/markdown"].change(item(ENGLISH)).response
    control = ALL["style/markdown"].control(item(ENGLISH)).response

    assert changed == (
        "- **Boil water** in a pan, e.g. a small one.\n"
        "- **Put the** egg in with a spoon.\n"
        "- **Wait for** eight minutes."
    )
    assert re.sub(r"\n+", " ", control) == ENGLISH
    assert ALL["style/markdown"].change(item(CHINESE)).response.startswith("- **先在小锅**里把水")


@pytest.mark.parametrize(
    "response", ["One sentence.", "- A list.\n- Of two.", "1. A list.\n2. Of two.", "**Bold.** No."]
)
def test_a_response_of_one_sentence_or_with_markdown_is_not_made_a_list(response):
    assert ALL["style/markdown"].change(item(response)) is None
    assert ALL["style/markdown"].control(item(response)) is None


def test_an_emoji_follows_each_sentence_but_not_in_code():
    changed = ALL["style/emoji"].change(item(ENGLISH)).response
    control = ALL["style/emoji"].control(item(ENGLISH)).response

    assert len(re.findall("[.] [✨📌🌟🎈]", changed)) == 3
    assert re.sub(" [✨📌🌟🎈]", "", changed) == ENGLISH == re.sub(" [–—·~]", "", control)
    assert ALL["style/emoji"].change(item("Run this:\n```\nls\n```")) is None
