"""The texts of `history`: limits, what is said where something is missing, one or many."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.errors import SessionError
from brimline.fast import clock
from brimline.figures import archive, lookback, store
from brimline.figures.archive import Session
from brimline.figures.lookback import _LAST_ROWS, _RECENT_SESSIONS, _SLACK_S
from brimline.figures.totals import Request
from brimline.transcript.compactions import Recorded

START = 1_790_000_000.0
SAVED = {"references": 0, "tokens_estimated": 0, "recalls": 0, "gateway_tokens": 0}
MINUTE = "2026-09-21 14:13Z"


def nothing(home_dir: str, names: list[str]) -> dict[str, int]:
    """Offloading saved nothing; how many sessions were asked for is told."""
    return SAVED | {"asked": len(names)}


def session(name: str, at: float, *recorded: Recorded, **event: Any) -> Session:
    """A session with one event and some compactions."""
    told = {"at": at, "event": "SessionStart"} | event
    return Session(name, [[], []], 0, [told], [], list(recorded))


def row(at: float, uuid: str | None = None, **fields: Any) -> Recorded:
    """A compaction as a transcript records it."""
    values: dict[str, Any] = dict.fromkeys(Recorded._fields)
    return Recorded(**values | {"at": at, "uuid": uuid} | fields)


def keep(home_dir: str, *sessions: Session) -> None:
    """Put sessions into the history."""
    archive.write_session_lines(home_dir, list(sessions), float("inf"))


def looked_back(home_dir: str, session_id: str | None = None, **more: bool) -> dict[str, Any]:
    """The document of the history."""
    with store.opened(home_dir) as figures:
        return lookback.document(figures, nothing, session_id, **more)


def compaction(**fields: Any) -> dict[str, Any]:
    """A compaction of a document."""
    names = "trigger pre_tokens post_tokens messages_of_the_user messages_in_summary moved_out"
    unknown = dict.fromkeys([*names.split(), "seconds", "account", "dollars"])
    return unknown | {"session_id": "0123456789", "at": clock.format_utc(START)} | fields


def overview(**fields: Any) -> dict[str, Any]:
    """A document of all sessions in which there is nothing."""
    counts = "session_count compaction_count compactions_without_a_model results_moved_out"
    return dict.fromkeys(counts.split(), 0) | {
        "sessions": [],
        "summary_characters": None,
        "summary_tokens": None,
        "kept_out": SAVED,
        **fields,
    }


def one_session(**fields: Any) -> dict[str, Any]:
    """A document of one session in which there is nothing."""
    unknown = "title project model window_tokens first_at last_at peak_occupancy_tokens"
    return dict.fromkeys(unknown.split()) | {
        "session_id": "abc",
        "requests": 0,
        "occupancy_tokens": [],
        "kept_out": SAVED,
        "turns": [],
        "messages": [],
        "blocks": [],
        "compactions": [],
        "cleared": [],
        **fields,
    }


@pytest.mark.parametrize(
    ("saved", "told"),
    [
        ({}, "nothing yet"),
        (
            {"references": 1, "tokens_estimated": 1_234, "recalls": 0},
            "~1,234 tokens, 1 result replaced, 0 of them fetched back",
        ),
        (
            {"references": 2, "tokens_estimated": 0, "recalls": 1_000},
            "~0 tokens, 2 results replaced, 1,000 of them fetched back",
        ),
        (
            {"references": 2, "tokens_estimated": -1_001, "recalls": 2},
            (
                "better previews, ~1,001 tokens more than the client's, 2 results replaced, "
                "2 of them fetched back"
            ),
        ),
        ({"gateway_tokens": 9_000}, "by the gateway up to 9,000 tokens of a request"),
        (
            {"references": 1, "gateway_tokens": 2},
            (
                "~0 tokens, 1 result replaced, 0 of them fetched back; "
                "by the gateway up to 2 tokens of a request"
            ),
        ),
    ],
)
def test_what_was_kept_out_is_told_by_who_did_it(saved: dict[str, int], told: str) -> None:
    """Both where both did."""
    assert lookback.kept_out_text(SAVED | saved) == told


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {},
            "No history yet: hooks have recorded nothing, and no transcript has a compaction.",
        ),
        (
            {"compaction_count": 1},
            (
                "No session was recorded by hooks yet.\n\n"
                "Summary size: no compaction with a summary is known."
            ),
        ),
        (
            {
                "compaction_count": 1,
                "compactions_without_a_model": 1,
                "results_moved_out": 1,
            },
            (
                "No session was recorded by hooks yet.\n\n"
                "1 of 1 compaction without a model: nothing was summarised, 1 result moved out"
            ),
        ),
        (
            {
                "compaction_count": 3,
                "compactions_without_a_model": 2,
                "results_moved_out": 7,
                "summary_tokens": {"count": 1, "p50": 900, "largest": 1_900},
            },
            (
                "No session was recorded by hooks yet.\n\n"
                "2 of 3 compactions without a model: nothing was summarised, 7 results moved out\n"
                "Summary size in tokens, estimated, over 1 compaction: p50 900, largest 1,900.\n"
                "The client keeps 20,000 free for one."
            ),
        ),
    ],
)
def test_without_sessions_what_is_known_of_compactions_is_told(
    fields: dict[str, Any], told: str
) -> None:
    """Or that there is nothing."""
    assert lookback.text(overview(**fields)) == told


def test_a_session_has_its_row_with_how_full_it_was() -> None:
    """A share only where both figures are known; of a project the last folder; its title."""
    line = {"last_at": clock.format_utc(START), "session_id": "0123456789", "turns": 3}
    line |= {"peak_occupancy_tokens": 150_000, "window_tokens": 200_000, "compactions": 2}
    unknown = dict.fromkeys(line) | {"session_id": "x", "turns": 0, "compactions": 0}
    shown = [
        line | {"project": "/home/dev/app/", "title": "Fixed", "is_copy": True},
        line | {"project": None, "window_tokens": None, "title": "", "is_copy": False},
        unknown | {"project": "web", "title": "", "is_copy": False},
    ]

    told = lookback.text(overview(sessions=shown, session_count=4)).split("\n")

    assert told[0] == "Sessions, newest first (3 of 4)"
    rows = [row.split() for row in told[1:5]]
    assert rows[0] == ["last", "active", "session", "fullest", "compacted", "project", "title"]
    place = ["01234567", "150,000", "(75%)", "2", "app"]
    assert rows[1] == [*MINUTE.split(), *place, "copy:", "Fixed"]
    assert rows[2] == [*MINUTE.split(), "01234567", "150,000", "2", "unknown"]
    assert rows[3] == ["unknown", "x", "unknown", "0", "web"]
    assert told[5] == "Kept out on arrival: nothing yet"


@pytest.mark.parametrize(
    ("count", "of_all"),
    [(_LAST_ROWS, ""), (_LAST_ROWS + 1, f" (last {_LAST_ROWS} of {_LAST_ROWS + 1})")],
)
def test_the_last_turns_and_compactions_of_a_session_are_listed(count: int, of_all: str) -> None:
    """How many there are in all is said where that is more."""
    turn = {"at": clock.format_utc(START), "occupancy_tokens": None, "growth_tokens": 1_500}
    turns = [
        turn | {"number": number, "requests": 2, "compactions": 0} for number in range(1, count + 1)
    ]
    listed = [compaction(pre_tokens=number) for number in range(1, count + 1)]

    lines = lookback.text(one_session(turns=turns, compactions=listed)).split("\n")

    at = lines.index(f"Turns{of_all}")
    rows = [line.split() for line in lines[at + 2 : at + 2 + _LAST_ROWS]]
    numbers = [str(number) for number in range(count + 1 - _LAST_ROWS, count + 1)]
    assert [row[0] for row in rows] == numbers
    assert rows[0][3:] == ["unknown", "+1,500", "2"]
    at = lines.index(f"Compactions{of_all}")
    assert [line.split()[4] for line in lines[at + 2 : at + 2 + _LAST_ROWS]] == numbers


@pytest.mark.parametrize(
    ("fields", "cells"),
    [
        ({}, ["unknown", "unknown", "unknown"]),
        ({"trigger": "12345678", "post_tokens": 1_000}, ["12345678", "unknown", "1,000"]),
        ({"trigger": "123456789"}, ["1234567…", "unknown", "unknown"]),
        (
            {"messages_of_the_user": 4, "messages_in_summary": 0},
            ["unknown", "unknown", "unknown", "0/4"],
        ),
        ({"messages_of_the_user": 4}, ["unknown", "unknown", "unknown"]),
        ({"messages_in_summary": 4}, ["unknown", "unknown", "unknown"]),
        (
            {"seconds": 90, "dollars": 0.0},
            ["unknown", "unknown", "unknown", "1.5", "min", "$0.00"],
        ),
        ({"seconds": 5, "dollars": 1.256}, ["unknown", "unknown", "unknown", "5", "s", "$1.26"]),
    ],
)
@pytest.mark.parametrize(
    ("columns", "year"), [(lookback._YEAR_FITS - 1, ""), (lookback._YEAR_FITS, "2026-")]
)
def test_a_compaction_has_its_row(
    fields: dict[str, Any],
    cells: list[str],
    columns: int,
    year: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is not known is blank or said to be; where it is narrow the year is left out."""
    monkeypatch.setenv("COLUMNS", str(columns))
    document = overview(compactions=[compaction(**fields)])

    line = lookback.text(document).split("\n")[2]

    assert line.split() == [f"{year}09-21", "14:13Z", "01234567", *cells]


def test_a_compaction_without_a_model_is_told_in_a_line_of_its_own() -> None:
    """Where all of them are, the legend says nothing of a summary's cost."""
    moved = compaction(moved_out=2, account="without a model, 2 results moved out")
    summed = compaction()

    alone, both = (
        lookback.text(overview(compactions=listed, compaction_count=len(listed)))
        for listed in ([moved], [moved, summed])
    )

    assert f"\n  {MINUTE}  without a model, 2 results moved out\nTokens before" in alone
    assert "the summary, and" not in " ".join(alone.split())
    assert "Cost, about: what is written" in " ".join(alone.split())
    assert "Cost, about: the summary, and what is written" in " ".join(both.split())


def test_a_session_of_which_nothing_is_known_says_so() -> None:
    """Line by line; what was announced and refused is told where there is something."""
    notice = {"at": clock.format_utc(START), "tier": 2, "occupancy_tokens": 9_000}
    said = notice | {"event": "Stop", "tool": None}
    refused = [
        notice | {"event": "PreToolUse", "tool": "Bash", "at": clock.format_utc(START - 60)},
        notice | {"event": "Stop", "tool": None, "occupancy_tokens": None},
    ]

    empty = lookback.text(one_session())
    told = lookback.text(one_session(messages=[said], blocks=refused, occupancy_tokens=[5, 9]))

    assert empty.split("\n") == [
        "Session abc",
        *("  project   unknown", "  model     unknown", "  active    unknown to unknown"),
        *("  requests  0", "  fullest   unknown", "  kept out  nothing yet"),
        *("No turn was recorded by hooks yet.", "No compaction yet."),
    ]
    cleared = {"at": clock.format_utc(START), "results": 22, "tokens": 27_219, "by": "client"}
    line = f"{MINUTE}  the client dropped 22 results, ~27,219 tokens"
    assert line in lookback.text(one_session(cleared=[cleared]))
    assert "  occupancy  " in told
    at = told.split("\n").index("Messages and blocks")
    assert told.split("\n")[at + 1 : at + 4] == [
        "  2026-09-21 14:12Z  Bash refused at 9,000",
        f"  {MINUTE}  L2 announced at 9,000",
        f"  {MINUTE}  Stop refused at unknown",
    ]


@pytest.mark.parametrize(
    ("count", "shown"),
    [(_RECENT_SESSIONS, _RECENT_SESSIONS), (_RECENT_SESSIONS + 1, _RECENT_SESSIONS)],
)
def test_the_newest_sessions_are_shown_of_all(home_dir: str, count: int, shown: int) -> None:
    """The last active first; what was kept out is asked of those."""
    keep(home_dir, *(session(f"s{number}", START + number) for number in range(count)))

    made = looked_back(home_dir)

    assert (made["session_count"], len(made["sessions"])) == (count, shown)
    assert made["sessions"][0]["session_id"] == f"s{count - 1}"
    assert made["kept_out"]["asked"] == shown
    assert "compactions" not in made
    assert made["notes"] == []


@pytest.mark.parametrize(
    ("uuids", "apart_s", "count"),
    [
        (("a", "a"), 100.0, 1),
        (("a", "b"), 0.0, 2),
        ((None, "b"), _SLACK_S - 0.1, 1),
        ((None, "b"), _SLACK_S, 2),
        ((None, None), 0.0, 2),
        (("a", None), 0.0, 2),
    ],
)
def test_a_compaction_counts_in_the_first_session_that_had_it(
    home_dir: str, uuids: tuple[str | None, str | None], apart_s: float, count: int
) -> None:
    """Known by its row, or by its time where the first knows no row of it."""
    first, second = uuids
    keep(
        home_dir,
        session("later", START + 9, row(START + 20 + apart_s, second, summary_characters=7)),
        session("early", START, row(START + 20, first)),
    )

    made = looked_back(home_dir, compactions=True)
    alone = looked_back(home_dir, "early")

    assert made["compaction_count"] == len(made["compactions"]) == count
    assert made["compactions"][0]["session_id"] == "early"
    assert len(alone["compactions"]) == 1
    sizes = None if count == 1 else {"count": 1, "p50": 7, "p95": 7, "p99": 7, "largest": 7}
    assert made["summary_characters"] == sizes


def test_damage_is_counted_over_all_sessions(home_dir: str) -> None:
    """In a sentence."""
    for damaged, told in (([1, 0], "1 piece"), ([2, 1], "3 pieces")):
        sessions = [session(f"s{number}", START) for number in range(2)]
        for one, pieces in zip(sessions, damaged, strict=True):
            one.damaged = pieces
        keep(home_dir, *sessions)
        notes = looked_back(home_dir)["notes"]
        assert notes == [f"{told} of spool files: damaged, without an event"]


def test_a_session_without_events_is_no_row_and_has_its_document(home_dir: str) -> None:
    """Its compactions count all the same."""
    known = Session("abc", [[], []], 0, [], [Request(START, 9, None)], [row(START, "a")])
    keep(home_dir, known)

    every, one = looked_back(home_dir), looked_back(home_dir, "ab")

    assert (every["session_count"], every["compaction_count"], every["sessions"]) == (0, 1, [])
    assert (one["session_id"], one["first_at"], one["last_at"]) == ("abc", None, None)
    assert (one["peak_occupancy_tokens"], len(one["compactions"])) == (None, 1)
    with pytest.raises(SessionError):
        looked_back(home_dir, "x")


def test_figures_stand_to_the_right_in_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is large is seen."""
    monkeypatch.setenv("COLUMNS", "200")
    at = clock.format_utc(START)
    large = {"last_at": at, "session_id": "0123456789", "turns": 3, "compactions": 2}
    large |= {
        "peak_occupancy_tokens": 150_000,
        "window_tokens": 200_000,
        "project": "/p/app",
        "title": "t",
        "is_copy": False,
    }
    small = large | {"turns": 12, "peak_occupancy_tokens": 900, "compactions": 10, "project": "b"}
    turn = {"at": at, "occupancy_tokens": 150_000, "growth_tokens": 1_500, "number": 1}
    turn |= {"requests": 2, "compactions": 0}
    later = turn | {"number": 10, "occupancy_tokens": 900, "growth_tokens": 12, "requests": 15}
    first: dict[str, Any] = {
        "pre_tokens": 150_000,
        "post_tokens": 9_000,
        "seconds": 90,
        "dollars": 12.5,
    }
    first |= {"messages_of_the_user": 12, "messages_in_summary": 10, "trigger": "auto"}
    second: dict[str, Any] = {"pre_tokens": 900, "post_tokens": 10, "seconds": 5, "dollars": 0.5}
    second |= {"messages_of_the_user": 1, "messages_in_summary": 1, "trigger": "manual"}

    every = lookback.text(overview(sessions=[large, small], session_count=2)).split("\n")
    turns = lookback.text(one_session(turns=[turn, later | {"compactions": 1}])).split("\n")
    listed = [compaction(**first), compaction(**second)]
    table = lookback.text(overview(compactions=listed)).split("\n")

    assert every[1:4] == [
        "last active        session         fullest  compacted  project  title",
        "2026-09-21 14:13Z  01234567  150,000 (75%)          2  app      t",
        "2026-09-21 14:13Z  01234567       900 (0%)         10  b        t",
    ]
    assert turns[8:11] == [
        "  turn  at                  in use  growth  requests  compactions",
        "     1  2026-09-21 14:13Z  150,000  +1,500         2",
        "    10  2026-09-21 14:13Z      900     +12        15            1",
    ]
    assert table[1:4] == [
        "at                 session   trigger   before  after   held     took    cost",
        "2026-09-21 14:13Z  01234567  auto     150,000  9,000  10/12  1.5 min  $12.50",
        "2026-09-21 14:13Z  01234567  manual       900     10    1/1      5 s   $0.50",
    ]


@pytest.mark.parametrize(
    ("project", "shown"), [("/" + "p" * 199, "/" + "p" * 199), ("/" + "p" * 200, "/" + "p" * 198)]
)
def test_a_project_is_named_by_200_characters(project: str, shown: str) -> None:
    """In the page of one session."""
    unknown = "title model window_tokens first_at last_at peak_occupancy_tokens"
    saved = {"references": 0, "tokens_estimated": 0, "recalls": 0, "gateway_tokens": 0}
    lists: dict[str, Any] = {
        name: []
        for name in "occupancy_tokens turns messages blocks compactions cleared".split()  # noqa: SIM905
    }
    document = dict.fromkeys(unknown.split()) | lists | {"session_id": "abc", "requests": 0}

    text = lookback.text(document | {"project": project, "kept_out": saved})

    line = next(line for line in text.split("\n") if line.strip().startswith("project"))
    assert line.split()[1] == shown + ("" if shown == project else "…")
