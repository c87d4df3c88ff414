"""What a gateway knows of conversations: learned from what the service counted."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from tests.gateway.test_proxy import SESSION, bulky, raw_of

from brimline.compaction.compactor import Settings
from brimline.gateway.conversations import Conversations
from brimline.gateway.stickiness import Stickiness
from brimline.settings import config

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
            conversations.answered(passing, usage)
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
        conversations.answered(first, COUNTED)
        second = conversations.prepare(longer, {}, time.time())

    assert first.settings
    assert second.settings
    assert [first.settings.prices.read, second.settings.prices.read] == [0.1, 0.5]
