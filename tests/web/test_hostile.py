"""Requests that nobody means well with: each is refused or answered rightly, and forgotten."""

import contextlib
import gzip
import socket
import zlib
from pathlib import Path

import pytest

from web.conftest import TOKEN
from web.served import odd

CANARY = b"canary-90d3"
FINE = b'{"items":[{"response":"I\'m sorry.","behavior":"refuse"}]}'
POST = b"POST /v1/rewards HTTP/1.1\r\n"
USUAL = b"Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %b\r\n"
KNOWN = USUAL % TOKEN.encode()
KEPT = POST + KNOWN + b"Content-Length: %d\r\n\r\n%b"
CLOSES = None  # the connection ends without an answer


def post(body, *more, line=POST, head=KNOWN, length=True):
    """Write a request that asks to be closed after its answer."""
    lines = [b"Content-Length: %d" % len(body)] * length + [b"Connection: close", *more]
    return line + head + b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(*pieces, more=b""):
    """Write a body as chunks, each with whatever length it is said to have."""
    body = b"".join(b"%b\r\n%b\r\n" % piece for piece in pieces)
    return post(b"", b"Transfer-Encoding: chunked", length=False) + body + more


def get(path, *more, head=KNOWN, version=b"HTTP/1.1"):
    return b"\r\n".join(
        [b"GET %b %b" % (path, version), head + b"Connection: close", *more, b"", b""]
    )


def items(inner):
    """Put a value into the place of the items."""
    return post(b'{"items":%b}' % inner)


def item(inner):
    """Put more keys into an item that is fine."""
    return items(b'[{"response":"%b","behavior":"refuse",%b}]' % (CANARY, inner))


def nested(opening, closing, n):
    return items(
        b'[{"response":"x","prompt":[{"content":%b"%b"%b}]}]' % (opening * n, CANARY, closing * n)
    )


BODIES = {
    "braces in the air": (post(b"{" * 300_000), {400}),
    "arrays in the air": (post(b"[" * 999_999), {400, 422}),
    "a million and one arrays": (post(b"[" * 1_000_001), {413}),
    "objects in objects": (nested(b'{"a":', b"}", 50_000), {400}),
    "arrays in arrays": (nested(b"[", b"]", 900), {200}),
    "sixty levels": (nested(b"[", b"]", 55), {200}),
    "many empty objects": (items(b"[" + b",".join([b"{}"] * 300_000) + b"]"), {422, 413}),
    "many numbers": (items(b"[" + b",".join([b"1e5"] * 400_000) + b"]"), {422}),
    "items in items": (items(b'[{"items":[{"response":"%b"}]}]' % CANARY), {422}),
    "a number of many digits": (item(b'"base_reward":' + b"9" * 4_000), {422}),
    "a number of more digits": (item(b'"base_reward":' + b"9" * 40_000), {422}),
    "a long exponent": (item(b'"base_reward":1e' + b"9" * 5_000), {422}),
    "a small exponent": (item(b'"base_reward":1e-' + b"9" * 5_000), {200}),
    "minus zero": (item(b'"base_reward":-0.0'), {200}),
    "a large base reward": (item(b'"base_reward":1.7e308'), {200}),
    "a hexadecimal number": (item(b'"base_reward":0x10'), {400}),
    "a number with a plus": (item(b'"base_reward":+1'), {400}),
    "a number with a zero": (item(b'"base_reward":01'), {400}),
    "a number without a digit": (item(b'"base_reward":1.'), {400}),
    "not a number": (item(b'"base_reward":NaN'), {400}),
    "no number as a key": (items(b'[{NaN:"%b"}]' % CANARY), {400}),
    "infinite messages": (items(b'[{"response":[{"content":-Infinity}]}]'), {400}),
    "nan in small letters": (item(b'"base_reward":nan'), {400}),
    "a huge id": (item(b'"id":' + b"9" * 400), {422}),
    "the least id": (item(b'"id":-9223372036854775808'), {200}),
    "an id below it": (item(b'"id":-9223372036854775809'), {422}),
    "an id that is a fraction": (item(b'"id":1.5'), {422}),
    "an id that is true": (item(b'"id":true'), {422}),
    "a huge group": (item(b'"group":' + b"9" * 400), {200}),
    "a huge step": (post(FINE[:-1] + b',"step":%b}' % (b"9" * 400)), {422}),
    "a step that is a float": (post(FINE[:-1] + b',"step":1e2}'), {422, 200}),
    "a deadline without end": (post(FINE[:-1] + b',"deadline_s":1e999}'), {422}),
    "a deadline of nothing": (post(FINE[:-1] + b',"deadline_s":1e-300}'), {200}),
    "a deadline before now": (post(FINE[:-1] + b',"deadline_s":-1}'), {422}),
    "the same key twice": (items(b'[{"response":"a","response":"%b"}]' % CANARY), {200}),
    "the same key in other letters": (
        items(b'[{"response":"a","\\u0072esponse":"%b"}]' % CANARY),
        {200},
    ),
    "the same key deep inside": (items(b'[{"response":[{"content":"a","content":"b"}]}]'), {200}),
    "a key that is a prototype": (item(b'"__proto__":{"behavior":"%b"}' % CANARY), {422}),
    "a key of a place": (item(b'"x` - at `$.%b`":1' % CANARY), {422}),
    "a first key of a place": (post(b'{"x` - at `%b":1}' % CANARY), {422}),
    "an empty key": (item(b'"":1'), {422}),
    "a null in a text": (item(b'"group":"\\u0000%b"' % CANARY), {200}),
    "a null in the raw": (item(b'"group":"\x00"'), {400}),
    "a null after it": (post(FINE + b"\x00"), {400}),
    "a low surrogate": (item(b'"behavior":"\\udc00"'), {200}),
    "a pair the wrong way round": (item(b'"id":"\\udc00\\ud800"'), {200}),
    "a surrogate in utf-8": (item(b'"id":"\xed\xa0\x80"'), {400}),
    "an overlong slash": (item(b'"id":"\xc0\xaf"'), {400}),
    "beyond unicode": (item(b'"id":"\xf5\x80\x80\x80"'), {400}),
    "noncharacters": (item('"id":"\uffff\ufdd0"'.encode()), {200}),
    "right to left": (item('"id":"\u202egnp.exe"'.encode()), {200}),
    "a tower of accents": (item(b'"group":"' + "\u0301".encode() * 50_000 + b'"'), {200}),
    "utf-16": (post('{"items": []}'.encode("utf-16")), {400}),
    "utf-7": (post(b'+AHs-"items": []+AH0-'), {400}),
    "comments": (post(b'{"items":[] /* %b */}' % CANARY), {400}),
    "a comma at the end": (post(b'{"items":[],}'), {400}),
    "single quotes": (post(b"{'items':[]}"), {400}),
    "two documents": (post(FINE + FINE), {400}),
    "lines of json": (post(FINE + b"\n" + FINE), {400}),
    "a script": (items(b'[{"response":"<script>%b</script>","behavior":"<b>"}]' % CANARY), {200}),
    "formats": (items(b'[{"response":"%%s%%n{0.__class__}","behavior":"{0}%%s"}]'), {200}),
    "the log's lines": (items(b'[{"response":"a","behavior":"x\\r\\n%b ERROR"}]' % CANARY), {200}),
    "a run that climbs": (post(FINE[:-1] + b',"run":"../../etc"}'), {422}),
    "a run with a null": (post(FINE[:-1] + b',"run":"a\\u0000b"}'), {422}),
    "xml": (post(b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e "%b">]><x/>' % CANARY), {400}),
    "a form": (post(b"items=%b" % CANARY), {400}),
    "gzip": (post(gzip.compress(FINE), b"Content-Encoding: gzip"), {400, 415}),
    "a bomb": (post(zlib.compress(b"[" * 10**7), b"Content-Encoding: deflate"), {400, 413, 415}),
    "a role of another kind": (items(b'[{"response":[{"role":{},"content":[]}]}]'), {200}),
    "a pattern that backtracks": (items(b'[{"response":"%b!"}]' % (b"sorry " * 30_000)), {200}),
    "tool calls of nothing": (items(b'[{"response":[{"tool_calls":[null,1,{}]}]}]'), {200}),
}
HEADS = {
    "no version": (b"GET /healthz\r\n\r\n", {400}),
    "another version": (get(b"/healthz", version=b"HTTP/9.9"), {200, 400, 505}),
    "version 1.0": (get(b"/healthz", version=b"HTTP/1.0"), {200}),
    "version 2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 404, 405, 401, CLOSES}),
    "an absolute address": (get(b"http://localhost/healthz"), {200, 404}),
    "a stranger's address": (get(b"http://evil.example/v1/reward", head=b""), {400, 401, 404}),
    "a tunnel": (get(b"evil.example:443").replace(b"GET", b"CONNECT"), {400, 401, 404, 405}),
    "a path that climbs": (get(b"/v1/../../../etc/passwd"), {404}),
    "a path that climbs by percent": (get(b"/%2e%2e/%2e%2e/etc/passwd"), {404}),
    "a route by percent": (get(b"/v1%2freward"), {200, 404}),
    "a route in capitals": (get(b"/V1/REWARD"), {404}),
    "two slashes": (get(b"//v1/reward"), {404}),
    "a null in the path": (get(b"/v1/reward%00"), {404}),
    "bytes in the path": (get(b"/\xff\xfe" + CANARY), {400, 404}),
    "half an escape": (get(b"/%"), {404}),
    "a fragment": (get(b"/healthz#" + CANARY), {200, 400, 404}),
    "a long path": (get(b"/" + b"a" * 60_000), {400, 404, 431, CLOSES}),
    "a path without end": (get(b"/" + b"a" * 10**6), {400, 404, 431, CLOSES}),
    "a long header": (get(b"/healthz", b"X: " + b"a" * 10**6), {400, 431, CLOSES}),
    "many headers": (
        get(b"/healthz", *[b"X-%d: 1" % n for n in range(90_000)]),
        {400, 431, CLOSES},
    ),
    "a header with a null": (get(b"/healthz", b"X: a\x00b"), {200, 400}),
    "a header without a name": (get(b"/healthz", b": " + CANARY), {400}),
    "a folded header": (get(b"/healthz", b"X: a", b" " + CANARY), {200, 400}),
    "a space before the colon": (post(FINE, b"Transfer-Encoding : chunked"), {400}),
    "no host": (get(b"/healthz", head=b""), {200, 400}),
    "two hosts": (get(b"/healthz", b"Host: evil.example"), {200, 400}),
    "two tokens": (get(b"/v1/reward", b"Authorization: Bearer %b" % CANARY), {400, 401}),
    "another token": (get(b"/v1/reward", head=USUAL % CANARY), {401}),
    "a token with more": (get(b"/v1/reward", head=USUAL % (TOKEN.encode() + b"\x00")), {400, 401}),
    "a long token": (get(b"/v1/reward", head=USUAL % (b"a" * 60_000)), {400, 401, 431, CLOSES}),
    "a token of other letters": (get(b"/v1/reward", head=USUAL % TOKEN.upper().encode()), {401}),
    "a method of its own": (post(FINE, line=b"%b /v1/rewards HTTP/1.1\r\n" % CANARY), {400, 405}),
    "the other method": (get(b"/v1/rewards"), {405}),
    "a trace": (get(b"/v1/reward").replace(b"GET", b"TRACE"), {400, 405}),
    "a head": (get(b"/healthz").replace(b"GET", b"HEAD"), {200, 405}),
    "an override": (get(b"/v1/rewards", b"X-HTTP-Method-Override: POST"), {405}),
    "an upgrade": (get(b"/v1/reward", b"Upgrade: websocket", b"Connection: Upgrade"), {200, 400}),
    "an upgrade to version 2": (get(b"/healthz", b"Upgrade: h2c", b"HTTP2-Settings: AA"), {200}),
    "text": (post(FINE, b"Content-Type: text/plain"), {415}),
    "json with a lie": (
        post(FINE, head=KNOWN.replace(b"application/json", b"application/json, text/plain")),
        {415},
    ),
    "a charset": (post(FINE, head=KNOWN.replace(b"/json", b"/json; charset=utf-16")), {200, 415}),
    "two lengths": (post(FINE, b"Content-Length: 4"), {400}),
    "a length and chunks": (post(FINE, b"Transfer-Encoding: chunked"), {400, 408}),
    "a length below zero": (post(FINE, b"Content-Length: -1", length=False), {400}),
    "a length with a plus": (post(FINE, b"Content-Length: +57", length=False), {400}),
    "a length of words": (post(FINE, b"Content-Length: %b" % CANARY, length=False), {400}),
    "a length without end": (
        post(FINE, b"Content-Length: " + b"9" * 30, length=False),
        {400, 408, 413, CLOSES},
    ),
    "a length of a list": (post(FINE, b"Content-Length: 57, 57", length=False), {200, 400}),
    "no length": (post(FINE, length=False), {400, 411}),
    "a longer length": (post(FINE, b"Content-Length: 9999", length=False), {408, CLOSES}),
    "a shorter length": (post(FINE, b"Content-Length: 5", length=False), {400}),
    "chunks of chunks": (
        post(b"0\r\n\r\n", b"Transfer-Encoding: chunked, chunked", length=False),
        {400, 501},
    ),
    "chunks of identity": (
        post(FINE, b"Transfer-Encoding: identity, chunked", length=False),
        {400, 408, 501},
    ),
    "chunks in capitals": (post(b"0\r\n\r\n", b"Transfer-Encoding: CHUNKED", length=False), {400}),
    "chunks": (chunked((b"%x" % len(FINE), FINE), (b"0", b"")), {200}),
    "a chunk that lies": (chunked((b"2", FINE), (b"0", b"")), {400}),
    "a chunk below zero": (chunked((b"-1", FINE)), {400}),
    "a chunk without end": (chunked((b"f" * 40, FINE)), {400, 408, 413}),
    "a chunk of no number": (chunked((CANARY, FINE)), {400}),
    "a chunk with an extension": (
        chunked((b"%x;a=%b" % (len(FINE), CANARY), FINE), (b"0", b"")),
        {200},
    ),
    "a long extension": (chunked((b"1;" + b"a" * 10**6, b"{")), {400, CLOSES}),
    "chunks that never end": (chunked((b"%x" % len(FINE), FINE)), {408}),
    "many small chunks": (chunked(*[(b"1", b" ")] * 50_000, (b"0", b"")), {400}),
    "a trailer": (
        chunked((b"%x" % len(FINE), FINE), more=b"0\r\nAuthorization: Bearer x\r\n\r\n"),
        {200},
    ),
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + CANARY * 20 + b"\r\n\r\n", {400}),
    "nothing but lines": (b"\r\n" * 50_000, {400, CLOSES}),
    "nothing but nulls": (b"\x00" * 70_000, {400, CLOSES}),
}


CASES = BODIES | HEADS

pytestmark = pytest.mark.ci


@contextlib.contextmanager
def waiting(seconds):
    """Run a server that waits so long for what does not come."""
    settings = {"token": TOKEN, "body_s": seconds, "behavior": "chat"}
    with odd(server=settings, token=TOKEN) as found:
        found.post([])
        yield found


@pytest.fixture(scope="module")
def server():
    """Run a server for what must be answered, however slow the machine is."""
    with waiting(300.0) as found:
        yield found


@pytest.fixture(scope="module")
def hasty():
    """Run a server for what never comes to its end."""
    with waiting(1.0) as found:
        yield found


def talk(server, raw, *, half_close=False):
    """Send bytes and read until the other side closes; give what came."""
    found = b""
    with socket.create_connection(server.address, timeout=60) as connection:
        try:
            connection.sendall(raw)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                found += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
    return found


def statuses_of(answers):
    return [int(part.split(b" ", 2)[1]) for part in answers.split(b"HTTP/1.1")[1:]]


def resident_mib(server):
    text = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_whatever_comes_is_refused_or_answered_and_forgotten(server, hasty):
    before = [resident_mib(each) for each in (server, hasty)]
    wrong = {}
    for name, (raw, allowed) in CASES.items():
        asked = hasty if allowed & {408, CLOSES} else server
        answer = talk(asked, raw)
        found = statuses_of(answer)
        is_right = set(found or [CLOSES]) <= allowed
        is_silent = 200 in found or CANARY not in answer
        is_well = asked.ask("POST", "/v1/rewards", FINE).json["rewards"] == [5.0]
        if not (is_right and is_silent and is_well):
            wrong[name] = found, is_silent, is_well

    assert len(CASES) > 130
    assert wrong == {}
    for each, mib in zip((server, hasty), before, strict=True):
        assert resident_mib(each) < mib + 200
        assert CANARY.decode() not in each.log
        assert "Traceback" not in each.log
        assert " 500 " not in each.log


def test_requests_in_a_row_are_answered_in_their_order(server):
    good, bad = KEPT % (len(FINE), FINE), KEPT % (1, b"{")

    found = talk(server, 10 * (good + bad) + get(b"/healthz"))

    assert statuses_of(found) == [200, 400] * 10 + [200]


def test_who_asks_whether_to_go_on_is_told(server):
    head = POST + KNOWN + b"Connection: close\r\nExpect: 100-continue\r\n"
    with socket.create_connection(server.address, timeout=60) as connection:
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(FINE))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        connection.sendall(FINE)
        assert connection.recv(1_000).startswith(b"HTTP/1.1 200")

    assert statuses_of(talk(server, head + b"Content-Length: 99999999\r\n\r\n")) == [413]
