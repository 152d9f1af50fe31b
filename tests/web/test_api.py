"""The description of the interface: true of what the server does, and complete."""

import re

import pytest
from fastapi.openapi.models import OpenAPI

from voirdire.rewards import LiveReward
from voirdire.testing import golden_judge, golden_reward
from voirdire.web import create_app

OPEN = {"/healthz", "/readyz", "/openapi.json", "/docs"}
PATHS = OPEN | {"/v1/rewards", "/v1/reward", "/openrlhf", "/metrics"}
# The words of refusals. Clients know them, so none may go, and a new one is a new promise.
CODES = {
    *("malformed", "no_token", "not_found", "wrong_method", "too_slow", "too_large", "wrong_host"),
    *("wrong_type", "wrong_form", "internal", "no_number", "queue_full", "ending", "not_ready"),
}
POSTED = {"200", "400", "401", "408", "413", "415", "421", "422", "500", "503"}


@pytest.fixture(scope="module")
def document():
    return create_app(LiveReward(golden_reward(), judge=golden_judge())).openapi()


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_the_description_is_valid_openapi(document):
    found = OpenAPI.model_validate(document)

    assert found.openapi.startswith("3.1")


def test_every_route_is_described(document):
    assert set(document["paths"]) == PATHS


def test_every_reference_leads_somewhere(document):
    names = set(re.findall(r"#/components/schemas/(\w+)", str(document)))

    assert names
    assert names <= set(document["components"]["schemas"])


@pytest.mark.parametrize(
    ("path", "statuses"), [("/v1/rewards", POSTED), ("/openrlhf", POSTED | {"409"})]
)
def test_every_refusal_of_a_posted_request_is_described(document, path, statuses):
    operation = document["paths"][path]["post"]

    assert set(operation["responses"]) == statuses
    assert operation["requestBody"]["required"] is True
    assert "Retry-After" in operation["responses"]["503"]["headers"]


def test_only_what_needs_a_token_says_so(document):
    for path, _, operation in operations(document):
        assert ("security" in operation) is (path not in OPEN), path
        assert ("401" in operation["responses"]) is (path not in OPEN), path


def test_every_code_stands_in_some_description(document):
    told = str([operation["responses"] for _, _, operation in operations(document)])
    codes = CODES - {"not_found", "wrong_method"}  # of no route

    assert {code for code in codes if f"`{code}`" in told} == codes
    enum = document["components"]["schemas"]["Refusal"]["properties"]["code"]["enum"]
    assert set(enum) == CODES


def test_operations_have_names_of_their_own(document):
    names = [operation["operationId"] for _, _, operation in operations(document)]

    assert len(set(names)) == len(names) == len(PATHS)


def check(value, schema, document, place="$"):
    """Check a value against the small part of JSON Schema that the description uses."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = document["components"]["schemas"][name]
    if "anyOf" in schema:
        assert any(fits(value, one, document) for one in schema["anyOf"]), (place, value)
        return
    kind = schema.get("type")
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "number": int | float,
        "null": type(None),
    }
    if kind is not None:
        assert isinstance(value, kinds[kind]), (place, kind, value)
    if kind == "object" and "properties" in schema:
        assert set(schema.get("required", ())) <= set(value), (place, value.keys())
        for name, inner in value.items():
            assert name in schema["properties"], (place, name)
            check(inner, schema["properties"][name], document, f"{place}.{name}")
    if kind == "array":
        for inner in value:
            check(inner, schema.get("items", {}), document, f"{place}[]")


def fits(value, schema, document):
    try:
        check(value, schema, document)
    except AssertionError:
        return False
    return True


def answer_schema(document, path, method, status):
    content = document["paths"][path][method]["responses"][str(status)]["content"]
    return content["application/json"]["schema"]


@pytest.mark.parametrize(
    ("path", "method", "body", "status"),
    [
        ("/v1/rewards", "post", {"items": [{"response": "x", "id": 1}], "verdicts": True}, 200),
        ("/v1/rewards", "post", {"items": [{"response": "x"}], "explain": True}, 200),
        ("/v1/rewards", "post", {"items": 5}, 422),
        ("/v1/rewards", "post", b"{", 400),
        ("/openrlhf", "post", {"query": ["ab"], "prompts": ["a"], "labels": ["refuse"]}, 200),
        ("/v1/reward", "get", None, 200),
        ("/healthz", "get", None, 200),
        ("/readyz", "get", None, 200),
    ],
    ids=range(8),
)
def test_answers_are_of_the_form_that_is_described(golden, document, path, method, body, status):
    answer = golden.ask(method.upper(), path, body)

    assert answer.status == status
    check(answer.json, answer_schema(document, path, method, status), document)


def test_the_checker_of_this_test_refuses_what_is_of_another_form(document):
    schema = answer_schema(document, "/healthz", "get", 200)

    assert not fits({"status": 5}, schema, document)
    assert not fits({}, schema, document)
    assert not fits({"status": "x", "more": 1}, schema, document)


def test_the_page_for_people_loads_nothing_from_anywhere(golden):
    page = golden.get("/docs")

    text = page.body.decode()
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not re.search(r"<(script|link|img|iframe|object|embed)|@import|url\(|src=", text)
    assert re.findall(r'href="([^"]+)"', text) == ["openapi.json"]
    for path in PATHS:
        assert path in text
