"""Models that take their thinking back only with nothing changed before it."""

from __future__ import annotations

import copy
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.binding import Binding
from tests.compaction.talks import Talk, flat
from tests.gateway.upstream import TIMEOUT_S, Answer, Gateway, Upstream

from brimline.state.session import SessionState

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
SESSION = "0f0e0d0c-1111-2222-3333-444455556666"
BOUND, UNKNOWN = "claude-opus-5-5", "claude-sonnet-4-6"
LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))
SOURCE_BYTES = 6_000
BRIM = 40_000


class Thinker:
    """A client whose conversation holds what the service has thought."""

    def __init__(self, model: str = BOUND) -> None:
        self.talk = Talk()
        self.model = model
        self.statuses: list[int] = []

    def body(self) -> Json:
        """The next request."""
        return copy.deepcopy(self.talk.body(model=self.model, stream=False))

    def ask(self, gateway: Gateway, path: str = "/v1/messages") -> bytes:
        """Send it, without any reaction to the answer."""
        headers = {"X-Claude-Code-Session-Id": SESSION}
        status, _, raw = gateway.ask(json.dumps(self.body()).encode(), headers, path)
        self.statuses.append(status)
        return raw

    def work(self, gateway: Gateway, rounds: Iterable[int]) -> None:
        """Read files, one after the other, each after a thought."""
        for number in rounds:
            answer = json.loads(self.ask(gateway))
            thoughts = [part for part in answer["content"] if part["type"] == "thinking"]
            self.talk.read(f"/w/file{number}.py", SOURCE_BYTES)
            self.talk.messages[-2]["content"][:0] = thoughts


@pytest.fixture(params=["error", "silent"])
def binding(request: pytest.FixtureRequest, upstream: Upstream) -> Binding:
    """A service that refuses, or that drops without a word."""
    upstream.binding = Binding(request.param)
    return upstream.binding


@pytest.fixture(autouse=True)
def brim(monkeypatch: pytest.MonkeyPatch) -> None:
    """A brim that is soon reached."""
    monkeypatch.setenv("BRIMLINE_COMPACTION_TOKENS", str(BRIM))


def lines(body: Json) -> int:
    """How many results are a line of ours."""
    return sum("[brimline: " in str(block.get("content")) for _, block in flat(body))


def thoughts(body: Json) -> int:
    """How many thoughts are sent."""
    return sum(block["type"] == "thinking" for _, block in flat(body))


def test_below_the_brim_no_thought_is_lost(
    upstream: Upstream, binding: Binding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is cold; bulk is kept out on arrival."""
    monkeypatch.setenv("BRIMLINE_COMPACTION_TOKENS", "400000")
    thinker = Thinker()
    thinker.talk.step("Bash", {"command": "journalctl"}, LOG)
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(10))
        thinker.talk.idle(15)
        thinker.work(gateway, range(10, 12))
        thinker.ask(gateway)

    last = upstream.arrived[-1].body
    assert "Preview, not the whole" in str(last)
    assert (lines(last), thoughts(last), sum(binding.failed)) == (0, 12, 0)


def test_near_the_brim_the_past_goes_at_once_with_the_thinking_behind_it(
    upstream: Upstream, binding: Binding
) -> None:
    """No refusal, nothing that the service would drop; then nothing until the brim is near again.

    A restart, a fork and a second gateway send the same.
    """
    thinker = Thinker()
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(24))
    edited = [lines(one.body) for one in upstream.arrived]
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(24, 26))
    with Gateway(upstream.url) as one, Gateway(upstream.url) as two:
        for gateway in (one, two, one):
            thinker.ask(gateway)

    assert 0 in edited
    assert len(set(edited)) <= 3, "a pass or two, not an edit in each request"
    assert sum(binding.failed) == 0
    assert set(thinker.statuses) == {200}
    last = upstream.arrived[-1]
    assert 0 < thoughts(last.body) < 26
    assert [one.raw for one in upstream.arrived[-3:]] == [last.raw] * 3


def test_a_model_that_nobody_knows_binds_its_thinking_may_refuse_a_pass_once(
    upstream: Upstream,
) -> None:
    """The refused form is sent again without the thoughts that it made invalid, and for good."""
    upstream.binding = Binding("error")
    thinker = Thinker(UNKNOWN)
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(24))

    edited = [lines(one.body) for one in upstream.arrived]
    assert 0 < len(upstream.binding.refusals) <= len(set(edited)) - 1
    assert set(thinker.statuses) == {200}
    assert edited[-1] > 0


def test_a_refusal_that_is_not_ours_is_handed_on(upstream: Upstream) -> None:
    """The client heals by itself what it has changed itself."""
    upstream.binding = Binding("error")
    thinker = Thinker()
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(3))
        thinker.talk.messages[0]["content"][0]["text"] = "Please tidy up the lexer."
        raw = thinker.ask(gateway)

    assert b"bound to a different conversation" in raw
    assert thinker.statuses == [200, 200, 200, 400]
    assert thoughts(upstream.arrived[-1].body) == 3


def test_a_client_that_takes_its_thinking_away_gets_the_same_stand_ins(upstream: Upstream) -> None:
    """Prose behind it is known by what was said before, not by what was thought."""
    upstream.binding = Binding("silent")
    thinker = Thinker()
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(24))
        thinker.ask(gateway)
        for message in thinker.talk.messages[1::2]:
            message["content"] = [part for part in message["content"] if part["type"] != "thinking"]
        thinker.ask(gateway)

    before, after = (flat(one.body) for one in upstream.arrived[-2:])
    kept = [part for part in before if part[1]["type"] != "thinking"]
    pairs = [pair for pair in zip(kept, after, strict=True) if "[brimline" in str(pair[0])]
    assert pairs
    assert [one for one, _ in pairs] == [other for _, other in pairs]


def test_tokens_are_counted_of_what_would_be_sent(upstream: Upstream, binding: Binding) -> None:
    """The same edits, the same thoughts left out, and nothing is kept of it."""
    thinker = Thinker()
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(24))
        thinker.talk.step("Bash", {"command": "journalctl"}, LOG)
        for path in ("/v1/messages/count_tokens?beta=true", "/v1/messages", "/v1/messages"):
            thinker.ask(gateway, path=path)

    counted, sent, again = upstream.arrived[-3:]
    assert lines(sent.body) > 0
    assert counted.raw == sent.raw == again.raw
    assert set(thinker.statuses) == {200}


def test_what_an_answer_says_counts_before_the_client_can_read_it(upstream: Upstream) -> None:
    """Its next request may come at once."""
    start = {"type": "message_start", "message": {"usage": {"input_tokens": BRIM}}}
    is_read = threading.Event()

    def stream(handler: Any) -> None:
        for part in (f"data: {json.dumps(start)}\n\n".encode(), b"data: {}\n\n", b""):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.flush()
            is_read.wait(TIMEOUT_S)

    thinker = Thinker()
    for number in range(12):
        thinker.talk.read(f"/w/file{number}.py", SOURCE_BYTES)
    raw = json.dumps(thinker.body()).encode()
    upstream.answers = [Answer(headers=(("content-type", "text/event-stream"),), stream=stream)]
    with Gateway(upstream.url) as gateway:
        headers = {"X-Claude-Code-Session-Id": SESSION}
        connection = gateway.connect()
        connection.request("POST", f"{urlsplit(gateway.url).path}/v1/messages", raw, headers)
        response = connection.getresponse()
        response.read1(10)
        thinker.talk.read("/w/next.py", SOURCE_BYTES)
        for path in ("/v1/messages/count_tokens", "/v1/messages"):
            thinker.ask(gateway, path=path)
        is_read.set()
        response.read()
        connection.close()

    first, counted, sent = upstream.arrived
    assert (lines(first.body), lines(sent.body) > 0) == (0, True)
    assert counted.raw == sent.raw


def test_after_a_refusal_for_its_length_the_past_goes_too(
    upstream: Upstream, binding: Binding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the thinking behind it, also far from what was taken for the brim."""
    monkeypatch.setenv("BRIMLINE_COMPACTION_TOKENS", "900000")
    error = {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 5 maximum"}
    thinker = Thinker()
    with Gateway(upstream.url) as gateway:
        thinker.work(gateway, range(12))
        upstream.answers = [Answer(400, json.dumps({"type": "error", "error": error}).encode())]
        thinker.work(gateway, range(12, 14))

    assert set(thinker.statuses) == {200}
    assert lines(upstream.arrived[-1].body) > 0
    assert sum(binding.failed) == 0


@pytest.mark.parametrize(("inside", "passes"), [("balanced", False), ("off", True)])
def test_where_the_mod_compacts_the_gateway_makes_no_pass(
    inside: str, passes: bool, upstream: Upstream, home_dir: str
) -> None:
    """Two that make room would do it twice."""
    upstream.binding = Binding("error")
    folder = SessionState(home_dir, SESSION).folder
    thinker = Thinker()
    with Gateway(upstream.url) as gateway:
        thinker.ask(gateway)
        sign = {"v": 1, "at": time.time(), "inside": inside}
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(f"{folder}/mod-alive", "w", encoding="utf-8") as file:
            json.dump(sign, file)
        thinker.work(gateway, range(24))

    assert (lines(upstream.arrived[-1].body) > 0) is passes


def test_a_request_with_only_what_is_new_is_sent_back(upstream: Upstream) -> None:
    """The client then sends everything."""
    raw = json.dumps(Talk().body(thread={"type": "continue", "id": "thread_1"})).encode()
    with Gateway(upstream.url) as gateway:
        status, _, body = gateway.ask(raw)

    assert status == 400
    told = json.loads(body)["error"]
    assert told["message"].endswith("capability_rejected: beta_header:message-threads-2026-08-12")
    assert not upstream.arrived
