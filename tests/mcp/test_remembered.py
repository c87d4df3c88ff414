"""An entry of memory as the model sees it: where it is from, how old it is, what it says."""

from __future__ import annotations

import time

import pytest

from brimline import clock
from brimline.errors import BrimlineError
from brimline.mcp import remembered
from brimline.search.turns import Hit

NOW = 1_800_000_000.0
HIT = Hit("id", "The otter\nplan.", "0a1b2c3d-0000", NOW - 60, "user", "/p", 7, 0.0)


@pytest.fixture(autouse=True)
def _standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing gets older while a test runs."""
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (3_600, "1 h ago"),
        (86_399, "23 h ago"),
        (86_400, "1 d ago"),
        (86_400 * 1_500, "1,500 d ago"),
    ],
)
def test_an_age_is_told_in_its_largest_whole_unit(seconds: float, told: str) -> None:
    """Below a minute it is now; what has no time has no age."""
    assert remembered.found_entry_line(HIT._replace(at=NOW - seconds)) == (
        f"m7 (user, {told}, session 0a1b2c3d): The otter plan."
    )
    assert "(user, unknown age, session" in remembered.found_entry_line(HIT._replace(at=0.0))


def test_a_line_names_author_and_session_as_far_as_there_are_any() -> None:
    """The path of a topic is no session; what others wrote is on one line."""
    topic = HIT._replace(group="/home/a/topic.md", source="topic")
    other = HIT._replace(author="mi\na")

    assert remembered.found_entry_line(topic) == "m7 (topic, 1 min ago): The otter plan."
    assert remembered.found_entry_line(other).startswith("m7 (by mi a, user, 1 min ago, session ")
    assert len(remembered.found_entry_line(HIT._replace(text="x" * 999))) < 400


def test_an_entry_is_quoted_line_by_line() -> None:
    """Below where it is from; a long one is cut."""
    head, *rest = remembered.quote_entry(HIT).split("\n")

    assert head == "m7 (user, 1 min ago, session 0a1b2c3d):"
    assert rest == ["  > The otter", "  > plan."]
    long = remembered.quote_entry(HIT._replace(text="x" * 5_000))
    assert 1_300 <= long.count("x") <= 1_301


def test_what_teammates_said_is_kept_for_two_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was said here is not kept at all: it is in the search."""
    monkeypatch.setattr(remembered, "_elsewhere", {})
    own, theirs, older = HIT, HIT._replace(number=8, author="mia"), HIT._replace(number=9)
    now = 1_000.0
    remembered._elsewhere[9] = (older, now - 120.5)
    remembered._elsewhere[10] = (older, now - 119.5)

    with monkeypatch.context() as standing:
        standing.setattr(time, "monotonic", lambda: now)
        remembered._keep_team_hits([own, theirs])

    assert remembered._elsewhere == {8: (theirs, now), 10: (older, now - 119.5)}


@pytest.mark.parametrize("missing", ["name", "type", "description", "text"])
@pytest.mark.parametrize("value", [None, 1])
def test_a_topic_needs_all_of_its_parts(world: object, missing: str, value: object) -> None:
    """As text, each of them."""
    parts = {"name": "a", "type": "user", "description": "d", "text": "t"} | {missing: value}

    with pytest.raises(BrimlineError, match="needs name, type, description and text"):
        remembered.keep_topic("/nowhere", parts)
