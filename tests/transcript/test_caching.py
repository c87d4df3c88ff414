"""What a session read from the prompt cache, and what broke its prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.transcript import caching
from brimline.transcript.caching import cache_breaks
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brimline.testing import SessionBuilder
    from brimline.transcript.caching import Break


def cached(session: SessionBuilder, edits: Mapping[float, str] | None = None) -> list[Break]:
    """The cache's figures of a session as it is."""
    found = Session()
    list(found.rows_of(session.path))
    return cache_breaks(found.requests, edits or {})


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

    found = cached(session, {edited: "due"})

    assert [one.cause for one in found] == [
        "expired",
        "compaction",
        "another model",
        "unknown, after skill_listing",
        "gateway, due",
    ]
    assert found[0].tokens == 51_000


TOKENS, SHARE = caching._LEAST_TOKENS, round(caching._LEAST_SHARE * 1_000_000)


@pytest.mark.parametrize(
    ("held", "read", "breaks"),
    [
        (10 * TOKENS, 9 * TOKENS, []),
        (10 * TOKENS, 9 * TOKENS - 1, [TOKENS + 1]),
        (1_000_000, 1_000_000 - SHARE, []),
        (1_000_000, 999_999 - SHARE, [SHARE + 1]),
        (40_000, 50_000, []),
    ],
)
def test_a_prefix_is_broken_from_a_share_and_some_tokens_on(
    session: SessionBuilder, held: int, read: int, breaks: list[int]
) -> None:
    """Less may be a mark that moved."""
    reply(session, 0, held)
    reply(session, read, 0)

    assert [one.tokens for one in cached(session)] == breaks


@pytest.mark.parametrize(
    ("pause", "edit_after", "cause"),
    [
        (299, None, "unknown"),
        (300, None, "expired"),
        (10, 0.0, "gateway, due"),
        (10, 11 + caching._SLACK_S, "gateway, due"),
        (10, 11.1 + caching._SLACK_S, "unknown"),
        (10, -0.1, "unknown"),
    ],
)
def test_a_cause_is_told_where_the_times_fit(
    session: SessionBuilder, pause: int, edit_after: float | None, cause: str
) -> None:
    """A cache lives five minutes; an edit is noted some seconds after the reply."""
    reply(session, 0, 50_000)
    first = session.now
    session.now += pause
    reply(session, 0, 50_000)
    edits = {} if edit_after is None else {first + edit_after: "due"}

    assert [one.cause for one in cached(session, edits)] == [cause]


def test_the_kinds_that_came_between_are_told_the_most_frequent_first(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few at most, and only those since the request before."""
    monkeypatch.setattr(caching, "_MOST_KINDS", 3)
    session.row("attachment", attachment={"type": "old"})
    reply(session, 0, 50_000)
    for kind in ("a", "b", "b", "c", "d"):
        session.row("attachment", attachment={"type": kind})
    reply(session, 0, 50_000)

    (one,) = cached(session)

    assert one.cause == "unknown, after b, a, c"
    assert one.at == pytest.approx(session.now)
    assert one.tokens == 50_000


def test_a_reply_of_several_rows_counts_once(session: SessionBuilder) -> None:
    """By its name; those without one count each, and one without a time has that before it."""
    message = {"id": "m1", "model": "m", "content": []}
    usage = {"cache_read_input_tokens": 5, "cache_creation_input_tokens": 9_000}
    for name in ("m1", "m1", None, None):
        session.row("assistant", message=message | {"id": name, "usage": usage})
    session.row("assistant", message=message | {"id": "m2", "usage": usage}, timestamp=None)

    found = cached(session)

    assert found[-1].at == pytest.approx(session.now - 1)
    assert [one.cause for one in found] == ["unknown"] * 3


def test_the_last_row_of_a_reply_tells_what_it_read(session: SessionBuilder) -> None:
    """Clients begin some replies with a row that measures nothing yet."""
    reply(session, 0, 50_000)
    message = {"id": "m2", "model": "m", "content": []}
    for read in (0, 50_000):
        usage = {"input_tokens": 3, "cache_read_input_tokens": read}
        session.row("assistant", message=message | {"usage": usage})

    found = cached(session)

    assert found == []
