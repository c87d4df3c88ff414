"""An entry of memory as the model sees it: where it is from, how old it is, what it says."""

from __future__ import annotations

import time

import pytest

from brimline.errors import BrimlineError, StoreError
from brimline.fast import clock
from brimline.mcp import remembered
from brimline.recall import hits
from brimline.recall.record import Hit, Record
from brimline.transcript.project import Project

NOW = 1_800_000_000.0
SAID = Record("id", "The otter\nplan.", "0a1b2c3d-0000", NOW - 60, "user", "/p")
HIT = Hit(SAID, 7)
MOST = remembered._MOST_HITS


@pytest.fixture(autouse=True)
def _standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing gets older while a test runs."""
    monkeypatch.setattr(clock, "now_s", lambda: NOW)


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
    assert remembered.found_entry_line(Hit(SAID._replace(at=NOW - seconds), 7)) == (
        f"m7 (user, {told}, session 0a1b2c3d): The otter plan."
    )
    assert "(user, unknown age, session" in remembered.found_entry_line(
        Hit(SAID._replace(at=0.0), 7)
    )


def test_a_line_names_author_and_session_as_far_as_there_are_any() -> None:
    """The path of a topic is not a session; what others wrote is on one line."""
    topic = Hit(SAID._replace(session="/home/a/topic.md", source="topic"), 7)
    other = HIT._replace(author="mi\na")

    assert remembered.found_entry_line(topic) == "m7 (topic, 1 min ago): The otter plan."
    assert remembered.found_entry_line(other).startswith("m7 (by mi a, user, 1 min ago, session ")


def test_an_entry_is_quoted_line_by_line() -> None:
    """Below where it is from."""
    head, *rest = remembered.quoted_entry_text(HIT).split("\n")

    assert head == "m7 (user, 1 min ago, session 0a1b2c3d):"
    assert rest == ["  > The otter", "  > plan."]


def test_what_teammates_said_is_kept_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was said here is not kept at all: it is in the search."""
    monkeypatch.setattr(remembered, "_elsewhere", {})
    own, theirs, older = HIT, HIT._replace(number=8, author="mia"), HIT._replace(number=9)
    now = 1_000.0
    oldest = now - remembered._KEPT_S
    remembered._elsewhere[9, False] = (older, oldest - 0.5)
    remembered._elsewhere[10, False] = (older, oldest + 0.5)

    with monkeypatch.context() as standing:
        standing.setattr(time, "monotonic", lambda: now)
        remembered._keep_team_hits_briefly_in_process([own, theirs], everywhere=True)

    assert remembered._elsewhere == {(8, True): (theirs, now), (10, False): (older, oldest + 0.5)}


@pytest.mark.parametrize("missing", ["name", "type", "description", "text"])
@pytest.mark.parametrize("value", [None, 1])
def test_a_topic_needs_all_of_its_parts(world: object, missing: str, value: object) -> None:
    """As text, each of them."""
    parts = {"name": "a", "type": "user", "description": "d", "text": "t"} | {missing: value}

    with pytest.raises(BrimlineError, match="needs name, type, description and text"):
        remembered.save_topic("/nowhere", parts)


def said(home_dir: str, number: int) -> None:
    """So many entries of a project."""
    entries = [
        {"id": f"{at}", "text": f"The otter plan {at}.", "project": "/p", "group": f"g{at}"}
        for at in range(number)
    ]
    hits.open_or_make_memory(home_dir).add(entries)


@pytest.mark.parametrize(
    ("number", "shown"), [(MOST - 1, MOST - 1), (MOST, MOST), (MOST + 1, MOST)]
)
def test_a_few_entries_are_shown(home_dir: str, number: int, shown: int) -> None:
    """Below one line that says how to read one."""
    said(home_dir, number)

    lines = remembered.search_as_text(home_dir, "/p", "otter plan", 9_999, Project(("/p",)))

    head, *rows = lines.splitlines()
    assert head == (
        '[brimline recall: said before, best first; key="m…" shows one with its context]'
    )
    assert len(rows) == shown
    assert all(row.startswith("m") for row in rows)


def test_other_projects_are_searched_on_request_only(home_dir: str) -> None:
    """Before anything was taken in nothing is made."""
    assert remembered.search_as_text(home_dir, "/p", "otter", 999, None) == ""
    said(home_dir, 1)

    here, elsewhere, everywhere = [
        remembered.search_as_text(home_dir, "/p", "otter plan", 999, within)
        for within in (Project(("/p",)), Project(("/q",)), None)
    ]

    assert here.startswith("[brimline recall: said before, best first; key=")
    assert (elsewhere, everywhere) == ("", here)


@pytest.mark.parametrize(("too_old_s", "is_known"), [(-0.1, True), (0.0, False)])
def test_what_a_teammate_said_can_be_read_for_a_while(
    home_dir: str, too_old_s: float, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it was said."""
    theirs = Hit(SAID._replace(project="elsewhere"), 8, author="mia")
    monkeypatch.setattr(remembered, "_elsewhere", {(8, False): (theirs, 1_000.0)})
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0 + remembered._KEPT_S + too_old_s)

    if is_known:
        told = remembered.entry_text(home_dir, 8, Project(("/p",)))
        assert told.splitlines() == [
            "[brimline recall m8 of session 0a1b2c3d-0000]",
            "m8 (by mia, user, 1 min ago, session 0a1b2c3d):",
            "  > The otter",
            "  > plan.",
        ]
    else:
        with pytest.raises(StoreError, match="there is no entry m8: search for it again"):
            remembered.entry_text(home_dir, 8, Project(("/p",)))


@pytest.mark.parametrize(("key", "number"), [("m7", "7"), ("m" + "9" * 12, "9" * 12)])
def test_a_key_of_an_entry_is_its_number(key: str, number: str) -> None:
    """Of twelve digits at the most."""
    found = remembered.KEY.fullmatch(key)

    assert found
    assert found[1] == number
    assert not remembered.KEY.fullmatch("m" + "9" * 13)
    assert not remembered.KEY.fullmatch("m")


AGELESS = SAID._replace(text="The otter plan.", at=0.0)


FOUND, QUOTED = "x" * remembered._HIT_CHARACTERS, "x" * remembered._ENTRY_CHARACTERS


@pytest.mark.parametrize(("text", "shown"), [(FOUND, FOUND), (FOUND + "x", FOUND[1:] + "…")])
def test_a_long_entry_that_was_found_is_cut(text: str, shown: str) -> None:
    """On its line."""
    line = remembered.found_entry_line(Hit(AGELESS._replace(text=text), 7))

    assert line == f"m7 (user, unknown age, session 0a1b2c3d): {shown}"


@pytest.mark.parametrize(("text", "shown"), [(QUOTED, QUOTED), (QUOTED + "x", QUOTED + "…")])
def test_a_long_entry_that_is_quoted_is_cut(text: str, shown: str) -> None:
    """What is longer ends with an ellipsis."""
    assert (
        remembered.quoted_entry_text(Hit(AGELESS._replace(text=text), 7)).split("\n")[1]
        == f"  > {shown}"
    )
