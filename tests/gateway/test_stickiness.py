"""What a gateway keeps of the requests of a conversation, for itself and for others."""

from __future__ import annotations

import contextlib
import time

from brimline.gateway.stickiness import Sent, Stickiness


def test_a_request_is_kept_under_a_number_and_only_behind_the_one_it_was_decided_upon(
    home_dir: str,
) -> None:
    """Where another gateway has gone on with the conversation, nothing of it is kept."""
    now = time.time()
    sent = Sent("hash", 3, "prefix", None, 300, now)
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        first = sticky.keep("talk", sent, {})
        assert first
        second = sticky.keep("talk", sent, {}, first)
        assert second
        assert second > first
        assert sticky.keep("talk", sent, {}, first) is None
        assert [kept.number for _, kept in sticky.requests("talk")] == [second, first]
        # One that is kept again stays in its place.
        assert sticky.keep("talk", sent._replace(number=first, marked=2), {}) == first
        assert [kept.marked for _, kept in sticky.requests("talk")] == [None, 2]
