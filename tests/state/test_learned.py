"""Samples of compactions and refusals: which count, and what becomes of damaged ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from brimline.fast import clock
from brimline.state import learned
from brimline.state.session import SessionState

KEY = "200000:200000"
NEAR, REFUSED = (round(ratio * 200_000) for ratio in (learned.NEAR_RATIO, learned.REFUSED_RATIO))


def sample(tokens: int, **fields: object) -> learned.Sample:
    """An automatic compaction at some tokens."""
    known = {"at": 1.5, "session": "abc", "window": 200_000, "effective": 200_000}
    return learned.Sample(**{"tokens": tokens, "trigger": "auto"} | known | fields)  # type: ignore[arg-type]


@pytest.mark.row("S4-16", "S4-17", "S4-18")
def test_windows_settings_and_endings_are_learned_apart(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A point of one says nothing about another; an even number meets in the middle."""
    monkeypatch.setattr(learned, "LEAST_SAMPLES", 3)
    kinds: list[tuple[tuple[int, ...], dict[str, object]]] = [
        ((160_000, 161_000, 165_000, 159_000), {}),
        ((967_000,) * 3, {"window": 1_000_000, "effective": 1_000_000}),
        ((147_000,) * 3, {"window": 1_000_000, "effective": 180_000}),
        ((90_000,) * 3, {"effective": 180_000, "expected": 90_000}),
        ((90_000,) * 9, {}),
        ((167_000,) * 9, {"trigger": "manual"}),
        ((160_000, 190_000, 230_000), {"ending": "refusal"}),
        ((REFUSED - 1,) * 9, {"ending": "refusal"}),
        ((167_000,) * 2, {"window": 500_000, "effective": 200_000}),
    ]
    assert learned.learned_points_by_window(home_dir) == {}
    for tokens, fields in kinds:
        for each in tokens:
            learned.record_sample(home_dir, sample(each, **fields))

    assert learned.learned_points_by_window(home_dir) == {
        KEY: 160_500,
        "1000000:1000000": 967_000,
        "1000000:180000": 147_000,
        "200000:180000": 90_000,
        "200000:200000:refusal": 190_000,
    }


@pytest.mark.parametrize(
    ("tokens", "trigger", "usable"),
    [
        *[(167_000 + side * NEAR, "auto", True) for side in (-1, 1)],
        *[(167_000 + side * (NEAR + 1), "auto", False) for side in (-1, 1)],
        *[(167_000, trigger, False) for trigger in ("", "Auto", "AUTO", "api", "manual")],
    ],
)
def test_so_many_points_of_the_effective_one_are_near(
    tokens: int, trigger: str, usable: bool
) -> None:
    """On either side of window minus 33,000; what the client did not call automatic is not."""
    assert learned.is_sample_usable(sample(tokens, trigger=trigger)) is usable


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"garbage\n",
        b'{"v":1,"at":1,"session":"abc","window":2000',
        b'{"v":2,"at":1,"session":"a","window":200000,"effective":200000,"tokens":1}\n',
        b'{"v":1,"at":1,"session":"a","window":0,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b'{"v":1,"at":1,"session":"a","window":1,"effective":1,"tokens":true,"trigger":"auto"}\n',
        b'{"v":1,"at":1,"session":"a","window":1,"effective":1,"tokens":1,"trigger":null}\n',
        b'{"v":1,"at":1,"session":7,"window":1,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b'{"v":1,"at":"1","session":"a","window":1,"effective":1,"tokens":1,"trigger":"auto"}\n',
        b"[]\nnull\n\xff\xfe\n",
    ],
)
def test_damaged_samples_are_passed_over(damage: bytes, home_dir: str) -> None:
    """And the ones after them are still read, also behind a torn line; mode 600, as they were."""
    kept = sample(160_000, expected=150_000, ending="refusal")
    learned.record_sample(home_dir, kept)
    path = Path(home_dir, "learned.jsonl")
    with path.open("ab") as file:
        file.write(damage)
    learned.record_sample(home_dir, kept)

    assert learned.read_samples(home_dir) == [kept, kept]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().startswith(b'{"v":1,"at":1.5,')


@pytest.mark.parametrize(
    ("changes", "usable"),
    [
        ({}, True),
        ({"trigger": "manual"}, False),
        ({"tokens": 167_000 + NEAR}, True),
        ({"tokens": 167_001 + NEAR}, False),
        ({"tokens": 167_000 - NEAR}, True),
        ({"tokens": 166_999 - NEAR}, False),
        ({"tokens": 90_000 + NEAR, "expected": 90_000}, True),
        ({"tokens": REFUSED, "ending": "refusal"}, True),
        ({"tokens": REFUSED - 1, "ending": "refusal"}, False),
        ({"tokens": 100_000, "ending": "compaction"}, False),
        ({"tokens": 300_000, "ending": "refusal", "trigger": "manual"}, False),
    ],
)
def test_a_sample_counts_where_it_was_expected(changes: dict[str, Any], usable: bool) -> None:
    """Within a part of the window; a refusal from a larger one on."""
    assert learned.is_sample_usable(sample(**{"tokens": 167_000} | changes)) is usable


@pytest.mark.parametrize(
    ("before", "trigger", "tokens"),
    [
        ({}, "auto", 107),
        ({"tail": None}, "auto", 100),
        ({"trigger": "manual"}, "auto", None),
        ({}, "manual", None),
        ({"occupancy": None}, "auto", None),
        ({"at": 1_000.0}, "auto", None),
    ],
)
def test_a_compaction_is_kept_where_the_client_made_it_by_itself(
    home_dir: str, before: dict[str, Any], trigger: str, tokens: int | None
) -> None:
    """Just now, and measured."""
    state = SessionState(home_dir, "s")
    known = {"trigger": "auto", "occupancy": 100, "tail": 7, "window": 9, "effective": 8}
    state.spool_event("PreCompact", known | before)

    learned.record_automatic_compaction(home_dir, state, trigger)

    found = learned.read_samples(home_dir)
    assert [one.tokens for one in found] == ([] if tokens is None else [tokens])
    if found:
        assert (found[0].window, found[0].effective, found[0].session) == (9, 8, "s")


def test_one_that_was_made_while_nobody_was_there_tells_nothing(home_dir: str) -> None:
    """After a long time without use."""
    now = clock.now_s()
    for pause, count in ((learned._IDLE_S - 60, 1), (learned._IDLE_S + 60, 0)):
        state = SessionState(home_dir, f"s{pause}")
        state.spool_event("Stop", {"at": now - pause})
        known = {"trigger": "auto", "occupancy": 100, "window": 9, "effective": 8, "at": now}
        state.spool_event("PreCompact", known)
        learned.record_automatic_compaction(home_dir, state, "auto")
        found = [one for one in learned.read_samples(home_dir) if one.session == state.session_id]
        assert len(found) == count


OLD = learned._OLDEST_NOTE_S


@pytest.mark.parametrize(
    ("age_s", "count"), [(OLD - 10, 1), (OLD + 0.2, 0), (10 - OLD, 1), (-OLD - 10, 0)]
)
def test_an_announcement_belongs_to_a_compaction_for_a_while(
    home_dir: str, age_s: float, count: int
) -> None:
    """Before and after: clocks may differ."""
    state = SessionState(home_dir, "s")
    known = {"trigger": "auto", "occupancy": 100, "window": 9, "effective": 8}
    state.spool_event("PreCompact", known | {"at": clock.now_s() - age_s})

    learned.record_automatic_compaction(home_dir, state, "auto")

    assert len(learned.read_samples(home_dir)) == count


@pytest.mark.parametrize(("pause_s", "count"), [(learned._IDLE_S, 1), (learned._IDLE_S + 0.5, 0)])
def test_a_session_is_unused_after_exactly_so_long(
    home_dir: str, pause_s: float, count: int
) -> None:
    """Whatever was used last."""
    now, state = clock.now_s(), SessionState(home_dir, "s")
    state.spool_event("UserPromptSubmit", {"at": now - 2 * learned._IDLE_S})
    state.spool_event("PostToolUse", {"at": now - pause_s})
    known = {"trigger": "auto", "occupancy": 100, "window": 9, "effective": 8, "at": now}
    state.spool_event("PreCompact", known)

    learned.record_automatic_compaction(home_dir, state, "auto")

    assert len(learned.read_samples(home_dir)) == count
