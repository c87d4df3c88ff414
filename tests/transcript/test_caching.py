"""What a session read from the prompt cache, and what broke its prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.transcript.caching import scan_cache

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def reply(
    session: SessionBuilder, read: int, written: int, model: str = "m", more: Any = ()
) -> None:
    """A reply with a usage of its own."""
    usage = {"input_tokens": 3, "output_tokens": 1, **dict(more)}
    usage |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    name = f"msg_{session.now}_{read}"
    session.row("assistant", message={"id": name, "model": model, "usage": usage, "content": []})


@pytest.mark.row("S2-23", "S2-49")
def test_every_break_has_its_cause(session: SessionBuilder) -> None:
    """A pause, a compaction, another model, a gateway's edit, what was injected just before."""
    hour = {"cache_creation": {"ephemeral_1h_input_tokens": 9}}
    reply(session, 0, 50_000)
    reply(session, 50_000, 1_000)
    session.now += 400
    reply(session, 0, 52_000, more=hour)
    session.now += 400
    reply(session, 52_000, 500, more=hour)
    session.compact(60_000, "auto", "so far")
    reply(session, 20_000, 9_000)
    reply(session, 0, 30_000, "other")
    session.row("attachment", attachment={"type": "skill_listing", "content": "new"})
    reply(session, 9_000, 22_000, "other")
    session.now += 60
    edited = session.now + 1
    reply(session, 10_000, 15_000, "other")

    found = scan_cache(session.path, {edited: "due"})

    assert [one.cause for one in found.breaks] == [
        "expired",
        "compaction",
        "another model",
        "unknown, after skill_listing",
        "gateway, due",
    ]
    assert found.breaks[0].tokens == 51_000
    assert (found.requests, found.read_tokens) == (8, 141_000)
    assert found.causes["expired"] == 1
