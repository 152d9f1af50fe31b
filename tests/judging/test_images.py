"""Images in prompts: sent to a model that is declared to see them, set aside for every other."""

import base64
import json
from dataclasses import replace

import pytest

import voirdire
from judging.live.live_cases import RUBRIC
from servers.faulty import faulty_server  # noqa: F401  # a fixture
from voirdire.errors import NoDataError
from voirdire.judging import JuryJudge, LlmJudge, estimate_run, judge_file, load_judges
from voirdire.models import Capabilities, load_model
from voirdire.records import Item, Message

PIXEL = base64.b64encode(b"\x89PNG an image").decode()
DATA = f"data:image/png;base64,{PIXEL}"
AWAY = "https://images.test/cat.png"


def asked(*parts, item="item-1"):
    content = [{"type": "text", "text": "What is it?"}, *parts]
    return {"id": item, "prompt": [{"role": "user", "content": content}], "response": f"A {item}."}


def part(address):
    return {"type": "image_url", "image_url": {"url": address}}


def judge_at(server, *, images=True):
    model = load_model("openai/test", base_url=server.url, capabilities=Capabilities(images=images))
    return LlmJudge(model=model, probability="stated")


@pytest.fixture
def server(faulty_server, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    faulty_server.answer = lambda item, key, form: {"sorry": 0.25, "tone": "warm", "rude": 0.5}[key]
    return faulty_server


BASE64 = {"type": "base64", "media_type": "image/png", "data": PIXEL}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (part(AWAY), AWAY),
        (part(DATA), DATA),
        ({"type": "input_image", "image_url": AWAY}, AWAY),
        ({"type": "image", "source": BASE64}, DATA),
        ({"type": "image", "source": {"type": "url", "url": AWAY}}, AWAY),
        ({"type": "image", "url": AWAY}, AWAY),
    ],
)
def test_a_model_that_sees_images_is_sent_them(server, given, sent):
    found = voirdire.judge([asked(given)], rubric=RUBRIC, judge=judge_at(server))

    text, *images = server.bodies[-1]["messages"][-1]["content"]
    assert found.probabilities.tolist() == [[0.25, 0.5]]
    assert "What is it?\\n[image]" in text["text"]
    assert sent not in text["text"]
    assert images == [{"type": "image_url", "image_url": {"url": sent}}]


def test_images_keep_their_order_and_items_without_stay_text(server):
    other = f"data:image/jpeg;base64,{PIXEL}"
    items = [asked(part(DATA), part(other), part(AWAY)), asked(item="item-2")]

    voirdire.judge(items, rubric=RUBRIC, judge=judge_at(server))

    contents = {type(body["messages"][-1]["content"]): body for body in server.bodies}
    images = contents[list]["messages"][-1]["content"][1:]
    assert [row["image_url"]["url"] for row in images] == [DATA, other, AWAY]
    assert str in contents


def test_items_that_differ_in_an_image_alone_are_two_calls(server):
    items = [asked(part(DATA)), asked(part(AWAY)), asked(part(DATA))]
    items = [row | {"id": f"i{number}"} for number, row in enumerate(items)]

    found = voirdire.judge(items, rubric=RUBRIC, judge=judge_at(server))

    assert found.calls.n_calls == 2


def test_no_other_address_is_sent(server):
    others = ["http://10.0.0.1/x.png", "file:///etc/passwd", "cat.png", "", None, 7]
    others += [f"data:{rest}" for rest in ("image/svg+xml;base64,AA==", "text/html;base64,AA==")]

    for address in [*others, "data:image/png;base64,<script>"]:
        with pytest.raises(NoDataError, match="neither an `https:` address nor base64 data"):
            voirdire.judge([asked(part(address))], rubric=RUBRIC, judge=judge_at(server))

    assert not server.bodies


def test_judges_that_see_none_set_such_items_aside(server):
    items = [asked(part(DATA)), asked(item="item-2")]
    prompt = (Message(role="user", content="What is it?\n[image]", images=(DATA,)),)
    record = Item(id="item-1", prompt=prompt, response="A cat.")

    blind = replace(judge_at(server, images=False), name="blind")
    jury = JuryJudge(judges=(judge_at(server), blind))

    for judge in ("local", blind, jury):
        rubric = "safety" if judge == "local" else RUBRIC
        found = voirdire.judge(items, rubric=rubric, judge=judge, store=False)
        assert found.items == ("item-2",)
        assert [row.item for row in found.dropped] == ["item-1"]
        assert "read text only" in found.dropped[0].reason
    with pytest.raises(NoDataError, match="read text only"):
        voirdire.judge([record], rubric=RUBRIC, judge=blind)


def test_a_response_is_text(server):
    row = asked(part(DATA)) | {"response": [{"role": "assistant", "content": [part(DATA)]}]}

    with pytest.raises(NoDataError, match="the response holds an image"):
        voirdire.judge([row], rubric=RUBRIC, judge=judge_at(server))


def test_a_file_of_judges_declares_it_and_the_rest_stays_known(server, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k" * 20)
    judges = tmp_path / "judges.yaml"
    judges.write_text(
        "schema: voirdire.judges/1\n"
        "defaults: {capabilities: {images: true}, probability: stated}\n"
        f"judges: [{{model: openai/test, base_url: '{server.url}'}}, {{model: anthropic/c}}]\n"
    )
    seeing, known = load_judges(judges)
    items = tmp_path / "items.jsonl"
    rows = [asked(part(DATA)), asked(item="item-2")]
    items.write_text("\n".join(map(json.dumps, rows)))

    summary = judge_file(items, tmp_path / "v.jsonl", rubric=RUBRIC, judge=judge_at(server))
    estimate = estimate_run(items, rubric=RUBRIC, judge=judge_at(server), store=tmp_path / "n")

    assert seeing.chat_model.capabilities.images
    assert known.chat_model.capabilities.top_logprobs == 0
    assert (summary.n_items, summary.n_dropped) == (2, 0)
    assert estimate.n_calls == 2
