"""A session as pages tell it: with the figures of `status`, `history` and `session inspect`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.dashboard.played import NAME

from brimline.cli.surface import program
from brimline.dashboard import chart, index, overall, story
from brimline.dashboard.report import self_contained_page_html
from brimline.dashboard.story import _SUBJECT_CHARACTERS
from brimline.errors import SessionError
from brimline.state import logs
from brimline.state.session import SessionState, Snapshot
from brimline.testing import SessionBuilder, text_block
from brimline.transcript import find, row
from brimline.transcript.usage import Tail

if TYPE_CHECKING:
    from tests.dashboard.played import Played


def document(*words: str) -> Any:
    """What a command tells programs."""
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_page_tells_what_status_tells(played: Played, home_dir: str) -> None:
    """Occupancy, window, brim, margin, tier and forecast, each from the same reading."""
    told = document("status", "--session", played.session.path)

    found = story.read_story(played.session.path, home_dir).now

    assert found is not None
    outlook = found.forecast()
    assert outlook is not None
    assert found.occupancy_tokens == told["occupancy_tokens"] == 43_000
    assert found.projected_tokens == told["projected_tokens"]
    assert found.window.tokens == told["window_tokens"]
    assert found.compaction.tokens == told["compaction_tokens"]
    assert found.margin_tokens == told["margin_tokens"]
    assert found.tier == told["tier"]
    assert [outlook.low, outlook.ops, outlook.high] == [
        told[f"forecast_ops{end}"] for end in ("_low", "", "_high")
    ]


@pytest.mark.row("S2-48")
def test_every_request_is_there_with_what_it_consists_of(played: Played, home_dir: str) -> None:
    """As `session inspect` and `status --composition` have it; parts add up to the occupancy."""
    inspected = document("session", "inspect", played.session.path)
    composed = document("status", "--composition", "--session", played.session.path)

    found = story.read_story(played.session.path, home_dir)

    assert [one.tokens for one in found.moments] == inspected["occupancy_tokens"]
    assert found.turns == inspected["turns"]
    assert found.peak_tokens == inspected["peak_tokens"]
    assert len(found.compactions) == inspected["compactions"] == 1
    assert all(sum(one.parts.values()) == one.tokens for one in found.moments)
    assert found.composed is not None
    parts = {part["kind"]: part["tokens"] for part in composed["parts"] if part["tokens"]}
    assert {kind: tokens for kind, tokens in found.composed.parts.items() if tokens} == parts


@pytest.mark.row("S2-21", "S2-50")
def test_a_page_tells_what_history_tells(played: Played, home_dir: str) -> None:
    """Compactions, warnings, and what was kept out."""
    told = document("history", "--session", NAME)

    found = story.read_story(played.session.path, home_dir)

    assert [one.tier for one in found.figures.messages] == [one["tier"] for one in told["messages"]]
    assert told["messages"]
    assert [one.summary_characters for one in found.figures.compactions] == [
        one["summary_characters"] for one in told["compactions"]
    ]
    assert found.saved.kept_out_tokens == told["kept_out"]["tokens_estimated"] > 0


@pytest.mark.row("S2-02")
def test_what_was_injected_is_on_the_page_by_source(played: Played, home_dir: str) -> None:
    """Ours apart from others', each with how often it came."""
    told = story.read_story(played.session.path, home_dir)

    page = self_contained_page_html(told, home_dir, shared=False)

    assert {one.ours for one in told.injections.tokens} == {True, False}
    for one, tokens in told.injections.tokens.items():
        assert f"{tokens:,}</td>" in page.partition("Injected beside the conversation")[2], one


def test_what_cannot_be_read_is_passed_over(played: Played) -> None:
    """A link to nowhere, a file of somebody else's: the other sessions are told."""
    told = document("cost")
    folder = Path(played.session.path).parent
    (folder / "nowhere.jsonl").symlink_to(folder / "nothing")
    if os.geteuid():  # root reads everything
        (folder / "unreadable.jsonl").touch(0)

    assert document("cost") == told


def test_an_index_is_read_once_and_where_something_changed(played: Played, home_dir: str) -> None:
    """By the size and time of transcript and spool; what is gone leaves it."""
    found = index.Index(home_dir)

    found.refresh()
    assert found.total == Path(played.session.path).stat().st_size
    found.refresh()
    assert found.total == 0
    played.session.reply(44_000)
    found.refresh()

    assert found.total > 0
    rows = story.read_story(played.session.path, home_dir).moments
    (row,), count = found.page_of_sessions(index.Filter(), 50, {})
    assert (row["id"], row["requests"], count) == (NAME, len(rows), 1)
    assert found.page_of_sessions(index.Filter(model="another"), 50, {}) == ([], 0)
    (compaction,) = overall.distinct_compactions(found.rows_of_all_sessions())
    assert compaction["summary_characters"] == 8


def test_a_request_shows_where_the_cache_was_broken(session: SessionBuilder, home_dir: str) -> None:
    """With its cause."""
    session.reply(50_000)
    session.reply(52_000)
    session.compact(54_000)
    session.reply(9_000)

    found = story.read_story(session.path, home_dir)

    assert [one.broke and one.broke.cause for one in found.moments] == [None, None, "compaction"]


def test_a_long_session_is_drawn_in_few_columns_that_keep_its_peaks(
    session: SessionBuilder, home_dir: str
) -> None:
    """However many requests there are."""
    for number in range(1_000):
        session.reply(20_000 + 100 * number + (70_000 if number == 333 else 0))

    shown = chart.fullest_moment_per_column(story.read_story(session.path, home_dir).moments)

    assert len(shown) == chart.MOST_COLUMNS
    assert 334 in [one.number for one in shown]


def test_a_story_has_the_first_wish_as_its_title_and_counts_its_requests_by_model(
    session: SessionBuilder, home_dir: str
) -> None:
    """A command is not a title; a line that is cut off is counted and passed over."""
    session.prompt("/review")
    session.prompt("w" * (_SUBJECT_CHARACTERS + 1))
    session.prompt("Another wish")
    session.reply(50_000)
    session.model = "claude-opus-4-6"
    session.reply(60_000)
    session.reply(70_000)
    with open(session.path, "ab") as file:
        file.write(b'{"type": "user", "mess\n')

    told = story.read_story(session.path, home_dir)

    assert told.title == "w" * _SUBJECT_CHARACTERS
    assert told.models == {"claude-sonnet-4-6": 1, "claude-opus-4-6": 2}
    assert [moment.number for moment in told.moments] == [1, 2, 3]
    assert [moment.tokens for moment in told.moments] == [50_000, 60_000, 70_000]
    assert told.broken_lines == 1
    assert told.size_bytes == os.path.getsize(session.path)


@pytest.mark.parametrize(("content", "said"), [(b"no session\n", "is not a session's"), (b"", "")])
def test_other_files_are_no_stories(world: Path, home_dir: str, content: bytes, said: str) -> None:
    """An empty one is a session in which nothing has happened yet."""
    path = world / "a.jsonl"
    path.write_bytes(content)

    if said:
        with pytest.raises(SessionError, match=said):
            story.read_story(str(path), home_dir)
    else:
        assert story.read_story(str(path), home_dir).moments == []
    with pytest.raises(SessionError, match=r"cannot read .*: No such file"):
        story.read_story(str(world / "missing.jsonl"), home_dir)


def test_what_a_tool_brought_is_told_by_its_name(session: SessionBuilder, home_dir: str) -> None:
    """With the request that took it in."""
    call = session.tool_call(20_000, "Read", file_path="/src/app.py")
    session.tool_result(call, "line\n" * 500)
    session.reply(25_000)

    told = story.read_story(session.path, home_dir)

    items = [(item.kind, item.name, item.subject) for item in told.moments[1].items]
    assert ("tool_result", "Read", "/src/app.py") in items
    assert list(told.tools) == ["Read"]
    assert told.tools["Read"] == sum(
        item.tokens for item in told.moments[1].items if item.kind == "tool_result"
    )


@pytest.mark.parametrize(
    ("file", "has_own", "kept_as"),
    [("own", True, "own"), ("own", False, "recorded"), ("recorded", False, "recorded")],
)
def test_a_file_of_another_name_is_told_by_what_hooks_recorded_of_its_session(
    tmp_path: Path, home_dir: str, file: str, has_own: bool, kept_as: str
) -> None:
    """As that of a subagent is; what is kept under its own name comes first."""
    session = SessionBuilder(str(tmp_path / f"{file}.jsonl"), "recorded")
    session.reply(50_000)
    for name, dollars in (("own", 1.0), ("recorded", 2.0)):
        state = SessionState(home_dir, name)
        if has_own or name == "recorded":
            state.save_snapshot(Snapshot(at=session.now, cost_usd=dollars))

    found = story.read_story(session.path, home_dir)

    assert (found.session_id, found.kept_as) == (file, kept_as)
    assert found.cost_usd == (1.0 if kept_as == "own" else 2.0)


def test_every_request_is_read_in_the_window_that_was_known_by_then(
    session: SessionBuilder, home_dir: str
) -> None:
    """A large one that hooks remember holds from the first, one that shows later from then on."""
    for tokens in (50_000, 250_000, 60_000):
        session.reply(tokens)
    later = story.read_story(session.path, home_dir)
    SessionState(home_dir, find.session_id_of(session.path)).save_proved_window(1_000_000)
    known = story.read_story(session.path, home_dir)

    assert [one.reading.window.tokens for one in later.moments] == [200_000, 1_000_000, 1_000_000]
    assert [one.reading.window.tokens for one in known.moments] == [1_000_000] * 3
    assert [one.reading.history for one in later.moments] == [
        [50_000],
        [50_000, 250_000],
        [50_000, 250_000, 60_000],
    ]
    assert (later.peak_tokens, later.last_at) == (250_000, later.moments[-1].at)


def test_a_reply_in_several_rows_is_one_request_with_its_last_figures(
    session: SessionBuilder, home_dir: str
) -> None:
    """And recorded in full where any row says so; a model without a name is unknown."""
    session.model = ""
    parts = [text_block("One."), text_block("Two.")]
    session.reply(50_000, *parts, output_tokens=70, message_id="m1")
    session.reply(60_000, output_tokens=30)

    told = story.read_story(session.path, home_dir)

    first, second = told.moments
    assert (first.spent.output_tokens, second.spent.output_tokens) == (70, 30)
    assert told.models == {"unknown": 2}
    assert told.most_used_model == "unknown"
    sums = told.tokens_by_billing
    assert sums["output"] == 100
    assert sums["input"] + sums["cache read"] + sums["cache written"] == 110_000
    assert told.count_answered_by_time(first.at - 1) == 0
    assert [told.count_answered_by_time(one.at) for one in told.moments] == [1, 2]


def test_a_session_runs_while_its_file_is_written(session: SessionBuilder, home_dir: str) -> None:
    """Somebody may be reading an answer for a while."""
    session.reply(50_000)
    is_running = []
    for age_s in (0, story.PAUSE_S - 60, story.PAUSE_S + 60):
        os.utime(session.path, (time.time() - age_s,) * 2)
        is_running.append(story.read_story(session.path, home_dir).is_running)

    assert is_running == [True, True, False]


def test_a_session_that_went_away_runs_no_more(world: Path) -> None:
    """While it was being read."""
    assert not story._is_running(str(world / "gone.jsonl"))


def test_fields_of_a_line_that_are_not_of_their_kind_are_left_out() -> None:
    """Any other field may be anything."""
    line = {"event": "Offloaded", "bytes": "many", "shown": 3, "saved": None, "key": 5}
    line |= {"tool": None}

    assert story._fields_of_expected_type(line) == {
        "event": "Offloaded",
        "shown": 3,
        "tool": None,
    }


def test_lost_thinking_is_told_where_it_was_lost(session: SessionBuilder, home_dir: str) -> None:
    """And failures of hooks are those of this session."""
    lost = {"type": "thinking_stripped", "scope": "all"}
    session.row("attachment", attachment=lost)
    session.reply(50_000)
    session.reply(60_000)
    session.row("attachment", attachment=lost)
    name = story.read_story(session.path, home_dir).kept_as
    for session_id in (name, "another", ""):
        logs.record_failure(home_dir, "Stop", ValueError(session_id), session_id)

    told = story.read_story(session.path, home_dir)

    said = "all, by the client after a refusal"
    assert told.lost_thinking == [f"after request 0: {said}", f"after request 2: {said}"]
    assert [failure["message"] for failure in told.failures] == [name]


def test_a_title_that_the_client_gave_is_stronger_than_the_first_wish(
    session: SessionBuilder, home_dir: str
) -> None:
    """What a call is about is cut at two hundred characters; where its row stands is known."""
    session.prompt("A wish")
    call = session.tool_call(20_000, "Read", file_path="/" + "p" * 250)
    session.tool_result(call, "line\n" * 500)
    session.reply(25_000)
    session.row("summary", summary="Called so")

    told = story.read_story(session.path, home_dir)

    (result,) = [item for item in told.moments[1].items if item.kind == "tool_result"]
    assert len(result.subject) == _SUBJECT_CHARACTERS
    assert result.offset > 0
    assert told.title == (row.title_of({"type": "summary", "summary": "Called so"}) or "A wish")
    assert story.Item("client", "x", 1) == ("client", "x", 1, "", -1)


def test_every_request_is_read_as_it_was_read_at_its_time(
    session: SessionBuilder, home_dir: str
) -> None:
    """With what its reply and the results after it will add to the next one."""
    then = []
    for number in range(8):
        command = "make " + "x" * 40 * number
        call = session.tool_call(50_000 + 9_000 * number, command=command)
        session.tool_result(call, "line of a result\n" * 300 * number)
        then.append(story.read_story(session.path, home_dir).now)
    session.reply(140_000, text_block("One."), text_block("Two " * 900), output_tokens=2_000)
    then.append(story.read_story(session.path, home_dir).now)

    later = [moment.reading for moment in story.read_story(session.path, home_dir).moments]

    for what in ("occupancy_tokens", "projected_tokens", "margin_tokens", "tier", "history"):
        assert [getattr(one, what) for one in later] == [getattr(one, what) for one in then], what
    outlooks = [[one.forecast() for one in readings] for readings in (later, then)]
    assert outlooks[0][0] is outlooks[1][0] is None
    for now, before in zip(outlooks[0][1:], outlooks[1][1:], strict=True):
        assert now
        assert before
        assert (now.low, now.ops, now.high) == (before.low, before.ops, before.high)
    assert len({one.projected_tokens for one in later}) == 9


def test_what_answers_no_call_is_of_an_unknown_tool(session: SessionBuilder, home_dir: str) -> None:
    """What came before the first request is of that one; where it stands is the first folder."""
    session.tool_result("toolu_nobody", "line\n" * 500)
    session.reply(20_000)
    first, session.cwd = session.cwd, "/home/dev/later"
    session.reply(21_000)

    told = story.read_story(session.path, home_dir)

    items = [item for item in told.moments[0].items if item.kind == "tool_result"]
    assert [(item.name, item.subject) for item in items] == [("unknown tool", "")]
    assert told.tools == {"unknown tool": items[0].tokens}
    assert told.project == first
    assert [moment.segment for moment in told.moments] == [0, 0]


def test_a_session_without_a_request_was_active_when_its_file_was_written(
    session: SessionBuilder, home_dir: str
) -> None:
    """It has no peak and no model, and nothing of it was billed."""
    session.prompt("A wish")
    os.utime(session.path, (1_700_000_000.0,) * 2)

    told = story.read_story(session.path, home_dir)

    assert (told.peak_tokens, told.last_at, told.most_used_model) == (None, 1_700_000_000.0, "")
    assert set(told.tokens_by_billing.values()) == {0}
    assert list(told.tokens_by_billing) == ["input", "cache read", "cache written", "output"]
    assert told.turns == 1


def test_how_far_a_reading_is_is_told_line_by_line(session: SessionBuilder, home_dir: str) -> None:
    """In bytes, which add up to the file."""
    session.prompt("A wish")
    session.reply(20_000)
    told: list[int] = []

    story.read_story(session.path, home_dir, told.append)

    assert sum(told) == os.path.getsize(session.path)
    assert len(told) == 2


def test_what_the_status_line_told_last_says_how_large_the_window_was(
    session: SessionBuilder, home_dir: str
) -> None:
    """Not how full it was at an earlier request."""
    session.reply(50_000)
    session.reply(60_000)
    state = SessionState(home_dir, find.session_id_of(session.path))
    state.save_snapshot(
        Snapshot(
            at=session.now + 9, window_tokens=500_000, model=session.model, occupancy_tokens=77_000
        )
    )

    told = story.read_story(session.path, home_dir)

    assert [one.reading.window.tokens for one in told.moments] == [500_000] * 2
    assert [one.reading.occupancy_tokens for one in told.moments] == [50_000, 60_000]


def test_a_session_of_which_nothing_is_known_has_nothing_in_it(world: Path, home_dir: str) -> None:
    """No turn, no figure; what is unknown is no nought."""
    path = world / "empty.jsonl"
    path.write_bytes(b"")

    told = story.read_story(str(path), home_dir)

    assert (told.turns, told.size_bytes, told.broken_lines, told.title) == (0, 0, 0, "")
    assert (told.project, told.cost_usd, told.moments, told.events) == (None, None, [], [])
    assert (told.failures, told.lost_thinking, told.peak_tokens) == ([], [], None)
    fresh = story.Story("p", "s", "k")
    assert (fresh.is_running, fresh.turns, fresh.broken_lines, fresh.size_bytes) == (False, 0, 0, 0)


def test_a_request_begins_with_nothing_but_its_number(session: SessionBuilder) -> None:
    """All else is added as its rows are read."""
    (fields,) = session.reply(20_000)
    moment = story.Moment(1, 2.0, 0, row.spent_of(fields), Tail())

    assert (moment.tokens, moment.is_final) == (0, False)
    assert (moment.parts, moment.items) == ({}, [])
    assert moment.broke is None
