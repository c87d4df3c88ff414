"""What a gateway knows of conversations: learned from what the service counted."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.compaction.talks import Talk
from tests.gateway.test_proxy import SESSION, bulky, raw_of

from brimline.compaction.compactor import Settings
from brimline.gateway.conversations import Conversations
from brimline.gateway.stickiness import Stickiness
from brimline.settings import config

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTED = {"input_tokens": 10, "cache_read_input_tokens": 48_990, "output_tokens": 5}


def test_the_size_of_a_conversation_is_what_the_service_counted(home_dir: str) -> None:
    """An answer without usage teaches nothing, and leaves what was known."""
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        policy = config.live_policy(home_dir, home_dir)
        conversations = Conversations(home_dir, Settings(), policy, sticky)
        headers = {name.lower().encode(): value.encode() for name, value in SESSION.items()}
        passing = conversations.prepare(raw_of(bulky()), headers, time.time())
        assert passing.known is not None
        learned = []
        for usage in (None, COUNTED, None):
            conversations.note_answer(passing, usage)
            learned.append(passing.known.state.prompt_tokens)

    assert learned == [None, 49_000, 49_000]


def test_prices_are_those_of_the_table_and_the_users(home_dir: str) -> None:
    """An edit that pays at the usual price of the cache does not at a tenth of it."""
    own = '[[models]]\nfamilies = ["palimpsest"]\n[models.prices]\n'
    own += "input = 10\noutput = 50\nwrite_5m = 12.5\nwrite_1h = 20\nread = 0.1\n"
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        Path(home_dir, "config.toml").write_text(own)
        policy = config.live_policy(home_dir, home_dir)
        conversations = Conversations(home_dir, Settings(), policy, sticky)
        prices = []
        for model in ("claude-opus-5-5", "palimpsest-2", "claude-sonnet-4-6"):
            raw = json.dumps(bulky().body(model=model)).encode()
            passing = conversations.prepare(raw, {}, time.time())
            assert passing.settings
            prices.append(passing.settings.prices.read)

    assert prices == pytest.approx([0.05, 0.01, 0.1])


def test_a_long_prompt_has_the_prices_of_long_prompts(home_dir: str) -> None:
    """From the request on that follows the answer in which the service counted it."""
    own = '[[models]]\nfamilies = ["palimpsest"]\n[models.prices]\n'
    own += "input = 10\noutput = 50\nwrite_5m = 12.5\nwrite_1h = 20\nread = 1\n"
    own += "[models.prices_above]\ntokens = 40_000\n"
    own += "input = 10\noutput = 50\nwrite_5m = 12.5\nwrite_1h = 20\nread = 5\n"
    raw = json.dumps(bulky().body(model="palimpsest-2")).encode()
    longer = json.dumps(bulky(1).body(model="palimpsest-2")).encode()
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        Path(home_dir, "config.toml").write_text(own)
        policy = config.live_policy(home_dir, home_dir)
        conversations = Conversations(home_dir, Settings(), policy, sticky)
        first = conversations.prepare(raw, {}, time.time())
        conversations.note_answer(first, COUNTED)
        second = conversations.prepare(longer, {}, time.time())

    assert first.settings
    assert second.settings
    assert [first.settings.prices.read, second.settings.prices.read] == [0.1, 0.5]


@pytest.fixture
def conversations(home_dir: str) -> Iterator[Conversations]:
    """Those of a gateway that has just been started."""
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        policy = config.live_policy(home_dir, home_dir)
        yield Conversations(home_dir, Settings(), policy, sticky)


def test_a_request_is_of_the_session_and_agent_that_its_headers_name(
    conversations: Conversations,
) -> None:
    """Else of the one that its body names; a large window is asked for by a header."""
    body = bulky().body(metadata={"user_id": '{"session_id": "of the body"}'})
    raw = json.dumps(body).encode()
    own = {b"x-claude-code-session-id": b"of the header", b"x-claude-code-agent-id": b"a1"}

    named = conversations.prepare(raw, own, time.time())
    plain = conversations.prepare(raw, {b"anthropic-beta": b"x,context-1m-2025"}, time.time())

    assert (named.session, named.agent, named.name) == ("of the header", "a1", "of the header/a1")
    assert (plain.session, plain.agent, plain.name) == ("of the body", "", "of the body/")
    assert (named.is_large, plain.is_large) == (False, True)


@pytest.mark.parametrize("raw", [b"no json", b"[]", b'{"tools": [], "messages": []}'])
def test_what_is_no_request_of_a_conversation_passes_as_it_is(
    conversations: Conversations, raw: bytes
) -> None:
    """And nothing is learned from its answer."""
    passing = conversations.prepare(raw, {}, time.time())

    conversations.note_answer(passing, COUNTED)

    assert (passing.raw, passing.known, passing.outcome) == (raw, None, None)
    assert conversations.count(raw, {}, time.time()) == raw
    assert not conversations.shorten_refused(passing, b"prompt is too long")
    assert not conversations.drop_thinking(passing, all_of_it=True)


def test_a_refused_request_is_made_shorter_once(conversations: Conversations) -> None:
    """And not again where the shorter one was refused, too, in this request or the next."""
    talk = Talk()
    for number in range(12):
        talk.read(f"/w/file{number}.py", 9_000)
    told = b"prompt is too long: 40000 tokens > 20000 maximum"
    passing = conversations.prepare(raw_of(talk), {}, time.time())
    before = len(passing.raw)

    first = conversations.shorten_refused(passing, told)
    shorter = len(passing.raw)
    second = conversations.shorten_refused(passing, told)
    conversations.gave_up(passing)
    talk.idle(1)
    later = conversations.prepare(raw_of(talk), {}, time.time())

    assert (first, second) == (True, False)
    assert shorter < 0.6 * before
    assert not conversations.shorten_refused(later, told)


def test_counting_the_tokens_of_a_request_keeps_nothing_of_it(
    conversations: Conversations, home_dir: str
) -> None:
    """It is counted as it would be sent."""
    raw = raw_of(bulky())

    counted = conversations.count(raw, {}, time.time())

    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        kept = sticky.requests("")
    sent = conversations.prepare(raw, {}, time.time())
    assert kept == []
    assert counted == sent.raw
    assert len(counted) < len(raw)


def test_a_model_that_dropped_thinking_is_known_for_it_after_a_restart(
    conversations: Conversations, home_dir: str
) -> None:
    """Its past is left alone from then on."""
    first = conversations.prepare(raw_of(bulky()), {}, time.time())
    assert first.settings
    conversations.note_answer(first, COUNTED, has_dropped_thinking=True)
    again = conversations.prepare(raw_of(bulky(1)), {}, time.time())
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        bound = sticky.bound_models()

    assert again.settings
    assert (first.settings.is_bound, again.settings.is_bound) == (False, True)
    assert bound == {"claude-sonnet-4-5"}
