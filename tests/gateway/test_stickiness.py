"""What a gateway keeps of the requests of a conversation, for itself and for others."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest

from brimline.compaction.stand_ins import StandIn
from brimline.fast import paths
from brimline.gateway.stickiness import Sent, Stickiness
from brimline.gateway.traces import SENT_FOR_S

DAY_S = 86_400


def sent(at: float, name: str = "hash") -> Sent:
    """A request that was sent at some moment."""
    return Sent(name, 3, "prefix", None, at)


def line(text: str) -> StandIn:
    """Something that stands in for a block."""
    return StandIn(2, {"text": text}, f"key of {text}", 7.5)


def test_another_conversation_adopts_what_stands_in_and_keeps_it_as_its_own(home_dir: str) -> None:
    """Later changes of the first do not reach it; a mere look adopts nothing."""
    now = time.time()
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        sticky.record_request("one", sent(now), {"a": line("old"), "b": line("b")})
        looked = sticky.adopt_others_stand_ins(["a", "x"], "three", is_sent=False)
        adopted = sticky.adopt_others_stand_ins(["a", "x"], "two")
        sticky.record_request("one", sent(now), {"a": line("new")})

        assert looked == adopted == {"a": line("old")}
        assert sticky.adopt_others_stand_ins(["a", "b"], "one") == {
            "a": line("new"),
            "b": line("b"),
        }
        assert sticky.adopt_others_stand_ins(["a"], "two") == {"a": line("old")}
        assert sticky.adopt_others_stand_ins(["a"], "three") == {"a": line("new")}
        assert sticky.sent_stand_ins(["b"], "two") == {}


def test_a_request_of_before_has_what_stood_in_then(home_dir: str) -> None:
    """Without its number it is the last one that is meant."""
    now = time.time()
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        first = sticky.record_request("one", sent(now), {"a": line("old")})
        sticky.record_request("one", sent(now), {"a": line("new"), "b": line("b")})

        assert sticky.sent_stand_ins(["a", "b"], "one", first) == {"a": line("old")}
        assert sticky.sent_stand_ins(["a", "b"], "one") == {"a": line("new"), "b": line("b")}


def test_the_last_two_requests_of_each_conversation_with_a_name_are_known(home_dir: str) -> None:
    """The last first, with those of its branches, and not those of another session."""
    now = time.time()
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        for name in ("first", "second", "third"):
            sticky.record_request("s/", sent(now, name), {})
        sticky.record_request("s/#branch", sent(now, "branch"), {})
        sticky.record_request("s/agent", sent(now, "agent"), {})
        sticky.record_request("r/", sent(now, "other"), {})

        known = [(name, kept.hash) for name, kept in sticky.last_requests("s/")]

    assert known == [("s/#branch", "branch"), ("s/", "third"), ("s/", "second")]


def test_what_is_older_than_thirty_days_is_dropped_when_a_gateway_starts(home_dir: str) -> None:
    """And not a second before."""
    now = time.time()
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        for age_days in (29, 31):
            at = now - age_days * DAY_S
            sticky.record_request(f"{age_days}", sent(at), {f"{age_days}": line("a")})

    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        kept = sticky.adopt_others_stand_ins(["29", "31"], "new")
        requests = [len(sticky.last_requests(name)) for name in ("29", "31")]

    assert (set(kept), requests) == ({"29"}, [1, 0])


def test_a_file_of_a_newer_version_is_left_alone_and_a_damaged_one_begun_anew(
    home_dir: str,
) -> None:
    """Nothing of a newer one is lost; of a damaged one nothing can be read."""
    now = time.time()
    path = paths.stand_ins_database(home_dir)

    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        sticky.record_request("one", sent(now), {"a": line("a")})
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 3")

    with pytest.raises(OSError, match="a newer brimline wrote"):
        Stickiness(home_dir, now)
    with open(path, "wb") as file:
        file.write(b"no database" * 99)
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        assert sticky.last_requests("one") == []


@pytest.mark.parametrize(("age_s", "is_kept"), [(SENT_FOR_S, True), (SENT_FOR_S + 1, False)])
def test_what_was_sent_is_kept_to_the_second(home_dir: str, age_s: int, is_kept: bool) -> None:
    """Of what was adopted too, from the moment at which it was decided."""
    now = 1_800_000_000.0
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        sticky.record_request("one", sent(now - age_s), {"a": line("a")})
        sticky.adopt_others_stand_ins(["a"], "two")
    with contextlib.closing(Stickiness(home_dir, now)) as sticky:
        kept = [sticky.sent_stand_ins(["a"], name) for name in ("one", "two")]
        requests = len(sticky.last_requests("one"))

    assert kept == ([{"a": line("a")}] * 2 if is_kept else [{}, {}])
    assert requests == is_kept


def test_what_is_kept_is_the_users_alone_and_one_file_in_the_end(home_dir: str) -> None:
    """A second gateway reads it while the first writes."""
    path = Path(paths.stand_ins_database(home_dir))
    with contextlib.closing(Stickiness(home_dir, 0.0)) as sticky:
        sticky.record_request("one", sent(1.0), {"a": line("a")})
        with contextlib.closing(Stickiness(home_dir, 0.0)) as other:
            assert other.sent_stand_ins(["a"], "one") == {"a": line("a")}
        assert path.stat().st_mode & 0o777 == 0o600
        with contextlib.closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert database.execute("PRAGMA user_version").fetchone() == (2,)

    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_request_is_kept_with_all_that_stands_in_or_not_at_all(home_dir: str) -> None:
    """Where one of them cannot be written, nothing is."""
    broken = StandIn(2, {"text": object()}, "key", 1.0)
    with contextlib.closing(Stickiness(home_dir, 0.0)) as sticky:
        sticky.record_request("one", sent(1.0, "first"), {})
        with pytest.raises(TypeError):
            sticky.record_request("one", sent(1.0, "second"), {"a": line("a"), "b": broken})
        known = [kept.hash for _, kept in sticky.last_requests("one")]
        standing = sticky.adopt_others_stand_ins(["a"], "two")
        again = sticky.record_request("one", sent(1.0, "third"), {})

    assert (known, standing) == (["first"], {})
    assert again
